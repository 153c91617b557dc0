"""Every piece of Python in README and docs runs, one page in one process, in a home of its own."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
_FENCE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)

OVERRIDES = """
for value in list(globals().values()):
    if isinstance(value, type) and value.__module__ == "__main__":
        for name in vars(value):
            assert any(hasattr(base, name) for base in value.__bases__), f"{value.__name__}.{name} overrides nothing"
"""


def code_on(page: Path) -> str:
    return "".join(_FENCE.findall(page.read_text()))


PAGES = [page for page in sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]) if code_on(page)]


def without_endless_loops(code: str) -> str:
    """What watches for ever is left out; that the names in it exist is seen all the same."""
    tree = ast.parse(code)
    tree.body = [node for node in tree.body if not (isinstance(node, ast.For) and ".watch()" in ast.unparse(node))]
    return ast.unparse(tree)


def run(code: str, home: Path) -> subprocess.CompletedProcess[str]:
    environ = {"HOME": str(home), "PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1"}
    project = home / "project"  # a home itself is no project
    project.mkdir()
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=project,
        env=environ,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_code_on_a_page_runs_and_overrides_only_what_there_is(page: Path, tmp_path: Path) -> None:
    done = run(without_endless_loops(code_on(page)) + OVERRIDES, tmp_path)
    assert done.returncode == 0, done.stderr


def test_the_wrapper_on_its_page_passes_the_kit(tmp_path: Path) -> None:
    (tmp_path / "test_page.py").write_text(code_on(ROOT / "docs/how-to/write-a-wrapper.md"))
    some = "-k layering or declaring or conditions or device_files or foreign_entries"
    arguments = ["-q", "-p", "no:cacheprovider", some, str(tmp_path / "test_page.py")]
    done = run(f"import sys, pytest; sys.exit(pytest.main({arguments!r}))", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_code_that_is_out_of_date_is_caught(tmp_path: Path) -> None:
    stale = (
        "from agentm_kernel.plugin import FileStore\nclass N(FileStore):\n    def hidden_names(self, names): ...\n"
    )
    assert "N.hidden_names overrides nothing" in run(stale + OVERRIDES, tmp_path).stderr
