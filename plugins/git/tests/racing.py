"""Several clones that edit, commit and push at the same time, and the judge who looks for every edit afterwards.

Each clone is a process. It edits notes of its own, which nobody else touches, notes that all of them append to, and
notes that all of them rewrite; and it tells its parent about every edit that was acknowledged. In the end each edit
of an own note has to be in the newest version of that note, each addition to a shared one in that note or in a copy
that was kept of it, and each rewriting in the history.
"""

from __future__ import annotations

import os
import pickle
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Protocol

from git_servers import BRANCH, Origin, fsck

POLICIES = ("rebase", "merge", "abort", "manual", "last-writer-wins", "split-conflicts")
SETTLING = tuple(policy for policy in POLICIES if policy not in ("abort", "manual"))
"""Those that need no operator."""
SHARED = ("shared/decisions.md", "shared/progress.md")
REWRITTEN = ("shared/title.md", "shared/status.md")
"""Of these every edit replaces the whole text, so two at the same time cannot be put together."""
LIMIT = 1800.0
PAUSE = 0.4
"""Seconds that a clone may think between two edits: without, the one that is ahead would never be caught up with."""


def edited(key: str, text: str | None, line: str) -> str:
    """What an edit makes of a note."""
    return f"{line}\n" if key in REWRITTEN else f"{text or ''}{line}\n"


class Clone(Protocol):
    """What a racing clone can do."""

    def edit(self, key: str, line: str) -> None:
        """Make a note what `edited` says. When it returns, the edit is acknowledged."""

    def sync(self) -> bool:
        """Commit, and exchange with the origin; whether an operator had to settle a conflict for it."""


OpenClone = Callable[[Origin, str, str, int], Clone]
"""Opens the clone of a number in a folder, under a conflict policy. Crosses process borders, so it has a name."""


@dataclass(frozen=True)
class Race:
    origin: Origin
    folder: str
    policy: str
    clones: int
    edits: int
    open_clone: OpenClone
    seed: int = 0


@dataclass
class Result:
    """What a race came to."""

    acknowledged: dict[str, str] = field(default_factory=dict)
    """The key that each edit was made to."""
    settled: int = 0
    """Conflicts that an operator had to settle."""
    kept: int = 0
    """Versions that lost their name and were kept as copies."""
    problems: list[str] = field(default_factory=list)


def run(race: Race) -> Result:
    """Let the clones race until each has pushed all its edits, then judge."""
    started = [_start(race, number) for number in range(race.clones)]
    result = Result()
    end = time.monotonic() + LIMIT
    try:
        for process in started:
            said, complaint = process.communicate(timeout=max(1.0, end - time.monotonic()))
            _take_in(said.decode(), result)
            if process.returncode:
                result.problems.append(f"a clone failed: {complaint.decode(errors='replace').strip()[-1500:]}")
    finally:
        for process in started:
            if process.poll() is None:
                process.kill()
                process.communicate()
    judge(race, result)
    return result


def _start(race: Race, number: int) -> subprocess.Popen[bytes]:
    home = os.path.join(race.folder, f"home-{number}")
    os.makedirs(home)
    script = f"import sys; sys.path[:] = {[os.path.dirname(__file__), *sys.path]!r}; import racing; racing.main()"
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "HOME": home, "XDG_STATE_HOME": os.path.join(home, "state")},
    )
    assert process.stdin is not None
    process.stdin.write(pickle.dumps((race, number)))
    process.stdin.close()
    process.stdin = None
    return process


def main() -> None:
    """What the process of one clone does."""
    race, number = pickle.loads(sys.stdin.buffer.read())
    clone = race.open_clone(race.origin, os.path.join(race.folder, f"clone-{number}"), race.policy, number)
    chance = random.Random(f"{race.seed}/{number}")
    for step in range(race.edits):
        key, line = _next_edit(chance, number), f"edit-{number}-{step}"
        clone.edit(key, line)
        print(f"acknowledged {line} {key}", flush=True)
        if clone.sync():
            print("settled", flush=True)
        time.sleep(chance.uniform(0, PAUSE))


def _next_edit(chance: random.Random, number: int) -> str:
    if chance.random() < 0.6:
        return chance.choice(SHARED + REWRITTEN)
    return f"own/clone-{number}/note-{chance.randrange(5)}.md"


def _take_in(said: str, result: Result) -> None:
    for line in said.splitlines():
        word, *rest = line.split()
        if word == "acknowledged":
            result.acknowledged[rest[0]] = rest[1]
        elif word == "settled":
            result.settled += 1


# ------------------------------------------------------------------------------------------------ the judge


def judge(race: Race, result: Result) -> None:
    """Whatever was acknowledged is at the origin, nobody forced a push, and every repository is sound."""
    origin = race.origin
    ever = origin.lines_ever()
    newest = {key: set(content.splitlines()) for key, content in origin.files(BRANCH).items()}
    shown = set().union(*newest.values())
    for line, key in result.acknowledged.items():
        if line.encode() not in ever:
            result.problems.append(f"lost: {line}, which was added to {key}")
        elif key not in REWRITTEN and line.encode() not in (shown if key in SHARED else newest.get(key, set())):
            result.problems.append(f"only in history: {line}, which was added to {key}")
    result.kept = sum("(conflict " in key or key.startswith("_meta/conflicts/") for key in newest)
    result.problems += [f"marked as a conflict: {key}" for key, lines in newest.items() if _is_marked(lines)]
    result.problems += [f"forced: {move}" for move in origin.forced()]
    folders = [origin.path, *(os.path.join(race.folder, f"clone-{number}") for number in range(race.clones))]
    for folder in filter(os.path.isdir, folders):  # one that could not even be made has said so
        if complaint := fsck(folder):
            result.problems.append(f"fsck of {folder}: {complaint}")


def _is_marked(lines: Iterable[bytes]) -> bool:
    """Git's conflict markers have no place in a note."""
    return any(line.startswith((b"<<<<<<< ", b">>>>>>> ")) for line in lines)
