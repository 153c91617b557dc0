"""Entries of the tree that are not notes: foreign names, links, and things that block whoever opens them."""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING

from agentm_devkit.conformance.checking import check
from agentm_devkit.conformance.expect import NotApplicable, Violation, refused, same, shown
from agentm_devkit.conformance.processes import PROMPTLY
from agentm_kernel.plugin import AgentmError, Locator

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentm_devkit.conformance.bench import Bench
    from agentm_devkit.conformance.worker import Child
    from agentm_kernel.plugin import StorageBackend

_FOREIGN: tuple[str | bytes, ...] = (
    "a\\b.md",
    "CON.md",
    "trailing.",
    "new\nline.md",
    "\u202eevil.md",
    ".git/config",
    ".agentm-0123456789abcdef.tmp",
    b"not-utf8-\xff.md",
    "n" * 240 + ".md",
)


@check("foreign_entries", needs=("device_files",), rows=(14,))
def check_foreign_names(bench: Bench) -> None:
    """Files whose names no key can express are left out of `list` and `walk`, which give all the rest."""
    store = bench.store
    store.write(Locator("note.md"), "one\n")
    planted = sum(_planted(bench, name) for name in _FOREIGN)
    if not planted:
        raise NotApplicable("this file system refuses every such name by itself")
    same("list('')", store.list(Locator()), [Locator("note.md")])
    same("walk('')", [info.locator.key for info in store.walk(Locator())], ["note.md"])


def _planted(bench: Bench, name: str | bytes) -> bool:
    try:
        bench.plant(name)
    except (OSError, ValueError):
        return False  # the file system protects itself from this one
    return True


@check("foreign_entries", needs=("device_files",), rows=(6,))
def check_decomposed_name(bench: Bench) -> None:
    """A file with a decomposed name is listed by its composed key, and works, or is left out: never half there."""
    bench.plant("cafe\u0301.md", b"one\n")
    for child in bench.store.list(Locator()):
        same("the listed key", child.key, "caf\u00e9.md")
        same(f"read({shown(child)})", bench.store.read(child), "one\n")


@check("foreign_entries", needs=("device_files",), rows=(15,))
def check_link_to_directory(bench: Bench) -> None:
    """No verb follows a link to a directory outside of the store."""
    secret = _secret(bench)
    bench.link(bench.outside, "link")
    _reaches_nothing(bench, Locator("link/secret.md"), Locator("link/new.md"))
    for verb in (bench.store.list, _walked(bench.store)):
        _shows_nothing(verb, Locator("link"))
    same("list('')", bench.store.list(Locator()), [])
    refused(AgentmError, bench.store.mkdir, Locator("link/made"))
    _outside_is_untouched(bench, secret)


@check("foreign_entries", needs=("device_files",), rows=(15,))
def check_link_to_file(bench: Bench) -> None:
    """No verb follows a link to a file outside of the store, and none replaces the link."""
    secret = _secret(bench)
    link = bench.link(secret, "link.md")
    _reaches_nothing(bench, Locator("link.md"), Locator("link.md"))
    same("list('')", bench.store.list(Locator()), [])
    same("the link", os.path.islink(link), True)
    _outside_is_untouched(bench, secret)


@check("foreign_entries", needs=("device_files",), rows=(16,))
def check_broken_links(bench: Bench) -> None:
    """Dangling links and loops are not entries, and verbs on them raise typed errors."""
    bench.link("nowhere.md", "dangling.md")
    bench.link("loop", "loop")
    same("list('')", bench.store.list(Locator()), [])
    for key in ("dangling.md", "loop", "loop/note.md"):
        _reaches_nothing(bench, Locator(key), Locator(key))
    same("nowhere.md", os.path.lexists(bench.device_path("nowhere.md")), False)


def _secret(bench: Bench) -> str:
    path = os.path.join(bench.outside, "secret.md")
    with open(path, "wb") as file:
        file.write(b"secret\n")
    return path


def _outside_is_untouched(bench: Bench, secret: str) -> None:
    same("the directory outside", os.listdir(bench.outside), ["secret.md"])
    with open(secret, "rb") as file:
        same("the file outside", file.read(), b"secret\n")


def _reaches_nothing(bench: Bench, there: Locator, new: Locator) -> None:
    """Every verb on `there` raises a typed error or reports nothing, and `new` cannot be written."""
    store = bench.store
    refused(AgentmError, store.read, there)
    refused(AgentmError, store.info, there)
    refused(AgentmError, store.write, new, "planted\n")
    if bench.capabilities.delete:
        refused(AgentmError, store.delete, there)
    _shows_nothing(store.exists, there)


def _shows_nothing(verb: Callable[[Locator], object], locator: Locator) -> None:
    try:
        result = verb(locator)
    except AgentmError:
        return
    if result:
        raise Violation(f"{verb.__name__}({shown(locator)}) gave {shown(result)}")


def _walked(store: StorageBackend) -> Callable[[Locator], object]:
    def walk(locator: Locator) -> object:
        return [info.locator.key for info in store.walk(locator)]

    return walk


# ------------------------------------------------------------------------------------------------ what blocks


@check("foreign_entries", needs=("device_files",), rows=(18,))
def check_fifo(bench: Bench) -> None:
    """A FIFO in the tree is refused at once: whoever opened it would wait for ever."""
    if not hasattr(os, "mkfifo"):
        raise NotApplicable("this platform has no FIFOs")
    os.makedirs(bench.device_path(), exist_ok=True)
    os.mkfifo(bench.device_path("entry"))
    bench.run(_refuse_entry, limit=PROMPTLY)


@check("foreign_entries", needs=("device_files",), rows=(18,))
def check_socket(bench: Bench) -> None:
    """A socket in the tree is refused at once."""
    os.makedirs(bench.device_path(), exist_ok=True)
    try:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(bench.device_path("entry"))
    except (AttributeError, OSError) as error:
        raise NotApplicable(f"a socket cannot be made here: {error}") from None
    bench.run(_refuse_entry, limit=PROMPTLY)


@check("foreign_entries", needs=("device_files",), rows=(18, 23))
def check_endless_device(bench: Bench) -> None:
    """A link to a device that never ends is refused at once."""
    if not os.path.exists("/dev/zero"):
        raise NotApplicable("this platform has no /dev/zero")
    bench.link("/dev/zero", "entry")
    bench.run(_refuse_entry, limit=PROMPTLY)


def _refuse_entry(child: Child) -> None:
    _bound_memory()
    store = child.store
    for key in ("entry", "entry/note.md"):
        refused(AgentmError, store.read, Locator(key))
        refused(AgentmError, store.write, Locator(key), "text\n")
    refused(AgentmError, store.info, Locator("entry"))
    same("list('')", store.list(Locator()), [])
    store.write(Locator("note.md"), "one\n")
    same("list('')", store.list(Locator()), [Locator("note.md")])


def _bound_memory() -> None:
    """Whoever reads an endless device must run out of memory long before this machine does."""
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (4 << 30, resource.getrlimit(resource.RLIMIT_AS)[1]))
    except (ImportError, ValueError, OSError):
        pass  # this platform has no such limit, or a lower one already
