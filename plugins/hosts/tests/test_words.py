"""What is said of deliveries, and what is told to agents: the parts that need neither a host nor a store."""

from __future__ import annotations

import json
import os
import stat
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agentm_hosts import compaction, page, prompts, report
from agentm_hosts.adapters import claude_code, codex, copilot, gemini
from agentm_hosts.check import run as checking
from agentm_hosts.check.run import CheckResult, check_host
from agentm_hosts.check.scratch import RUNNERS, Runner, Scratch, run, runner_of
from agentm_hosts.commands import setup
from agentm_hosts.doctor import problems_of
from agentm_hosts.ledger import append, await_session, given_notes, keys_in, was_said
from agentm_hosts.page import _latest, _session, _told
from agentm_hosts.place import Place
from agentm_hosts.report import HostReport, spoken_time
from agentm_hosts.settling import Delivery
from agentm_kernel.plugin import AgentmError

NOW = time.time()


def delivery(status: str = "delivered", session: str = "s1", **fields: Any) -> Delivery:
    known = {"agent": "", "event": "session-start", "receipt": "r", "length": 1, "notes": (), "cwd": "/code/widgets"}
    return Delivery(
        "claude-code",
        **{**known, "time": NOW, "transcript": "", "size": 0, **fields, "session": session},
        status=status,
    )


def reported(**fields: Any) -> HostReport:
    known = {"connected": ("user",), "told": 0, "delivered": 0, "cut": 0, "dropped": 0, "unseen": 0, "last": None}
    return HostReport("x", "X", "promised", None, True, **{**known, **fields}, open_steps=("trust us",), advice=())


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"connected": ()}, "-"),
        ({}, "nothing told yet"),
        ({"unseen": 2, "last": NOW}, "2 told, last WHEN; its transcript does not say what the model got"),
        ({"told": 3, "delivered": 3, "last": NOW}, "3 of 3 delivered, last WHEN"),
        (
            {"told": 6, "delivered": 3, "cut": 2, "dropped": 1, "unseen": 4, "last": NOW},
            "3 of 6 delivered, 2 cut, 1 dropped, last WHEN; 4 more that its transcript does not show",
        ),
    ],
)
def test_deliveries_are_told_in_words(fields: dict[str, Any], words: str) -> None:
    assert reported(**fields).deliveries == words.replace("WHEN", spoken_time(NOW))


def test_a_moment_is_said_as_people_do() -> None:
    assert spoken_time(NOW).startswith("today ")
    long_ago = spoken_time(86_400.0 * 365)
    assert long_ago.startswith(("1970-12-31 ", "1971-01-01 "))
    assert len(long_ago) == len("1971-01-01 00:00")


@pytest.mark.parametrize(
    ("last", "times", "is_said"),
    [(161, [], True), (160, [], False), (161, [101], False), (161, [100], True)],
)
def test_a_session_that_ran_without_our_hooks_is_said_unless_one_was_told_since(
    last: float, times: list[float], is_said: bool
) -> None:
    adapter = SimpleNamespace(
        name="x",
        open_steps=lambda place: ["trust us"],
        last_session=lambda folder: last,
        user_folder=lambda device: "",
    )
    lines = [delivery(time=moment) for moment in times]
    steps = report._open_steps(None, adapter, {"user": 100.0, "project": 50.0}, lines, None)
    assert steps[0] == "trust us"
    assert (len(steps) == 2) is is_said
    assert report._open_steps(None, adapter, {}, lines, None) == []


def test_a_host_that_cannot_be_asked_is_said_to_be() -> None:
    def fails(place: object) -> list[str]:
        raise OSError("gone")

    adapter = SimpleNamespace(name="x", open_steps=fails)
    said = "it cannot be asked: the adapter 'x' failed in saying what is open: OSError: gone"
    assert report._open_steps(None, adapter, {"user": 1.0}, [], None) == [said]


@pytest.mark.parametrize(("fields", "is_said"), [({}, False), ({"cut": 1}, True), ({"dropped": 1}, True)])
def test_what_does_not_arrive_is_a_problem_beside_what_is_left_to_the_user(
    fields: dict[str, int], is_said: bool
) -> None:
    said = ["not everything arrives: `agentm log --host claude-code` shows what"] * is_said
    assert problems_of(claude_code.ADAPTER, reported(**fields)) == [*said, "trust us"]


def test_setup_offers_what_importers_find_and_passes_over_those_that_cannot_look(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    places = {"one": [("/a", 1, "x"), ("/b", 2, "x")], "odd": [("/c",)], "none": []}

    def load(device: object, group: str, name: str) -> Any:
        assert group == "agentm.importers"
        return SimpleNamespace(detect=lambda device: places[name])

    monkeypatch.setattr(setup, "load_plugin", load)
    records = [SimpleNamespace(name=name, group="agentm.importers") for name in places]
    device = SimpleNamespace(plugins=SimpleNamespace(of=lambda group: records if group == "agentm.importers" else []))
    assert setup._offer_imports(device) == [
        {"source": "one", "path": "/a", "memories": 1},
        {"source": "one", "path": "/b", "memories": 2},
    ]
    assert (
        capsys.readouterr()
        .out.replace("\n", " ")
        .split("  ")[0]
        .startswith("/a holds about 1 memory: `agentm import one --dry-run` shows them /b holds about 2 memories: ")
    )


# ------------------------------------------------------------------------------------------------ the page


def pairs(*lines: Delivery) -> list[tuple[Any, Delivery]]:
    return [(claude_code.ADAPTER, line) for line in lines]


def test_the_page_has_a_line_for_each_session_with_the_worst_that_became_of_it() -> None:
    told = pairs(
        delivery(notes=("a", "b"), time=5.0),
        delivery("cut", notes=("b",), time=4.0),
        delivery(session="s2", cwd="", time=3.0),
        delivery("pending", session="", notes=("c",), time=2.0),
    )
    heading, block = _latest(told)
    assert heading == {"type": "heading", "text": "Latest sessions"}
    assert block == {
        "type": "rows",
        "rows": [
            {
                "status": "warn",
                "badge": "cut short",
                "label": "Claude Code in widgets",
                "text": "2 texts with 2 notes",
                "time": 5.0,
                "open": {"host": "claude-code", "session": "s1"},
            },
            {
                "status": "ok",
                "badge": "arrived",
                "label": "Claude Code in an unknown folder",
                "text": "1 text with 0 notes",
                "time": 3.0,
                "open": {"host": "claude-code", "session": "s2"},
            },
            {
                "status": "info",
                "badge": "not seen yet",
                "label": "Claude Code in widgets",
                "text": "1 text with 1 note",
                "time": 2.0,
                "open": None,
            },
        ],
    }
    assert _latest([]) == []
    many = _latest(pairs(*(delivery(session=str(number)) for number in range(7))))
    assert len(many[1]["rows"]) == 6


@pytest.mark.parametrize(
    ("statuses", "badge"),
    [
        (("delivered", "unknown"), "cannot be told"),
        (("unknown", "pending"), "not seen yet"),
        (("cut", "dropped"), "did not arrive"),
    ],
)
def test_of_two_things_that_became_of_a_session_the_worse_is_shown(statuses: tuple[str, ...], badge: str) -> None:
    assert _latest(pairs(*map(delivery, statuses)))[1]["rows"][0]["badge"] == badge


def test_a_session_on_the_page_shows_everything_that_it_was_told() -> None:
    where, line, *more = _session(
        pairs(delivery(notes=("a",), length=1_234), delivery("dropped", event="prompt"), delivery("odd", event="odd"))
    )
    assert where == {"type": "text", "text": "Claude Code, session s1, in /code/widgets.", "quiet": True}
    assert line == {
        "type": "timeline",
        "items": [
            {
                "time": NOW,
                "title": "1,234 characters when the session began",
                "status": "ok",
                "badge": "arrived",
                "notes": ["a"],
                "text": "",
            },
            {
                "time": NOW,
                "title": "1 character with a prompt",
                "status": "fail",
                "badge": "did not arrive",
                "notes": [],
                "text": "The state of the project, and no note.",
            },
            {
                "time": NOW,
                "title": "1 character odd",
                "status": "info",
                "badge": "odd",
                "notes": [],
                "text": "The state of the project, and no note.",
            },
        ],
    }
    assert more == []
    assert _session([]) == [{"type": "text", "text": "Nothing is known of this session any more."}]
    assert "in an unknown folder." in _session(pairs(delivery(cwd="")))[0]["text"]
    assert len(_session(pairs(*[delivery()] * 200))) == 2
    *_, older = _session(pairs(*[delivery()] * 201))
    assert older == {"type": "text", "text": "1 older ones: `agentm log`", "quiet": True}


def test_the_page_shows_connected_hosts_or_how_to_connect_one(monkeypatch: pytest.MonkeyPatch) -> None:
    hosts = {
        "claude-code": [delivery(time=2.0), delivery(receipt="", time=9.0)],
        "codex": [delivery(session="s9", time=3.0)],
    }
    scopes: dict[str, dict[str, float]] = {}
    asked: list[float] = []
    found = {"claude-code": reported(told=1, delivered=1, last=NOW), "codex": reported(), "gemini": reported(told=2)}

    def report_of(device: object, adapter: Any, *, patience: float) -> HostReport:
        asked.append(patience)
        return found[adapter.name]

    monkeypatch.setattr(
        "agentm_hosts.connecting.adapters", lambda device: [claude_code.ADAPTER, codex.ADAPTER, gemini.ADAPTER]
    )
    monkeypatch.setattr("agentm_hosts.connecting.connected_scopes", lambda state, name: scopes.get(name, {}))
    monkeypatch.setattr(
        "agentm_hosts.settling.settle", lambda device, adapter, *, seconds: hosts[adapter.name] * (seconds == 1.0)
    )
    monkeypatch.setattr("agentm_hosts.report.report_of", report_of)
    problems = {"gemini": ["trust us"]}
    monkeypatch.setattr("agentm_hosts.doctor.problems_of", lambda adapter, found: problems.get(adapter.name, []))
    device = SimpleNamespace(state_dir="")
    ((nobody,),) = ([block["rows"][0] for block in _told(device, {})],)
    assert (nobody["status"], nobody["label"]) == ("info", "No agent is connected")
    scopes.update({name: {"user": 1.0} for name in ("claude-code", "codex")})
    rows, _, sessions = _told(device, {})
    assert [row["time"] for row in sessions["rows"]] == [3.0, 2.0], "the newest first, and silence is no session"
    assert rows["rows"] == [
        {
            "status": "ok",
            "badge": None,
            "label": "Claude Code",
            "text": found["claude-code"].deliveries,
            "hint": None,
        },
        {"status": "info", "badge": "connected", "label": "Codex", "text": "nothing told yet", "hint": None},
    ]
    assert asked == [0, 0], "no host is asked for a page"
    assert page._host(device, gemini.ADAPTER) == {
        "status": "warn",
        "badge": None,
        "label": "Gemini CLI",
        "text": found["gemini"].deliveries,
        "hint": "trust us",
    }
    one = _told(device, {"host": "codex", "session": "s9"})
    assert one[0]["text"].startswith("Codex, session s9")
    assert _told(device, {"host": "claude-code", "session": "s9"}) == _session([])


# ------------------------------------------------------------------------------------------------ the ledger


def test_the_key_of_a_note_is_what_stands_before_its_facts() -> None:
    def key(head: str) -> list[str]:
        return keys_in(f"x\n```note\n{head}\ntext\n```\n")

    assert key("facts/tea.md") == ["facts/tea.md"]
    assert key("facts/tea.md (updated today)") == ["facts/tea.md"]
    assert key("facts/tea (hot).md (updated today)") == ["facts/tea"]
    assert key("facts/tea.md (a, b) (c)") == ["facts/tea.md"]
    assert key("facts/tea, hot.md (updated today)") == ["facts/tea, hot.md"]
    assert key('fa"cts/' + "x" * 400) == ["facts/" + "x" * 293]
    assert keys_in("x ```note\nno\n````note\nyes") == ["yes"]


def line(session: str, event: str, *notes: str, length: int = 1) -> str:
    listed = ", ".join(json.dumps(note) for note in notes)
    return f'{{"session": "{session}", "event": "{event}", "length": {length}, "notes": [{listed}]}}\n'


def test_a_session_is_known_to_have_what_it_was_given_since_it_began(tmp_path: Path) -> None:
    state = str(tmp_path)
    assert tuple(given_notes(state, "x", "s1")) == ()
    for text in (
        line("s1", "session-start", "old.md"),
        line("s1", "session-start", "a.md", "b.md"),
        line("s2", "session-start", "other.md"),
        line("s1", "prompt", "b.md", "c é.md"),
        line("", "prompt", "nobody.md"),
    ):
        append(state, "x", text)
    assert tuple(given_notes(state, "x", "s1")) == ("a.md", "b.md", "c é.md")
    assert tuple(given_notes(state, "x", "")) == ()
    append(state, "x", line("s1", "post-compact", "d.md"))
    assert tuple(given_notes(state, "x", "s1")) == ("d.md",)
    assert tuple(given_notes(state, "y", "s1")) == ()


def test_a_session_that_was_answered_is_not_reminded_again(tmp_path: Path) -> None:
    state = str(tmp_path)
    append(state, "x", line("s1", "turn-end", length=0))
    assert not was_said(state, "x", "s1", "turn-end")
    append(state, "x", line("s1", "turn-end", length=10))
    assert was_said(state, "x", "s1", "turn-end")
    assert not was_said(state, "x", "s1", "prompt")
    assert not was_said(state, "x", "s2", "turn-end")


def test_a_first_prompt_waits_for_the_start_of_its_session_and_no_longer(tmp_path: Path) -> None:
    begun = time.monotonic()
    await_session(str(tmp_path), "x", "s1", 0.1)
    assert 0.1 <= time.monotonic() - begun < 5
    append(str(tmp_path), "x", line("s1", "session-start"))
    begun = time.monotonic()
    await_session(str(tmp_path), "x", "s1", 30)
    assert time.monotonic() - begun < 5


# ------------------------------------------------------------------------------------------------ what is told


def test_the_words_of_a_text_are_those_that_say_what_it_is_about() -> None:
    assert prompts.words("Which ponds are served by the DB, and 10 herons?") == {"pond", "serv", "heron"}
    assert prompts.words("logging flies boxes baked cats lake bees") == {
        "logg",
        "fli",
        "box",
        "bak",
        "cat",
        "lak",
        "bee",
    }


def test_notes_are_found_with_their_fences() -> None:
    text = "x\n```note\na\n```\n````note\nb\n```\nc\n````\n```\nnone\n```\n```note\nopen"
    assert list(prompts.notes_of(text)) == ["```note\na\n```", "````note\nb\n```\nc\n````"]


def note(key: str, words: str) -> str:
    return f"```note\n{key}\n{words}\n```"


def test_without_a_provider_that_answers_the_notes_with_half_of_the_words_do(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    found = [
        note("personal/_always-load/a.md", "heron pond"),
        note("known.md", "heron pond"),
        note("one.md", "heron pond"),
        note("half.md", "heron lake"),
        note("none.md", "something else"),
        note("three.md", "pond"),
        note("four.md", "heron pond"),
    ]

    def recall_here(payload: object, *, query: str, limit: int, device: object) -> str:
        asked.append((payload, query, limit, device))
        return "\n".join(found)

    monkeypatch.setattr("agentm_kernel.recall_here", recall_here)
    monkeypatch.setattr(prompts, "given_notes", lambda state, host, session: {"known.md": ""})
    config: dict[str, Any] = {}
    device = SimpleNamespace(config=config, state_dir="")
    call: Any = SimpleNamespace(device=device, cwd="/w", host="x", recall=lambda *given: None, time_left=0)

    def answered(prompt: str, tokens: int = 600) -> list[str]:
        text = prompts.answers(call, "s1", prompt, tokens)
        assert not text or text.startswith("[agentm] From this project's memory:\n")
        return keys_in(text)

    assert answered("The heron pond?") == ["one.md", "half.md", "three.md"]
    assert asked == [({"cwd": "/w"}, "heron pond", 3600, device)]
    room = len(found[2]) + len(found[3])
    assert answered("heron pond", tokens=(room + 3) // 4) == ["one.md", "half.md"]
    assert answered("heron pond", tokens=room // 4 - 1) == ["one.md"]
    assert answered("and the") == answered("  ") == []
    assert answered("lamp table chair") == []
    config["plugins.hosts.prompt"] = False
    assert answered("The heron pond?") == []
    config.clear()
    call.recall = lambda prompt, tokens, known: f"{prompt} {tokens} {known}\n\n"
    assert prompts.answers(call, "s1", "Why?", 600) == "Why? 600 ('known.md',)"


@pytest.mark.parametrize(
    ("text", "status", "body"),
    [
        ("Text\n", "", "Text\n"),
        ('---\nkind: x\nstatus: "Deleted" # why\n---\nText\n', "deleted", "Text\n"),
        ("\ufeff---\r\nstatus: active\r\n---\r\nText\r\n", "active", "Text\n"),
        ("---\nkind: x\n---\nstatus: deleted\n", "", "status: deleted\n"),
    ],
)
def test_the_status_of_a_question_is_read_as_people_write_it(text: str, status: str, body: str) -> None:
    assert compaction._status_and_body(text) == (status, body)


def test_a_plan_is_cut_at_a_line_and_says_so() -> None:
    assert compaction._head("abcd", 4) == "abcd"
    assert compaction._head("ab\ncd\nef", 7) == "ab\ncd\n[…]"
    assert compaction._head("abcdef", 4) == "abcd[…]"
    assert compaction._tail("abcd", 4) == "abcd"
    assert compaction._tail("ab\ncd\nef", 5) == "[…]\nef"
    for most in (compaction._PLAN, compaction._PROGRESS):
        assert most in (3_000, 1_500), "as much as a summariser can carry along"
    assert compaction._fenced("a\t`b`\n````\r\n\n") == "`````\na   `b`\n````\n`````"


# ------------------------------------------------------------------------------------------------ the check


def scratch(tmp_path: Path) -> Scratch:
    (tmp_path / "project").mkdir()
    return Scratch(str(tmp_path / "home"), str(tmp_path / "project"), "http://127.0.0.1:1")


def test_each_program_is_checked_with_the_stub_for_a_model_and_no_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "a real one")
    monkeypatch.setenv("OPENAI_API_KEY", "another")
    given = scratch(tmp_path)
    stub, key = given.stub, "no-real-key"
    common = {"HOME": given.home, "NO_COLOR": "1", "CI": "1", "PATH": os.environ["PATH"]}
    own = {
        "claude-code": {
            "ANTHROPIC_BASE_URL": stub,
            "ANTHROPIC_API_KEY": key,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
        },
        "codex": {"STUB_KEY": key},
        "gemini": {"GOOGLE_GEMINI_BASE_URL": stub, "GEMINI_API_KEY": key, "GEMINI_TELEMETRY_ENABLED": "false"},
        "copilot": {
            "COPILOT_OFFLINE": "true",
            "COPILOT_PROVIDER_TYPE": "openai",
            "COPILOT_PROVIDER_BASE_URL": f"{stub}/v1",
            "COPILOT_PROVIDER_API_KEY": key,
            "COPILOT_MODEL": "stub",
        },
    }
    for host, expected in own.items():
        environ = RUNNERS[host].environ(given)
        kept = {"LANG", "LC_ALL", "TERM", "TMPDIR", "LD_LIBRARY_PATH", "NODE_EXTRA_CA_CERTS"}
        assert {name: value for name, value in environ.items() if name not in kept} == {**common, **expected}


def test_what_a_user_would_grant_by_hand_is_granted_in_the_scratch_home(tmp_path: Path) -> None:
    given = scratch(tmp_path)
    place = Place(given.home, {}, "/bin/agentm", str(tmp_path / "state"))
    for host in RUNNERS:
        RUNNERS[host].prepare(given)
        RUNNERS[host].grant(given, place)
    home = Path(given.home)
    assert json.loads((home / ".claude.json").read_text()) == {"hasCompletedOnboarding": True}
    assert json.loads((home / ".gemini/trustedFolders.json").read_text()) == {given.project: "TRUST_FOLDER"}
    assert json.loads((home / ".copilot/config.json").read_text()) == {"trusted_folders": [given.project]}
    assert f'base_url = "{given.stub}/v1"' in (home / ".codex/config.toml").read_text()
    trusted = Place(given.home, {"PATH": ""}, "/bin/agentm", str(tmp_path / "state"))
    assert codex.ADAPTER.open_steps(trusted) == [], "by its own file, Codex trusts all of our hooks"


def test_a_program_that_does_not_end_is_ended_with_what_it_started(tmp_path: Path) -> None:
    given = scratch(tmp_path)
    script = "import os, sys; print(os.getcwd(), sys.argv[1:], sys.stdin.read()); sys.stdout.flush(); sys.exit('e')"
    plain = Runner(lambda _: None, lambda program, prompt: [program, "-c", script, prompt], lambda one: one.environ())
    ran = run(plain, sys.executable, given, "why", "more")
    assert (ran.code, ran.output) == (1, f"{given.project} ['why', 'more'] \ne\n")
    slow = Runner(
        lambda _: None,
        lambda program, prompt: ["sh", "-c", "echo begun; sleep 60 & sleep 60"],
        lambda one: one.environ(),
    )
    ran = run(slow, "sh", given, "why", seconds=0.5)
    assert (ran.code, ran.output) == (None, "begun\n")
    assert 0.5 <= ran.seconds < 20


def test_a_host_that_nobody_can_run_is_named_with_those_that_can() -> None:
    with pytest.raises(AgentmError, match="cursor cannot be checked") as refused:
        runner_of("cursor")
    assert refused.value.hint == "these can: claude-code, codex, copilot, gemini"


PROOF = "not part of this proof: your own trust in hooks and folders, and managed settings"


@pytest.mark.parametrize(
    ("fields", "lines", "has_arrived"),
    [
        ({"cannot": "why"}, ["x: cannot check: why"], False),
        (
            {"places": ("a", "b"), "seconds": 1.25, "status": "delivered"},
            ["x: the note reached the model in a, b, after 1.2 s", "its transcript says: delivered"],
            True,
        ),
        ({}, ["x: the model was asked, and the note was not there"], False),
    ],
)
def test_a_check_says_what_it_proved(fields: dict[str, Any], lines: list[str], has_arrived: bool) -> None:
    alone = CheckResult("x", "/bin/x", True, **fields)
    assert alone.lines() == [*lines, PROOF]
    assert alone.as_json()["has_arrived"] is has_arrived
    network = "the network was not prevented: this system lets no program be without one"
    assert CheckResult("x", "/bin/x", False, **fields).lines() == [*lines, network, PROOF]


PROGRAM = r"""#!{python} -P
import json, os, subprocess, sys, urllib.request
if {silent}:
    sys.exit("no model for me")
settings = json.load(open(os.path.expanduser("~/.claude/settings.json")))
(handler,) = settings["hooks"]["UserPromptSubmit"][0]["hooks"]
transcript = os.path.expanduser("~/transcript.jsonl")
asked = json.dumps({{"session_id": "s1", "prompt": sys.argv[2], "transcript_path": transcript}})
told = subprocess.run([handler["command"], *handler["args"]], input=asked, capture_output=True, text=True).stdout
context = json.loads(told)["hookSpecificOutput"]["additionalContext"][: None if {passes} else 40]
with open(transcript, "w") as file:
    attachment = {{"type": "hook_additional_context", "content": [context]}}
    file.write(json.dumps({{"type": "attachment", "attachment": attachment}}) + "\n")
messages = [{{"role": "user", "content": context}}]
request = urllib.request.Request(
    os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages", json.dumps({{"model": "m", "messages": messages}}).encode()
)
urllib.request.urlopen(request).read()
"""


@pytest.mark.parametrize(("silent", "passes"), [(False, True), (False, False), (True, True)])
def test_a_check_sees_whether_the_note_reached_the_model(
    silent: bool, passes: bool, laptop: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = laptop.home / "bin" / "claude"
    program.write_text(PROGRAM.format(python=sys.executable, silent=silent, passes=passes))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(checking, "_can_be_alone", lambda: False)
    found = check_host(laptop.device, claude_code.ADAPTER)
    assert (found.host, found.program, found.is_alone) == ("claude-code", str(program), False)
    if silent:
        said = "the program ended with code 1 and asked no model; it said: no model for me"
        assert (found.cannot, found.has_arrived) == (said, False)
    else:
        assert found.cannot == ""
        assert found.has_arrived is passes
        assert (found.seconds > 0) is passes
        assert (len(found.receipt), found.status) == (10, "delivered" if passes else "cut")


def test_a_program_that_is_not_there_is_named(laptop: Any) -> None:
    with pytest.raises(AgentmError, match="there is no command copilot") as refused:
        check_host(laptop.device, copilot.ADAPTER)
    assert refused.value.hint == "install GitHub Copilot CLI, or name its program with --program"
    with pytest.raises(AgentmError, match="there is no command /nowhere/x"):
        check_host(laptop.device, copilot.ADAPTER, program="/nowhere/x")
