"""The same work for everybody, each a function that gives a `Verdict`.

A line is found whole or it is not: `[fact NAME … end NAME]`. What a program called done and what is not there
afterwards, for a program that was started anew, is lost; what it said it could not do is refused, and not lost.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from tests.benchmarks.rivals.clients import Refused
from tests.benchmarks.rivals.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from tests.benchmarks.rivals.contestants import Contestant, Site

_WHOLE = re.compile(r"\[fact (\S+) [^\[\]]*end \1\]")
_BEGUN = re.compile(r"\[fact \S")
_BULK = 200_000
"""Characters in the note while writers are killed: a memory of some months."""
_AT_MOST = 10.0
"""Seconds that a work goes on, whatever is left to do: the table has eighty of them."""
_SMALL_DISK = 48
"""Megabytes."""


class NotApplicable(Exception):
    """Why a work cannot be asked of a contestant, or not on this machine."""


class Round:
    """What is asked of a contestant in a place of its own, and what became of it."""

    def __init__(self, contestant: Contestant, site: Site, verdict: Verdict) -> None:
        self.contestant, self.site, self.verdict = contestant, site, verdict
        self.done: list[str] = []
        self._lock = threading.Lock()

    def start(self, number: int = 0) -> Any:
        """A program, or `None` if it says that it cannot start. The first is the one that made the note."""
        try:
            return (number == 0 and self.site.take_warm()) or self.contestant.start(self.site, number)
        except Refused as refusal:
            self._heard(refusal)
            return None

    def add(self, client: Any, name: str, padding: int = 20) -> None:
        with self._lock:
            self.verdict.asked += 1
        try:
            if client is None:
                raise Refused("it did not start")
            client.add(fact(name, padding))
        except Refused as refusal:
            with self._lock:
                self.verdict.refused += 1
                self._heard(refusal)
        else:
            with self._lock:
                self.done.append(name)

    def _heard(self, refusal: Refused) -> None:
        self.verdict.said = self.verdict.said or str(refusal)

    def judge(self, expected: Iterable[str]) -> set[str]:
        """Start a program anew, let it read, and count. What it found."""
        wanted = set(expected)
        found: set[str] = set()
        text = ""
        reader = self.start()
        if reader is None:
            self.verdict.torn += 1
        else:
            try:
                text = reader.read()
                found = set(_WHOLE.findall(text))
                if wanted - found:
                    kept = set(_WHOLE.findall("\n".join(copies_of(reader)))) & wanted - found
                    self.verdict.beside += len(kept)
                    found |= kept
            except Refused as refusal:
                self.verdict.torn += 1
                self._heard(refusal)
            reader.kill()
        self.verdict.torn += max(0, len(_BEGUN.findall(text)) - len(_WHOLE.findall(text)))
        self.verdict.lost += len(wanted - found)
        return found


def copies_of(client: Any) -> list[str]:
    """The versions beside the note that the program lists by itself; most programs have no such list."""
    try:
        found: list[str] = client.ask("copies")
    except (AttributeError, Refused):
        return []
    return found


def fact(name: str, padding: int = 20) -> str:
    return f"[fact {name} {'.' * padding} end {name}]"


def bulk(size: int) -> str:
    return "".join(f"{fact(f'old-{number}', 160)}\n" for number in range(size // 200))


# ------------------------------------------------------------------------------------------------ several at once


def _writers(count: int, lines: int) -> Callable[[Contestant, Site, bool], Verdict]:
    def work(contestant: Contestant, site: Site, quick: bool) -> Verdict:
        each = lines // 2 if quick else lines
        verdict = Verdict()
        seconds = _AT_MOST / 2 if quick else _AT_MOST
        until = float("inf")
        contestant.prepare(site, f"{fact('begin')}\n")
        round_ = Round(contestant, site, verdict)
        with ThreadPoolExecutor(2) as pool:
            clients = list(pool.map(round_.start, range(count)))

        def run(number: int) -> None:
            for line in range(each):
                if time.monotonic() > until:
                    return
                round_.add(clients[number], f"w{number}-{line}")

        threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
        until = time.monotonic() + seconds
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for client in clients:
            if client is not None:
                client.kill()
        if verdict.asked < count * each:
            verdict.did = f"{verdict.asked} of {count * each} lines in {seconds:g} s"
        round_.judge(["begin", *round_.done])
        return verdict

    work.__doc__ = (
        f"{count} programs add {lines} lines each to one note, at once; as many as they can in {_AT_MOST:g} s."
    )
    return work


# ------------------------------------------------------------------------------------------------ interrupted


def killed(contestant: Contestant, site: Site, quick: bool) -> Verdict:
    """Programs that add to a note of 200 kB are killed with -9, at moments that the seed gives."""
    contestant.prepare(site, bulk(_BULK))
    expected = set(_WHOLE.findall(bulk(_BULK)))
    verdict, kills = Verdict(asked=len(expected)), 0
    until = time.monotonic() + (_AT_MOST / 2 if quick else _AT_MOST)
    while kills < (10 if quick else 40) and (not kills or time.monotonic() < until):
        kills += 1
        round_ = Round(contestant, site, verdict)
        client = round_.start()
        if client is None:
            verdict.torn += 1
            break
        # What is asked for when the program dies is neither done nor refused.
        flood = threading.Thread(target=_flood, args=(client, round_, f"k{kills}"))
        flood.start()
        time.sleep(0.05 + random.random() * 0.3)
        client.kill()
        flood.join()
        expected |= set(round_.done)
        before = verdict.torn, verdict.lost
        found = round_.judge(expected)
        verdict.asked += len(found - expected)  # what was under way
        expected = found
        if (verdict.torn, verdict.lost) != before and len(expected) < 10:
            break  # there is nothing left to lose
    verdict.did = "1 kill" if kills == 1 else f"{kills} kills"
    return verdict


def _flood(client: Any, round_: Round, name: str) -> None:
    for number in range(1_000_000):
        try:
            client.add(fact(f"{name}-{number}"))
        except Refused:
            return
        round_.verdict.asked += 1
        round_.done.append(f"{name}-{number}")


# ------------------------------------------------------------------------------------------------ the disk


def full_disk(contestant: Contestant, site: Site, quick: bool) -> Verdict:
    """The disk is full, with everything that the program has on it; five lines of 30 kB are to be added."""
    if not contestant.on_disk:
        raise NotApplicable("its notes are not on this disk")
    command = ["mount", "-t", "tmpfs", "-o", f"size={_SMALL_DISK}m", "tmpfs", str(site.folder)]
    if subprocess.run(command, check=False, capture_output=True).returncode:
        raise NotApplicable("a small disk cannot be mounted here")
    site.disk.mkdir()
    contestant.prepare(site, bulk(20_000))
    expected = set(_WHOLE.findall(bulk(20_000)))
    verdict = Verdict(asked=len(expected))
    round_ = Round(contestant, site, verdict)
    client = round_.start()
    filler = site.disk / "filler"
    _fill(filler)
    for number in range(5):
        round_.add(client, f"full-{number}", 30_000)
    if client is not None:
        client.kill()
    filler.unlink()
    round_.judge(expected | set(round_.done))
    return verdict


def _fill(path: Path) -> None:
    with path.open("wb", buffering=0) as file:
        for size in (1 << 20, 1 << 12, 1):
            try:
                while file.write(b"\0" * size) == size:
                    pass
            except OSError:
                continue


def unmounted(contestant: Contestant, site: Site, quick: bool) -> Verdict:
    """The disk is not mounted, its mount point is empty: a program that ran, and a new one, add a line."""
    if not contestant.on_disk:
        raise NotApplicable("its notes are not on this disk")
    verdict = Verdict()
    contestant.prepare(site, f"{fact('begin')}\n")
    round_ = Round(contestant, site, verdict)
    running = round_.start()
    round_.add(running, "before")
    expected = {"begin", *round_.done}
    away = site.folder / "away"
    site.disk.rename(away)
    site.disk.mkdir()
    round_.add(running, "from-a-running-program")
    fresh = round_.start()
    round_.add(fresh, "from-a-new-program")
    for client in (running, fresh):
        if client is not None:
            client.kill()
    shutil.rmtree(site.disk)
    away.rename(site.disk)
    found = round_.judge(expected)
    verdict.misplaced += len(set(round_.done) - expected - found)
    return verdict


# ------------------------------------------------------------------------------------------------ other programs


def conflict_copy(contestant: Contestant, site: Site, quick: bool) -> Verdict:
    """A sync tool brings another device's version: in the place of the note, then as a conflict copy beside it."""
    file = _file(contestant, site)
    verdict = Verdict()
    contestant.prepare(site, f"{fact('begin')}\n")
    round_ = Round(contestant, site, verdict)
    client = round_.start()
    round_.add(client, "ours-1")
    incoming = file.with_name(".incoming")
    incoming.write_text(file.read_text() + contestant.as_text(fact("theirs")))
    incoming.replace(file)
    verdict.asked += 1
    round_.add(client, "ours-2")
    copy = file.with_name(f"{file.stem}.sync-conflict-20260102-030405-ABCDEFG{file.suffix}")
    copy.write_text(contestant.as_text(fact("copied")).lstrip())
    told = any("copied" in text for text in copies_of(client))
    client.kill()
    round_.judge(["begin", "theirs", *round_.done])
    verdict.untold = int(not told)
    return verdict


def editor(contestant: Contestant, site: Site, quick: bool) -> Verdict:
    """A shell keeps the note open and adds lines with `>>`, while the program adds its own."""
    file = _file(contestant, site)
    lines = 20 if quick else 40
    verdict = Verdict()
    contestant.prepare(site, f"{fact('begin')}\n")
    round_ = Round(contestant, site, verdict)
    client = round_.start()
    shell = subprocess.Popen(
        ["sh", "-c", 'exec 3>>"$0"; while read -r line; do printf "%b" "$line" >&3; done', str(file)],
        stdin=subprocess.PIPE,
        text=True,
    )
    assert shell.stdin is not None
    typed: list[str] = []
    until = time.monotonic() + _AT_MOST
    for number in range(lines):
        if time.monotonic() > until:
            verdict.did = f"{2 * number} of {2 * lines} lines in {_AT_MOST:g} s"
            break
        text = contestant.as_text(fact(f"typed-{number}"))
        shell.stdin.write(text.replace("\\", "\\\\").replace("\n", "\\n") + "\n")
        shell.stdin.flush()
        typed.append(f"typed-{number}")
        verdict.asked += 1
        time.sleep(random.random() * 0.01)
        round_.add(client, f"own-{number}")
    shell.stdin.close()
    shell.wait()
    for _ in range(2):  # a program may need another turn to see what was typed last
        round_.add(client, f"last-{len(round_.done)}")
        time.sleep(2.5)
    client.kill()
    round_.judge(["begin", *typed, *round_.done])
    return verdict


def _file(contestant: Contestant, site: Site) -> Path:
    if not contestant.has_file:
        raise NotApplicable("its notes are no text files")
    return contestant.file(site)


# ------------------------------------------------------------------------------------------------ speed


def speed(contestant: Contestant, site: Site, quick: bool) -> Verdict:
    """Adding a line to a note of 20 kB, alone: the median, from the request to the answer."""
    verdict, waits = Verdict(), []
    contestant.prepare(site, bulk(20_000))
    round_ = Round(contestant, site, verdict)
    client = round_.start()
    until = time.monotonic() + _AT_MOST / 2
    for number in range(15 if quick else 60):
        if time.monotonic() > until:
            break
        began = time.perf_counter()
        round_.add(client, f"s-{number}")
        waits.append(time.perf_counter() - began)
    client.kill()
    round_.judge(round_.done)
    verdict.milliseconds = sorted(waits)[len(waits) // 2] * 1e3
    return verdict


WORKS: dict[str, Callable[[Contestant, Site, bool], Verdict]] = {
    "two-writers": _writers(2, 20),
    "eight-writers": _writers(8, 20),
    "kill-9": killed,
    "full-disk": full_disk,
    "unmounted": unmounted,
    "conflict-copy": conflict_copy,
    "editor": editor,
    "one-add": speed,
}


def perform(contestant: Contestant, work: str, site: Site, *, quick: bool, seed: int) -> Verdict:
    random.seed(seed)
    os.umask(0o077)
    return WORKS[work](contestant, site, quick)
