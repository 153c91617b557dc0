"""Running somebody else's suite in a process of its own, and counting what came of it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path

import pytest

HERE = Path(__file__).parent
STORES = ("device-local", "memory")
_QUICK = "/dev/shm" if os.path.isdir("/dev/shm") else None
"""These suites do not ask what survives a power cut, and write thousands of notes."""


@dataclass(frozen=True)
class Result:
    passed: int
    skipped: dict[str, str]
    """The tests that were skipped, each with its reason."""
    failed: dict[str, str]

    @property
    def total(self) -> int:
        return self.passed + len(self.skipped) + len(self.failed)


def run_suite(plugin: str, store: str, tmp_path: Path, *targets: str | Path, source: Path | None = None) -> Result:
    """`targets` with the plugin `suites.<plugin>` in place of their fixtures. Their own settings do not count.

    `source` is what their imports start from.
    """
    report = tmp_path / "report.xml"
    settings = tmp_path / "pytest.ini"
    settings.write_text("[pytest]\nasyncio_mode = auto\nasyncio_default_fixture_loop_scope = function\n")
    with tempfile.TemporaryDirectory(dir=_QUICK, ignore_cleanup_errors=True) as scratch:
        done = _run(plugin, store, tmp_path, scratch, source, targets)
    if not report.exists():
        pytest.fail(done.stdout + done.stderr)
    return _counted(report, done.stdout)


def _run(
    plugin: str, store: str, folder: Path, scratch: str, source: Path | None, targets: tuple[str | Path, ...]
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "--noconftest"),
            *("-c", str(folder / "pytest.ini"), "--rootdir", str(folder), f"--junitxml={folder / 'report.xml'}"),
            *("-p", f"suites.{plugin}", f"--basetemp={scratch}/pytest"),
            *("-p", "no:cacheprovider", "-p", "no:randomly", *map(str, targets)),
        ],
        cwd=folder,
        env={
            **os.environ,
            "AGENTM_SUITE_STORE": store,
            "HOME": str(folder),
            "TMPDIR": scratch,
            "PYTHONPATH": os.pathsep.join(map(str, filter(None, (HERE, source)))),
            "PYTHONDONTWRITEBYTECODE": "1",
        },
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def _counted(report: Path, output: str) -> Result:
    passed, skipped, failed = 0, {}, {}
    for case in ET.parse(report).iter("testcase"):
        name = f"{case.get('classname')}::{case.get('name')}"
        if (skip := case.find("skipped")) is not None:
            skipped[name] = skip.get("message") or ""
        elif (
            problem := next((found for kind in ("failure", "error") for found in case.iter(kind)), None)
        ) is not None:
            failed[name] = (problem.get("message") or "") + "\n" + (problem.text or "")[-1500:]
        else:
            passed += 1
    assert passed or skipped or failed, output
    return Result(passed, skipped, failed)


def joined(results: list[Result]) -> Result:
    """Several suites as one."""
    return Result(
        sum(result.passed for result in results),
        {name: why for result in results for name, why in result.skipped.items()},
        {name: why for result in results for name, why in result.failed.items()},
    )


def told(result: Result) -> str:
    """What failed, for the message of an assertion."""
    shown = [f"{name}: {why}" for name, why in list(result.failed.items())[:6]]
    return f"{len(result.failed)} of {result.total} failed\n" + "\n".join(shown)
