"""Conditional writes, and `update` over them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentm_devkit.conformance.checking import check
from agentm_devkit.conformance.expect import refused, same, shown, unchanged
from agentm_kernel.plugin import ABSENT, AgentmError, ConcurrentModificationError, Locator, content_hash, update

if TYPE_CHECKING:
    from agentm_devkit.conformance.bench import Bench

_NOTE = Locator("dir/note.md")
_PATIENCE = 2.0  # nobody else is there: a backend that keeps refusing will not change its mind


@check("conditions")
def check_matching_hash(bench: Bench) -> None:
    """A write whose `if_match` is the hash of the stored bytes goes through, whatever the bytes."""
    store = bench.store
    for content in ("one\n", "two\r\n", "\ufeffthré 👋", ""):
        store.write(_NOTE, content)
        store.write(_NOTE, "after\n", if_match=content_hash(content))
        same(f"read({shown(_NOTE)})", store.read(_NOTE), "after\n")


@check("conditions")
def check_wrong_hash(bench: Bench) -> None:
    """A write whose `if_match` is another hash raises `ConcurrentModificationError` and changes nothing."""
    store = bench.store
    store.write(_NOTE, "one\n")
    with unchanged(store):
        for condition in (content_hash("two\n"), content_hash(""), "", "not a hash"):
            refused(ConcurrentModificationError, store.write, _NOTE, "three\n", if_match=condition)


@check("conditions")
def check_hash_is_the_currency(bench: Bench) -> None:
    """`if_match` compares content hashes only: a version token is no condition, and raises."""
    store = bench.store
    store.write(_NOTE, "one\n")
    with unchanged(store):
        refused(ConcurrentModificationError, store.write, _NOTE, "two\n", if_match=store.info(_NOTE).version)


@check("conditions")
def check_hash_of_nothing(bench: Bench) -> None:
    """A write that expects a hash where nothing is raises `ConcurrentModificationError` and makes no directory."""
    store = bench.store
    with unchanged(store):
        refused(ConcurrentModificationError, store.write, _NOTE, "one\n", if_match=content_hash(""))


@check("conditions")
def check_absent_creates(bench: Bench) -> None:
    """A write with `ABSENT` creates a note where there is none."""
    store = bench.store
    store.write(_NOTE, "one\n", if_match=ABSENT)
    same(f"read({shown(_NOTE)})", store.read(_NOTE), "one\n")


@check("conditions")
def check_absent_never_replaces(bench: Bench) -> None:
    """A write with `ABSENT` onto a note, even an empty one, raises `ConcurrentModificationError`; nothing changes."""
    store = bench.store
    for stored in ("one\n", ""):
        store.write(_NOTE, stored)
        with unchanged(store):
            refused(ConcurrentModificationError, store.write, _NOTE, "two\n", if_match=ABSENT)


@check("conditions", rows=(19,))
def check_condition_on_directory(bench: Bench) -> None:
    """A conditional write onto a directory or below a file raises a typed error and changes nothing."""
    store = bench.store
    store.write(_NOTE, "one\n")
    with unchanged(store):
        for key in ("", "dir", "dir/note.md/child.md"):
            for condition in (ABSENT, content_hash("one\n")):
                refused(AgentmError, store.write, Locator(key), "two\n", if_match=condition)


@check("conditions")
def check_update(bench: Bench) -> None:
    """`update` hands over `None` for nothing and then the text that is stored, and stores what it gets back."""
    store = bench.store
    seen: list[str | None] = []

    def append(text: str | None) -> str:
        seen.append(text)
        return (text or "") + "line\n"

    update(store, _NOTE, append, timeout=_PATIENCE)
    update(store, _NOTE, append, timeout=_PATIENCE)
    same("the text that update handed over", seen, [None, "line\n"])
    same(f"read({shown(_NOTE)})", store.read(_NOTE), "line\nline\n")


@check("conditions", rows=(33,))
def check_update_keeps_a_rival_edit(bench: Bench) -> None:
    """`update` loses no edit that another writer makes between its read and its write, the first one included."""
    store = bench.store
    for stored in (None, "begin "):
        locator = Locator("new.md" if stored is None else "old.md")
        if stored is not None:
            store.write(locator, stored)
        rivals = ["rival "]

        def append(text: str | None, locator: Locator = locator, rivals: list[str] = rivals) -> str:
            if rivals:
                store.write(locator, (text or "") + rivals.pop())
            return (text or "") + "mine"

        update(store, locator, append, timeout=_PATIENCE)
        same(f"read({shown(locator)})", store.read(locator), (stored or "") + "rival mine")
