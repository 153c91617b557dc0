"""A private copy of the tree with an environment of its own, in which a mutant meets the tests."""

from __future__ import annotations

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

from tests.mutants.tree import files_of, tests_for

if TYPE_CHECKING:
    from tests.mutants.tree import Mutant

_BASELINE_LIMIT = 900.0
_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)
_NOTHING_COLLECTED = 5


class Verdict(NamedTuple):
    mutant: Mutant
    is_noticed: bool
    by: str
    """The first test that failed, or what else happened."""


class Baseline(NamedTuple):
    seconds: float
    failing: list[str]


class Baselines:
    """How long tests take on the unchanged tree, and which fail there: those cannot notice anything.

    Each selection is run once, by whoever needs it first; its other users wait.
    """

    def __init__(self) -> None:
        self._known: dict[str, Baseline] = {}
        self._locks: dict[str, threading.Lock] = {}

    def of(self, stage: list[str], copy: PrivateCopy) -> Baseline:
        key = " ".join(stage)
        with self._locks.setdefault(key, threading.Lock()):
            if key not in self._known:
                self._known[key] = copy.measure(stage)
        return self._known[key]


class PrivateCopy:
    """Made in `folder`, which the caller removes. Nothing in it leads back to the tree that it is a copy of."""

    def __init__(self, root: Path, folder: Path, baselines: Baselines) -> None:
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
        self._baselines = baselines

    def judge(self, mutant: Mutant) -> Verdict:
        """Let the tests that concern it run, the nearest first, until one fails."""
        file = self.root / mutant.file
        original = file.read_bytes()
        for stage in tests_for(self.root, mutant.file):
            baseline = self._baselines.of(stage, self)
            try:
                self._write(file, mutant.change.applied_to(original))
                by = self._noticed(stage, baseline)
            finally:
                self._write(file, original)
            if by:
                return Verdict(mutant, True, by)
        return Verdict(mutant, False, "")

    def _write(self, file: Path, data: bytes) -> None:
        """With a time of its own: compiled files are compared by whole seconds and size."""
        self._clock += 1
        file.write_bytes(data)
        os.utime(file, (self._clock, self._clock))

    def _noticed(self, stage: list[str], baseline: Baseline) -> str:
        left_out = [f"--deselect={name}" for name in baseline.failing]
        code, output = self._pytest("-x", *left_out, *stage, limit=3 * baseline.seconds + 60)
        if code in (0, _NOTHING_COLLECTED):
            return ""
        if code is None:
            return "the time limit"
        failed = _FAILED.search(output)
        return failed[1] if failed else f"pytest, which ended with {code}"

    def measure(self, stage: list[str]) -> Baseline:
        """Run these tests on the unchanged tree."""
        started = time.monotonic()
        code, output = self._pytest(*stage, limit=_BASELINE_LIMIT)
        if code is None:
            raise RuntimeError(f"the tests {' '.join(stage)} do not end on the unchanged tree")
        if code not in (0, 1, _NOTHING_COLLECTED):
            raise RuntimeError(f"the tests {' '.join(stage)} cannot run:\n{output[-2000:]}")
        return Baseline(time.monotonic() - started, _FAILED.findall(output))

    def _pytest(self, *arguments: str, limit: float) -> tuple[int | None, str]:
        """Its exit code and output; no code if it had to be ended, with everything that it started."""
        python = str(self._environment / "bin" / "python")
        command = [python, "-m", "pytest", "-q", "--tb=no", "-p", "no:cacheprovider", *arguments]
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
            output, _ = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
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
