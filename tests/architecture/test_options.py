"""Every plugin of this repository declares its options, and opens with exactly those."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from agentm_kernel.plugin import AgentmError, Device, Option, find_plugin, load_plugin
from agentm_kernel.plugins.table import declared_options

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TABLES = (
    *("bucket", "checkpoint", "device-local", "encryption", "git"),
    *("hosts", "integrity", "policy", "recall", "vault"),
)


@pytest.fixture
def device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Device:
    for name in ("AGENTM_INSTALL_PREFIX", "MEMORY_VAULT_PATH", "AGENTM_DEVICE_LOCAL_ROOT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return Device.now()


def opener(device: Device, table: str) -> Callable[[dict[str, Any]], object]:
    """What opens the plugin with the options of its table."""
    from agentm_kernel.plugin import Opening

    opening = Opening(state_dir=device.state_dir)
    if table == "checkpoint":
        from agentm_checkpoint.settings import Settings

        return Settings
    if table in ("hosts", "recall"):
        from agentm_kernel.plugin import check_options

        declared: Any = load_plugin(device, "agentm.options", table)
        return lambda options: check_options(table, options, declared)
    if table in ("encryption", "integrity"):
        wrap: Any = load_plugin(device, "agentm.wrappers", table)
        inner: Any = load_plugin(device, "agentm.backends", "device-local")
        return lambda options: wrap(inner.create({}, device, opening), options, device, opening)
    backend: Any = load_plugin(device, "agentm.backends", table)
    return lambda options: backend.create(options, device, opening)


def refusal(open_with: Callable[[dict[str, Any]], object], options: dict[str, Any]) -> str:
    try:
        open_with(options)
    except (AgentmError, TypeError) as error:
        return str(error)
    return ""


def test_these_are_all_tables_of_this_repository(device: Device) -> None:
    declared = {record.name for record in device.plugins.of("agentm.options")}
    assert declared == set(TABLES)
    for group in ("agentm.backends", "agentm.wrappers"):
        ours = {record.name for record in device.plugins.of(group) if record.distribution.startswith("agentm-")}
        assert ours <= declared, f"{ours - declared} declare no options"


@pytest.mark.parametrize("table", TABLES)
def test_a_plugin_opens_with_every_option_that_it_declares_and_with_no_other(device: Device, table: str) -> None:
    assert find_plugin(device, "agentm.options", table) is not None
    declared = declared_options(device, table)
    assert declared
    open_with = opener(device, table)
    for option in declared:
        said = refusal(open_with, {option.name: _example(option)})
        assert f"no option '{option.name}'" not in said
        assert "unexpected keyword" not in said
    for unknown in ("surprise", declared[0].name.upper(), f"{declared[0].name}x"):
        said = refusal(open_with, {unknown: "x"})
        assert f"plugins.{table} has no option '{unknown}'; there are {declared[0].name}" in said
        assert f"agentm config unset plugins.{table}.{unknown}" in said


@pytest.mark.parametrize("table", TABLES)
def test_every_option_says_in_a_line_what_it_means(device: Device, table: str) -> None:
    for option in declared_options(device, table) or ():
        assert 5 < len(option.meaning) < 120
        assert "\n" not in option.meaning


def _example(option: Option) -> object:
    return {"number": 7, "flag": True, "list": ["a"], "table": {}}.get(option.kind, "/nowhere")
