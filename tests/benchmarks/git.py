"""Writes with commits through the git plugin, beside bare git doing the same: a file, `git add`, `git commit`."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

from agentm_kernel import Locator
from agentm_kernel.seam.provider import Author, SyncTrigger
from tests.benchmarks.measure import interleave
from tests.benchmarks.tables import Table
from tests.benchmarks.writes import NOTE

if TYPE_CHECKING:
    from pathlib import Path

    from agentm_git.backend import GitStore
    from tests.benchmarks.measure import Setting
    from tests.benchmarks.tables import Row

_AUTHORS = (Author("Ana", "ana@example.com"),)
_OCCASION = SyncTrigger("manual")
_WRITES = 100


def run(setting: Setting) -> Table:
    rows = [_measured(setting, notes) for notes in (0, 1000)]
    note = (
        "A 2 kB note is written and committed. Bare git: write, `git add NOTE`, `git commit`; durable: fsync of the "
        "note and of git's objects and refs, as agentm has it. agentm finds out by itself what changed, as "
        "`git add -A` does."
    )
    return Table("git", "Writes with commits", note, rows)


class Bare:
    """The same with git's own commands."""

    def __init__(self, folder: Path, notes: int, *, durable: bool = False, addition: str = "") -> None:
        self._folder = folder
        self._addition = addition
        self._durable = durable
        self._count = 0
        folder.mkdir(parents=True)
        settings = {"gc.auto": "0", "core.fsync": "committed"} if durable else {"gc.auto": "0"}
        self._environ = {**os.environ, **_environment(settings)}
        self.git("init", "-q")
        for name, text in _notes(notes):
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(text)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "begin")

    def write_and_commit(self) -> None:
        self._count += 1
        path = self._folder / "decision.md"
        with path.open("w", encoding="utf-8") as file:
            file.write(f"{NOTE}{self._count}\n")
            if self._durable:
                file.flush()
                os.fsync(file.fileno())
        self.git("add", self._addition or "decision.md")
        self.git("commit", "-q", "-m", "decision")

    def git(self, *arguments: str) -> None:
        subprocess.run(["git", *arguments], cwd=self._folder, env=self._environ, check=True)


def _measured(setting: Setting, notes: int) -> Row:
    place = setting.scratch / f"{notes}-notes"
    store = _store(place / "own", notes)
    count = 0

    def write_and_commit() -> None:
        nonlocal count
        count += 1
        store.write(Locator("decision.md"), f"{NOTE}{count}\n")
        store.commit("decision", _AUTHORS, _OCCASION)

    work = {
        "own": write_and_commit,
        "bare": Bare(place / "bare", notes).write_and_commit,
        "all": Bare(place / "all", notes, addition="-A").write_and_commit,
        "durable": Bare(place / "durable", notes, durable=True).write_and_commit,
    }
    samples = interleave(work, rounds=setting.rounds(_WRITES // 5, 4), batch=5)
    return {
        "beside": f"{notes:,} notes",
        "agentm (ms)": samples.seconds("own") * 1e3,
        "git (ms)": samples.seconds("bare") * 1e3,
        "cost (×)": samples.cost("own", "bare"),
        "git add -A (×)": samples.cost("own", "all"),
        "git, durable (×)": samples.cost("own", "durable"),
    }


def _store(folder: Path, notes: int) -> GitStore:
    from agentm_git.backend import GitStore
    from agentm_git.setup import set_up

    folder.parent.mkdir(parents=True, exist_ok=True)
    environ = {"HOME": str(folder.parent / "home"), "PATH": os.environ["PATH"]}
    set_up(str(folder), environ=environ)
    store = GitStore(folder, environ=environ)
    for name, text in _notes(notes):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    store.commit("begin", _AUTHORS, _OCCASION)
    return store


def _notes(count: int) -> list[tuple[str, str]]:
    return [(f"folder-{number % 40}/note-{number}.md", f"{NOTE}{number}\n") for number in range(count)]


def _environment(settings: dict[str, str]) -> dict[str, str]:
    person = {f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER") for what, value in _PERSON.items()}
    told = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_COUNT": str(len(settings))}
    for number, (name, value) in enumerate(settings.items()):
        told |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    return {**person, **told}


_PERSON = {"NAME": "Ana", "EMAIL": "ana@example.com"}
