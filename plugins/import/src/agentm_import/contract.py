"""Finding importers by name, through the entry-point group `agentm.importers`, and the format of notes.

An importer is any object with the names of `Importer`. `agentm setup` calls `detect` of each to say what could be
imported; it is cheap, changes nothing and never fails because a source is odd.
"""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING, Protocol, cast

from agentm_import.items import Found
from agentm_kernel.plugin import (
    AgentmError,
    Call,
    LocatorConflictError,
    PluginError,
    find_plugin,
    in_time,
    layout,
    load,
    unusable,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from agentm_kernel.plugin import Device, Locator, StorageBackend

IMPORTERS = "agentm.importers"
NOTE_FORMATS = "agentm.note_formats"
_PATIENCE = 2.0
"""Seconds that one importer has to find its source."""


class Importer(Protocol):
    """A reader of one other tool's memory. It opens the source for reading only and executes nothing of it."""

    label: str
    """What people call the tool."""

    def detect(self, device: Device) -> Sequence[tuple[str, int, str]]:
        """Each place of this source on this device: path, about how many memories, a few words."""

    def read(self, path: str, device: Device) -> Iterable[object]:
        """Everything at `path`: items, and what is skipped (see `items`)."""


class NoteFormat(Protocol):
    """What the plugin that owns the notes tells about their format."""

    kinds: tuple[str, ...]
    folders: Mapping[str, str]

    def place(self, kind: str, slug: str, project: Locator | None) -> Locator: ...
    def named_project(self, device: Device, name: str, *, read_only: bool) -> tuple[StorageBackend, Locator]: ...
    def check_personal(self, device: Device) -> None: ...
    def slug(self, text: str) -> str: ...
    def is_note(self, key: str) -> bool: ...
    def kind(self, key: str) -> str: ...
    def render(self, fields: Mapping[str, str | Sequence[str]], body: str) -> str: ...
    def parse(self, text: str) -> tuple[dict[str, str | list[str]], str, str | None]: ...
    def with_fields(self, key: str, text: str, changes: Mapping[str, str | Sequence[str]]) -> str: ...
    def with_body(self, text: str, body: str) -> str: ...
    def replaced(self, texts: Mapping[str, str]) -> set[str]: ...
    def hidden_together(self, ones: Mapping[str, str], others: Mapping[str, str]) -> dict[str, str]: ...


def names(device: Device) -> list[str]:
    """Every source that an installed importer can read."""
    return sorted({record.name for record in device.plugins.of(IMPORTERS)})


def find_importer(device: Device, name: str) -> Importer:
    """The importer of the source `name`."""
    if name not in names(device):
        raise PluginError(
            f"there is no importer for {name!r}", hint=f"there are importers for: {', '.join(names(device))}"
        )
    record = find_plugin(device, IMPORTERS, name)
    found = load(record)
    if not callable(getattr(found, "detect", None)) or not callable(getattr(found, "read", None)):
        raise unusable(record, "is not an importer: it has no `detect` and `read`")
    return cast("Importer", found)


def note_format(device: Device) -> NoteFormat:
    """The format of notes."""
    if not device.plugins.of(NOTE_FORMATS):
        raise PluginError("no plugin says what a note looks like", hint="run `pip install agentm-recall`")
    return cast("NoteFormat", load(find_plugin(device, NOTE_FORMATS, "recall")))


def known_format(device: Device) -> NoteFormat | None:
    """The format of notes, where a plugin that this device loads knows one; without it, no note hides another."""
    try:
        record = find_plugin(device, NOTE_FORMATS, "recall")
    except PluginError:  # it is not installed, or the policy keeps it out
        return None
    return cast("NoteFormat", load(record))


def refuse_hidden(
    notes: NoteFormat | None, ones: Mapping[str, str], others: Mapping[str, str], present: Mapping[str, str]
) -> None:
    """Refuse to bring notes together that hide one another then, by the keys that they would have; `present` has the
    keys that they have now, where those are others.
    """
    hidden = {} if notes is None else notes.hidden_together(ones, others)
    for key, by in hidden.items():
        now = present.get(key, key)
        project = f" --project {quote(now.split('/')[1])}" if now.split("/")[0] in layout.PROJECT_TREES else ""
        raise LocatorConflictError(
            f"'{now}' would be hidden: '{present.get(by, by)}' has replaced another note of that name",
            hint="nothing was written; give it another name first, in its store: "
            f"`agentm notes move {quote(now.removesuffix('.md'))}{project} --slug NEW`; or `agentm forget` it",
        )


def detect_all(device: Device) -> tuple[list[tuple[str, str, Found]], list[str]]:
    """Name, label and place of every source on this device, and a line for each importer that failed."""
    found: list[tuple[str, str, Found]] = []
    failures: list[str] = []
    for name in names(device):
        try:
            found += in_time(lambda name=name: _detected(device, name), _PATIENCE)  # type: ignore[misc]
        except AgentmError as error:  # a plugin's failure is named and costs its own line only
            failures.append(f"{name}: {error.message}")
    return found, failures


def _detected(device: Device, name: str) -> list[tuple[str, str, Found]]:
    importer = find_importer(device, name)
    with Call(f"importer '{name}'", "detect"):
        return [(name, importer.label, Found(*place)) for place in importer.detect(device)]
