"""The map in the docs is the way that the data takes, and nothing is looked up twice on it."""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING

import pytest
from tests.architecture.trace import COMMANDS, PAGE, ROOT, block, drawn, files, trace

if TYPE_CHECKING:
    from pathlib import Path

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


_NAMED = re.compile(r"`(?!\.)([^`\s]+(?:\.(?:pyi?|txt|toml)|/))`((?: \((?:`\w+`(?:, )?)+\))?)")
"""A file or folder, and what is said in brackets to be defined in it."""
_FROM = ("", "kernel/agentm_kernel/", "plugins/*/src/")


def there(name: str) -> list[Path]:
    """What the map means by a name: below the repository, the kernel, or the sources of a plugin."""
    return [
        path for start in _FROM for path in ROOT.glob(start + name.rstrip("/")) if path.is_dir() == name.endswith("/")
    ]


def defines(path: Path, name: str) -> bool:
    text = path.read_text(encoding="utf-8")
    said = rf"^\s*(?:(?:class|def) {name}\b|{name}(?:: [^=\n]+)? = |Option\(\s*\"{name}\")"
    return re.search(said, text, re.MULTILINE) is not None


def not_there(text: str) -> list[str]:
    """The files that a text names and nobody finds, and what is not defined in those that it is looked for in."""
    missing = []
    for name, brackets in _NAMED.findall(text):
        found = there(name)
        missing += [] if found else [name]
        wanted = re.findall(r"\w+", brackets)
        missing += [f"{name} ({each})" for path in found for each in wanted if not defines(path, each)]
    return missing


def test_every_file_that_the_map_names_is_there_and_defines_what_it_is_said_to_define():
    text = PAGE.read_text(encoding="utf-8")
    section = text[text.index("## Where does a change go?") : text.index("## Every file of the kernel")]
    rows = [line for line in section.splitlines() if line.startswith("| ") and line != "| change | goes to |"]

    assert len(rows) >= 50
    assert [row for row in rows if not _NAMED.search(row.split(" | ", 1)[1])] == []
    assert not_there(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "`seam/backends.py`",
        "`agentm_recall/phase.py`",
        "`…/phases.py`",
        "`phases.py`",
        "`seam/backend/`",
        "`seam/backend.py` (`API_VERSIONS`)",
        "`seam/backend.py` (`API_VERSION`, `backend`)",
    ],
)
def test_a_name_that_is_misspelt_or_cut_short_is_noticed(text: str) -> None:
    assert len(not_there(text)) == 1
