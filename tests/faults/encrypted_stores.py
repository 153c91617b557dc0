"""The model and the race, on every kind of store with encryption around it: folder, vault, git and a real bucket."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from agentm_kernel.plugin import BackendLayer
from agentm_kernel.seam.facets import FACETS
from tests.faults import compare_and_swap, model
from tests.faults.controls import until_caught
from tests.faults.harness import Outcome, StoreUnderTest, store_under_test
from tests.faults.object_stores import each_server
from tests.faults.stores import encrypt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bucket_servers import Server

    from agentm_kernel import Locator
    from agentm_kernel.seam.backend import StorageBackend
    from tests.faults.harness import Intensity

_FILES = ("encrypted", "encrypted-vault", "encrypted-git")


@dataclass(frozen=True)
class _OpenBucket:
    """A prefix of its own for every root, with this device's part of the store below the root."""

    server: Server

    def __call__(self, root: str) -> StorageBackend:
        prefix = hashlib.sha256(root.encode()).hexdigest()[:16]
        return encrypt(_KeepsFolders(self.server.open(prefix)), os.path.join(root, "state"))


class _KeepsFolders(BackendLayer):
    """A bucket has no folders; whether one is still there when its last note is gone depends on the server, and the
    model cannot know. So it stays.
    """

    passes = FACETS

    def delete(self, locator: Locator, *, if_match: str | None = None) -> None:
        super().delete(locator, if_match=if_match)
        if len(locator.parts) > 1:
            self.inner.mkdir(locator.parent)


def campaign(intensity: Intensity) -> Outcome:
    outcome = Outcome("verbs and racing appends on encrypted stores")
    for store in _stores(intensity, outcome):
        steps, appends = intensity.pick(short=25, full=1_500), intensity.pick(short=5, full=60)
        found = [
            _apart(partial(model.compare, store, nullcontext, steps, intensity.seed)),
            _apart(partial(compare_and_swap.race_appends, store, appends_each=appends)),
        ]
        for part in found:
            outcome.count += part.count
            outcome.violations += part.violations
            outcome.examples += [f"{store.name}: {example}" for example in part.examples]
        outcome.measured[store.name] = sum(part.count for part in found)
    _controls(intensity, outcome)
    return outcome


def _apart(work: Callable[[Outcome], None]) -> Outcome:
    """In a process of its own: the library of the bucket must not have been used before a process forks."""
    context = multiprocessing.get_context("fork")
    receiving, sending = context.Pipe(duplex=False)

    def report() -> None:
        part = Outcome("a part")
        try:
            work(part)
        except Exception as error:
            part.violation("failed", f"{type(error).__name__}: {error}")
        sending.send(part)

    process = context.Process(target=report)
    process.start()
    sending.close()
    try:
        found: Outcome = receiving.recv()
    except EOFError:
        found = Outcome("a part")
        found.violation("crashed", "the process ended before it reported")
    process.join()
    return found


def _stores(intensity: Intensity, outcome: Outcome) -> Iterator[StoreUnderTest]:
    yield from map(store_under_test, _FILES)
    for running in each_server(intensity, outcome):
        yield StoreUnderTest(f"encrypted bucket, {running.server.name}", _OpenBucket(running.server))


def _controls(intensity: Intensity, outcome: Outcome) -> None:
    plain = store_under_test(_FILES[0])
    for name in ("creates over a note", "deletes without looking"):
        layer, surroundings = model.CONTROLS[name]
        broken = Outcome(name)
        store = StoreUnderTest(name, lambda root, layer=layer: layer(plain.open(root)))  # type: ignore[misc]
        model.compare(store, surroundings, model.STEPS_OF_A_CONTROL, intensity.seed, broken)
        outcome.control(name, broken)
    name, layer = next(iter(compare_and_swap.CONTROLS.items()))
    racing = compare_and_swap.layered(plain, layer)
    outcome.control(name, until_caught(partial(compare_and_swap.race_appends, racing, appends_each=25)))
