"""An encrypted store in git, on two devices: what both changed cannot be merged line by line, and neither is lost."""

from __future__ import annotations

import json
import subprocess
import time

import pytest
from encrypted_laptops import Laptop

from agentm_git.events import agentm_event
from agentm_git.page import agentm_page_panels
from agentm_kernel import Locator
from agentm_kernel.files import displaced
from agentm_kernel.plugin import Device, HookContext, IntegrityError

SECRET = "the launch code is heliotrope"


def with_clone(home, origin):
    laptop = Laptop(home)
    laptop.done("git", "init", str(home / "clone"), f"file://{origin}" if origin else "", "--use")
    return laptop


@pytest.fixture
def pair(tmp_path):
    origin = tmp_path / "team.git"
    subprocess.run(["git", "init", "-q", "--bare", str(origin)], check=True)
    one, other = (with_clone(tmp_path / name, origin) for name in ("one", "other"))
    one.init("--name", "one")
    one.done("git", "sync")
    other.done("git", "sync")
    refusal = other.refused("encryption", "join")
    one.done("encryption", "admit", refusal.partition("agentm encryption admit ")[2].split()[0], "other")
    one.done("git", "sync")
    other.done("git", "sync")
    other.done("encryption", "join", "--fingerprint", one.fingerprint())
    return one, other


def test_two_members_share_sealed_notes_over_git(pair, tmp_path, note):
    one, other = pair
    one.store().write(note, SECRET)
    one.done("git", "sync")
    other.done("git", "sync")
    assert other.store().read(note) == SECRET
    objects = subprocess.run(
        ["git", "-C", str(tmp_path / "team.git"), "cat-file", "--batch-all-objects", "--batch"],
        check=True,
        capture_output=True,
    ).stdout
    assert b"BEGIN AGE ENCRYPTED FILE" in objects
    assert SECRET.encode() not in objects


def test_a_device_that_joins_has_no_plain_version_left_of_what_the_other_has_sealed(tmp_path, monkeypatch):
    monkeypatch.setattr(displaced, "LEASED_GRACE", 2.0)  # as it is, not as tests have it
    origin = tmp_path / "team.git"
    subprocess.run(["git", "init", "-q", "--bare", str(origin)], check=True)
    one, other = (with_clone(tmp_path / name, origin) for name in ("one", "other"))
    for note in ("a.md", "deep/b.md"):
        other.store().write(Locator(note), SECRET)
    for laptop in (other, one):
        laptop.done("git", "sync")
    one.init("--name", "one")
    for laptop in (one, other):
        laptop.done("git", "sync")
    refusal = other.refused("encryption", "join")
    one.done("encryption", "admit", refusal.partition("agentm encryption admit ")[2].split()[0], "other")
    for laptop in (one, other):
        laptop.done("git", "sync")
    other.done("encryption", "join", "--fingerprint", one.fingerprint())
    assert other.status()["leftovers"] == []
    assert not [path for path in other.place.rglob("*.swap") if SECRET in path.read_text()]


def _until_the_next_second() -> None:
    """Git dates commits by the second, and the last writer is who has the later date."""
    began = int(time.time())
    while int(time.time()) == began:
        time.sleep(0.02)


@pytest.mark.parametrize("policy", ["rebase", "merge", "last-writer-wins"])
def test_of_two_versions_neither_is_lost(pair, note, policy):
    one, other = pair
    one.store().write(note, "first\n")
    one.done("git", "sync")
    other.done("git", "sync")
    one.store().write(note, "of one\n")
    other.store().write(note, "of other\n")
    one.done("git", "sync")
    _until_the_next_second()
    other.done("git", "sync", "--conflict", policy)
    store = other.store()
    kept = [info.locator for info in store.walk(Locator("_meta/conflicts")) if not info.is_dir]
    assert {store.read(note), *map(store.read, kept)} == {"of one\n", "of other\n"}
    assert other.status()["problems"] == {}
    other.done("encryption", "rotate", "--yes")
    assert {other.store().read(note), *map(other.store().read, kept)} == {"of one\n", "of other\n"}


def test_a_version_beside_its_note_is_no_note_and_can_be_shown(pair, note):
    one, other = pair
    one.store().write(note, "first\n")
    one.done("git", "sync")
    other.done("git", "sync")
    one.store().write(note, "of one\n")
    other.store().write(note, "of other\n")
    one.done("git", "sync")
    other.done("git", "sync", "--conflict", "split-conflicts")
    beside = [found for found in other.store().list(note.parent) if found != note]
    assert len(beside) == 1
    assert beside[0].key in other.status()["problems"]
    shown = other.done("encryption", "show", beside[0].key)
    assert {other.store().read(note), shown.partition("\n")[2]} == {"of one\n", "of other\n"}


def test_a_version_of_one_note_is_not_taken_for_one_of_another(pair, note):
    one, _ = pair
    other_note = Locator("notes/b.md")
    one.store().write(note, "of a")
    kept = one.place / "_meta" / "conflicts" / other_note.key / "kept-0123.md"
    kept.parent.mkdir(parents=True)
    kept.write_text((one.place / note.key).read_text())
    assert "_meta/conflicts/notes/b.md/kept-0123.md" in one.status()["problems"]


def test_what_a_member_wrote_before_it_heard_of_new_keys_is_taken_when_the_operator_says_so(pair, note):
    one, other = pair
    plan = Locator("projects/widgets/_harness/PLAN.md")
    for written in (note, plan):
        other.store().write(written, SECRET)
    one.done("encryption", "rotate", "--yes")
    for laptop in (one, other):
        laptop.done("git", "sync")
    assert "this device has joined" in other.run("encryption", "join", "--fingerprint", one.fingerprint()).output
    one.done("git", "sync")
    with pytest.raises(IntegrityError) as refused:
        one.store().read(note)
    assert f"`agentm encryption accept {note}`" in refused.value.hint
    one.done("encryption", "accept", note.key, plan.key)
    for laptop in (one, other):
        laptop.done("git", "sync")
    for laptop in (one, other):
        assert (laptop.store().read(note), laptop.store().read(plan)) == (SECRET, SECRET)
        laptop.done("encryption", "status")


def test_of_two_devices_that_made_new_keys_at_once_one_takes_those_of_the_other_and_no_note_is_lost(pair, note):
    one, other = pair
    one.store().write(note, SECRET)
    one.done("git", "sync")
    other.done("git", "sync")
    written = [Locator("notes/by-one.md"), Locator("notes/by-other.md")]
    for laptop, new in zip(pair, written, strict=True):
        laptop.done("encryption", "rotate", "--yes")
        laptop.store().write(new, SECRET)
    for laptop in (one, other, one):
        laptop.done("git", "sync")
    assert "not those that were confirmed" in one.refused("encryption", "status")
    assert "have another fingerprint" in one.refused("encryption", "join", "--fingerprint", "0" * 40)
    one.done("encryption", "join", "--fingerprint", other.fingerprint())
    for laptop in pair:
        laptop.done("git", "sync")
    for laptop in pair:
        assert [laptop.store().read(each) for each in (note, *written)] == [SECRET] * 3
        laptop.done("encryption", "status")


def _working_in(laptop, name, remote, monkeypatch):
    git = laptop.home / name / ".git"
    git.mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    (git / "config").write_text(f'[remote "origin"]\n\turl = {remote}\n')
    monkeypatch.chdir(git.parent)


@pytest.mark.parametrize("policy", ["rebase", "merge", "last-writer-wins", "split-conflicts"])
def test_projects_that_took_one_name_before_they_met_both_keep_it_and_their_notes(pair, policy, monkeypatch):
    for laptop, number in zip(pair, (1, 2), strict=True):
        laptop.done("config", "set", "plugins.git.conflict", policy)
        _working_in(laptop, "widgets", f"git@example.com:team-{number}/widgets.git", monkeypatch)
        laptop.done("save", "--kind", "fact", "--slug", f"of-{number}", text="The port is 8080.\n")
    one, other = pair
    for laptop in (one, other, one, other):
        laptop.done("git", "sync")
    for laptop, number in zip(pair, (1, 2), strict=True):
        monkeypatch.chdir(laptop.home / "widgets")
        assert f"facts/of-{number}" in laptop.done("notes", "list")
        assert not [found for found in laptop.store().walk(Locator("_meta/conflicts")) if not found.is_dir]
        assert laptop.status()["problems"] == {}


def test_of_two_clones_that_say_the_same_of_a_project_neither_takes_it_for_an_older_version(pair, monkeypatch):
    one, other = pair
    for laptop in (other, one):
        _working_in(laptop, "widgets", "git@example.com:team/widgets.git", monkeypatch)
        laptop.done("project", "register")
    for laptop in (one, other, one):
        laptop.done("git", "sync")
    for laptop in pair:
        assert laptop.status()["problems"] == {}


def test_projects_that_took_one_name_find_their_notes_after_an_event_too(pair, monkeypatch):
    for laptop, number in zip(pair, (1, 2), strict=True):
        laptop.done("config", "set", "plugins.git.pull_ttl", "0.001")
        _working_in(laptop, "widgets", f"git@example.com:team-{number}/widgets.git", monkeypatch)
        laptop.done("save", "--kind", "fact", "--slug", f"of-{number}", text="The port is 8080.\n")
    one, other = pair
    one.done("git", "sync")
    agentm_event("session-start", {}, HookContext(Device.now(other.environ), str(other.home / "widgets")))
    assert "facts/of-2" in other.done("notes", "list")


# ------------------------------------------------------------------------------------------------ undo


def _written_twice(laptop, note):
    """Each version is in a commit of its own, and what was written last is sealed anew in a third one."""
    for text in ("first\n", "second\n"):
        laptop.store().write(note, text)
        laptop.done("git", "sync")
    laptop.done("encryption", "rotate", "--yes")
    laptop.done("git", "sync")


def test_undo_brings_back_what_a_version_said_sealed_with_the_keys_of_today(laptop, note):
    laptop = with_clone(laptop.home, "")
    laptop.init()
    _written_twice(laptop, note)
    for said in ("first\n", "second\n"):
        laptop.done("git", "undo", note.key)
        assert laptop.store().read(note) == said
        assert laptop.status()["old"] == []
    laptop.done("encryption", "decrypt", "--yes")
    assert laptop.store().read(note) == "second\n"


def test_undo_brings_a_deleted_note_back_and_takes_a_new_one_away(laptop, note):
    laptop = with_clone(laptop.home, "")
    laptop.init()
    laptop.store().write(note, "only\n")
    laptop.done("git", "sync")
    laptop.store().delete(note)
    laptop.done("encryption", "rotate", "--yes")
    laptop.done("git", "undo", note.key)
    assert laptop.store().read(note) == "only\n"
    laptop.done("git", "undo", note.key)
    assert not laptop.store().exists(note)


def _commit_of(laptop, note, number):
    return json.loads(laptop.done("git", "log", note.key, "--json"))["versions"][number]["commit"]


def test_undo_takes_nothing_plain_for_a_note_of_an_encrypted_store_and_nothing_sealed_for_one_of_a_plain(
    laptop, note
):
    laptop = with_clone(laptop.home, "")
    laptop.store().write(note, "plain\n")
    laptop.done("git", "sync")
    laptop.init()
    laptop.store().write(note, "sealed\n")
    laptop.done("git", "sync")
    assert "is not encrypted" in laptop.refused("git", "undo", note.key, "--to", _commit_of(laptop, note, -1))
    assert laptop.store().read(note) == "sealed\n"
    sealed = _commit_of(laptop, note, 0)
    laptop.done("encryption", "decrypt", "--yes")
    assert "the store was encrypted then, and is plain" in laptop.refused("git", "undo", note.key, "--to", sealed)
    assert laptop.store().read(note) == "sealed\n"


def test_the_page_shows_what_a_version_said_and_brings_that_back(laptop, note):
    laptop = with_clone(laptop.home, "")
    laptop.init()
    _written_twice(laptop, note)
    device, store = Device.now(laptop.environ), laptop.store()
    (panel,) = (
        each for each in agentm_page_panels(HookContext(device, str(laptop.home), store=store)) if each.actions
    )
    blocks = panel.show({"note": note.key, "commit": _commit_of(laptop, note, -1)})
    (diff,) = (block for block in blocks if block["type"] == "diff")
    assert (diff["before"], diff["after"]) == ("first\n", "second\n")
    (offer,) = (block for block in blocks if block["type"] == "action")
    panel.actions["restore"](offer["fields"])
    assert laptop.store().read(note) == "first\n"
    assert laptop.status()["problems"] == {}
