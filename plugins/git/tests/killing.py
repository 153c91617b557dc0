"""A clone that is killed with SIGKILL, again and again, in the middle of what it does, and the judge of what is left.

The victim is a process that edits, commits, pulls and pushes for ever, and says what was acknowledged. Somebody else
pushes to the same notes meanwhile, so most pulls and pushes have something to integrate. After each kill the clone is
opened anew, as the next session does: whatever was acknowledged has to be there, and the next exchange has to work.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count

from children import children_of
from clones import AUTHORS, OCCASION, open_clone
from git_servers import BRANCH, Origin, fsck, git
from racing import REWRITTEN, edited
from trapped_git import TrappedGit

from agentm_git.backend import GitStore
from agentm_kernel import Locator, update
from agentm_kernel.errors import NotFoundError
from agentm_kernel.files import exchange, tree

NOTES = ("shared/decisions.md", "own/note.md", REWRITTEN[0])
"""One that both sides append to, one of the victim's own, and one that both rewrite."""
HANG = 120.0
_REWRITING = "rewriting"
"""Ends the lines that the next one of their kind replaces: history is enough for them."""
WAYS = ("process", "everything", "git")
"""Who dies: the process alone, which leaves the git that it started behind; all of them; or only git."""


@dataclass
class Scene:
    """The origin, the clone under fire, and what is known to be acknowledged."""

    origin: Origin
    folder: str
    policy: str = "rebase"
    commit: str = "event"
    acknowledged: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    kills: int = 0
    theirs: int = 0

    @property
    def clone(self) -> str:
        return os.path.join(self.folder, "victim")

    def open(self) -> GitStore:
        return open_clone(self.origin, self.clone, self.policy, commit=self.commit)


# ------------------------------------------------------------------------------------------------ the victim


@dataclass(frozen=True)
class Orders:
    origin: Origin
    folder: str
    policy: str
    commit: str
    begin: int
    rounds: int
    dies_at: int = 0
    """The change of a name on the disk before which it kills itself; 0 for never."""


def main() -> None:
    """What the process of the victim does: `rounds` rounds, or for ever with 0."""
    orders: Orders = pickle.loads(sys.stdin.buffer.read())
    store = open_clone(orders.origin, orders.folder, orders.policy, commit=orders.commit)
    changes = _count_changes(orders.dies_at)
    print("ready", flush=True)
    number = orders.begin
    while not orders.rounds or number < orders.begin + orders.rounds:
        for key in NOTES:
            line = f"edit-{number}-{_REWRITING if key in REWRITTEN else NOTES.index(key)}"
            update(store, Locator(key), lambda text, key=key, line=line: edited(key, text, line))
            print(f"edited {line}", flush=True)
        store.commit(f"round {number}", AUTHORS, OCCASION)
        store.pull(OCCASION)
        store.push(OCCASION)
        print(f"pushed {number} {next(changes)}", flush=True)
        number += 1


def _count_changes(dies_at: int) -> Iterator[int]:
    """Count the changes that this process makes to names on the disk, and die before one of them."""
    numbers = count(1)

    def counted(change: Callable[..., object]) -> Callable[..., object]:
        def call(*arguments: object, **options: object) -> object:
            if next(numbers) == dies_at:
                os.kill(os.getpid(), signal.SIGKILL)
            return change(*arguments, **options)

        return call

    for name in ("link", "mkdir", "remove", "rename", "replace", "rmdir", "unlink"):
        setattr(os, name, counted(getattr(os, name)))
    exchange.exchange = tree.exchange = counted(exchange.exchange)
    return numbers


class Victim:
    """The process, and what it has said so far."""

    def __init__(self, scene: Scene, *, rounds: int = 0, path: str | None = None, dies_at: int = 0) -> None:
        home = os.path.join(scene.folder, "home")
        os.makedirs(home, exist_ok=True)
        script = (
            f"import sys; sys.path[:] = {[os.path.dirname(__file__), *sys.path]!r}; import killing; killing.main()"
        )
        environ = {**os.environ, "HOME": home, "XDG_STATE_HOME": os.path.join(home, "state")}
        self._scene = scene
        self.process = subprocess.Popen(
            [sys.executable, "-c", script],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**environ, **({"PATH": path} if path else {})},
            start_new_session=True,
        )
        assert self.process.stdin is not None
        about = (scene.origin, scene.clone, scene.policy, scene.commit)
        orders = Orders(*about, len(scene.acknowledged), rounds, dies_at)
        self.process.stdin.write(pickle.dumps(orders))
        self.process.stdin.close()
        self.process.stdin = None

    def wait_until_ready(self) -> None:
        assert self.process.stdout is not None
        said = self.process.stdout.readline()
        if said != b"ready\n":
            raise AssertionError(f"the victim did not start: {self.process.communicate()[1].decode()[-1000:]}")

    def kill(self, way: str) -> None:
        if self.process.poll() is not None:
            return  # its number may be another process's by now
        with children_of(self.process.pid) as children:
            if way != "git":
                self.process.kill()
            if way != "process":
                for child in children:
                    with contextlib.suppress(ProcessLookupError):
                        signal.pidfd_send_signal(child, signal.SIGKILL)

    def bury(self) -> str:
        """Take in what it said, once it is dead; what it complained about."""
        try:
            said, complaint = self.process.communicate(timeout=HANG)
        except BaseException:
            self.kill("everything")
            self.process.communicate()
            raise
        words = [line.split() for line in said.decode().splitlines()]
        self._scene.acknowledged += [rest[0] for word, *rest in words if word == "edited"]
        self.changes = max((int(rest[1]) for word, *rest in words if word == "pushed"), default=0)
        return complaint.decode(errors="replace").strip()


# ------------------------------------------------------------------------------------------------ the killer


def kill_at_random(scene: Scene, kills: int, chance: random.Random) -> None:
    """Whole lives of victims, each ended at a random moment of its second or so."""
    while scene.kills < kills:
        _push_of_somebody_else(scene)
        victim = Victim(scene)
        victim.wait_until_ready()
        way = chance.choice(WAYS)
        time.sleep(chance.uniform(0, 0.8))
        if way == "git":
            _kill_git(victim)
        victim.kill("process" if way == "git" else way)
        victim.bury()
        scene.kills += 1
        judge(scene, f"kill {scene.kills} of {way}")


def _kill_git(victim: Victim) -> None:
    """End a git that runs right now, and give the process a moment to say or do something about it."""
    end = time.monotonic() + 2.0
    while time.monotonic() < end and victim.process.poll() is None:
        with children_of(victim.process.pid) as children:
            is_running = bool(children)
        if is_running:
            victim.kill("git")
            time.sleep(0.05)
            return


def kill_at_every_step(scene: Scene, moments: tuple[str, ...], *, every: int = 1) -> int:
    """Kill at the calls of git that one round consists of, one after the other; how many calls there are."""
    trap = TrappedGit(os.path.join(scene.folder, f"trap-{time.monotonic_ns()}"))
    _push_of_somebody_else(scene)
    trap.arm(0, "before")
    _one_life(scene, path=trap.path)
    calls = len(trap.calls())
    for call in range(1, calls + 1, every):
        for moment in moments:
            _push_of_somebody_else(scene)
            trap.arm(call, moment)
            _one_life(scene, path=trap.path)
            judge(scene, f"killed {moment} call {call} of {trap.calls()}")
    return calls


def kill_at_every_change(scene: Scene, *, every: int = 1) -> int:
    """The same with the changes of names on the disk: what happens between two calls of git."""
    _push_of_somebody_else(scene)
    changes = _one_life(scene).changes
    for change in range(1, changes + 1, every):
        _push_of_somebody_else(scene)
        _one_life(scene, dies_at=change)
        judge(scene, f"killed before change {change} of the disk")
    return changes


def _one_life(scene: Scene, *, path: str | None = None, dies_at: int = 0) -> Victim:
    """One round of work, or as much of it as the trap allows."""
    victim = Victim(scene, rounds=1, path=path, dies_at=dies_at)
    complaint = victim.bury()
    code = victim.process.returncode
    scene.kills += code == -signal.SIGKILL
    if code not in (0, -signal.SIGKILL):
        scene.problems.append(f"the victim failed by itself: {complaint[-500:]}")
    return victim


def work_and_lose_power_before_the_commit(scene: Scene) -> None:
    """Edits that are acknowledged and in no commit yet."""
    trap = TrappedGit(os.path.join(scene.folder, "trap"))
    trap.arm(2, "before")
    _one_life(scene, path=trap.path)


def reopen_carelessly(scene: Scene) -> GitStore:
    """The control: a session that recovers as many scripts do."""
    git(scene.clone, "reset", "-q", "--hard")
    return scene.open()


def _push_of_somebody_else(scene: Scene) -> None:
    """A commit at the origin that meets the victim's in the same place of the same note."""
    other = os.path.join(scene.folder, "somebody-else")
    if not os.path.isdir(other):
        git(scene.folder, "clone", "-q", scene.origin.url, other)
    git(other, "fetch", "-q", "origin", BRANCH)
    git(other, "reset", "-q", "--hard", "FETCH_HEAD")
    line = f"theirs-{scene.theirs}"
    for key in (NOTES[0], NOTES[2], f"theirs/{scene.theirs % 3}.md", f"theirs/{scene.theirs}.md"):
        path = os.path.join(other, key)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w" if key in REWRITTEN else "a", encoding="utf-8") as note:
            note.write(f"{line}\n")
    git(other, "add", "-A")
    git(other, "commit", "-q", "-m", line)
    git(other, "push", "-q", "origin", f"HEAD:{BRANCH}")
    scene.theirs += 1
    scene.acknowledged.append(line)


# ------------------------------------------------------------------------------------------------ the judge


def judge(scene: Scene, what: str, reopen: Callable[[], GitStore] | None = None) -> None:
    """The next session opens the clone: it works at once, and nothing is missing, torn or left lying about."""

    def problem(text: str) -> None:
        scene.problems.append(f"{what}: {text}")

    try:
        store = (reopen or scene.open)()
        for key in NOTES:
            _check_whole(store, key, problem)
        store.commit("what the last session left", AUTHORS, OCCASION)
        store.pull(OCCASION)
        store.push(OCCASION)
        if store.has_changes():
            problem("there is something to commit after all was committed")
    except Exception as error:  # whatever it is, the next session could not go on
        problem(f"{type(error).__name__}: {error}")
        return
    shown = {line for content in scene.origin.files().values() for line in content.splitlines()}
    ever = scene.origin.lines_ever()
    for line in scene.acknowledged:
        if line.encode() not in (ever if line.endswith(_REWRITING) else shown):
            problem(f"lost: {line}")
    if complaint := fsck(scene.clone) or scene.origin.complaints():
        problem(f"fsck: {complaint}")
    for path in _litter(scene.clone):
        problem(f"left behind: {path}")
    if moves := scene.origin.forced():
        problem(f"forced: {moves}")


def _check_whole(store: GitStore, key: str, problem: Callable[[str], None]) -> None:
    try:
        text = store.read(Locator(key))
    except NotFoundError:
        return
    if (text and not text.endswith("\n")) or any(not line.startswith(("edit-", "theirs-")) for line in text.split()):
        problem(f"torn: {key} holds {text[-200:]!r}")


def _litter(clone: str) -> list[str]:
    """Locks and half-written files that nobody holds any more."""
    found = []
    for parent, _, names in os.walk(clone):
        for name in names:
            if name.endswith(".lock") and os.path.basename(parent) != "objects" and ".git" in parent:
                found.append(os.path.relpath(os.path.join(parent, name), clone))
    return found
