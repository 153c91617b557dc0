"""On a disk that takes `plan.md` and `Plan.md` for one file, only the spelling that is stored is the note."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from agentm_kernel.files.reading import composed, is_spelled_like_this
from agentm_kernel.files.tree import Directory

if TYPE_CHECKING:
    from pathlib import Path


class Insensitive(Directory):
    """What such a disk answers: every case of a name reaches what is stored under one of them."""

    def __init__(self, stored: dict[str, os.stat_result]) -> None:
        self._stored = stored

    def looks_free(self, name: str) -> bool:
        return self.status(name) is None

    def status(self, name: str) -> os.stat_result | None:
        return next((status for each, status in self._stored.items() if composed(each).lower() == name.lower()), None)

    def names(self) -> list[str]:
        return [*self._stored]


@pytest.mark.parametrize(
    ("stored", "name", "is_it"),
    [
        ("Plan.md", "Plan.md", True),
        ("Plan.md", "plan.md", False),
        ("2026-plan.md", "2026-Plan.md", False),
        ("é-plan.md", "é-Plan.md", False),
        ("e\u0301-plan.md", "é-plan.md", True),
        ("éé", "éé", True),
        ("éÉ", "Éé", False),
        ("2026", "2026", True),
    ],
)
def test_a_name_is_that_of_the_file_which_is_spelled_like_it(
    tmp_path: Path, stored: str, name: str, is_it: bool
) -> None:
    status = os.stat(tmp_path)
    directory = Insensitive({stored: status, "other.md": os.stat(tmp_path.parent)})
    assert is_spelled_like_this(directory, name, status) is is_it


def test_where_case_matters_the_other_case_is_another_file(tmp_path: Path) -> None:
    class Sensitive(Insensitive):
        def status(self, name: str) -> os.stat_result | None:
            return self._stored.get(name)

    plan, other = os.stat(tmp_path), os.stat(tmp_path.parent)
    assert is_spelled_like_this(Sensitive({"plan.md": plan}), "plan.md", plan)
    assert is_spelled_like_this(Sensitive({"plan.md": plan, "Plan.md": other}), "plan.md", plan)
