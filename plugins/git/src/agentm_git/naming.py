"""Which note a person means: by its key, its slug, the end of its path, or a part that only one note has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentm_kernel.plugin import Locator, NotFoundError, StorageError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentm_git.backend import GitStore

_MARKDOWN = ".md"


def find_note(store: GitStore, name: str) -> Locator:
    """The note, also one that only the history has: it may be wanted back. Several that fit are never guessed at."""
    exact = Locator(name)
    here = [info.locator.key for info in store.walk(Locator()) if not info.is_dir]
    if exact.key in here:
        return exact
    found = _called(here, name)
    if not found:
        gone = _in_history(store)
        if exact.key in gone:
            return exact
        # A note that was deleted goes before one that is there and only has its name as a part of its own.
        found = _called(gone, name) or _with_part(here, name) or _with_part(gone, name)
    if len(found) == 1:
        return Locator(found[0])
    if found:
        shown = ", ".join(key.removesuffix(_MARKDOWN) for key in found[:8])
        raise StorageError(f"'{name}' could be any of: {shown}", hint="give as much of the path as it takes")
    raise NotFoundError(f"no note and no commit has '{name}'", hint="`agentm notes list` shows the notes")


def _called(keys: Iterable[str], name: str) -> list[str]:
    """The keys that `name` is, or that end in it: the first beat the others."""
    wanted = _plain(name.strip("/"))
    known = sorted(set(keys))
    return [key for key in known if _plain(key) == wanted] or [
        key for key in known if _plain(key).endswith(f"/{wanted}")
    ]


def _with_part(keys: Iterable[str], name: str) -> list[str]:
    wanted = _plain(name.strip("/"))
    return [key for key in sorted(set(keys)) if wanted in _plain(key)]


def _plain(key: str) -> str:
    return key.removesuffix(_MARKDOWN).casefold()


def _in_history(store: GitStore) -> list[str]:
    """Every path that a commit of the branch ever had."""
    clone = store.clone
    if clone.public.head() is None:
        return []
    lines = clone.read_history("log", "-z", "--no-renames", "--name-only", "--format=", "HEAD")
    return [path for path in lines.split("\0") if path]
