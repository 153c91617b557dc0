"""What a person changes on the page: on condition, with a way back, and never over somebody else's words."""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.request

import pytest

from tests.view.browsing import Browsing
from tests.view.memory import Home, Page

ISSUE = "projects/payments/known-issues/settlement-timeout.md"
JITTER = "projects/payments/decisions/retry-with-jitter.md"
SECRET = "aws_secret_access_key = " + "wJalrXUtnFEMI/K7MDENG" + "/bPxRfiCYzY3vKq8eTnL2"


def test_a_change_meanwhile_is_shown_beside_what_was_written(home: Home, page: Page, browsing: Browsing) -> None:
    window = browsing.window(page)
    tab = window.tab
    window.go(f"/edit?note={ISSUE}")
    before = home.text(ISSUE)
    home.note(ISSUE, before + "\nFrom an agent.\n")
    tab.wait_for_selector("#meanwhile")  # said while it is written, not only when it is saved
    tab.fill("textarea", before + "\nFrom a person.\n")
    tab.click("button:has-text('Save')")
    tab.wait_for_selector(".sides")
    left, right = (tab.inner_text(f".sides section >> nth={n}") for n in (0, 1))
    assert "From an agent." in left
    assert "From a person." in right
    assert home.text(ISSUE) == before + "\nFrom an agent.\n", "nothing was written"
    assert "From a person." in tab.input_value("textarea"), "nothing was lost"
    tab.fill("textarea", before + "\nFrom an agent.\nFrom a person.\n")
    tab.click("button:has-text('Save this over')")
    tab.wait_for_selector(".toast >> text=Saved.")
    assert home.text(ISSUE) == before + "\nFrom an agent.\nFrom a person.\n"
    refused = [line for line in window.said if "409" not in line]
    assert refused == []


def test_a_note_deleted_meanwhile_is_not_lost(home: Home, page: Page, browsing: Browsing) -> None:
    window = browsing.window(page)
    window.go(f"/edit?note={ISSUE}")
    os.unlink(home.root / ISSUE)
    window.tab.fill("textarea", "---\nstatus: active\n---\n\n# Still here\n")
    window.tab.click("button:has-text('Save')")
    window.tab.wait_for_selector("text=This note is gone")
    window.tab.click("button:has-text('Save it again')")
    window.tab.wait_for_selector("h1:has-text('Still here')")
    assert home.text(ISSUE) == "---\nstatus: active\n---\n\n# Still here\n"


def test_forget_and_undo_and_bring_back(home: Home, page: Page, browsing: Browsing) -> None:
    window = browsing.window(page)
    tab = window.tab
    before = home.text(ISSUE)
    window.go(f"/note/{ISSUE}")
    tab.click("button:has-text('Forget')")
    tab.click("dialog >> text=Cancel")
    assert home.text(ISSUE) == before
    tab.click("button:has-text('Forget')")
    tab.click("#yes")
    tab.wait_for_selector("text=This note is forgotten")
    assert "status: deleted" in home.text(ISSUE)
    tab.click(".toast >> text=Undo")
    tab.wait_for_selector(".toast >> text=Taken back.")
    assert home.text(ISSUE) == before, "byte for byte"
    window.go("/note/projects/atlas/decisions/go-1-24.md")
    tab.click("button:has-text('Bring back')")
    tab.wait_for_selector("button:has-text('Forget')")
    assert "status: active" in home.text("projects/atlas/decisions/go-1-24.md")
    assert window.said == []


def test_replacing_a_note_keeps_the_old_one(home: Home, page: Page, browsing: Browsing) -> None:
    window = browsing.window(page)
    window.go(f"/note/{ISSUE}")
    window.tab.click("text=Replace")
    window.tab.fill("input[name=name]", "settlement is fast")
    window.tab.fill("textarea", "# Settlement is fast now\n\nThe bank has moved.")
    window.tab.click("button:has-text('Save')")
    window.tab.wait_for_selector("h1:has-text('Settlement is fast now')")
    assert "It replaces" in window.text()
    assert "status: superseded" in home.text(ISSUE)
    assert "The bank has moved." in home.text("projects/payments/known-issues/settlement-is-fast.md")
    assert window.said == []


def test_secrets_are_refused_and_what_was_written_stays(home: Home, page: Page, browsing: Browsing) -> None:
    window = browsing.window(page)
    before = home.text(ISSUE)
    window.go(f"/edit?note={ISSUE}")
    window.tab.fill("textarea", before + SECRET)
    window.tab.click("button:has-text('Save')")
    window.tab.wait_for_selector("form .failure")
    assert "secret" in window.tab.inner_text("form .failure")
    assert home.text(ISSUE) == before
    assert window.tab.input_value("textarea").endswith(SECRET)


def test_what_was_not_saved_comes_back(home: Home, page: Page, browsing: Browsing) -> None:
    """Going elsewhere, a reload and a server that is gone take nothing that was typed."""
    window = browsing.window(page)
    window.go(f"/edit?note={ISSUE}")
    window.tab.fill("textarea", "half a thought")
    window.tab.click("#menu >> text=Health")
    window.tab.wait_for_selector("h1:has-text('Health')")
    home.note(ISSUE, home.text(ISSUE) + "\nFrom an agent.\n")
    window.go(f"/edit?note={ISSUE}")
    assert window.tab.input_value("textarea") == "half a thought"
    window.tab.click("button:has-text('Save')")
    window.tab.wait_for_selector(".sides")  # it was written against a text that is not there any more
    window.tab.click("text=Cancel")
    window.tab.wait_for_selector("text=From an agent.")


def test_line_ends_that_a_form_cannot_hold_survive(home: Home, page: Page, browsing: Browsing) -> None:
    window = browsing.window(page)
    home.note(ISSUE, "\ufeff---\r\nstatus: active\r\n---\r\n\r\n# One\r\nlast\nodd")
    window.go(f"/edit?note={ISSUE}")
    shown = window.tab.input_value("textarea")
    window.tab.fill("textarea", shown.replace("# One", "# One and a half"))
    window.tab.click("button:has-text('Save')")
    window.tab.wait_for_selector(".toast")
    assert home.text(ISSUE) == "\ufeff---\r\nstatus: active\r\n---\r\n\r\n# One and a half\r\nlast\nodd"


def test_read_only_shows_and_refuses(home: Home, browsing: Browsing) -> None:
    with Page(home, "--read-only") as page:
        window = browsing.window(page)
        before = home.text(ISSUE)
        window.go(f"/note/{ISSUE}")
        assert window.tab.locator("main button, main .button, main form, main textarea").count() == 0
        window.go(f"/edit?note={ISSUE}")
        assert "there is no screen" in window.text()
        for do, fields in (
            ("write", {"key": ISSUE, "text": "no", "expect": "absent"}),
            ("status", {"key": ISSUE, "status": "deleted", "expect": ""}),
            ("save", {"kind": "fact", "name": "no", "body": "no"}),
            ("panel", {"panel": "checkpoints", "action": "create"}),
        ):
            request = urllib.request.Request(
                f"{page.origin}/api/do",
                json.dumps({"do": do, "fields": fields}).encode(),
                {
                    "Content-Type": "application/json",
                    "Origin": page.origin,
                    "Authorization": f"Bearer {window.bearer}",
                },
            )
            with pytest.raises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(request, timeout=10)
            assert refused.value.code == 403, do
            assert "only shows" in json.loads(refused.value.read())["error"]
            refused.value.close()
        assert home.text(ISSUE) == before


def test_versions_on_the_page_lead_back(home: Home, browsing: Browsing) -> None:
    save = ("save", "--kind", "fact", "--slug", "bank-holidays")
    home.agentm(*save, input="# Closed\n\nOn 24 December.\n")
    home.agentm(*save, "--update", input="# Closed\n\nNever.\n")
    key = "projects/payments/facts/bank-holidays.md"
    with Page(home) as page:
        window = browsing.window(page)
        window.go(f"/note/{key}")
        window.tab.click(".timeline a")
        window.tab.wait_for_selector(".diff .added >> text=Never.")
        assert "On 24 December." in window.tab.inner_text(".diff .gone >> nth=-1")
        window.tab.click("text=Bring this version back")
        window.tab.wait_for_selector("text=The two are the same.")
        assert "On 24 December." in home.text(key)
        window.go("/panel/checkpoints")
        window.tab.click("text=Take a checkpoint now")
        window.tab.wait_for_selector(".timeline >> text=from the page")
        assert window.said == []
