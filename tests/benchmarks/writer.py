"""One contending writer: `python -m tests.benchmarks.writer ROOT NOTE SECONDS`.

Says `ready`, waits for a line on standard input, writes its own note over and over, and prints each write's seconds.
"""

from __future__ import annotations

import json
import sys
import time

from agentm_device_local import DeviceLocalBackend
from agentm_kernel import Locator
from tests.benchmarks.writes import NOTE


def main(root: str, note: str, seconds: float) -> None:
    store, locator = DeviceLocalBackend(root), Locator(note)
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
    json.dump(waits, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], float(sys.argv[3]))
