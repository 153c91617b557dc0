"""The tree that is tested: its mutants by room, and the tests that concern each file."""

from __future__ import annotations

import random
import subprocess
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tests.mutants.changes import PROMISES, changes_in, lines_changed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.mutants.changes import Change

KERNEL = Path("kernel/agentm_kernel")
PINS = "tests/pins"
LAYERS = "tests/architecture/test_layers.py"
"""What every layer around a store hands on."""
READERS = {
    "encoding=": "tests/architecture/test_encodings.py",
    "help=": "tests/architecture/test_help.py",
    "frozen=True": "tests/architecture/test_values.py",
    "hint=": "tests/architecture/test_hints.py",
}
"""Tests that read the sources, by what they look for: no function that they call tells that they concern it."""
_ACROSS = {
    "checkpoint": ["tests/checkpoints"],
    "hosts": ["tests/tools"],
    "import": ["tests/projects"],
    "mcp": ["tests/tools"],
    "recall": ["tests/checkpoints", "tests/projects"],
    "view": ["tests/view"],
}
"""Tests that span distributions, by the plugin that they are most about."""
_ELSEWHERE = {
    "__init__.py": ["tests/architecture/test_doors.py"],
    "cli/hook.py": ["plugins/hosts/tests/test_hooks.py"],
    "cli/set_up.py": ["plugins/obsidian-vault/tests/test_setup.py"],
    "cli/store.py": ["tests/projects/test_more_stores.py"],
}
"""Tests that are not in the room of what they test, by the file of the kernel."""
_ON_THE_PAGE = ["tests/view"]
"""What a plugin adds to the page of `agentm view` is tested there, in a browser."""
_UNTESTED = frozenset({"conformance", "gates", "__main__.py"})
"""What judges others has broken subjects of its own to prove it."""


@dataclass(frozen=True)
class Mutant:
    file: str
    room: str
    change: Change
    before: str
    """The lines that change, and what they become."""
    after: str

    @property
    def place(self) -> str:
        return f"{self.file}:{self.change.line}"


def mutants_of(root: Path) -> list[Mutant]:
    return [mutant for file in _sources(root) for mutant in _mutants_in(root, file)]


def _sources(root: Path) -> list[Path]:
    found = [file.relative_to(root) for file in (*(root / KERNEL).rglob("*.py"), *root.glob("plugins/*/src/**/*.py"))]
    return sorted(file for file in found if not _UNTESTED & set(file.parts))


def _mutants_in(root: Path, file: Path) -> list[Mutant]:
    source = (root / file).read_bytes()
    name, room = file.as_posix(), room_of(file)
    return [Mutant(name, room, change, *lines_changed(source, change)) for change in changes_in(source)]


def room_of(file: Path) -> str:
    """A folder of the kernel, `kernel` for its files beside them, or a plugin."""
    if file.is_relative_to(KERNEL):
        parts = file.relative_to(KERNEL).parts
        return parts[0] if len(parts) > 1 else "kernel"
    return file.parts[1]


def tests_for(root: Path, file: str) -> list[list[str]]:
    """Selections of tests, the nearest first: those of the module, of its room, of everything that it may concern.

    The tests of a plugin are taken file by file: all of some take longer than one selection may, and would not count.
    """
    path = Path(file)
    if path.is_relative_to(KERNEL):
        folders = path.relative_to(KERNEL).parts[:-1]
        room = root / "tests/kernel" / Path(*folders[:1])  # a package inside of a room is tested there, too
        wide = [
            _ELSEWHERE.get(path.relative_to(KERNEL).as_posix(), []),
            [LAYERS],
            ["tests/projects"],
            [PINS],
            ["tests/kernel/cli", "tests/kernel/state"],
        ]  # most rooms below are reached from there
    else:
        room = root / path.parts[0] / path.parts[1] / "tests"
        is_on_the_page = path.stem.startswith("page")
        wide = [[LAYERS], [PINS], _ACROSS.get(path.parts[1], []), _ON_THE_PAGE if is_on_the_page else []]
    stem = path.stem.strip("_")
    named = sorted({*room.glob(f"test_{stem}*.py"), *room.glob(f"test_{path.parent.name}*{stem}*.py")})
    named.append(room.with_name(f"test_{room.name}.py"))  # a small room has no folder of tests
    parts = [room] if path.is_relative_to(KERNEL) else sorted(room.rglob("test_*.py"))
    stages = [[_relative(root, one) for one in named], *([_relative(root, part)] for part in parts), *wide]
    existing = [[one for one in stage if (root / one).exists()] for stage in stages]
    return [stage for number, stage in enumerate(existing) if stage and stage not in existing[:number]]


def test_files(root: Path, stages: list[list[str]]) -> list[str]:
    """The files that the selections name or hold, each once."""
    places = [root / one for stage in stages for one in stage]
    found = (file for place in places for file in ([place] if place.is_file() else sorted(place.rglob("test_*.py"))))
    return list(dict.fromkeys(_relative(root, file) for file in found))


def is_near(file: str, test: str) -> bool:
    """Whether the test file is of the same room."""
    path = Path(file)
    if path.is_relative_to(KERNEL):
        room = Path("tests/kernel") / path.relative_to(KERNEL).parts[0]
        return Path(test).is_relative_to(room) or test == f"{room.parent}/test_{room.stem}.py"
    return Path(test).is_relative_to(Path(*path.parts[:2]))


def _relative(root: Path, path: Path) -> str:
    return path.relative_to(root).as_posix()


# ------------------------------------------------------------------------------------------------ choosing


def sample(mutants: list[Mutant], size: int, seed: int, only: Iterable[str] = ()) -> list[Mutant]:
    """`size` of them, the same for the same seed: every third a promise, the others from each room in turn."""
    wanted = set(only)
    chosen = [mutant for mutant in mutants if not wanted or {mutant.room, mutant.change.kind} & wanted]
    random.Random(seed).shuffle(chosen)
    promises = [mutant for mutant in chosen if mutant.change.kind in PROMISES]
    others = _in_turn([mutant for mutant in chosen if mutant.change.kind not in PROMISES])
    taken: list[Mutant] = []
    while promises or others:
        taken += [*promises[:1], *others[:2]]
        del promises[:1], others[:2]
    return taken[:size]


def _in_turn(mutants: list[Mutant]) -> list[Mutant]:
    rooms: dict[str, list[Mutant]] = {}
    for mutant in mutants:
        rooms.setdefault(mutant.room, []).append(mutant)
    order = []
    while rooms:
        for room in sorted(rooms):
            order.append(rooms[room].pop())
            if not rooms[room]:
                del rooms[room]
    return order


# ------------------------------------------------------------------------------------------------ equivalents


@dataclass(frozen=True)
class Equivalent:
    """A mutant that behaves as the original does, and why."""

    file: str
    before: str
    after: str
    reason: str

    def is_(self, mutant: Mutant) -> bool:
        return (self.file, self.before, self.after) == (mutant.file, mutant.before, mutant.after)


def equivalents(root: Path) -> list[Equivalent]:
    """Those of `tests/mutants/equivalent.toml`. They are known by their text, so that other lines may move."""
    file = root / "tests/mutants/equivalent.toml"
    if not file.exists():
        return []
    entries = tomllib.loads(file.read_text(encoding="utf-8")).get("mutant", [])
    return [Equivalent(entry["file"], entry["before"], entry["after"], entry["reason"]) for entry in entries]


def files_of(root: Path) -> list[str]:
    """What belongs to the tree: everything that git would take."""
    command = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return [name for name in done.stdout.split("\0") if name and (root / name).is_file()]
    return [_relative(root, path) for path in root.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
