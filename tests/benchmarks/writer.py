"""One contending writer: `python -m tests.benchmarks.writer STORE ROOT NOTE SECONDS`.

Says `ready`, waits for a line on standard input, writes its own note over and over, and says `done`. After another
line it prints each write's seconds and ends: ending takes a processor, and others may still be at their last writes.
"""

from __future__ import annotations

import json
import sys
import time

from agentm_kernel import Locator
from tests.benchmarks.writes import NOTE
from tests.faults.harness import store_under_test


def main(kind: str, root: str, note: str, seconds: float) -> None:
    store, locator = store_under_test(kind).open(root), Locator(note)
    store.write(locator, NOTE)
    print("ready", flush=True)
    sys.stdin.readline()
    waits = []
    end = time.perf_counter() + seconds
    before = time.perf_counter()
    while before < end:
        store.write(locator, NOTE)
        after = time.perf_counter()
        waits.append(after - before)
        before = after
    print("done", flush=True)
    sys.stdin.readline()
    json.dump(waits, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], float(sys.argv[4]))
