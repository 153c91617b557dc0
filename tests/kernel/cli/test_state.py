from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from agentm_kernel.plugin import content_hash

WRITERS = 24


@pytest.fixture(params=["checkout", "store"])
def place(request, machine) -> Path:
    """Where the state of the project belongs: everything here holds on either side."""
    if request.param == "checkout":
        return machine.harness
    machine.use_synced_store()
    return machine.store / "projects" / "widgets" / "_harness"


def test_state_is_written_read_listed_and_located(machine, place):
    written = machine.run("state", "write", "PLAN.md", input="# Plan\r\nzażółć")
    assert (written.code, written.out) == (0, f"{place}/PLAN.md\n")
    assert (place / "PLAN.md").read_bytes() == "# Plan\r\nzażółć".encode()

    assert machine.run("state", "read", "PLAN.md").out == "# Plan\r\nzażółć"
    assert machine.run("state", "list").out == "PLAN.md\n"
    assert machine.run("state", "path").out == f"{place}\n"
    assert machine.run("state", "path", "progress.md").out == f"{place}/progress.md\n"


@pytest.mark.parametrize("name", [None, "feature"])
def test_the_words_plan_and_progress_are_the_files_of_the_active_plan(machine, place, name):
    plan, progress = ("PLAN.md", "progress.md") if name is None else (f"PLAN-{name}.md", f"progress-{name}.md")
    if name is not None:
        machine.run("state", "write", plan, input="# Before\n")
        machine.run("plan", "use", name)

    assert machine.run("state", "write", "plan", input="# Plan\n").out == f"{place / plan}\n"
    assert machine.run("state", "append", "progress", input="- done\n").out == f"{place / progress}\n"
    assert machine.run("state", "read", "plan").out == "# Plan\n"
    assert machine.run("state", "read", "progress").out == "- done\n"
    for word, file in (("plan", plan), ("progress", progress)):
        assert machine.run("state", "path", word).out == machine.run("state-path", word).out == f"{place / file}\n"
    assert machine.run("state", "list").out.splitlines() == [plan, progress]


@pytest.mark.parametrize("name", ["PLAN", "PLAN-feature", "progress-feature"])
def test_a_plan_goes_by_its_name_without_an_ending_here_too(machine, place, name):
    """As it does in `plan use`: a file without one is no plan, and no session is told of it."""
    assert machine.run("state", "write", name, input="# Plan\n").out == f"{place / name}.md\n"
    assert machine.run("state", "read", name).out == "# Plan\n"
    assert machine.run("state", "path", name).out == f"{place / name}.md\n"
    assert machine.run("state", "list").out == f"{name}.md\n"


def test_a_plan_that_nobody_could_choose_is_not_written(machine, place):
    done = machine.run("state", "write", "PLAN-PLAN.md", input="plan\n")
    assert done.code == 1
    assert "it could be PLAN.md, too" in done.err
    assert not (place / "PLAN-PLAN.md").exists()


def test_readers_answer_in_json(machine, place):
    machine.run("state", "write", "PLAN.md", input="plan\n")

    read = json.loads(machine.run("state", "read", "PLAN.md", "--json").out)
    listed = json.loads(machine.run("state", "list", "--json").out)
    located = json.loads(machine.run("state", "path", "--json").out)

    assert read == {"schema": 1, "file": "PLAN.md", "hash": content_hash("plan\n"), "text": "plan\n"}
    assert listed == {"schema": 1, "project": "widgets", "directory": str(place), "files": ["PLAN.md"]}
    assert located == {"schema": 1, "project": "widgets", "path": str(place)}


def test_what_is_not_there_is_an_error_and_what_is_empty_is_not(machine, place):
    missing = machine.run("state", "read", "PLAN.md")
    assert (missing.code, missing.out) == (1, "")
    assert missing.err.startswith("error: there is no state file PLAN.md")
    machine.run("state", "write", "PLAN.md", "--allow-empty", input="")

    empty = machine.run("state", "read", "PLAN.md")

    assert (empty.code, empty.out, empty.err) == (0, "", "")


@pytest.mark.parametrize("text", ["", " \n"])
@pytest.mark.parametrize("verb", ["write", "append"])
def test_no_text_does_not_cost_a_plan(machine, place, verb, text):
    machine.run("state", "write", "PLAN.md", input="the plan\n")

    refused = machine.run("state", verb, "PLAN.md", input=text)

    assert (refused.code, refused.out) == (1, "")
    assert refused.err.startswith("error: the text is empty; nothing was written\nhint: ")
    assert ("--allow-empty" in refused.err) == (verb == "write")
    assert (place / "PLAN.md").read_text() == "the plan\n"


def test_a_plan_can_be_emptied_on_purpose(machine, place):
    machine.run("state", "write", "PLAN.md", input="the plan\n")

    assert machine.run("state", "write", "PLAN.md", "--allow-empty", input="").code == 0
    assert (place / "PLAN.md").read_text() == ""


def test_where_there_is_nothing_the_lists_say_how_to_begin(machine, place):
    for command, nothing in (("state", "no state files yet"), ("plan", "no plan yet")):
        listed = machine.run(command, "list")
        assert (listed.code, listed.out) == (0, "")
        assert listed.err == f"{nothing}: `agentm state write PLAN.md` makes a plan of standard input\n"
        assert machine.run(command, "list", "--json").err == ""
    machine.run("state", "write", "PLAN.md", input="plan")
    for command in ("state", "plan"):
        assert machine.run(command, "list").err == ""


def test_a_plan_that_was_left_in_the_checkout_is_named_with_the_command_that_moves_it(synced):
    synced.harness.mkdir()
    for name in ("PLAN.md", "PLAN-my idea.md", "progress.md", "notes.txt"):
        (synced.harness / name).write_text(f"old {name}")
    move = "state write PLAN.md --body-file .harness/PLAN.md"

    refused = synced.run("state", "read", "PLAN.md")
    assert refused.err.splitlines()[0] == "error: there is no state file PLAN.md here"
    assert refused.err.splitlines()[1].startswith(f"hint: {synced.harness}/PLAN.md is not used: ")
    assert f"`agentm {move}`" in refused.err
    states, plans = (synced.run(command, "list") for command in ("state", "plan"))
    assert (states.code, states.out, plans.code, plans.out) == (0, "", 0, "")
    assert [line.partition(" is not used")[0] for line in states.err.splitlines()] == [
        f"{synced.harness}/{name}" for name in ("PLAN-my idea.md", "PLAN.md", "progress.md")
    ]
    assert [line.partition(" is not used")[0] for line in plans.err.splitlines()] == [
        f"{synced.harness}/{name}" for name in ("PLAN-my idea.md", "PLAN.md")
    ]
    assert "--body-file '.harness/PLAN-my idea.md'`" in plans.err

    assert synced.run(*move.split()).code == 0
    assert synced.run("state", "read", "PLAN.md").out == "old PLAN.md"
    assert "PLAN.md is not used" not in synced.run("plan", "list").err
    deeper = synced.project / "src"
    deeper.mkdir()
    assert f"--body-file {synced.harness}/progress.md`" in synced.run("state", "read", "progress.md", cwd=deeper).err


def test_a_write_may_demand_what_is_there_now(machine):
    assert machine.run("state", "write", "PLAN.md", "--if-match", "absent", input="one").code == 0
    assert machine.run("state", "write", "PLAN.md", "--if-match", "absent", input="two").code == 3
    assert machine.run("state", "write", "PLAN.md", "--if-match", content_hash("x"), input="two").code == 3
    assert machine.run("state", "write", "PLAN.md", "--if-match", content_hash("one"), input="two").code == 0
    assert machine.run("state", "write", "PLAN.md", "--if-match", "1234", input="three").code == 2

    assert machine.run("state", "read", "PLAN.md").out == "two"


def test_text_may_come_from_a_file(machine, tmp_path):
    (tmp_path / "text").write_text("from a file")

    machine.run("state", "write", "PLAN.md", "--body-file", str(tmp_path / "text"))

    assert machine.run("state", "read", "PLAN.md").out == "from a file"
    missing = machine.run("state", "write", "PLAN.md", "--body-file", str(tmp_path / "gone"))
    assert (missing.code, missing.err.startswith("error: cannot read")) == (1, True)


def test_text_that_is_not_utf_8_is_refused(machine):
    refused = machine.run("state", "write", "PLAN.md", input=b"\xff\xfe")

    assert refused.code == 1
    assert not (machine.harness / "PLAN.md").exists()


@pytest.mark.parametrize("name", ["../PLAN.md", "a/b.md", "active-plan", ".project-mode", ""])
def test_a_name_that_is_not_a_state_file_is_refused(machine, name):
    for command in (("read", name), ("write", name), ("append", name), ("path", name or "/")):
        refused = machine.run("state", *command, input="x")
        assert (refused.code, refused.err.startswith("error: ")) == (1, True)
    assert machine.snapshot().keys() & {str(machine.harness), str(machine.project.parent / "PLAN.md")} == set()


def test_what_is_appended_begins_on_a_line_of_its_own(machine):
    machine.run("state", "write", "progress.md", input="no newline")
    for text in ("one\n", "two"):
        machine.run("state", "append", "progress.md", input=text)

    assert machine.run("state", "read", "progress.md").out == "no newline\none\ntwo"


def test_of_24_processes_that_append_at_once_none_loses_its_line(machine, place):
    lines = [f"- line {number}" for number in range(WRITERS)]
    processes = [machine.start("state", "append", "progress.md", stdin=subprocess.PIPE) for _ in lines]
    for process, line in zip(processes, lines, strict=True):
        process.stdin.write(f"{line}\n".encode())
    for process in processes:
        process.stdin.close()  # each waits for the end of its input, so they go off together
    for process in processes:
        assert process.wait(60) == 0
        process.stdout.close()
        process.stderr.close()

    assert sorted((place / "progress.md").read_text().splitlines()) == sorted(lines)


def test_another_directory_may_be_named(machine, tmp_path):
    machine.run("state", "write", "PLAN.md", input="plan")

    read = machine.run("state", "read", "PLAN.md", "--cwd", str(machine.project), cwd=tmp_path)

    assert read.out == "plan"
    for command in ("state-path plan", "state read PLAN.md", "state list", "state path"):
        refused = machine.run(*command.split(), "--cwd", "gone")
        assert (refused.code, refused.err.splitlines()[0]) == (1, "error: gone is not a directory")


def test_a_store_that_cannot_be_had_is_two_lines_and_exit_1(machine):
    machine.configure(**{"storage.backend": "vault-that-is-not-installed"})

    for command in (["write", "PLAN.md"], ["append", "PLAN.md"], ["read", "PLAN.md"], ["list"], ["path"]):
        refused = machine.run("state", *command, input="x")
        error, hint = refused.err.splitlines()
        assert refused.code == 1
        assert error.startswith("error: backend 'vault-that-is-not-installed' is selected")
        assert hint.startswith("hint: ")
    assert not machine.harness.exists()


# ------------------------------------------------------------------------------------------------ secrets

SECRET = "gh" + "p_" + "Q7w2Zk9" * 5 + "x"


@pytest.mark.parametrize("verb", ["write", "append"])
def test_a_secret_is_refused_before_anything_is_written(machine, place, verb):
    refused = machine.run("state", verb, "progress.md", input=f"- done\n- used {SECRET}\n")

    assert refused.code == 1
    assert "line 2 looks like a GitHub token" in refused.err
    assert "--allow-secrets" in refused.err
    assert SECRET not in refused.err
    assert not (place / "progress.md").exists()

    assert machine.run("state", verb, "progress.md", "--allow-secrets", input=SECRET).code == 0
    assert (place / "progress.md").read_text() == SECRET


def test_a_secret_that_stands_there_already_does_not_keep_the_next_line_out(machine, place):
    machine.run("state", "write", "progress.md", "--allow-secrets", input=f"- by hand: {SECRET}\n")

    assert machine.run("state", "append", "progress.md", input="- step 2\n").code == 0
    assert (place / "progress.md").read_text() == f"- by hand: {SECRET}\n- step 2\n"
