"""`agentm setup`: the first run."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from agentm_hosts.commands.connect import chosen_hosts, connect_all, planned_changes, say
from agentm_hosts.connecting import changes_of, place_for
from agentm_kernel import storage_preview
from agentm_kernel.command import answering, confirm, current_device
from agentm_kernel.plugin import (
    STAMP_KEY,
    AgentmError,
    Locator,
    PluginError,
    adopt_store,
    choose_protocol,
    load_plugin,
)

if TYPE_CHECKING:
    from agentm_kernel.plugin import Device

_DEFAULT_STORE = "device-local"


@click.command()
@click.option("--yes", is_flag=True, help="Do it without asking.")
@click.option("--dry-run", is_flag=True, help="Show what would be done, and do nothing.")
@answering
def command(yes: bool, dry_run: bool, answer: dict[str, Any]) -> int:
    """Set agentm up: connect the agent hosts of this device, make the default store, and say what to try.

    Nothing is touched that is not listed first. Where no settings change, nothing is asked. A second run is harmless.
    """
    device = current_device()
    place = place_for(device)
    found = chosen_hosts(device, (), place)
    preview = storage_preview()
    answer["store"] = preview.line
    say(f"store: {preview.line}")
    if preview.status == "fail":
        raise AgentmError("the store cannot be had", hint="`agentm doctor` says why; nothing was changed")
    if not found:
        say("no agent host was found: install one, or name it: `agentm connect claude-code`")
    for adapter in found:
        with suppress(PluginError):  # said where it is connected
            say(f"{adapter.title}: entries in {', '.join(change.path for change in changes_of(adapter, place))}")
    if dry_run:
        code = connect_all(found, place, answer, replace=False, dry_run=True)
        answer["imports"] = _offer_imports(device)
        return code
    if changes := planned_changes(found, place):
        confirm(
            f"Make these changes ({changes})?",
            yes=yes,
            hint="add --yes to do it without asking; --dry-run shows each line",
        )
    _make_store(device)
    code = connect_all(found, place, answer, replace=False, dry_run=False)
    answer["imports"] = _offer_imports(device)
    say('to try it: `agentm save "Payments use SQLite"` in a project, then start an agent there')
    say("to see that it arrives: `agentm hosts list`")
    return code


def _make_store(device: Device) -> None:
    """The default store would be made by the first note; made now, an agent's sandbox need not be able to."""
    if choose_protocol() != _DEFAULT_STORE:
        return
    store = device.store(read_only=False)
    if not store.exists(Locator(STAMP_KEY)):
        adopt_store(device, store, _DEFAULT_STORE)


def _offer_imports(device: Device) -> list[dict[str, object]]:
    """What other tools have on this device, as far as an importer (group `agentm.importers`) can tell: its `detect`
    takes the device and answers with places, each a path, about how many memories, and a few words.
    """
    offers: list[dict[str, object]] = []
    for record in device.plugins.of("agentm.importers"):
        try:
            importer = load_plugin(device, record.group, record.name)
            places = [(str(path), int(count)) for path, count, _ in importer.detect(device)]  # type: ignore[attr-defined]
        except Exception:  # noqa: BLE001 - an offer that cannot be made is none
            places = []
        for path, count in places:
            offers.append({"source": record.name, "path": path, "memories": count})
            held = "memory" if count == 1 else "memories"
            say(f"{path} holds about {count} {held}: `agentm import {record.name} --dry-run` shows them")
    return offers
