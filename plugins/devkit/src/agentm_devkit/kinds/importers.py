"""A reader of another tool's memory (group `agentm.importers`): it reads, and changes nothing."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from agentm_devkit.conformance.expect import Violation, shown
from agentm_devkit.kinds.checking import plugin_check
from agentm_kernel.plugin import AgentmError

if TYPE_CHECKING:
    from agentm_devkit.kinds.checking import Specimen

_ODD = {"empty.md": b"", "binary.db": b"\x00\x01SQLite", "not-utf8.md": b"\xff\xfe\xfa", "broken.json": b"{"}


def _importer(specimen: Specimen) -> Any:
    importer = specimen.plugin
    for name in ("detect", "read"):
        if not callable(getattr(importer, name, None)):
            raise Violation(f"{specimen.record.value} has no method `{name}`")
    return importer


def _odd_folder(specimen: Specimen) -> str:
    """A folder with files that no importer can do much with."""
    folder = os.path.join(specimen.home, "source")
    os.makedirs(folder)
    for name, data in _ODD.items():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(data)
    return folder


def _read_all(importer: Any, path: str, specimen: Specimen) -> list[Any]:
    try:
        return list(importer.read(path, specimen.device))
    except AgentmError:
        return []  # it says that it cannot read this, which is its right


@plugin_check("importers")
def check_importer_has_a_label(specimen: Specimen) -> None:
    """An importer has a label: what people call the tool that it reads from."""
    label = getattr(_importer(specimen), "label", None)
    if not isinstance(label, str) or not label.strip():
        raise Violation(f"its label is {shown(label)}")


@plugin_check("importers")
def check_importer_finds_nothing_in_an_empty_home(specimen: Specimen) -> None:
    """`detect` finds nothing in an empty home, quickly, and makes nothing there."""
    found = list(_importer(specimen).detect(specimen.device))
    if found:
        raise Violation(f"it found {shown(found)}")
    if made := sorted(specimen.files()):
        raise Violation(f"it made {shown(made)}")


@plugin_check("importers")
def check_importer_refuses_what_is_not_there(specimen: Specimen) -> None:
    """`read` of a path that does not exist raises a typed error: it is not an empty source."""
    try:
        found = list(_importer(specimen).read(os.path.join(specimen.home, "missing"), specimen.device))
    except AgentmError:
        return
    raise Violation(f"it gave {shown(found)}")


@plugin_check("importers")
def check_importer_changes_nothing(specimen: Specimen) -> None:
    """`read` leaves the source as it is: no file is made beside it, none is changed."""
    folder = _odd_folder(specimen)
    before = specimen.files()
    _read_all(_importer(specimen), folder, specimen)
    after = {name: seen for name, seen in specimen.files().items() if not name.startswith(".")}
    kept = {name: seen for name, seen in before.items() if not name.startswith(".")}
    if changed := sorted(name for name in after.keys() | kept.keys() if after.get(name) != kept.get(name)):
        raise Violation(f"it changed {shown(changed)}")


@plugin_check("importers")
def check_importer_yields_items(specimen: Specimen) -> None:
    """What `read` yields has an `origin`, and a `body` or a `reason` why it is none: nothing goes silently."""
    for item in _read_all(_importer(specimen), _odd_folder(specimen), specimen):
        fields = (
            item
            if isinstance(item, dict)
            else {name: getattr(item, name, None) for name in ("origin", "body", "reason")}
        )
        if not isinstance(fields.get("origin"), str) or not any(
            isinstance(fields.get(n), str) for n in ("body", "reason")
        ):
            raise Violation(f"it yielded {shown(item)}")


@plugin_check("importers")
def check_importer_is_repeatable(specimen: Specimen) -> None:
    """A second `read` of the same source gives the same origins: an import that is run again adds nothing."""
    importer, folder = _importer(specimen), _odd_folder(specimen)
    first, second = (
        [item.get("origin") if isinstance(item, dict) else getattr(item, "origin", None) for item in found]
        for found in (_read_all(importer, folder, specimen), _read_all(importer, folder, specimen))
    )
    if first != second:
        raise Violation(f"it gave {shown(first)}, then {shown(second)}")
