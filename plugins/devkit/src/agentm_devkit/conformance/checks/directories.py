"""`mkdir`: directories that hold nothing yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentm_devkit.conformance.checking import check
from agentm_devkit.conformance.expect import contents, refused, same, unchanged
from agentm_kernel.plugin import Locator, LocatorConflictError

if TYPE_CHECKING:
    from agentm_devkit.conformance.bench import Bench


@check("directories")
def check_mkdir_returns_locator(bench: Bench) -> None:
    """`mkdir` returns the locator that it was given."""
    same("mkdir('a/b')", bench.store.mkdir(Locator("a/b")), Locator("a/b"))


@check("directories")
def check_mkdir_makes_directory(bench: Bench) -> None:
    """`mkdir` makes an empty directory, and those above it: they exist, are listed, and hold nothing else."""
    store = bench.store
    store.mkdir(Locator("a/b"))
    same("exists('a/b')", store.exists(Locator("a/b")), True)
    same("info('a/b').is_dir", store.info(Locator("a/b")).is_dir, True)
    same("the store", contents(store), {"a": None, "a/b": None})


@check("directories")
def check_mkdir_again(bench: Bench) -> None:
    """`mkdir` of a directory that is there already keeps what it holds, the root included."""
    store = bench.store
    store.write(Locator("a/b.md"), "one\n")
    with unchanged(store):
        store.mkdir(Locator("a"))
        store.mkdir(Locator())


@check("directories", rows=(19,))
def check_mkdir_onto_file(bench: Bench) -> None:
    """`mkdir` onto a file raises `LocatorConflictError` and changes nothing."""
    bench.store.write(Locator("a/b.md"), "one\n")
    with unchanged(bench.store):
        refused(LocatorConflictError, bench.store.mkdir, Locator("a/b.md"))


@check("directories", rows=(19,))
def check_mkdir_below_file(bench: Bench) -> None:
    """`mkdir` below a file raises `LocatorConflictError` and changes nothing."""
    bench.store.write(Locator("a/b.md"), "one\n")
    with unchanged(bench.store):
        refused(LocatorConflictError, bench.store.mkdir, Locator("a/b.md/c/d"))
