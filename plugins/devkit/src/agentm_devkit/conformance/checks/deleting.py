"""`delete`, where the backend can, and its refusal where it cannot."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentm_devkit.conformance.checking import check
from agentm_devkit.conformance.expect import contents, refused, same, shown, unchanged
from agentm_kernel.plugin import (
    AgentmError,
    ConcurrentModificationError,
    Locator,
    LocatorConflictError,
    NotFoundError,
    content_hash,
)

if TYPE_CHECKING:
    from agentm_devkit.conformance.bench import Bench
    from agentm_kernel.plugin import StorageBackend

_NOTE = Locator("dir/note.md")
_OTHER = Locator("dir/note.md.bak")


def _with_two_notes(bench: Bench) -> StorageBackend:
    bench.store.write(_NOTE, "one\n")
    bench.store.write(_OTHER, "two\n")
    return bench.store


@check("deleting", lacks=("delete",))
def check_delete_refused(bench: Bench) -> None:
    """Without the capability, `delete` raises a typed error and changes nothing."""
    store = _with_two_notes(bench)
    with unchanged(store):
        refused(AgentmError, store.delete, _NOTE)


@check("deleting", needs=("delete",))
def check_delete(bench: Bench) -> None:
    """`delete` removes one note, and that note only."""
    store = _with_two_notes(bench)
    store.delete(_NOTE)
    same(f"exists({shown(_NOTE)})", store.exists(_NOTE), False)
    refused(NotFoundError, store.read, _NOTE)
    same("the store", contents(store), {"dir": None, _OTHER.key: "two\n"})


@check("deleting", needs=("delete",))
def check_delete_of_nothing(bench: Bench) -> None:
    """`delete` of nothing, or below a file, raises `NotFoundError`."""
    store = _with_two_notes(bench)
    for key in ("missing.md", "missing/note.md", "dir/note.md/child.md"):
        refused(NotFoundError, store.delete, Locator(key))


@check("deleting", needs=("delete",), rows=(19,))
def check_delete_of_directory(bench: Bench) -> None:
    """`delete` of a directory or the root raises `LocatorConflictError` and changes nothing."""
    store = _with_two_notes(bench)
    with unchanged(store):
        refused(LocatorConflictError, store.delete, Locator("dir"))
        refused(LocatorConflictError, store.delete, Locator())


@check("deleting", needs=("delete",))
def check_delete_on_condition(bench: Bench) -> None:
    """`delete` with the hash of other content raises `ConcurrentModificationError`; with the right one it deletes."""
    store = _with_two_notes(bench)
    with unchanged(store):
        refused(ConcurrentModificationError, store.delete, _NOTE, if_match=content_hash("two\n"))
    store.delete(_NOTE, if_match=content_hash("one\n"))
    same(f"exists({shown(_NOTE)})", store.exists(_NOTE), False)


@check("deleting", needs=("delete",))
def check_delete_leaves_no_ghost(bench: Bench) -> None:
    """A deleted key can be created again, in any case, as a note or as a directory."""
    store = _with_two_notes(bench)
    for key in ("dir/note.md", "dir/NOTE.md", "dir/note.md/child.md"):
        store.delete(store.list(Locator("dir"))[0])
        store.write(Locator(key), "again\n")
        same(f"read('{key}')", store.read(Locator(key)), "again\n")
