"""Giving a project a name of its own."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from agentm_kernel.plugin import AgentmError, ConfigError, InvalidLocatorError
from agentm_kernel.projects import claiming
from agentm_kernel.projects.checkout import identify_project
from agentm_kernel.projects.claiming import declare_slug

if TYPE_CHECKING:
    from pathlib import Path


def test_a_declared_name_is_the_projects_name_from_then_on(tmp_path: Path) -> None:
    path = declare_slug(str(tmp_path), "gadgets")
    assert path == str(tmp_path / ".harness" / "project.json")
    assert identify_project(str(tmp_path)).slug == "gadgets"


def test_everything_else_in_the_file_stays(tmp_path: Path) -> None:
    (tmp_path / ".harness").mkdir()
    path = tmp_path / ".harness" / "project.json"
    path.write_text('{"kept": [1, {"é": null}], "vault_project": "old", "github": {"repo": "o/r"}}')
    declare_slug(str(tmp_path), "gadgets")
    assert json.loads(path.read_text()) == {
        "kept": [1, {"é": None}],
        "vault_project": "gadgets",
        "github": {"repo": "o/r"},
    }


def test_a_file_that_cannot_be_understood_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / ".harness").mkdir()
    path = tmp_path / ".harness" / "project.json"
    path.write_text("{")
    with pytest.raises(ConfigError, match=r"project\.json"):
        declare_slug(str(tmp_path), "gadgets")
    assert path.read_text() == "{"


def test_a_name_that_is_no_plain_name_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    with pytest.raises(InvalidLocatorError):
        declare_slug(str(tmp_path), "a/b")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name == "nt", reason="needs symbolic links")
def test_a_link_that_comes_after_the_look_is_not_written_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    victim, root = tmp_path / "victim", tmp_path / "root"
    victim.mkdir()
    root.mkdir()

    def look_and_be_deceived(root: str) -> None:
        os.symlink(victim, os.path.join(root, ".harness"))

    monkeypatch.setattr(claiming, "refuse_linked_harness", look_and_be_deceived)
    with pytest.raises(AgentmError):
        declare_slug(str(root), "widgets")
    assert os.listdir(victim) == []
