"""The long runs: `python plugins/bucket/tests/campaign.py [NAME…]`. Prints a line for each and fails if one does.

The suite runs short forms of the same things on every change.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator

from bucket_servers import Running, running
from counting import COUNTER, counted, finish, start_counters
from fault_proxy import FaultProxy

from agentm_bucket.backend import BucketBackend
from agentm_kernel import Locator, update

WRITERS, EACH = 8, 100
EDITS = 1000
_LIMIT = 900.0


def exact_count(server: Running) -> str:
    """8 processes on 2 devices, 100 updates each: 800."""
    prefix = uuid.uuid4().hex
    _all_well(finish(start_counters(server.server, prefix, processes=WRITERS, times=EACH), limit=_LIMIT))
    return _exactly(counted(server.server, prefix), WRITERS * EACH)


def restart(server: Running) -> str:
    """The same, while the server is stopped and started again in the middle."""
    prefix = uuid.uuid4().hex
    server.server.open(prefix).write(COUNTER, "0\n")
    counters = start_counters(server.server, prefix, processes=WRITERS, times=EACH, deadline=120, attempt=5)
    while counted(server.server, prefix) < WRITERS * EACH // 4:
        time.sleep(0.05)
    server.shut_down()
    server.start()
    _all_well(finish(counters, limit=_LIMIT))
    return _exactly(counted(server.server, prefix), WRITERS * EACH)


def bad_network(server: Running) -> str:
    """8 writers through a network where 20 % of all requests fail, hang or lose their reply."""
    prefix = uuid.uuid4().hex
    server.server.open(prefix).write(COUNTER, "0\n")
    with FaultProxy(server.server.endpoint, rate=0.2, hang=2.0) as proxy:
        behind = server.server.at(proxy.endpoint)
        _all_well(
            finish(start_counters(behind, prefix, processes=WRITERS, times=50, attempt=1, deadline=30), limit=_LIMIT)
        )
        faults = dict(proxy.faults)
    time.sleep(2.5)
    return f"{_exactly(counted(server.server, prefix), WRITERS * 50)}, {faults}"


def many_edits(server: Running) -> str:
    """1,000 edits on two devices, as files and through the verbs: each is in a note or a copy kept beside it."""
    prefix, chance = uuid.uuid4().hex, random.Random(1)
    devices = [server.server.open(prefix, device=f"{prefix}-{name}") for name in "ab"]
    names = ["PLAN.md", "progress.md", "PLAN-b.md"]
    for number in range(EDITS):
        store = chance.choice(devices)
        locator = Locator("projects/p/_harness").child(chance.choice(names))
        if chance.random() < 0.3:
            update(store, locator, lambda text, number=number: f"{text or ''}edit {number}\n")
        else:
            _append(store, locator, f"edit {number}\n")
        if chance.random() < 0.2:
            store.push()
    for store in (*devices, *devices):
        store.push()
    text = "".join(devices[0].read(info.locator) for info in devices[0].walk(Locator("projects")) if not info.is_dir)
    lines = set(text.splitlines())
    missing = [number for number in range(EDITS) if f"edit {number}" not in lines]
    if missing:
        raise AssertionError(f"{len(missing)} edits are lost: {missing[:10]}")
    kept = sum("[conflict" in info.locator.key for info in devices[0].walk(Locator("projects")))
    return f"{EDITS} edits, none lost, {kept} kept as conflict copies"


def _append(store: BucketBackend, locator: Locator, line: str) -> None:
    """What an agent does with the file that a hook showed it."""
    import os

    path = store.host_path(locator)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "a", encoding="utf-8") as file:
        file.write(line)


def _all_well(said: list[str]) -> None:
    failures = [text for text in said if text]
    if failures:
        raise AssertionError(f"{len(failures)} writers failed: {failures[0]}")


def _exactly(found: int, wanted: int) -> str:
    if found != wanted:
        raise AssertionError(f"{found} instead of {wanted}")
    return f"exactly {wanted}"


RUNS: dict[str, Callable[[Running], str]] = {
    "exact_count": exact_count,
    "restart": restart,
    "bad_network": bad_network,
    "many_edits": many_edits,
}


def _results(names: list[str]) -> Iterator[bool]:
    for server in ("seaweedfs", "azurite"):
        with tempfile.TemporaryDirectory() as folder, running(server, f"{folder}/{server}") as started:
            for name in names or RUNS:
                began = time.monotonic()
                try:
                    said, is_well = RUNS[name](started), True
                except AssertionError as failure:
                    said, is_well = f"FAILED: {failure}", False
                print(f"{server:<10} {name:<12} {time.monotonic() - began:6.1f} s  {said}", flush=True)
                yield is_well


if __name__ == "__main__":
    sys.exit(0 if all(list(_results(sys.argv[1:]))) else 1)
