"""Two devices, a vault folder on each, and a sync tool between them that is late, out of order and interrupted.

Whatever it does, an edit that was acknowledged is in the note or in a conflict copy that is listed, on both devices.
`AGENTM_EDITS=1000` makes more edits than the ordinary run.
"""

from __future__ import annotations

import os
import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from agentm_kernel import AgentmError, Locator, StorageBackend, select_backend, update
from agentm_kernel.files import atomic
from agentm_kernel.seam.layer import unwrap
from agentm_obsidian_vault import VaultBackend, backend
from agentm_obsidian_vault.resolve import MINE, UNION, settle
from agentm_obsidian_vault.setup import set_up, use
from agentm_obsidian_vault.survey import find_conflicts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

EDITS = int(os.environ.get("AGENTM_EDITS", "150"))

HARNESS = Locator("projects/demo/_harness")
PROGRESS, PLAN, NOTE = HARNESS.child("progress.md"), HARNESS.child("PLAN.md"), Locator("projects/demo/idea.md")

_COPY_NAMES = (
    "{stem} (Ada's conflicted copy 2026-05-01 {number}){suffix}",
    "{stem}.sync-conflict-20260501-{number:06}-ABCDEF7{suffix}",
    "{stem} (Conflicted copy laptop 2026{number:08}){suffix}",
    "{stem}{suffix}.conflict{number}",
)


@dataclass
class Replica:
    """One device's folder, and what the sync tool remembers about it."""

    root: Path
    synced: dict[str, tuple[int, bytes | None]] = field(default_factory=dict)
    """The version that both sides had when they last agreed."""
    not_fetched: dict[int, bytes] = field(default_factory=dict)
    """What belongs into placeholders, by their inodes: wherever somebody moves one, its content comes along."""

    def paths(self) -> set[str]:
        return {str(path.relative_to(self.root)) for path in self.root.rglob("*") if path.is_file()}

    def content(self, path: str) -> bytes | None:
        missing = self.missing_content(path)
        if missing is not None:
            return missing
        try:
            return (self.root / path).read_bytes()
        except FileNotFoundError:
            return None

    def missing_content(self, path: str) -> bytes | None:
        """What is still to be fetched for a placeholder; `None` for anything else."""
        try:
            status = (self.root / path).stat()
        except FileNotFoundError:
            return None
        content = self.not_fetched.get(status.st_ino)
        is_placeholder = content is not None and status.st_blocks == 0 and status.st_size == len(content)
        return content if is_placeholder else None

    def put(self, path: str, content: bytes) -> None:
        """As sync tools do it: a finished download is renamed over the file."""
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        temp = self._temp(path)
        temp.write_bytes(content)
        temp.rename(target)

    def put_half(self, path: str, content: bytes) -> None:
        """A download that is under way."""
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        self._temp(path).write_bytes(content[: len(content) // 2])

    def put_placeholder(self, path: str, content: bytes) -> None:
        """A file that has its size and nothing else."""
        self.put(path, b"")
        os.truncate(self.root / path, len(content))
        self.not_fetched[(self.root / path).stat().st_ino] = content

    def _temp(self, path: str) -> Path:
        target = self.root / path
        return target.with_name(f".syncthing.{target.name}.tmp")


class SyncTool:
    """Replicates two folders through a server, one file at a time, in any order."""

    def __init__(self, replicas: list[Replica], chance: random.Random) -> None:
        self._replicas = replicas
        self._chance = chance
        self._server: dict[str, tuple[int, bytes | None]] = {}
        self._clock = 0
        self.made_copies = 0

    def step(self, replica: Replica) -> None:
        """Look at one file of one device: at any, or at one of those that change most."""
        paths = sorted({*replica.paths(), *replica.synced, *self._server})
        busy = [note.key for note in (PROGRESS, PLAN, NOTE)]
        self._reconcile(replica, self._chance.choice(self._chance.choice((paths or busy, busy))), hurried=False)

    def settle(self) -> None:
        """Until both folders are alike."""
        while True:
            before = self._state()
            for replica in self._replicas:
                for path in sorted({*replica.paths(), *replica.synced, *self._server}):
                    self._reconcile(replica, path, hurried=True)
            if self._state() == before:
                return

    def _state(self) -> list[object]:
        """What is where, and what the tool still means to carry."""
        here = [{path: replica.content(path) for path in replica.paths()} for replica in self._replicas]
        return [here, dict(self._server), [dict(replica.synced) for replica in self._replicas]]

    def _reconcile(self, replica: Replica, path: str, *, hurried: bool) -> None:
        if os.path.basename(path).startswith(".syncthing."):
            return
        missing = replica.missing_content(path)
        if missing is not None:
            replica.put(path, missing)
            return
        here, (version, there) = replica.content(path), self._server.get(path, (0, None))
        known_version, known = replica.synced.get(path, (0, None))
        if here != known and version == known_version:
            self._upload(replica, path, here)
        elif here == known and version != known_version:
            self._download(replica, path, hurried=hurried)
        elif here != known:
            self._both_changed(replica, path, here, there)

    def _upload(self, replica: Replica, path: str, content: bytes | None) -> None:
        self._clock += 1
        self._server[path] = replica.synced[path] = (self._clock, content)

    def _download(self, replica: Replica, path: str, *, hurried: bool) -> None:
        content = self._server[path][1]
        luck = 1.0 if hurried else self._chance.random()
        if content is None:
            (replica.root / path).unlink(missing_ok=True)
        elif luck < 0.3:
            replica.put_half(path, content)
            return  # and it goes on another time
        elif luck < 0.4:
            replica.put_placeholder(path, content)
        else:
            replica.put(path, content)
        replica.synced[path] = self._server[path]

    def _both_changed(self, replica: Replica, path: str, here: bytes | None, there: bytes | None) -> None:
        if here is None or here == there:
            self._download(replica, path, hurried=True)
        elif there is None:
            self._upload(replica, path, here)
        else:
            self.made_copies += 1
            stem, suffix = os.path.splitext(path)
            name = self._chance.choice(_COPY_NAMES).format(stem=stem, suffix=suffix, number=self.made_copies)
            (replica.root / path).rename(replica.root / name)
            self._download(replica, path, hurried=True)


@dataclass
class World:
    """Both devices, the tool between them, and what their agents were told is written."""

    stores: list[StorageBackend]
    replicas: list[Replica]
    tool: SyncTool
    chance: random.Random
    acknowledged: dict[str, Locator] = field(default_factory=dict)
    refused: int = 0

    def edit(self) -> None:
        """One agent adds a line to one note."""
        number = len(self.acknowledged) + self.refused
        side = self.chance.randrange(2)
        note = self.chance.choice([PROGRESS, PROGRESS, PLAN, NOTE])
        line = f"- edit {number:05} on device {side}"
        try:
            update(self.stores[side], note, lambda text: f"{text or ''}{line}\n", timeout=5)
        except AgentmError:
            self.refused += 1
        else:
            self.acknowledged[line] = note

    def run(self, edits: int) -> None:
        for _ in range(edits):
            self.edit()
            for _ in range(self.chance.choice([0, 0, 1, 3, 8])):
                self.tool.step(self.chance.choice(self.replicas))
        self.tool.settle()

    def vault(self, side: int) -> VaultBackend:
        found = unwrap(self.stores[side])
        assert isinstance(found, VaultBackend)
        return found

    def missing(self, side: int, *, also: Callable[[str], bool] = lambda key: False) -> list[str]:
        """Acknowledged edits that are neither in their note nor in a listed version of it."""
        vault, root = self.vault(side), self.replicas[side].root
        texts = {note: [vault.read(note)] for note in {*self.acknowledged.values()} if vault.exists(note)}
        for conflict in find_conflicts(vault):
            texts.setdefault(conflict.base, []).append((root / conflict.copy.locator.key).read_text())
        for path in self.replicas[side].paths():
            if also(path):
                for versions in texts.values():
                    versions.append((root / path).read_text())
        return [
            line
            for line, note in self.acknowledged.items()
            if not any(line in text.splitlines() for text in texts.get(note, []))
        ]


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """A vault that the first device set up and the sync tool brought to the second; both in use."""
    chance = random.Random(os.environ.get("AGENTM_SEED", "two devices"))
    replicas = [Replica(tmp_path / side / "vault") for side in ("one", "two")]
    tool = SyncTool(replicas, chance)
    stores = []
    for replica in replicas:
        home = replica.root.parent / "home"
        home.mkdir(parents=True)
        replica.root.mkdir()
        environ = {"HOME": str(home), "AGENTM_INSTALL_PREFIX": str(home)}
        tool.settle()
        set_up(str(replica.root), adopt=False, environ=environ)
        use(str(replica.root), environ=environ)
        stores.append(select_backend(environ=environ))
    world = World(stores, replicas, tool, chance)
    real = atomic._write_temp

    def write_temp(*args: object) -> None:
        """In the middle of a write, just before its name is taken over, the sync tool is at work too."""
        real(*args)  # type: ignore[arg-type]
        for _ in range(chance.choice([0, 0, 10])):
            tool.step(chance.choice(replicas))

    monkeypatch.setattr(atomic, "_write_temp", write_temp)
    monkeypatch.setattr(os, "urandom", chance.randbytes)  # names of temp files: one seed, one story
    return world


def test_both_devices_know_the_store_for_one(world: World) -> None:
    world.tool.settle()
    first, second = (store.stamp_text() for store in world.stores)
    assert first == second is not None


def test_every_acknowledged_edit_is_in_the_note_or_in_a_listed_copy_and_resolving_merges_them(world: World) -> None:
    world.run(EDITS)
    assert len(world.acknowledged) > EDITS / 2
    assert world.tool.made_copies > 0
    assert [world.missing(side) for side in (0, 1)] == [[], []]

    vault = world.vault(0)
    for conflict in find_conflicts(vault):
        settle(world.stores[0], vault, conflict, UNION if conflict.base == PROGRESS else MINE)
    world.tool.settle()
    for side in (0, 1):
        assert find_conflicts(world.vault(side)) == []
        assert world.missing(side, also=lambda path: path.startswith("_meta/conflicts/")) == []
        progress = world.vault(side).read(PROGRESS).splitlines()
        assert [line for line, note in world.acknowledged.items() if note == PROGRESS and line not in progress] == []


def test_a_store_that_just_renames_loses_edits_here(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: without the exchange, the same story ends with edits that are nowhere."""

    def publisher(self: VaultBackend, *args: object) -> Callable[..., None]:
        return atomic.publish_over

    monkeypatch.setattr(backend.VaultBackend, "publisher", publisher)
    for _ in range(10):  # names that agentm makes are random, so the tool's luck is too
        world.run(100)
        if world.missing(0):
            return
    pytest.fail("nothing was lost in 1,000 edits")
