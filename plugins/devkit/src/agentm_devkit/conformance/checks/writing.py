"""Unconditional writes, and places where nothing can be written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentm_devkit.conformance.checking import check
from agentm_devkit.conformance.expect import contents, refused, same, shown, unchanged
from agentm_kernel.plugin import Locator, LocatorConflictError

if TYPE_CHECKING:
    from agentm_devkit.conformance.bench import Bench
    from agentm_devkit.conformance.worker import Child

_NOTE = Locator("dir/note.md")


@check("writing")
def check_write_returns_locator(bench: Bench) -> None:
    """`write` returns the locator that it was given."""
    same(f"write({shown(_NOTE)})", bench.store.write(_NOTE, "one\n"), _NOTE)


@check("writing")
def check_read_back(bench: Bench) -> None:
    """`read` gives the text that was written, as a `str`."""
    bench.store.write(_NOTE, "one\ntwo\n")
    same(f"read({shown(_NOTE)})", bench.store.read(_NOTE), "one\ntwo\n")


@check("writing")
def check_overwrite(bench: Bench) -> None:
    """A write replaces what was there, all of it."""
    store = bench.store
    store.write(_NOTE, "a longer text than the next\n")
    store.write(_NOTE, "short\n")
    same(f"read({shown(_NOTE)}) after a second write", store.read(_NOTE), "short\n")


@check("writing")
def check_parents_appear(bench: Bench) -> None:
    """`write` makes the directories above a note."""
    store = bench.store
    store.write(Locator("a/b/c.md"), "one\n")
    same("the store", contents(store), {"a": None, "a/b": None, "a/b/c.md": "one\n"})


@check("writing")
def check_neighbours(bench: Bench) -> None:
    """A write touches no other key, however alike it is."""
    store = bench.store
    notes = {"a/b.md": "1\n", "a/b.md.bak": "2\n", "a/b": "3\n", "a.md": "4\n"}
    for key in (*notes, "a/b.md"):
        store.write(Locator(key), notes[key])
    same("the store", contents(store), {"a": None, **notes})


@check("writing", rows=(19,))
def check_write_to_root(bench: Bench) -> None:
    """A write to the root raises `LocatorConflictError` and changes nothing."""
    bench.store.write(_NOTE, "one\n")
    with unchanged(bench.store):
        refused(LocatorConflictError, bench.store.write, Locator(), "two\n")


@check("writing", rows=(19,))
def check_write_onto_directory(bench: Bench) -> None:
    """A write onto a directory raises `LocatorConflictError` and changes nothing."""
    bench.store.write(_NOTE, "one\n")
    with unchanged(bench.store):
        refused(LocatorConflictError, bench.store.write, Locator("dir"), "two\n")


@check("writing", rows=(19,))
def check_write_below_file(bench: Bench) -> None:
    """A write below a file raises `LocatorConflictError` and changes nothing."""
    bench.store.write(_NOTE, "one\n")
    with unchanged(bench.store):
        refused(LocatorConflictError, bench.store.write, Locator("dir/note.md/child.md"), "two\n")
        refused(LocatorConflictError, bench.store.write, Locator("dir/note.md/a/b/child.md"), "two\n")


@check("writing", persistent=True)
def check_another_process_reads(bench: Bench) -> None:
    """What `write` acknowledged, another process reads."""
    bench.store.write(_NOTE, "one\n")
    same("the store as another process sees it", bench.run(_contents), {"dir": None, _NOTE.key: "one\n"})


def _contents(child: Child) -> dict[str, str | None]:
    return contents(child.store)
