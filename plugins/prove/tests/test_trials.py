"""Each trial from its first question to its verdict, with workers that answer what a test has them answer."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agentm_prove.trial import Trial, made
from agentm_prove.trials import conflict_copy, full_disk, killed_writers, open_file, paused_holder, unmounted
from agentm_prove.worker import whole_version
from agentm_prove.worker_handle import Refused

FULL = Refused("StorageIOError", ("StorageIOError", "AgentmError", "OSError"), "no room")
ODD = Refused("KeyError", ("KeyError", "Exception"), "odd")


class Scripted:
    """A worker that notes what it is asked. `answers`, by verb: what it says or raises, or a function that does."""

    def __init__(self, **answers: Any) -> None:
        self.answers = answers
        self.asked: list[Any] = []
        self.done: list[str] = []

    def ask(self, verb: str, *, limit: float | None = None, **arguments: Any) -> Any:
        self.asked.append((verb, *([limit] if limit else []), *arguments.values()))
        found = self.answers.get(verb)
        found = found(**arguments) if callable(found) else found
        if isinstance(found, Exception):
            raise found
        return found

    def send(self, verb: str, **arguments: Any) -> None:
        self.asked.append((verb, *arguments.values()))

    def hear(self) -> None:
        self.done.append("heard")

    def answer(self) -> None:
        self.done.append("answered")

    def kill(self) -> None:
        self.done.append("killed")

    def pause(self) -> None:
        self.done.append("paused")

    def go_on(self) -> None:
        self.done.append("went on")

    def is_silent_for(self, seconds: float) -> bool:
        self.done.append(f"silent for {seconds}")
        return bool(self.answers.get("silent", True))

    def said_so_far(self) -> list[int]:
        return [1]


def verdict(trial: Callable[[Any], str], home: Any) -> tuple[str, str]:
    found = made(Trial("one", "a promise", trial), SimpleNamespace(fresh=lambda: home))  # type: ignore[arg-type]
    return found.state, found.saw


# -- a full disk ------------------------------------------------------------------------------------------------

TEXT = "before the disk was full\n" * 1_000


def filled(**answers: Any) -> tuple[Any, Scripted]:
    """A home whose store is on a disk that is full; what is said there may differ."""

    def write(key: str, text: str) -> object:
        return FULL if text.startswith("x") else None

    worker = Scripted(**{"write": write, "add_lines": FULL, "read": TEXT, "keys": ["note.md"], **answers})

    def opened(*, disk_of: int) -> Scripted:
        assert disk_of == 2 * 1024 * 1024
        return worker

    return SimpleNamespace(opened=opened), worker


def test_a_full_disk_is_filled_and_written_to_twice_and_the_note_is_looked_at_each_time() -> None:
    home, worker = filled()
    said = "two writes failed with an error on a full scratch disk, the note stayed whole, and writing works again"
    assert verdict(full_disk.run, home) == ("kept", said)
    assert worker.asked == [
        ("write", "note.md", TEXT),
        ("fill",),
        ("write", "note.md", "x" * 500_000),
        ("read", "note.md"),
        ("add_lines", "note.md", ["y" * 200_000]),
        ("read", "note.md"),
        ("make_room",),
        ("write", "note.md", "after\n"),
        ("keys",),
    ]


@pytest.mark.parametrize(
    ("answers", "saw"),
    [
        ({"write": None}, "a write to a full disk was called done"),
        ({"add_lines": None}, "a write to a full disk was called done"),
        ({"add_lines": ODD}, "a write to a full disk ended with KeyError: odd"),
        ({"read": TEXT[1:]}, "a write that failed for want of room changed the note"),
        ({"keys": ["note.md", "note.tmp"]}, "failed writes left something behind that looks like a note"),
    ],
)
def test_what_a_full_disk_breaks_is_said(answers: dict[str, Any], saw: str) -> None:
    assert verdict(full_disk.run, filled(**answers)[0]) == ("broken", saw)


# -- killed writers ---------------------------------------------------------------------------------------------


class Killing:
    """A home where every writer is a new one, and a clock that goes on by so many seconds with each write."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, seconds: float = 0.1, **answers: Any) -> None:
        self.now = 0.0
        self.slept: list[float] = []
        self.reader = Scripted(
            **{"read": whole_version(3, 400_000), "keys": ["plan.md"], "write": self._write, **answers}
        )
        self.writers: list[Scripted] = []
        self._seconds = seconds
        clock = SimpleNamespace(monotonic=lambda: self.now, sleep=self._sleep)
        monkeypatch.setattr(killed_writers, "time", clock)
        monkeypatch.setattr(killed_writers, "random", SimpleNamespace(random=lambda: 0.5))

    def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.writers[len(self.slept) - 1].done.append("waited for")

    def _write(self, key: str, text: str) -> None:
        assert (key, text) == ("plan.md", whole_version(0, 400_000))
        self.now += self._seconds

    def opened(self) -> Scripted:
        return self.reader

    def start(self) -> Scripted:
        self.writers.append(Scripted())
        return self.writers[-1]


def test_twelve_writers_are_killed_while_they_write(monkeypatch: pytest.MonkeyPatch) -> None:
    home = Killing(monkeypatch)
    said = "12 writers were killed with -9: no note torn, the next writer waited 100 ms at most"
    assert verdict(killed_writers.run, home) == ("kept", said)
    *killed, last = home.writers
    assert len(killed) == 12
    for writer in killed:
        assert writer.asked == [("reopen", 30), ("write_until_killed", "plan.md", 400_000)]
        assert writer.done == ["heard", "waited for", "killed"]
    assert (last.asked, last.done) == ([], ["killed"])
    assert home.slept == [0.015] * 12


def test_on_a_slow_disk_four_are_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert verdict(killed_writers.run, Killing(monkeypatch, 3.0))[1].startswith("4 writers were killed with -9: ")
    assert verdict(killed_writers.run, Killing(monkeypatch, 1.0))[1].startswith("7 writers were killed with -9: ")


def test_what_killed_writers_leave_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    home = Killing(monkeypatch, keys=["plan.md", "plan.tmp", "b"])
    assert verdict(killed_writers.run, home) == (
        "broken",
        "killed writers left 2 things that look like notes: plan.tmp",
    )
    torn = Killing(monkeypatch, read="half")
    assert verdict(killed_writers.run, torn)[1] == "a note was torn: it held 4 characters of 1 versions"


# -- a version of another device --------------------------------------------------------------------------------


def test_an_odd_refusal_of_a_write_over_a_version_that_came_in_is_broken(tmp_path: Path) -> None:
    def write(key: str, text: str, after: str | None = None) -> object:
        return ODD if after else None

    home = SimpleNamespace(opened=lambda: Scripted(write=write, file_of=str(tmp_path / "decision.md")))
    assert verdict(conflict_copy.run, home) == (
        "broken",
        "a write over a version that nobody had read ended with KeyError: odd",
    )


# -- a shell that holds the file open -----------------------------------------------------------------------------


class Shared:
    """A note that a shell really adds lines to, and a worker that keeps its own lines beside it."""

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch, everything: Callable[[str], str]) -> None:
        self._own: list[str] = []
        self.slept: list[float] = []
        monkeypatch.setattr(open_file, "time", SimpleNamespace(sleep=self.slept.append))

        def add(key: str, lines: list[str]) -> None:
            self._own += lines

        def write(key: str, text: str) -> None:
            path.write_text(text)

        self.worker = Scripted(
            write=write,
            file_of=str(path),
            add_lines=add,
            append_lines=add,
            everything=lambda: everything(path.read_text() + "\n".join(self._own)),
        )

    def opened(self) -> Scripted:
        return self.worker


def test_lines_of_a_shell_and_of_agentm_are_counted_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = Shared(tmp_path / "note", monkeypatch, lambda text: text)
    said = "20 lines of a shell and 20 of agentm went into one note: all are in it, or in a listed copy"
    assert verdict(open_file.run, home) == ("kept", said)
    verbs = [asked[0] for asked in home.worker.asked if "lines" in asked[0]]
    assert verbs == ["append_lines", "add_lines"] * 10 + ["add_lines"]
    assert home.worker.asked[-2:] == [("add_lines", "progress.md", ["look 0"]), ("everything",)]
    assert home.slept == []


@pytest.mark.parametrize(
    ("everything", "saw"),
    [
        (lambda text: text.replace("shell line 3\n", ""), "1 of 41 lines are lost, among them 'shell line 3'"),
        (lambda text: text.replace("begin\n", ""), "1 of 41 lines are lost, among them 'begin'"),
        (
            lambda text: text.replace("agentm line 7\n", "agentm li"),
            "half a line was glued to another: 'agentm liagentm line 8'",
        ),
    ],
)
def test_a_line_that_is_not_there_is_looked_for_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, everything: Callable[[str], str], saw: str
) -> None:
    home = Shared(tmp_path / "note", monkeypatch, everything)
    assert verdict(open_file.run, home) == ("broken", saw)
    assert home.slept == [2.3, 2.3]


def test_without_a_shell_it_is_not_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_file, "shutil", SimpleNamespace(which=lambda _name: None))
    home = Shared(tmp_path / "note", monkeypatch, lambda text: text)
    assert verdict(open_file.run, home) == ("not tried", "there is no shell on this system")


# -- a store that is not mounted --------------------------------------------------------------------------------


class Unmounted:
    """A home whose disk can be taken away; its workers refuse, unless a test has them do something else."""

    def __init__(self, folder: Path, **answers: Any) -> None:
        self.place, self.store_folder = str(folder / "disk"), str(folder / "disk" / "store")
        os.makedirs(self.store_folder)
        self.answers = answers
        self.workers: list[Scripted] = []

    def opened(self) -> Scripted:
        return self.start()

    def start(self) -> Scripted:
        def write(key: str, text: str) -> object:
            return None if key == "note.md" else FULL

        self.workers.append(Scripted(**{"write": write, "read": "still here\n", **self.answers}))
        return self.workers[-1]


def test_a_store_that_is_away_is_asked_for_four_times_and_is_whole_when_it_is_back(tmp_path: Path) -> None:
    home = Unmounted(tmp_path)
    (Path(home.store_folder) / "mine").touch()
    said = "reading and writing were refused 4 times, nothing was made, and all was there afterwards"
    assert verdict(unmounted.run, home) == ("kept", said)
    assert (Path(home.store_folder) / "mine").exists()
    assert os.listdir(tmp_path) == ["disk"]
    first, *others = home.workers
    lost = ("write", "lost.md", "lost\n")
    assert first.asked == [("write", "note.md", "still here\n"), lost, lost]
    assert [worker.asked for worker in others] == [[("reopen",), lost]] * 2 + [[("reopen",), ("read", "note.md")]]


def test_what_is_written_where_no_store_is_mounted_is_said(tmp_path: Path) -> None:
    home = Unmounted(tmp_path, write=None)
    state, saw = verdict(unmounted.run, home)
    assert state == "broken"
    assert saw.startswith(
        "a program that had it open found an empty folder in the place of the store, and wrote into"
    )


def test_an_odd_refusal_a_file_and_another_note_are_each_said(tmp_path: Path) -> None:
    odd = Unmounted(tmp_path / "a", reopen=ODD)
    assert verdict(unmounted.run, odd)[1] == (
        "a new program found an empty folder in the place of the store, and got KeyError: odd"
    )

    def make(key: str, text: str) -> object:
        if key == "note.md":
            return None
        (Path(makes.store_folder) / "stray.md").touch()
        return FULL

    makes = Unmounted(tmp_path / "b", write=make)
    assert verdict(unmounted.run, makes)[1] == (
        "a program that had it open made stray.md where the store's disk should have been mounted"
    )
    other = Unmounted(tmp_path / "c", read="another\n")
    assert verdict(unmounted.run, other)[1] == "when the disk was back, the note was another one"


# -- a paused writer ----------------------------------------------------------------------------------------------


def paused(**answers: Any) -> tuple[Any, Scripted, Scripted]:
    waiter = Scripted(**{"read": "the paused one\nthe waiting one\n", **answers})
    holder = Scripted()
    return SimpleNamespace(opened=lambda: waiter, start=lambda: holder), waiter, holder


def test_who_waits_for_a_paused_writer_gets_its_turn_afterwards() -> None:
    home, waiter, holder = paused()
    state, saw = verdict(paused_holder.run, home)
    assert (state, saw) == ("kept", "the other one waited 0.0 s for its turn, and both writes are there")
    assert holder.asked == [("reopen", 30), ("hold", "note.md", "the paused one\n"), ("go on",)]
    assert holder.done == ["heard", "paused", "went on", "answered"]
    assert waiter.asked == [
        ("write", "note.md", "before\n"),
        ("add_lines", "note.md", ["the waiting one"]),
        ("read", "note.md"),
    ]
    assert waiter.done == ["silent for 2.0", "answered"]


def test_a_turn_that_was_taken_and_a_write_that_is_lost_are_broken() -> None:
    state, saw = verdict(paused_holder.run, paused(silent=False)[0])
    assert (state, saw) == (
        "broken",
        "another program wrote after 0.00 s, although a paused one had the store to itself",
    )
    lost = paused(read="the waiting one\n")[0]
    assert verdict(paused_holder.run, lost)[1] == "after both had written, the note held 'the waiting one\\n'"


def test_a_system_that_cannot_pause_a_process_is_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paused_holder, "signal", SimpleNamespace())
    assert verdict(paused_holder.run, paused()[0]) == ("not tried", "this system cannot pause a process")
