"""What a person does on the page, without a browser: on condition of what was shown, and with a way back."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from agentm_kernel.plugin import (
    AuthorizationError,
    ConcurrentModificationError,
    FileStore,
    InvalidContentError,
    NotFoundError,
    stamp_store,
)
from agentm_view.answers import Answers
from agentm_view.doing import Doing, status_of
from agentm_view.links import Links
from agentm_view.memory import Memory
from agentm_view.opening import Opener

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("agentm_recall")

KEY = "projects/payments/facts/port.md"
SHOWN = "---\nkind: fact\n---\n\n# The port\n\nIt is 80.\n"


class Page:
    """A page in this process, and the note that it shows."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.file = home / ".agentm" / "memory" / KEY
        self.file.parent.mkdir(parents=True)
        self.file.write_text(SHOWN)
        stamp_store(FileStore(home / ".agentm" / "memory"))
        self.memory = Memory(read_only=False, cwd=str(home))
        self.answers = Answers(self.memory)

    @property
    def hash(self) -> str:
        return str(self.memory.notes().read(KEY)["hash"])

    def does(self, what: str, **fields: str) -> dict[str, Any]:
        status, said = self.answers.do(what, fields)
        assert status == 200, said
        return said

    def screen(self, at: str) -> tuple[int, str, str]:
        status, shown = self.answers.get("screen", {"at": at})
        return status, shown["title"], str(shown["html"])


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Page:
    for name in ("STATE", "CACHE", "CONFIG", "DATA"):
        monkeypatch.delenv(f"XDG_{name}_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return Page(tmp_path)


def test_a_note_is_written_and_taken_back_and_done_again(page: Page) -> None:
    changed = SHOWN.replace("80", "443")
    done = page.does("write", key=KEY, text=changed, expect=page.hash)
    assert (done["said"], done["go"], page.file.read_text()) == ("Saved.", f"/note/{KEY}", changed)
    back = page.does("undo", undo=done["undo"])
    assert (back["said"], back["go"], page.file.read_text()) == ("Taken back.", f"/note/{KEY}", SHOWN)
    page.does("undo", undo=back["undo"])
    assert page.file.read_text() == changed
    with pytest.raises(NotFoundError, match="cannot be taken back here any more"):
        page.does("undo", undo=done["undo"])


def test_a_note_that_stays_the_same_has_no_way_back(page: Page) -> None:
    assert page.does("write", key=KEY, text=SHOWN, expect=page.hash)["undo"] is None


def test_a_new_note_is_written_where_there_is_none(page: Page) -> None:
    key = KEY.replace("port", "host")
    assert page.does("write", key=key, text=SHOWN, expect="absent")["undo"] is None
    assert page.file.with_name("host.md").read_text() == SHOWN


@pytest.mark.parametrize("meanwhile", ["edited", "removed", "made"])
def test_what_somebody_wrote_meanwhile_is_shown_beside_what_the_person_wrote(page: Page, meanwhile: str) -> None:
    expect = page.hash if meanwhile != "made" else "absent"
    theirs = "# The port\n\nTheirs.\n"
    page.file.unlink() if meanwhile == "removed" else page.file.write_text(theirs)
    status, said = page.answers.do("write", {"key": KEY, "text": "# Mine\n", "expect": expect})
    assert (status, said["error"]) == (409, "The note was changed meanwhile.")
    assert "Mine" in said["html"]
    assert page.file.exists() == (meanwhile != "removed")
    assert meanwhile == "removed" or page.file.read_text() == theirs


def test_what_was_changed_since_is_not_taken_back(page: Page) -> None:
    done = page.does("write", key=KEY, text=SHOWN.replace("80", "443"), expect=page.hash)
    page.file.write_text("theirs\n")
    with pytest.raises(ConcurrentModificationError, match="nothing was taken back"):
        page.does("undo", undo=done["undo"])
    assert page.file.read_text() == "theirs\n"


def test_a_note_is_forgotten_and_brought_back(page: Page) -> None:
    expect = page.hash
    done = page.does("status", key=KEY, status="deleted", expect=expect)
    assert (done["said"], done["go"]) == ("Forgotten. Its text is kept.", f"/note/{KEY}")
    assert "status: deleted" in page.file.read_text()
    with pytest.raises(ConcurrentModificationError):
        page.does("status", key=KEY, status="active", expect=expect)
    assert page.does("status", key=KEY, status="active", expect=page.hash)["said"] == "Brought back."
    assert page.does("status", key=KEY, status="superseded", expect=page.hash)["said"] == "Now superseded."


def test_a_note_that_replaces_another_is_saved_only_if_that_is_as_it_was(page: Page) -> None:
    fields = {"kind": "fact", "name": "The new port", "body": "It is 443.", "project": "payments", "supersedes": KEY}
    with pytest.raises(ConcurrentModificationError, match="nothing was saved"):
        page.does("save", **fields, expect="another")
    done = page.does("save", **fields, expect=page.hash)
    assert (done["said"], done["go"]) == ("Saved.", "/note/projects/payments/facts/the-new-port.md")
    assert "443" in page.file.with_name("the-new-port.md").read_text()


def test_only_the_last_fifty_changes_can_be_taken_back_here(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentm_view.doing._KEPT", 2)
    first, *others = [
        page.does("write", key=KEY, text=f"{SHOWN}{number}\n", expect=page.hash)["undo"] for number in range(3)
    ]
    with pytest.raises(NotFoundError):
        page.does("undo", undo=first)
    assert page.does("undo", undo=others[1])["said"] == "Taken back."


def test_what_is_done_in_one_tab_is_told_to_the_others_without_a_look_at_the_store(
    page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentm_view.watching._EVERY", 3600.0)
    before = page.answers.get("screen", {"at": "/notes"})[1]["news"]
    page.does("write", key=KEY, text=SHOWN.replace("# The port", "# The gate"), expect=page.hash)
    after = page.answers.get("screen", {"at": "/notes"})[1]
    assert after["news"] > before
    assert "The gate" in after["html"]


def test_what_the_page_cannot_do_is_refused(page: Page) -> None:
    with pytest.raises(InvalidContentError, match="cannot do 'dance'"):
        page.does("dance")
    with pytest.raises(InvalidContentError, match="sent no 'expect'"):
        page.does("write", key=KEY, text="x")
    with pytest.raises(NotFoundError):
        page.does("panel", panel="none", action="none")
    with pytest.raises(NotFoundError, match="'Proposed by agents' has nothing called 'dance'"):
        page.does("panel", panel="inbox", action="dance")
    reading = Memory(read_only=True, cwd=str(page.home))
    with pytest.raises(AuthorizationError, match="only shows"):
        Doing(reading, Links()).do("write", {}, None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("error", "number"),
    [(NotFoundError, 404), (ConcurrentModificationError, 409), (AuthorizationError, 403), (InvalidContentError, 422)],
)
def test_what_happened_has_a_number_of_http(error: type[NotFoundError], number: int) -> None:
    assert status_of(error("it happened")) == number


def test_every_screen_is_there_and_others_are_not(page: Page) -> None:
    for at, title, shows in [
        ("/", "Today", "The port"),
        ("/notes", "Notes", "The port"),
        ("/projects", "Projects", "payments"),
        ("/project/payments", "payments", "The port"),
        ("/graph", "Graph", ""),
        ("/health", "Health", ""),
        ("/search?q=port", "Search", "The port"),
        (f"/note/{KEY}", "The port", "It is 80."),
        (f"/edit?note={KEY}", "The port", "It is 80."),
        ("/new", "", "form"),
    ]:
        status, said, html = page.screen(at)
        assert (status, title in said, shows in html) == (200, True, True), (at, said)
    for at in ("/none", "/note/", "/note/none.md", "/project/none", "/panel/none", "/edit?note=none.md"):
        assert page.screen(at)[:2] == (404, "Not to be had"), at
    assert page.answers.get("none", {})[0] == 404
    assert page.answers.get("here", {}) == (200, {})
    assert "The port" in page.answers.get("search", {"q": "por"})[1]["html"]


def test_a_page_that_only_shows_has_nothing_to_write_with(page: Page) -> None:
    answers = Answers(Memory(read_only=True, cwd=str(page.home)))
    assert answers.get("menu", {})[1]["read_only"] is True
    for at in ("/new", f"/edit?note={KEY}"):
        assert answers.get("screen", {"at": at})[0] == 404
    assert answers.get("screen", {"at": f"/note/{KEY}"})[0] == 200


def test_a_file_that_a_killed_page_left_goes_and_others_stay(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", lambda address: bool(opened.append(address)) or True)
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    opener = Opener(page.memory.device())
    folder = os.path.dirname(opener.path)
    os.makedirs(folder)
    others = {f"open-{os.getppid()}.html", "open-x.html", f"{ended.pid}.html", f"{ended.pid}"}
    for name in (*others, f"open-{ended.pid}.html"):
        with open(os.path.join(folder, name), "w"):
            pass
    assert opener.open("http://127.0.0.1:1/#token=a&b")
    assert set(os.listdir(folder)) == {*others, os.path.basename(opener.path)}
    assert opened == [f"file://{opener.path}"]
    with open(opener.path) as file:
        assert 'content="0;url=http://127.0.0.1:1/#token=a&amp;b"' in file.read()
    opener.close()
    opener.close()
    assert not os.path.exists(opener.path)
