"""A process forks while another of its threads imports what a write needs; the child then writes.

A child that inherits an import under way waits for it for ever, perhaps holding the store's lock. Each round is a
fresh interpreter, whose thread makes the first write of all while the main thread forks.
"""

from __future__ import annotations

import subprocess
import sys

from tests.faults.harness import STORES, Intensity, Outcome, scratch

_STORES = ("device-local", "harness", "vault")
_CHILDREN = 8
_HANGS = 10  # seconds; then the child is ended by its own alarm

_FORKING = """
import os, signal, sys, threading, time
sys.path.insert(0, os.getcwd())
from importlib import import_module
module, _, factory = sys.argv[2].partition(":")
is_broken = sys.argv[3] == "broken"
if is_broken:  # as it was: a fork waits for nobody
    os.register_at_fork = lambda **_: None
from agentm_kernel.plugin import Locator
open_store = getattr(import_module(module), factory)
store = open_store(sys.argv[1])
hangs, began = int(sys.argv[4]), threading.Event()

class Slowly:
    "Makes imports of the write path long enough to be met by a fork: on a busy machine they are."
    def find_spec(self, name, path=None, target=None):
        if name.startswith("agentm_kernel.files."):
            began.set()
            time.sleep(0.002)

sys.meta_path.insert(0, Slowly())

def write(number):
    store.write(Locator(f"notes/{number}.md"), "x")

thread = threading.Thread(target=write, args=(0,))
thread.start()
began.wait(5)
children = []
for number in range(1, int(sys.argv[5]) + 1):
    child = os.fork()
    if not child:
        signal.alarm(hangs)
        write(number)
        os._exit(0)
    children.append(child)
thread.join()
print(sum(os.waitpid(child, 0)[1] != 0 for child in children))
"""


def campaign(intensity: Intensity) -> Outcome:
    outcome = Outcome("forks beside a thread that imports the write path")
    for store in _STORES:
        for _ in range(intensity.pick(short=2, full=20)):
            _run(outcome, store, "whole", _HANGS)
    broken = Outcome("control")
    for _ in range(5):
        _run(broken, _STORES[0], "broken", 2)
        if broken.violations:
            break
    outcome.control("a_fork_that_waits_for_nobody", broken)
    return outcome


def _run(outcome: Outcome, store: str, build: str, hangs: int) -> None:
    with scratch() as folder:
        command = [sys.executable, "-W", "ignore", "-c", _FORKING, f"{folder}/store", STORES[store], build]
        done = subprocess.run(
            [*command, str(hangs), str(_CHILDREN)], capture_output=True, text=True, check=False, timeout=120
        )
        outcome.count += _CHILDREN
        if done.returncode or done.stdout.strip() != "0":
            outcome.violation(
                "stuck", f"{store}: {done.stdout.strip()} of {_CHILDREN} children; {done.stderr[-200:]}"
            )
