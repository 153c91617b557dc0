"""What a proposal is about changes while it waits: it is not accepted where nobody would read it, nor over others."""

from __future__ import annotations

import pytest

from agentm_kernel.plugin import (
    ConcurrentModificationError,
    InvalidContentError,
    Locator,
    LocatorConflictError,
    StorageBackend,
    content_hash,
)
from agentm_recall.inbox import APPEND, REPLACE, SAVE, Proposal, accept, find, pending, propose

TARGET = Locator("projects/widgets/facts/use-uv.md")


class Settings:
    def get(self, _key: str) -> None:
        return None


def proposed(store: StorageBackend, action: str, body: str, expect: str = "") -> Proposal:
    proposal = Proposal(action, TARGET.key, "fact", body, expect=expect, by="codex")
    return find(store, propose(store, proposal, Settings()))  # type: ignore[arg-type]


@pytest.mark.parametrize("status", ["deleted", "superseded"])
def test_lines_are_not_accepted_into_a_note_that_no_session_is_given_any_more(
    store: StorageBackend, status: str
) -> None:
    text = f"---\nkind: fact\nstatus: {status}\n---\n\n# Use uv\n"
    store.write(TARGET, text.replace(status, "active"))
    proposal = proposed(store, APPEND, "It is fast.\n")
    store.write(TARGET, text)
    with pytest.raises(InvalidContentError, match=f"'{TARGET}' is {status}, so no session is given it") as refused:
        accept(store, proposal)
    assert proposal.name in (refused.value.hint or "")
    assert store.read(TARGET) == text
    assert [one.name for one in pending(store)] == [proposal.name], "what was proposed still waits"


def test_a_note_that_came_or_changed_meanwhile_is_refused_with_what_shows_both(store: StorageBackend) -> None:
    new = proposed(store, SAVE, "# Use uv\n\nIt is fast.\n")
    store.write(TARGET, "# Use uv\n\nIt is new.\n")
    with pytest.raises(LocatorConflictError) as refused:
        accept(store, new)
    assert "--update" not in (refused.value.hint or "")
    assert f"`agentm inbox show {new.name}`" in (refused.value.hint or "")
    other = proposed(store, REPLACE, "# Use uv\n\nIt is faster.\n", content_hash(store.read(TARGET)))
    store.write(TARGET, "# Use uv\n\nIt is newer.\n")
    with pytest.raises(ConcurrentModificationError) as changed:
        accept(store, other)
    assert f"`agentm inbox show {other.name}`" in (changed.value.hint or "")
    assert "newer" in store.read(TARGET)
