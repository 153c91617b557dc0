"""`list` and `walk`: what is there, all of it, once, in order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentm_devkit.conformance.checking import check
from agentm_devkit.conformance.expect import Violation, same, shown
from agentm_kernel.plugin import Locator

if TYPE_CHECKING:
    from agentm_devkit.conformance.bench import Bench
    from agentm_kernel.plugin import StorageBackend

# `-`, `.` and `/` follow each other: sorting "a/" as a prefix, as object stores do, gives another order than by key.
_TREE = ("a/x.md", "a-b.md", "a.md", "a/sub/y.md", "b.md", "10.md", "9.md", "Z.md", "é.md", "\uff5e.md", "😀.md")
_CHILDREN = ("10.md", "9.md", "Z.md", "a", "a-b.md", "a.md", "b.md", "é.md", "\uff5e.md", "😀.md")


def _with_a_tree(bench: Bench) -> StorageBackend:
    for key in _TREE:
        bench.store.write(Locator(key), key)
    return bench.store


@check("listing")
def check_list_type(bench: Bench) -> None:
    """`list` gives a list of `Locator`s."""
    listed = _with_a_tree(bench).list(Locator())
    if type(listed) is not list or any(type(child) is not Locator for child in listed):
        raise Violation(f"it gave {shown(listed)}")


@check("listing")
def check_list_children(bench: Bench) -> None:
    """`list` gives the immediate children, each once, and nothing that lies deeper or beside."""
    store = _with_a_tree(bench)
    store.write(Locator("b.md"), "again")
    same("list('')", sorted(store.list(Locator())), sorted(map(Locator, _CHILDREN)))
    same("list('a')", sorted(store.list(Locator("a"))), [Locator("a/sub"), Locator("a/x.md")])


@check("listing")
def check_list_order(bench: Bench) -> None:
    """`list` sorts by key, character by character as Python compares text."""
    listed = _with_a_tree(bench).list(Locator())
    same("list('')", listed, sorted(listed, key=lambda child: child.key))


@check("listing")
def check_list_of_nothing(bench: Bench) -> None:
    """`list` of nothing is `[]`, also where the name begins other names."""
    store = _with_a_tree(bench)
    for key in ("missing", "missing/deeper", "a/su", "a-"):
        same(f"list('{key}')", store.list(Locator(key)), [])


@check("listing", rows=(19,))
def check_list_of_file(bench: Bench) -> None:
    """`list` of a file, or below one, is `[]`."""
    store = _with_a_tree(bench)
    same("list('a.md')", store.list(Locator("a.md")), [])
    same("list('a.md/b')", store.list(Locator("a.md/b")), [])


@check("listing")
def check_walk_finds_all(bench: Bench) -> None:
    """`walk` gives everything below a locator: parents before children, siblings by key."""
    store = _with_a_tree(bench)
    wanted: list[str] = []
    for key in _CHILDREN:
        wanted += [key, "a/sub", "a/sub/y.md", "a/x.md"] if key == "a" else [key]
    same("walk('')", [info.locator.key for info in store.walk(Locator())], wanted)
    same("walk('a/sub')", [info.locator.key for info in store.walk(Locator("a/sub"))], ["a/sub/y.md"])


@check("listing")
def check_walk_agrees_with_info(bench: Bench) -> None:
    """`walk` gives the same `Info` as `info`."""
    store = _with_a_tree(bench)
    for found in store.walk(Locator()):
        same(f"walk(''), at {shown(found.locator)},", found, store.info(found.locator))


@check("listing")
def check_walk_of_nothing(bench: Bench) -> None:
    """`walk` of nothing, of a file or below one gives nothing."""
    store = _with_a_tree(bench)
    for key in ("missing", "a.md", "a.md/b"):
        same(f"walk('{key}')", list(store.walk(Locator(key))), [])
