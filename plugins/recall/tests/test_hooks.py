"""What hooks see: session start, recall-here, events and doctor, in processes of their own."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import time

import pytest

from agentm_kernel import Locator
from agentm_recall import RecallIndex
from agentm_recall.left_behind import left_behind

SMALL = {"__future__", "_json", "_thread", "binascii", "errno", "gc", "math"}
"""What a hook may load that is not agentm's: each of them is small, and in C but for one."""
OF_SQLITE = {"_functools", "_sqlite3", "itertools"}


@pytest.fixture
def remembering(home, store):
    home.note("personal/_always-load/tone.md", "---\nkind: always-load\n---\n# Tone\nWrite plainly.\n")
    home.note("projects/widgets/decisions/files.md", "---\nupdated: 2025-01-01\n---\n# Files\nThey last.\n")
    (home.project / ".harness").mkdir()
    (home.project / ".harness" / "PLAN.md").write_text("# Plan\n")
    return home


def test_a_session_starts_with_the_state_and_then_the_notes(remembering):
    text = remembering.run("hook", "session-start", input="{}").stdout

    assert text.index("PLAN.md:") < text.index("# Memory: project widgets, phase work") < text.index("They last.")
    assert text.rstrip().split("\n\n")[-2] == "Left out: nothing."


def test_the_notes_stay_within_what_a_host_takes(remembering):
    for number in range(300):
        remembering.note(f"projects/widgets/decisions/n{number}.md", f"# Note {number}\n" + "日本語 words " * 40)

    context = remembering.run("hook", "session-start", input="{}").stdout.rstrip()

    assert 5000 < len(context.encode()) <= 10_000
    assert "for lack of room" in context.split("\n\n")[-2]


def test_a_session_without_notes_is_told_that_memory_is_empty(home):
    assert home.run("hook", "session-start", input="{}").stdout.startswith("[agentm] Memory is empty: ")


def test_trouble_with_notes_is_one_line_and_the_state_is_there(remembering):
    remembering.note("_meta/store.json", "{broken")

    result = remembering.run("hook", "session-start", input="{}")

    assert result.returncode == 0
    assert len([line for line in result.stdout.splitlines() if "not available" in line]) == 1


@pytest.mark.parametrize("with_index", [False, True])
@pytest.mark.parametrize(
    "arguments", [["recall-here"], ["recall-here", "--query", "files"], ["hook", "session-start"]]
)
def test_recalling_creates_and_changes_no_file_anywhere(remembering, store, with_index, arguments):
    if with_index:
        RecallIndex(store).update()
        remembering.note("projects/widgets/decisions/fresh.md", "# Files again\n")
    before = remembering.files()

    result = remembering.run(*arguments, input="{}")

    assert "They last." in result.stdout
    assert remembering.files() == before


def test_the_flags_of_recall_here_reach_the_notes(remembering):
    remembering.note("projects/widgets/known-issues/bug.md", "# Bug\nIt bites.\n")

    assert "It bites." in remembering.run("recall-here", "--phase", "bugfix").stdout
    remembering.note("projects/widgets/decisions/choice.md", "# Choice\nIt is made.\n")
    bugfix, release = (remembering.run("recall-here", "--phase", phase).stdout for phase in ("bugfix", "release"))
    assert bugfix.index("It bites.") < bugfix.index("It is made.")
    assert release.index("It is made.") < release.index("It bites.")
    assert "It bites." in remembering.run("recall-here", "--phase", "nonsense").stdout
    assert "They last." not in remembering.run("recall-here", "--query", "bite", "--limit", "400").stdout
    assert "2 for lack of room" in remembering.run("recall-here", "--query", "bite", "--limit", "60").stdout
    assert remembering.run("recall-here", "--cwd", str(remembering.path)).returncode == 0


def test_a_plugin_that_is_kept_out_is_not_asked(remembering):
    remembering.note("../../.config/agentm/.agentm-config.json", '{"plugin_policy": {"disabled": ["agentm-recall"]}}')

    result = remembering.run("recall-here")

    assert (result.stdout, result.returncode) == ("", 0)


def modules_of(home, code):
    report = f"import sys\n{code}\nprint('\\n'.join(sys.modules))"
    result = subprocess.run(
        [sys.executable, "-c", report],
        env=home.environ,
        cwd=home.project,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return set(result.stdout.split())


def not_ours(modules):
    return {name for name in modules if not name.startswith("agentm_")}


def test_recall_at_the_start_of_a_session_loads_only_what_is_small(remembering, store):
    time.sleep(0.15)  # folders that have just changed are looked at again
    RecallIndex(store).update()
    bare = modules_of(remembering, "")

    loaded = modules_of(
        remembering,
        "from agentm_kernel import recall_here\nassert 'They last.' in recall_here({})\n",
    )

    assert not_ours(loaded - bare) <= SMALL


@pytest.mark.parametrize("index", ["up to date", "older than a note", "none"])
def test_an_ordinary_prompt_loads_sqlite_and_otherwise_only_what_is_small(remembering, store, index):
    time.sleep(0.15)
    if index != "none":
        RecallIndex(store).update()
    if index == "older than a note":
        remembering.note(
            "projects/widgets/decisions/paper.md", "# Paper\nNew in `src/paper.py` since commit 1a2b3c4d.\n"
        )
    bare = modules_of(remembering, "")

    loaded = modules_of(
        remembering,
        "from agentm_kernel.plugin import Device\nfrom agentm_recall.prompting import answer_prompt\n"
        "assert 'They last.' in answer_prompt(Device.now().memory(None), prompt=\"Why isn't it that they last?\")\n",
    )

    assert not_ours(loaded - bare) <= SMALL | OF_SQLITE
    assert ("agentm_recall.index.refresh" in loaded) == (index != "up to date")
    for_other_questions = {"agentm_recall.index.history", "agentm_recall.index.long_questions"}
    assert loaded.isdisjoint(for_other_questions)


@pytest.mark.parametrize("event", ["turn-end", "session-end"])
def test_an_event_brings_the_index_up_to_date(remembering, event):
    result = remembering.run("event", event, input="{}")

    assert (result.stdout, result.returncode) == ("", 0)
    assert "recall: 2 notes indexed\n" in result.stderr
    assert remembering.index_file().exists()
    assert "recall" not in remembering.run("event", event, input="{}").stderr


def test_an_event_does_not_build_a_large_index(remembering):
    for number in range(501):
        remembering.note(f"projects/widgets/facts/n{number}.md", "text\n")

    assert "recall" not in remembering.run("event", "turn-end", input="{}").stderr
    assert not remembering.index_file().exists()


def test_other_events_mean_nothing(remembering):
    remembering.run("event", "turn-start", input="{}")

    assert not remembering.index_file().exists()


def row(home):
    rows = json.loads(home.run("doctor", "--json").stdout)["rows"]
    return next(row for row in rows if row["check"] == "recall")


def test_doctor_says_where_the_index_is_and_whether_it_can_be_used(remembering, store):
    assert "no index yet" in row(remembering)["message"]

    RecallIndex(store).update()
    assert row(remembering)["message"] == f"2 notes indexed, in {remembering.index_file()}"

    remembering.index_file().write_bytes(b"garbage")
    assert row(remembering)["status"] == "warn"
    assert row(remembering)["hint"] == "run `agentm reindex`"


def test_what_doctor_says_to_run_is_one_command_whatever_projects_are_called(home, store):
    record = {"version": 1, "id": "1", "remotes": ["example.com/ana/widgets"]}
    for name, more in (("my; things", {}), ("widgets", {"id": "2"}), ("it's", {"moved_to": "my; things"})):
        store.write(Locator(f"projects/{name}/_project.json"), json.dumps({**record, **more}))
        store.write(Locator(f"projects/{name}/facts/{name}.md"), "We drink tea.\n")
    hints = {row["check"]: row["hint"] for row in json.loads(home.run("doctor", "--json").stdout)["rows"]}
    words = {check: shlex.split(str(hints[check]).split("`")[1])[3:] for check in ("left behind", "two names")}
    assert words == {"left behind": ["it's", "my; things"], "two names": ["my; things", "widgets"]}


@pytest.mark.parametrize("tree", ["projects", "personal-projects"])
@pytest.mark.parametrize(
    ("said", "where", "way_out"),
    [
        ({"moved_to": "gadgets"}, "are in 'projects/gadgets' now", "agentm project rename things gadgets"),
        ({"moved_to_store": "another"}, "in another store", "agentm project use-store NAME --move"),
    ],
)
def test_doctor_names_what_came_to_a_name_after_its_project_had_left_it(home, store, tree, said, where, way_out):
    record = {"version": 1, "id": "1", "remotes": []}
    store.write(Locator("projects/gadgets/_project.json"), json.dumps(record))
    store.write(Locator("projects/gadgets/facts/tea.md"), "We drink tea.\n")
    store.write(Locator(f"{tree}/things/_project.json"), json.dumps({**record, **said}))
    assert left_behind(store) == []
    store.write(Locator(f"{tree}/things/facts/late.md"), "Written on the train.\n")
    store.write(Locator(f"{tree}/things/_harness/PLAN.md"), "Changed on the train.\n")
    rows = json.loads(home.run("doctor", "--json").stdout)["rows"]
    [found] = [row for row in rows if row["check"] == "left behind"]
    assert found["status"] == "warn"
    assert found["message"].startswith("2 files under 'things', where nobody reads them: the notes of ")
    assert where in found["message"]
    assert way_out in found["hint"]
