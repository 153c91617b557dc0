"""Conflict copies: how each sync tool names the version that lost, and which note it is a version of.

The patterns are the tools' own, as far as their documentation, their code or their users' reports show. They compose:
`PLAN (1) (Ada's conflicted copy 2026-05-01).md` is a copy of a copy of `PLAN.md`.

A name is not proof. Some marks are written by a sync tool only: those make a copy, some of them only beside the note.
Others people use too: `Chapter 2.md`, `Report (1).md`. Those make a suspect beside the note that they would be a copy
of, which is a note like any other until its text shows that it is a version of that note.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_TOOLS_ONLY, _BESIDE, _PEOPLE_TOO = "tools only", "beside the note", "people too"


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
    used_by: str

    def bases(self, stem: str) -> Iterator[str]:
        """What is left of `stem` without the mark, longest first: the name of a computer may hold the hyphen too."""
        at = stem.rfind(self.begins)
        while at > 0:
            if self.pattern.fullmatch(stem, at) and stem[:at].strip():
                yield stem[:at]
            at = stem.rfind(self.begins, 0, at)


def _mark(tool: str, pattern: str, used_by: str = _TOOLS_ONLY) -> _Mark:
    begins = pattern.replace("\\", "")[0]
    return _Mark(tool, begins, re.compile(pattern, re.IGNORECASE), used_by)


_DATE = r"\d{4}-\d{2}-\d{2}"
_WHEN = r" \d[^()]*(?:\(\d+\))?"  # a date as the tool's language writes it
_FEW = r"(?:[2-9]|[1-9]\d)"  # 2 to 99: years and versions are not counters
_OF = r"(?:von|de|del|di|da|do)"
_ROMANCE = r"(?:copie en conflit|copia en conflicto|copia conflictiva|copia in conflitto|c[o\u00f3]pia em conflito)"
_GERMAN = r"(?:in konflikt stehende kopie|konfliktkopie)"
_CJK = (
    r"(?:\u7af6\u5408\u30b3\u30d4\u30fc|\u554f\u984c\u306e\u3042\u308b\u30b3\u30d4\u30fc"
    r"|\u51b2\u7a81\u7684?\u526f\u672c|\u885d\u7a81\u7684?(?:\u526f\u672c|\u8907\u672c))"
)
_WIDE = "\uff08\uff09"  # parentheses of Chinese and Japanese
_DROPBOX_CASES = r"(?:case|unicode encoding|white ?space|shared folder|selective sync) conflict"

_MARKS = (
    _mark("Syncthing", r"\.sync-conflict-\d{8}-\d{6}(?:-[A-Z0-9]{7})?"),
    _mark("Obsidian Sync", r" \(Conflicted copy [^()]+ \d{12,14}\)"),
    _mark("Nextcloud", rf" \(conflicted copy (?:[^()]+ )?{_DATE} \d{{6}}\)"),
    _mark("Nextcloud", r" \(case clash from [^()]+\)"),
    _mark("ownCloud", r"_conflict-(?:[^/]+-)?\d{8}-\d{6}"),
    _mark("Dropbox", rf" \([^()]+['\u2019]s conflicted copy(?:{_WHEN})?\)"),
    _mark("Dropbox", rf" \((?:[^()]+['\u2019]s {_DROPBOX_CASES}(?: \(?\d+\)?)?|{_DROPBOX_CASES} \(?\d+\)?)\)"),
    _mark("Dropbox", r" \((?:unicode encoding|selective sync) conflict\)"),
    _mark("Dropbox", rf" \((?:[^()]+ )?{_GERMAN}(?: von [^()]+(?:\(\d+\))?|{_WHEN})\)"),
    _mark("Dropbox", rf" \([^()]+s {_GERMAN}\)"),
    _mark("Dropbox", rf" \((?:[^()]+ )?{_ROMANCE}(?: {_OF} [^()]+(?:\(\d+\))?|{_WHEN})\)"),
    _mark("Dropbox", rf" \([^()]*(?:[\u306e\u7684\u4e0a] ?{_CJK}[^()]*|{_CJK}{_WHEN})\)"),
    _mark("Dropbox", rf"{_WIDE[0]}[^{_WIDE}]*{_CJK}[^{_WIDE}]*{_WIDE[1]}"),
    _mark("Maestral", rf" \((?:[^()]+['\u2019]s conflicting copy(?:{_WHEN})?|conflicting copy{_WHEN})\)"),
    _mark("a sync tool", rf" \((?:[^()]+ )?conflicted copy(?: [^()]+)? {_DATE}[^()]*\)(?: - [^()]+)?"),
    _mark("a sync tool", rf" \((?:[^()]+ )?conflicted copy {_DATE}[^()]*\)(?: - [^()]+)?"),
    _mark("Seafile", r" \(SFConflict [^()]+\)"),
    _mark("FSNotes", r" \(CONFLICT \d{8}T\d{6}\)"),
    _mark("rclone", r"\.conflict\d+"),
    _mark("rclone", r"\.\.path[12]"),
    _mark("OneDrive", r"-[^/]+?-safeBackup-\d{4}"),
    _mark("OneDrive", rf"-(?:DESKTOP-[A-Z0-9]{{7}}|LAPTOP-[A-Z0-9]{{8}}|WIN-[A-Z0-9]{{11}})(?:-{_FEW})?", _BESIDE),
    _mark("Dropbox", rf" \({_DROPBOX_CASES}\)", _PEOPLE_TOO),
    _mark("Dropbox", rf" \((?:[^()]+ )?(?:{_GERMAN}|{_ROMANCE}|{_CJK})\)", _PEOPLE_TOO),
    _mark("Maestral", r" \(conflicting copy\)", _PEOPLE_TOO),
    _mark("a sync tool", r" \((?:[^()]+ )?conflicted copy(?: [^()]+)?\)", _PEOPLE_TOO),
    _mark("pCloud", r" (?:\[conflicted(?: \d+)?\]|\(conflicted(?: \d+)?\))", _PEOPLE_TOO),
    _mark("Google Drive", r" \[Conflict(?: \d+)?\]", _PEOPLE_TOO),
    _mark("OneDrive", rf"-[^-]*(?:MacBook|iMac|Mac mini)[^-]*(?:-{_FEW})?", _PEOPLE_TOO),
    _mark("OneDrive", r" - (?:Copy|Kopie|Copie|copia|\u30b3\u30d4\u30fc|\u526f\u672c)(?: \(\d+\))?", _PEOPLE_TOO),
    _mark("Google Drive", r" \([1-9]\d?\)", _PEOPLE_TOO),
    _mark("iCloud", rf" {_FEW}", _PEOPLE_TOO),
    # Not after a digit: `2026-10.md` beside `2026.md` is October, and daily notes stand beside monthly ones.
    _mark("iCloud", rf"-(?<!\d-){_FEW}", _PEOPLE_TOO),
)
_PREFIX = "copy of "
_PREFIX_MARK = _mark("Google Drive", _PREFIX, _PEOPLE_TOO)
_EXTENSION = re.compile(r"(?P<stem>.+)(?P<extension>\.[A-Za-z0-9_]{1,10})", re.DOTALL)
_PLAN = re.compile(r"(?:PLAN|progress)-[^\s()\[\]]+\.md", re.IGNORECASE)
"""What plans and their logs are called: `PLAN-phase-2.md` is the plan `phase-2`, whatever lies beside it."""


def conflict_copy(name: str, beside: Callable[[str], bool], devices: Iterable[str] = ()) -> ConflictCopy | None:
    """What `name` is a conflict copy of, or `None`; `beside` tells whether another name is in the same folder.

    `devices` are names of the operator's computers, which OneDrive puts behind a note's name.
    """
    return _Recognition(beside, tuple(devices)).copy(name)


def suspect_copy(name: str, beside: Callable[[str], bool], devices: Iterable[str] = ()) -> ConflictCopy | None:
    """What `name` would be a copy of, if its text showed that; `None` for a name that says nothing of the kind.

    Only a name that is no copy by itself has an answer, and only while the note lies beside it.
    """
    recognition = _Recognition(beside, tuple(devices))
    if _PLAN.fullmatch(name) or recognition.copy(name) is not None:
        return None
    return recognition.suspect(name)


class _Recognition:
    """One question, with the answers to the smaller questions in it: a hostile name must not ask them all twice."""

    def __init__(self, beside: Callable[[str], bool], devices: tuple[str, ...]) -> None:
        self._beside = beside
        self._devices = devices
        self._copies: dict[str, ConflictCopy | None] = {}
        self._suspects: dict[str, ConflictCopy | None] = {}

    def copy(self, name: str) -> ConflictCopy | None:
        if name not in self._copies:
            self._copies[name] = self._read_copy(name)
        return self._copies[name]

    def suspect(self, name: str) -> ConflictCopy | None:
        if name not in self._suspects:
            self._suspects[name] = self._read_suspect(name)
        return self._suspects[name]

    def _read_copy(self, name: str) -> ConflictCopy | None:
        """By a mark of tools; or by any mark behind the name of such a copy."""
        for mark, bases in _readings(name, self._devices):
            if mark.used_by == _PEOPLE_TOO:
                known = [base for base in bases if self.copy(base)]
            else:
                known = [base for base in bases if self._beside(base) or self.copy(base)]
            if known or (bases and mark.used_by == _TOOLS_ONLY):
                return ConflictCopy(name, self._end((known or bases)[0]), mark.tool)
        return None

    def _read_suspect(self, name: str) -> ConflictCopy | None:
        for mark, bases in _readings(name, self._devices):
            known = [base for base in bases if self._beside(base) or self.suspect(base)]
            if known:
                return ConflictCopy(name, self._end(known[0]), mark.tool)
        return None

    def _end(self, base: str) -> str:
        """The note at the end: a base that is a copy itself leads on, and so does one that is not there."""
        inner = self.copy(base) or (None if self._beside(base) else self.suspect(base))
        return inner.base if inner else base


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
    return _mark("OneDrive", rf"-{re.escape(device)}(?:-{_FEW})?", _BESIDE)
