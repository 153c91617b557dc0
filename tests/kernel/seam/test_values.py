"""The value types that verbs return: frozen, comparable, picklable, and silent about nothing."""

from __future__ import annotations

import copy
import pickle

import pytest

from agentm_kernel import Capabilities, Locator
from agentm_kernel.plugin import ABSENT, Device, Info, Opening
from agentm_kernel.seam.backend import Absent

INFO = Info(Locator("a.md"), False, 3, 1.5, "v1")
FLAGS = ("concurrent_writers", "conflict_files", "encryption", "sync", "device_files", "delete")


@pytest.mark.parametrize("value", [INFO, Capabilities(sync=True), Opening("team", True, "/state")])
def test_a_value_survives_copying_and_shows_its_fields(value: object) -> None:
    assert pickle.loads(pickle.dumps(value)) == value
    assert copy.deepcopy(value) == value
    assert all(name in repr(value) for name in type(value).__slots__)  # type: ignore[attr-defined]


@pytest.mark.parametrize(("value", "name"), [(INFO, "size"), (Capabilities(), "sync"), (Capabilities(), "new")])
def test_a_value_cannot_be_changed(value: object, name: str) -> None:
    with pytest.raises(AttributeError):
        setattr(value, name, 1)
    with pytest.raises(AttributeError):
        delattr(value, name)


def test_values_are_equal_and_hashed_by_their_fields() -> None:
    same = Info(Locator("a.md"), False, 3, 1.5, "v1")
    assert same == INFO
    assert hash(same) == hash(INFO)
    for other in (
        Info(Locator("b.md"), False, 3, 1.5, "v1"),
        Info(Locator("a.md"), True, 3, 1.5, "v1"),
        Info(Locator("a.md"), False, 4, 1.5, "v1"),
        Info(Locator("a.md"), False, 3, 2.5, "v1"),
        Info(Locator("a.md"), False, 3, 1.5, "v2"),
    ):
        assert other != INFO
    assert Capabilities() != INFO
    assert INFO != "a.md"


def test_every_capability_is_false_until_it_is_declared() -> None:
    assert Capabilities.__slots__ == FLAGS
    for flag in FLAGS:
        assert getattr(Capabilities(), flag) is False
        assert getattr(Capabilities(**{flag: True}), flag) is True


def test_missing_from_names_what_is_required_and_not_offered() -> None:
    offered = Capabilities(sync=True, delete=True)
    assert offered.missing_from(Capabilities()) == ()
    assert offered.missing_from(Capabilities(sync=True)) == ()
    assert offered.missing_from(Capabilities(sync=True, encryption=True, concurrent_writers=True)) == (
        "concurrent_writers",
        "encryption",
    )


def test_absent_is_one_object_however_it_is_made() -> None:
    assert Absent() is ABSENT
    assert pickle.loads(pickle.dumps(ABSENT)) is ABSENT
    assert copy.deepcopy(ABSENT) is ABSENT
    assert repr(ABSENT) == "ABSENT"


@pytest.mark.parametrize(
    ("path", "expanded"), [("~", "/h"), ("~/a", "/h/a"), ("~user/a", "~user/a"), ("/a/~", "/a/~"), ("a", "a")]
)
def test_a_device_expands_its_own_home(path: str, expanded: str) -> None:
    assert Device({"HOME": "/h"}).expand(path) == expanded


def test_capabilities_are_derived_by_naming_what_differs() -> None:
    store = Capabilities(sync=True, delete=True)
    assert store.replace(encryption=True) == Capabilities(sync=True, delete=True, encryption=True)
    assert store.replace(sync=False, device_files=True) == Capabilities(delete=True, device_files=True)
    assert store == Capabilities(sync=True, delete=True)
    with pytest.raises(TypeError):
        store.replace(encrypted=True)


@pytest.mark.parametrize("flag", Capabilities.__slots__)
def test_no_flag_is_forgotten_when_another_is_changed(flag: str) -> None:
    other = next(name for name in Capabilities.__slots__ if name != flag)
    assert getattr(Capabilities(**{flag: True}).replace(**{other: True}), flag)
