from __future__ import annotations

from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]

_SOURCE_ROOTS = (REPOSITORY / "kernel", *sorted(REPOSITORY.glob("plugins/*/src")))
_MADE = frozenset({"__pycache__", "build", "dist"})
"""Folders that tools make; hidden ones, apart from the CI's, are theirs too."""


@pytest.fixture(scope="session")
def repository() -> Path:
    return REPOSITORY


@pytest.fixture(scope="session")
def shipped_files() -> dict[str, Path]:
    """Every Python file of the kernel and the plugins, by its module name."""
    return {
        ".".join(file.relative_to(root).with_suffix("").parts).removesuffix(".__init__"): file
        for root in _SOURCE_ROOTS
        for file in sorted(root.rglob("*.py"))
    }


@pytest.fixture(scope="session")
def repository_files() -> list[Path]:
    """Every file that belongs to the repository, whether or not git is there to ask."""
    return [
        file for file in sorted(REPOSITORY.rglob("*")) if file.is_file() and _belongs(file.relative_to(REPOSITORY))
    ]


def _belongs(path: Path) -> bool:
    folders = path.parts[:-1]
    return not any(name in _MADE or (name.startswith(".") and name != ".ci") for name in folders)
