"""A store is encrypted, gets new keys and is made plain again, killed at random moments: nothing is lost on the way,
and nothing can be read as plain that should not be.
"""

from __future__ import annotations

import contextlib
import io
import multiprocessing
import os
import signal
import time
from typing import TYPE_CHECKING
from unittest import mock

from agentm_encryption import rewriting
from agentm_encryption.envelope import is_sealed
from agentm_encryption.key_source import newest_epoch
from agentm_encryption.selected import SelectedStore
from agentm_encryption.survey import note_locators
from agentm_kernel.cli.app import run
from agentm_kernel.plugin import AgentmError, Device, Locator
from tests.faults.harness import Intensity, Outcome, scratch
from tests.faults.stores import RECOVERY

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

WORKS = {
    "init": ("encryption", "init", "--recovery", RECOVERY, "--yes"),
    "rotate": ("encryption", "rotate", "--yes"),
    "decrypt": ("encryption", "decrypt", "--yes"),
}
_AGAIN = {**WORKS, "init": ("encryption", "init", "--yes")}
_MARK = "the launch code is heliotrope"


def campaign(intensity: Intensity) -> Outcome:
    notes, kills = intensity.pick(short=60, full=2000), intensity.pick(short=9, full=200)
    outcome = Outcome("kills of encryption init, rotate and decrypt")
    rng = intensity.random("sealing")
    finished = 0
    with scratch(in_memory=True) as folder:  # whom a kill meets is decided by the process, and not by the disk
        laptop = Laptop(folder)
        laptop.fill(notes)
        lengths = {work: _through(outcome, laptop, work) for work in WORKS}
        while outcome.count < kills or finished % len(WORKS):
            work = list(WORKS)[finished % len(WORKS)]
            wanted = outcome.count + max(1, kills // len(WORKS) // 4)
            _kill_and_resume(outcome, laptop, work, wanted, lengths[work], rng)
            finished += 1
            if outcome.violations:
                break
    outcome.measured |= {"notes": notes, "rounds": finished / len(WORKS)}
    outcome.control("sealing that deletes first", _control(rng))
    return outcome


def _through(outcome: Outcome, laptop: Laptop, work: str) -> float:
    """How long the work takes when nobody disturbs it."""
    started = time.monotonic()
    laptop.run(WORKS[work])
    took = time.monotonic() - started
    _check(outcome, laptop, work, is_through=True)
    return took


def _kill_and_resume(
    outcome: Outcome, laptop: Laptop, work: str, wanted: int, length: float, rng: random.Random
) -> None:
    """Begin the work, kill it until there were as many kills as wanted or it was through, then let it finish."""
    command = WORKS[work]
    while outcome.count < wanted:
        # A run that goes on has less to do: short waits let many of them meet, long ones reach what comes at the end.
        if not laptop.killed(command, rng.choice((0.05, 0.3, 1.0)) * rng.random() * length + 0.01):
            break
        outcome.count += 1
        command = _AGAIN[work] if laptop.has_keys else command
        _check(outcome, laptop, work, is_through=False)
    if work != "decrypt" or laptop.has_keys or laptop.has_wrapper:
        laptop.run(_AGAIN[work] if laptop.has_keys else command, may_be_done=True)
    _check(outcome, laptop, work, is_through=True)


def _check(outcome: Outcome, laptop: Laptop, work: str, *, is_through: bool) -> None:
    if is_through:
        laptop.opened.clear()  # every note is opened anew: keys may be over
    found = laptop.texts()
    for key, text in laptop.wanted.items():
        if found.get(key) != text:
            outcome.violation("lost", f"{key} after a kill of {work}: {found.get(key)!r}"[:200])
    if found.keys() - laptop.wanted.keys():
        outcome.violation("litter", f"{sorted(found.keys() - laptop.wanted.keys())[:3]} after {work}")
    if laptop.has_wrapper:
        _check_refused(outcome, laptop, work)
    if work == "rotate" or (work == "init" and is_through):
        leaks = laptop.plain_files()
        if leaks:
            outcome.violation("readable", f"{leaks[:3]} after {'all of' if is_through else 'a kill of'} {work}")


def _check_refused(outcome: Outcome, laptop: Laptop, work: str) -> None:
    """Whoever reads through the layer meanwhile gets the text of a sealed note, and a refusal for a plain one."""
    sealed = laptop.sealed_keys()
    store = Device.now(laptop.environ).store()
    for key in list(laptop.wanted)[:: max(1, len(laptop.wanted) // 20)]:
        try:
            text = store.read(Locator(key))
        except AgentmError:
            text = None
        if key in sealed and text != laptop.wanted[key]:
            outcome.violation("unreadable", f"{key} is sealed and cannot be read, in {work}")
        if key not in sealed and text is not None:
            outcome.violation("readable", f"{key} was read as plain, in {work}")


class Laptop:
    """A device with a default store, and what its notes say."""

    def __init__(self, folder: str) -> None:
        self.home = folder
        self.environ = {"HOME": folder, "PATH": os.environ["PATH"], "TMPDIR": os.path.join(folder, "tmp")}
        os.mkdir(self.environ["TMPDIR"])
        self.wanted: dict[str, str] = {}
        self.opened: dict[str, tuple[str, str]] = {}
        """By key: what was stored when the note was opened, and its text. Opening takes most of a check."""

    def fill(self, notes: int) -> None:
        store = Device.now(self.environ).store(read_only=False)
        for number in range(notes):
            key = f"projects/p{number % 7}/notes/n{number}.md"
            self.wanted[key] = f"{_MARK} {number}\n" + "word " * (number % 50 * 20)
            store.write(Locator(key), self.wanted[key])

    def run(self, command: tuple[str, ...], *, may_be_done: bool = False) -> None:
        with mock.patch.dict(os.environ, self.environ, clear=True), contextlib.redirect_stdout(io.StringIO()):
            try:
                run(Device.now(), list(command))
            except AgentmError:
                if not may_be_done or (self.has_keys and self.has_wrapper and "decrypt" in command):
                    raise

    def killed(self, command: tuple[str, ...], seconds: float, patched: Callable[[], object] | None = None) -> bool:
        """Whether the command was still at work when it was killed."""

        def work() -> None:
            nothing = os.open(os.devnull, os.O_RDWR)
            for stream in (1, 2):
                os.dup2(nothing, stream)
            if patched is not None:
                patched()
            self.run(command)

        process = multiprocessing.get_context("fork").Process(target=work)
        process.start()
        process.join(seconds)
        is_at_work = process.is_alive()
        if is_at_work and process.pid is not None:
            os.kill(process.pid, signal.SIGKILL)
        process.join()
        return is_at_work

    # -- what is there ----------------------------------------------------------------------------------------

    @property
    def selected(self) -> SelectedStore:
        return SelectedStore(Device.now(self.environ))

    @property
    def has_keys(self) -> bool:
        return bool(newest_epoch(self.selected.backend))

    @property
    def has_wrapper(self) -> bool:
        return self.selected.is_configured

    def sealed_keys(self) -> set[str]:
        """Of the notes as `texts` has found them: nobody is at work while this looks."""
        return {key for key, (stored, _) in self.opened.items() if is_sealed(stored)}

    def texts(self) -> dict[str, str]:
        """What every note says, sealed or not, by whoever has the keys."""
        selected = self.selected
        backend = selected.backend
        opened = selected.joined() if newest_epoch(backend) else None
        known, self.opened = self.opened, {}
        for locator in note_locators(backend):
            stored = text = backend.read(locator)
            if known.get(locator.key, ("", ""))[0] == stored:
                text = known[locator.key][1]
            elif is_sealed(stored):
                assert opened is not None, f"{locator} is sealed, and there are no keys"
                text = opened.open_stored(locator, stored).text
            self.opened[locator.key] = stored, text
        return {key: text for key, (_, text) in self.opened.items()}

    def plain_files(self) -> list[str]:
        """Every file of the device that has a text of a note in it: store, temporary files, cache, state, logs."""
        found = []
        for folder, _, names in os.walk(self.home):
            for name in names:
                path = os.path.join(folder, name)
                with open(path, "rb") as file:
                    if _MARK.encode() in file.read():
                        found.append(os.path.relpath(path, self.home))
        return found


def _control(rng: random.Random) -> Outcome:
    """Sealing that deletes the plain note before it writes the sealed one loses what it was at."""
    broken = Outcome("control")
    for _ in range(10):
        with scratch(in_memory=True) as folder:
            laptop = Laptop(folder)
            laptop.fill(30)
            laptop.killed(WORKS["init"], rng.uniform(0.3, 1.0), _delete_first)
            _check(broken, laptop, "init", is_through=False)
        if broken.violations:
            break
    return broken


def _delete_first() -> None:
    put = rewriting.seal_as

    def put_late(store: object, locator: Locator, stored: str, text: str, before: int) -> bool:
        store.as_stored.delete(locator)  # type: ignore[attr-defined]
        time.sleep(0.05)
        return put(store, locator, stored, text, before)  # type: ignore[arg-type]

    rewriting.seal_as = put_late  # type: ignore[assignment]
