"""Several tabs of one page ask at the same moment."""

from __future__ import annotations

import os
import threading
import webbrowser
from email.message import Message
from types import SimpleNamespace
from typing import Any

import pytest

from agentm_kernel.plugin import Panel, PluginError
from agentm_view.access import Access, Refused
from agentm_view.command import _close_when_entered
from agentm_view.memory import Memory, asked
from agentm_view.opening import Opener
from agentm_view.watching import Watcher

A_MOMENT = 0.3


class SlowNotes:
    """A notes service that takes until it is told to go on, and counts how often it was asked."""

    def __init__(self) -> None:
        self.asked = 0
        self.has_begun, self.go_on = threading.Event(), threading.Event()

    def notes(self) -> dict[str, Any]:
        self.asked += 1
        self.has_begun.set()
        self.go_on.wait(10)
        return {"notes": [], "problems": [], "unreached": 0}


@pytest.fixture
def memory(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Memory:
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    return Memory(read_only=False, cwd=str(home))


def test_a_list_that_was_begun_before_a_note_was_written_is_made_again(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = SlowNotes()
    monkeypatch.setattr(memory, "notes", lambda: service)
    listing = threading.Thread(target=memory.listing, args=("as it was",))
    listing.start()
    assert service.has_begun.wait(10)
    writing = threading.Thread(target=memory.forget_listing)
    writing.start()
    writing.join(A_MOMENT)
    service.go_on.set()
    for thread in (listing, writing):
        thread.join(10)
    memory.listing("as it was")
    assert service.asked == 2


def test_two_tabs_that_look_at_once_look_once(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    looked = []
    has_begun, go_on = threading.Event(), threading.Event()

    def versions() -> dict[str, str]:
        looked.append(1)
        has_begun.set()
        go_on.wait(10)
        return {}

    watcher = Watcher(memory)
    monkeypatch.setattr(watcher, "_versions", versions)
    tabs = [threading.Thread(target=watcher.look) for _ in range(2)]
    tabs[0].start()
    assert has_begun.wait(10)
    tabs[1].start()
    tabs[1].join(A_MOMENT)
    go_on.set()
    for tab in tabs:
        tab.join(10)
    assert len(looked) == 1


def test_the_oldest_of_more_than_fifty_tabs_has_to_be_opened_anew() -> None:
    def asking(bearer: str) -> Message:
        headers = Message()
        headers["Authorization"] = f"Bearer {bearer}"
        return headers

    access = Access(1)
    bearers = [access.enter(access.new_address().partition("#token=")[2]) for _ in range(51)]
    for bearer in bearers[1:]:
        access.check_bearer(asking(bearer))
    with pytest.raises(Refused):
        access.check_bearer(asking(bearers[0]))


def test_a_panel_is_waited_for_as_long_as_it_may_take_and_no_longer() -> None:
    panel = Panel("slow", "Slow", "more", lambda _query: [])
    go_on = threading.Event()
    threading.Timer(A_MOMENT, go_on.set).start()
    assert asked(panel, lambda: go_on.wait(10)) is True
    never = threading.Event()
    with pytest.raises(PluginError, match="the panel 'Slow' did not answer within 0 s"):
        asked(panel, never.wait, 0.01)
    never.set()


def test_the_file_with_the_token_is_removed_when_somebody_has_entered() -> None:
    happened: list[str] = []
    server = SimpleNamespace(entered=SimpleNamespace(wait=lambda: happened.append("entered")))
    _close_when_entered(server, SimpleNamespace(close=lambda: happened.append("removed")))  # type: ignore[arg-type]
    assert happened == ["entered", "removed"]


@pytest.mark.skipif(os.name == "nt", reason="there are no modes")
def test_the_file_with_the_token_is_for_this_user_alone(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webbrowser.open", lambda _address: True)
    opener = Opener(memory.device())
    before = os.umask(0)
    try:
        assert opener.open("http://127.0.0.1:1/#token=first")
        os.chmod(opener.path, 0o644)
        assert opener.open("http://127.0.0.1:1/#token=secret")
    finally:
        os.umask(before)
    assert os.stat(opener.path).st_mode & 0o777 == 0o600
    assert os.stat(os.path.dirname(opener.path)).st_mode & 0o777 == 0o700
    opener.close()
    assert not os.path.exists(opener.path)


def test_where_there_is_no_browser_that_is_known(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_address: str) -> bool:
        raise webbrowser.Error("could not locate runnable browser")

    monkeypatch.setattr("webbrowser.open", fail)
    assert not Opener(memory.device()).open("http://127.0.0.1:1/#token=secret")


def test_two_pages_that_open_at_once_both_do_whoever_removes_what_a_killed_one_left(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = f"open-{2**22 + 1}.html"  # more processes than a system has
    monkeypatch.setattr("os.listdir", lambda _folder: [left])  # the other page has just removed it
    monkeypatch.setattr("webbrowser.open", lambda _address: True)
    assert Opener(memory.device()).open("http://127.0.0.1:1/#token=secret")
