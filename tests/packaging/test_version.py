"""Everything that is released together has one version, and asks for its neighbours in that version."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.packaging import version

CURRENT = version.version_in(version.modules()[0])


@pytest.mark.parametrize("module", version.modules(), ids=lambda module: module.parent.name)
def test_every_distribution_has_the_version_of_the_kernel(module: Path) -> None:
    assert version.version_in(module) == CURRENT


@pytest.mark.parametrize("text", version.texts_with_ranges(), ids=lambda text: f"{text.parent.name}/{text.name}")
def test_every_range_is_the_one_of_that_version(text: Path) -> None:
    assert version.ranges_in(text) == {version.compatible(CURRENT)}


def test_the_changelog_begins_with_that_version() -> None:
    changelog = (version.REPOSITORY / "CHANGELOG.md").read_text()
    headings = [line for line in changelog.splitlines() if line.startswith("## ")]
    assert headings[0].split()[1] == CURRENT
