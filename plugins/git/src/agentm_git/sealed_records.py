"""Uniting what the merger could not read: in an encrypted store it sees two sealed texts, and keeps one of them.

Whoever has the keys does afterwards what the merger does with plain ones (`records`).
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from agentm_git.records import says_who_is_who, united
from agentm_kernel.plugin import AgentmError, InvalidContentError, Locator, Sealed, layout, update

if TYPE_CHECKING:
    from agentm_kernel.plugin import StorageBackend

_CONFLICTS = f"{layout.CONFLICTS}/"


def unite_sealed(store: StorageBackend) -> bool:
    """Whether there was anything to unite in a store, which is given with its layers."""
    sealed = store.facet(Sealed)
    if sealed is None:
        return False
    is_united = False
    kept = [info.locator for info in sealed.as_stored.walk(Locator(layout.CONFLICTS)) if not info.is_dir]
    for version in kept:
        note = Locator(version.parent.key.removeprefix(_CONFLICTS))
        if says_who_is_who(note.key):
            with suppress(AgentmError):  # what cannot be opened stays as it is, and `encryption status` lists it
                _unite(store, sealed, note, version)
                is_united = True
    return is_united


def _unite(store: StorageBackend, sealed: Sealed, note: Locator, version: Locator) -> None:
    """Let the note say what a version of it says, too, which is not needed any more then."""
    kept = sealed.open_text(note, sealed.as_stored.read(version))

    def both(text: str | None) -> str:
        whole = united(note.key, (text or kept).encode(), kept.encode())
        if whole is None:
            raise InvalidContentError(f"'{note}' and '{version}' cannot be put together")
        # Never the text that is there: it has to be sealed anew, or the device whose version lost would take the one
        # that won for an older version that somebody brought back.
        return whole.decode() + ("\n" if whole.decode() == text else "")

    update(store, note, both)
    store.delete(version)
