"""Stores in a folder that a sync client writes to as well, and what is found in it afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.faults.wrong_moment import as_client

from agentm_kernel import Locator
from agentm_kernel.files.displaced import DisplacedVersions
from agentm_kernel.files.tree import Directory
from agentm_kernel.plugin import EditedFolder, FileStore, Medium

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pytest

    from agentm_kernel.files.tree import Directory

NOTE = Locator("notes/a.md")

ARRIVALS = {
    "by a rename": as_client,
    "in place": lambda path, text: path.write_text(text),
}


class _Synced(Medium):
    """Keeps other versions where a vault does."""

    def place_for_unseen(self, locator: Locator, digest: str) -> Locator:
        return Locator(f"_meta/conflicts/{locator}/unseen-{digest[:12]}")


class Shared(FileStore):
    def __init__(self, root: Path, **options: Any) -> None:
        super().__init__(root, medium=_Synced(), **options)


class Beside(FileStore):
    """Keeps other versions beside the note."""

    def __init__(self, root: Path) -> None:
        super().__init__(root, medium=EditedFolder())


def kept(root: Path) -> list[str]:
    """The versions that were displaced unseen."""
    return sorted(path.read_text() for path in (root / "_meta" / "conflicts").rglob("unseen-*"))


def leftovers(root: Path) -> list[str]:
    return [path.name for path in root.rglob(".agentm-*")]


def happens_before_rename(monkeypatch: pytest.MonkeyPatch, happens: Callable[[], object]) -> None:
    """At the worst moment of a deletion: everything is compared, and nothing has been moved."""
    real = Directory.replace

    def replace(self: Directory, source: str, target: str) -> None:
        monkeypatch.setattr(Directory, "replace", real)
        happens()
        real(self, source, target)

    monkeypatch.setattr(Directory, "replace", replace)


def when_looked_at(monkeypatch: pytest.MonkeyPatch, happens: Callable[[], object]) -> None:
    """In the next moment after that: the version that had the name is displaced, and about to be looked at."""
    look_at = DisplacedVersions.look_at

    def after(self: DisplacedVersions, *given: Any) -> tuple[str | None, bool | None]:
        monkeypatch.setattr(DisplacedVersions, "look_at", look_at)
        happens()
        return look_at(self, *given)

    monkeypatch.setattr(DisplacedVersions, "look_at", after)
