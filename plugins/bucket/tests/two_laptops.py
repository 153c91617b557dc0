"""Two laptops and a bucket, as the script of two devices uses them: plans travel by the events of agents' lives."""

from __future__ import annotations

import uuid
from contextlib import contextmanager
from typing import TYPE_CHECKING
from unittest import mock

from bucket_servers import BUCKET
from tests.faults.edit_script import Script

from agentm_bucket.backend import PROTOCOL, BucketBackend
from agentm_bucket.client import Client
from agentm_bucket.events import agentm_event
from agentm_kernel.plugin import Device, DeviceCopy, HookContext, Opening, adopt_store, select_store
from agentm_kernel.state.mirror import is_mirrored

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator
    from pathlib import Path

    from bucket_servers import Server

    from agentm_kernel import Locator
    from agentm_kernel.plugin import StorageBackend

_EVENTS = ("session-start", "turn-start", "turn-end", "session-end")


class TwoLaptops:
    """Both have joined a new store on `server`."""

    def __init__(self, server: Server, folder: Path, chance: random.Random) -> None:
        self._chance = chance
        self._contexts: list[HookContext] = []
        options = {"kind": server.kind, "bucket": BUCKET, "prefix": f"pair/{uuid.uuid4().hex}"}
        for side in ("one", "two"):
            home = folder / side
            home.mkdir(parents=True)
            environ = {"HOME": str(home), "AGENTM_INSTALL_PREFIX": str(home), **server.environ}
            select_store(Device.now(environ), PROTOCOL, {**options, "endpoint": server.endpoint, **server.options})
            device = Device.now(environ)
            opening = Opening(state_dir=device.state_dir)
            store = BucketBackend.create(device.config.options(PROTOCOL), device, opening)
            adopt_store(device, store, PROTOCOL)
            self._contexts.append(HookContext(device, str(home)))
        self.stores: list[StorageBackend] = [context.device.store(read_only=False) for context in self._contexts]

    def file(self, side: int, note: Locator) -> str | None:
        return self.bucket(side).device_path(note) if is_mirrored(note) else None

    def step(self) -> None:
        if self._chance.random() < 0.1:
            self.happens(self._chance.randrange(2), self._chance.choice(_EVENTS))

    def meanwhile(self, side: int) -> None:
        """The other laptop goes on. This one cannot: the mutex of its copy is held."""
        if self._chance.random() < 0.05:
            self.happens(1 - side, self._chance.choice(_EVENTS))

    def settle(self) -> None:
        is_quiet = False
        while not is_quiet:
            told = [self.happens(side, "turn-end") for side in (0, 1)]
            is_quiet = not any(told)

    def happens(self, side: int, event: str) -> str | None:
        """What the operator is told at an event of this laptop; `None` if nothing was to be carried."""
        return agentm_event(event, self._contexts[side])

    def bucket(self, side: int) -> BucketBackend:
        found = self.stores[side].facet(DeviceCopy)
        assert isinstance(found, BucketBackend)
        return found

    def versions(self, side: int, note: Locator) -> list[str]:
        store = self.stores[side]
        copies = [kept.copy for kept in self.bucket(side).conflict_copies(note)]
        return [store.read(note) if store.exists(note) else "", *(store.read(copy) for copy in copies)]


@contextmanager
def interrupted_requests(script: Script) -> Iterator[None]:
    """Also between a look at the bucket and the PUT that follows, others go on."""
    put = Client.put

    def interrupted(*given: object) -> object:
        script.interrupt()
        return put(*given)  # type: ignore[arg-type]

    with mock.patch.object(Client, "put", interrupted):
        yield


def run_script(server: Server, folder: Path, chance: random.Random, edits: int) -> Script:
    """The script of two devices, run to its end."""
    script = Script(TwoLaptops(server, folder, chance), chance)
    with interrupted_requests(script):
        script.run(edits)
    return script
