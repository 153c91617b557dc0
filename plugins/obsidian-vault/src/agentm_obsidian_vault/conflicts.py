"""Conflict copies: how each sync tool names the version that lost, and which note it is a version of.

The patterns are the tools' own, as far as their documentation, their code or their users' reports show. They compose:
`PLAN (1) (Ada's conflicted copy 2026-05-01).md` is a copy of a copy of `PLAN.md`.

Some tools use names that people use as well: `Chapter 2.md`, `Report (1).md`. Those count only beside the note
that they would be a copy of.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


@dataclass(frozen=True)
class ConflictCopy:
    """One recognised name."""

    name: str
    base: str
    """The note that it is a version of, copies of copies followed to their end."""
    tool: str


@dataclass(frozen=True)
class _Mark:
    """What a tool puts at the end of a name, before or after its extension."""

    tool: str
    begins: str
    pattern: re.Pattern[str]
    is_ordinary: bool
    """People name notes like this too, so it needs the base beside it."""

    def bases(self, stem: str) -> Iterator[str]:
        """What is left of `stem` without the mark, longest first: the name of a computer may hold the hyphen too."""
        at = stem.rfind(self.begins)
        while at > 0:
            if self.pattern.fullmatch(stem, at) and stem[:at].strip():
                yield stem[:at]
            at = stem.rfind(self.begins, 0, at)


def _mark(tool: str, pattern: str, *, is_ordinary: bool = False) -> _Mark:
    begins = pattern.replace("\\", "")[0]
    return _Mark(tool, begins, re.compile(pattern, re.IGNORECASE), is_ordinary)


_DATE = r"\d{4}-\d{2}-\d{2}"
_OWNER = r"(?:[^()]+['\u2019]s )?"
_FEW = r"(?:[2-9]|[1-9]\d)"  # 2 to 99: years and versions are not counters

_MARKS = (
    _mark("Syncthing", r"\.sync-conflict-\d{8}-\d{6}(?:-[A-Z0-9]{7})?"),
    _mark("Obsidian Sync", r" \(Conflicted copy [^()]+ \d{12,14}\)"),
    _mark("Nextcloud", rf" \(conflicted copy (?:[^()]+ )?{_DATE} \d{{6}}\)"),
    _mark("Nextcloud", r" \(case clash from [^()]+\)"),
    _mark("ownCloud", r"_conflict-(?:[^/]+-)?\d{8}-\d{6}"),
    _mark("Dropbox", r" \([^()]+['\u2019]s conflicted copy(?: [^()]+)?(?: ?\(\d+\))?\)"),
    _mark(
        "Dropbox",
        rf" \({_OWNER}(?:case|unicode encoding|white ?space|shared folder|selective sync) conflict(?: \(?\d+\)?)?\)",
    ),
    _mark("Maestral", rf" \({_OWNER}conflicting copy(?: [^()]+)?\)"),
    _mark("a sync tool", r" \((?:[^()]+ )?conflicted copy(?: [^()]+)?\)(?: - [^()]+)?"),
    _mark("Seafile", r" \(SFConflict [^()]+\)"),
    _mark("FSNotes", r" \(CONFLICT \d{8}T\d{6}\)"),
    _mark("pCloud", r" (?:\[conflicted(?: \d+)?\]|\(conflicted(?: \d+)?\))"),
    _mark("Google Drive", r" \[Conflict(?: \d+)?\]"),
    _mark("rclone", r"\.conflict\d+"),
    _mark("rclone", r"\.\.path[12]"),
    _mark("OneDrive", r"-[^/]+?-safeBackup-\d{4}"),
    _mark(
        "OneDrive",
        rf"-(?:DESKTOP-[A-Z0-9]{{7}}|LAPTOP-[A-Z0-9]{{8}}|WIN-[A-Z0-9]{{11}})(?:-{_FEW})?",
        is_ordinary=True,
    ),
    _mark("OneDrive", rf"-[^-]*(?:MacBook|iMac|Mac mini)[^-]*(?:-{_FEW})?", is_ordinary=True),
    _mark("Google Drive", r" \([1-9]\d?\)", is_ordinary=True),
    _mark("iCloud", rf" {_FEW}", is_ordinary=True),
    # Not after a digit: `2026-10.md` beside `2026.md` is October, and daily notes stand beside monthly ones.
    _mark("iCloud", rf"-(?<!\d-){_FEW}", is_ordinary=True),
)
_PREFIX = "copy of "
_PREFIX_MARK = _mark("Google Drive", _PREFIX, is_ordinary=True)
_EXTENSION = re.compile(r"(?P<stem>.+)(?P<extension>\.[A-Za-z0-9_]{1,10})", re.DOTALL)


def conflict_copy(name: str, beside: Callable[[str], bool], devices: Iterable[str] = ()) -> ConflictCopy | None:
    """What `name` is a conflict copy of, or `None`; `beside` tells whether another name is in the same folder.

    `devices` are names of the operator's computers, which OneDrive puts behind a note's name.
    """
    return _Recognition(beside, tuple(devices)).of(name)


class _Recognition:
    """One question, with the answers to the smaller questions in it: a hostile name must not ask them all twice."""

    def __init__(self, beside: Callable[[str], bool], devices: tuple[str, ...]) -> None:
        self._beside = beside
        self._devices = devices
        self._answers: dict[str, ConflictCopy | None] = {}

    def of(self, name: str) -> ConflictCopy | None:
        if name not in self._answers:
            self._answers[name] = self._read(name)
        return self._answers[name]

    def _read(self, name: str) -> ConflictCopy | None:
        for mark, bases in _readings(name, self._devices):
            known = [base for base in bases if self._beside(base) or self.of(base)]
            if known or (bases and not mark.is_ordinary):
                base = (known or bases)[0]
                inner = self.of(base)
                return ConflictCopy(name, inner.base if inner else base, mark.tool)
        return None


def _readings(name: str, devices: tuple[str, ...]) -> Iterator[tuple[_Mark, list[str]]]:
    """Each mark that `name` may carry, with the names that may have been there before it."""
    found = _EXTENSION.fullmatch(name)
    splits = [(found["stem"], found["extension"])] if found else []
    splits.append((name, ""))
    for mark in (*(_device_mark(device) for device in devices), *_MARKS):
        yield mark, [base + extension for stem, extension in splits for base in mark.bases(stem)]
    if name.casefold().startswith(_PREFIX):
        yield _PREFIX_MARK, [name[len(_PREFIX) :]]


def _device_mark(device: str) -> _Mark:
    return _mark("OneDrive", rf"-{re.escape(device)}(?:-{_FEW})?", is_ordinary=True)
