"""`python -m tests.mutants [--sample N] [--seed S] [--only NAMES] [--minutes M]`: which mutants no test notices."""

from __future__ import annotations

import argparse
import secrets
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, TypeVar

from tests.mutants.changes import PROMISES
from tests.mutants.copies import CUT, PrivateCopy, Soundness, TimeOver
from tests.mutants.lessons import Lessons
from tests.mutants.tree import equivalents, mutants_of, sample, test_files, tests_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from tests.mutants.copies import Verdict
    from tests.mutants.tree import Mutant

Task = TypeVar("Task")
REPOSITORY = Path(__file__).resolve().parents[2]
STRICT = frozenset({"files", "seam", "selection", "projects", "state"})
STRICT_GOAL, GOAL = 0.95, 0.90


def main(arguments: Sequence[str] | None = None, root: Path = REPOSITORY) -> int:
    options = _parser().parse_args(arguments)
    everything = mutants_of(root)
    known = equivalents(root)
    for entry in known:
        if not any(entry.is_(mutant) for mutant in everything):
            print(f"note: {entry.file} no longer has the equivalent mutant {entry.after!r}: take it off the list")
    living = [mutant for mutant in everything if not any(entry.is_(mutant) for entry in known)]
    only = [name for name in (options.only or "").split(",") if name]
    if unknown := set(only) - {mutant.room for mutant in everything} - {mutant.change.kind for mutant in everything}:
        print(f"no such room or kind: {', '.join(sorted(unknown))}", file=sys.stderr)
        return 2
    chosen = sample(living, options.sample, options.seed, only)
    print(f"seed {options.seed}: {len(chosen)} of {len(living):,} mutants; {len(known)} are known to be equivalent")
    equivalent = Counter(mutant.room for mutant in everything if any(entry.is_(mutant) for entry in known))
    lessons = Lessons(root)
    if options.learn:
        learn(root, chosen, lessons, workers=options.workers)
    verdicts = run(root, chosen, lessons, workers=options.workers, minutes=options.minutes)
    if len(verdicts) < len(chosen):
        print(f"\nthe time was over after {len(verdicts)} of {len(chosen)}: nothing is said about the others")
    return report(verdicts, equivalent)


def learn(root: Path, mutants: Sequence[Mutant], lessons: Lessons, *, workers: int) -> None:
    """Let the tests that may concern the mutants show what they call, folder by folder."""
    stages = [stage for file in sorted({mutant.file for mutant in mutants}) for stage in tests_for(root, file)]
    folders: dict[str, list[str]] = {}
    for file in lessons.missing(test_files(root, stages)):
        folders.setdefault(file.rpartition("/")[0], []).append(file)

    def lesson(copy: PrivateCopy, files: list[str]) -> None:
        start = time.monotonic()
        lessons.learn(copy, files)
        print(f"learned {len(files)} files like {files[0]} in {time.monotonic() - start:.0f} seconds", flush=True)

    _in_copies(root, lessons, [*folders.values()], lesson, workers=workers)


def run(root: Path, mutants: Sequence[Mutant], lessons: Lessons, *, workers: int, minutes: float) -> list[Verdict]:
    """Judge them until all are done or the time is over, which ends what is being judged then."""
    end = time.monotonic() + minutes * 60
    verdicts: list[Verdict] = []

    def judge(copy: PrivateCopy, mutant: Mutant) -> None:
        copy.end = end
        try:
            verdict = copy.judge(mutant)
        except TimeOver:
            return
        verdicts.append(verdict)
        print(_line(verdict), flush=True)

    _in_copies(root, lessons, mutants, judge, workers=workers)
    return verdicts


def _in_copies(
    root: Path, lessons: Lessons, tasks: Iterable[Task], do: Callable[[PrivateCopy, Task], None], *, workers: int
) -> None:
    """Every task, each worker in a copy of its own."""
    waiting: SimpleQueue[Task] = SimpleQueue()
    for task in tasks:
        waiting.put(task)
    troubles: list[BaseException] = []
    soundness = Soundness()

    def work(folder: Path) -> None:
        try:
            copy = PrivateCopy(root, folder, soundness, lessons)
            while True:
                do(copy, waiting.get_nowait())
        except Empty:
            return
        except BaseException as error:
            troubles.append(error)

    with tempfile.TemporaryDirectory(prefix="agentm-mutants-") as folder:
        threads = [threading.Thread(target=work, args=(Path(folder) / str(number),)) for number in range(workers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    if troubles:
        raise troubles[0]


def _line(verdict: Verdict) -> str:
    said = f"noticed by {verdict.by}" if verdict.is_noticed else "SURVIVED"
    return f"{verdict.mutant.change.kind:<10} {verdict.mutant.place}: {said}"


def report(verdicts: Sequence[Verdict], equivalent: Mapping[str, int]) -> int:
    """A line per room and per goal, then every survivor; 1 if a goal is not met. What is not decided counts as not
    noticed.

    A goal is for all of its rooms together: a sample has a handful of each, and one survivor in five says little.
    """
    is_missed = False
    print("\nroom             behaviour changed      noticed  not decided  goal         listed as equivalent")
    for room in sorted({verdict.mutant.room for verdict in verdicts}):
        here = [verdict for verdict in verdicts if verdict.mutant.room == room]
        print(f"{_figures(room, here)}  {'':<11}  {equivalent.get(room, 0):>20}")
    for name, goal in (("strict rooms", STRICT_GOAL), ("all others", GOAL)):
        these = [verdict for verdict in verdicts if (verdict.mutant.room in STRICT) is (goal == STRICT_GOAL)]
        if not these:
            continue
        noticed, cut = sum(one.is_noticed for one in these), sum(one.by == CUT for one in these)
        wanted = goal * len(these)
        is_missed |= noticed < wanted
        said = ", missed" if noticed + cut < wanted else ", open" if noticed < wanted else ""
        print(f"{_figures(name, these)}  {goal:.0%}{said}")
    survivors = sorted((one for one in verdicts if not one.is_noticed), key=lambda one: one.mutant.place)
    for mutant, _, without in survivors:
        print(f"\nsurvivor {mutant.place} ({mutant.change.kind})")
        if without:
            print(f"  {without}")
        for sign, text in (("-", mutant.before), ("+", mutant.after)):
            print("\n".join(f"  {sign} {line}" for line in text.splitlines()))
    promises = [verdict for verdict in verdicts if verdict.mutant.change.kind in PROMISES]
    broken = sum(not verdict.is_noticed for verdict in promises)
    print(f"\n{len(verdicts) - len(survivors)} of {len(verdicts)} were noticed", end=", ")
    print(f"and {len(promises) - broken} of the {len(promises)} that have to be ({', '.join(sorted(PROMISES))})")
    return int(is_missed or broken > 0)


def _figures(name: str, verdicts: Sequence[Verdict]) -> str:
    noticed, cut = sum(verdict.is_noticed for verdict in verdicts), sum(verdict.by == CUT for verdict in verdicts)
    share = f"{noticed} ({noticed / len(verdicts):.0%})"
    return f"{name:<18} {len(verdicts):>15}  {share:>11}  {cut:>11}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description="Change the code; do tests notice?")
    parser.add_argument("--sample", type=int, default=120, metavar="N", help="how many mutants (120)")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**6), help="repeat the run with this seed")
    parser.add_argument("--only", metavar="NAMES", help="rooms or kinds of mutants, with commas: files,if_match")
    parser.add_argument("--minutes", type=float, default=20, help="the time for all of them (20)")
    parser.add_argument("--learn", action="store_true", help="first let the tests show what they call (long, once)")
    parser.add_argument("--workers", type=int, default=2, help="copies that work at the same time (2)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
