"""Every screen, in light, in dark and on a phone: seen, read by axe, walked by mouse and by keyboard alone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.view.browsing import Browsing
from tests.view.memory import Home, Page

HOLIDAYS = "projects/payments/facts/bank-holidays.md"
SCREENS = {
    "today": ("/", "Today"),
    "notes": ("/notes", "Notes"),
    "note": ("/note/projects/payments/decisions/retry-with-jitter.md", "Retry with full jitter"),
    "versions": (f"/note/{HOLIDAYS}", "The bank closes on 24 December"),
    "past": ("/note/projects/atlas/decisions/go-1-24.md", "Go 1.24"),
    "edit": ("/edit?note=projects/payments/known-issues/settlement-timeout.md", "Edit Settlement"),
    "new": ("/new", "New note"),
    "search": ("/search?q=retry", "Search"),
    "projects": ("/projects", "Projects"),
    "project": ("/project/payments", "payments"),
    "graph": ("/graph", "Graph"),
    "checkpoints": ("/panel/checkpoints", "Checkpoints"),
    "told": ("/panel/told?host=claude-code&session=5f0c", "What agents were told"),
    "health": ("/health", "Health"),
}
OFTEN = ("today", "note", "search", "edit", "health")
"""What axe looks at in every mode: colours differ there, and little else."""
SHOTS = os.environ.get("AGENTM_PAGE_SHOTS")
"""A folder: then pictures of every screen are put there, for the docs and for whoever reviews them."""


def with_past(home: Home) -> None:
    """A note with an earlier version, two checkpoints, a connected agent with two sessions, and a proposal."""
    save = ("save", "--kind", "fact", "--slug", "bank-holidays")
    home.agentm(*save, input="# The bank closes on 24 December\n\nAlso on 31 December.\n")
    home.agentm("checkpoint", "create", "--reason", "before the migration", "--allow-skipped")
    home.agentm(*save, "--update", input="# The bank closes on 24 December\n\nNot on 31 December any more.\n")
    home.agentm("checkpoint", "create", "--reason", "release 2.1", "--allow-skipped")
    home.connect()
    home.session("5f0c")
    home.session("a91e", arrives=False)
    home.propose("idempotency-keys", "# Every request has an idempotency key\n\nThe bank repeats webhooks.\n")


BEYOND = """Math.max(...Array.from(document.querySelectorAll("#menu [aria-current]"), (link) =>
    link.getBoundingClientRect().right - innerWidth))"""


@pytest.mark.timeout(180)
def test_every_screen_in_light_dark_and_on_a_phone(home: Home, browsing: Browsing, axe: str) -> None:
    with_past(home)
    with Page(home) as page:
        first = browsing.window(page)
        for mode in ("light", "dark", "phone"):
            window = first if mode == "light" else browsing.window(page, mode, bearer=first.bearer)
            for name, (path, title) in SCREENS.items():
                window.go(path)
                assert window.tab.inner_text("main h1").startswith(title), (mode, name)
                wide = window.tab.evaluate("document.documentElement.scrollWidth - innerWidth")
                assert wide <= 0, f"{name} is wider than the window in {mode}"
                beyond = window.tab.evaluate(BEYOND)
                assert beyond <= 0, f"the menu does not show that this is {name} in {mode}"
                if mode == "light" or name in OFTEN:
                    assert window.violations(axe) == [], (mode, name)
                if SHOTS:
                    window.shot(Path(SHOTS) / f"{mode}-{name}.png")
            assert window.said == [], mode
            if window is not first:
                window.context.close()
        first.context.close()


def test_by_mouse_from_the_first_screen_to_a_note_and_back(page: Page, browsing: Browsing) -> None:
    window = browsing.window(page)
    tab = window.tab
    assert "token" not in tab.url
    tab.click("text=Retry with full jitter")
    tab.wait_for_selector("h1:has-text('Retry with full jitter')")
    assert tab.url.endswith("/note/projects/payments/decisions/retry-with-jitter.md")
    assert tab.title() == "Retry with full jitter · agentm"
    tab.click("a:has-text('fixed-delay')")
    tab.wait_for_selector("text=This note was replaced")
    tab.go_back()
    tab.wait_for_selector("h1:has-text('Retry with full jitter')")
    tab.click("aside >> text=payments")
    tab.wait_for_selector("summary:has-text('PLAN.md')")
    assert "settlement over month's end" in window.text(), "the plan is open"
    tab.reload()
    window.settle()
    assert tab.inner_text("h1") == "payments", "a reload keeps the key and the place"
    assert window.said == []


def test_a_note_says_how_long_ago_it_was_confirmed(home: Home, browsing: Browsing) -> None:
    home.agentm("notes", "confirm", "zoom-levels", "--project", "atlas")
    with Page(home) as page:
        window = browsing.window(page)
        window.go("/note/projects/atlas/facts/zoom-levels.md")
        said = window.tab.inner_text("dt:has-text('Verified') + dd")
        assert said.endswith(("now", "ago"))


def test_a_note_says_where_it_came_from(page: Page, browsing: Browsing) -> None:
    window = browsing.window(page)
    window.go("/note/projects/atlas/facts/zoom-levels.md")
    about = window.tab.inner_text("aside")
    assert "claude-mem" in about
    assert "observations/17" in about
    window.go("/note/projects/atlas/facts/zoom-levels")
    assert window.tab.inner_text("h1") == "There are 18 zoom levels", "the name that agents are told will do"


def test_by_keyboard_alone(home: Home, page: Page, browsing: Browsing) -> None:
    """Search, walk the answers, open one, edit it, save, undo: no mouse."""
    window = browsing.window(page)
    tab, key = window.tab, window.tab.keyboard
    key.press("/")
    key.type("settlem")
    tab.wait_for_selector("mark")
    key.press("ArrowDown")
    key.press("Enter")
    tab.wait_for_selector("h1:has-text('Settlement')")
    key.press("e")
    tab.wait_for_selector("textarea")
    while tab.evaluate("document.activeElement.tagName") != "TEXTAREA":
        key.press("Tab")
    key.press("Control+End")
    key.type("Typed by hand.")
    key.press("Control+Enter")
    tab.wait_for_selector(".toast >> text=Saved.")
    assert home.text("projects/payments/known-issues/settlement-timeout.md").endswith("Typed by hand.")
    while tab.evaluate("document.activeElement.textContent") != "Undo":
        key.press("Tab")
    key.press("Enter")
    tab.wait_for_selector(".toast >> text=Taken back.")
    assert not home.text("projects/payments/known-issues/settlement-timeout.md").endswith("Typed by hand.")
    key.press("Escape")
    key.press("g")
    key.press("h")
    tab.wait_for_selector("h1:has-text('Health')")
    key.press("?")
    assert tab.is_visible("dialog#keys")
    key.press("Escape")
    key.press("g")
    key.press("n")
    tab.wait_for_selector("h1:has-text('Notes')")
    key.press("j")
    key.press("j")
    key.press("k")
    assert tab.evaluate("document.activeElement.textContent") == tab.inner_text(".notes a.title >> nth=0")
    assert window.said == []


def test_a_second_tab_gets_the_key_from_the_first(page: Page, browsing: Browsing) -> None:
    window = browsing.window(page)
    other = window.context.new_page()
    other.goto(f"{page.origin}/notes")
    other.wait_for_selector("h1:has-text('Notes')")


def test_an_empty_store_says_what_comes_next(tmp_path: Path, browsing: Browsing) -> None:
    (tmp_path / "home").mkdir()
    with Page(Home(tmp_path / "home")) as page:
        window = browsing.window(page)
        assert "Nothing is remembered yet" in window.text()
        window.tab.click("text=Write the first note")
        window.tab.select_option("select[name=project]", "")
        window.tab.fill("input[name=name]", "First of all")
        window.tab.fill("textarea", "It works.")
        window.tab.click("button:has-text('Save')")
        window.tab.wait_for_selector("article >> text=It works.")
        assert window.said == []
