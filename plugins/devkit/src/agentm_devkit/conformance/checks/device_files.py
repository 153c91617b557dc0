"""Stores that are files on this host: paths, bytes, modes, and what other programs put into the files."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from agentm_devkit.conformance.checking import check
from agentm_devkit.conformance.expect import NotApplicable, Violation, refused, same, shown, unchanged
from agentm_kernel.plugin import (
    ABSENT,
    MAX_CONTENT_BYTES,
    ConcurrentModificationError,
    InvalidContentError,
    Locator,
    NotFoundError,
    append,
    content_hash,
    update,
)

if TYPE_CHECKING:
    from agentm_devkit.conformance.bench import Bench

_NOTE = Locator("dir/note.md")


@check("device_files", needs=("device_files",))
def check_device_path(bench: Bench) -> None:
    """`device_path` gives an absolute path as `str`, below the root's, for what is there and what is not."""
    store = bench.store
    files = bench.device_files()
    store.write(_NOTE, "one\n")
    root = files.device_path(Locator())
    for locator in (_NOTE, Locator("missing/note.md")):
        path = files.device_path(locator)
        same(f"device_path({shown(locator)})", path, os.path.join(root, *locator.parts))
        if not os.path.isabs(path):
            raise Violation(f"device_path({shown(locator)}) gave the relative {shown(path)}")


@check("device_files", needs=("device_files",), rows=(20,))
def check_bytes_on_disk(bench: Bench) -> None:
    """The file at `device_path` holds the UTF-8 bytes that were written, and nothing else."""
    content = "\ufeffone\r\ntwo\rthré 👋"
    bench.store.write(_NOTE, content)
    with open(bench.device_path(*_NOTE.parts), "rb") as file:
        same("the file", file.read(), content.encode())


@check("device_files", needs=("device_files",))
def check_edits_of_other_programs(bench: Bench) -> None:
    """What an editor puts into the tree is read, listed and compared with, at once."""
    store = bench.store
    store.write(_NOTE, "one\n")
    bench.plant(_NOTE.key, b"edited\r\n")
    bench.plant("dir/new.md", b"new\n")
    same(f"read({shown(_NOTE)})", store.read(_NOTE), "edited\r\n")
    same("list('dir')", store.list(Locator("dir")), [Locator("dir/new.md"), _NOTE])
    refused(ConcurrentModificationError, store.write, _NOTE, "two\n", if_match=content_hash("one\n"))
    refused(ConcurrentModificationError, store.write, Locator("dir/new.md"), "two\n", if_match=ABSENT)
    store.write(_NOTE, "two\n", if_match=content_hash("edited\r\n"))


@check("device_files", needs=("device_files",))
def check_reading_creates_nothing(bench: Bench) -> None:
    """Reading creates nothing on disk, not even the root: asking for a path or a note must be free of traces."""
    store = bench.store
    before = _tree(bench)
    for locator in (Locator(), Locator("missing"), _NOTE):
        bench.device_path(*locator.parts)
        store.exists(locator)
        store.list(locator)
        list(store.walk(locator))
    refused(NotFoundError, store.read, _NOTE)
    refused(NotFoundError, store.info, _NOTE)
    same("the scratch directory", _tree(bench), before)


def _tree(bench: Bench) -> list[str]:
    return sorted(
        os.path.join(folder, name) for folder, dirs, files in os.walk(bench.scratch) for name in dirs + files
    )


@check("device_files", needs=("device_files",), rows=(22,))
def check_file_that_is_not_text(bench: Bench) -> None:
    """A file that is not UTF-8 raises `InvalidContentError` naming the locator: it is neither empty nor absent."""
    store = bench.store
    path = bench.plant(_NOTE.key, b"caf\xe9\n" * 100)
    error = refused(InvalidContentError, store.read, _NOTE)
    if _NOTE.key not in str(error):
        raise Violation(f"the error says only {shown(str(error))}")
    refused(InvalidContentError, update, store, _NOTE, lambda text: (text or "") + "line\n")
    same(f"exists({shown(_NOTE)})", store.exists(_NOTE), True)
    same("list('dir')", store.list(Locator("dir")), [_NOTE])
    with open(path, "rb") as file:
        same("the file", file.read(), b"caf\xe9\n" * 100)


@check("device_files", needs=("device_files",), rows=(23,))
def check_file_over_the_limit(bench: Bench) -> None:
    """A file over the size limit raises `InvalidContentError` when it is read."""
    path = bench.plant(_NOTE.key)
    with open(path, "r+b") as file:
        limit = max(bench.size_limit, MAX_CONTENT_BYTES)  # a layer may write less than the store in it reads
        file.truncate(2 * limit)  # sparse: it takes no room on the disk
    refused(InvalidContentError, bench.store.read, _NOTE)


@check("device_files", needs=("device_files",), rows=(25,))
def check_mode_is_kept(bench: Bench) -> None:
    """A write keeps the mode of the file: what the operator made private stays private."""
    if os.name == "nt":
        raise NotApplicable("files have no modes on this platform")
    bench.store.write(_NOTE, "one\n")
    path = bench.device_path(*_NOTE.parts)
    for mode in (0o600, 0o640, 0o444):
        os.chmod(path, mode)
        bench.store.write(_NOTE, f"with mode {mode:o}\n")
        same("the mode after a write", oct(stat.S_IMODE(os.stat(path).st_mode)), oct(mode))


@check("device_files", needs=("device_files",), rows=(17,))
def check_hard_link(bench: Bench) -> None:
    """A write or append to a file that has a second name, outside of the store, leaves the other name alone."""
    secret = os.path.join(bench.outside, "secret.md")
    with open(secret, "wb") as file:
        file.write(b"outside\n")
    os.makedirs(bench.device_path("dir"), exist_ok=True)
    added = _NOTE.parent.child("added.md")
    try:
        for note in (_NOTE, added):
            os.link(secret, bench.device_path(*note.parts))
    except OSError as error:
        raise NotApplicable(f"hard links cannot be made here: {error}") from None
    bench.store.write(_NOTE, "inside\n")
    with open(secret, "rb") as file:
        same("the file outside", file.read(), b"outside\n")
    append(bench.store, added, "inside\n")
    same("the note that was added to", bench.store.read(added), "outside\ninside\n")
    with open(secret, "rb") as file:
        same("the file outside", file.read(), b"outside\n")


@check("device_files", needs=("device_files",), rows=(19,))
def check_file_where_directory_was(bench: Bench) -> None:
    """A file that a sync tool puts where a directory was is met like any file: typed errors, nothing lost."""
    store = bench.store
    store.write(_NOTE, "one\n")
    os.unlink(bench.device_path(*_NOTE.parts))
    os.rmdir(bench.device_path("dir"))
    bench.plant("dir", b"now a file\n")
    with unchanged(store):
        refused(NotFoundError, store.read, _NOTE)
        same("list('dir')", store.list(Locator("dir")), [])
        refused(ConcurrentModificationError, store.write, _NOTE, "two\n", if_match=content_hash("one\n"))
