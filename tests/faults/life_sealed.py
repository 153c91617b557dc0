"""What happens to an encrypted store: new keys, none any more, and some again. No note says anything else for it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from tests.faults.life_members import confirm, let_in, recovery
from tests.faults.life_step import Step, run
from tests.faults.life_stores import sync
from tests.faults.life_world import DEVICES

if TYPE_CHECKING:
    from tests.faults.life_ledger import Ledger


def rotate(ledger: Ledger, step: Step) -> None:
    """One device makes new keys, and the other takes them."""
    if not ledger.world.is_sealed:
        return
    meet(ledger, step)
    if _encryption(ledger, step, "rotate", "--yes"):
        meet(ledger, step)
        confirm(ledger.world, step.device, _other(step.device))


def decrypt(ledger: Ledger, step: Step) -> None:
    """One device makes the store plain, and the other uses it so."""
    world = ledger.world
    if not world.is_sealed:
        return
    meet(ledger, step)
    if _encryption(ledger, step, "decrypt", "--yes"):
        world.is_sealed, world.keeper = False, step.device
        meet(ledger, step)
        world.done(_other(step.device), *world.of_team, "encryption", "decrypt", "--yes")


def encrypt(ledger: Ledger, step: Step) -> None:
    """A store that was made plain is encrypted again, on the device that has kept the keys of what was sealed."""
    world = ledger.world
    if world.is_sealed:
        return
    step = replace(step, device=world.keeper, checkout="plain")
    meet(ledger, step)
    if _encryption(ledger, step, "init", *recovery(world), "--name", step.device, "--yes"):
        world.is_sealed = True
        let_in(world, step.device, _other(step.device), partial(meet, ledger, step))


def meet(ledger: Ledger, step: Step) -> None:
    """What each device has reaches the other, where that takes a command."""
    for device in (*DEVICES, *DEVICES) if ledger.world.set_up.endswith("git") else ():
        sync(ledger, Step(step.number, f"{step.what}, sync", device, "plain"))


def _encryption(ledger: Ledger, step: Step, *words: str) -> bool:
    """Whether it was done. It is nothing that a device may be refused."""
    answer = run(ledger, step, *ledger.world.of_team, "encryption", *words)
    if answer.code:
        ledger.problem("refused", f"{step}: {answer.err.strip()[-300:]}")
    return ledger.settle(step.device, answer, set())


def _other(device: str) -> str:
    return next(other for other in DEVICES if other != device)
