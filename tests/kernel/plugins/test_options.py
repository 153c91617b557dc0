"""Options that plugins declare: checked when they are set, explained when they are shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agentm_kernel.plugin import ConfigError, Device, Option, PluginError
from agentm_kernel.plugins.table import declared_options, known_option_keys
from agentm_kernel.seam.options import check_option

if TYPE_CHECKING:
    from tests.kernel.conftest import Site

pytestmark = pytest.mark.usefixtures("importable")

SOURCE = """
from agentm_kernel.plugin import Option
OPTIONS = (
    Option("root", "path", "the folder of the notes", "the home directory"),
    Option("limit", "number", "how many notes at the most"),
)
"""
DECLARED = (Option("root", "path", "the folder"), Option("limit", "number", "how many"), Option("on", "flag", "?"))


@pytest.fixture
def device(site: Site, monkeypatch: pytest.MonkeyPatch) -> Device:
    monkeypatch.setenv("AGENTM_INSTALL_PREFIX", str(site.home))
    return Device.now()


def test_a_plugin_declares_its_options_in_an_entry_point(site: Site, device: Device) -> None:
    site.install_plugin("shelf", SOURCE, group="agentm.options", attribute="OPTIONS")

    assert [option.name for option in declared_options(device, "shelf") or ()] == ["root", "limit"]
    assert "plugins.shelf.limit" in known_option_keys(device)


def test_a_plugin_that_is_not_there_declares_nothing(device: Device) -> None:
    assert declared_options(device, "nobody") is None


@pytest.mark.parametrize("source", ["OPTIONS = ('root',)", "OPTIONS = 5", "raise ImportError('no')"])
def test_a_declaration_that_is_none_names_the_plugin_and_hides_no_other(site, device, source):
    site.install_plugin("broken", source, group="agentm.options", attribute="OPTIONS")
    site.install_plugin("shelf", SOURCE, group="agentm.options", attribute="OPTIONS")

    with pytest.raises(PluginError, match="broken"):
        declared_options(device, "broken")
    assert "plugins.shelf.root" in known_option_keys(device)


@pytest.mark.parametrize(
    ("name", "value"), [("root", "/a"), ("limit", 3), ("limit", 1.5), ("on", True)], ids=lambda value: str(value)
)
def test_a_value_of_the_declared_kind_is_taken(name: str, value: object) -> None:
    check_option("shelf", name, value, DECLARED)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("rot", "/a", "no option 'rot'"),
        ("limit", "many", "is a number"),
        ("limit", True, "is a number"),
        ("on", 1, "is a flag"),
    ],
)
def test_anything_else_is_refused(name: str, value: object, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        check_option("shelf", name, value, DECLARED)


@pytest.mark.parametrize("kind", ["table", "any"])
def test_what_is_inside_of_a_table_is_the_plugin_s_own(kind: str) -> None:
    check_option("shelf", "rows.first.label", "A", (Option("rows", kind, "the rows"),))


@pytest.mark.parametrize("name", ["root.deeper", "rows.deeper"])
def test_nothing_is_inside_of_anything_else(name: str) -> None:
    with pytest.raises(ConfigError, match=f"plugins.shelf has no option '{name}'"):
        check_option("shelf", name, "A", DECLARED)


def test_a_kind_that_does_not_exist_is_an_error_of_the_author() -> None:
    with pytest.raises(ValueError, match="kind of an option"):
        Option("root", "folder", "the folder")
