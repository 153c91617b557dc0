"""A medium that fails: the store is gone, the disk is full, nothing can be opened. An error is never absence."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from agentm_devkit.conformance.checking import check
from agentm_devkit.conformance.expect import NotApplicable, Violation, refused, refused_loudly, same, shown
from agentm_kernel.plugin import AgentmError, Locator, NotFoundError, StorageIOError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agentm_devkit.conformance.bench import Bench
    from agentm_devkit.conformance.worker import Child
    from agentm_kernel.plugin import StorageBackend

_NOTE = Locator("dir/note.md")
_DIRECTORY = Locator("dir")
_SMALL = 64 * 1024


@check("disk", needs=("device_files",), rows=(50,))
def check_root_vanishes(bench: Bench) -> None:
    """When the store's folder goes away, every verb raises a typed error, and nobody makes a new one in its place."""
    store = bench.store
    store.write(_NOTE, "one\n")
    with _moved_away(bench.device_path()) as root:
        _refuses_everything(store)
        same("whether there is a folder again", os.path.exists(root), False)
    same(f"read({shown(_NOTE)}) once it is back", store.read(_NOTE), "one\n")


@check("disk", needs=("device_files",), rows=(50,))
def check_root_replaced(bench: Bench) -> None:
    """When another folder takes the store's place, as an unmounted one does, every verb raises a typed error."""
    store = bench.store
    store.write(_NOTE, "one\n")
    with _moved_away(bench.device_path()) as root:
        os.mkdir(root)
        _refuses_everything(store)
        same("the folder in its place", os.listdir(root), [])
        os.rmdir(root)
    same(f"read({shown(_NOTE)}) once it is back", store.read(_NOTE), "one\n")


@contextmanager
def _moved_away(root: str) -> Iterator[str]:
    os.rename(root, root + ".away")
    try:
        yield root
    finally:
        if not os.path.exists(root):
            os.rename(root + ".away", root)


def _refuses_everything(store: StorageBackend) -> None:
    for verb in (store.read, store.exists, store.info):
        refused_loudly(verb, _NOTE)
    for locator in (Locator(), _DIRECTORY):
        refused_loudly(store.list, locator)
    refused_loudly(store.write, _NOTE, "two\n")
    refused_loudly(store.mkdir, Locator("other"))


# ------------------------------------------------------------------------------------------------ limits of a process


@check("disk", needs=("device_files",), rows=(44,))
def check_no_space(bench: Bench) -> None:
    """A write for which there is no room raises `StorageIOError`, keeps the old note whole, and leaves no litter."""
    bench.store.write(_NOTE, "one\n")
    bench.run(_write_without_room)
    same(f"read({shown(_NOTE)})", bench.store.read(_NOTE), "one\n")
    same("the directory on disk", sorted(os.listdir(bench.device_path("dir"))), ["note.md"])


def _write_without_room(child: Child) -> None:
    size = min(4 * _SMALL, getattr(child.store, "size_limit", 4 * _SMALL))
    with _limited("RLIMIT_FSIZE", lambda: size // 4):
        refused(StorageIOError, child.store.write, _NOTE, "x" * size)
        refused(StorageIOError, child.store.write, Locator("dir/new.md"), "x" * size)


@check("disk", needs=("device_files",), rows=(46,))
def check_no_descriptors(bench: Bench) -> None:
    """When no file can be opened, a verb still gives the right answer or raises a typed error, never absence."""
    bench.store.write(_NOTE, "one\n")
    bench.run(_read_without_descriptors)


def _read_without_descriptors(child: Child) -> None:
    _reads_right_or_loudly(child.store)  # what is imported late needs descriptors, too: have it before they run out
    child.store.write(Locator("dir/other.md"), "two\n")
    with _limited("RLIMIT_NOFILE", _free_descriptor):
        _reads_right_or_loudly(child.store)
        refused_loudly(child.store.write, _NOTE, "three\n")
    same(f"read({shown(_NOTE)})", child.store.read(_NOTE), "one\n")


def _free_descriptor() -> int:
    descriptor = os.open(os.devnull, os.O_RDONLY)
    os.close(descriptor)
    return descriptor


@contextmanager
def _limited(name: str, limit: Callable[[], int]) -> Iterator[None]:
    """Lower a limit of this process, which belongs to one check alone."""
    try:
        import resource
    except ImportError:
        raise NotApplicable("this platform has no limits for a process") from None
    kind = getattr(resource, name)
    before = resource.getrlimit(kind)
    resource.setrlimit(kind, (limit(), before[1]))
    try:
        yield
    finally:
        resource.setrlimit(kind, before)


@check("disk", needs=("device_files",), rows=(46,))
def check_permission_denied(bench: Bench) -> None:
    """Where permission is denied, a verb still gives the right answer or raises a typed error, never absence."""
    if os.name == "nt":
        raise NotApplicable("permissions work differently on this platform")
    bench.store.write(_NOTE, "one\n")
    bench.run(_read_without_permission, bench.device_path("dir"))
    same("the directory on disk", sorted(os.listdir(bench.device_path("dir"))), ["note.md", "other.md"])


def _read_without_permission(child: Child, directory: str) -> None:
    _reads_right_or_loudly(child.store)
    child.store.write(Locator("dir/other.md"), "two\n")
    with _denied(directory):
        _reads_right_or_loudly(child.store)
        refused_loudly(child.store.write, Locator("dir/new.md"), "three\n")


@contextmanager
def _denied(directory: str) -> Iterator[None]:
    """Close a directory to this process. Modes do not stop the superuser, who becomes nobody for a while instead."""
    if os.geteuid() == 0:
        os.seteuid(65534)
        try:
            yield
        finally:
            os.seteuid(0)
    else:
        os.chmod(directory, 0)
        try:
            yield
        finally:
            os.chmod(directory, 0o700)


def _reads_right_or_loudly(store: StorageBackend) -> None:
    for verb, locator, answer in (
        (store.read, _NOTE, "one\n"),
        (store.exists, _NOTE, True),
        (store.list, Locator(), [_DIRECTORY]),
    ):
        try:
            got = verb(locator)
        except AgentmError as error:
            if isinstance(error, NotFoundError):
                raise Violation(f"{verb.__name__}({shown(locator)}) reported absence: {error}") from error
        else:
            same(f"{verb.__name__}({shown(locator)})", got, answer)
