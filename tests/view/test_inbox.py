"""What agents propose is accepted or rejected on the page, on condition, and only if `inbox.confirm` agrees."""

from __future__ import annotations

from tests.view.browsing import Browsing, Window
from tests.view.memory import Home, Page

KEY = "projects/payments/decisions/idempotency-keys.md"
BODY = (
    "# Every request has an idempotency key\n\nThe bank repeats webhooks. <script>document.title='owned'</script>\n"
)
ACCEPT = "article:has-text('idempotency-keys') >> button:has-text('Accept')"


def waiting(home: Home) -> list[str]:
    return sorted(file.name for file in (home.root / "_inbox").glob("*.md") if file.name != "log.md")


def opened(home: Home, page: Page, browsing: Browsing) -> Window:
    window = browsing.window(page)
    assert "Every request has an idempotency key" in window.text()
    assert "owned" not in window.tab.title()
    assert not (home.root / KEY).exists()
    return window


def test_a_proposal_is_accepted_and_becomes_a_note(home: Home, page: Page, browsing: Browsing) -> None:
    home.propose("idempotency-keys", BODY)
    window = opened(home, page, browsing)
    window.tab.click(ACCEPT)
    window.tab.wait_for_selector(".toast >> text=Accepted")
    assert "The bank repeats webhooks." in home.text(KEY)
    assert waiting(home) == []
    window.tab.wait_for_selector("article:has-text('idempotency-keys')", state="detached")
    window.tab.wait_for_selector(".notes a:has-text('Every request has')")
    assert window.said == []


def test_a_proposal_is_rejected_and_leaves_no_note(home: Home, page: Page, browsing: Browsing) -> None:
    home.propose("idempotency-keys", BODY)
    window = opened(home, page, browsing)
    window.tab.click("button:has-text('Reject')")
    window.tab.wait_for_selector(".toast >> text=Rejected")
    assert not (home.root / KEY).exists()
    assert waiting(home) == []
    assert window.said == []


def test_a_proposal_that_changed_since_it_was_shown_is_not_accepted(
    home: Home, page: Page, browsing: Browsing
) -> None:
    home.propose("idempotency-keys", BODY)
    window = opened(home, page, browsing)
    file = home.root / "_inbox" / waiting(home)[0]
    changed = file.read_text().replace("repeats webhooks", "never repeats anything")
    fields = window.tab.evaluate(
        "Object.fromEntries(new FormData(document.querySelector('form[data-action=accept]')))"
    )
    file.write_text(changed)
    answer = window.tab.evaluate(
        """async ([fields, bearer]) => (await fetch("/api/do", { method: "POST",
            headers: { "Content-Type": "application/json", Authorization: `Bearer ${bearer}` },
            body: JSON.stringify({ do: "panel", fields }) })).json()""",
        [{**fields, "panel": "inbox", "action": "accept"}, window.bearer],
    )
    assert "changed or settled meanwhile" in answer["error"]
    assert not (home.root / KEY).exists()
    assert file.read_text() == changed


def test_a_change_of_a_note_is_shown_beside_it(home: Home, page: Page, browsing: Browsing) -> None:
    from agentm_kernel.plugin import content_hash

    target = "projects/payments/conventions/money-is-integers.md"
    now = home.text(target)
    new = now.replace("Never floats.", "Cents, never floats.")
    head = (
        f"---\nproposal: replace\ntarget: {target}\nkind: convention\nexpect: {content_hash(now)}\nby: agent\n---\n\n"
    )
    home.note("_inbox/20261101-101010-money-0001.md", head + new)
    window = browsing.window(page)
    assert "Cents, never floats." in window.tab.inner_text(".sides section >> nth=1")
    window.tab.click("button:has-text('Accept')")
    window.tab.wait_for_selector(".toast >> text=Accepted")
    assert "Cents, never floats." in home.text(target)


def test_the_command_that_has_to_agree_is_asked(home: Home, browsing: Browsing) -> None:
    """`inbox.confirm` guards the page too: a no is a no, and it is given what it is about."""
    home.propose("idempotency-keys", BODY)
    asked = home.path / "asked"
    answer = home.path / "answer"
    answer.write_text("1")
    script = home.path / "confirm"
    script.write_text(f"#!/bin/sh\ncat > {asked}\nexit $(cat {answer})\n")
    script.chmod(0o755)
    home.agentm("config", "set", "inbox.confirm", str(script))
    with Page(home) as page:
        window = opened(home, page, browsing)
        assert str(script) in window.text()
        window.tab.click(ACCEPT)
        window.tab.wait_for_selector("form .failure")
        assert "did not agree" in window.tab.inner_text("form .failure")
        assert not (home.root / KEY).exists()
        assert len(waiting(home)) == 1
        assert "The bank repeats webhooks." in asked.read_text()
        answer.write_text("0")
        window.tab.click(ACCEPT)
        window.tab.wait_for_selector(".toast >> text=Accepted")
        assert "The bank repeats webhooks." in home.text(KEY)


def test_nothing_is_settled_where_the_page_only_shows(home: Home, browsing: Browsing) -> None:
    home.propose("idempotency-keys", BODY)
    with Page(home, "--read-only") as page:
        window = opened(home, page, browsing)
        assert window.tab.locator("main button, main form").count() == 0
