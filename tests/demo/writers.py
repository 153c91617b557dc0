"""The floor under every store: plain files, racing writers, killed writers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from agentm_device_local import DeviceLocalBackend
from agentm_kernel import Locator, update
from tests.demo.stage import say, title

PROCESSES = 8
ROUNDS = 25


def show(scratch: Path) -> None:
    nothing_is_lost_between_processes(scratch)
    a_killed_writer_leaves_the_store_intact(scratch / "killed")


def nothing_is_lost_between_processes(scratch: Path) -> None:
    title(f"4. Many agents at once: {PROCESSES} processes add {ROUNDS} lines each to one note")
    expected = PROCESSES * ROUNDS
    plain = scratch / "plain" / "progress.md"
    plain.parent.mkdir()
    plain.write_text("")
    race("plain", plain)
    say(f"a plain folder kept   {len(plain.read_text().splitlines()):>4} of {expected} lines")
    root = scratch / "agentm"
    race("agentm", root)
    kept = len(DeviceLocalBackend(root).read(Locator("progress.md")).splitlines())
    say(f"agentm kept           {kept:>4} of {expected} lines")
    if kept != expected:
        sys.exit("agentm lost a line: please report this")


def a_killed_writer_leaves_the_store_intact(root: Path) -> None:
    title("5. A writer is killed with -9, fifteen times, in the middle of its work")
    note = Locator("plan.md")
    store = DeviceLocalBackend(root)
    store.write(note, whole_note("before"))
    torn = 0
    slowest = 0.0
    for _ in range(15):
        writer = subprocess.Popen(
            [sys.executable, "-m", "tests.demo.writers", "write-forever", str(root)], stdout=subprocess.PIPE
        )
        assert writer.stdout is not None
        writer.stdout.read(1)  # it is writing now
        time.sleep(0.02)
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        writer.stdout.close()
        torn += not is_whole(store.read(note))
        began = time.perf_counter()
        store.write(note, whole_note("after the kill"))
        slowest = max(slowest, time.perf_counter() - began)
    listed = [locator.key for locator in store.list(Locator()) if not locator.key.startswith("_meta")]
    say(f"torn notes: {torn}; the next writer waited {slowest * 1000:.0f} ms at most")
    say(f"in the store: {', '.join(listed)}")
    if torn:
        sys.exit("a note was torn: please report this")


# ------------------------------------------------------------------------------------------------ the other processes


def race(kind: str, place: Path) -> None:
    racers = [
        subprocess.Popen([sys.executable, "-m", "tests.demo.writers", f"add-to-{kind}", str(place)])
        for _ in range(PROCESSES)
    ]
    for racer in racers:
        racer.wait()


def add_to_plain(path: str) -> None:
    """What most tools do: read the file, change the text, write the file."""
    for number in range(ROUNDS):
        text = Path(path).read_text()
        Path(path).write_text(text + f"line {number} of {os.getpid()}\n")


def add_to_agentm(path: str) -> None:
    store = DeviceLocalBackend(path)
    for number in range(ROUNDS):
        line = f"line {number} of {os.getpid()}\n"
        update(store, Locator("progress.md"), lambda text, line=line: (text or "") + line)


def write_forever(path: str) -> None:
    store = DeviceLocalBackend(path)
    sys.stdout.write(".")
    sys.stdout.flush()
    while True:
        store.write(Locator("plan.md"), whole_note(str(time.time_ns())))


def whole_note(word: str) -> str:
    return "\n".join([word] * 5000) + "\n"


def is_whole(text: str) -> bool:
    lines = text.splitlines()
    return len(lines) == 5000 and len(set(lines)) == 1


ROLES = {"add-to-plain": add_to_plain, "add-to-agentm": add_to_agentm, "write-forever": write_forever}

if __name__ == "__main__":
    ROLES[sys.argv[1]](sys.argv[2])
