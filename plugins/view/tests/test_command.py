"""`agentm view`: what it says, whom it gives the address to, and how it ends. The server is a stand-in."""

from __future__ import annotations

import errno
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner, Result

from agentm_kernel.plugin import AgentmError
from agentm_view.access import Access
from agentm_view.command import command

if TYPE_CHECKING:
    from agentm_view.memory import Memory

OPENED = "The page is open in your browser, at http://127.0.0.1:4321"
ONCE = "Open this address in your browser; it works once:\n\n    http://127.0.0.1:4321/#token="


@dataclass
class Stage:
    """What the command was seen to do, and what the server does while it serves."""

    has_browser: bool = True
    while_serving: Callable[[Stage], object] = lambda _stage: None
    served: list[tuple[Memory, int]] = field(default_factory=list)
    opened: list[str] = field(default_factory=list)
    closed: threading.Event = field(default_factory=threading.Event)
    entered: threading.Event = field(default_factory=threading.Event)

    def server(self, memory: Memory, port: int) -> SimpleNamespace:
        self.served.append((memory, port))
        return SimpleNamespace(access=Access(4321), entered=self.entered, serve=lambda: self.while_serving(self))

    def opener(self, _device: object) -> SimpleNamespace:
        def opens(address: str) -> bool:
            self.opened.append(address)
            return self.has_browser

        return SimpleNamespace(open=opens, close=self.closed.set)


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    for name in ("STATE", "CACHE", "CONFIG", "DATA"):
        monkeypatch.delenv(f"XDG_{name}_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    stage = Stage()
    monkeypatch.setattr("agentm_view.server.PageServer", stage.server)
    monkeypatch.setattr("agentm_view.opening.Opener", stage.opener)
    yield stage
    stage.entered.set()  # lets the thread go that waits for it


def view(*arguments: str) -> Result:
    return CliRunner().invoke(command, arguments)


def test_the_browser_is_given_the_address_and_the_terminal_is_not(stage: Stage) -> None:
    shown = view().stdout
    assert [address.partition("=")[0] for address in stage.opened] == ["http://127.0.0.1:4321/#token"]
    assert shown == f"{OPENED}\nCtrl-C ends it.\n"


def test_where_no_browser_is_found_the_address_is_shown(stage: Stage) -> None:
    stage.has_browser = False
    shown = view().stdout
    assert shown.startswith(ONCE)
    assert stage.opened[0] in shown


def test_whoever_wants_no_browser_is_shown_the_address(stage: Stage) -> None:
    shown = view("--no-browser").stdout
    assert stage.opened == []
    assert shown.startswith(ONCE)
    assert shown.endswith("\n\nCtrl-C ends it.\n")


def test_a_page_is_for_writing_at_a_free_port_unless_told_otherwise(stage: Stage) -> None:
    view()
    view("--read-only", "--port", "65535")
    assert [(memory.read_only, port) for memory, port in stage.served] == [(False, 0), (True, 65535)]


@pytest.mark.parametrize("port", ["-1", "65536", "http"])
def test_what_is_no_port_is_refused(stage: Stage, port: str) -> None:
    done = view("--port", port)
    assert (done.exit_code, stage.served) == (2, [])
    assert "--port" in done.stderr


def test_a_port_that_cannot_be_used_is_an_error_with_a_way_out(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    def taken(_memory: object, _port: int) -> None:
        raise OSError(errno.EADDRINUSE, "it is in use")

    monkeypatch.setattr("agentm_view.server.PageServer", taken)
    error = view("--port", "80").exception
    assert isinstance(error, AgentmError)
    assert error.message == "port 80 cannot be used: it is in use"
    assert error.hint == "choose another with --port, or leave it out"


def interrupted(_stage: Stage) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("ends", "said"),
    [
        (lambda _stage: None, "The page was not used for a while and has ended.\n"),
        (interrupted, "\nThe page has ended.\n"),
    ],
)
def test_a_page_that_has_ended_says_so_and_leaves_no_file(
    stage: Stage, ends: Callable[[Stage], None], said: str
) -> None:
    stage.while_serving = ends
    done = view()
    assert (done.exit_code, done.stderr) == (0, said)
    assert said not in done.stdout
    assert stage.closed.is_set()


def test_a_page_that_fails_leaves_no_file(stage: Stage) -> None:
    def fails(_stage: Stage) -> None:
        raise RuntimeError("serving failed")

    stage.while_serving = fails
    assert isinstance(view().exception, RuntimeError)
    assert stage.closed.is_set()


def test_the_file_goes_as_soon_as_somebody_has_entered(stage: Stage) -> None:
    def enter(stage: Stage) -> None:
        assert not stage.closed.is_set()
        stage.entered.set()
        assert stage.closed.wait(10)

    stage.while_serving = enter
    assert view().exception is None


class Terminal:
    """Somebody sits there and presses Enter so many times."""

    def __init__(self, times: int, waits: Callable[[], object] = lambda: None) -> None:
        self.has_pressed = threading.Event()
        self._times = times
        self._waits = waits

    def isatty(self) -> bool:
        return True

    def __iter__(self) -> Iterator[str]:
        self._waits()
        yield from ["\n"] * self._times
        self.has_pressed.set()


def test_in_a_terminal_each_enter_makes_another_address(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal(2)
    monkeypatch.setattr("agentm_view.command.sys", SimpleNamespace(stdin=terminal))
    stage.while_serving = lambda _stage: terminal.has_pressed.wait(10) or pytest.fail("nobody reads the terminal")
    first, *others = view().stdout.splitlines()
    assert first == OPENED
    assert others[0] == "Ctrl-C ends it. Enter shows another address."
    assert [line.partition("=")[0] for line in others[1:]] == ["    http://127.0.0.1:4321/#token"] * 2
    assert len(set(others[1:])) == 2


def test_nothing_that_waits_keeps_the_program_from_ending(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = threading.Event()
    terminal = Terminal(0, gone.wait)
    monkeypatch.setattr("agentm_view.command.sys", SimpleNamespace(stdin=terminal))
    before = set(threading.enumerate())
    waiting: list[threading.Thread] = []
    stage.while_serving = lambda _stage: waiting.extend(set(threading.enumerate()) - before)
    view()
    gone.set()
    assert [thread.daemon for thread in waiting] == [True, True]


def test_an_export_is_written_without_a_server_and_said(stage: Stage, tmp_path: Path) -> None:
    done = view("--export", str(tmp_path / "page"))
    assert done.stdout == f"wrote 0 notes to {tmp_path / 'page' / 'index.html'}\n"
    assert (tmp_path / "page" / "index.html").is_file()
    assert stage.served == []
