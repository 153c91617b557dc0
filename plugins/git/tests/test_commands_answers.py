"""What the commands of a clone answer, word for word and field for field."""

from __future__ import annotations

import json
import os
import re
import time
from typing import TYPE_CHECKING

import pytest
from desk import Desk
from git_servers import fill, git, serving

from agentm_git import commands
from agentm_git.changes import Changes
from agentm_kernel import Locator

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from git_servers import Origin


@pytest.fixture
def desk(tmp_path: Path, origin_by_path: Origin) -> Desk:
    made = Desk(tmp_path / "desk")
    made.init(origin_by_path.url)
    return made


@pytest.fixture
def alone(tmp_path: Path) -> Desk:
    """Without an origin."""
    made = Desk(tmp_path / "alone")
    made.init()
    return made


def tip(desk: Desk) -> str:
    return git(str(desk.clone), "rev-parse", "main").decode().strip()


def subjects(desk: Desk, count: int) -> list[str]:
    return git(str(desk.clone), "log", f"-{count}", "--format=%s").decode().splitlines()


# ------------------------------------------------------------------------------------------------ sync


def test_sync_says_each_step_that_changed_something_with_the_beginning_of_its_commit(
    desk: Desk, origin_by_path: Origin
) -> None:
    desk.write("plan.md", "the plan\n")
    said = desk.done("git", "sync")
    assert said == f"committed {tip(desk)[:12]}: 1 file\npushed {tip(desk)[:12]}\n"
    assert subjects(desk, 1) == ["agentm: sync"]
    fill(origin_by_path, {"a.md": b"a\n", "b.md": b"b\n"})
    assert desk.done("git", "sync") == f"pulled {tip(desk)[:12]}: 2 files changed\n"
    assert desk.done("git", "sync") == "nothing to do\n"


def test_sync_answers_a_program_with_the_outcome_of_every_step(desk: Desk) -> None:
    desk.write("plan.md", "the plan\n")
    desk.write("x.log", "noise\n")
    desk.write(".gitignore", "*.log\n")
    answer = desk.answer("git", "sync", "--message", "first plan")
    nothing = {"changed": False, "ref": tip(desk), "url": None, "note": None}
    assert answer["committed"] == {**nothing, "changed": True, "note": "1 file"}
    assert answer["pulled"] == nothing
    assert answer["pushed"] == {**nothing, "changed": True}
    assert (answer["ignored"], answer["store"]) == (["x.log"], str(desk.clone))
    assert subjects(desk, 1) == ["first plan"]


def test_sync_and_doctor_name_what_this_user_may_not_read(
    desk: Desk, origin_by_path: Origin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Changes, "unread", lambda _: ["plan.md"])
    left = desk.run("git", "sync")
    assert (left.exit_code, left.output) == (
        1,
        "nothing to do\nunreadable for this user, and so in no commit:\n  plan.md\n",
    )
    answered = desk.run("git", "sync", "--json")
    assert (answered.exit_code, json.loads(answered.output)["unread"]) == (1, ["plan.md"])
    desk.write("plan.md", "the plan\n")
    fill(origin_by_path, {"a.md": b"a\n"})
    with monkeypatch.context() as patched:
        patched.setattr(commands, "_may_write", lambda _: False)
        assert desk.run("git", "sync").output == (
            "not pulled: this user cannot read plan.md, so it cannot be committed\n"
        )
    assert "1 unreadable for this user, and so in no commit: plan.md" in desk.run("doctor").output


def test_sync_says_not_pulled_only_while_what_the_origin_has_is_not_here(
    desk: Desk, origin_by_path: Origin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Changes, "stage", lambda *_: [])  # as if a program changed a note after each commit
    desk.write("plan.md", "the plan\n")
    fill(origin_by_path, {"a.md": b"a\n"})
    said = desk.done("git", "sync")  # the push brought it in
    assert (desk.clone / "a.md").read_bytes() == b"a\n"
    assert "not pulled" not in said


def test_sync_fails_while_what_the_origin_has_is_not_here(
    desk: Desk, origin_by_path: Origin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commands, "_may_write", lambda _: False)
    desk.write("plan.md", "the plan\n")
    fill(origin_by_path, {"a.md": b"a\n"})
    stuck = desk.run("git", "sync")
    assert (stuck.exit_code, stuck.output) == (1, "not pulled: there are changes that are not committed yet\n")
    assert desk.run("git", "sync", "--json").exit_code == 1
    (desk.clone / "plan.md").unlink()
    assert desk.done("git", "sync").startswith("pulled ")


def test_status_answers_after_git_forgot_what_the_origin_had(
    desk: Desk, origin_by_path: Origin, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(origin_by_path, {"a.md": b"a\n"})
    desk.write("plan.md", "the plan\n")
    with monkeypatch.context() as patched:
        patched.setattr(commands, "_may_write", lambda _: False)
        desk.run("git", "sync")  # fetched, and not brought in
    assert desk.answer("git", "status")["behind"] == 1
    git(str(desk.clone), "remote", "remove", "origin")
    git(str(desk.clone), "-c", "gc.reflogExpire=now", "gc", "--prune=now", "--quiet")
    answer = desk.answer("git", "status")
    assert (answer["behind"], [change["note"] for change in answer["changes"]]) == (None, ["plan.md"])
    desk.done("git", "sync")
    assert desk.answer("git", "status")["behind"] == 0
    assert (desk.clone / "a.md").read_bytes() == b"a\n"


def test_sync_names_what_is_left_out_also_where_there_is_nothing_to_do(alone: Desk) -> None:
    alone.write("x.log", "noise\n")
    alone.write(".gitignore", "*.log\n")
    left_out = "left out because of .gitignore or of their names, or in a repository of their own:\n  x.log\n"
    assert alone.done("git", "sync") == f"nothing to do\n{left_out}"
    assert alone.answer("git", "sync").keys() & {"committed", "pulled", "pushed"} == {"committed"}


def test_sync_settles_by_a_policy_that_settles_something(desk: Desk) -> None:
    for policy in ("abort", "manual"):
        assert f"'{policy}' is not one of" in desk.refused("git", "sync", "--conflict", policy)
    assert desk.done("git", "sync", "--conflict", "merge") == "nothing to do\n"


# ------------------------------------------------------------------------------------------------ status


def test_status_lists_everything_that_waits_in_a_fixed_order(desk: Desk, origin_by_path: Origin) -> None:
    desk.write("changed.md", "one\n")
    desk.write("gone.md", "one\n")
    desk.done("git", "sync")
    desk.write("changed.md", "two\n")
    desk.write("new.md", "one\n")
    (desk.clone / "gone.md").unlink()
    desk.write("x.log", "noise\n")
    desk.write(".gitignore", "*.log\n")
    desk.write("plan (conflict 0123abcd).md", "lost\n")
    reached, *lines = re.sub(r"last reached \d+ s ago", "reached", desk.done("git", "status")).splitlines()
    assert reached == f"{desk.clone}, branch main"
    assert lines == [
        "not committed:",
        "  changed.md (changed)",
        "  gone.md (deleted)",
        "  new.md (new)",
        "  plan (conflict 0123abcd).md (new)",
        f"origin {origin_by_path.url}: reached; nothing to push or to bring in",
        "left out because of .gitignore or of their names, or in a repository of their own:",
        "  x.log",
        "kept versions to look at:",
        "  plan (conflict 0123abcd).md",
    ]


@pytest.mark.parametrize(
    "name", ["plan (conflict 0123abcd).md", "_meta/conflicts/plan.md/kept-1.md", "plan (conflict 89abcdef)"]
)
def test_a_version_that_lost_waits_to_be_looked_at_wherever_it_was_put(alone: Desk, name: str) -> None:
    alone.write(name, "lost\n")
    assert alone.answer("git", "status")["conflicts"] == [name]


@pytest.mark.parametrize(
    "name",
    ["plan (conflict 0123abc).md", "plan (conflict 0123abcde).md", "plan (conflict 0123ABCD).md", "0123abcd).md"],
)
def test_a_note_that_only_looks_like_a_version_that_lost_is_none(alone: Desk, name: str) -> None:
    alone.write(name, "mine\n")
    assert alone.answer("git", "status")["conflicts"] == []


def test_status_of_an_origin_that_was_never_reached_says_so(alone: Desk, origin_by_path: Origin) -> None:
    assert alone.done("git", "status").endswith("is committed\nno origin: history stays on this device\n")
    assert alone.answer("git", "status")["remote"] is None
    alone.done("config", "set", "plugins.git.remote", origin_by_path.url)
    said = alone.done("git", "status")
    assert said.endswith(f"origin {origin_by_path.url}: it was never reached; it has nothing yet\n")
    answer = alone.answer("git", "status")
    assert answer["remote"] == origin_by_path.url
    assert [answer[name] for name in ("ahead", "behind", "pulled_seconds_ago")] == [None, None, None]


def test_status_counts_what_is_ahead_and_behind_and_how_old_that_is(desk: Desk, origin_by_path: Origin) -> None:
    fill(origin_by_path, {"a.md": b"a\n"})
    desk.write("plan.md", "mine\n")
    git(str(desk.clone), "add", "-A")
    git(str(desk.clone), "commit", "-q", "-m", "by hand")
    desk.done("config", "set", "plugins.git.conflict", "abort")
    desk.refused("git", "sync")
    pulled = desk.clone / ".git" / "agentm" / "pulled"
    os.utime(pulled, (time.time() - 7200, time.time() - 7200))
    answer = desk.answer("git", "status")
    assert (answer["ahead"], answer["behind"]) == (1, 1)
    assert 7200 <= answer["pulled_seconds_ago"] < 7800
    assert "last reached 2 h ago; 1 commit to push, 1 commit to bring in" in desk.done("git", "status")


# ------------------------------------------------------------------------------------------------ log and undo


def test_log_has_a_line_for_each_version_with_its_time_author_and_size(alone: Desk) -> None:
    alone.done("config", "set", "plugins.git.name", "Ana")
    alone.write("plan.md", "x" * 1234)
    alone.done("git", "sync", "-m", "write it")
    commit = tip(alone)
    seconds = int(git(str(alone.clone), "log", "-1", "--format=%at"))
    when = time.strftime("%Y-%m-%d %H:%M:%SZ", time.gmtime(seconds))
    assert alone.done("git", "log", "plan") == f"{commit[:12]}  {when}  Ana  written  1,234  write it\n"
    version = {
        "commit": commit,
        "when": when,
        "author": "Ana",
        "message": "write it",
        "what": "written",
        "size": 1234,
    }
    answer = alone.answer("git", "log", "plan")
    assert (answer["note"], answer["versions"]) == ("plan.md", [version])


@pytest.mark.parametrize("command", ["log", "status"])
def test_looking_needs_no_right_to_write(desk: Desk, command: str) -> None:
    desk.write("plan.md", "the plan\n")
    desk.done("git", "sync")
    os.chmod(desk.clone, 0o500)
    try:
        assert desk.run("git", command, *(["plan.md"] if command == "log" else [])).exit_code == 0
    finally:
        os.chmod(desk.clone, 0o700)


def test_a_note_that_no_commit_has_yet_is_named_with_where_to_look(alone: Desk) -> None:
    alone.write("plan.md", "new\n")
    refused = alone.refused("git", "log", "plan.md")
    assert "no commit has 'plan.md'" in refused
    assert "`agentm git status`" in refused


def test_undo_says_which_version_the_note_has_now_and_commits_before_and_after(alone: Desk) -> None:
    alone.write("plan.md", "first\n")
    alone.done("git", "sync")
    first = tip(alone)
    alone.write("plan.md", "second\n")
    assert alone.done("git", "undo", "plan.md") == f"'plan.md' is as {first[:12]} left it\n"
    assert subjects(alone, 2) == [f"agentm: undo plan.md, as {first[:12]} left it", "agentm: plan.md, before undo"]
    (alone.clone / "plan.md").unlink()
    alone.done("git", "sync", "-m", "gone")
    gone = tip(alone)
    alone.write("plan.md", "back\n")
    assert alone.done("git", "undo", "plan", "--to", gone[:9]) == f"'plan.md' is as {gone[:12]} left it: deleted\n"
    assert not (alone.clone / "plan.md").exists()


def test_undo_answers_a_program_with_the_version_and_whether_the_note_exists(alone: Desk) -> None:
    alone.write("plan.md", "first\n")
    alone.done("git", "sync")
    first = tip(alone)
    answers = [alone.answer("git", "undo", "plan.md") for _ in range(3)]
    gone = git(str(alone.clone), "log", "--format=%H", "--reverse", "--diff-filter=D").decode().split()[0]
    told = [(answer["note"], answer["commit"], answer["exists"]) for answer in answers]
    assert told == [("plan.md", None, False), ("plan.md", first, True), ("plan.md", gone, False)]
    assert subjects(alone, 1) == ["agentm: undo plan.md"]
    assert git(str(alone.clone), "status", "--porcelain") == b""


# ------------------------------------------------------------------------------------------------ init


def test_init_answers_a_program_with_the_repository_that_is_around_the_clone(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "desk")
    git(str(tmp_path), "init", "-q", str(desk.home))
    assert desk.answer("git", "init", str(desk.clone))["inside_of"] == os.path.realpath(desk.home)
    assert desk.answer("git", "init", str(tmp_path / "elsewhere"))["inside_of"] is None


def test_another_clone_keeps_who_commits_and_forgets_what_was_about_the_one_before(
    desk: Desk, tmp_path: Path
) -> None:
    for name, value in (("name", "Notes"), ("deadline", "7"), ("token_env", "T"), ("conflict", "merge")):
        desk.done("config", "set", f"plugins.git.{name}", value)
    other = tmp_path / "other"
    desk.done("git", "init", str(other), "--use")
    assert git(str(other), "log", "-1", "--format=%an").decode().strip() == "Notes"
    kept = {name: value for name, value in desk.device.config.options("git").items() if value}
    assert kept == {"root": str(other), "name": "Notes", "deadline": 7}


def test_a_clone_that_is_configured_from_home_is_known_as_the_same(desk: Desk, origin_by_path: Origin) -> None:
    desk.done("config", "set", "plugins.git.root", "~/notes")
    desk.done("config", "set", "plugins.git.conflict", "merge")
    desk.done("git", "init", str(desk.clone), "--use")
    options = desk.device.config.options("git")
    assert (options["conflict"], options["remote"]) == ("merge", origin_by_path.url)


def test_notes_of_the_store_before_are_taken_along_where_that_is_said(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "desk")
    desk.device.store(read_only=False).write(Locator("plan.md"), "the plan\n")
    other = tmp_path / "other"
    desk.done("git", "init", str(other), "--take-along")
    assert (other / "plan.md").read_text() == "the plan\n"
    assert desk.device.config.options("git")["root"] == str(other)


# ------------------------------------------------------------------------------------------------ a policy


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[tuple[Desk, Origin]]:
    """A device whose policy lets it read a team's notes, and no more."""
    pytest.importorskip("agentm_storage_policy")
    with serving("file", str(tmp_path), name="acme/notes.git") as origin:
        fill(origin, {"plan.md": b"first\n"})
        made = Desk(tmp_path / "desk", AGENTM_GITHUB_URL=origin.url.removesuffix("/acme/notes.git"))
        (made.home / "STORAGE.md").write_text(
            '---\nschema: storage/v1\nid: "@acme/notes"\nversion: 1.0.0\nprovider: github\n'
            "config: { owner: acme, repo: notes }\nread_only: true\n---\n"
        )
        made.done("config", "set", "storage.policy", str(made.home / "STORAGE.md"))
        made.done("event", "workspace-open")
        yield made, origin


def test_whoever_may_only_read_brings_in_and_sends_nothing(reader: tuple[Desk, Origin]) -> None:
    desk, origin = reader
    fill(origin, {"plan.md": b"second\n"})
    assert desk.done("git", "sync") == f"pulled {origin.tip()[:12]}: 1 file changed\n"
    assert desk.done("git", "sync") == ""
    answer = desk.answer("git", "sync")
    assert answer.keys() & {"committed", "pulled", "pushed"} == {"pulled"}
    assert answer["ignored"] == []
    assert "the policy declares the store read-only" in desk.refused("git", "undo", "plan.md")
    assert origin.git("log", "--format=%s").decode().splitlines() == ["begin", "begin"]
