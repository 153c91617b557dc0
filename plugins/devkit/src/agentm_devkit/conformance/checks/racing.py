"""Several writers at once: real processes, racing. Nothing that was acknowledged is lost, nothing is seen half."""

from __future__ import annotations

import os
import random
import signal
import sys
import threading
import time
from functools import partial
from typing import TYPE_CHECKING

from agentm_devkit.conformance.checking import check
from agentm_devkit.conformance.expect import NotApplicable, Violation, same, shown
from agentm_devkit.conformance.processes import begin_together, together
from agentm_kernel.plugin import ABSENT, ConcurrentModificationError, Locator, NotFoundError, content_hash, update

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agentm_devkit.conformance.bench import Bench
    from agentm_devkit.conformance.processes import Process
    from agentm_devkit.conformance.worker import Child
    from agentm_kernel.plugin import StorageBackend

_COUNTER = Locator("race/counter.md")
_WRITERS = 4
_FOR_EVER = 1_000_000_000


def _increment(store: StorageBackend) -> None:
    update(store, _COUNTER, lambda text: f"{int(text or 0) + 1}\n")


def _count(store: StorageBackend) -> int:
    return int(store.read(_COUNTER))


def _increments(child: Child, times: int, pause: float = 0.0) -> None:
    for number in range(times):
        child.say(number)
        _increment(child.store)
        time.sleep(pause)


@check("racing", needs=("concurrent_writers",), rows=(33,))
def check_update_race(bench: Bench) -> None:
    """Four processes that each add 1 to a note fifty times through `update` bring it to exactly 200."""
    together([bench.start(_increments, 50) for _ in range(_WRITERS)])
    same("the counter", _count(bench.store), 200)


@check("racing", needs=("concurrent_writers",))
def check_create_race(bench: Bench) -> None:
    """Of several processes that create one key with `ABSENT`, exactly one wins, and its content stays."""
    won = together([bench.start(_create_all, name) for name in range(_WRITERS)])
    for number in range(_CREATED):
        winners = [name for name, keys in enumerate(won) if number in keys]
        if len(winners) != 1:
            raise Violation(f"{len(winners)} of {_WRITERS} processes were told that they had created '{number}.md'")
        same(f"read('race/{number}.md')", bench.store.read(_created(number)), f"{winners[0]}\n")


_CREATED = 25


def _created(number: int) -> Locator:
    return Locator(f"race/{number}.md")


def _create_all(child: Child, name: int) -> list[int]:
    won = []
    for number in range(_CREATED):
        try:
            child.store.write(_created(number), f"{name}\n", if_match=ABSENT)
        except ConcurrentModificationError:
            continue
        won.append(number)
    return won


@check("racing", needs=("concurrent_writers",), rows=(32,))
def check_own_keys(bench: Bench) -> None:
    """Processes that write different notes into one new directory lose none of them, and none fails."""
    together([bench.start(_write_own, name) for name in range(_WRITERS)])
    wanted = {f"shared/{name}/{number}.md" for name in range(_WRITERS) for number in range(_OWN)}
    stored = {info.locator.key for info in bench.store.walk(Locator("shared")) if not info.is_dir}
    same("the set of notes", stored, wanted)


_OWN = 15


def _write_own(child: Child, name: int) -> None:
    for number in range(_OWN):
        child.store.write(Locator(f"shared/{name}/{number}.md"), f"{name} {number}\n")


@check("racing", needs=("concurrent_writers",), rows=(34,))
def check_threads(bench: Bench) -> None:
    """Threads that share one backend lose no update either, however often they are interrupted."""
    store = bench.store
    until = time.monotonic() + _THREADS_SECONDS
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # a race that needs luck otherwise is met within a few rounds
    rounds = 0
    try:
        while rounds < 2 or (time.monotonic() < until and rounds < _MOST_ROUNDS):
            rounds += 1
            _in_threads([lambda: _increment(store)] * 8, 5)
            same("the counter", _count(store), 40 * rounds)
    finally:
        sys.setswitchinterval(interval)


@check("racing", needs=("concurrent_writers",), rows=(34,))
def check_threads_with_own_notes(bench: Bench) -> None:
    """Threads that share one backend and write notes of their own each read back what they wrote."""
    store = bench.store

    def work(name: int) -> None:
        note = Locator(f"threads/{name}.md")
        for number in range(3):
            store.write(note, f"{name} {number}\n")
            same(f"read({shown(note)}) by the thread that wrote it", store.read(note), f"{name} {number}\n")

    _in_threads([partial(work, name) for name in range(8)], 2)
    same("list('threads')", len(store.list(Locator("threads"))), 8)


_THREADS_SECONDS = 1.0
_MOST_ROUNDS = 12


def _in_threads(works: list[Callable[[], None]], times: int) -> None:
    """Do each `times` times in a thread of its own, all at once; what one raises is raised here."""
    failures: list[Exception] = []

    def repeat(work: Callable[[], None]) -> None:
        try:
            for _ in range(times):
                work()
        except Exception as error:  # noqa: BLE001 - a thread's error would be printed and forgotten
            failures.append(error)

    threads = [threading.Thread(target=repeat, args=[work], daemon=True) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


@check("racing", needs=("concurrent_writers", "delete"))
def check_delete_race(bench: Bench) -> None:
    """Of several processes that delete one note on condition, exactly one is told that it did."""
    for number in range(_DELETED):
        bench.store.write(_doomed(number), f"{number}\n")
    deleted = together([bench.start(_delete_all) for _ in range(_WRITERS)])
    for number in range(_DELETED):
        told = sum(number in numbers for numbers in deleted)
        if told != 1:
            raise Violation(f"{told} of {_WRITERS} processes were told that they had deleted '{_doomed(number)}'")
    same("list('doomed')", bench.store.list(Locator("doomed")), [])


@check("racing", needs=("concurrent_writers", "delete"))
def check_delete_against_update(bench: Bench) -> None:
    """A note is deleted on condition only as it was read: an update that came in between is not lost with it."""
    adders = [bench.start(_increments, _ADDED) for _ in range(2)]
    deleter = bench.start(_delete_what_was_read)
    begin_together((*adders, deleter))
    for adder in adders:
        adder.result()
    bench.store.write(Locator("race/stop.md"), "stop\n")
    taken = deleter.result()
    left = _count(bench.store) if bench.store.exists(_COUNTER) else 0
    same("what was deleted, and what is left,", taken + left, 2 * _ADDED)


_DELETED = 20
_ADDED = 40


def _doomed(number: int) -> Locator:
    return Locator(f"doomed/{number}.md")


def _delete_all(child: Child) -> list[int]:
    deleted = []
    for number in range(_DELETED):
        try:
            child.store.delete(_doomed(number), if_match=content_hash(f"{number}\n"))
        except (ConcurrentModificationError, NotFoundError):
            continue
        deleted.append(number)
    return deleted


def _delete_what_was_read(child: Child) -> int:
    """Delete the counter over and over, on condition that it is what was read; the sum of what was deleted."""
    taken = 0
    while not child.store.exists(Locator("race/stop.md")):
        try:
            text = child.store.read(_COUNTER)
            child.store.delete(_COUNTER, if_match=content_hash(text))
        except (ConcurrentModificationError, NotFoundError):
            continue
        taken += int(text)
        time.sleep(random.uniform(0, 0.004))
    return taken


@check("racing", needs=("concurrent_writers",))
def check_whole_reads(bench: Bench) -> None:
    """Whoever reads while another process writes sees the old note or the new one, never half of one, never none."""
    store = bench.store
    bodies = [bench.lines(f"{number}" * 99, 300_000) for number in range(2)]
    store.write(_COUNTER, bodies[0])
    writer = bench.start(_rewrite, bodies)
    writer.go()
    for _ in writer.said():
        seen = store.read(_COUNTER)
        if seen not in bodies:
            raise Violation(f"a reader saw {shown(seen)}, {len(seen)} of {len(bodies[0])} characters")


_REWRITES = 60


def _rewrite(child: Child, bodies: list[str]) -> None:
    for number in range(_REWRITES):
        child.say(number)
        child.store.write(_COUNTER, bodies[number % 2])


@check("racing", needs=("concurrent_writers",), rows=(35, 36))
def check_killed_racer(bench: Bench) -> None:
    """When one of several racing writers is killed, the others lose nothing and go on."""
    racers = [bench.start(_increments, 25) for _ in range(_WRITERS - 1)]
    victim = bench.start(_increments, _FOR_EVER)
    begin_together((*racers, victim))
    finished = _killed_after(victim, random.randint(2, 5))
    _increment(bench.store)
    for process in racers:
        process.result()
    _counts_all(bench.store, 25 * len(racers) + finished + 1)


def _counts_all(store: StorageBackend, acknowledged: int) -> None:
    """The counter has what was acknowledged, and perhaps the increment during which a process was killed."""
    count = _count(store)
    if count not in (acknowledged, acknowledged + 1):
        raise Violation(f"{acknowledged} increments were acknowledged, and the counter is at {count}")


def _killed_after(victim: Process, count: int) -> int:
    """Kill a process that counts aloud, soon after `count`; how many rounds it had finished by then."""
    said: Iterator[int] = victim.said()
    last = 0
    for last in said:
        if last >= count:
            break
    time.sleep(random.uniform(0, 0.01))
    victim.kill()
    return max([last, *said])


@check("racing", needs=("concurrent_writers",), rows=(37,))
def check_paused_writer(bench: Bench) -> None:
    """A writer that is stopped for a while is waited for: neither its update nor anybody else's is lost."""
    if not hasattr(signal, "SIGSTOP"):
        raise NotApplicable("this platform cannot stop a process")
    # The other one leaves gaps: a lock need not be fair, and whoever only tries now and then must find it free.
    paused, other = bench.start(_increments, 30), bench.start(_increments, _FOR_EVER, 0.005)
    begin_together((paused, other))
    for number in paused.said():
        if number % 3 == 1:
            time.sleep(random.uniform(0, 0.006))
            paused.signal(signal.SIGSTOP)
            time.sleep(0.1)
            paused.signal(signal.SIGCONT)
    other.kill()
    _counts_all(bench.store, 30 + max(other.said()))


_HOMES = ("HOME", "USERPROFILE", "TMPDIR", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR")


@check("racing", needs=("concurrent_writers", "device_files"), rows=(43,))
def check_many_paths_one_store(bench: Bench) -> None:
    """Processes that reach one store by different paths, with different homes, still exclude each other."""
    alias = os.path.join(bench.outside, "alias")
    try:
        os.symlink(bench.scratch, alias)
    except (OSError, NotImplementedError) as error:
        raise NotApplicable(f"symbolic links cannot be made here: {error}") from None
    processes = []
    for number, path in enumerate((bench.scratch, alias, os.path.join(alias, ".") + os.sep)):
        home = os.path.join(bench.outside, f"home-{number}")
        os.mkdir(home)
        processes.append(bench.start(_increments, 25, scratch=path, environ=dict.fromkeys(_HOMES, home)))
    together(processes)
    same("the counter", _count(bench.store), 25 * len(processes))
