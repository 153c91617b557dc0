"""An encrypted store that both devices are members of, and whoever has the recovery key.

What a note says is asked of the recovery key, so that a life is judged by what stands in the store, not by what a
device believes.
"""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING

import pyrage

from agentm_encryption.envelope import is_sealed, open_note
from agentm_encryption.epochs import open_keys
from agentm_kernel.plugin import AgentmError

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentm_encryption.epochs import Keys
    from tests.faults.life_world import World


class Recovery:
    """The key that a person keeps in a drawer. It opens what any epoch sealed."""

    def __init__(self) -> None:
        self._identity = pyrage.x25519.Identity.generate()
        self._keys: dict[str, Keys] = {}
        """By the text of their file."""
        self._opened: dict[str, str] = {}
        """By what is stored: age takes its time."""

    @property
    def recipient(self) -> str:
        return str(self._identity.to_public())

    def learn(self, folder: str) -> None:
        """The keys that a store in this folder has."""
        keys = os.path.join(folder, "_meta", "keys")
        for name in sorted(os.listdir(keys)) if os.path.isdir(keys) else ():
            if re.fullmatch(r"\d+\.age", name):
                with open(os.path.join(keys, name), encoding="ascii") as file:
                    stored = file.read()
                if stored not in self._keys:
                    with open(os.path.join(folder, "_meta", "store.json"), encoding="utf-8") as file:
                        store_id = json.load(file)["id"]
                    self._keys[stored] = open_keys(stored, self._identity, store_id, int(name[:-4]))

    def text(self, stored: str) -> str:
        """What is stored, opened if it is sealed; nothing if none of the keys opens it."""
        if not is_sealed(stored):
            return stored
        for keys in () if stored in self._opened else reversed(self._keys.values()):
            try:
                self._opened[stored] = open_note(keys, stored, "a note").text
                break
            except AgentmError:
                continue
        return self._opened.get(stored, "")


def recovery(world: World) -> tuple[str, str]:
    return "--recovery", world.recovery.recipient


def let_in(world: World, member: str, other: str, synced: Callable[[], None]) -> None:
    """The other device becomes a member, too, as the two that sit beside each other do it."""
    synced()
    refusal = world.agentm(other, "plain", *world.of_team, "encryption", "join", "--name", other)
    recipient = re.search(r"agentm encryption admit (age1\w+)", refusal.err)
    if recipient is not None:  # else it is one by the key that it had before
        world.done(member, *world.of_team, "encryption", "admit", recipient.group(1), other)
        synced()
    confirm(world, member, other)


def confirm(world: World, member: str, other: str) -> None:
    """The other device takes the keys that this one made."""
    fingerprint = json.loads(world.done(member, *world.of_team, "encryption", "status", "--json"))["fingerprint"]
    world.done(other, *world.of_team, "encryption", "join", "--fingerprint", fingerprint)
