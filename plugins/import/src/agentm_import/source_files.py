"""Files of a source, read and never changed, however hostile the folder is.

Links are not followed, only regular files are opened, nothing is read past the size that a note may have, and what is
not UTF-8 is a reason, not a replacement character. Access times are left alone where the system allows it.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from agentm_import.items import Skipped
from agentm_kernel.plugin import MAX_CONTENT_BYTES, STAMP_KEY, AgentmError, layout

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LARGEST = MAX_CONTENT_BYTES - 64 * 1024
"""Bytes of one source file: what fits into a note together with its front matter."""

_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_NO_ACCESS_TIME = getattr(os, "O_NOATIME", 0)
A_STORE = "a store of agentm; `agentm migrate` takes notes from one store to another"
"""Why nothing is read there: it would be in the store twice."""
_TREES = (layout.PROJECTS, layout.LEGACY_PROJECTS, layout.PERSONAL, layout.INBOX, layout.META)
_DEEPEST = 60
_MOST = 500_000


class Unreadable(Exception):
    """A file of the source that is not read; the message is the reason, in words for the list."""


def no_source(path: str, why: str, hint: str) -> AgentmError:
    """The refusal to import from `path` at all."""
    return AgentmError(f"{path}: {why}", hint=hint)


def open_source(path: str) -> int:
    """A descriptor for a regular file that leaves no trace, where the system can do that."""
    try:
        return os.open(path, _FLAGS | _NO_ACCESS_TIME)
    except PermissionError:
        return os.open(path, _FLAGS)  # somebody else's file: only its owner may leave the time alone


def read_bytes(path: str, limit: int = LARGEST) -> bytes:
    """The bytes of one file, or `Unreadable`."""
    try:
        descriptor = open_source(path)
    except OSError as error:
        if os.path.islink(path):
            raise Unreadable("a link; links are not followed") from None
        raise Unreadable(error.strerror or str(error)) from None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise Unreadable("not a regular file")
        if status.st_size > limit:
            raise Unreadable(f"larger than a note may be ({status.st_size:,} bytes)")
        with os.fdopen(os.dup(descriptor), "rb") as file:
            data = file.read(limit + 1)
    except OSError as error:
        raise Unreadable(error.strerror or str(error)) from None
    finally:
        os.close(descriptor)
    if len(data) > limit:
        raise Unreadable("larger than a note may be")
    return data


def read_text(path: str, limit: int = LARGEST) -> str:
    """The text of one file with every byte of it, or `Unreadable`."""
    data = read_bytes(path, limit)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise Unreadable(f"not UTF-8 (line {line})") from None


def read_lines(path: str, limit: int = LARGEST) -> Iterator[tuple[int, bytes | None]]:
    """Number and bytes of each line, or `None` for one that is larger than a note may be; never more in memory."""
    try:
        descriptor = open_source(path)
    except OSError as error:
        why = "a link; links are not followed" if os.path.islink(path) else error.strerror or str(error)
        raise Unreadable(why) from None
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise Unreadable("not a regular file")
        number = 0
        while line := file.readline(limit):
            number += 1
            is_whole = line.endswith(b"\n") or len(line) < limit
            yield number, line.rstrip(b"\n") if is_whole else None
            while not is_whole:
                rest = file.readline(limit)
                is_whole = rest.endswith(b"\n") or len(rest) < limit


def read_optional(path: str, limit: int = LARGEST) -> str | None:
    """The text of one file, `None` if there is none or it cannot be read: for what only helps."""
    try:
        return read_text(path, limit)
    except Unreadable:
        return None


def changed_at(path: str) -> str:
    """When the file was last changed, as ISO 8601; nothing if that cannot be known."""
    try:
        return iso_time(os.lstat(path).st_mtime)
    except OSError:
        return ""


def iso_time(seconds: float) -> str:
    """A moment as notes spell it."""
    from datetime import UTC, datetime

    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
    except (ValueError, OverflowError, OSError):
        return ""


def walk(
    root: str, enter: Callable[[str], bool] = lambda name: not name.startswith("."), *, stores: bool = True
) -> Iterator[str | Skipped]:
    """The files below `root` as relative paths with `/`, sorted; links, pipes and bad names come with the reason.

    `enter` says by its name whether a folder is looked into, `stores` whether one that is a store of agentm is.
    """
    seen = 0
    pending = [("", 0)]
    while pending:
        folder, depth = pending.pop()
        try:
            with os.scandir(os.path.join(root, *folder.split("/")) if folder else root) as scan:
                entries = sorted(scan, key=lambda entry: entry.name)
        except OSError as error:
            yield Skipped(folder or ".", f"cannot be listed: {error.strerror}")
            continue
        if not stores and (is_store(os.path.join(root, *folder.split("/"))) or (not folder and is_in_store(root))):
            yield Skipped(folder or ".", A_STORE, is_problem=not folder)
            continue
        inner: list[tuple[str, int]] = []
        for entry in entries:
            seen += 1
            if seen > _MOST:
                yield Skipped(folder or ".", f"more than {_MOST:,} files: import its folders one by one")
                return
            path = f"{folder}/{entry.name}" if folder else entry.name
            if not _is_text(path):
                yield Skipped(ascii(path), "its name is not UTF-8")
            elif entry.is_symlink():
                yield Skipped(path, "a link; links are not followed")
            elif entry.is_dir(follow_symlinks=False):
                if enter(entry.name):
                    inner.append((path, depth + 1))
            elif entry.is_file(follow_symlinks=False):
                yield path
            else:
                yield Skipped(path, "not a regular file")
        if depth >= _DEEPEST and inner:
            yield Skipped(folder, f"nested deeper than {_DEEPEST} folders")
            continue
        pending += reversed(inner)


def is_store(folder: str) -> bool:
    return os.path.lexists(os.path.join(folder, *STAMP_KEY.split("/")))


def is_in_store(path: str) -> bool:
    """Whether it is, or lies below, a folder in which a store keeps its notes."""
    above, name = os.path.split(os.path.realpath(path))
    while name:
        if name in _TREES and is_store(above):
            return True
        above, name = os.path.split(above)
    return False


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def count_files(root: str, suffix: str = ".md", limit: int = 20_000) -> int:
    """About how many files of a kind lie below `root`, for `detect`."""
    count = 0
    for path in walk(root):
        if isinstance(path, str) and path.endswith(suffix):
            count += 1
            if count >= limit:
                break
    return count
