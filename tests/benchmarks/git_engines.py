"""The git command beside libgit2, for what the git plugin does: start, commit, and push to real origins."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tests.benchmarks.git import Bare
from tests.benchmarks.measure import interleave
from tests.benchmarks.tables import Table
from tests.benchmarks.writes import NOTE

if TYPE_CHECKING:
    from collections.abc import Callable

    import pygit2

    from tests.benchmarks.measure import Setting
    from tests.benchmarks.tables import Row

sys.path.append(str(Path(__file__).resolve().parents[2] / "plugins" / "git" / "tests"))

_BRANCH = "refs/heads/main"


def run(setting: Setting) -> Table:
    rows = [_started(setting), _committed(setting), *(_pushed(setting, kind) for kind in ("file", "daemon", "http"))]
    note = (
        "The same work in turn, on repositories of their own and on the same servers. libgit2 is pygit2, in this "
        "process but for the first row, which every command and event would pay: a program that imports it and "
        "reads the last commit, beside `git rev-parse HEAD` started by one that does not."
    )
    return Table("git_engines", "The git command and libgit2", note, rows)


def _row(
    setting: Setting, name: str, git: Callable[[], object], library: Callable[[], object], rounds: int, batch: int
) -> Row:
    samples = interleave({"git": git, "library": library}, rounds=setting.rounds(rounds, 3), batch=batch)
    return {
        "work": name,
        "git (ms)": samples.seconds("git") * 1e3,
        "libgit2 (ms)": samples.seconds("library") * 1e3,
        "git against libgit2 (×)": samples.cost("git", "library"),
    }


def _started(setting: Setting) -> Row:
    folder = setting.scratch / "started"
    Bare(folder, 10)
    by_git = "import subprocess; subprocess.run(['git', 'rev-parse', 'HEAD'], stdout=subprocess.DEVNULL)"
    by_library = "import pygit2; pygit2.Repository('.').head.target"
    return _row(
        setting,
        "read the last commit in a new process",
        lambda: subprocess.run([sys.executable, "-c", by_git], cwd=folder, check=True),
        lambda: subprocess.run([sys.executable, "-c", by_library], cwd=folder, check=True),
        rounds=15,
        batch=1,
    )


def _committed(setting: Setting) -> Row:
    git = Bare(setting.scratch / "by-git", 100)
    library = ByLibrary(setting.scratch / "by-library", 100)
    return _row(
        setting,
        "write and commit beside 100 notes",
        git.write_and_commit,
        library.write_and_commit,
        rounds=20,
        batch=5,
    )


def _pushed(setting: Setting, transport: str) -> Row:
    from git_servers import serving

    place = setting.scratch / f"pushed-{transport}"
    place.mkdir()
    with (
        serving(transport, str(place / "one"), name="one.git") as one,
        serving(transport, str(place / "two"), name="two.git") as two,
    ):
        git, library = Bare(place / "by-git", 10), ByLibrary(place / "by-library", 10)

        def push_by_git() -> None:
            git.write_and_commit()
            git.git("push", "-q", one.url, f"HEAD:{_BRANCH}")

        def push_by_library() -> None:
            library.write_and_commit()
            library.push(two.url)

        return _row(setting, f"write, commit and push: {transport}", push_by_git, push_by_library, rounds=10, batch=2)


class ByLibrary:
    """What `Bare` does, with libgit2."""

    def __init__(self, folder: Path, notes: int) -> None:
        import pygit2

        Bare(folder, notes)
        self._folder = folder
        self._count = 0
        self._person = pygit2.Signature("Ana", "ana@example.com")
        self._repository: pygit2.Repository = pygit2.Repository(str(folder))

    def write_and_commit(self) -> None:
        self._count += 1
        (self._folder / "decision.md").write_text(f"{NOTE}{self._count}\n")
        index = self._repository.index
        index.add("decision.md")
        index.write()
        head = self._repository.head
        self._repository.create_commit(
            head.name, self._person, self._person, "decision", index.write_tree(), [head.target]
        )

    def push(self, url: str) -> None:
        self._repository.remotes.create_anonymous(url).push([f"{self._repository.head.name}:{_BRANCH}"])
