"""A private copy of the tree with an environment of its own, in which a mutant meets the tests."""

from __future__ import annotations

import math
import os
import re
import shutil
import signal
import subprocess
import sysconfig
import threading
import time
import venv
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tests.mutants.changes import PROMISES
from tests.mutants.tree import files_of

if TYPE_CHECKING:
    from tests.mutants.lessons import Lessons
    from tests.mutants.tree import Mutant

_LIMIT = 300.0  # seconds, for one selection of tests that take a minute or so
_LOOK = {False: 60.0, True: 240.0}  # for whole test files, which may take any time; longer for a promise
_HANGS = 60.0  # for one test
_LESSON = 1800.0  # for the tests of one folder, all of them and with a recorder
_FAILED = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)  # a parameter may have spaces in its name
_NOTHING_COLLECTED = 5
CUT = "not all of its tests were run in the time for one mutant; --learn finds those that call it"
_UNCALLED = "no test is known to call it; where it is newer than what was learned, use --learn"
_WITHOUT = ("-pno:cacheprovider", "-pno:langsmith_plugin")  # the latter takes longer to import than all the rest


class Verdict(NamedTuple):
    mutant: Mutant
    is_noticed: bool
    by: str
    """The first test that failed, or what else happened."""


class TimeOver(Exception):
    """That of the whole run: nothing is known about the mutant that was being judged."""


class Failure(NamedTuple):
    """One test that failed, or all of a selection if they did not end or could not even begin."""

    tests: tuple[str, ...]
    is_late: bool = False

    def __str__(self) -> str:
        more = f" and {len(self.tests) - 1} more" if len(self.tests) > 1 else ""
        return f"{'the time limit of ' if self.is_late else ''}{self.tests[0]}{more}"


class Soundness:
    """Which tests pass on the unchanged tree, as far as somebody had to know: the others cannot notice anything.

    Only the tests that failed are run there, each once. (To run all of them before would take longer than the rest.)
    """

    def __init__(self) -> None:
        self._known: dict[Failure, bool] = {}
        self._lock = threading.Lock()

    @property
    def unsound(self) -> list[Failure]:
        return [failure for failure, is_sound in [*self._known.items()] if not is_sound]

    def of(self, failure: Failure, copy: PrivateCopy) -> bool:
        with self._lock:
            if failure not in self._known:
                self._known[failure] = copy.passes(failure)
            return self._known[failure]


class PrivateCopy:
    """Made in `folder`, which the caller removes. Nothing in it leads back to the tree that it is a copy of."""

    end = math.inf
    """When no test may run any longer, by the monotonic clock."""

    def __init__(self, root: Path, folder: Path, soundness: Soundness, lessons: Lessons) -> None:
        self.root = folder / "tree"
        self._home = folder / "home"
        self._home.mkdir(parents=True)
        for name in files_of(root):
            target = self.root / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, target)
        self._environment = folder / "environment"
        _make_environment(self._environment, self.root)
        self._clock = int(time.time())
        self._soundness = soundness
        self._lessons = lessons

    def judge(self, mutant: Mutant) -> Verdict:
        """Let the tests that concern it run, the nearest first, until one fails that does not fail without it."""
        file = self.root / mutant.file
        original = file.read_bytes()
        without = _UNCALLED
        for stage in self._lessons.selections(mutant):
            while True:
                try:
                    self._write(file, mutant.change.applied_to(original))
                    by = self._failing(stage, mutant)
                finally:
                    self._write(file, original)
                if isinstance(by, Failure) and not self._soundness.of(by, self):
                    continue  # without that test
                if isinstance(by, Failure):
                    return Verdict(mutant, True, str(by))
                without = by if without in (_UNCALLED, "") else without
                break
        return Verdict(mutant, False, without or self._lessons.left_out(mutant))

    def learn(self, files: list[str]) -> tuple[str, str]:
        """Run these test files with a recorder; what was called, and which tests there are, as it writes them."""
        site = next((self._environment / "lib").glob("python*/site-packages"))
        for name in ("recorder", "recording"):
            shutil.copy2(Path(__file__).with_name(f"{name}.py"), site / f"agentm_mutants_{name}.py")
        start = site / "agentm_mutants_recorder.pth"
        start.write_text("import agentm_mutants_recorder\n")
        written = [self.root.parent / "calls", self.root.parent / "tests", self.root.parent / "current"]
        for file in written:
            file.write_text("")
        self._pytest("-pagentm_mutants_recording", *files, limit=_LESSON)
        start.unlink()
        return written[0].read_text(errors="replace"), written[1].read_text()

    def passes(self, failure: Failure) -> bool:
        """Whether what failed under a mutant is all right on the unchanged tree."""
        return self._pytest(*failure.tests, limit=_LIMIT)[0] in (0, _NOTHING_COLLECTED)

    def _write(self, file: Path, data: bytes) -> None:
        """With a time of its own: compiled files are compared by whole seconds and size."""
        self._clock += 1
        file.write_bytes(data)
        os.utime(file, (self._clock, self._clock))

    def _failing(self, stage: list[str], mutant: Mutant) -> Failure | str:
        """The first test that fails and does not always; else what has to be said of those that did not."""
        whole, late = Failure(tuple(stage)), Failure(tuple(stage), is_late=True)
        known = self._soundness.unsound
        if whole in known or late in known:
            return ""
        left_out = [f"--deselect={name}" for failure in known for name in failure.tests if "::" in name]
        is_learned = "::" in stage[0]
        limit = _LIMIT if is_learned else _LOOK[mutant.change.kind in PROMISES]
        code, output = self._pytest("-x", f"--timeout={_HANGS}", *left_out, *stage, limit=limit)
        if code in (0, _NOTHING_COLLECTED):
            return ""
        if code is None:
            return late if is_learned else CUT
        failed = _FAILED.search(output)
        return Failure((failed[1],)) if failed else whole

    def _pytest(self, *arguments: str, limit: float) -> tuple[int | None, str]:
        """Its exit code and output; no code if it had to be ended, with everything that it started."""
        left = self.end - time.monotonic()
        if left <= 0:
            raise TimeOver
        python = str(self._environment / "bin" / "python")
        listed = self.root.parent / "arguments"
        listed.write_text("\n".join(one for one in arguments if not one.startswith("-")))
        options = [one for one in arguments if one.startswith("-")]
        # Not the common folder for temporary files: pytest ends by removing what earlier runs left there, in minutes.
        options.append(f"--basetemp={self.root.parent / 'made'}")
        command = [python, "-m", "pytest", "-q", "--tb=no", *_WITHOUT, *options, f"@{listed}"]
        environ = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "PYTHON"))}
        environ.update(HOME=str(self._home), PATH=f"{self._environment / 'bin'}{os.pathsep}{environ['PATH']}")
        environ["XDG_CACHE_HOME"] = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")  # the servers
        process = subprocess.Popen(
            command,
            cwd=self.root,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            output, _ = process.communicate(timeout=min(limit, left))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            if left < limit:
                raise TimeOver from None
            return None, ""
        return process.returncode, output


def _make_environment(folder: Path, tree: Path) -> None:
    """One that has what ours has, except that the sources are those of `tree`.

    A path in a `.pth` file is searched, but the `.pth` files that lie there are not read: so the packages of our
    environment are there, with their entry points, and the links to our own sources are not.
    """
    venv.create(folder, symlinks=True)
    scripts = Path(sysconfig.get_path("scripts"))
    sources = [tree / "kernel", *sorted(tree.glob("plugins/*/src"))]
    lines = [*map(str, sources), sysconfig.get_path("purelib")]
    site = next((folder / "lib").glob("python*/site-packages"))
    (site / "tree.pth").write_text("\n".join(lines) + "\n")
    for script in scripts.iterdir():
        target = folder / "bin" / script.name
        if target.exists() or not script.is_file():
            continue
        data = script.read_bytes()
        ours = f"#!{scripts}".encode()
        if data.startswith(ours):
            target.write_bytes(data.replace(ours, f"#!{folder / 'bin'}".encode(), 1))
            target.chmod(0o755)
        else:
            target.symlink_to(script)
