"""R8: one lock per store, by whatever path, from whatever home, mount or program it is reached."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import filelock

from agentm_kernel import Locator
from agentm_kernel.plugin import LockTimeout, store_mutex
from tests.faults.harness import Outcome, scratch
from tests.faults.mounts import CannotMount, bind_mount
from tests.faults.workers import Crew, Stuck

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from multiprocessing.connection import Connection

    from tests.faults.harness import Intensity, StoreUnderTest
    from tests.faults.workers import Worker

    Lock = Callable[[str], AbstractContextManager[object]]
    """Enters at once, or raises `LockTimeout`."""


@dataclass(frozen=True)
class Way:
    """One way to a store: how its path is spelled, and what the process does before it goes there."""

    name: str
    path: str
    home: str
    lock: Lock
    prepare: Callable[[], None] = lambda: None

    def set_out(self) -> None:
        _move_home(self.home)
        self.prepare()


def campaign(intensity: Intensity) -> Outcome:
    outcome = Outcome("pairs of ways to one store")
    for _ in range(intensity.pick(short=1, full=10)):
        _try_all_pairs(_our_lock, outcome)
        _write_by_every_way(intensity.store, outcome)
    for name, lock in CONTROLS.items():
        broken = Outcome(name)
        _try_all_pairs(lock, broken)
        outcome.control(name, broken)
    return outcome


def _our_lock(path: str) -> AbstractContextManager[object]:
    return store_mutex(path, timeout=0)


# ------------------------------------------------------------------------------------------------ the ways


def _ways(base: str, lock: Lock) -> list[Way]:
    """Ways to the store `base/store`, after making what they need."""
    store, other = os.path.join(base, "store"), os.path.join(base, "other")
    link, link_above, mounted = (os.path.join(base, name) for name in ("link", "above", "mounted"))
    for folder in (store, other, mounted):
        os.mkdir(folder)
    os.symlink("store", link)
    os.symlink(base, link_above)
    way = partial(Way, home=os.path.join(base, "home"), lock=lock)
    return [
        way("the plain path", store),
        way("a trailing slash", store + "/"),
        way("doubled slashes", store.replace("/", "//")),
        way("a detour with ..", os.path.join(other, "..", "store")),
        way("a relative path", "store", prepare=lambda: os.chdir(base)),
        way("its own working directory", ".", prepare=lambda: os.chdir(store)),
        way("a symbolic link", link),
        way("a symbolic link above it", os.path.join(link_above, "store")),
        way("another HOME and XDG", store, home=other),
        way("a wiped cache", store, prepare=lambda: shutil.rmtree(_cache(), ignore_errors=True)),
        way("a bind mount", mounted, prepare=lambda: bind_mount(store, mounted)),
        way("a bind mount above it", os.path.join(mounted, "store"), prepare=lambda: bind_mount(base, mounted)),
    ]


def _nested_ways(base: str, lock: Lock) -> list[Way]:
    """Ways to a store and to the stores inside it: their files are the same files."""
    outer = os.path.join(base, "outer")
    inner = os.path.join(outer, "projects", "inner")
    innermost = os.path.join(inner, "innermost")
    for root in (outer, inner, innermost):
        os.makedirs(os.path.join(root, "_meta"))
        with open(os.path.join(root, "_meta", "store.json"), "w") as stamp:
            stamp.write("{}")
    os.symlink(inner, os.path.join(base, "shortcut"))
    way = partial(Way, home=os.path.join(base, "home"), lock=lock)
    return [
        way("the outer store", outer),
        way("a store inside it", inner),
        way("the inner store by a link from outside", os.path.join(base, "shortcut")),
        way("a store inside the inner one", innermost),
    ]


def _move_home(home: str) -> None:
    os.environ["HOME"] = home
    for name in ("CACHE", "CONFIG", "DATA", "STATE"):
        os.environ[f"XDG_{name}_HOME"] = os.path.join(home, name)


def _cache() -> str:
    return os.environ["XDG_CACHE_HOME"]


# ------------------------------------------------------------------------------------------------ the experiment


def _try_all_pairs(lock: Lock, outcome: Outcome) -> None:
    for make_ways in (_ways, _nested_ways):
        with scratch() as base:
            ways = make_ways(base, lock)
            if lock is _our_lock:
                ways.append(replace(ways[0], name="filelock on the directory", lock=_by_filelock))
            for way in ways:
                _exclude_each_other(ways[0], way, outcome)
                _exclude_each_other(way, ways[0], outcome)


def _exclude_each_other(held: Way, tried: Way, outcome: Outcome) -> None:
    with Crew() as crew:
        try:
            if _first_word(crew.start(_hold, held), outcome) != "entered":
                return
            word = _first_word(crew.start(_hold, tried), outcome)
        except Stuck as stuck:
            outcome.violation("stuck", f"{tried.name} while {held.name} is held: {stuck}")
            return
    outcome.count += word != "unavailable"
    if word == "entered":
        outcome.violation("two inside", f"by {tried.name} while it is held by {held.name}")


def _first_word(worker: Worker, outcome: Outcome) -> str:
    word, reason = worker.receive()
    if word == "unavailable" and reason not in outcome.skips:
        outcome.skips.append(reason)
    if word == "failed":
        outcome.violation("untyped", reason)
    return str(word)


def _hold(connection: Connection, way: Way) -> None:
    """Enter by `way`, say how it went, and stay until ended."""
    try:
        way.set_out()
        with way.lock(way.path):
            connection.send(("entered", ""))
            connection.recv()
    except LockTimeout:
        connection.send(("refused", ""))
    except CannotMount as reason:
        connection.send(("unavailable", str(reason)))
    except EOFError:
        return
    except Exception as error:
        connection.send(("failed", repr(error)))


# ------------------------------------------------------------------------------------------------ the store's verbs


def _write_by_every_way(store: StoreUnderTest, outcome: Outcome) -> None:
    """While the store's mutex is held, a write by any way waits; after it is free, all of them are there."""
    with scratch() as base, Crew() as crew:
        ways = _ways(base, _our_lock)
        with store_mutex(ways[0].path):
            writers = [crew.start(_write, store, way, number) for number, way in enumerate(ways)]
            early = {way.name for way, writer in zip(ways, writers, strict=True) if _has_written(writer)}
            for name in early:
                outcome.violation("two inside", f"a write by {name} while the store is held")
        try:
            for number, (way, writer) in enumerate(zip(ways, writers, strict=True)):
                _check_written(store, ways[0].path, number, way, writer.receive(), outcome)
        except Stuck as stuck:
            outcome.violation("stuck", str(stuck))


def _has_written(writer: Worker) -> bool:
    return writer.receive()[0] == "ready" and writer.has_reported(0.02)


def _write(connection: Connection, store: StoreUnderTest, way: Way, number: int) -> None:
    try:
        way.set_out()
    except CannotMount as reason:
        connection.send(("unavailable", str(reason)))
        connection.send(("unavailable", str(reason)))
        return
    backend = store.open(way.path)
    connection.send(("ready", ""))
    try:
        backend.write(Locator(f"{number}.md"), way.name)
        connection.send(("written", ""))
    except Exception as error:
        connection.send(("failed", repr(error)))


def _check_written(
    store: StoreUnderTest, root: str, number: int, way: Way, report: tuple[str, str], outcome: Outcome
) -> None:
    word, reason = report
    if word == "unavailable":
        return
    outcome.count += 1
    if word != "written":
        outcome.violation("refused", f"a write by {way.name}: {reason}")
    elif store.open(root).read(Locator(f"{number}.md")) != way.name:
        outcome.violation("lost", f"a write by {way.name} went elsewhere")


# ------------------------------------------------------------------------------------------------ other lockers


@contextmanager
def _by_filelock(path: str) -> Iterator[None]:
    """What another program does that locks the directory with filelock."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        if not filelock.lock_descriptor(descriptor, blocking=False):
            raise LockTimeout("filelock could not have it")
        yield
    finally:
        os.close(descriptor)


@contextmanager
def _in_the_cache(path: str) -> Iterator[None]:
    """A control: a lock file in the user's cache, named after the real path."""
    folder = os.path.join(_cache(), "locks")
    os.makedirs(folder, exist_ok=True)
    name = hashlib.sha256(os.path.realpath(path).encode()).hexdigest()
    with _flocked(os.path.join(folder, name), os.O_RDWR | os.O_CREAT):
        yield


@contextmanager
def _one_directory_only(path: str) -> Iterator[None]:
    """A control: the right lock, but blind to the store around it."""
    with _flocked(path, os.O_RDONLY):
        yield


@contextmanager
def _flocked(path: str, flags: int) -> Iterator[None]:
    descriptor = os.open(path, flags, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise LockTimeout("held by another") from None
    finally:
        os.close(descriptor)


CONTROLS: dict[str, Lock] = {
    "a lock file in the cache, named after the path": _in_the_cache,
    "a lock that knows no nested stores": _one_directory_only,
}
