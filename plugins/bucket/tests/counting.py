"""Many processes on two devices that count in one note: every increment that was acknowledged is in it, once."""

from __future__ import annotations

import os
import subprocess
import sys
import time

from bucket_servers import Server

from agentm_kernel import Locator, update

COUNTER = Locator("projects/shared/counter.md")

_SCRIPT = """
import pickle, sys, time
sys.path[:] = {path!r}
from counting import count
count(*pickle.loads(sys.stdin.buffer.read()))
"""


def count(server: Server, prefix: str, device: str, times: int, options: dict[str, object]) -> None:
    """Increment `times` times; print the slowest verb's seconds at the end, and fail on anything unexpected."""
    store = server.open(prefix, device=device, **options)
    slowest = 0.0

    for _ in range(times):
        began = time.monotonic()
        update(store, COUNTER, lambda text: f"{int(text or 0) + 1}\n", timeout=120)
        slowest = max(slowest, time.monotonic() - began)
    print(f"{slowest:.3f}")


def start_counters(
    server: Server, prefix: str, *, processes: int, times: int, **options: object
) -> list[subprocess.Popen[bytes]]:
    """Half of the processes on each of two devices."""
    import pickle

    started = []
    for number in range(processes):
        script = _SCRIPT.format(path=[os.path.dirname(__file__), *sys.path])
        process = subprocess.Popen(
            [sys.executable, "-c", script],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "HOME": server.folder},
        )
        job = pickle.dumps((server, prefix, f"laptop-{number % 2}", times, options))
        assert process.stdin is not None
        process.stdin.write(job)
        process.stdin.close()
        process.stdin = None
        started.append(process)
    return started


def finish(counters: list[subprocess.Popen[bytes]], *, limit: float) -> list[str]:
    """What each said on standard error, once all have ended; empty for those that did all their increments."""
    end = time.monotonic() + limit
    said = []
    try:
        for process in counters:
            _, errors = process.communicate(timeout=max(1.0, end - time.monotonic()))
            said.append(errors.decode(errors="replace").strip()[-400:])
    finally:
        for process in counters:
            if process.poll() is None:
                process.kill()
                process.communicate()
    return said


def counted(server: Server, prefix: str) -> int:
    return int(server.open(prefix).read(COUNTER))
