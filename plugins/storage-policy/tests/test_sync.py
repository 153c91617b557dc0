"""A working copy in step with its origin: when events and writes say so, and without a daemon."""

from __future__ import annotations

import logging
import threading

import pytest

from agentm_kernel import Locator
from agentm_kernel.plugin import StorageConflictError
from agentm_storage_policy.errors import (
    StorageCommitFailedError,
    StorageDeniedError,
    StoragePullFailedError,
    StoragePushFailedError,
)
from agentm_storage_policy.lifecycle import LifecycleEvent
from agentm_storage_policy.sync import render

POLICY = "provider: mirror\nconfig: {{place: {place}}}\nsync:\n  mode: pull-push\n{sync}\n{more}\n"


class Team:
    """A store with an origin, on a device whose clock the test moves."""

    def __init__(self, desk, mirrors):
        self.desk = desk
        self._mirrors = mirrors
        self.clock = [1_700_000_000.0]
        self.place = desk.home / "team"

    def open(self, sync="", more=""):
        self.store = self.desk.open(POLICY.format(place=self.place, sync=sync, more=more))
        if self.store.driver is not None:
            self.store.driver._state.now = lambda: self.clock[0]
        return self.store

    @property
    def mirror(self):
        return self._mirrors[-1]

    def write(self, key="note.md", text="text\n"):
        self.store.write(Locator(key), text)

    def at_origin(self, key, text):
        path = self.place / "origin" / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.fixture
def team(desk, mirrors):
    return Team(desk, mirrors)


# ------------------------------------------------------------------------------------------------ triggers


@pytest.mark.rule(16, "accepted")
@pytest.mark.rule(27, "accepted")
def test_each_step_has_its_own_event(team):
    team.open(
        "  pull: {on: workspace-open}\n  commit: {on: per-turn}\n  push: {on: per-conversation}",
    )
    team.store.handle("workspace-open", {})
    team.write()
    team.store.handle("turn-start", {})
    assert team.mirror.steps == ["pull"]
    team.store.handle("turn-end", {})
    assert team.mirror.steps == ["pull", "commit"]
    team.store.handle("conversation-end", {"session_id": "c7"})
    assert team.mirror.steps == ["pull", "commit", "push"]
    assert team.mirror.log[-1] == ("push", "conversation-end", "c7")
    assert team.mirror.tree("origin") == {"note.md": "text\n"}


@pytest.mark.rule(16, "accepted")
def test_a_push_after_every_commit(team):
    team.open("  commit: {on: turn-end}\n  push: {on: per-commit}")
    team.write()
    report = team.store.handle("per-turn", {})
    assert team.mirror.steps == ["commit", "push"]
    assert report.lines == ["committed c1", "pushed c1: https://example.com/pr/1"]


@pytest.mark.rule(16, "accepted")
def test_without_triggers_the_usual_ones_apply(team):
    team.open()
    for event in ("workspace-open", "turn-end", "conversation-end"):
        team.write(f"{event}.md")
        team.store.handle(event, {})
    assert team.mirror.steps == ["commit", "push"], "there was a change when the workspace was opened"


@pytest.mark.rule(16, "accepted")
def test_writes_are_gathered_and_committed_by_the_first_write_after_the_window(team):
    team.open("  commit: {on: each-write, batch_window_ms: 5000}\n  push: {on: manual}")
    team.write("a.md")
    team.clock[0] += 4
    team.write("b.md")
    assert team.mirror.steps == []
    team.clock[0] += 1
    team.write("c.md")
    assert team.mirror.steps == ["commit"]
    assert sorted(team.mirror.tree("committed")) == ["a.md", "b.md"], (
        "the write after the window begins the next batch"
    )


@pytest.mark.rule(16, "accepted")
def test_the_window_is_the_same_for_every_process(team):
    sync = "  commit: {on: each-write, batch_window_ms: 5000}\n  push: {on: manual}"
    team.open(sync)
    team.write("a.md")
    team.open(sync)
    team.clock[0] += 5
    team.write("b.md")
    assert team.mirror.steps == ["commit"]


@pytest.mark.rule(16, "accepted")
@pytest.mark.parametrize(
    ("event", "seconds", "committed"),
    [
        ("tool-result", 1, False),
        ("tool-result", 5, True),
        ("turn-end", 0, True),
        ("workspace-close", 0, True),
        ("manual", 0, True),
    ],
)
def test_an_event_commits_what_waited_long_enough_and_an_ending_whatever_waits(team, event, seconds, committed):
    team.open("  commit: {on: each-write, batch_window_ms: 5000}\n  push: {on: manual}")
    team.write()
    team.clock[0] += seconds
    team.store.handle(event, {})
    assert ("commit" in team.mirror.steps) == committed


def test_without_a_window_every_write_is_committed(team):
    team.open("  commit: {on: each-write, batch_window_ms: 0}\n  push: {on: per-commit}")
    team.write("a.md")
    team.write("b.md")
    team.store.delete(Locator("a.md"))
    assert team.mirror.steps == ["commit", "push"] * 3, "a note that was deleted is a change like any other"
    assert team.mirror.tree("origin") == {"b.md": "text\n"}


@pytest.mark.rule(16, "accepted")
@pytest.mark.parametrize("by", ["the next write", "the next deletion", "an event"])
def test_a_batch_of_deletions_alone_is_committed_like_one_of_writes(team, by):
    team.open("  commit: {on: each-write, batch_window_ms: 5000}\n  push: {on: manual}")
    for key in ("a.md", "b.md"):
        team.write(key)
    team.store.handle("turn-end", {})
    team.store.delete(Locator("a.md"))
    assert team.mirror.steps == ["commit"]
    team.clock[0] += 5
    if by == "the next write":
        team.write("c.md")
    elif by == "the next deletion":
        team.store.delete(Locator("b.md"))
    else:
        team.store.handle("tool-result", {})
    assert team.mirror.steps == ["commit"] * 2
    assert team.mirror.tree("committed") == {"b.md": "text\n"}


@pytest.mark.rule(16, "accepted")
def test_by_hand_means_by_hand(team):
    team.open("  pull: {on: manual}\n  commit: {on: manual}\n  push: {on: manual}")
    team.write()
    for event in ("workspace-open", "turn-end", "conversation-end", "workspace-close", "write"):
        team.store.handle(event, {})
    assert team.mirror.steps == []
    team.store.flush()
    assert team.mirror.steps == ["commit", "pull", "push"]


@pytest.mark.rule(16, "accepted")
def test_what_was_pulled_is_good_for_its_time(team):
    team.open("  pull: {on: turn-start, ttl_seconds: 60}")
    for seconds, pulls in ((0, 1), (59, 1), (1, 2), (30, 2)):
        team.clock[0] += seconds
        team.store.handle("turn-start", {})
        assert team.mirror.steps.count("pull") == pulls


@pytest.mark.rule(15, "accepted")
def test_a_canonical_store_is_never_pulled_committed_or_pushed(desk, recorders, note):
    store = desk.open(f"provider: recorder\nconfig: {{place: {desk.home}/s}}\nsync: {{commit: {{on: each-write}}}}\n")
    store.write(note, "x\n")
    assert store.driver is None
    assert store.handle("turn-end", {}).lines == []


@pytest.mark.rule(28, "accepted")
def test_an_event_that_nobody_asked_for_is_nothing(team):
    team.open("  commit: {on: full-moon}")
    team.write()
    for event in ("turn-end", "no-such-event", "acme:tick"):
        report = team.store.handle(event, {})
        assert (report.lines, report.errors) == ([], [])
    team.store.handle("full-moon", {})
    assert team.mirror.steps == ["commit"]


# ------------------------------------------------------------------------------------------------ safety


@pytest.mark.rule(20, "accepted")
@pytest.mark.rule(20, "refused")
def test_a_tree_with_changes_is_not_pulled_over(team):
    team.open("  pull: {on: workspace-open}\n  commit: {on: manual}")
    team.at_origin("note.md", "theirs\n")
    team.write("note.md", "ours\n")
    report = team.store.handle("workspace-open", {})
    assert report.lines == ["not pulled: there are changes that are not committed yet"]
    assert report.errors == []
    assert team.mirror.steps == []
    team.store.delete(Locator("note.md"))
    team.store.handle("workspace-open", {})
    assert team.store.read(Locator("note.md")) == "theirs\n"


@pytest.mark.rule(4, "accepted")
@pytest.mark.rule(21, "accepted")
@pytest.mark.rule(21, "refused")
def test_excluded_paths_are_never_pushed(team):
    team.open("  commit: {on: turn-end}\n  push: {on: per-commit}", 'exclude: [".runs/", "*.tmp", "!keep.tmp"]')
    for key in (".runs/log.md", "a/.runs/x.md", "draft.tmp", "keep.tmp", "note.md", "runs/x.md"):
        team.write(key)
    team.store.handle("turn-end", {})
    assert sorted(team.mirror.tree("origin")) == ["keep.tmp", "note.md", "runs/x.md"]
    team.write(".runs/more.md")
    team.store.handle("turn-end", {})
    assert team.mirror.steps.count("commit") == 1, "what is excluded is no change"


@pytest.mark.rule(22, "refused")
def test_a_conflict_that_may_not_be_settled_is_typed(team):
    team.open("  commit: {on: turn-end}\n  push: {on: per-commit}\n  conflict: {policy: abort}")
    team.at_origin("somebody-else.md", "x\n")
    team.write()
    report = team.store.handle("turn-end", {})
    (error,) = report.errors
    assert isinstance(error, StorageConflictError)
    assert error.code == "storage_conflict"
    assert team.mirror.tree("origin") == {"somebody-else.md": "x\n"}


@pytest.mark.rule(22, "accepted")
def test_the_provider_is_told_how_to_settle_conflicts(team):
    team.open("  conflict: {policy: merge}\n  push: {branch_policy: per-turn, pr_policy: manual}")
    rules = team.mirror.context.rules
    assert (rules.conflict_policy, rules.branch_policy, rules.pr_policy) == ("merge", "per-turn", "manual")
    team.open()
    assert team.mirror.context.rules.conflict_policy == "rebase"


@pytest.mark.rule(23, "accepted")
def test_nothing_to_commit_is_no_error(team):
    team.open("  commit: {on: turn-end}\n  push: {on: per-commit}")
    team.write()
    for _ in range(3):
        assert team.store.handle("turn-end", {}).errors == []
    assert team.mirror.steps == ["commit", "push"]


@pytest.mark.rule(23, "refused")
@pytest.mark.rule(24, "refused")
@pytest.mark.parametrize(
    ("step", "event", "kind"),
    [
        ("pull", "workspace-open", StoragePullFailedError),
        ("commit", "turn-end", StorageCommitFailedError),
        ("push", "conversation-end", StoragePushFailedError),
    ],
)
def test_a_step_that_fails_is_typed_kept_and_said_until_it_succeeds(team, step, event, kind):
    team.open()
    team.mirror.failing = {step}
    if step != "pull":
        team.write()
    report = team.store.handle(event, {})
    assert [type(error) for error in report.errors] == [kind]
    assert report.errors[0].code == f"storage_{step}_failed"
    kept = team.store.driver.failure()
    assert (kept.code, kept.message, kept.hint) == (kind.code, report.errors[0].message, report.errors[0].hint)
    team.mirror.failing = set()
    if step == "push":
        team.store.handle("turn-end", {})
    assert team.store.handle(event, {}).errors == []
    assert team.store.driver.failure() is None


@pytest.mark.rule(23, "refused")
def test_a_commit_that_fails_is_tried_again_and_the_write_is_not_lost(team, caplog):
    team.open("  commit: {on: each-write, batch_window_ms: 5000}\n  push: {on: manual}")
    team.write("a.md")
    team.mirror.failing = {"commit"}
    team.clock[0] += 5
    with caplog.at_level(logging.WARNING):
        team.write("b.md")
    assert "the commit of" in caplog.text, "the write succeeded, so what failed around it is logged"
    assert team.store.read(Locator("b.md")) == "text\n"
    assert team.store.driver.waiting_since() == team.clock[0] - 5, "it still waits, since the first write"
    team.mirror.failing = set()
    team.store.handle("tool-result", {})
    assert sorted(team.mirror.tree("committed")) == ["a.md", "b.md"]
    assert team.store.driver.waiting_since() is None


@pytest.mark.rule(5, "accepted")
def test_a_read_only_store_still_pulls_and_sends_nothing(team):
    team.open("  pull: {on: turn-start}\n  commit: {on: turn-end}\n  push: {on: turn-end}", "read_only: true")
    team.at_origin("note.md", "theirs\n")
    team.store.handle("turn-start", {})
    team.store.handle("turn-end", {})
    assert team.store.read(Locator("note.md")) == "theirs\n"
    assert team.mirror.steps == ["pull"]


def test_grants_decide_about_commits_and_pushes_too(team):
    policy = (
        "policy: {schema: policy/v1, grants: [{principal: '*', actions: "
        "[{action: 'storage:read'}, {action: 'storage:write'}, {action: 'storage:commit'}]}]}"
    )
    team.open("  commit: {on: turn-end}\n  push: {on: per-commit}", policy)
    team.write()
    report = team.store.handle("turn-end", {})
    assert report.lines == ["committed c1"]
    assert [type(error) for error in report.errors] == [StorageDeniedError]
    assert team.mirror.steps == ["commit"]
    decisions = [(entry["action"], entry["allowed"]) for entry in team.desk.audit()]
    assert decisions == [("storage:commit", True), ("storage:push", False)]


# ------------------------------------------------------------------------------------------------ words


def test_a_commit_carries_authors_and_a_message_of_the_template(team):
    team.open(
        '  commit: {on: turn-end, message_template: "{{operator}}: {{summary}} ({{event}})"}',
        "identity: [{name: Ana, email: ana@example.com}, {ref: 'operator://bob'}]",
    )
    team.write()
    team.store.handle("turn-end", {"operator": "bob", "summary": "plan\nfor {{today}}"})
    _, message, authors, event = team.mirror.log[-1]
    assert message == "bob: plan for { {today}} (turn-end)"
    assert authors == ["Ana <ana@example.com>", "bob <operator-bob@noreply.agentm.invalid>"]
    assert event == "turn-end"


@pytest.mark.parametrize(
    ("identity", "named"),
    [
        ("identity: [{name: Ana, email: ana@example.com}, {ref: 'operator://bob'}]", "Ana"),
        ("identity: {ref: 'operator://current'}", "bob"),
        ("", "ana"),
    ],
    ids=["the first of the identity", "the operator of this device", "whoever acts"],
)
def test_where_the_host_names_no_operator_it_is_the_author(team, identity, named):
    team.desk.options["operator"] = "bob"
    team.open('  commit: {on: turn-end, message_template: "{{operator}}: {{summary}}"}', identity)
    team.write()
    team.store.handle("turn-end", {"summary": "a plan"})
    assert team.mirror.log[-1][1] == f"{named}: a plan"


def test_a_template_without_anything_to_say_still_says_something():
    assert render("{{conversation}}", LifecycleEvent("turn-end")) == "agentm: turn-end"
    assert render("agentm: {{summary}}", LifecycleEvent("turn-end")) == "agentm: notes at turn-end"
    assert render("{{unknown}}", LifecycleEvent("turn-end")) == "{{unknown}}"
    assert len(render("{{summary}}", LifecycleEvent("turn-end", {"summary": "x" * 9000}))) == 200


def test_threads_of_one_host_take_turns(team):
    team.open("  commit: {on: each-write, batch_window_ms: 0}\n  push: {on: per-commit}")
    threads = [threading.Thread(target=team.write, args=(f"{number}.md",)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    team.store.flush()
    assert len(team.mirror.tree("origin")) == 8
    assert team.store.driver.failure() is None


def test_a_hook_that_only_reads_notes_nothing(team):
    team.desk.read_only = True
    team.open("  commit: {on: each-write}")
    team.write()
    assert not team.desk.state.exists()
