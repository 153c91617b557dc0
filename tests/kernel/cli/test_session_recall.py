"""Notes at the start of a session: after the state, in the room that is left, and never in its way."""

from __future__ import annotations

import pytest

from agentm_kernel.cli.hook import CONTEXT_LIMIT

ENTRY_POINT = "[agentm.recall]\nnotes = plugin_notes:recall\n"
ASKED = """
def recall(resolution, *, phase, query, limit):
    print("printed by the provider")
    store = None if resolution.backend is None else resolution.backend.describe()
    return f"{resolution.slug} {phase} {query} {limit} {store}\\n"
"""
LONG = """
def recall(resolution, *, phase, query, limit):
    return "note " * (limit * 4 // 5)
"""
STUCK = """
import time

def recall(resolution, **_):
    time.sleep(60)
"""


def start_session(machine, host="plain"):
    done = machine.execute("hook", "session-start", "--host", host, input="{}")
    assert done.code == 0
    return done


def test_notes_come_after_the_state_block(machine):
    machine.run("state", "write", "PLAN.md", input="x")
    machine.install("notes", ASKED, ENTRY_POINT)

    done = start_session(machine)

    state, notes, closing = done.out.rstrip("\n").split("\n\n")
    assert "agentm save" in closing.splitlines()[0]
    assert "agentm search" in closing.splitlines()[1]
    assert len(state.splitlines()) == 4
    slug, phase, query, limit, store = notes.split()
    assert (slug, phase, query) == ("widgets", "work", "None")
    assert 1500 < int(limit) <= CONTEXT_LIMIT // 4
    assert store == str(machine.home / "memory")
    assert done.err == "printed by the provider\n"


def test_notes_come_without_a_plan_too(machine):
    machine.install("notes", ASKED, ENTRY_POINT)

    assert start_session(machine).out.startswith("widgets work None ")


def test_a_project_in_mode_local_has_notes_in_the_store(machine):
    machine.harness.mkdir()
    (machine.harness / ".project-mode").write_text("local\n")
    machine.install("notes", ASKED, ENTRY_POINT)

    assert start_session(machine).out.partition("\n")[0].split()[-1] == str(machine.home / "memory")


def test_an_empty_memory_is_said_to_be_empty(machine):
    machine.install("notes", "def recall(*_, **__): return ''", ENTRY_POINT)

    first, closing = start_session(machine).out.rstrip("\n").split("\n\n")

    assert first == "[agentm] Memory is empty: nothing has been saved for this project yet."
    assert len(closing.splitlines()) == 2


def test_a_repository_can_keep_that_line_away(machine):
    machine.install("notes", "def recall(*_, **__): return ''", ENTRY_POINT)
    (machine.harness.parent / ".agentm-no-register").touch()

    assert start_session(machine).out.startswith("[agentm] To remember")


def test_a_provider_that_can_tell_what_answers_a_prompt_is_asked(machine):
    source = ASKED + "recall.for_prompt = lambda where, *, prompt, limit, known: f'{where.slug} {prompt} {limit}'\n"
    machine.install("notes", source, ENTRY_POINT)

    assert machine.execute("hook", "prompt", input='{"prompt": "why?"}').out == "widgets why? 600\n"


def test_one_that_cannot_tell_says_nothing(machine):
    machine.install("notes", ASKED, ENTRY_POINT)

    assert machine.execute("hook", "prompt", input='{"prompt": "why?"}').out == ""


def test_notes_that_fill_their_room_are_not_cut(machine):
    machine.run("state", "write", "PLAN.md", input="x")
    machine.install("notes", LONG, ENTRY_POINT)

    context = start_session(machine).out.rstrip("\n")

    assert CONTEXT_LIMIT * 0.9 < len(context) <= CONTEXT_LIMIT
    assert "left out" not in context


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("def recall(*_, **__): raise RuntimeError('two\\nlines')", "RuntimeError: two lines"),
        ("def recall(*_, **__): raise SystemExit(3)", "it called sys.exit(3)"),
        ("def recall(*_, **__): return 5", "it answered with int, not with text"),
        ("raise ImportError('no such thing')", "no such thing"),
    ],
)
def test_a_provider_that_fails_is_one_line_and_the_state_is_there(machine, source, said):
    machine.run("state", "write", "PLAN.md", input="x")
    machine.install("notes", source, ENTRY_POINT)

    state, failure, _ = start_session(machine).out.rstrip("\n").split("\n\n")

    assert state.startswith("[agentm] Project state")
    assert failure.startswith("[agentm] Notes are not available: ")
    assert said in failure
    assert "\n" not in failure


def test_a_provider_that_is_stuck_does_not_cost_the_plan(machine):
    machine.run("state", "write", "PLAN.md", input="x")
    machine.install("notes", STUCK, ENTRY_POINT)

    out = start_session(machine).out

    assert out.startswith("[agentm] Project state")
    assert "recalling notes took more than" in out


def test_two_providers_are_refused_with_both_named(machine):
    machine.install("notes", ASKED, ENTRY_POINT)
    machine.install("more", ASKED, "[agentm.recall]\nmore = plugin_more:recall\n")

    assert "more than one recall provider is installed: more and notes" in start_session(machine).out


def test_a_provider_that_the_policy_keeps_out_is_not_asked(machine):
    machine.configure(plugin_policy={"disabled": ["notes"]})
    machine.install("notes", ASKED, ENTRY_POINT)

    assert start_session(machine).out == ""
