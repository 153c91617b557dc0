"""Reading verbs where there is nothing, and where there is something else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentm_devkit.conformance.checking import check
from agentm_devkit.conformance.expect import Violation, refused, same, shown
from agentm_kernel.plugin import Info, Locator, NotFoundError

if TYPE_CHECKING:
    from agentm_devkit.conformance.bench import Bench
    from agentm_kernel.plugin import StorageBackend

_NOTHING = Locator("missing.md")
_BELOW_NOTHING = Locator("missing/note.md")
_FILE = Locator("dir/note.md")
_BELOW_FILE = Locator("dir/note.md/child.md")
_DIRECTORY = Locator("dir")


def _with_a_note(bench: Bench) -> StorageBackend:
    bench.store.write(_FILE, "one\n")
    return bench.store


@check("reading")
def check_read_of_nothing(bench: Bench) -> None:
    """`read` of nothing raises `NotFoundError`: absence is not an empty note."""
    store = _with_a_note(bench)
    refused(NotFoundError, store.read, _NOTHING)
    refused(NotFoundError, store.read, _BELOW_NOTHING)


@check("reading")
def check_read_from_new_store(bench: Bench) -> None:
    """`read` in a store that nobody has written to raises `NotFoundError`."""
    refused(NotFoundError, bench.store.read, _NOTHING)


@check("reading", rows=(19,))
def check_read_of_directory(bench: Bench) -> None:
    """`read` of a directory raises `NotFoundError`."""
    refused(NotFoundError, _with_a_note(bench).read, _DIRECTORY)


@check("reading", rows=(19,))
def check_read_of_root(bench: Bench) -> None:
    """`read` of the root raises `NotFoundError`."""
    refused(NotFoundError, _with_a_note(bench).read, Locator())


@check("reading", rows=(19,))
def check_read_below_file(bench: Bench) -> None:
    """`read` below a file raises `NotFoundError`."""
    refused(NotFoundError, _with_a_note(bench).read, _BELOW_FILE)


@check("reading")
def check_exists(bench: Bench) -> None:
    """`exists` is true for a file and for a directory."""
    store = _with_a_note(bench)
    same(f"exists({shown(_FILE)})", store.exists(_FILE), True)
    same(f"exists({shown(_DIRECTORY)})", store.exists(_DIRECTORY), True)


@check("reading")
def check_exists_of_nothing(bench: Bench) -> None:
    """`exists` is false for nothing, below nothing, below a file, and for the mere beginning of a name."""
    store = _with_a_note(bench)
    for locator in (_NOTHING, _BELOW_NOTHING, _BELOW_FILE, Locator("di"), Locator("dir/note")):
        same(f"exists({shown(locator)})", store.exists(locator), False)


@check("reading")
def check_info_type(bench: Bench) -> None:
    """`info` gives an `Info` for the locator it was asked about."""
    store = _with_a_note(bench)
    for locator in (_FILE, _DIRECTORY):
        info = store.info(locator)
        if not isinstance(info, Info):
            raise Violation(f"info({shown(locator)}) gave {shown(info)}")
        same(f"info({shown(locator)}).locator", info.locator, locator)


@check("reading")
def check_info_of_nothing(bench: Bench) -> None:
    """`info` of nothing raises `NotFoundError`."""
    store = _with_a_note(bench)
    refused(NotFoundError, store.info, _NOTHING)
    refused(NotFoundError, store.info, _BELOW_NOTHING)


@check("reading", rows=(19,))
def check_info_below_file(bench: Bench) -> None:
    """`info` below a file raises `NotFoundError`."""
    refused(NotFoundError, _with_a_note(bench).info, _BELOW_FILE)


@check("reading")
def check_info_kind(bench: Bench) -> None:
    """`info.is_dir` tells a directory from a file."""
    store = _with_a_note(bench)
    same(f"info({shown(_FILE)}).is_dir", store.info(_FILE).is_dir, False)
    same(f"info({shown(_DIRECTORY)}).is_dir", store.info(_DIRECTORY).is_dir, True)


@check("reading")
def check_info_size(bench: Bench) -> None:
    """`info.size` counts UTF-8 bytes, and is 0 for a directory."""
    store = bench.store
    store.write(_FILE, "héllo 👋\n")
    same(f"info({shown(_FILE)}).size", store.info(_FILE).size, len("héllo 👋\n".encode()))
    same(f"info({shown(_DIRECTORY)}).size", store.info(_DIRECTORY).size, 0)


@check("reading")
def check_info_mtime(bench: Bench) -> None:
    """`info.mtime` is seconds since the epoch, as a float."""
    mtime = _with_a_note(bench).info(_FILE).mtime
    if type(mtime) is not float or not 0 <= mtime < 1e11:
        raise Violation(f"it is {shown(mtime)}")


@check("reading")
def check_version_changes(bench: Bench) -> None:
    """`info.version` changes when the content does, even to text of the same length, at once."""
    store = bench.store
    store.write(_FILE, "0000\n")
    before = store.info(_FILE).version
    for number in range(1, 20):
        store.write(_FILE, f"{number:04}\n")
        after = store.info(_FILE).version
        if type(after) is not str or after == before:
            raise Violation(f"after another write it went from {shown(before)} to {shown(after)}")
        before = after


@check("reading")
def check_version_stays(bench: Bench) -> None:
    """`info.version` stays the same for as long as nobody writes: an index would read everything again."""
    store = _with_a_note(bench)
    before = store.info(_FILE).version
    store.read(_FILE)
    store.write(Locator("dir/other.md"), "two\n")
    same("info.version after a read, and a write of another note,", store.info(_FILE).version, before)
