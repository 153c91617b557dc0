"""Modules that lie in the working directory: a repository must not be able to run code by holding a `json.py`."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

# What our commands import sooner or later. What `-m` itself needs before our first line cannot be on the list: only
# `python -P` keeps that out.
PLANTED = (
    *("json", "re", "click", "filelock", "pluggy", "dataclasses", "subprocess", "tempfile", "hashlib", "random"),
    *("pathlib", "platformdirs", "unicodedata", "difflib", "textwrap", "shutil", "sqlite3", "tomllib", "ast", "gc"),
)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "widgets"
    (folder / ".harness").mkdir(parents=True)
    for name in PLANTED:
        (folder / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'a').write({name + ' '!r})\n")
    return folder


@pytest.mark.parametrize(
    "arguments",
    [
        ["agentm_kernel.process_seam", "state-path", "plan"],
        ["agentm_kernel.process_seam", "offer-save-here", "--kind", "decision", "--slug", "x"],
        ["agentm_kernel.process_seam", "recall-here", "--help"],
        ["agentm_kernel.cli.main", "doctor", "--json"],
        ["agentm_kernel.cli.main", "plugins", "list"],
    ],
    ids=" ".join,
)
def test_nothing_is_imported_from_the_working_directory(
    repository: Path, arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(repository.parent))
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)

    done = subprocess.run(
        [sys.executable, "-m", *arguments], cwd=repository, capture_output=True, text=True, check=False
    )

    assert not (repository.parent / "ran").exists(), (repository.parent / "ran").read_text()
    assert "Traceback" not in done.stderr
    assert done.stdout
