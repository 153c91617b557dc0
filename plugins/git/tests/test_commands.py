"""Two laptops and an origin, through the commands that people and hooks run."""

from __future__ import annotations

import json
import os
import shlex
import subprocess

import pytest
from clones import AGENTM
from git_servers import fill, git


class Laptop:
    """A home with the command in it."""

    def __init__(self, folder):
        self.home = folder
        self.clone = folder / "notes"
        folder.mkdir()
        self.environ = {"HOME": str(folder), "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}

    def run(self, *arguments, stdin="", code=0):
        done = subprocess.run(
            [AGENTM, *arguments],
            cwd=self.home,
            env=self.environ,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == code, done
        return done

    def write(self, name, text):
        path = self.clone / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())


@pytest.fixture
def laptops(tmp_path, origin_by_path):
    both = [Laptop(tmp_path / name) for name in ("one", "two")]
    for laptop in both:
        laptop.said = laptop.run("git", "init", str(laptop.clone), origin_by_path.url, "--use").stdout
    return both


def test_the_first_device_makes_the_store_and_the_second_joins_it(laptops):
    one, two = laptops
    assert one.said.startswith("made the store ")
    assert two.said.startswith("joined the store ")
    assert one.said.split()[3] == two.said.split()[3]
    assert one.said.endswith("this device uses it now\n")


def test_a_note_is_named_as_everywhere_else(laptops):
    one, _ = laptops
    one.write("projects/widgets/decisions/use-sqlite.md", "first\n")
    one.run("git", "sync")
    one.write("projects/widgets/decisions/use-sqlite.md", "second\n")
    one.write("projects/gadgets/decisions/use-sqlite.md", "other\n")
    one.run("git", "sync")
    key = "projects/widgets/decisions/use-sqlite.md"
    for name in (key, key.removesuffix(".md"), "widgets/decisions/use-sqlite", "widgets"):
        assert json.loads(one.run("git", "log", name, "--json").stdout)["note"] == key
    refused = one.run("git", "log", "use-sqlite", "--json", code=1)
    assert "could be any of: projects/gadgets/decisions/use-sqlite, projects/widgets" in refused.stderr
    assert json.loads(refused.stdout)["error"] in refused.stderr
    one.run("git", "undo", "widgets/decisions/use-sqlite")
    assert (one.clone / key).read_text() == "first\n"
    (one.clone / key).unlink()
    one.run("git", "sync")
    one.run("git", "undo", "widgets/decisions/use-sqlite")
    assert (one.clone / key).read_text() == "first\n", "one that only the history has can be wanted back"
    assert "no note and no commit has" in one.run("git", "log", "nothing-of-it", code=1).stderr


def test_commits_are_by_the_operator_whom_git_knows(laptops):
    one, two = laptops
    (one.home / ".gitconfig").write_text("[user]\n\tname = Ana Operator\n\temail = ana@work.example\n")
    one.write("plan.md", "x\n")
    one.run("git", "sync")
    assert git(one.clone, "log", "-1", "--format=%an <%ae> %cn").decode().strip() == (
        "Ana Operator <ana@work.example> Ana Operator"
    )
    one.run("config", "set", "plugins.git.name", "Notes")
    one.write("plan.md", "y\n")
    one.run("git", "sync")
    assert git(one.clone, "log", "-1", "--format=%an <%ae>").decode().strip() == "Notes <ana@work.example>"
    two.write("other.md", "x\n")
    two.run("git", "sync")
    assert git(two.clone, "log", "-1", "--format=%ae").decode().strip() == "agentm@noreply.agentm.invalid"


def test_a_conflict_that_the_policy_leaves_open_is_an_outcome_of_the_event(laptops):
    one, two = laptops
    for laptop, text in ((one, "one\n"), (two, "two\n")):
        laptop.run("config", "set", "plugins.git.conflict", "abort")
        laptop.write("plan.md", text)
    one.run("event", "turn-end")
    said = two.run("event", "turn-end", code=1).stderr
    error, hint = [line for line in said.splitlines() if line.startswith(("error:", "hint:"))]
    assert "reinstall" not in said
    assert error.startswith("error: the origin has moved on, and the policy 'abort'")
    assert error.endswith("[storage_conflict]")
    assert hint.startswith("hint: run `agentm git sync --conflict POLICY`")


def test_init_without_use_says_what_to_run(tmp_path):
    laptop = Laptop(tmp_path / "one")
    said = laptop.run("git", "init", str(laptop.clone)).stdout
    assert "to use it on this device, run the same command again with --use" in said
    (line,) = (line for line in said.splitlines() if line.startswith("  agentm "))
    laptop.run(*line.replace("NAME", "team").split()[1:])
    laptop.run("git", "init", str(laptop.clone), "--use")
    assert "no origin" in laptop.run("git", "status").stdout


def test_init_of_the_clone_in_use_changes_nothing_and_says_so(tmp_path, origin_by_path):
    laptop = Laptop(tmp_path / "one")
    given = ("--branch", "notes", "--conflict", "merge", "--use")
    laptop.run("git", "init", str(laptop.clone), origin_by_path.url, *given)
    before = laptop.run("config", "list").stdout
    assert laptop.run("git", "init", str(laptop.clone)).stdout.endswith("this device uses it already\n")
    laptop.run("git", "init", str(laptop.clone), "--use")
    assert laptop.run("config", "list").stdout == before


def test_what_was_configured_before_the_first_clone_holds_for_it(tmp_path, origin_by_path):
    laptop = Laptop(tmp_path / "one")
    laptop.run("config", "set", "plugins.git.conflict", "manual")
    laptop.run("config", "set", "plugins.git.branch", "notes")
    laptop.run("config", "set", "plugins.git.remote", origin_by_path.url)
    laptop.run("git", "init", str(laptop.clone), "--use")
    assert laptop.run("config", "get", "plugins.git.conflict").stdout == "manual\n"
    assert f"{laptop.clone}, branch notes\n" in laptop.run("git", "status").stdout
    assert origin_by_path.url in laptop.run("git", "status").stdout


def test_init_of_another_clone_takes_over_nothing_of_the_one_before_and_says_where_its_notes_stay(laptops, tmp_path):
    one, _ = laptops
    one.run("config", "set", "plugins.git.conflict", "merge")
    one.write("plan.md", "the plan\n")
    said = one.run("git", "init", str(tmp_path / "other"), "--use").stdout
    assert "plugins.git.conflict was merge for the clone before, and is not set for this one\n" in said
    assert f"the notes of the store before stay at {one.clone}\n" in said
    assert "no origin" in one.run("git", "status").stdout
    assert "merge" not in one.run("config", "list", "--json").stdout.partition('"meanings"')[0]


def test_a_folder_whose_parent_is_missing_is_not_made(tmp_path):
    laptop = Laptop(tmp_path / "one")
    refused = laptop.run("git", "init", str(tmp_path / "disk" / "notes"), code=1).stderr
    assert f"the folder {tmp_path / 'disk'} does not exist" in refused
    assert not (tmp_path / "disk").exists()


def test_an_origin_that_does_not_exist_is_to_be_created_or_spelt_right(tmp_path):
    laptop = Laptop(tmp_path / "one")
    refused = laptop.run("git", "init", str(laptop.clone), f"file://{tmp_path}/none.git", code=1).stderr
    assert "hint: create the repository first, or check the address" in refused
    assert not laptop.clone.exists()
    laptop.clone.mkdir()
    (laptop.clone / "mine.md").write_text("mine\n")
    laptop.run("git", "init", str(laptop.clone), f"file://{tmp_path}/none.git", "--adopt", code=1)
    assert [path.name for path in laptop.clone.iterdir()] == ["mine.md"]


def test_a_clone_inside_another_repository_is_pointed_out_unless_that_one_ignores_it(tmp_path):
    laptop = Laptop(tmp_path / "one")
    project = laptop.home / "project"
    git(str(laptop.home), "init", "-q", str(project))
    (project / ".gitignore").write_text("/ignored/\n")
    assert f"it lies in the repository {project}" in laptop.run("git", "init", "project/notes").stdout
    assert "it lies in" not in laptop.run("git", "init", "project/ignored").stdout
    assert "it lies in" not in laptop.run("git", "init", "elsewhere").stdout


def hinted(said):
    """The words of the command that a hint has, as a shell would read them."""
    return shlex.split(said.partition("`agentm ")[2].partition("`")[0])


def test_files_that_are_there_already_are_adopted_only_if_that_is_said(tmp_path, origin_by_path):
    fill(origin_by_path, {"readme.md": b"begin\n"})
    laptop = Laptop(tmp_path / "one")
    clone = str(tmp_path / "my clone")
    refused = laptop.run("git", "init", clone, origin_by_path.url, code=1).stderr
    assert hinted(refused) == ["git", "init", "--adopt", clone, origin_by_path.url]
    laptop.run(*hinted(refused))
    full = tmp_path / "my notes"
    full.mkdir()
    (full / "note.md").write_text("mine\n")
    refused = laptop.run("git", "init", str(full), code=1).stderr
    assert "not empty" in refused
    laptop.run(*hinted(refused))
    assert git(str(full), "show", "main:note.md") == b"mine\n"


def test_a_clone_that_the_operator_made_with_git_is_used_with_its_origin(tmp_path, origin_by_path):
    fill(origin_by_path, {"readme.md": b"begin\n", ".github/run.yml": b"run\n"})
    laptop = Laptop(tmp_path / "one")
    git(str(tmp_path), "clone", "-q", origin_by_path.url, str(laptop.clone))
    laptop.run("git", "init", str(laptop.clone), "--adopt", "--use")
    laptop.write("note.md", "mine\n")
    laptop.run("git", "sync")
    assert {"readme.md", ".github/run.yml", "note.md", "_meta/store.json"} == set(origin_by_path.files())
    assert git(str(laptop.clone), "status", "--porcelain") == b""
    laptop.write(".github/run.yml", "edited by hand\n")
    laptop.run("git", "sync")
    assert git(str(laptop.clone), "status", "--porcelain") == b" M .github/run.yml\n", "that is for git, by hand"
    assert origin_by_path.files()[".github/run.yml"] == b"run\n"


def test_sync_carries_notes_from_one_device_to_the_other(laptops):
    one, two = laptops
    one.write("plans/plan.md", "the plan\n")
    assert "committed" in one.run("git", "sync").stdout
    assert "1 file changed" in two.run("git", "sync").stdout
    assert (two.clone / "plans/plan.md").read_text() == "the plan\n"
    assert two.run("git", "sync").stdout == "nothing to do\n"


def test_a_conflict_that_the_policy_leaves_is_settled_by_the_command_that_the_error_names(laptops, origin_by_path):
    one, two = laptops
    two.run("config", "set", "plugins.git.conflict", "abort")
    one.write("plan.md", "ones\n")
    one.run("git", "sync")
    two.write("plan.md", "twos\n")
    refused = two.run("git", "sync", code=1).stderr
    assert "agentm git sync --conflict" in refused
    said = two.run("git", "sync", "--conflict", "split-conflicts").stdout
    assert "the other version is plan (conflict " in said
    assert {b"ones\n", b"twos\n"} <= set(origin_by_path.files().values())
    shown = two.run("git", "status").stdout
    assert "kept versions to look at:\n  plan (conflict " in shown


def test_status_tells_what_waits_in_words_and_as_json(laptops, origin_by_path):
    one, _ = laptops
    one.write("plan.md", "new\n")
    one.write("x.log", "noise\n")
    one.write(".gitignore", "*.log\n")
    shown = one.run("git", "status").stdout
    assert "not committed:\n  plan.md (new)\n" in shown
    assert "left out because of .gitignore or of their names, or in a repository of their own:\n  x.log\n" in shown
    assert "nothing to push or to bring in" in shown
    answer = json.loads(one.run("git", "status", "--json").stdout)
    assert answer["changes"] == [{"note": "plan.md", "what": "new"}]
    assert (answer["store"], answer["branch"], answer["remote"]) == (str(one.clone), "main", origin_by_path.url)
    assert 0 <= answer["pulled_seconds_ago"] < 600
    assert (answer["ahead"], answer["behind"], answer["ignored"], answer["conflicts"]) == (0, 0, ["x.log"], [])
    one.run("git", "sync", "--message", "first plan")
    assert "everything is committed" in one.run("git", "status").stdout


def test_sync_and_status_and_doctor_name_a_note_that_another_device_spells_like_one_of_ours(laptops):
    one, two = laptops
    one.write("Plan.md", "ones\n")
    one.run("git", "sync")
    two.write("plan.md", "twos\n")
    assert "Plan.md cannot be in this folder" in two.run("git", "sync").stdout
    shown = two.run("git", "status").stdout
    assert "in the repository, and not in this folder (too large, spelled like another one, or" in shown
    assert ":\n  Plan.md\n" in shown
    assert json.loads(two.run("git", "status", "--json").stdout)["absent"] == ["Plan.md"]
    assert "1 in the repository, and not in this folder" in two.run("doctor").stdout


def test_log_shows_the_versions_of_a_note(laptops):
    one, _ = laptops
    one.write("plan.md", "first\n")
    one.run("git", "sync", "-m", "write it")
    one.write("plan.md", "second\n")
    one.run("git", "sync", "-m", "change it")
    (one.clone / "plan.md").unlink()
    one.run("git", "sync", "-m", "drop it")
    versions = json.loads(one.run("git", "log", "plan.md", "--json").stdout)["versions"]
    assert [(version["what"], version["message"]) for version in versions] == [
        ("deleted", "drop it"),
        ("changed", "change it"),
        ("written", "write it"),
    ]
    assert "drop it" in one.run("git", "log", "plan.md").stdout
    for arguments in ((), ("--json",)):
        assert "no commit has" in one.run("git", "log", "other.md", *arguments, code=1).stderr


def test_undo_brings_a_note_back_and_twice_brings_it_forth(laptops):
    one, _ = laptops
    one.write("plan.md", "first\r\n")
    one.run("git", "sync")
    one.write("plan.md", "second, not committed yet\n")
    said = one.run("git", "undo", "plan.md").stdout
    assert "as " in said
    assert (one.clone / "plan.md").read_bytes() == b"first\r\n"
    answer = json.loads(one.run("git", "undo", "plan.md", "--json").stdout)
    assert (answer["note"], answer["exists"]) == ("plan.md", True)
    assert (one.clone / "plan.md").read_text() == "second, not committed yet\n"
    assert git(str(one.clone), "status", "--porcelain") == b"", "an undo is a commit, too"


def test_undo_reaches_deleted_notes_and_named_versions(laptops):
    one, _ = laptops
    for text in ("first\n", "second\n", "third\n"):
        one.write("plan.md", text)
        one.run("git", "sync")
    (one.clone / "plan.md").unlink()
    one.run("git", "undo", "plan.md")
    assert (one.clone / "plan.md").read_text() == "third\n"
    versions = json.loads(one.run("git", "log", "plan.md", "--json").stdout)["versions"]
    one.run("git", "undo", "plan.md", "--to", versions[-1]["commit"][:8])
    assert (one.clone / "plan.md").read_text() == "first\n"
    assert "no version" in one.run("git", "undo", "plan.md", "--to", "abcdef", code=1).stderr


def test_undo_of_the_first_version_takes_the_note_away(laptops):
    one, _ = laptops
    one.write("plan.md", "first\n")
    one.run("git", "sync")
    assert one.run("git", "undo", "plan.md").stdout == "'plan.md' is gone, as before it was written\n"
    assert not (one.clone / "plan.md").exists()
    one.run("git", "undo", "plan.md")
    assert (one.clone / "plan.md").read_text() == "first\n"


def test_events_of_an_agent_pull_commit_and_push(laptops, origin_by_path):
    one, two = laptops
    one.write("plan.md", "the plan\n")
    assert "1 file" in one.run("event", "turn-end", stdin='{"session_id": "s1"}').stderr
    assert origin_by_path.files()["plan.md"] == b"the plan\n"
    two.run("config", "set", "plugins.git.pull_ttl", "0.001")
    two.run("event", "session-start")
    assert (two.clone / "plan.md").read_text() == "the plan\n"


def test_events_with_an_origin_that_is_away_are_no_failure_and_keep_everything(laptops, origin_by_path):
    one, _ = laptops
    os.rename(origin_by_path.path, f"{origin_by_path.path}.away")
    one.write("plan.md", "the plan\n")
    said = one.run("event", "turn-end").stderr
    assert "kept on this device" in said
    os.rename(f"{origin_by_path.path}.away", origin_by_path.path)
    one.run("event", "session-end")
    assert origin_by_path.files()["plan.md"] == b"the plan\n"


def test_an_event_within_the_time_to_live_asks_the_origin_nothing(laptops, origin_by_path):
    one, _ = laptops
    os.rename(origin_by_path.path, f"{origin_by_path.path}.away")
    assert one.run("event", "turn-start").stderr == ""
    os.rename(f"{origin_by_path.path}.away", origin_by_path.path)


def test_doctor_knows_the_clone_its_origin_and_what_is_unfinished(laptops):
    one, _ = laptops
    rows = {row["check"]: row for row in json.loads(one.run("doctor", "--json").stdout)["rows"]}
    assert rows["git clone"]["status"] == "ok"
    assert "nothing to push" in rows["git origin"]["message"]
    assert rows["git conflicts"]["status"] == "ok"
    (one.clone / ".git" / "MERGE_HEAD").write_text("0" * 40)
    rows = {row["check"]: row for row in json.loads(one.run("doctor", "--json", code=1).stdout)["rows"]}
    assert rows["git clone"]["status"] == "fail"
    assert "merge --abort" in rows["git clone"]["hint"]


def test_commands_on_another_store_say_how_to_use_git(tmp_path):
    laptop = Laptop(tmp_path / "one")
    for arguments in (("sync",), ("status",), ("log", "x.md"), ("undo", "x.md")):
        assert "agentm git init" in laptop.run("git", *arguments, code=1).stderr
