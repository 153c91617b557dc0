"""A project that the store does not know yet is shown nobody else's notes; the operator's own it is."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from agentm_kernel import Locator
from agentm_kernel.plugin import FileStore
from agentm_recall.provider import recall


@pytest.mark.parametrize("claimed", [True, False])
def test_only_a_claimed_place_is_read(tmp_path, monkeypatch, claimed):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    store = FileStore(tmp_path / "store", create_root=True)
    store.write(Locator("projects/widgets/facts/theirs.md"), "---\nkind: fact\n---\n\nTheir port is 8080.\n")
    store.write(Locator("personal/_always-load/mine.md"), "---\nkind: convention\n---\n\nI use tabs.\n")
    here = SimpleNamespace(
        backend=store,
        project_locator=Locator("projects/widgets"),
        slug="widgets",
        is_claimed=claimed,
        store_name=None,
    )

    text = recall(here, phase="work")

    assert ("8080" in text) is claimed
    assert "I use tabs." in text


def test_a_save_that_names_the_project_of_this_directory_claims_it(home):
    saved = home.run(
        "save", "--kind", "decision", "--slug", "sqlite", "--project", "widgets", input="We use SQLite.\n"
    )
    assert saved.returncode == 0, saved.stderr
    assert "example.com/ana/widgets" in (home.root / "projects/widgets/_project.json").read_text()
    assert "We use SQLite." in home.run("recall-here").stdout


def test_a_save_for_another_project_claims_nothing(home):
    home.run(
        "save",
        "--kind",
        "decision",
        "--slug",
        "sqlite",
        "--project",
        "gadgets",
        "--new-project",
        input="We use SQLite.\n",
    )
    assert not (home.root / "projects/gadgets/_project.json").exists()
    assert not (home.root / "projects/widgets").exists()
