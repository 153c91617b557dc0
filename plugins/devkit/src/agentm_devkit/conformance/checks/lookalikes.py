"""Names that a query, a pattern or an encoding takes for others: `_` and `%` of SQL, `[` of globs, `%25` of URLs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentm_devkit.conformance.checking import check
from agentm_devkit.conformance.expect import same
from agentm_kernel.plugin import Locator

if TYPE_CHECKING:
    from agentm_devkit.conformance.bench import Bench
    from agentm_kernel.plugin import StorageBackend

_FOLDERS = (
    "a_b",
    "axb",
    "a%b",
    "a%25b",
    "a+b",
    "a b",
    "[ab]",
    "a",
    "ab",
    "a~b",
    "a'b",
    "a;b",
    "a#b",
    "a&b",
    "a=b",
    "{a}",
)
"""Each with a note of the same name in it: in a pattern or an encoding, some of them stand for others."""


def _filled(bench: Bench) -> StorageBackend:
    for name in _FOLDERS:
        bench.store.write(Locator(f"{name}/{name}.md"), name)
        bench.store.write(Locator(f"{name}-.md"), name)
    return bench.store


@check("lookalikes")
def check_lookalike_names_are_apart(bench: Bench) -> None:
    """A name with `_`, `%`, `[`, `~`, `+`, a quote or a space means itself, in every verb that reads."""
    store = _filled(bench)
    for name in _FOLDERS:
        note = Locator(f"{name}/{name}.md")
        same(f"read('{note}')", store.read(note), name)
        same(f"list('{name}')", store.list(Locator(name)), [note])
        same(f"walk('{name}')", [info.locator for info in store.walk(Locator(name))], [note])
        same(f"info('{note}').size", store.info(note).size, len(name))
    wanted = sorted([*_FOLDERS, *(f"{name}-.md" for name in _FOLDERS)])
    same("list('')", [child.key for child in store.list(Locator())], wanted)


@check("lookalikes")
def check_lookalike_names_are_written_apart(bench: Bench) -> None:
    """Writing to one of them changes no other."""
    store = _filled(bench)
    for name in ("a_b", "a%b", "[ab]", "a~b", "a+b"):
        store.write(Locator(f"{name}/{name}.md"), "changed")
        same(f"read('axb/axb.md') after a write to '{name}'", store.read(Locator("axb/axb.md")), "axb")
        same(f"read('a/a.md') after a write to '{name}'", store.read(Locator("a/a.md")), "a")
        same(f"read('a%25b/a%25b.md') after a write to '{name}'", store.read(Locator("a%25b/a%25b.md")), "a%25b")


@check("lookalikes", needs=("delete",))
def check_lookalike_names_are_deleted_apart(bench: Bench) -> None:
    """Deleting one of them deletes no other."""
    store = _filled(bench)
    gone = ("a_b", "a%b", "[ab]", "a~b")
    for name in gone:
        store.delete(Locator(f"{name}/{name}.md"))
    for name in _FOLDERS:
        note = Locator(f"{name}/{name}.md")
        same(f"exists('{note}')", store.exists(note), name not in gone)


@check("lookalikes")
def check_lookalike_prefixes(bench: Bench) -> None:
    """A folder is more than the beginning of a name: what begins like it is not in it."""
    store = bench.store
    for key in ("log/a.md", "log-2/b.md", "log.md", "logs/c.md", "log/a.md.bak", "log/ab/d.md"):
        store.write(Locator(key), key)
    same("list('log')", [child.key for child in store.list(Locator("log"))], ["log/a.md", "log/a.md.bak", "log/ab"])
    same("list('lo')", store.list(Locator("lo")), [])
    same("exists('log/a')", store.exists(Locator("log/a")), False)
    same(
        "walk('log')",
        [i.locator.key for i in store.walk(Locator("log"))],
        ["log/a.md", "log/a.md.bak", "log/ab", "log/ab/d.md"],
    )
