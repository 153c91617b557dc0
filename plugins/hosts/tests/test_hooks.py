"""What each agent host gets from our hooks: in its own envelope, in time, and never in the way of the agent."""

from __future__ import annotations

import json
import subprocess
import time

import pytest

from agentm_hosts import ledger
from agentm_hosts.ledger import given_notes, keys_in
from agentm_hosts.receipt import found_in, is_whole, receipt_of, stamped
from agentm_kernel.cli.command_table import HOOK_EVENTS

COMMON = ("claude-code", "codex", "gemini", "qwen", "vscode")
HOSTS = (*COMMON, "copilot", "cursor", "opencode")


def text_of(host: str, event: str, answer: str) -> str:
    """The text inside of an answer, checked against what the host accepts and nothing more."""
    if host == "opencode":
        return answer.removesuffix("\n")
    value = json.loads(answer)
    if host in ("copilot", "cursor"):
        (key,) = value
        assert key == {"copilot": "additionalContext", "cursor": "additional_context"}[host]
        return value[key]
    assert value.keys() == {"hookSpecificOutput"}
    inside = value["hookSpecificOutput"]
    assert inside.keys() == {"hookEventName", "additionalContext"}
    assert inside["hookEventName"] == "SessionStart"
    return inside["additionalContext"]


@pytest.mark.parametrize("host", HOSTS)
def test_every_host_gets_the_state_in_its_own_envelope(laptop, host):
    laptop.must("state", "write", "PLAN.md", text="# Plan\n")

    text = text_of(host, "session-start", laptop.hook("session-start", host))

    (receipt, following), *_ = found_in(text)
    assert is_whole(receipt, following, len(following))
    assert following.startswith("[agentm] Project state for this repo lives in .harness/:\n")
    (line,) = laptop.ledger(host)
    assert (line["receipt"], line["length"], line["session"]) == (receipt, len(following), "s1")


@pytest.mark.parametrize("event", HOOK_EVENTS)
def test_every_hook_ends_well_whatever_it_is_given(laptop, event):
    odd = ("", "[1]", "{", '{"cwd": 5}', '{"prompt": 5, "session_id": {"a": []}}')
    for host, text in [*((host, "{}") for host in HOSTS), *(("gemini", text) for text in odd)]:
        done = laptop.run("hook", event, "--host", host, text=text)
        assert done.returncode == 0, done.stderr
        if done.stdout and host != "opencode" and (host, event) != ("claude-code", "pre-compact"):
            json.loads(done.stdout)


def test_equal_texts_have_equal_receipts(laptop):
    laptop.must("state", "write", "PLAN.md", text="# Plan\n")

    assert laptop.hook("session-start") == laptop.hook("session-start")


def test_the_ledger_holds_no_text_and_is_private(laptop):
    laptop.must("state", "write", "PLAN.md", text="# Plan\n")
    laptop.hook("session-start")
    laptop.hook("prompt", prompt="a very private question")

    file = laptop.state / "deliveries" / "claude-code.jsonl"
    assert file.stat().st_mode & 0o077 == 0
    assert "private" not in file.read_text()
    assert "Plan" not in file.read_text()


def test_of_two_first_hooks_at_once_each_leaves_its_line(tmp_path, monkeypatch):
    real = ledger._open

    def open_just_before_the_other_makes_the_folder(path: str) -> int:
        monkeypatch.setattr(ledger, "_open", real)
        ledger.append(str(tmp_path), "codex", "the other's\n")
        raise FileNotFoundError(path)

    monkeypatch.setattr(ledger, "_open", open_just_before_the_other_makes_the_folder)
    ledger.append(str(tmp_path), "codex", "mine\n")
    assert (tmp_path / "deliveries" / "codex.jsonl").read_text().splitlines() == ["the other's", "mine"]


def test_a_ledger_that_is_full_is_begun_anew(laptop):
    laptop.hook("session-start")
    file = laptop.state / "deliveries" / "claude-code.jsonl"
    file.write_text(file.read_text() * 5_000)
    laptop.hook("session-start")
    laptop.hook("session-start")

    assert len(laptop.ledger()) == 1
    assert file.with_name("claude-code.jsonl.1").exists()


def test_a_state_directory_that_cannot_be_written_does_not_cost_the_answer(laptop):
    laptop.must("state", "write", "PLAN.md", text="# Plan\n")
    laptop.state.mkdir(parents=True, exist_ok=True)
    (laptop.state / "deliveries").write_text("in the way")

    assert "PLAN.md" in laptop.context("session-start")


SMALL = {"__future__", "_functools", "_json", "_sha2", "_sha256", "_sqlite3", "errno", "gc", "itertools", "math"}
"""What a hook may load that is not agentm's: all in C but for one."""


@pytest.fixture
def showing(laptop):
    """A laptop whose command shows, beside its answer, which modules it has loaded."""
    script = laptop.home / "show.py"
    script.write_text(
        "import os, sys\nbefore = set(sys.modules)\n"
        "def leave(code):\n"
        "    os.write(2, ' '.join(sorted(set(sys.modules) - before)).encode())\n"
        "    real(code)\n"
        "real, os._exit = os._exit, leave\n"
        "os.fork = lambda: 1\n"  # what happens in the background is not waited for
        "sys.argv[:] = ['agentm', *sys.argv[1:]]\n"
        "from agentm_kernel.cli.main import main\nmain()\n"
    )
    laptop.hook("session-start")  # so that the ledger is there
    laptop.agentm.write_text(laptop.agentm.read_text().partition("\n")[0] + f"\nexec(open({str(script)!r}).read())\n")
    return laptop


def loaded_by(laptop, event, prompt=""):
    """What the hook said, and the modules that it took."""
    given = {"session_id": "s", "cwd": str(laptop.project), "prompt": prompt}
    done = laptop.run("hook", event, "--host", "claude-code", text=json.dumps(given))
    return done.stdout, set(done.stderr.split())


@pytest.mark.parametrize("event", ["session-start", "prompt", "turn-end"])
def test_a_hook_loads_nothing_that_costs(showing, event):
    _, loaded = loaded_by(showing, event)

    assert {name for name in loaded if not name.startswith("agentm_")} <= SMALL
    assert "agentm_hosts.ledger" in loaded


# ------------------------------------------------------------------------------------------------ prompts


@pytest.fixture
def remembering(laptop):
    pytest.importorskip("agentm_recall")
    for slug, text in (
        ("cache", "The response cache expires after ninety seconds, because the upstream rotates its tokens."),
        ("colour", "Buttons are teal."),
        ("retries", "Uploads are retried four times with a growing pause."),
    ):
        laptop.must("save", "--kind", "decision", "--slug", slug, text=text)
    return laptop


def test_a_question_gets_the_note_that_answers_it_and_an_unrelated_one_nothing(remembering):
    text = remembering.context("prompt", prompt="When does the response cache expire?")

    assert "ninety seconds" in text
    assert "teal" not in text
    assert remembering.context("prompt", prompt="Please write a haiku about mountains in winter") == ""


@pytest.mark.parametrize("event", ["session-start", "prompt"])
def test_a_hook_that_tells_notes_loads_nothing_that_costs(remembering, showing, event):
    said, loaded = loaded_by(showing, event, "When does the response cache expire?")

    assert "ninety seconds" in said
    assert {name for name in loaded if not name.startswith("agentm_")} <= SMALL


def test_nothing_is_told_twice_in_a_session(remembering):
    question = "When does the response cache expire?"

    assert "ninety" in remembering.context("prompt", prompt=question)
    assert remembering.context("prompt", prompt=question) == ""
    assert "ninety" in remembering.context("prompt", prompt=question, session_id="s2")


def test_what_the_session_began_with_is_not_told_again(remembering):
    assert "ninety" in remembering.context("session-start")

    assert remembering.context("prompt", prompt="When does the response cache expire?") == ""


def test_after_a_compaction_it_is_told_again(remembering):
    remembering.hook("session-start")
    remembering.must("save", "--kind", "decision", "--slug", "paint", text="The paint is mixed from ochre and umber.")
    question = "What is the paint mixed from?"
    assert "ochre" in remembering.context("prompt", prompt=question)

    started = remembering.context("session-start", source="compact")
    assert "ochre" in started
    assert remembering.context("prompt", prompt=question) == ""


def test_prompts_are_left_alone_where_the_operator_says_so(remembering):
    remembering.must("config", "set", "plugins.hosts.prompt", "false")

    assert remembering.context("prompt", prompt="When does the response cache expire?") == ""


def test_gemini_does_not_ask_with_what_we_told_it(remembering):
    prompt = "<hook_context>The response cache expires</hook_context>\n\nWrite a haiku about mountains"

    assert remembering.hook("prompt", "gemini", prompt=prompt) == ""


def test_the_keys_of_notes_are_found_in_a_text():
    text = (
        "```note\nprojects/a/decisions/b (decision, 2026-11-16, from x)\n\n(c)\n```\n````note\npersonal/c d\n````\n"
    )

    assert keys_in(text) == ["projects/a/decisions/b", "personal/c d"]


def test_a_receipt_is_found_whole_or_cut():
    text = "some text\nof two lines"
    ((receipt, following),) = found_in(f"before {stamped(text)} after")

    assert receipt == receipt_of(text)
    assert is_whole(receipt, following, len(text))
    assert not is_whole(receipt, following[: len(text) - 1], len(text))
    assert found_in("[agentm 123] [agentm") == []


def test_keys_with_odd_characters_are_remembered(laptop):
    (laptop.state / "deliveries").mkdir(parents=True)
    line = {"session": "s1", "event": "prompt", "notes": ["projects/ä/b, c"], "length": 1}
    (laptop.state / "deliveries" / "x.jsonl").write_text(json.dumps(line) + "\n")

    assert tuple(given_notes(str(laptop.state), "x", "s1")) == ("projects/ä/b, c",)


# ------------------------------------------------------------------------------------------------ compaction, end


def test_what_must_survive_a_compaction_is_said_to_the_summariser(laptop):
    laptop.must("state", "write", "PLAN.md", text="# Plan\n\n" + "1. a step\n" * 1_000)
    laptop.must("state", "append", "progress.md", text="- begun\n" * 500 + "- the last step\n")

    text = laptop.hook("pre-compact")

    assert "# Plan" in text
    assert "- the last step" in text
    assert len(text) < 6_000


def test_a_plan_hides_nothing_from_the_person_that_the_summariser_would_read(laptop):
    laptop.must("state", "write", "PLAN.md", text="Ship\u202e\x1b[31m\U000e0041 it.\r\n\tThen rest.\n")

    text = laptop.hook("pre-compact")

    assert "Ship\\u202e\\x1b[31m\\U000e0041 it.\n    Then rest." in text


def test_the_summariser_is_told_the_questions_that_are_open_and_no_others(laptop):
    for number in range(10):
        laptop.must("save", "--kind", "open-question", "--slug", f"a{number}", text=f"Settled question {number}")
        laptop.must("forget", f"a{number}")
    laptop.must("save", "--kind", "open-question", "--slug", "shards", text="How many \u202eshards\x1b[2J?")
    folder = next(laptop.home.rglob("open-questions"))
    for name, text in {
        "b-quoted": b"---\nstatus: 'Deleted' # long ago\n---\nForgotten\n",
        "b-from-windows": b"\xef\xbb\xbf---\r\nkind: open-question\r\nstatus: deleted\r\n---\r\nForgotten\r\n",
        "b-replaced": b"---\nstatus: superseded\n---\nForgotten\n",
        "b-unreadable": b"\xff\xfe",
        "c-by-hand": b"Which region?\n",
    }.items():
        (folder / f"{name}.md").write_bytes(text)
    laptop.must("state", "write", "PLAN.md", text="# Plan\n")

    text = laptop.hook("pre-compact")

    assert "- c-by-hand: Which region?\n- shards: How many \\u202eshards\\x1b[2J?\n" in text
    assert "Settled" not in text
    assert "Forgotten" not in text
    assert "# Plan" in text


def test_the_log_says_what_the_summariser_was_told_and_what_a_host_keeps_from_it(laptop):
    assert laptop.hook("pre-compact") != ""
    assert laptop.hook("pre-compact", host="codex") == ""

    lines = json.loads(laptop.must("log", "--json"))["lines"]
    assert {line["host"]: (line["status"], line["length"] > 0) for line in lines} == {
        "claude-code": ("unknown", True),
        "codex": ("silent", False),
    }


def test_a_reminder_comes_once_in_a_session_and_only_where_it_is_wanted(laptop):
    assert laptop.hook("turn-end") == ""
    laptop.must("config", "set", "plugins.hosts.remind", "true")

    assert json.loads(laptop.hook("turn-end"))["decision"] == "block"
    assert laptop.hook("turn-end", stop_hook_active=True) == ""
    assert laptop.hook("turn-end") == ""
    assert laptop.hook("turn-end", session_id="s2") != ""


# ------------------------------------------------------------------------------------------------ events and failures


def test_plugins_are_told_in_the_background(laptop):
    laptop.must("state", "write", "PLAN.md", text="x")
    seen = laptop.listen("time.sleep(1)")
    started = time.monotonic()
    laptop.hook("prompt", prompt="x")
    laptop.hook("session-end")
    elapsed = time.monotonic() - started

    laptop.wait_for(lambda: seen.exists() and len(seen.read_text().splitlines()) == 3)
    assert sorted(seen.read_text().splitlines()) == ["prompt s1", "session-end s1", "turn-start s1"]
    assert elapsed < 3 * 1.0 + 2  # three events of a second each were not waited for on a busy machine


def test_a_store_that_is_slow_to_sync_neither_holds_the_host_nor_speaks_twice(laptop, tmp_path):
    """A git store: the hook waits for its news a moment. What goes on then has nothing of the host's in its hands."""
    subprocess.run(["git", "init", "-q", "--bare", str(tmp_path / "team.git")], check=True)
    (laptop.home / ".gitconfig").write_text("[user]\n\tname = Ana\n\temail = ana@example.org\n")
    laptop.must("git", "init", str(laptop.home / "notes"), f"file://{tmp_path}/team.git", "--use")
    seen = laptop.listen("time.sleep(6)")
    started = time.monotonic()

    json.loads(laptop.hook("session-start"))  # read until nobody can write any more

    assert time.monotonic() - started < 5
    laptop.wait_for(lambda: seen.exists())


def test_a_listener_that_speaks_late_is_not_heard_by_the_host(laptop, tmp_path):
    subprocess.run(["git", "init", "-q", "--bare", str(tmp_path / "team.git")], check=True)
    (laptop.home / ".gitconfig").write_text("[user]\n\tname = Ana\n\temail = ana@example.org\n")
    laptop.must("git", "init", str(laptop.home / "notes"), f"file://{tmp_path}/team.git", "--use")
    (tmp_path / "team.git").rename(tmp_path / "gone.git")
    seen = laptop.listen("time.sleep(1.2); print('late', file=sys.stderr)")

    json.loads(laptop.hook("session-start"))

    laptop.wait_for(lambda: seen.exists())


@pytest.mark.parametrize("host", HOSTS)
def test_a_store_that_cannot_be_had_is_said_and_the_agent_goes_on(laptop, host):
    laptop.must("config", "set", "storage.backend", "vault-of-nobody")

    assert "Project state is not available" in laptop.hook("session-start", host)
    assert laptop.hook("prompt", host, prompt="What now?") == ""


@pytest.mark.parametrize("host", ["claude-code", "cursor"])
def test_a_configuration_that_cannot_be_read_is_said_in_plain_words_and_the_agent_goes_on(laptop, host):
    file = laptop.home / ".config" / "agentm" / ".agentm-config.json"
    file.parent.mkdir(parents=True)
    file.write_text("{bad")

    (line,) = laptop.hook("session-start", host).splitlines()
    assert line.startswith(f"[agentm] Project state is not available: the configuration {file} is not valid")
    assert laptop.hook("prompt", host, prompt="What now?") == ""
