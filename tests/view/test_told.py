"""The first screen says what agents were told and whether it arrived."""

from __future__ import annotations

from tests.view.browsing import Browsing
from tests.view.memory import Home, Page


def test_what_agents_were_told_and_whether_it_arrived(home: Home, browsing: Browsing) -> None:
    home.connect()
    text = home.session("one")
    assert "Retry with full jitter" in text
    home.session("two", arrives=False)
    with Page(home) as page:
        window = browsing.window(page)
        told = window.tab.inner_text("section:has(h2:has-text('What agents were told'))")
        assert "Claude Code" in told
        assert "1 of 2 delivered" in told
        assert "arrived" in told
        assert "did not arrive" in told
        assert "agentm log --host claude-code" in told, "what to run when something is missing"
        window.tab.click("li:has(.badge.ok:has-text('arrived')) a")
        window.tab.wait_for_selector(".timeline")
        assert "session one" in window.text()
        window.tab.click(".names a:has-text('retry-with-jitter')")
        window.tab.wait_for_selector("h1:has-text('Retry with full jitter')")
        assert window.said == []


def test_what_a_new_session_is_told_appears_by_itself(home: Home, browsing: Browsing) -> None:
    home.connect()
    with Page(home) as page:
        window = browsing.window(page)
        assert "nothing told yet" in window.text()
        home.session("one")
        window.tab.wait_for_selector("text=1 of 1 delivered")
        assert window.said == []


def test_without_a_connected_agent_the_page_says_how_to_connect_one(page: Page, browsing: Browsing) -> None:
    window = browsing.window(page)
    assert "No agent is connected" in window.text()
    assert "agentm setup" in window.text()
