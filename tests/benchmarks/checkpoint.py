"""Checkpoints of 10,000 notes beside git doing the same work: verify, record ten changes, go back."""

from __future__ import annotations

import itertools
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from agentm_checkpoint.capture import take
from agentm_checkpoint.guard import IntegrityGuard
from agentm_checkpoint.image import Image
from agentm_checkpoint.reading import read_tree
from agentm_checkpoint.restoring import apply_restore, check_contents, plan_restore
from agentm_checkpoint.verifying import verified_leaves
from agentm_device_local import DeviceLocalBackend
from agentm_kernel import Locator
from agentm_kernel.plugin import Device, Opening
from tests.benchmarks.measure import Samples, interleave
from tests.benchmarks.tables import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from agentm_kernel.plugin import StorageBackend
    from tests.benchmarks.measure import Setting
    from tests.benchmarks.tables import Row

STORE_ID = "benchmark"
STAMP = f'{{"id": "{STORE_ID}", "layout": 1}}\n'
CHANGED = 10
LOAD = "load the image and verify every note"
FSCK = "git fsck, loose objects"
FSCK_PACKED = "git fsck, packed"
CREATE = f"create, {CHANGED} notes changed"
COMMIT = f"git add and commit, {CHANGED} notes changed"
COMMIT_SYNCED = "git add and commit, objects synced"
CREATE_COMMAND = f"`agentm checkpoint create`, {CHANGED} notes changed"
START = "git, started twice and nothing else"
IDLE = "create, nothing changed"
STATUS = "git status, nothing changed"
RESTORE = f"restore, {CHANGED} notes differ"
CHECKOUT = f"git commit and checkout, {CHANGED} notes differ"
CHECKOUT_SYNCED = "git commit and checkout, everything synced"
RESTORE_COMMAND = f"`agentm checkpoint restore`, {CHANGED} notes differ"
READ = "read a note that is not under guard"
READ_GUARDED = "read a note under guard"


def run(setting: Setting) -> Table:
    count = setting.rounds(10_000, 1000)
    notes = _notes(count)
    ours = _Ours(setting.scratch, notes)
    git = _Git(setting.scratch / "git", notes)
    packed = git.packed_copy(setting.scratch / "packed")
    command = _Command(setting.scratch, ours)
    rounds = setting.rounds(15, 3)
    reading = interleave({READ: ours.read, READ_GUARDED: ours.read_guarded}, rounds=rounds * 4, batch=50)
    rows = [
        *_compare(
            {LOAD: (_nothing, ours.load), FSCK: (_nothing, git.fsck), FSCK_PACKED: (_nothing, packed.fsck)},
            rounds=rounds,
            goal="≤ 150 ms, and faster than git fsck",
        ),
        *_compare({IDLE: (_nothing, ours.create), STATUS: (_nothing, git.status)}, rounds=rounds),
        *_compare(
            {
                CREATE: (ours.change, ours.create),
                COMMIT: (git.change, git.commit),
                COMMIT_SYNCED: (packed.change, packed.commit_synced),
                CREATE_COMMAND: (ours.change, command.create),
                START: (_nothing, git.start_twice),
            },
            rounds=rounds,
            goal="not slower than git",
        ),
        *_compare(
            {
                RESTORE: (ours.change, ours.restore),
                CHECKOUT: (git.change, git.checkout),
                CHECKOUT_SYNCED: (packed.change, packed.checkout_synced),
                RESTORE_COMMAND: (ours.change, command.restore),
            },
            rounds=rounds,
            goal="not slower than git",
        ),
        *_rows((READ_GUARDED, READ), reading, None, ""),
    ]
    note = (
        f"{count:,} notes of a kilobyte on average in a hundred folders. What has no command in its name is a call "
        "in this process; git is a program, which costs it what its row for starting says. git looks at files with "
        "all processors, so there is a column for the time of them together. It syncs none of its work tree and, "
        "unless told to, none of its loose objects; a checkpoint is on the disk when the call returns, and so is "
        "each restored note. Going back records what is there first, on both sides."
    )
    return Table("checkpoint", f"Checkpoints of {count:,} notes, beside git", note, rows)


def _nothing() -> None:
    """What comes before work that needs no change."""


def _compare(
    work: dict[str, tuple[Callable[[], None], Callable[[], None]]], *, rounds: int, goal: str = ""
) -> list[Row]:
    """Time the second of each pair, after the first, in turn; whoever goes first changes every round."""
    elapsed: dict[str, list[float]] = {name: [] for name in work}
    used: dict[str, list[float]] = {name: [] for name in work}
    order = list(work.items())
    for number in range(rounds + 1):
        for name, (change, call) in order:
            change()
            before, start = _processor_seconds(), time.perf_counter()
            call()
            if number:  # imports and first-use set-up belong to nobody's figure
                elapsed[name].append(time.perf_counter() - start)
                used[name].append(_processor_seconds() - before)
        order.append(order.pop(0))
    return _rows(work, Samples(elapsed), Samples(used), goal)


def _processor_seconds() -> float:
    """What this process and the programs that it has waited for have used."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def _rows(names: Iterable[str], elapsed: Samples, used: Samples | None, goal: str) -> list[Row]:
    first = next(iter(names))
    return [
        {
            "work": name,
            "median (ms)": elapsed.seconds(name) * 1e3,
            "against ours (×)": elapsed.cost(name, first),
            "processors (ms)": used.seconds(name) * 1e3 if used is not None else "",
            "goal": goal if name == first else "",
        }
        for name in names
    ]


def _notes(count: int) -> dict[str, str]:
    generator = random.Random(1)
    kinds = ("decisions", "known-issues", "notes", "open-questions")
    return {
        f"projects/p{number % 25}/{kinds[number % 4]}/note-{number:05}.md": f"# Note {number}\n\n"
        + "A decision, and why it was taken.\n" * generator.randint(5, 60)
        for number in range(count)
    }


def _write(root: Path, notes: dict[str, str]) -> None:
    """Straight into the folder, and old enough that nobody has to look twice."""
    for key, text in notes.items():
        file = root / key
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    for folder, folders, files in os.walk(root):
        for name in (*folders, *files):
            os.utime(os.path.join(folder, name), (1_700_000_000, 1_700_000_000))


class _Changing:
    """Ten notes that get another text, before each piece of work that is measured."""

    def __init__(self, keys: list[str]) -> None:
        self._keys = keys
        self._numbers = itertools.count()

    def texts(self) -> dict[str, str]:
        number = next(self._numbers)
        return dict.fromkeys(self._keys, f"# Changed {number}\n\n{'text ' * 100}\n")


class _Ours:
    """A store, its image, and what is measured on them."""

    def __init__(self, scratch: Path, notes: dict[str, str]) -> None:
        self.root = scratch / "store"
        _write(self.root, notes)
        self._store: StorageBackend = DeviceLocalBackend(self.root)
        self._store.write(Locator("_meta/store.json"), STAMP)
        self._path = str(scratch / "state" / "image.car")
        self._changing = _Changing(random.Random(2).sample(sorted(notes), CHANGED))
        self._guard = IntegrityGuard(
            self._store, None, Device({"HOME": str(scratch)}), Opening(state_dir=str(scratch / "state"))
        )
        self._guard.write(Locator("skills/skill.md"), "# Skill\n\n" + "Do it like this.\n" * 60)
        self._store.write(Locator("other/note.md"), "# Skill\n\n" + "Do it like this.\n" * 60)
        self.create()

    def _image(self) -> Image:
        return Image(self._path, STORE_ID)

    def load(self) -> None:
        image = self._image()
        newest = image.latest()
        assert newest is not None
        verified_leaves(image, newest)

    def create(self) -> None:
        take(self._store, self._image(), author="a", reason="r")

    def change(self) -> None:
        for key, text in self._changing.texts().items():
            (self.root / key).write_text(text)

    def restore(self) -> None:
        """To the checkpoint before the changes; what is there is recorded first, as the command does it."""
        image = self._image()
        newest = image.latest()
        assert newest is not None
        wanted = read_tree(newest.root, image.fetch)
        before = take(self._store, image, author="a", reason="before")
        steps = plan_restore(self._store, wanted, before.leaves)
        check_contents(steps, image.fetch)
        apply_restore(self._store, steps, image.fetch)

    def read(self) -> None:
        self._guard.read(Locator("other/note.md"))

    def read_guarded(self) -> None:
        self._guard.read(Locator("skills/skill.md"))


class _Command:
    """The same store by the command line, with an image of its own."""

    def __init__(self, scratch: Path, ours: _Ours) -> None:
        self._home = scratch / "home"
        folder = self._home / ".config" / "agentm"
        folder.mkdir(parents=True)
        settings = {"storage.backend": "device-local", "plugins.device-local.root": str(ours.root)}
        (folder / ".agentm-config.json").write_text(json.dumps(settings))
        self.create()

    def create(self) -> None:
        self._run("create")

    def restore(self) -> None:
        self._run("restore", "latest", "--yes")

    def _run(self, *arguments: str) -> None:
        subprocess.run(
            [Path(sys.executable).with_name("agentm"), "checkpoint", *arguments],
            cwd=self._home,
            env={"PATH": os.environ["PATH"], "HOME": str(self._home)},
            check=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )


class _Git:
    """The same notes in a git work tree."""

    def __init__(self, root: Path, notes: dict[str, str] | None, keys: list[str] | None = None) -> None:
        self.root = root
        if notes is not None:
            _write(root, notes)
            self._run("init", "-q")
            for setting, value in (("gc.auto", "0"), ("user.name", "a"), ("user.email", "a@example.org")):
                self._run("config", setting, value)
            self.commit()
            keys = random.Random(2).sample(sorted(notes), CHANGED)
        assert keys is not None
        self._keys = keys
        self._changing = _Changing(keys)

    def packed_copy(self, root: Path) -> _Git:
        shutil.copytree(self.root, root)
        copy = _Git(root, None, self._keys)
        copy._run("repack", "-adq")
        copy._run("update-index", "-q", "--refresh")
        return copy

    def _run(self, *arguments: str) -> None:
        environ = {**os.environ, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
        subprocess.run(
            ["git", *arguments],
            cwd=self.root,
            env=environ,
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def fsck(self) -> None:
        self._run("fsck")

    def status(self) -> None:
        self._run("status", "--porcelain")

    def commit(self) -> None:
        self._run("add", "-A")
        self._run("commit", "-qm", "changes")

    def start_twice(self) -> None:
        self._run("version")
        self._run("version")

    def commit_synced(self) -> None:
        synced = ("-c", "core.fsync=all", "-c", "core.fsyncMethod=batch")
        self._run(*synced, "add", "-A")
        self._run(*synced, "commit", "-qm", "changes")

    def change(self) -> None:
        for key, text in self._changing.texts().items():
            (self.root / key).write_text(text)

    def checkout(self) -> None:
        """Record what is there, then go back to the commit before it."""
        self.commit()
        self._run("checkout", "-q", "HEAD~1", "--", ".")

    def checkout_synced(self) -> None:
        """As durable as ours: the commit, the files that were written, and their folders."""
        self.commit_synced()
        self._run("checkout", "-q", "HEAD~1", "--", ".")
        for key in self._keys:
            for path in (self.root / key, (self.root / key).parent):
                descriptor = os.open(path, os.O_RDONLY)
                os.fsync(descriptor)
                os.close(descriptor)
