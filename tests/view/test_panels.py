"""Panels of the stores: conflicts of a vault settled on the page, history of a git store."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from tests.view.browsing import Browsing
from tests.view.memory import Home, Page

PLAN = "projects/payments/decisions/retry-with-jitter.md"
COPY = "projects/payments/decisions/retry-with-jitter.sync-conflict-20261101-101010-ABCDEFG.md"


@pytest.fixture
def vault(home: Home) -> Home:
    place = home.path / "Vault" / "Agent"
    shutil.copytree(home.root, place)
    (place / "_meta" / "store.json").unlink()
    home.agentm("vault", "init", str(place), "--adopt", "--use")
    home.root = place
    return home


def test_a_conflict_is_shown_side_by_side_and_settled(vault: Home, browsing: Browsing) -> None:
    mine = vault.text(PLAN)
    theirs = mine.replace("at most five times", "at most seven times")
    vault.note(COPY, theirs)
    with Page(vault) as page:
        window = browsing.window(page)
        assert "Syncthing" in window.text()
        assert "at most seven times" in window.tab.inner_text(".sides section >> nth=1")
        vault.note(COPY, theirs + "one more line\n")  # changes after it was shown
        window.tab.click("button:has-text('Take the other version')")
        window.tab.wait_for_selector("text=was changed meanwhile")
        assert vault.text(PLAN) == mine
        window.go("/")
        window.tab.fill("textarea", mine.replace("five times", "six times"))
        window.tab.click("button:has-text('Save what is written here')")
        window.tab.wait_for_selector(".toast >> text=both versions are kept")
        window.tab.wait_for_selector(".sides", state="detached")
        assert "six times" in vault.text(PLAN)
        assert not (vault.root / COPY).exists()
        kept = "".join(file.read_text() for file in (vault.root / "_meta" / "conflicts").rglob("*") if file.is_file())
        assert "five times" in kept
        assert "one more line" in kept
        assert [line for line in window.said if "409" not in line] == []


def test_a_git_store_shows_the_history_of_a_note(home: Home, browsing: Browsing) -> None:
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    place = home.path / "notes"
    (home.path / ".gitconfig").write_text("[user]\n\tname = Ana\n\temail = ana@example.com\n")
    subprocess.run(["git", "init", "-q", "-b", "main", str(place)], check=True, env=home.environ)
    done = home.agentm("git", "init", str(place), "--use", check=False)
    assert done.returncode == 0, done.stderr
    save = ("save", "--kind", "fact", "--slug", "closing")
    home.agentm(*save, input="# Closed\n\nOn 24 December.\n")
    home.agentm("event", "turn-end", check=False)
    home.agentm("git", "sync", check=False)
    home.agentm(*save, "--update", input="# Closed\n\nNever.\n")
    home.agentm("git", "sync", check=False)
    with Page(home) as page:
        window = browsing.window(page)
        window.go("/panel/git")
        assert window.tab.locator(".timeline li").count() >= 1
        window.go("/note/projects/payments/facts/closing.md")
        window.tab.click("section:has-text('History in git') .timeline li:last-child a")
        window.tab.wait_for_selector("text=Bring this version back")
        window.tab.click("text=Bring this version back")
        window.tab.wait_for_selector("text=The two are the same.")
        assert "On 24 December." in (place / "projects/payments/facts/closing.md").read_text()
        assert window.said == []


def test_a_further_store_has_a_page_of_its_own(home: Home, browsing: Browsing) -> None:
    """What is shown, and what is changed, is the store of the project here, or the one that was named; no other."""
    (home.path / "team").mkdir()
    home.agentm("store", "add", "team", "device-local", f"root={home.path / 'team'}")
    home.agentm("project", "use-store", "team", "--move", "--yes")
    home.agentm("save", "--kind", "fact", "--slug", "shared", input="# A fact of the team\n\nShared.\n")
    key = "projects/payments/facts/shared.md"
    with Page(home, store="default") as page:
        window = browsing.window(page)
        assert "agentm --store team view" in window.text()
        assert "A fact of the team" not in window.text()
        window.context.close()
    with Page(home) as page:
        window = browsing.window(page)
        assert "agentm --store team view" not in window.text()
        assert "agentm --store default view" in window.text()
        window.go(f"/edit?note={key}")
        window.tab.fill("textarea", "# A fact of the team\n\nChanged on the page.\n")
        window.tab.click("button:has-text('Save')")
        window.tab.wait_for_selector(".toast >> text=Saved.")
        assert "Changed on the page." in (home.path / "team" / key).read_text()
        assert not (home.root / key).exists()
        assert window.said == []
