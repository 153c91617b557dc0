"""What became of a note: its versions, and the way back to one of them."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentm_git.applying import read_blobs
from agentm_kernel.plugin import IntegrityError, NotFoundError, Sealed, content_hash, decode_content

if TYPE_CHECKING:
    from agentm_git.clone import Clone
    from agentm_kernel.plugin import Locator, StorageBackend

_ARMOR = "-----BEGIN AGE ENCRYPTED FILE-----"
WRITTEN, CHANGED, DELETED = "written", "changed", "deleted"


@dataclass(frozen=True)
class Version:
    """A note as one commit left it."""

    commit: str
    time: int
    """Seconds since the epoch at which its author made it."""
    author: str
    subject: str
    what: str
    blob: str | None
    """`None` where the commit deleted the note."""
    size: int


def versions(clone: Clone, locator: Locator) -> list[Version]:
    """Every version of a note that the branch knows, the latest first."""
    if clone.public.head() is None:
        return []
    lines = clone.read_history("log", "--no-renames", "--format=%H%x00%at%x00%an%x00%s", "HEAD", "--", locator.key)
    commits = [line.split("\0", 3) for line in lines.splitlines()]
    asked = "".join(f"{fields[0]}:{locator.key}\n" for fields in commits)
    answers = clone.git.text("cat-file", "--batch-check", data=asked.encode()).splitlines()
    found: list[Version] = []
    for fields, answer in reversed(list(zip(commits, answers, strict=True))):
        blob, _, rest = answer.partition(" ")
        is_there = rest.startswith("blob ")
        before = found[-1].blob if found else None
        what = DELETED if not is_there else CHANGED if before else WRITTEN
        size = int(rest.partition(" ")[2]) if is_there else 0
        found.append(Version(fields[0], int(fields[1]), fields[2], fields[3], what, blob if is_there else None, size))
    return found[::-1]


def find(known: list[Version], commit: str, locator: Locator) -> Version:
    """The version that a commit left, named by the beginning of its id."""
    fitting = [version for version in known if version.commit.startswith(commit.lower())]
    if len(fitting) != 1:
        how = "no" if not fitting else "more than one"
        listing = f"`agentm git log {shlex.quote(locator.key)}` lists them"
        raise NotFoundError(f"{how} version of '{locator}' was left by {ascii(commit)}", hint=listing)
    return fitting[0]


def read_version(store: StorageBackend, clone: Clone, locator: Locator, version: Version | None) -> str | None:
    """What a version says, as the verbs of `store` would have given it; `None` if the note was not there.

    git has what was stored: in an encrypted store that is sealed, and what is not is nothing that this store wrote.
    """
    if version is None or version.blob is None:
        return None
    stored = decode_content(read_blobs(clone.git, [version.blob])[version.blob], locator)
    sealed = store.facet(Sealed)
    if sealed is not None:
        return sealed.open_text(locator, stored)
    if stored.startswith(_ARMOR) and not (_read(store, locator) or "").startswith(_ARMOR):
        raise IntegrityError(
            f"what {version.commit[:12]} has of '{locator}' is sealed: the store was encrypted then, and is plain",
            hint="`agentm encryption init` on the device that made it plain, which has the keys, opens it again",
        )
    return stored


def version_before(store: StorageBackend, clone: Clone, locator: Locator, known: list[Version]) -> Version | None:
    """The latest version that says something else than the note does now; `None`: it was not there before.

    Two that say the same follow each other where a note was sealed anew.
    """
    now = _read(store, locator)
    return next((each for each in known[1:] if read_version(store, clone, locator, each) != now), None)


def restore(store: StorageBackend, clone: Clone, locator: Locator, version: Version | None) -> None:
    """Let the note be what it was, byte for byte, unless somebody changes it meanwhile; `None`: not there."""
    now, text = _read(store, locator), read_version(store, clone, locator, version)
    if text is None:
        if now is not None:
            store.delete(locator, if_match=content_hash(now))
    elif now is None:
        from agentm_kernel.plugin import ABSENT

        store.write(locator, text, if_match=ABSENT)
    elif now != text:
        store.write(locator, text, if_match=content_hash(now))


def _read(store: StorageBackend, locator: Locator) -> str | None:
    try:
        return store.read(locator)
    except NotFoundError:
        return None
