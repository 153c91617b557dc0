"""R7, second part: a wall clock that is wrong, or jumps, neither frees a lock nor keeps a waiter.

The clock is changed below the interpreter, by a small library that is loaded before the C library and shifts the
wall clock alone. Without a compiler, Python's own `time.time` is replaced instead.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentm_kernel import Locator, update
from agentm_kernel.plugin import LockTimeout
from tests.faults.harness import Outcome, scratch, store_under_test
from tests.faults.locks import HeartbeatLock, our_lock
from tests.faults.workers import HANG, Stuck

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.faults.harness import Intensity
    from tests.faults.locks import Lock

DAY = 86400
LIMIT = 0.4
COUNTER = Locator("counter.md")
LOCKS: dict[str, Lock] = {"ours": our_lock, "heartbeat": HeartbeatLock}
CHECKOUT = Path(__file__).parents[2]

SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

static int (*real)(clockid_t, struct timespec *);

static time_t shift(void) {
    static double start = -1;
    struct timespec now;
    real(CLOCK_MONOTONIC, &now);
    double seconds = now.tv_sec + now.tv_nsec / 1e9;
    if (start < 0) start = seconds;
    const char *by = getenv("CLOCK_SHIFT"), *after = getenv("CLOCK_SHIFT_AFTER");
    return by && seconds - start >= (after ? atof(after) : 0) ? atol(by) : 0;
}

int clock_gettime(clockid_t id, struct timespec *t) {
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(id, t);
    if (result == 0 && id == CLOCK_REALTIME) t->tv_sec += shift();
    return result;
}

int gettimeofday(struct timeval *t, void *zone) {
    struct timespec now;
    int result = clock_gettime(CLOCK_REALTIME, &now);
    t->tv_sec = now.tv_sec;
    t->tv_usec = now.tv_nsec / 1000;
    return result;
}

time_t time(time_t *t) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (t) *t = now.tv_sec;
    return now.tv_sec;
}
"""


@dataclass(frozen=True)
class Clock:
    """A wall clock that is wrong by `shift` seconds, from `after` seconds into the process's life."""

    shift: int
    after: float = 0.0

    def __str__(self) -> str:
        when = f", {self.after:g} s after the start" if self.after else ""
        return f"a clock of {self.shift:+,} s{when}"


RIGHT = Clock(0)
CLOCKS = [Clock(60), Clock(DAY), Clock(-DAY), Clock(DAY, after=0.3), Clock(-DAY, after=0.3)]


def campaign(intensity: Intensity) -> Outcome:
    outcome = Outcome("processes with a wrong or jumping clock")
    with scratch() as tools:
        shim = _compile(tools)
        if shim is None:
            outcome.skips.append("a wrong clock below the interpreter: there is no C compiler (time.time replaced)")
        slack = float(intensity.pick(short=20, full=1))
        try:
            for _ in range(intensity.pick(short=1, full=5)):
                _wait_for_holders("ours", CLOCKS, shim, slack, outcome)
                _count_together(intensity.store.name, shim, outcome)
        except Stuck as stuck:
            outcome.violation("stuck", str(stuck))
        broken = Outcome("heartbeat")
        _wait_for_holders("heartbeat", [Clock(60)], shim, slack, broken)
        outcome.control("a lock that compares times", broken)
    return outcome


def _compile(folder: str) -> str | None:
    compiler = shutil.which("cc")
    if compiler is None or sys.platform != "linux":
        return None
    source, library = os.path.join(folder, "clock.c"), os.path.join(folder, "clock.so")
    Path(source).write_text(SHIM)
    built = subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", library, source, "-ldl"], capture_output=True)
    return library if built.returncode == 0 else None


# ------------------------------------------------------------------------------------------------ the experiments


def _wait_for_holders(lock: str, clocks: list[Clock], shim: str | None, slack: float, outcome: Outcome) -> None:
    """Holder and waiter disagree about the time, both ways round; the waiter must be refused, and in time."""
    pairs: list[tuple[Clock, Clock]] = [pair for wrong in clocks for pair in ((RIGHT, wrong), (wrong, RIGHT))]
    with ThreadPoolExecutor(max_workers=5) as pool:
        answers = list(pool.map(lambda pair: _wait_for_holder(lock, pair[0], pair[1], shim), pairs))
    for (holder, waiter), said in zip(pairs, answers, strict=True):
        _check_waiter(said, f"waiter: {waiter}, holder: {holder}", slack, outcome)
        outcome.count += 1


def _wait_for_holder(lock: str, holder_clock: Clock, waiter_clock: Clock, shim: str | None) -> dict[str, Any]:
    with scratch() as root, _process("hold", lock, root, clock=holder_clock, shim=shim) as holder:
        _say(holder)
        with _process("wait", lock, root, clock=waiter_clock, shim=shim) as waiter:
            said = _say(waiter)
        holder.communicate()
    return said


def _check_waiter(said: dict[str, Any], what: str, slack: float, outcome: Outcome) -> None:
    if said["entered"]:
        outcome.violation("two inside", what)
    elif not LIMIT / 2 <= said["seconds"] <= LIMIT + slack:
        outcome.violation("late", f"refused after {said['seconds']:.2f} s; {what}")


def _count_together(store: str, shim: str | None, outcome: Outcome) -> None:
    clocks = [RIGHT, Clock(DAY), Clock(-DAY), Clock(DAY, after=0.3)]
    times = 25
    with scratch() as root:
        processes = [_process("count", store, root, str(times), clock=clock, shim=shim) for clock in clocks]
        for clock, process in zip(clocks, processes, strict=True):
            with process as counter:
                said = _say(counter)
            if abs(said["now"] - time.time() - clock.shift) > HANG:
                outcome.violation("no verdict", f"{clock} did not take effect")
        counted = int(store_under_test(store).open(root).read(COUNTER))
        if counted != times * len(clocks):
            outcome.violation("lost", f"{len(clocks)} × {times} increments gave {counted}")
    outcome.count += len(clocks)


def _process(role: str, *arguments: str, clock: Clock, shim: str | None) -> subprocess.Popen[str]:
    environment = {**os.environ, "CLOCK_SHIFT": str(clock.shift), "CLOCK_SHIFT_AFTER": str(clock.after)}
    if shim is not None:
        environment |= {"LD_PRELOAD": shim, "CLOCK_SHIM": shim}
    command = [sys.executable, "-m", "tests.faults.clocks", role, *arguments]
    return subprocess.Popen(
        command, env=environment, cwd=CHECKOUT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def _say(process: subprocess.Popen[str]) -> dict[str, Any]:
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise Stuck(f"process {process.pid} ended without a word")
    said: dict[str, Any] = json.loads(line)
    return said


# ------------------------------------------------------------------------------------------------ in the process


def _main(role: str, arguments: list[str]) -> None:
    if "CLOCK_SHIM" not in os.environ:
        _replace_time(Clock(int(os.environ["CLOCK_SHIFT"]), float(os.environ["CLOCK_SHIFT_AFTER"])))
    roles: dict[str, Callable[..., None]] = {"hold": _hold, "wait": _wait, "count": _count}
    roles[role](*arguments)


def _replace_time(clock: Clock) -> None:
    real, start = time.time, time.monotonic()
    time.time = lambda: real() + (clock.shift if time.monotonic() - start >= clock.after else 0)


def _hold(lock: str, root: str) -> None:
    with LOCKS[lock](root, LIMIT):
        print(json.dumps({"now": time.time()}), flush=True)
        sys.stdin.read()


def _wait(lock: str, root: str) -> None:
    began = time.monotonic()
    entered = False
    try:
        with LOCKS[lock](root, LIMIT):
            entered = True
    except LockTimeout:
        pass
    print(json.dumps({"entered": entered, "seconds": time.monotonic() - began}), flush=True)


def _count(store: str, root: str, times: str) -> None:
    backend = store_under_test(store).open(root)
    for turn in range(int(times)):
        if turn == int(times) // 2:
            time.sleep(float(os.environ["CLOCK_SHIFT_AFTER"]))
        update(backend, COUNTER, lambda text: str(int(text or "0") + 1))
    print(json.dumps({"now": time.time()}), flush=True)


if __name__ == "__main__":
    _main(sys.argv[1], sys.argv[2:])
