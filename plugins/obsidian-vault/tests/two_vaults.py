"""Two vault folders and a sync tool between them that is late, out of order and interrupted."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeAlias

from tests.faults.edit_script import NOTES

from agentm_kernel import select_backend
from agentm_kernel.plugin import ConflictCopies, Device, StorageBackend, select_store
from agentm_obsidian_vault import VaultBackend
from agentm_obsidian_vault.setup import options_for, set_up
from agentm_obsidian_vault.survey import find_conflicts

if TYPE_CHECKING:
    import random
    from collections.abc import Callable
    from pathlib import Path

    from agentm_kernel import Locator

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


class Tool(Protocol):
    """What carries notes between the two."""

    @property
    def made_copies(self) -> int:
        """How many conflict copies it has made."""

    def step(self, replica: Replica) -> None:
        """Do a little, for this device."""

    def settle(self) -> None:
        """Until both folders are alike."""

    def close(self) -> None:
        """End whatever it started."""


Start: TypeAlias = "Callable[[list[Replica], random.Random], Tool]"


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
        busy = [note.key for note in NOTES]
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

    def close(self) -> None:
        """It has nothing that would go on without it."""

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


class TwoVaults:
    """Both devices and the tool between them, as the script of two devices uses them."""

    def __init__(self, folder: Path, chance: random.Random, tool: Start = SyncTool) -> None:
        """A vault that the first device set up and the sync tool brought to the second; both in use."""
        self.replicas = [Replica(folder / side / "vault") for side in ("one", "two")]
        self.tool = tool(self.replicas, chance)
        self.stores: list[StorageBackend] = []
        self.chance = chance
        for replica in self.replicas:
            home = replica.root.parent / "home"
            home.mkdir(parents=True)
            replica.root.mkdir(exist_ok=True)
            environ = {"HOME": str(home), "AGENTM_INSTALL_PREFIX": str(home)}
            self.tool.settle()
            set_up(str(replica.root), adopt=False, environ=environ)
            select_store(Device.now(environ), "vault", options_for(str(replica.root), environ=environ))
            self.stores.append(select_backend(environ=environ))

    def file(self, side: int, note: Locator) -> str | None:
        """Placeholders are not edited: the system fetches their content first."""
        replica = self.replicas[side]
        return str(replica.root / note.key) if replica.missing_content(note.key) is None else None

    def step(self) -> None:
        self.tool.step(self.chance.choice(self.replicas))

    def meanwhile(self, side: int) -> None:
        for _ in range(self.chance.choice([0, 0, 10])):
            self.step()

    def settle(self) -> None:
        self.tool.settle()

    def vault(self, side: int) -> VaultBackend:
        found = self.stores[side].facet(ConflictCopies)
        assert isinstance(found, VaultBackend)
        return found

    def versions(self, side: int, note: Locator) -> list[str]:
        vault, root = self.vault(side), self.replicas[side].root
        copies = [conflict.copy.locator.key for conflict in find_conflicts(vault) if conflict.base == note]
        return [vault.read(note) if vault.exists(note) else "", *((root / key).read_text() for key in copies)]
