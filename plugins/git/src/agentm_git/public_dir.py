"""What the operator sees with git: the clone's branch, its remote-tracking branches and its index.

They are read here, and changed by git's own protocol: make the lock file, look again, rename. The lock file is a
second name of a file in the private directory, so one that a killed process left is told from one of another git.
`git update-ref` leaves no such trace: its lock file would stop everybody until somebody removes it by hand. It would
also be another process in every commit: 1.5 times `git add` and `git commit` instead of 1.2 times.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import time
from typing import TYPE_CHECKING

from agentm_kernel.plugin import ConcurrentModificationError, LockTimeout, StorageConflictError, StorageIOError

if TYPE_CHECKING:
    from agentm_git.private_dir import PrivateDir

_ID_LENGTH = 40
_PATIENCE = 2.0
_PART = "sharedindex."
_UNFINISHED = {
    "MERGE_HEAD": "merge",
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
}


class PublicDir:
    """The clone's own `.git`, as far as agentm reads and publishes it."""

    def __init__(self, place: PrivateDir, branch: str) -> None:
        self._place = place
        self._branch = branch

    @property
    def branch_ref(self) -> str:
        return f"refs/heads/{self._branch}"

    # -- reading ------------------------------------------------------------------------------------------

    def head(self) -> str | None:
        """The commit of the branch, `None` before the first."""
        return self.ref(self.branch_ref)

    def ref(self, name: str) -> str | None:
        """The object that a ref of the clone names."""
        try:
            text = _read(self._path(name)).strip()
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return self._packed(name)
        if not _is_id(text):
            raise StorageIOError(f"the ref {name} of {self._place.root} cannot be read", hint="run `git fsck` there")
        return text

    def _packed(self, name: str) -> str | None:
        try:
            lines = _read(self._path("packed-refs")).splitlines()
        except FileNotFoundError:
            return None
        for line in lines:
            identity, _, ref = line.partition(" ")
            if ref == name and _is_id(identity):
                return identity
        return None

    def unfinished(self) -> str | None:
        """What the operator began with git and has not ended, in git's word for it."""
        for name, what in _UNFINISHED.items():
            if os.path.lexists(self._path(name)):
                return what
        return None

    def check_ready(self) -> None:
        """Raise unless the clone is on its branch and the operator is not in the middle of something."""
        what = self.unfinished()
        where = f"git -C {shlex.quote(self._place.root)}"
        if what is not None:
            raise StorageConflictError(
                f"a {what} that was begun with git in {self._place.root} is not finished",
                hint=f"finish it, or run `{where} {what} --abort`; then try again",
            )
        head = _read(self._path("HEAD")).strip()
        if head != f"ref: {self.branch_ref}":
            now = head.removeprefix("ref: refs/heads/")
            raise StorageConflictError(
                f"the clone {self._place.root} is on {now}, and the notes are kept on {self._branch}",
                hint=f"{self._way_back(now, where)}, or set plugins.git.branch",
            )

    def _way_back(self, now: str, where: str) -> str:
        if self.head() is not None:
            return f"run `{where} switch {self._branch}`"
        # That would make the branch anew, of what the origin has, without what waits here.
        if _is_id(now):
            return f"run `{where} switch -c {self._branch}`"
        if self.ref(f"refs/remotes/origin/{now}") is None:
            return f"run `{where} branch -m {shlex.quote(now)} {self._branch}`"
        return (
            f"run `agentm git init {shlex.quote(self._place.root)} --branch {shlex.quote(now)}` to keep them on that"
        )

    # -- publishing ---------------------------------------------------------------------------------------

    def move(self, name: str, new: str, old: str | None, why: str) -> None:
        """Let a ref name `new`; `ConcurrentModificationError` unless it named `old`."""
        target = self._path(name)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        ours = os.path.join(self._place.path, "ref")
        self._drop_leftover(f"{target}.lock", ours)
        with open(ours, "x", encoding="ascii") as file:
            file.write(f"{new}\n")
            file.flush()
            os.fsync(file.fileno())
        lock = self._lock(f"{target}.lock", ours)
        try:
            if self.ref(name) != old:
                raise ConcurrentModificationError(
                    f"{name} of {self._place.root} was moved by another program", hint="try again"
                )
            os.replace(lock, target)
        except BaseException:
            _unlink(lock)
            raise
        _unlink(ours)  # the name is not made durable: after a power cut the notes are there, and are committed again
        self._log(name, new, old, why)

    def adopt_index(self) -> bool:
        """Begin with the index that git left in the clone; whether ours has to be made anew."""
        theirs, ours = self._path("index"), self._place.index
        try:
            if _is_same(ours, os.stat(theirs)):
                return False
        except FileNotFoundError:
            return os.path.exists(ours)  # of a first commit that was cut off: what it put there is in no commit
        temp = f"{ours}.new"
        shutil.copyfile(theirs, temp)
        self._share_parts()
        os.replace(temp, ours)
        return True

    def _share_parts(self) -> None:
        """Have what `core.splitIndex` takes out of the index where our git looks for it. Git never changes a part."""
        theirs, ours = (
            {name for name in os.listdir(folder) if name.startswith(_PART)}
            for folder in (self._place.public, self._place.path)
        )
        for name in ours - theirs:
            _unlink(os.path.join(self._place.path, name))
        for name in theirs - ours:
            with contextlib.suppress(FileNotFoundError):  # replaced by another one meanwhile
                _second_name(self._path(name), os.path.join(self._place.path, name))

    def publish_index(self) -> None:
        """Let the clone's index be ours. While the operator's git holds it, this waits for our next step."""
        target = self._path("index")
        witness = f"{self._place.index}.tmp"
        self._drop_leftover(f"{target}.lock", witness)
        try:
            if _is_same(self._place.index, os.stat(target)):
                return
        except FileNotFoundError:
            pass
        _second_name(self._place.index, witness)
        try:
            lock = self._lock(f"{target}.lock", witness, patience=0.0)
        except LockTimeout:
            return
        os.replace(lock, target)
        _unlink(witness)

    def _drop_leftover(self, lock: str, witness: str) -> None:
        """Remove a lock file that is a second name of our `witness`: left by a process that was killed."""
        try:
            if _is_same(witness, os.stat(lock)):
                os.unlink(lock)
        except FileNotFoundError:
            pass
        _unlink(witness)

    def _lock(self, lock: str, ours: str, patience: float = _PATIENCE) -> str:
        """Give the file `ours` the name `lock` too, which only one can have."""
        deadline = time.monotonic() + patience
        while True:
            try:
                _second_name(ours, lock)
                return lock
            except FileExistsError:
                if time.monotonic() >= deadline:
                    raise LockTimeout(
                        f"another git is at work in {self._place.root}: {lock} is there",
                        hint=f"let it end and try again; if no git is running, remove {lock}",
                    ) from None
            time.sleep(0.02)

    def _log(self, name: str, new: str, old: str | None, why: str) -> None:
        """A line for `git reflog`: a safety net for the operator, and nothing that we depend on."""
        path = self._path(f"logs/{name}")
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "a", encoding="utf-8") as file:
                file.write(f"{old or '0' * _ID_LENGTH} {new} agentm <agentm> {int(time.time())} +0000\t{why}\n")
        except OSError:
            pass

    def _path(self, name: str) -> str:
        return os.path.join(self._place.public, *name.split("/"))


def _read(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def _is_id(text: str) -> bool:
    return len(text) == _ID_LENGTH and all(c in "0123456789abcdef" for c in text)


def _is_same(path: str, status: os.stat_result) -> bool:
    try:
        other = os.stat(path)
    except FileNotFoundError:
        return False
    return (other.st_dev, other.st_ino) == (status.st_dev, status.st_ino)


def _second_name(path: str, name: str) -> None:
    """Let the file have another name, or a copy under it where there are no links; `FileExistsError` if taken."""
    try:
        os.link(path, name)
    except FileExistsError:
        raise
    except OSError:
        with open(path, "rb") as source, open(name, "xb") as copy:
            shutil.copyfileobj(source, copy)


def _unlink(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass
