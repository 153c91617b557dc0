"""What a person does on the page. Every change is on the condition that the note is still what the page showed."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentm_kernel.plugin import (
    AgentmError,
    AuthorizationError,
    ConcurrentModificationError,
    InvalidContentError,
    NotFoundError,
)
from agentm_view.diff import with_line_ends
from agentm_view.memory import asked
from agentm_view.screens.panel import named_panel

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentm_view.links import Links
    from agentm_view.memory import Memory
    from agentm_view.screens import Asked

_KEPT = 50
"""Changes that can be taken back from the page. Older ones are in the note's history."""
_A_WHILE = 120.0
"""Seconds for what a panel does: a merge or a checkpoint of a large store takes some."""


@dataclass(frozen=True)
class Undone:
    """What a change replaced."""

    key: str
    text: str
    hash: str


class ChangedMeanwhile(Exception):
    """The note is not what the page showed; what the person wrote is in `text`."""

    def __init__(self, key: str, text: str) -> None:
        super().__init__(key)
        self.key = key
        self.text = text


class Doing:
    """The changes of one page, and the way back from each."""

    def __init__(self, memory: Memory, links: Links) -> None:
        self._memory = memory
        self._links = links
        self._undo: OrderedDict[str, Undone] = OrderedDict()

    def do(self, what: str, fields: Mapping[str, str], given: Asked) -> dict[str, Any]:
        """Do it, and say so in a line; where to go next, and how to take it back, where that is so."""
        if self._memory.read_only:
            raise AuthorizationError(
                "this page only shows", hint="run `agentm view` without --read-only to change notes"
            )
        work = {"write": self._write, "status": self._status, "save": self._save, "undo": self._take_back}.get(what)
        if work is not None:
            return work(fields)
        if what == "panel":
            return self._panel(fields, given)
        raise InvalidContentError(f"the page cannot do {what!r}")

    def _write(self, fields: Mapping[str, str]) -> dict[str, Any]:
        key, text, expect = _field(fields, "key"), _field(fields, "text"), _field(fields, "expect")
        service = self._memory.notes()
        old = None
        if expect != "absent":
            try:
                old = service.read(key)
            except NotFoundError:
                raise ChangedMeanwhile(key, text) from None
            if old["hash"] != expect:
                raise ChangedMeanwhile(key, text)
            text = with_line_ends(old["text"], text)
        try:
            written = service.write(key, text, expect)
        except (ConcurrentModificationError, NotFoundError):
            raise ChangedMeanwhile(key, text) from None
        undo = self._remember(Undone(key, old["text"], written)) if old and old["text"] != text else None
        return {"said": "Saved.", "go": self._links.note(key), "undo": undo}

    def _status(self, fields: Mapping[str, str]) -> dict[str, Any]:
        key, expect, status = _field(fields, "key"), _field(fields, "expect"), _field(fields, "status")
        service = self._memory.notes()
        old = service.read(key)
        written = service.set_status(key, status, expect)
        said = {"deleted": "Forgotten. Its text is kept.", "active": "Brought back."}.get(status, f"Now {status}.")
        return {"said": said, "undo": self._remember(Undone(key, old["text"], written)), "go": self._links.note(key)}

    def _save(self, fields: Mapping[str, str]) -> dict[str, Any]:
        service = self._memory.notes()
        replaced = fields.get("supersedes", "")
        if replaced and service.read(replaced)["hash"] != fields.get("expect"):
            raise ConcurrentModificationError(
                f"'{replaced}' was changed while you wrote; nothing was saved",
                hint="look at it again, then save: what you wrote is kept here",
            )
        key = service.save(fields)
        return {"said": "Saved.", "go": self._links.note(key)}

    def _take_back(self, fields: Mapping[str, str]) -> dict[str, Any]:
        undone = self._undo.pop(_field(fields, "undo"), None)
        if undone is None:
            raise NotFoundError("this change cannot be taken back here any more", hint="the note's versions have it")
        service = self._memory.notes()
        try:
            now = service.read(undone.key)["text"]
            written = service.write(undone.key, undone.text, undone.hash)
        except (ConcurrentModificationError, NotFoundError):
            raise ConcurrentModificationError(
                f"'{undone.key}' was changed since; nothing was taken back", hint="its versions have the earlier text"
            ) from None
        redo = self._remember(Undone(undone.key, now, written))
        return {"said": "Taken back.", "go": self._links.note(undone.key), "undo": redo}

    def _panel(self, fields: Mapping[str, str], given: Asked) -> dict[str, Any]:
        panel = named_panel(given, _field(fields, "panel"))
        name = _field(fields, "action")
        action = panel.actions.get(name)
        if action is None:
            raise NotFoundError(f"'{panel.title}' has nothing called '{name}'")
        rest = {key: value for key, value in fields.items() if key not in ("panel", "action")}
        said = asked(panel, lambda: action(rest), _A_WHILE)
        return {"said": str(said)}

    def _remember(self, undone: Undone) -> str:
        name = secrets.token_urlsafe(12)
        self._undo[name] = undone
        if len(self._undo) > _KEPT:  # each takes away one at most, so two at once need no lock
            self._undo.popitem(last=False)
        return name


def _field(fields: Mapping[str, str], name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str):
        raise InvalidContentError(f"the page sent no '{name}'", hint="reload the page")
    return value


def status_of(error: AgentmError) -> int:
    """HTTP's number for what happened."""
    if isinstance(error, NotFoundError):
        return 404
    if isinstance(error, ConcurrentModificationError):
        return 409
    return 403 if isinstance(error, AuthorizationError) else 422
