"""The process seam as programs that are not written in Python see it: flags, output, exit codes."""

from __future__ import annotations

import json

import pytest

SEAM = "agentm_kernel.process_seam"
RECALL = """
def provide(resolution, *, phase, query, limit):
    return f"{resolution.slug} {phase} {query} {limit}\\n"
"""


@pytest.fixture(params=["agentm_kernel.cli.main", SEAM])
def seam(request, machine):
    """The verb as a command of `agentm`, and as `python -m agentm_kernel.process_seam`."""
    return lambda *arguments, **options: machine.execute(*arguments, program=request.param, **options)


def test_state_path_prints_one_path(seam, machine, tmp_path):
    assert seam("state-path", "plan") == (0, f"{machine.harness}/PLAN.md\n", "")
    assert seam("state-path", "progress", "--plan", "foo").out == f"{machine.harness}/progress-foo.md\n"
    elsewhere = seam("state-path", "plan", "--cwd", str(machine.project), cwd=tmp_path)
    assert elsewhere.out == f"{machine.harness}/PLAN.md\n"


def test_state_path_refuses_rather_than_guess(seam, machine):
    machine.harness.mkdir()
    (machine.harness / "active-plan").write_text("gone")

    dangling, unsafe = seam("state-path", "plan"), seam("state-path", "plan", "--plan", "../x")

    assert (dangling.code, unsafe.code) == (1, 1)
    assert dangling.err.startswith("error: the active-plan marker")
    assert unsafe.err.startswith("error: unsafe plan name")
    assert dangling.out + unsafe.out == ""


def test_recall_here_prints_what_the_provider_says(seam, machine):
    machine.install("memory", RECALL, "[agentm.recall]\nmemory = plugin_memory:provide\n")

    done = seam("recall-here", "--phase", "plan", "--query", "two words", "--limit", "500")

    assert done == (0, "widgets plan two words 500\n", "")


def test_where_there_is_nothing_to_recall_nothing_is_printed(seam):
    assert seam("recall-here") == (0, "", "")


def test_a_recall_that_cannot_be_had_exits_0_with_a_warning(seam, machine):
    machine.install("memory", RECALL, "[agentm.recall]\nmemory = plugin_memory:provide\n")
    machine.configure(**{"storage.backend": "gone"})

    recalled = seam("recall-here")
    offered = seam("offer-save-here", "--kind", "decision", "--slug", "x")

    assert (recalled.code, recalled.out) == (0, "")
    assert (offered.code, json.loads(offered.out)) == (0, [])
    assert recalled.err.startswith("agentm recall: backend 'gone' is selected")
    assert offered.err.startswith("agentm offer-save: backend 'gone' is selected")


@pytest.mark.parametrize("limit", ["0", "many", "1.5"])
def test_a_limit_is_a_positive_number(machine, limit):
    done = machine.execute("recall-here", f"--limit={limit}")

    assert (done.code, done.err.startswith("error: --limit takes a positive number")) == (2, True)


def test_offer_save_here_prints_the_candidate_as_json(seam):
    done = seam(
        "offer-save-here", "--kind", "decision", "--slug", "locks", "--body-file", "-", "--phase", "plan",
        "--confidence", "0.9", "--confidence-reason", "measured", input="thé text\n",
    )  # fmt: skip

    assert (done.code, done.err) == (0, "")
    assert done.out.startswith('[\n  {\n    "kind"')
    assert "thé text" in done.out, "as people read it"
    assert json.loads(done.out) == [
        {
            "kind": "decision",
            "slug": "locks",
            "body": "thé text\n",
            "confidence": "0.9",
            "confidence_reason": "measured",
            "project": "widgets",
            "phase": "plan",
            "target": "projects/widgets",
            "protocol": "device-local",
        }
    ]


def test_an_offer_is_json_also_where_an_argument_is_no_text(seam):
    done = seam("offer-save-here", "--kind", "decision", "--slug", "caf\udce9")

    assert (done.code, json.loads(done.out)[0]["slug"]) == (0, "caf\udce9")


@pytest.mark.parametrize("missing", [["--kind", "decision"], ["--slug", "x"], []])
def test_an_offer_needs_kind_and_slug(machine, missing):
    assert machine.execute("offer-save-here", *missing, program=SEAM).code == 2


@pytest.mark.parametrize("arguments", [[], ["config", "list"], ["--help"], ["hook", "session-start"]])
def test_the_seam_has_these_verbs_and_no_other(machine, arguments):
    done = machine.execute(*arguments, program=SEAM)

    assert (done.code, done.out) == (2, "")
    assert "there are recall-here, state-path, offer-save-here" in done.err


EVENTS = """
import json
from agentm_kernel.plugin import hookimpl

@hookimpl
def agentm_event(name, payload, context):
    return f"{name} {json.dumps(payload)} in {context.cwd}\\nnext line"
"""


def test_an_event_is_told_to_plugins_and_their_lines_go_to_standard_error(machine):
    machine.install("hears", EVENTS, "[agentm.plugins]\nhears = plugin_hears\n")
    event = {"cwd": str(machine.project), "turn": 1}

    done = machine.execute("event", "turn-end", input=json.dumps(event), cwd=machine.home)

    assert (done.code, done.out) == (0, "")
    assert done.err == f"turn-end {json.dumps(event)} in {machine.project} next line\n"


def test_an_event_that_nobody_hears_is_no_failure(machine):
    assert machine.execute("event", "turn-end", input="") == (0, "", "")


@pytest.mark.parametrize("name", ["idle-" + 5000 * "9", "idle-007"])
def test_an_event_with_any_number_of_seconds_is_one(machine, name):
    assert machine.execute("event", name, input="") == (0, "", "")


@pytest.mark.parametrize("name", ["idle-00", "turn-edn", "Turn-End", "", "turn", "idle-x", "conversation-idle-"])
def test_an_event_that_does_not_exist_is_an_error_and_told_to_nobody(machine, name):
    machine.install("hears", EVENTS, "[agentm.plugins]\nhears = plugin_hears\n")

    done = machine.execute("event", name, input="{}")

    assert (done.code, done.out) == (1, "")
    assert done.err.splitlines()[0] == f"error: there is no event '{name}'"
    assert "turn-end" in done.err.splitlines()[1]
    assert len(done.err.splitlines()) == 2


def test_a_plugin_that_fails_to_hear_is_reported(machine):
    machine.install("deaf", "raise RuntimeError('no')", "[agentm.plugins]\ndeaf = plugin_deaf\n")

    done = machine.execute("event", "turn-end")

    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("error: the hook plugin 'deaf' of deaf 1.0 cannot be loaded")
