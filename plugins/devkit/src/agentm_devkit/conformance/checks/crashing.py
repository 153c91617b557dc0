"""A writer is killed inside `write`, with no chance to clean up. What was acknowledged stays; nothing else shows."""

from __future__ import annotations

import os
import random
import time
from typing import TYPE_CHECKING

from agentm_devkit.conformance.checking import check
from agentm_devkit.conformance.expect import Violation, contents, same, shown
from agentm_devkit.conformance.processes import PROMPTLY
from agentm_kernel.plugin import Locator

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentm_devkit.conformance.bench import Bench
    from agentm_devkit.conformance.worker import Child

_NOTE = Locator("dir/note.md")
_NEIGHBOUR = Locator("dir/neighbour.md")
_KILLS = 6


def _lines(bench: Bench) -> int:
    """So many lines of 8 bytes that most of the time goes into writing them, if the store takes as much."""
    return min(80_000, bench.size_limit // 10)


def _body(number: int, lines: int) -> str:
    """A text that tells its number at both ends."""
    return f"{number}\n" + f"{number:07}\n" * lines + f"{number}\n"


def _write_for_ever(child: Child, first: int, lines: int) -> None:
    number = first
    while True:
        body = _body(number, lines)
        child.say(number)  # that the one before was acknowledged, and that this one is under way
        child.store.write(_NOTE, body)
        number += 1


def _killed_inside_write(bench: Bench, first: int) -> int:
    """Kill a process that writes bodies from `first` on, at a random moment: the number that was under way."""
    writer = bench.start(_write_for_ever, first, _lines(bench))
    writer.go()
    said: Iterator[int] = writer.said()
    began = [time.monotonic() for _, _ in zip(range(3), said, strict=False)]
    under_way = first + len(began) - 1
    time.sleep(random.uniform(0, began[-1] - began[-2]))  # anywhere in the time that one write takes
    writer.kill()
    return max([under_way, *said])


@check("crashing", persistent=True, rows=(35,))
def check_killed_writer_tears_nothing(bench: Bench) -> None:
    """After a kill inside `write` the note is the last acknowledged one or the one under way, whole."""
    store = bench.store
    number = 0
    store.write(_NOTE, _body(number, _lines(bench)))
    for _ in range(_KILLS):
        under_way = _killed_inside_write(bench, number + 1)
        number = _number_found(bench, under_way)


def _number_found(bench: Bench, under_way: int) -> int:
    found = bench.store.read(_NOTE)
    for number in (under_way - 1, under_way):
        if found == _body(number, _lines(bench)):
            return number
    raise Violation(
        f"killed while writing body {under_way}, with {under_way - 1} acknowledged, the note holds {shown(found)}, "
        f"{len(found)} of {len(_body(under_way, _lines(bench)))} characters"
    )


@check("crashing", persistent=True, rows=(35, 36))
def check_killed_writer_blocks_nobody(bench: Bench) -> None:
    """After a kill inside `write` the next writer gets in at once."""
    store = bench.store
    store.write(_NEIGHBOUR, "one\n")
    for number in range(_KILLS):
        _killed_inside_write(bench, 1)
        began = time.monotonic()
        store.write(_NEIGHBOUR, f"after kill {number}\n")
        store.write(_NOTE, f"after kill {number}\n")
        waited = time.monotonic() - began
        if waited > PROMPTLY:
            raise Violation(f"it had to wait {waited:.1f} s")


@check("crashing", persistent=True, rows=(49,))
def check_killed_writer_leaves_no_entry(bench: Bench) -> None:
    """What a killed writer leaves behind is never listed: not as a note, not as a directory."""
    store = bench.store
    store.write(_NEIGHBOUR, "one\n")
    store.write(_NOTE, _body(0, _lines(bench)))
    for _ in range(_KILLS):
        _killed_inside_write(bench, 1)
        same("the set of keys", set(contents(store)), {"dir", _NEIGHBOUR.key, _NOTE.key})


@check("crashing", needs=("device_files",), persistent=True, rows=(49,))
def check_leftovers_are_swept(bench: Bench) -> None:
    """What a killed writer leaves on disk is removed by writers that come later."""
    for _ in range(_KILLS):
        _killed_inside_write(bench, 1)
    bench.run(_write_once)
    # The write floor keeps a displaced version (`.swap`) for two seconds: a program may have it open.
    left = sorted(name for name in os.listdir(bench.device_path("dir")) if not name.endswith(".swap"))
    same("the directory on disk", left, ["neighbour.md", "note.md"])


def _write_once(child: Child) -> None:
    child.store.write(_NEIGHBOUR, "one\n")
