"""Options that a plugin does not have."""

from __future__ import annotations

import pytest

from agentm_kernel.plugin import ConfigError, Option, StorageSelectionError, check_options

DECLARED = (Option("path", "path", "where it is"), Option("devices", "list", "computers"))


def test_known_options_may_stand() -> None:
    check_options("vault", ["path"], DECLARED)


def test_the_first_unknown_one_is_refused_with_those_that_there_are_and_the_command_that_removes_it() -> None:
    with pytest.raises(StorageSelectionError) as caught:
        check_options("vault", ["pth", "path", "zzz"], DECLARED)

    assert caught.value.message == "plugins.vault has no option 'pth'; there are path, devices"
    assert caught.value.hint == "run `agentm config unset plugins.vault.pth`"


@pytest.mark.parametrize(("place", "named"), [("", "plugins.vault.path"), ("stores.team", "stores.team.path")])
def test_a_value_of_the_wrong_kind_is_refused_with_the_place_where_it_stands(place: str, named: str) -> None:
    with pytest.raises(ConfigError) as caught:
        DECLARED[0].check("vault", 3, place)

    assert caught.value.message == f"{named} is a path, not int"
    assert caught.value.hint == "where it is"


@pytest.mark.parametrize(
    ("kind", "fitting", "others"),
    [
        ("text", ["a"], [1, True, None]),
        ("path", ["/a"], [1, ["/a"]]),
        ("number", [1, 1.5], [True, "1"]),
        ("flag", [True, False], [1, "true"]),
        ("list", [["a"], "a, b"], [1, {"a": 1}]),
        ("table", [{"a": 1}], [["a"], "a"]),
        ("any", [1, "a", True, None, {}], []),
    ],
)
def test_each_kind_of_option_has_its_values(kind: str, fitting: list[object], others: list[object]) -> None:
    option = Option("x", kind, "what it is")
    assert [value for value in (*fitting, *others) if option.fits(value)] == fitting


def test_there_are_no_other_kinds_of_options() -> None:
    with pytest.raises(ValueError, match="the kind of an option is text, path"):
        Option("x", "colour", "what it is")
