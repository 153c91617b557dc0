"""Which note a person means: by its key, its slug, the end of its path, or a part that only one note has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentm_kernel.plugin import Locator, NotFoundError, StorageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from agentm_git.backend import GitStore

_MARKDOWN = ".md"


def find_note(store: GitStore, name: str) -> Locator:
    """The note, also one that only the history has: it may be wanted back. Several that fit are never guessed at."""
    exact = Locator(name)
    here = [info.locator.key for info in store.walk(Locator()) if not info.is_dir]
    if exact.key in here:
        return exact
    found = _fitting(here, name)
    if not found:
        gone = _in_history(store)
        if exact.key in gone:
            return exact
        found = _fitting(gone, name)
    if len(found) == 1:
        return Locator(found[0])
    if found:
        shown = ", ".join(key.removesuffix(_MARKDOWN) for key in found[:8])
        raise StorageError(f"'{name}' could be any of: {shown}", hint="give as much of the path as it takes")
    raise NotFoundError(f"no note and no commit has '{name}'", hint="`agentm notes list` shows the notes")


def _fitting(keys: Iterable[str], name: str) -> list[str]:
    """The keys that fit best: a whole slug or the end of a path beats a part of one."""
    wanted = name.strip("/").removesuffix(_MARKDOWN).casefold()
    known = sorted(set(keys))
    ways: tuple[Callable[[str], bool], ...] = (
        lambda key: key == wanted,
        lambda key: key.endswith(f"/{wanted}"),
        lambda key: wanted in key,
    )
    for is_meant in ways:
        found = [key for key in known if is_meant(key.removesuffix(_MARKDOWN).casefold())]
        if found:
            return found
    return []


def _in_history(store: GitStore) -> list[str]:
    """Every path that a commit of the branch ever had."""
    clone = store.clone
    if clone.public.head() is None:
        return []
    lines = clone.read_history("log", "-z", "--no-renames", "--name-only", "--format=", "HEAD")
    return [path for path in lines.split("\0") if path]
