"""Clones as the tests open them, and one that races: it exchanges after every edit and settles what it must."""

from __future__ import annotations

import os
import re
import subprocess
import sys

from git_servers import BRANCH, Origin
from racing import edited

from agentm_git.backend import GitStore
from agentm_git.setup import set_up
from agentm_kernel import Locator, update
from agentm_kernel.errors import StorageConflictError
from agentm_kernel.plugin import Device, select_store
from agentm_kernel.seam.backend import STAMP_KEY
from agentm_kernel.seam.provider import Author, SyncTrigger

OCCASION = SyncTrigger("manual")
AUTHORS = (Author("Ana", "ana@example.com"),)
PATIENT = 600.0
"""A deadline for machines that have more to do than these tests."""

AGENTM = os.path.join(os.path.dirname(sys.executable), "agentm")
_COMMAND = re.compile(r"`agentm ([^`]*)`")


def device(home: str, **variables: str) -> dict[str, str]:
    """The environment of a device with a home of its own."""
    return {"HOME": home, "PATH": os.environ["PATH"], **variables}


def open_clone(
    origin: Origin,
    folder: str,
    policy: str = "rebase",
    *,
    environ: dict[str, str] | None = None,
    token_env: str = "",
    **options: object,
) -> GitStore:
    """The clone in a folder, made at the first time, on a device of its own unless one is given."""
    environ = environ or device(f"{folder}.home")
    if not os.path.isdir(os.path.join(folder, ".git")):
        set_up(folder, origin.url, adopt=True, environ=environ, options={"branch": BRANCH, "token_env": token_env})
    given = {"remote": origin.url, "branch": BRANCH, "conflict": policy, "deadline": PATIENT, "token_env": token_env}
    return GitStore(folder, environ=environ, **{**given, **options})


def found_store(origin: Origin, folder: str) -> None:
    """Make the origin a store, as the first of a team does before the others join."""
    open_clone(origin, os.path.join(folder, "founder"))


def exchange(store: GitStore, number: int = 0) -> None:
    """Everything that a clone does with its origin, with a note of its own."""
    store.write(Locator(f"mine-{number}.md"), f"mine {number}\n")
    store.commit(f"mine {number}", AUTHORS, OCCASION)
    store.pull(OCCASION)
    store.push(OCCASION)


def keys_of(store: GitStore) -> set[str]:
    """The notes that a store shows, without its identity."""
    return {info.locator.key for info in store.walk(Locator()) if not info.is_dir} - {STAMP_KEY}


class RacingClone:
    """A clone for `racing`. Its operator does at once what the error says."""

    def __init__(self, origin: Origin, folder: str, policy: str, number: int) -> None:
        self._store = open_clone(origin, folder, policy, environ=dict(os.environ))
        self._policy = policy
        self._settlings = 0
        select_store(
            Device.now(), "git", {"root": folder, "remote": origin.url, "conflict": policy, "deadline": PATIENT}
        )

    def edit(self, key: str, line: str) -> None:
        self._last = (key, line)
        update(self._store, Locator(key), lambda text: edited(key, text, line))

    def sync(self) -> bool:
        """Commit and push; the push fetches and integrates where somebody else was faster."""
        self._store.commit(" ".join(self._last), AUTHORS, OCCASION)
        try:
            self._store.push(OCCASION)
        except StorageConflictError as error:
            if self._policy not in ("abort", "manual"):
                raise
            self._settle(error)
            return True
        return False

    def _settle(self, error: StorageConflictError) -> None:
        """The edit is where it was made; the command that the error names brings it to the origin."""
        key, line = self._last
        assert line in self._store.read(Locator(key)).splitlines(), f"{line} is gone after: {error}"
        while True:
            self._run(error.hint or "")
            try:
                self._store.push(OCCASION)
            except StorageConflictError as again:  # somebody was faster than the operator
                error = again
                continue
            return

    def _run(self, hint: str) -> None:
        named = _COMMAND.search(hint)
        assert named is not None, f"no command in: {hint}"
        choices = ("rebase", "merge", "last-writer-wins", "split-conflicts")
        self._settlings += 1
        words = named[1].replace("POLICY", choices[self._settlings % len(choices)]).split()
        done = subprocess.run([AGENTM, *words], capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"agentm {' '.join(words)}: {done.stderr}"
