"""A store moves to another backend and back, killed at random moments: in the end it is bit for bit the same."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from typing import TYPE_CHECKING

from agentm_device_local import DeviceLocalBackend
from agentm_import.moving.stores import copy_notes, plan_migration, settle
from agentm_kernel import Locator
from agentm_kernel.plugin import content_hash
from tests.faults.harness import Intensity, Outcome, scratch

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterable

    from agentm_kernel.seam.backend import StorageBackend

    Migrate = Callable[[StorageBackend, StorageBackend], None]

TEXTS = ("", "plain\n", "no final newline", "one\r\ntwo\rthree\n", "\ufeffmark\n", "ž 🦉 ß\n", "\0", "word " * 2000)


def campaign(intensity: Intensity) -> Outcome:
    notes, kills = intensity.pick(short=150, full=10_000), intensity.pick(short=3, full=20)
    outcome = Outcome("kills of migrations, there and back")
    with scratch() as folder:
        source = DeviceLocalBackend(os.path.join(folder, "first"))
        _fill(source, notes)
        middle = intensity.store.open(os.path.join(folder, "second"))
        last = DeviceLocalBackend(os.path.join(folder, "third"))
        rng = intensity.random("migrations")
        _move_and_kill(outcome, migrate, source, middle, kills, rng)
        _move_and_kill(outcome, migrate, middle, last, kills, rng)
        _compare(outcome, source, last)
        outcome.measured["notes"] = notes
    outcome.control("copying without looking again", _control())
    return outcome


def migrate(source: StorageBackend, target: StorageBackend) -> None:
    plan = plan_migration(source, target, _quietly)
    copy_notes(source, target, plan, _quietly)
    settle(source, target, plan, _quietly)


def _control() -> Outcome:
    """A migration that trusts its plan loses what was edited while it copied."""
    broken = Outcome("control")
    with scratch(in_memory=True) as folder:
        source, target = (DeviceLocalBackend(os.path.join(folder, name)) for name in ("from", "to"))
        _fill(source, 20)
        plan = plan_migration(source, target, _quietly)
        copy_notes(source, target, plan, _quietly)
        source.write(next(iter(plan.hashes)), "edited meanwhile\n")
        _compare(broken, source, target)
    return broken


# ------------------------------------------------------------------------------------------------ the parts


def _fill(store: StorageBackend, notes: int) -> None:
    for number in range(notes):
        store.write(Locator(f"projects/p{number % 40}/notes/n{number}.md"), TEXTS[number % len(TEXTS)] + str(number))


def _move_and_kill(
    outcome: Outcome,
    work: Migrate,
    source: StorageBackend,
    target: StorageBackend,
    kills: int,
    rng: random.Random,
) -> None:
    fork = multiprocessing.get_context("fork")
    before = _hashes(source)
    for _ in range(kills):
        process = fork.Process(target=work, args=(source, target))
        process.start()
        time.sleep(rng.uniform(0, 0.4 * len(before) / 1000 + 0.05))
        if process.pid is not None and process.is_alive():
            os.kill(process.pid, signal.SIGKILL)
            outcome.count += 1
        process.join()
        for key, held in _hashes(target).items():
            if before.get(key) != held:
                outcome.violation("torn", f"{key} in the target is not the source's")
    work(source, target)
    _compare(outcome, source, target)
    if _hashes(source) != before:
        outcome.violation("changed", "the source is not what it was")


def _compare(outcome: Outcome, source: StorageBackend, target: StorageBackend) -> None:
    wanted, held = _hashes(source), _hashes(target)
    for key in sorted(wanted.keys() | held.keys()):
        if wanted.get(key) != held.get(key):
            outcome.violation("lost", key)


def _hashes(store: StorageBackend) -> dict[str, str]:
    return {
        info.locator.key: content_hash(store.read(info.locator)) for info in store.walk(Locator()) if not info.is_dir
    }


def _quietly(_label: str, items: Iterable[Locator]) -> Iterable[Locator]:
    return items
