"""Both sides changed something: every policy settles it or says what to do, and nothing is lost."""

from __future__ import annotations

import json

import pytest
from clones import AUTHORS, OCCASION, open_clone
from git_servers import fill, fsck, git

from agentm_git import identity
from agentm_git.applying import EditedMeanwhile
from agentm_kernel import Locator
from agentm_kernel.errors import StorageConflictError

NOTE = Locator("note.md")
BEGIN = b"".join(b"line %d\n" % number for number in range(9))
OURS, THEIRS = "ours\n", b"theirs\n"
SETTLING = ("rebase", "merge", "last-writer-wins", "split-conflicts")
COPIES = {
    "rebase": "_meta/conflicts/note.md/kept-",
    "merge": "_meta/conflicts/note.md/kept-",
    "last-writer-wins": "_meta/conflicts/note.md/kept-",
    "split-conflicts": "note (conflict ",
}


@pytest.fixture
def clone(tmp_path, origin_by_path):
    fill(origin_by_path, {NOTE.key: BEGIN})

    def opened(policy):
        return open_clone(origin_by_path, str(tmp_path / "clone"), policy)

    opened("rebase")
    return opened


def diverge(store, origin, ours=OURS, theirs=THEIRS):
    """The note changes at the origin, then here."""
    fill(origin, {NOTE.key: theirs}, "theirs")
    store.write(NOTE, ours)
    store.commit("ours", AUTHORS, OCCASION)


def keys(store):
    return [info.locator.key for info in store.walk(Locator()) if not info.is_dir]


def is_sound(store, origin):
    return fsck(store.describe()) == "" and origin.forced() == [] and git(store.describe(), "status", "-s") == b""


@pytest.mark.parametrize("policy", SETTLING)
def test_both_versions_stay_notes(policy, clone, origin_by_path):
    store = clone(policy)
    diverge(store, origin_by_path)
    done = store.push(OCCASION)
    (copy,) = [key for key in keys(store) if key.startswith(COPIES[policy])]
    assert copy in done.note
    assert {store.read(NOTE), store.read(Locator(copy))} == {OURS, THEIRS.decode()}
    assert store.read(NOTE) == OURS
    assert origin_by_path.files()[copy] == THEIRS
    assert is_sound(store, origin_by_path)


@pytest.mark.parametrize("policy", [*SETTLING, "manual"])
def test_lines_that_can_be_put_together_are(policy, clone, origin_by_path):
    store = clone(policy)
    theirs = BEGIN.replace(b"line 0", b"line zero")
    ours = BEGIN.replace(b"line 8", b"line eight").decode()
    diverge(store, origin_by_path, ours, theirs)
    store.push(OCCASION)
    assert store.read(NOTE) == ours.replace("line 0", "line zero")
    assert keys(store) == ["_meta/store.json", NOTE.key]


@pytest.mark.parametrize("policy", [*SETTLING, "manual"])
def test_what_both_appended_to_a_log_is_all_there(policy, clone, origin_by_path):
    store = clone(policy)
    diverge(store, origin_by_path, BEGIN.decode() + "ours, without an end of the line", BEGIN + b"theirs")
    store.push(OCCASION)
    assert store.read(NOTE) == BEGIN.decode() + "theirs\nours, without an end of the line"
    assert keys(store) == ["_meta/store.json", NOTE.key]


@pytest.mark.parametrize("policy", SETTLING)
def test_a_change_beats_a_deletion_on_either_side(policy, clone, origin_by_path, tmp_path):
    fill(origin_by_path, {"second.md": b"one\n"})
    store = clone(policy)
    store.pull(OCCASION)
    elsewhere = str(tmp_path / "elsewhere")
    git(str(tmp_path), "clone", "-q", origin_by_path.path, elsewhere)
    git(elsewhere, "rm", "-q", NOTE.key)
    with open(f"{elsewhere}/second.md", "w") as file:
        file.write("theirs\n")
    git(elsewhere, "commit", "-q", "-a", "-m", "theirs")
    git(elsewhere, "push", "-q", "origin", "HEAD:main")
    store.write(NOTE, OURS)
    store.delete(Locator("second.md"))
    store.commit("ours", AUTHORS, OCCASION)
    store.push(OCCASION)
    assert store.read(NOTE) == OURS
    assert store.read(Locator("second.md")) == "theirs\n"
    assert is_sound(store, origin_by_path)


@pytest.mark.parametrize("policy", SETTLING)
def test_several_commits_are_settled_one_by_one(policy, clone, origin_by_path):
    store = clone(policy)
    fill(origin_by_path, {NOTE.key: THEIRS})
    texts = ["first\n", "second\n", "third\n"]
    for text in texts:
        store.write(NOTE, text)
        store.write(Locator("own.md"), text)
        store.commit(text.strip(), AUTHORS, OCCASION)
    store.push(OCCASION)
    assert store.read(NOTE) == "third\n"
    assert store.read(Locator("own.md")) == "third\n"
    lines = {line.decode() + "\n" for line in origin_by_path.lines_ever()}
    assert {*texts, THEIRS.decode()} <= lines
    subjects = origin_by_path.git("log", "--format=%s").decode().splitlines()
    assert [subject for subject in subjects if subject in ("first", "second", "third")] == [
        "third",
        "second",
        "first",
    ]
    merges = origin_by_path.git("rev-list", "--merges", "main").split()
    assert len(merges) == (1 if policy == "merge" else 0)
    assert is_sound(store, origin_by_path)


def test_the_author_and_the_time_of_a_commit_survive_being_put_on_top(clone, origin_by_path):
    store = clone("rebase")
    diverge(store, origin_by_path)
    before = git(store.describe(), "log", "-1", "--format=%an %ae %at %B")
    store.push(OCCASION)
    assert git(store.describe(), "log", "-1", "--format=%an %ae %at %B") == before


def test_the_later_writer_wins_where_the_policy_says_so(clone, origin_by_path, monkeypatch):
    store = clone("last-writer-wins")
    fill(origin_by_path, {NOTE.key: THEIRS})
    store.write(NOTE, OURS)
    with monkeypatch.context() as patch:
        signed = identity.signature
        patch.setattr(
            "agentm_git.clone.signature", lambda *who: {**signed(*who), "GIT_AUTHOR_DATE": "@1000000000 +0000"}
        )
        store.commit("ours, long ago", AUTHORS, OCCASION)
    store.push(OCCASION)
    assert store.read(NOTE) == THEIRS.decode()
    (copy,) = [key for key in keys(store) if key.startswith("_meta/conflicts/")]
    assert store.read(Locator(copy)) == OURS


def test_abort_changes_nothing_and_names_the_command_that_settles_it(clone, origin_by_path):
    store = clone("abort")
    fill(origin_by_path, {"elsewhere.md": b"no conflict at all\n"})
    store.write(NOTE, OURS)
    before = store.commit("ours", AUTHORS, OCCASION).ref
    for step in (store.push, store.pull):
        with pytest.raises(StorageConflictError) as caught:
            step(OCCASION)
        assert "agentm git sync --conflict" in caught.value.hint
    assert git(store.describe(), "rev-parse", "main").decode().strip() == before
    assert store.read(NOTE) == OURS
    assert not store.exists(Locator("elsewhere.md"))
    assert [outcome.changed for outcome in store.sync(OCCASION, conflict="rebase")] == [False, True, True]
    assert origin_by_path.files()[NOTE.key] == OURS.encode()


def test_manual_leaves_both_versions_until_the_operator_settles_it(clone, origin_by_path):
    store = clone("manual")
    diverge(store, origin_by_path)
    with pytest.raises(StorageConflictError, match="'note.md' was changed here and at the origin"):
        store.push(OCCASION)
    assert store.read(NOTE) == OURS
    assert git(store.describe(), "show", f"origin/main:{NOTE}") == THEIRS
    store.write(NOTE, "what both meant\n")
    store.sync(OCCASION, conflict="rebase")
    assert origin_by_path.files()[NOTE.key] == b"what both meant\n"
    assert THEIRS.strip() in origin_by_path.lines_ever()


def test_two_new_notes_of_one_name_are_both_kept(clone, origin_by_path):
    store = clone("rebase")
    fill(origin_by_path, {"new.md": b"theirs\n"})
    store.write(Locator("new.md"), "ours\n")
    store.commit("ours", AUTHORS, OCCASION)
    store.push(OCCASION)
    assert store.read(Locator("new.md")) == "ours\n"
    assert THEIRS in origin_by_path.files().values()


def test_the_same_change_on_both_sides_is_no_conflict(clone, origin_by_path):
    store = clone("rebase")
    diverge(store, origin_by_path, OURS, OURS.encode())
    assert not store.push(OCCASION).changed
    assert keys(store) == ["_meta/store.json", NOTE.key]
    assert is_sound(store, origin_by_path)


def test_a_push_with_edits_that_are_not_committed_brings_in_the_rest(clone, origin_by_path):
    store = clone("rebase")
    store.write(Locator("own.md"), "committed\n")
    store.commit("ours", AUTHORS, OCCASION)
    fill(origin_by_path, {"elsewhere.md": b"theirs\n"})
    store.write(Locator("own.md"), "not committed yet\n")
    assert store.push(OCCASION).changed
    assert store.read(Locator("own.md")) == "not committed yet\n"
    assert store.exists(Locator("elsewhere.md"))
    assert store.has_changes()


def test_a_push_over_an_edit_that_stays_uncommitted_is_refused(clone, origin_by_path, monkeypatch):
    monkeypatch.setattr("agentm_git.clone.WAIT_FOR_SESSIONS", 0.2)
    store = clone("rebase")
    store.write(Locator("own.md"), "committed\n")
    store.commit("ours", AUTHORS, OCCASION)
    fill(origin_by_path, {NOTE.key: THEIRS})
    store.write(NOTE, "not committed yet\n")
    with pytest.raises(StorageConflictError, match="not committed yet"):
        store.push(OCCASION)
    assert store.read(NOTE) == "not committed yet\n"
    store.sync(OCCASION)
    assert THEIRS in origin_by_path.files().values()
    assert origin_by_path.files()[NOTE.key] == b"not committed yet\n"


@pytest.mark.parametrize(
    ("count", "said"),
    [(1, "changed 0, and so"), (3, "changed 0, 1, 2, and so"), (5, "changed 0, 1, 2 and 2 more, and")],
)
def test_edits_that_are_in_the_way_are_named_and_counted(count, said):
    assert said in EditedMeanwhile([str(number) for number in range(count)]).message


RECORD, POINTER, REPOS = (
    Locator(key) for key in ("projects/widgets/_project.json", "_meta/remotes/0a1b2c3d.json", "_meta/repos.json")
)


@pytest.mark.parametrize("policy", [*SETTLING, "manual"])
def test_two_clones_that_claim_one_name_before_they_meet_both_keep_it(policy, clone, origin_by_path):
    store = clone(policy)
    both = {
        RECORD: ({"version": 1, "id": "b", "remotes": ["r/ana"]}, {"version": 1, "id": "a", "remotes": ["r/ben"]}),
        POINTER: ({"r/ana": "widgets"}, {"r/ben": "widgets", "r/other": "x"}),
        REPOS: ({"version": 1, "repos": [{"slug": "one"}]}, {"version": 1, "repos": [{"slug": "two"}]}),
    }
    fill(origin_by_path, {note.key: json.dumps(theirs).encode() for note, (theirs, _) in both.items()}, "theirs")
    for note, (_, ours) in both.items():
        store.write(note, json.dumps(ours))
    store.commit("ours", AUTHORS, OCCASION)
    store.push(OCCASION)
    record, pointer, repos = (json.loads(store.read(note)) for note in (RECORD, POINTER, REPOS))
    assert record == {"version": 1, "id": "a", "ids": ["a", "b"], "remotes": ["r/ana", "r/ben"]}
    assert pointer == {"r/ana": "widgets", "r/ben": "widgets", "r/other": "x"}
    assert repos["repos"] == [{"slug": "one"}, {"slug": "two"}]
    assert [key for key in keys(store) if "conflict" in key] == []
    assert is_sound(store, origin_by_path)


def test_a_record_that_cannot_be_understood_is_settled_like_any_note(clone, origin_by_path):
    store = clone("rebase")
    fill(origin_by_path, {RECORD.key: b"no JSON\n"}, "theirs")
    store.write(RECORD, json.dumps({"version": 1, "id": "a", "remotes": []}))
    store.commit("ours", AUTHORS, OCCASION)
    store.push(OCCASION)
    assert json.loads(store.read(RECORD))["id"] == "a"
    assert any(key.startswith(f"_meta/conflicts/{RECORD}/kept-") for key in keys(store))
