"""The two pipes to the agent host, and the tools for a plan, each by itself and in this process."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from agentm_kernel.plugin import (
    Device,
    InvalidContentError,
    InvalidLocatorError,
    PluginError,
    PluginRecord,
    ToolCall,
    content_hash,
)
from agentm_mcp import channel as channel_module, toolbox
from agentm_mcp.adapters.names import name_of, segment_of
from agentm_mcp.channel import LONGEST, Channel, TooLong
from agentm_mcp.state_tools import PLAN_READ, PROGRESS_APPEND

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


class Pipes:
    """A channel, and the host's two ends of it."""

    def __init__(self) -> None:
        inner, self.to_server = os.pipe()
        self.from_server, outer = os.pipe()
        self.channel = Channel(inner, outer)
        self.ends = [inner, outer, self.to_server, self.from_server]

    def close(self, *ends: int) -> None:
        for end in ends or tuple(self.ends):
            os.close(end)
            self.ends.remove(end)

    def given(self, data: bytes) -> list[bytes | type[TooLong]]:
        """The lines that the server sees of what the host writes before it closes its end."""
        os.write(self.to_server, data)
        self.close(self.to_server)
        return [TooLong if isinstance(line, TooLong) else line for line in self.channel.lines()]

    def sent(self) -> bytes:
        return os.read(self.from_server, 65_536)


@pytest.fixture
def pipes() -> Iterator[Pipes]:
    made = Pipes()
    yield made
    made.close()


def test_a_message_is_a_line_and_blank_ones_are_none(pipes: Pipes) -> None:
    assert pipes.given(b'{"a": 1}\n\n  \n{"b": 2}\r\nthe end') == [b'{"a": 1}', b'{"b": 2}\r', b"the end"]


@pytest.mark.parametrize("chunk", [1, 3, 7, 100])
def test_a_line_that_is_too_long_is_read_over_and_the_next_one_is_not(
    pipes: Pipes, monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    assert LONGEST == 8_388_608
    monkeypatch.setattr(channel_module, "LONGEST", 5)
    monkeypatch.setattr(channel_module, "_CHUNK", chunk)
    given = b"12345\n123456\n1\n" + b"x" * 20 + b"\n12345"
    assert pipes.given(given) == [b"12345", TooLong, b"1", TooLong, b"12345"]


def test_messages_are_written_short_and_whole(pipes: Pipes) -> None:
    pipes.channel.send({"a": ["é", 1]})
    pipes.channel.send({"half": "\ud800"})
    assert pipes.sent() == '{"a":["é",1]}\n{"half":"\\ud800"}\n'.encode()


def test_a_message_that_does_not_fit_at_once_goes_in_parts(pipes: Pipes, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda end, data: write(end, data[:3]))
    pipes.channel.send({"text": "abcdefgh"})
    monkeypatch.undo()
    assert pipes.sent() == b'{"text":"abcdefgh"}\n'


def test_where_nobody_reads_any_more_the_server_ends(pipes: Pipes) -> None:
    os.write(pipes.to_server, b"one\n")
    seen = pipes.channel.lines()
    assert next(seen) == b"one"
    states = [pipes.channel.is_open]
    pipes.close(pipes.from_server)
    pipes.channel.send({"a": 1})
    states.append(pipes.channel.is_open)
    assert states == [True, False]
    assert list(seen) == []
    pipes.channel.send({"a": 2})


def test_a_server_takes_its_pipes_away_from_everything_else(pipes: Pipes) -> None:
    """The descriptors of a process can be looked at in one that does nothing else."""
    errors, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            for end, number in ((pipes.ends[0], 0), (pipes.ends[1], 1), (writing, 2)):
                os.dup2(end, number)
            channel = Channel.of_process()
            os.write(1, b"noise")
            channel.send({"read": os.read(0, 10).decode(), "line": next(channel.lines()).decode()})  # type: ignore[union-attr]
        finally:
            os._exit(0)
    os.write(pipes.to_server, b"asked\n")
    os.waitpid(child, 0)
    os.close(writing)
    assert json.loads(pipes.sent()) == {"read": "", "line": "asked"}
    assert os.read(errors, 100) == b"noise"
    os.close(errors)


# ------------------------------------------------------------------------------------------------ plan and progress


@pytest.fixture
def call(tmp_path: Path) -> Callable[..., ToolCall]:
    project = tmp_path / "widgets"
    (project / ".git").mkdir(parents=True)
    (project / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    device = Device({"HOME": str(tmp_path), "PATH": ""})

    def made(*more: str) -> ToolCall:
        return ToolCall(device, (str(project), *more), "agent", lambda *_: None)

    return made


def test_a_project_without_a_plan_says_so_and_progress_begins_with_its_first_line(
    call: Callable[..., ToolCall],
) -> None:
    nothing: Any = PLAN_READ.function(call())
    assert nothing == {
        "project": "widgets",
        "plan": "PLAN.md",
        "progress": "progress.md",
        "status": "there is no plan and no progress yet",
    }
    saved: Any = PROGRESS_APPEND.function(call(), text="begun")
    assert (saved["status"], saved["project"]) == ("saved", "widgets")
    assert saved["file"].endswith("progress.md")
    PROGRESS_APPEND.function(call(), text="done\n")
    found: Any = PLAN_READ.function(call())
    assert (found["plan_hash"], found["text"]) == (None, "## progress.md\nbegun\ndone")


def test_lines_are_added_below_what_has_no_end_and_the_plan_comes_first(
    call: Callable[..., ToolCall], tmp_path: Path
) -> None:
    folder = tmp_path / "widgets" / ".harness"
    folder.mkdir()
    (folder / "PLAN.md").write_text("# Plan\n\n")
    (folder / "progress.md").write_text("no end")
    PROGRESS_APPEND.function(call(), text="more")
    assert (folder / "progress.md").read_text() == "no end\nmore\n"
    found: Any = PLAN_READ.function(call())
    assert found["text"] == "## PLAN.md\n# Plan\n\n## progress.md\nno end\nmore"
    assert found["plan_hash"] == content_hash("# Plan\n\n")
    assert "status" not in found


def test_where_several_folders_are_open_nobody_guesses_whose_plan_is_meant(call: Callable[..., ToolCall]) -> None:
    asked: tuple[Callable[[], object], ...] = (
        lambda: PLAN_READ.function(call("/b")),
        lambda: PROGRESS_APPEND.function(call("/b"), text="x"),
    )
    for ask in asked:
        with pytest.raises(
            InvalidContentError, match=r"several folders are open \(.*/widgets, /b\), and each"
        ) as told:
            ask()
        assert "--cwd FOLDER" in (told.value.hint or "")


def test_reading_a_plan_only_reads_and_a_line_of_progress_is_needed() -> None:
    assert (PLAN_READ.only_reads, PROGRESS_APPEND.only_reads) == (True, False)
    assert (PLAN_READ.required, PROGRESS_APPEND.required) == ((), ("text",))
    assert PROGRESS_APPEND.parameters["text"] == {"type": "string", "minLength": 1}


def test_a_segment_that_stands_for_no_name_is_not_taken_for_one() -> None:
    assert name_of(segment_of("Tee & Kaffee é")) == "Tee & Kaffee é"
    with pytest.raises(UnicodeDecodeError):
        name_of("%ff")
    for wrong in ("", "\ud800"):
        with pytest.raises(InvalidLocatorError):
            segment_of(wrong)


@pytest.mark.parametrize(("name", "segment"), [("com9", "%63%6f%6d%39"), ("com10", "com10"), ("nul", "%6e%75%6c")])
def test_a_name_that_some_systems_keep_for_devices_is_spelled_otherwise(name: str, segment: str) -> None:
    assert segment_of(name) == segment


def test_a_name_of_a_hundred_and_fifty_letters_can_be_read_and_a_longer_one_is_hashed() -> None:
    assert segment_of("a" * 150) == "a" * 150
    assert segment_of("a" * 151) == "%%" + content_hash("a" * 151)
    assert segment_of("é" * 25) == "%c3%a9" * 25
    assert segment_of("é" * 26).startswith("%%")


def test_a_tool_that_two_distributions_bring_is_neither_s(monkeypatch: pytest.MonkeyPatch) -> None:
    claims = [
        PluginRecord("agentm.tools", "x", "m:T", distribution, "1.0", "", ()) for distribution in ("two", "one")
    ]
    monkeypatch.setattr(toolbox, "permitted", lambda device, group: claims)
    device: Any = None
    with pytest.raises(PluginError, match="the tool 'x' is claimed by one and two"):
        toolbox.find_tool(device, "x")
    assert toolbox.find_tool(device, "y") is None
