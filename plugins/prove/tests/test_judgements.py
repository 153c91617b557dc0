"""What the trials make of what they see: with workers in this process, some of which tell of a broken build."""

from __future__ import annotations

import io
import json
import os
import queue
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from agentm_kernel.plugin import FileStore
from agentm_prove import cleaner, command, run, syncing
from agentm_prove.report import _drop_older, _without_home, write_report
from agentm_prove.syncing import SyncWatch
from agentm_prove.trial import Broken, Finding, NotTried, Trial, made
from agentm_prove.trials import conflict_copy, durable, eight_writers, full_disk, killed_writers, paused_holder
from agentm_prove.worker import Desk, whole_version
from agentm_prove.worker_handle import Refused, Worker

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

COPY = "decision.sync-conflict-20260102-030405-ABCDEFG.md"


class Near:
    """A worker in this process. `lies` change what it answers, by verb: given the truth, they say something else."""

    def __init__(self, folder: Path, lies: dict[str, Callable[[Any], Any]]) -> None:
        self._answers = io.BytesIO()
        self._desk = Desk(self._answers, str(folder))  # type: ignore[arg-type]
        self._desk._store = FileStore(folder, create_root=True)
        self._lies = lies
        self.waiting: list[Any] = []
        self.limits: list[float | None] = []

    def ask(self, verb: str, *, limit: float | None = None, **arguments: object) -> Any:
        self.send(verb, **arguments)
        return self.answer(limit)

    def send(self, verb: str, **arguments: object) -> None:
        if verb in ("open", "reopen"):
            told: dict[str, Any] = {"done": None}
        else:
            self._answers.seek(0)
            self._answers.truncate()
            self._desk.serve({"verb": verb, **arguments})
            told = json.loads(self._answers.getvalue())
        if "done" in told and verb in self._lies:
            told = {"done": self._lies[verb](told["done"])}
        self.waiting.append(told)

    def answer(self, limit: float | None = None) -> Any:
        self.limits.append(limit)
        told = self.waiting.pop(0)
        if "raised" in told:
            raise Refused(told["raised"], tuple(told["kinds"]), told["message"])
        return told["done"]


class Here:
    """A laboratory whose workers are `Near`: one home, and a store in it."""

    def __init__(self, folder: Path, **lies: Callable[[Any], Any]) -> None:
        self._folder, self._lies = folder / "store", lies
        self.workers: list[Near] = []

    def fresh(self) -> Here:
        return self

    def opened(self, **_options: int) -> Near:
        self.workers.append(Near(self._folder, self._lies))
        return self.workers[-1]

    start = opened


def seen(trial: Callable[[Any], str], laboratory: Any) -> str:
    return made(Trial("trial", "a promise", trial), laboratory).saw


def without_one(text: str) -> str:
    return "\n".join(text.splitlines()[1:])


# ------------------------------------------------------------------------------------------------ trials


@pytest.mark.parametrize(
    ("lies", "saw"),
    [
        ({}, "8 programs added 15 lines each to one note: all 120 are there, each once"),
        ({"read": without_one}, "of 120 lines 1 are lost, 0 are there twice and 0 are damaged"),
        (
            {"read": lambda text: f"{text}{text.splitlines()[0]}\n"},
            "of 120 lines 0 are lost, 1 are there twice and 0 are damaged",
        ),
        (
            {"read": lambda text: text.replace("writer 3 line 4\n", "writer 3 li\n")},
            "of 120 lines 1 are lost, 0 are there twice and 1 are damaged",
        ),
        ({"keys": lambda keys: keys[:-2]}, "of 8 notes that were made beside it, 1 are missing"),
    ],
)
def test_eight_writers_that_lose_something_are_told_apart(tmp_path: Path, lies: Any, saw: str) -> None:
    assert seen(eight_writers.run, Here(tmp_path, **lies)) == saw


def test_eight_writers_at_once_have_half_a_minute_on_a_slow_device(tmp_path: Path) -> None:
    laboratory = Here(tmp_path)
    eight_writers.run(laboratory)  # type: ignore[arg-type]
    first, *others = laboratory.workers
    assert len(others) == 7
    assert first.limits[:2] == [30, 30]
    assert all(worker.limits == [30, 30, 30] for worker in others)


@pytest.mark.parametrize(
    ("text", "said", "saw"),
    [
        (whole_version(7, 400_000), [5, 6, 7], None),
        (whole_version(8, 400_000), [7], None),
        (whole_version(6, 400_000), [5, 6, 7], "version 7 was called saved, and the note held version 6"),
        (whole_version(0, 400_000), [], "version 1 was called saved, and the note held version 0"),
        (whole_version(7, 399_000), [7], "a note was torn: it held 399,000 characters of 1 versions"),
        (
            whole_version(7, 399_000) + whole_version(8, 1_000),
            [7],
            "a note was torn: it held 399,987 characters of 2 versions",
        ),
    ],
)
def test_after_a_kill_the_note_is_one_whole_version_and_none_that_is_older_than_was_said(
    text: str, said: list[int], saw: str | None
) -> None:
    killed = SimpleNamespace(said_so_far=lambda: said)
    found = seen(lambda _: str(killed_writers._judge(text, killed)), None)  # type: ignore[arg-type, func-returns-value]
    assert found == str(saw)


KEPT = "a version that came in meanwhile was kept, and the write refused"


@pytest.mark.parametrize(
    ("lies", "saw"),
    [
        ({}, f"{KEPT}; no sync tool is expected in this kind of store, so its copies were not tried"),
        ({"read": lambda _: "ours"}, "the refused write changed the note all the same"),
        (
            {"facts": lambda _: {"conflict_files": True}},
            "a sync tool's conflict copy was listed as a note",
        ),
        (
            {"facts": lambda _: {"conflict_files": True}, "keys": lambda _: []},
            "a sync tool's conflict copy is not in the list of conflict copies",
        ),
        (
            {
                "facts": lambda _: {"conflict_files": True},
                "keys": lambda _: ["decision.md"],
                "copies": lambda _: [["decision.md", "a conflict copy\n"]],
            },
            f"{KEPT}; a conflict copy is listed as one, and not as a note",
        ),
    ],
)
def test_what_came_from_another_device_is_looked_for(tmp_path: Path, lies: Any, saw: str) -> None:
    assert seen(conflict_copy.run, Here(tmp_path, **lies)) == saw


def test_a_store_that_writes_over_what_came_in_is_broken(tmp_path: Path) -> None:
    class Careless(Near):
        def send(self, verb: str, **arguments: object) -> None:
            super().send(verb, **{**arguments, "after": None} if verb == "write" else arguments)

    laboratory = Here(tmp_path)
    laboratory.opened = lambda **_: Careless(tmp_path / "store", {})  # type: ignore[method-assign]
    assert "was overwritten, although nobody had read it" in seen(conflict_copy.run, laboratory)


@pytest.mark.parametrize(
    ("complaints", "saw"),
    [
        ([], "a new, a changed, a longer and a deleted note: bytes and names were sent to the disk first"),
        ([["a new note", "its name is not there"]], "a new note: its name is not there before it was called done"),
    ],
)
def test_what_was_not_sent_to_the_disk_is_said(tmp_path: Path, complaints: Any, saw: str) -> None:
    assert seen(durable.run, Here(tmp_path, watched_changes=lambda _: complaints)) == saw


def test_a_store_of_files_sends_everything_to_the_disk(tmp_path: Path) -> None:
    assert Near(tmp_path / "store", {}).ask("watched_changes") == []


def test_of_a_store_that_sends_nothing_to_the_disk_each_change_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SyncWatch, "_noting", lambda _watch, real: real)
    file, name = "its bytes were not sent to the disk", "its name was not sent to the disk"
    assert Near(tmp_path / "store", {}).ask("watched_changes") == [
        ["a new note", file],
        ["a new note", name],
        ["a changed note", file],
        ["a changed note", name],
        ["an added line", file],
        ["a deleted note", name],
    ]


@pytest.mark.parametrize(
    ("kind", "state", "saw"),
    [("PermissionError", "not tried", "and your own disk is not filled"), ("AgentmError", "broken", "no room")],
)
def test_where_no_small_disk_can_be_made_the_own_one_is_not_filled(kind: str, state: str, saw: str) -> None:
    def refuse(**_: int) -> None:
        raise Refused(kind, (kind, "Exception"), "no room")

    laboratory = SimpleNamespace(fresh=lambda: SimpleNamespace(opened=refuse))
    finding = made(Trial("full-disk", "a promise", full_disk.run), laboratory)  # type: ignore[arg-type]
    assert (finding.state, saw in finding.saw) == (state, True)


def test_a_paused_writer_whose_turn_was_taken_is_told_by_the_one_who_took_it(tmp_path: Path) -> None:
    class Hasty(Near):
        def hear(self) -> None: ...
        def pause(self) -> None: ...
        def is_silent_for(self, seconds: float) -> bool:
            return seconds < paused_holder.PAUSE

        def send(self, verb: str, **arguments: object) -> None:
            if verb != "hold":
                super().send(verb, **arguments)

    laboratory = Here(tmp_path)
    laboratory.opened = laboratory.start = lambda **_: Hasty(tmp_path / "store", {})  # type: ignore[method-assign]
    assert "although a paused one had the store to itself" in seen(paused_holder.run, laboratory)


@pytest.mark.parametrize(
    ("raised", "state", "saw"),
    [
        (NotTried("there is no shell"), "not tried", "there is no shell"),
        (Broken("a line is lost"), "broken", "a line is lost"),
        (KeyError("x"), "broken", "the trial ended with KeyError: 'x'"),
    ],
)
def test_whatever_goes_wrong_in_a_trial_is_a_finding(raised: Exception, state: str, saw: str) -> None:
    def fail(_laboratory: object) -> str:
        raise raised

    finding = made(Trial("one", "a promise", fail), None)  # type: ignore[arg-type]
    assert (finding.name, finding.promise, finding.state, finding.saw) == ("one", "a promise", state, saw)
    assert 0 <= finding.seconds < 1


# ------------------------------------------------------------------------------------------------ workers


@pytest.fixture
def worker() -> Worker:
    """The near end of a process that is not there; `_heard` is what it said."""
    found = Worker.__new__(Worker)
    found._heard = queue.SimpleQueue()
    found._process = SimpleNamespace(wait=lambda: -9)  # type: ignore[assignment]
    return found


def test_the_answer_of_a_worker_is_what_it_did_or_why_it_was_refused(worker: Worker) -> None:
    for message in (
        {"said": 1},
        {"done": "a text"},
        {"raised": "Full", "kinds": ["Full", "OSError"], "message": "no room"},
    ):
        worker._heard.put(message)
    assert worker.answer() == "a text"
    with pytest.raises(Refused, match="^Full: no room$") as caught:
        worker.answer()
    assert (caught.value.kind, caught.value.kinds, caught.value.message) == ("Full", ("Full", "OSError"), "no room")


def test_a_worker_that_is_silent_or_dead_breaks_the_trial(worker: Worker) -> None:
    with pytest.raises(Broken, match=r"did not answer within 0\.01 s"):
        worker.answer(0.01)
    worker._heard.put(None)
    with pytest.raises(Broken, match="ended by itself, with status -9"):
        worker.answer()


def test_silence_is_told_from_an_answer_which_is_kept(worker: Worker) -> None:
    assert worker.is_silent_for(0.01)
    worker._heard.put({"done": 3})
    assert not worker.is_silent_for(0.01)
    assert worker.answer() == 3


def test_what_a_killed_worker_had_said_is_known(worker: Worker) -> None:
    for message in ({"said": 1}, {"done": None}, {"said": 2}, None):
        worker._heard.put(message)
    assert worker.said_so_far() == [1, 2]


def test_every_call_that_sends_to_the_disk_is_made_and_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[int] = []
    monkeypatch.setattr(os, "fsync", sent.append)
    real = os.fsync
    file, other = tmp_path / "file", tmp_path / "other"
    file.write_text("a")
    other.write_text("b")
    watch = SyncWatch()
    with watch, file.open() as opened:
        os.fsync(opened.fileno())
        assert sent == [opened.fileno()]
    assert os.fsync is real
    assert watch.missing(str(file), None) == []
    assert watch.missing(str(other), str(tmp_path)) == [
        "its bytes were not sent to the disk",
        "its name was not sent to the disk",
    ]
    watch.begin()
    assert watch.missing(str(file), None) == ["its bytes were not sent to the disk"]


def test_the_cleaner_looks_again_at_what_a_dying_worker_may_have_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "left"
    (folder / "1").mkdir(parents=True)
    monkeypatch.setattr(cleaner.sys, "stdin", SimpleNamespace(buffer=io.BytesIO()))
    was_there: list[bool] = []

    def write_once_more(_seconds: float) -> None:
        was_there.append(folder.exists())
        if len(was_there) == 1:
            folder.mkdir()

    monkeypatch.setattr(cleaner.time, "sleep", write_once_more)
    cleaner.main(str(folder))
    assert not folder.exists()
    assert was_there == [False, False]


# ------------------------------------------------------------------------------------------------ what is said

FINDINGS = [
    Finding("one", "nothing is lost", "kept", "all | there", 1.24),
    Finding("two", "nobody waits", "not tried", "no shell", 0.0),
]


def device(home: Path) -> Any:
    record = SimpleNamespace(distribution="agentm-x", version="1.0")
    return SimpleNamespace(home=str(home), state_dir=str(home / "s"), plugins=SimpleNamespace(records=[record] * 2))


def test_a_report_says_what_was_tried_and_not_who_tried_it(tmp_path: Path) -> None:
    remarks = [f"the store at {tmp_path}/notes cannot be used"]
    path = write_report(device(tmp_path), FINDINGS, remarks, "device-local on ext4", None)
    lines = (tmp_path / "s" / "prove" / os.path.basename(path)).read_text().splitlines()
    assert lines[0] == "# agentm prove"
    assert "- store: device-local on ext4" in lines
    assert "- plugins: agentm-x 1.0" in lines
    assert "- note: the store at ~/notes cannot be used" in lines
    assert lines[-4:] == [
        "| trial | outcome | seconds | what was seen |",
        "|---|---|---|---|",
        "| one | kept | 1.2 | all / there |",
        "| two | not tried | 0.0 | no shell |",
    ]


def test_neither_the_home_nor_the_place_of_python_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.prefix", "/opt/of/ana")
    said = f"{tmp_path}/notes /opt/of/ana/bin"
    assert _without_home(said, device(tmp_path)) == "~/notes (python)/bin"
    nobody = SimpleNamespace(home="/")
    assert _without_home("/tmp/x", nobody) == "/tmp/x"  # type: ignore[arg-type]


def test_of_the_reports_the_ten_newest_stay(tmp_path: Path) -> None:
    for number in range(15):
        (tmp_path / f"{number:02}.md").touch()
    (tmp_path / "mine.txt").touch()
    _drop_older(str(tmp_path))
    assert sorted(path.name for path in tmp_path.iterdir()) == [*(f"{n:02}.md" for n in range(6, 15)), "mine.txt"]


@pytest.mark.parametrize("is_terminal", [True, False])
def test_who_watches_is_told_what_goes_on_and_the_outcome_takes_that_line(
    is_terminal: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: is_terminal, raising=False)
    monkeypatch.setattr(command, "terminal_width", lambda: 40)
    command._announce("a promise of many words that is too long for the terminal", as_json=False)
    command._show(
        Finding("one", "a promise", "kept", "it was kept by all of the eight programs", 1.24), as_json=False
    )
    said = capsys.readouterr().out.replace("\033[32m", "").replace("\033[0m", "")
    if is_terminal:
        announced, _, shown = said.partition("\r\033[K")
        assert announced == "  ...          a promise of many words "
        first, *others = shown.splitlines()
        assert first.startswith("ok     1.2 s  a promise: it was kept")
        assert others
        assert all(line.startswith(" " * 14) and len(line) < 40 for line in others)
    else:
        assert said == "ok     1.2 s  a promise: it was kept by all of the eight programs\n"


def test_each_trial_is_announced_when_it_begins_and_shown_when_it_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(command, "_announce", lambda promise, _json: said.append(promise))
    monkeypatch.setattr(command, "_show", lambda finding, _json: said.append(finding.saw))
    trial = Trial("one", "nothing is lost", lambda _: "")
    heard = SimpleNamespace(findings=lambda: iter([(trial, None), (trial, FINDINGS[0])]))
    assert command._try_all(heard, as_json=False) == FINDINGS[:1]  # type: ignore[arg-type]
    assert said == ["nothing is lost", "all | there"]


def test_programs_get_no_line_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    command._announce("a promise", as_json=True)
    command._show(FINDINGS[0], as_json=True)
    assert capsys.readouterr().out == ""


def test_the_last_line_counts_what_came_of_the_trials(capsys: pytest.CaptureFixture[str]) -> None:
    command._conclude(FINDINGS, ("a remark",), 3.6, "/report.md")
    assert capsys.readouterr().out == ("note: a remark\n1 kept, 1 could not be tried here; 4 s; report: /report.md\n")


# ------------------------------------------------------------------------------------------------ a run


@pytest.fixture
def a_run(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A run of three trials in a laboratory that notes what is done in it."""
    done: list[str] = []

    class Laboratory:
        protocol = "device-local"

        def __init__(self, _place: object) -> None: ...
        def __enter__(self) -> Laboratory:
            return self

        def __exit__(self, *_: object) -> None:
            done.append("left")

        def settle_protocol(self, _options: object) -> tuple[str, ...]:
            return ("settled",)

        def end_workers(self) -> None:
            done.append("workers ended")

    def trial(name: str) -> Trial:
        return Trial(name, f"promise {name}", lambda _: done.append(name) or f"saw {name}")  # type: ignore[func-returns-value]

    place = SimpleNamespace(remarks=("beside",), protocol="device-local", file_system="ext4")
    monkeypatch.setattr(run, "STORE_TRIALS", (trial("a"), trial("b")))
    monkeypatch.setattr(run, "HOOK_TRIAL", trial("hook"))
    monkeypatch.setattr(run, "host_trials", lambda _device: [])
    monkeypatch.setattr(run, "Laboratory", Laboratory)
    monkeypatch.setattr(run, "sweep", lambda _places: 2)
    monkeypatch.setattr(run, "places_to_sweep", lambda _device: [])
    monkeypatch.setattr(run, "find_place", lambda _device: place)
    monkeypatch.setattr(run.Run, "_scratch_options", lambda _run, _protocol: {})
    return SimpleNamespace(done=done, of=lambda **which: run.Run(None, **which))  # type: ignore[arg-type]


def test_each_trial_is_announced_made_and_cleaned_up_after(a_run: Any) -> None:
    made_run = a_run.of(with_store=True, with_hosts=True)
    heard = [(trial.name, found and found.saw) for trial, found in made_run.findings()]
    assert heard == [(name, saw) for name in ("a", "b", "hook") for saw in (None, f"saw {name}")]
    assert a_run.done == ["a", "workers ended", "b", "workers ended", "hook", "workers ended", "left"]
    assert made_run.kind == "device-local on ext4"
    assert made_run.remarks == ("what 2 earlier runs had left was removed", "beside", "settled")


def test_only_what_was_asked_for_is_tried(a_run: Any) -> None:
    assert a_run.of(with_store=True, with_hosts=False).names == ["a", "b"]
    assert a_run.of(with_store=False, with_hosts=True).names == ["hook"]
    some = a_run.of(with_store=True, with_hosts=True)
    assert some.keep_only(["b", "c"]) == "c"
    assert some.keep_only(["b"]) is None
    assert some.names == ["b"]
    assert some.keep_only([]) is None
    assert some.names == ["b"]


def test_when_the_minute_is_over_no_further_trial_is_begun(a_run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "_SECONDS", -1.0)
    found = [found for _, found in a_run.of(with_store=True, with_hosts=False).findings() if found]
    assert [one.state for one in found] == ["not tried", "not tried"]
    assert "`agentm prove --only a` tries it" in found[0].saw
    assert a_run.done == ["left"]


def test_where_there_is_no_place_nothing_is_tried_and_each_trial_says_why(
    a_run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "find_place", lambda _device: "no folder can be written to")
    found = [found for _, found in a_run.of(with_store=True, with_hosts=False).findings()]
    told = [(one.state, one.saw, one.seconds) for one in found]
    assert told == [("not tried", "no folder can be written to", 0.0)] * 2
    assert a_run.done == []


def test_the_names_of_the_calls_are_those_of_this_system() -> None:
    assert set(SyncWatch()._real) == {name for name in ("fsync", "fdatasync") if hasattr(syncing.os, name)}
