"""The page follows what others do, and says so when something it needs is gone."""

from __future__ import annotations

import os
import shutil
import signal
import time
from typing import TYPE_CHECKING

from tests.view.browsing import Browsing
from tests.view.memory import Home, Page

if TYPE_CHECKING:
    from playwright.sync_api import Route

ISSUE = "projects/payments/known-issues/settlement-timeout.md"


def test_what_an_agent_saves_appears_by_itself(home: Home, page: Page, browsing: Browsing) -> None:
    window = browsing.window(page)
    home.agentm("save", "--kind", "fact", "--slug", "ports", input="# The ledger listens on 7001\n\nSince today.\n")
    window.tab.wait_for_selector("text=The ledger listens on 7001")
    window.tab.keyboard.press("/")
    window.tab.keyboard.type("ledger liste")
    window.tab.wait_for_selector("#found a.title:has-text('ledger')")
    window.go(f"/note/{ISSUE}")
    with (home.root / ISSUE).open("a") as file:  # in place: no folder changes
        file.write("\nAppended by a shell.\n")
    window.tab.wait_for_selector("text=Appended by a shell.")
    assert window.said == []


def test_a_look_that_comes_back_late_does_not_take_the_person_back(
    home: Home, page: Page, browsing: Browsing
) -> None:
    """The person is on the way to a note when the page looks at its first screen again, and arrives first."""
    tab = browsing.window(page).tab
    tab.wait_for_timeout(1500)  # what a first look has to say is over
    on_the_way: list[Route] = []
    looking_again: list[Route] = []
    tab.route("**/api/screen?at=%2Fnote*", lambda route: on_the_way.append(route))
    tab.route("**/api/screen?at=%2F", lambda route: looking_again.append(route))
    tab.click("text=Retry with full jitter")
    home.agentm("save", "--kind", "fact", "--slug", "meanwhile", input="# Meanwhile\n")
    while not (on_the_way and looking_again):
        tab.wait_for_timeout(20)
    on_the_way[0].continue_()
    tab.wait_for_selector("h1:has-text('Retry with full jitter')")
    with tab.expect_response("**/api/screen?at=%2F"):
        looking_again[0].continue_()
    tab.wait_for_timeout(200)
    assert tab.inner_text("h1") == "Retry with full jitter"
    assert "/note/" in tab.url


def test_a_screen_that_comes_late_does_not_take_the_focus_from_undo(
    home: Home, page: Page, browsing: Browsing
) -> None:
    """The note is saved, and somebody without a mouse is on the way to taking that back when its screen arrives."""
    window = browsing.window(page)
    window.go(f"/edit?note={ISSUE}")
    tab = window.tab
    coming: list[Route] = []
    tab.wait_for_selector("textarea")
    tab.route("**/api/screen?at=%2Fnote*", lambda route: coming.append(route))
    tab.fill("textarea[data-draft]", "# Settlement\n\nAnother text.\n")
    tab.focus("textarea[data-draft]")
    tab.keyboard.press("Control+Enter")
    tab.focus(".toast button")
    while not coming:
        tab.wait_for_timeout(20)
    coming[0].continue_()
    tab.wait_for_selector("h1:has-text('Settlement')")
    tab.wait_for_timeout(200)
    tab.keyboard.press("Enter")
    tab.wait_for_selector(".toast >> text=Taken back.")
    assert "Another text." not in home.text(ISSUE)


def test_the_server_is_gone(home: Home, browsing: Browsing) -> None:
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # tests in the background of a shell hand that on
        signal.signal(signal.SIGINT, signal.default_int_handler)
    with Page(home) as page:
        window = browsing.window(page)
        window.go(f"/edit?note={ISSUE}")
        window.tab.fill("textarea", "not lost")
        page.process.send_signal(signal.SIGINT)
        begun = time.monotonic()
        assert page.process.wait(timeout=5) == 0
        assert time.monotonic() - begun < 2, "Ctrl-C ends it at once, with a stream open"
        window.tab.wait_for_selector("#trouble >> text=agentm view")
        window.tab.click("button:has-text('Save')")
        assert window.tab.input_value("textarea") == "not lost"


def test_the_store_is_gone_and_comes_back(home: Home, page: Page, browsing: Browsing) -> None:
    home.agentm("save", "--kind", "fact", "--slug", "here", input="# Here\n")  # this device now knows the store
    window = browsing.window(page)
    away = home.root.with_name("elsewhere")
    os.rename(home.root, away)
    window.tab.wait_for_selector("#trouble:visible")
    window.go("/notes")
    assert "hint" not in window.text()
    assert window.tab.locator("main .failure").count() == 1
    window.go("/health")
    assert "not working" in window.text()
    shutil.rmtree(home.root, ignore_errors=True)
    os.rename(away, home.root)
    window.go("/notes")
    assert "Settlement runs time out" in window.text()


def test_a_note_that_is_not_there(page: Page, browsing: Browsing) -> None:
    window = browsing.window(page)
    window.go("/note/projects/payments/facts/never.md")
    assert "never.md" in window.tab.inner_text(".failure")
    window.go("/nowhere")
    assert "there is no screen" in window.tab.inner_text(".failure")


def test_a_plugin_that_fails_is_named_and_the_rest_is_there(home: Home, browsing: Browsing) -> None:
    site = home.path / "site"
    (site / "broken-1.0.dist-info").mkdir(parents=True)
    (site / "broken-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (site / "broken-1.0.dist-info" / "entry_points.txt").write_text("[agentm.plugins.page_panels]\nbroken = broken\n")
    (site / "broken.py").write_text(
        "from agentm_kernel.plugin import Panel, hookimpl\n"
        "def show(query): raise RuntimeError('no luck')\n"
        "@hookimpl\n"
        "def agentm_page_panels(context):\n"
        "    return [Panel('luck', 'Luck', 'decide', show),\n"
        "            Panel('odd', 'Odd', 'today', odd)]\n"
        "def odd(query): return [{'type': 'riddle'}, {'type': 'text', 'text': 'and this'}]\n"
    )
    home.environ["PYTHONPATH"] = str(site)
    with Page(home) as page:
        window = browsing.window(page)
        assert "'Luck' failed: RuntimeError: no luck" in window.text()
        assert "no known type" in window.text()
        assert "and this" in window.text()
        assert "New since yesterday" in window.text()
        assert window.said == []
