from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agentm_devkit.gates import check

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from agentm_devkit.gates import Report

    Judge = Callable[[dict[str, str]], Report]


@pytest.fixture
def judge(tmp_path: Path) -> Judge:
    """Write a small source tree and run every gate over it; packages get their `__init__.py` by themselves."""

    def run(files: dict[str, str]) -> Report:
        for name, text in files.items():
            file = tmp_path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
            if name.endswith(".py"):
                folder = file.parent
                while folder != tmp_path and folder.name not in ("src", "kernel"):
                    (folder / "__init__.py").touch()
                    folder = folder.parent
        return check([tmp_path])

    return run


@pytest.fixture
def rules(judge: Judge) -> Callable[[dict[str, str]], list[str]]:
    """The rules that a tree breaks, one entry per finding; every file in it must be readable."""

    def run(files: dict[str, str]) -> list[str]:
        report = judge(files)
        assert report.unreadable == ()
        return [finding.rule for finding in report.findings]

    return run
