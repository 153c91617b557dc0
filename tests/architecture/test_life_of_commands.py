"""The map in the docs is the way that the data takes, and nothing is looked up twice on it."""

from __future__ import annotations

import re
import shutil

import pytest
from tests.architecture.trace import COMMANDS, PAGE, ROOT, block, drawn, files, trace

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

_TYPES = {
    *("__future__", "errno", "gc", "agentm_device_local", "agentm_kernel.errors", "agentm_kernel.plugin"),
    "agentm_kernel.seam.layout",
}
MERELY_IMPORTED = {
    "state-path plan": _TYPES - {"errno"},
    "hook session-start": _TYPES
    | {"agentm_recall", "agentm_recall.index", "agentm_kernel.plugins.hookspecs", "agentm_kernel.seam.facets"}
    | {"agentm_kernel.errors.reading"}  # for a file that is not there yet
    | {"agentm_checkpoint", "agentm_checkpoint.patterns", "agentm_checkpoint.session"}  # called in another thread
    | {"agentm_kernel.projects.remote", "agentm_kernel.seam.content"},  # for a remote, and for a note that is long
}
"""What these two load without a call: names, types and packages. Each module costs every hook a part of its time."""


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_scans_and_reads_the_configuration_once_and_goes_the_documented_way(command, tmp_path):
    found = trace(command, tmp_path)

    assert found["counts"] == {"scan": 1, "load": 1}
    assert block(command, drawn(found["order"])) in PAGE.read_text(encoding="utf-8"), (
        "the way has changed: run `python -m tests.architecture.trace`"
    )
    if command in MERELY_IMPORTED:
        assert {*found["imported"]} - {*found["order"]} <= MERELY_IMPORTED[command]


def test_every_room_of_the_map_is_there_and_no_other():
    text = PAGE.read_text(encoding="utf-8")
    table = text[text.index("## The rooms") : text.index("## The doors")]
    named = set(re.findall(r"^\| `(\w+)(?:/|\.py)`", table, re.MULTILINE))

    kernel = ROOT / "kernel" / "agentm_kernel"
    rooms = {path.stem for path in kernel.iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()}

    assert named == rooms - {"__init__", "plugin", "command"}


def test_every_file_of_the_kernel_has_its_line_in_the_words_of_its_docstring():
    assert files() in PAGE.read_text(encoding="utf-8"), "run `python -m tests.architecture.trace`"


def test_every_file_that_the_map_names_is_there():
    text = PAGE.read_text(encoding="utf-8")
    named = [name for name in re.findall(r"`([\w./-]+(?:\.pyi?|\.txt|\.toml|/))`", text) if "/" in name]
    named = [name for name in named if not name.startswith(".")]

    assert len(named) >= 40
    for name in named:
        assert (ROOT / name).exists() or (ROOT / "kernel" / "agentm_kernel" / name).exists(), name
