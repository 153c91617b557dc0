"""What each agent host gets when a session starts: in its own format, in time, and always with exit 0."""

from __future__ import annotations

import json
import os
import subprocess
import time

import pytest

from agentm_kernel.cli import hook
from agentm_kernel.cli.command_table import COMMANDS, HOOK_EVENTS
from agentm_kernel.cli.hook import CONTEXT_LIMIT, DEADLINE_SECONDS, fitted
from agentm_kernel.plugin import Device
from agentm_kernel.plugins.events import is_event

HOSTS = ("plain",)
"""The other envelopes are their adapters', and tested with them."""
READ_IT = "before you plan, start work or answer questions about the plan."


def context_of(host: str, out: str) -> str:
    """The text of an answer."""
    return out.removesuffix("\n")


def start_session(machine, host="plain", event=None, **options):
    """The context that a session in the project gets. Whatever happens, the hook must end well."""
    given = {
        "session_id": "1",
        "transcript_path": None,
        "cwd": str(machine.project),
        "hook_event_name": "SessionStart",
    }
    data = json.dumps(given if event is None else event) if not isinstance(event, str | bytes) else event
    done = machine.execute("hook", "session-start", "--host", host, input=data, cwd=machine.home, **options)
    assert done.code == 0, done.err
    assert done.err == ""
    return context_of(host, done.out)


def test_the_command_knows_exactly_the_events_that_are_raised():
    (command,) = (command for command in COMMANDS if command.path == ("hook",))

    assert command.parameters[0].choices == HOOK_EVENTS
    assert all(is_event(event) for event in HOOK_EVENTS)


@pytest.mark.parametrize("event", HOOK_EVENTS)
def test_a_host_that_nobody_knows_gets_nothing_and_goes_on(machine, event):
    done = machine.execute("hook", event, "--host", "emacs", input="{}")

    assert (done.code, done.out) == (0, "")
    assert "no installed plugin knows the agent host 'emacs'" in done.err


@pytest.mark.parametrize(
    "arguments",
    [("hook",), ("hook", "nonsense"), ("hook", "prompt", "--new-option"), ("event",), ("event", "a", "b")],
)
def test_nothing_of_a_newer_configuration_erases_a_prompt(machine, arguments):
    done = machine.execute(*arguments, input="{}")

    assert done.code == 1
    assert done.err.startswith("error: ")


@pytest.mark.parametrize("host", HOSTS)
def test_every_host_gets_the_locked_block_in_its_own_envelope(machine, host):
    for name in ("PLAN.md", "progress.md"):
        machine.run("state", "write", name, input="x")

    assert start_session(machine, host).splitlines() == [
        "[agentm] Project state for this repo lives in .harness/:",
        f"  PLAN.md:     {machine.harness}/PLAN.md",
        f"  progress.md: {machine.harness}/progress.md",
        f"Read PLAN.md {READ_IT}",
    ]


def test_the_header_names_the_store_where_the_state_lies(synced):
    synced.run("state", "write", "PLAN.md", input="x")
    place = synced.store / "projects" / "widgets" / "_harness"

    assert start_session(synced).splitlines() == [
        f"[agentm] Project state for this repo lives in the synced store at {synced.store}, not in .harness/:",
        f"  PLAN.md:     {place}/PLAN.md",
        f"  progress.md: {place}/progress.md (not started)",
        f"Read PLAN.md {READ_IT}",
    ]


def test_named_plans_are_listed_with_the_active_one(machine):
    for name in ("PLAN.md", "PLAN-foo.md", "PLAN-xPLAN.md"):
        machine.run("state", "write", name, input="x")
    machine.run("plan", "use", "foo")

    assert start_session(machine).splitlines() == [
        "[agentm] Project state for this repo lives in .harness/:",
        "Named-plan mode - the plans of this repo:",
        f"  PLAN.md:               {machine.harness}/PLAN.md",
        f"  PLAN-foo.md:           {machine.harness}/PLAN-foo.md",
        f"  PLAN-xPLAN.md:         {machine.harness}/PLAN-xPLAN.md",
        f"Active plan (.harness/active-plan): {machine.harness}/PLAN-foo.md",
        f"  progress-foo.md:       {machine.harness}/progress-foo.md (not started)",
        f"Read the plan you own {READ_IT}",
    ]


@pytest.mark.parametrize("plans", [(), ("PLAN.md",), ("PLAN.md", "PLAN-bar.md")])
@pytest.mark.parametrize("marker", [b"gone\n", b"", b"../x", b"\xff"])
def test_a_marker_that_leads_nowhere_is_seen(machine, plans, marker):
    machine.harness.mkdir()
    for name in plans:
        machine.run("state", "write", name, input="x")
    (machine.harness / "active-plan").write_bytes(marker)

    lines = start_session(machine).splitlines()

    (dangling,) = (line for line in lines if line.startswith("Active plan"))
    assert dangling.startswith("Active plan: DANGLING - ")
    assert not any(line.startswith("Read PLAN.md") for line in lines)
    assert [line.split()[0] for line in lines if line.startswith("  PLAN")] == [f"{name}:" for name in plans]


def test_a_project_without_a_plan_has_nothing_to_say(machine):
    assert start_session(machine) == ""


def test_a_plan_that_was_left_in_the_checkout_is_not_silently_ignored(synced):
    synced.harness.mkdir()
    (synced.harness / "PLAN.md").write_text("an old plan")

    assert start_session(synced) == (
        f"[agentm] {synced.harness}/PLAN.md is not used: the state of this repo belongs into the synced store at "
        f"{synced.store}, not in .harness/. To move it there, run `agentm state write PLAN.md --body-file "
        ".harness/PLAN.md`."
    )


# ------------------------------------------------------------------------------------------------ refusals


@pytest.mark.parametrize("host", HOSTS)
def test_a_store_that_cannot_be_had_is_one_visible_line(machine, host):
    machine.configure(**{"storage.backend": "vault-that-is-not-there"})

    (line,) = start_session(machine, host).splitlines()

    assert line.startswith("[agentm] Project state is not available: backend 'vault-that-is-not-there' is selected")
    assert "(install the plugin that provides it" in line


def test_an_unmounted_store_is_one_visible_line(synced):
    synced.store.rename(synced.store.with_name("elsewhere"))
    synced.store.mkdir()

    (line,) = start_session(synced).splitlines()

    assert line.startswith(f"[agentm] Project state is not available: the store at {synced.store} is gone")
    assert [*synced.store.iterdir()] == []


def test_a_broken_configuration_is_one_visible_line(machine):
    machine.configure(**{"storage.bakend": "x"})

    (line,) = start_session(machine).splitlines()

    assert line.startswith("[agentm] Project state is not available: the configuration")


def test_an_unexpected_failure_is_one_visible_line(machine):
    machine.install(
        "rogue",
        "from agentm_kernel.plugin import FileStore\n"
        "class Store(FileStore):\n"
        "    def check_usable(self, *, read_only):\n"
        "        raise RuntimeError('boom\\nbang')\n",
        "[agentm.backends]\nrogue = plugin_rogue:Store\n",
    )
    machine.configure(**{"storage.backend": "rogue", "plugins.rogue.root": str(machine.store)})

    assert start_session(machine).startswith(
        "[agentm] Project state is not available: the backend 'rogue' of rogue 1.0 failed in check_usable: "
        "RuntimeError: boom bang"
    )


# ------------------------------------------------------------------------------------------------ the event


@pytest.mark.parametrize("key", ["cwd", "workspace_roots"])
def test_the_event_says_where_the_session_starts(machine, key):
    machine.run("state", "write", "PLAN.md", input="x")
    folder = machine.project / "src" / "deep"
    folder.mkdir(parents=True)

    text = start_session(machine, event={key: [str(folder)] if key == "workspace_roots" else str(folder)})

    assert f"{machine.harness}/PLAN.md" in text


@pytest.mark.parametrize("event", ["", " \n", "{}"])
def test_without_an_event_the_current_directory_counts(machine, event):
    machine.run("state", "write", "PLAN.md", input="x")

    done = machine.execute("hook", "session-start", input=event)

    assert (done.code, "PLAN.md" in done.out) == (0, True)


@pytest.mark.parametrize(
    ("event", "said"),
    [
        ("{", "the host's event is not JSON: line 1, column 2"),
        ("[1]", "the host's event is not a JSON object"),
        (b"\xff\xfe{\x00}\x00", "the host's event is not JSON: it is UTF-16"),
        (b"\x80", "the host's event is not JSON: it is not UTF-8"),
        (b'{"a": "' + b"x" * 2_000_000 + b'"}', "the host's event has more than 1,048,576 bytes"),
        ({"cwd": "/no/such/folder"}, "the host named '/no/such/folder' as the working directory"),
        ({"cwd": 5}, "the host named 5 as the working directory"),
    ],
)
def test_an_event_that_cannot_be_used_is_one_visible_line(machine, event, said):
    (line,) = start_session(machine, event=event).splitlines()

    assert line.startswith(f"[agentm] Project state is not available: {said}")


def test_a_large_event_is_read_to_its_end(machine):
    machine.run("state", "write", "PLAN.md", input="x")

    assert "PLAN.md" in start_session(machine, event={"cwd": str(machine.project), "prompt": "}" * 500_000})


def test_a_host_that_does_not_close_the_pipe_is_answered(machine):
    machine.run("state", "write", "PLAN.md", input="x")
    with machine.start("hook", "session-start", stdin=subprocess.PIPE, cwd=machine.home) as process:
        process.stdin.write(json.dumps({"cwd": str(machine.project)}).encode())
        process.stdin.flush()
        out = process.stdout.read()
        assert process.wait(30) == 0

    assert b"PLAN.md" in out


def test_a_host_that_sends_nothing_and_does_not_close_the_pipe_is_answered(machine):
    machine.run("state", "write", "PLAN.md", input="x")
    with machine.start("hook", "session-start", stdin=subprocess.PIPE) as process:
        out = process.stdout.read()
        assert process.wait(30) == 0

    assert b"PLAN.md" in out


def closed(descriptor: int):
    return {"preexec_fn": lambda: os.close(descriptor)}


@pytest.mark.parametrize("descriptor", [0, 1, 2])
def test_closed_streams_do_no_harm(machine, descriptor):
    machine.run("state", "write", "PLAN.md", input="x")

    done = machine.execute("hook", "session-start", **closed(descriptor))

    assert (done.code, done.err) == (0, "")
    assert ("PLAN.md" in done.out) == (descriptor != 1)


def test_a_host_that_has_gone_does_no_harm(machine):
    machine.run("state", "write", "PLAN.md", input="x")
    reader, writer = os.pipe()
    os.close(reader)
    with machine.start("hook", "session-start", stdout=writer) as process:
        os.close(writer)
        err = process.stderr.read()

    assert (process.returncode, err) == (0, b"")


def test_a_working_directory_that_was_removed_is_one_visible_line(machine):
    gone = machine.folder / "gone"
    gone.mkdir()

    done = machine.execute("hook", "session-start", cwd=gone, preexec_fn=lambda: os.rmdir(gone))

    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("[agentm] Project state is not available: the current directory cannot be used")


# ------------------------------------------------------------------------------------------------ plugins and time

CHATTY = """
import os, subprocess, sys
from agentm_kernel.plugin import Section, hookimpl

print("imported")

@hookimpl
def agentm_session_start(context):
    print("called")
    os.write(1, b"written\\n")
    subprocess.run([sys.executable, "-c", "print('child')"])
    return [Section("Memory", f"of {context.project.slug}")]
"""
BROKEN = """
from agentm_kernel.plugin import hookimpl

@hookimpl
def agentm_session_start(context):
    raise RuntimeError("two\\nlines")
"""
STUCK_PLUGIN = """
import time
from agentm_kernel.plugin import hookimpl

@hookimpl
def agentm_session_start(context):
    time.sleep(60)
"""
STUCK_STORE = """
import time
from agentm_devkit.conformance.stubs import SyncedStub

class Store(SyncedStub):
    def check_usable(self, *, read_only):
        time.sleep(60)
"""


@pytest.mark.parametrize("host", HOSTS)
def test_plugins_add_sections_and_nothing_that_they_print(machine, host):
    machine.run("state", "write", "PLAN.md", input="x")
    machine.install("chatty", CHATTY, "[agentm.plugins]\nchatty = plugin_chatty\n")

    done = machine.execute("hook", "session-start", "--host", host)

    text = context_of(host, done.out)
    assert text.startswith("[agentm] Project state")
    assert text.endswith("\n\n## Memory\n\nof widgets")
    assert done.err.split() == ["imported", "called", "written", "child"]


def test_a_plugin_that_fails_is_a_line_and_takes_nothing_with_it(machine):
    machine.run("state", "write", "PLAN.md", input="x")
    machine.install("broken", BROKEN, "[agentm.plugins]\nbroken = plugin_broken\n")

    text = start_session(machine)

    state, failure = text.split("\n\n")
    assert len(state.splitlines()) == 4
    assert failure.startswith("[agentm] the hook plugin 'broken' of broken 1.0 failed in agentm_session_start")
    assert "\n" not in failure


def test_a_store_that_is_stuck_is_given_up_at_the_deadline(machine):
    machine.install("stuck", STUCK_STORE, "[agentm.backends]\nstuck = plugin_stuck:Store\n")
    machine.configure(**{"storage.backend": "stuck", "plugins.stuck.root": str(machine.store)})
    started = time.monotonic()

    text = start_session(machine)

    assert time.monotonic() - started < 30  # it would be stuck for a minute
    assert text == (
        f"[agentm] Not everything is here: finding the project's state took more than {DEADLINE_SECONDS:g} s: "
        "the backend 'stuck' of stuck 1.0 has not answered (check_usable). Run `agentm doctor`."
    )


def test_an_answer_whose_time_is_over_already_does_not_wait(machine, monkeypatch):
    waited = []
    monkeypatch.setattr(hook, "DEADLINE_SECONDS", -5.0)
    monkeypatch.setattr(hook, "divert_stdout", lambda: None)
    monkeypatch.setattr(hook, "end_process", waited.append)
    monkeypatch.setattr(hook.time, "sleep", waited.append)
    hook.HookCall(Device(machine.environ), "prompt", hook.PLAIN).answer_late()
    assert waited == [0.0, 0], "no second, and the exit code"


@pytest.mark.parametrize(
    ("event", "host", "raised"),
    [
        ("prompt", "emacs", ("prompt", "turn-start")),
        ("turn-end", "emacs", ("turn-end",)),
        ("session-end", "emacs", ("session-end",)),
        ("prompt", hook.PLAIN, ()),
    ],
)
def test_plugins_are_told_of_what_a_host_says_and_a_prompt_begins_a_turn(machine, monkeypatch, event, host, raised):
    monkeypatch.setattr(hook, "divert_stdout", lambda: None)
    assert hook.HookCall(Device(machine.environ), event, host).raises == raised


def test_the_hosts_pipe_is_let_go_before_anything_is_done_that_nobody_waits_for(machine, monkeypatch):
    """A host waits until nobody holds it any more, a child that tells plugins included."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    seen = []
    monkeypatch.setattr(hook, "divert_stdout", lambda: writing)
    monkeypatch.setattr(hook, "in_the_background", lambda work: seen.append(os.read(reading, 1)))
    call = hook.HookCall(Device(machine.environ), "stop", "emacs")
    call.adapter = hook.PlainAdapter()
    call.finish()
    assert seen == [b""], "the end of it"


def test_a_plugin_that_is_stuck_does_not_cost_the_plan(machine):
    machine.run("state", "write", "PLAN.md", input="x")
    machine.install("stuck", STUCK_PLUGIN, "[agentm.plugins]\nstuck = plugin_stuck\n")

    state, late = start_session(machine).split("\n\n")

    assert state.startswith("[agentm] Project state for this repo lives in .harness/:")
    assert late.startswith("[agentm] the hook plugin 'stuck' of stuck 1.0 is late: ")


def test_every_run_is_inside_the_deadline_while_the_cores_are_busy(machine):
    """The short form of the campaign in `tests/benchmarks/deadline.py`."""
    machine.run("state", "write", "PLAN.md", input="x")
    burners = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(os.cpu_count() or 1)]
    try:
        texts = [start_session(machine) for _ in range(5)]
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()

    assert all("PLAN.md" in text and "Not everything" not in text for text in texts)


# ------------------------------------------------------------------------------------------------ what fits


def test_what_does_not_fit_is_left_out_and_said():
    lines = [f"line {number}" for number in range(5_000)]

    text = fitted("\n".join(lines), CONTEXT_LIMIT)

    assert len(text) <= CONTEXT_LIMIT
    *kept, last = text.splitlines()
    assert kept == lines[: len(kept)]
    left_out = len("\n".join(lines)) - len("\n".join(kept))
    assert last == f"[agentm] {left_out:,} more characters were left out: agent hosts take no more."


def test_one_line_that_is_too_long_is_cut():
    assert len(fitted("x" * 20_000, CONTEXT_LIMIT)) <= CONTEXT_LIMIT


def test_a_name_with_a_line_break_does_not_break_the_block(machine):
    odd = machine.folder / "a\nb\x1b[2J"
    (odd / ".harness").mkdir(parents=True)
    (odd / ".harness" / "PLAN.md").write_text("x")

    assert len(start_session(machine, event={"cwd": str(odd)}).splitlines()) == 4


COPY = "[agentm] Conflict copies of a plan or its progress wait to be settled: "


@pytest.mark.parametrize("plans", [["PLAN.md"], ["PLAN.md", "PLAN-foo.md"], []], ids=["plain", "named", "none"])
def test_a_conflict_copy_of_a_plan_is_one_line(machine, plans):
    machine.harness.mkdir()
    for name in plans:
        (machine.harness / name).write_text("# Plan\n")
    assert COPY not in start_session(machine)

    for name in ("PLAN.sync-conflict-20261116-170500-ABCDEFG.md", "PLAN (unseen 1a2b3c4d).md"):
        (machine.harness / name).write_text("# Another plan\n")

    lines = [line for line in start_session(machine).splitlines() if line.startswith(COPY)]
    assert len(lines) == 1
    assert "PLAN (unseen 1a2b3c4d).md, PLAN.sync-conflict-20261116-170500-ABCDEFG.md" in lines[0]


def test_a_conflict_copy_of_a_progress_file_is_told_too(machine):
    machine.harness.mkdir()
    for name in ("PLAN.md", "progress.md", "progress (unseen 1a2b3c4d).md", "notes (unseen 1a2b3c4d).md"):
        (machine.harness / name).write_text("- done\n")
    assert f"{COPY}progress (unseen 1a2b3c4d).md. Ask the operator" in start_session(machine)


@pytest.mark.parametrize(("count", "end"), [(3, ""), (4, " and 1 more"), (12, " and 9 more")])
def test_of_many_conflict_copies_three_are_named(machine, count, end):
    machine.harness.mkdir()
    names = [f"PLAN (unseen {number:08x}).md" for number in range(count)]
    for name in names:
        (machine.harness / name).write_text("# Another plan\n")
    (line,) = (line for line in start_session(machine).splitlines() if line.startswith(COPY))
    assert line.startswith(f"{COPY}{', '.join(names[:3])}{end}. Ask the operator")


def test_a_plan_of_white_space_is_no_plan(machine):
    machine.harness.mkdir()
    (machine.harness / "PLAN.md").write_text(" \n\n")
    assert start_session(machine) == ""


@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_a_plan_that_is_no_plain_file_is_said_not_to_be_read(machine, kind):
    machine.harness.mkdir()
    plan = machine.harness / "PLAN.md"
    if kind == "link":
        plan.symlink_to(machine.home / "elsewhere.md")
    else:
        os.mkfifo(plan)

    out = machine.execute("hook", "session-start", input="{}").out

    assert out.startswith(f"[agentm] {plan} is not read: it is no plain file.")
