"""A server that sends whoever asks to another host: for every verb, status and kind of bucket, nobody follows it.

The other host answers everything as if it were the bucket. It must never be asked, and none of its words be a note.
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import TYPE_CHECKING
from unittest import mock

from strangers import Redirector, Stranger, listening

from agentm_bucket import client
from agentm_bucket.backend import BucketBackend
from agentm_kernel.plugin import ABSENT, Device, Locator, Opening, StorageIOError
from tests.faults.harness import Intensity, Outcome, scratch

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

_KEYS = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AZURE_STORAGE_ACCOUNT_KEY": "a2V5"}
_KINDS: tuple[dict[str, str], ...] = ({}, {"kind": "azure", "account": "acme"})
_HOSTS = ("localhost", "127.0.0.1")
_STATUSES = (301, 302, 303, 307, 308)
_NAMES = ("note.md", "plans/note.md", "a b/caf\u00e9.md", "projects/x/_harness/PLAN.md")
_VERBS: dict[str, Callable[[BucketBackend, Locator], object]] = {
    "read": lambda store, note: store.read(note),
    "info": lambda store, note: store.info(note),
    "exists": lambda store, note: store.exists(note),
    "list": lambda store, note: store.list(note.parent),
    "walk": lambda store, note: list(store.walk(Locator())),
    "stamp": lambda store, _: store.fetch_stamp(),
    "pull": lambda store, _: store.pull(store),
    "write": lambda store, note: store.write(note, "ours\n"),
    "create": lambda store, note: store.write(note, "ours\n", if_match=ABSENT),
    "mkdir": lambda store, note: store.mkdir(note.parent),
    "delete": lambda store, note: store.delete(note),
    "reach": lambda store, _: store.check_reachable(2.0),
}
_SLOW = 6.0


def campaign(intensity: Intensity) -> Outcome:
    outcome, broken = Outcome("verbs that a server sent elsewhere"), Outcome("control")
    with ExitStack() as servers:
        other, asked = servers.enter_context(listening(Stranger))
        ways = {
            (status, there): servers.enter_context(
                listening(Redirector, target=f"http://{there}:{other}", status=status)
            )[0]
            for status in _STATUSES
            for there in _HOSTS
        }
        chance = intensity.random("verbs")
        for _ in range(intensity.pick(short=20, full=3_000)):
            _ask(outcome, chance, ways, asked)
        with mock.patch.object(client, "_nowhere_else", return_value={}):
            for _ in range(20):
                _ask(broken, chance, ways, asked)
                if broken.violations:
                    break
    outcome.control("a client that goes where it is sent", broken)
    return outcome


def _ask(outcome: Outcome, chance: random.Random, ways: dict[tuple[int, str], int], asked: list[str]) -> None:
    verb, note, kind = chance.choice([*_VERBS]), Locator(chance.choice(_NAMES)), chance.choice(_KINDS)
    status, (here, there) = chance.choice(_STATUSES), chance.sample(_HOSTS, 2)
    what = f"{verb} of {note} at {kind.get('kind', 's3')}, sent by {status} from {here} to {there}"
    outcome.count += 1
    asked.clear()
    with scratch() as folder:
        endpoint = f"http://{here}:{ways[status, there]}"
        options = {"bucket": "notes", "endpoint": endpoint, "deadline": 8, "allow_http": True}
        device = Device({**_KEYS, "HOME": folder})
        store = BucketBackend.create({**options, **kind}, device, Opening(state_dir=folder))
        began = time.monotonic()
        try:
            found = _VERBS[verb](store, note)
            outcome.violation("believed", f"{what}: {found!r}")
        except StorageIOError as error:
            if "redirects to another address" not in error.message:
                outcome.violation("unnamed", f"{what}: {error.message}")
        except Exception as error:
            outcome.violation("untyped", f"{what}: {error!r}")
        if time.monotonic() - began > _SLOW:
            outcome.violation("slow", f"{what}: {time.monotonic() - began:.1f} s")
    if asked:
        outcome.violation("followed", f"{what}: {asked}")
