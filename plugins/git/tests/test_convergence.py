"""Random work in three clones under three policies: in the end all are the same, and nothing written is lost."""

from __future__ import annotations

import os
import random

import pytest
from clones import OCCASION, keys_of, open_clone
from git_servers import fill, fsck, git

from agentm_kernel import Locator
from agentm_kernel.errors import LocatorConflictError, NotFoundError

KEYS = ("a.md", "b.md", "dir/c.md", "dir/d.md", "dir", "a.md/under.md", "Zoë.md", "deep/er/still/e.md")
"""Some of them exclude each other: a folder where another clone has a note."""
STEPS = 80


class Work:
    """One clone's share of the work, and what it wrote."""

    def __init__(self, store, chance, name):
        self._store, self._chance, self._name = store, chance, name
        self.written: list[str] = []

    def step(self):
        key = self._chance.choice(KEYS)
        self._chance.choice((self._append, self._append, self._rewrite, self._delete, self._sync, self._sync))(key)

    def _append(self, key):
        self._write(key, lambda old, line: f"{old}{line}\n")

    def _rewrite(self, key):
        self._write(key, lambda old, line: f"# {self._name}\n{line}\n")

    def _write(self, key, change):
        line = f"{self._name}-{len(self.written)}"
        try:
            old = self._store.read(Locator(key))
        except NotFoundError:
            old = ""
        try:
            self._store.write(Locator(key), change(old, line))
        except LocatorConflictError:
            return
        self.written.append(line)
        if self._chance.random() < 0.5:  # else the next one may replace it before anybody has seen it
            self._store.commit("edit", (), OCCASION)
        else:
            self.written.pop()

    def _delete(self, key):
        try:
            self._store.delete(Locator(key))
        except (NotFoundError, LocatorConflictError):
            return

    def _sync(self, key):
        self._store.sync(OCCASION)


@pytest.mark.parametrize("seed", [1, 2, 3, 103])
def test_clones_converge_and_keep_every_line_that_was_committed(tmp_path, origin_by_path, seed):
    chance = random.Random(seed)
    fill(origin_by_path, {"a.md": b"begin\n"})
    policies = chance.sample(("rebase", "merge", "last-writer-wins", "split-conflicts"), 3)
    folders = [str(tmp_path / f"{number}-{policy}") for number, policy in enumerate(policies)]
    stores = [open_clone(origin_by_path, folder, policy) for folder, policy in zip(folders, policies, strict=True)]
    works = [Work(store, chance, f"clone{number}") for number, store in enumerate(stores)]
    for _ in range(STEPS):
        chance.choice(works).step()
    for _ in range(2):
        for store in stores:
            store.sync(OCCASION)
    tips = {git(folder, "rev-parse", "main") for folder in folders}
    assert tips == {origin_by_path.tip().encode() + b"\n"}, "all of them are where the origin is"
    for folder, store in zip(folders, stores, strict=True):
        assert git(folder, "status", "--porcelain") == b""
        assert keys_of(store) == set(origin_by_path.files()) - {"_meta/store.json"}
        assert fsck(folder) == ""
    ever = origin_by_path.lines_ever()
    lost = [line for work in works for line in work.written if line.encode() not in ever]
    assert lost == []
    assert origin_by_path.forced() == []
    assert not os.path.exists(os.path.join(folders[0], ".git", "index.lock"))
