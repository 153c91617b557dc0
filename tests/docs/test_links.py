"""A link from one page to another leads somewhere, and every page can be reached from the index."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
_LINK = re.compile(r"\]\((?!https?://|#|mailto:)([^)#\s]+)(?:#[^)]*)?\)")


def targets_of(page: Path) -> list[Path]:
    return [(page.parent / target).resolve() for target in _LINK.findall(page.read_text())]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    assert [str(target) for target in targets_of(page) if not target.exists()] == []


def test_every_page_can_be_reached_from_the_index() -> None:
    reached: set[Path] = set()
    pending = [ROOT / "docs" / "index.md"]
    while pending:
        page = pending.pop()
        if page in reached or page.suffix != ".md" or not page.is_relative_to(ROOT / "docs"):
            continue
        reached.add(page)
        pending += [target for target in targets_of(page) if target.exists()]
    assert set((ROOT / "docs").rglob("*.md")) - reached == set()
