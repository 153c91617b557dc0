"""What a person is shown of a clone: on the page, and by doctor."""

from __future__ import annotations

import os
import time
from types import SimpleNamespace

import pytest
from clones import AUTHORS, OCCASION, open_clone
from git_servers import fill, git, serving

from agentm_devkit.conformance.memory import MemoryBackend
from agentm_git.backend import GitStore
from agentm_git.condition import Distance, words_for
from agentm_git.doctor import agentm_doctor_checks
from agentm_git.history import find, versions
from agentm_git.page import agentm_page_panels
from agentm_git.settings import Settings
from agentm_git.setup import set_up
from agentm_kernel import Locator
from agentm_kernel.errors import ConcurrentModificationError, NotFoundError, StorageIOError
from agentm_kernel.plugin import HookContext, content_hash

NOTE = Locator("plans/note.md")


def written(origin, folder):
    """A clone whose origin has everything, with three versions of a note."""
    store = open_clone(origin, folder)
    for text in ("first\n", "second\n", "third time\n"):
        store.write(NOTE, text)
        store.commit(f"Write {text.strip()}", AUTHORS, OCCASION)
    store.sync(OCCASION)
    return store


@pytest.fixture
def clone(origin_by_path, tmp_path):
    return written(origin_by_path, str(tmp_path / "one"))


@pytest.fixture(scope="module")
def looked_at(tmp_path_factory):
    """The same for every test that only looks."""
    folder = str(tmp_path_factory.mktemp("looked_at"))
    with serving("file", folder) as origin:
        yield written(origin, os.path.join(folder, "one"))


def context(store):
    device = SimpleNamespace(store=lambda **_: store)
    return HookContext(device, os.getcwd(), store=store)


def panels(store):
    return {panel.name: panel for panel in agentm_page_panels(context(store)) or ()}


def items(blocks):
    return [item for block in blocks if block["type"] == "timeline" for item in block["items"]]


def offered(blocks):
    return [block["fields"] for block in blocks if block["type"] == "action"]


def rows(store):
    return {row.check: row for row in agentm_doctor_checks(context(store)) or ()}


def not_here(tmp_path):
    """A store of a policy, whose first pull has still to make the clone."""
    settings = Settings(remote="https://example.com/team/notes.git", branch="main")
    environ = {"HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"]}
    return GitStore(str(tmp_path / "none"), settings=settings, environ=environ, clones_itself=True)


# ------------------------------------------------------------------------------------------------ the page


def test_only_a_clone_that_is_here_has_panels(looked_at, tmp_path):
    elsewhere = not_here(tmp_path)

    assert {name: panel.place for name, panel in panels(looked_at).items()} == {"git-versions": "note", "git": "more"}
    assert panels(None) == panels(MemoryBackend()) == {}
    assert panels(elsewhere) == {}


def test_the_versions_of_a_note_are_listed_newest_first_with_who_wrote_them(looked_at):
    show = panels(looked_at)["git-versions"].show
    newest, middle, oldest = items(show({"note": NOTE.key}))
    commit = newest["open"]["commit"]

    assert newest["title"] == "Write third time"
    assert newest["text"] == f"changed by Ana, {commit[:10]}"
    assert oldest["text"].startswith("written by Ana, ")
    assert middle["open"]["note"] == NOTE.key
    assert time.time() - 600 < newest["time"] <= time.time() + 1
    assert show({"note": "plans/none.md"}) == []


def test_a_deletion_is_a_version_that_cannot_be_opened(clone):
    clone.delete(NOTE)
    clone.commit("gone", AUTHORS, OCCASION)
    show = panels(clone)["git-versions"].show

    newest, *_ = items(show({"note": NOTE.key}))

    assert newest["text"].startswith("deleted by Ana")
    assert "open" not in newest
    with pytest.raises(NotFoundError, match="was deleted by that commit"):
        show({"note": NOTE.key, "commit": versions(clone.clone, NOTE)[0].commit})


def test_the_forty_newest_versions_and_commits_are_listed(clone):
    stream = "".join(
        f"commit refs/heads/main\ncommitter Ana <ana@example.com> {number} +0000\ndata <<E\nnumber {number}\nE\n"
        + ("from refs/heads/main^0\n" if number == 0 else "")
        + f"M 644 inline {NOTE.key}\ndata <<E\n{number}\nE\n"
        for number in range(41)
    )
    git(clone.describe(), "fast-import", "--quiet", data=stream.encode())

    for name in ("git-versions", "git"):
        listed = items(panels(clone)[name].show({"note": NOTE.key}))
        assert [item["title"] for item in listed] == [f"number {number}" for number in range(40, 0, -1)]


def test_a_version_is_shown_beside_the_note_and_comes_back(clone):
    panel = panels(clone)["git-versions"]
    oldest = versions(clone.clone, NOTE)[-1]
    said, diff, _ = blocks = panel.show({"note": NOTE.key, "commit": oldest.commit})

    assert (diff["before"], diff["after"]) == ("first\n", "third time\n")
    assert said["rows"][0]["note"] == NOTE.key
    assert f"What {oldest.commit[:10]} of Ana had" in said["rows"][0]["text"]
    (fields,) = offered(blocks)
    assert fields["expect"] == content_hash("third time\n")
    answer = panel.actions["restore"](fields)
    assert answer == f"Brought back as Ana left it in {oldest.commit[:10]}."
    assert clone.read(NOTE) == "first\n"
    assert offered(panel.show({"note": NOTE.key, "commit": oldest.commit})) == []


def test_a_note_that_is_gone_comes_back_only_while_nobody_wrote_another(clone):
    panel = panels(clone)["git-versions"]
    clone.delete(NOTE)
    said, diff, _ = blocks = panel.show({"note": NOTE.key, "commit": versions(clone.clone, NOTE)[0].commit})
    (fields,) = offered(blocks)

    assert (diff["after"], said["rows"][0]["note"], fields["expect"]) == ("", "", "absent")
    panel.actions["restore"](fields)
    assert clone.read(NOTE) == "third time\n"
    with pytest.raises(ConcurrentModificationError):
        panel.actions["restore"](fields)


def test_a_page_whose_store_is_another_by_now_writes_nothing(looked_at):
    store = MemoryBackend()
    seen = HookContext(SimpleNamespace(store=lambda **_: store), os.getcwd(), store=looked_at)
    panel = agentm_page_panels(seen)[0]

    with pytest.raises(StorageIOError, match="no git store any more"):
        panel.actions["restore"]({"note": NOTE.key, "commit": "a", "expect": "absent"})
    assert [*store.walk(Locator())] == []


def test_the_latest_commits_are_listed_below_how_the_clone_is(looked_at):
    first, *_ = blocks = panels(looked_at)["git"].show({})

    assert [row["label"] for row in first["rows"]] == ["git clone", "git origin", "git conflicts"]
    assert {row["status"] for row in first["rows"]} == {"ok"}
    newest = items(blocks)[0]
    assert newest["title"] == "Write third time"
    assert newest["text"] == f"Ana, {versions(looked_at.clone, NOTE)[0].commit[:10]}"
    assert time.time() - 600 < newest["time"] <= time.time() + 1


def test_a_version_knows_its_size_and_is_found_by_the_beginning_of_its_commit(looked_at):
    known = versions(looked_at.clone, NOTE)

    assert [version.size for version in known] == [11, 7, 6]
    assert find(known, known[1].commit[:12].upper(), NOTE) is known[1]
    for name, said in (("", "more than one version"), ("0" * 12, "no version")):
        with pytest.raises(NotFoundError, match=said):
            find(known, name, NOTE)


# ------------------------------------------------------------------------------------------------ doctor


def test_a_clone_with_nothing_to_do_is_all_right(looked_at):
    found = rows(looked_at)

    assert {check: row.status for check, row in found.items()} == dict.fromkeys(found, "ok")
    assert found["git clone"].message == "branch main"
    assert found["git origin"].message.endswith(" s ago; nothing to push or to bring in")


def test_what_waits_on_either_side_is_counted_and_led_to_sync(clone, origin_by_path):
    clone.write(NOTE, "fourth\n")
    clone.commit("fourth", AUTHORS, OCCASION)

    row = rows(clone)["git origin"]

    assert (row.status, row.hint) == ("warn", "run `agentm git sync`")
    assert row.message.endswith("; 1 commit to push")


@pytest.mark.parametrize(
    ("ahead", "behind", "said"),
    [
        (0, 0, "nothing to push or to bring in"),
        (1, 0, "1 commit to push"),
        (0, 2, "2 commits to bring in"),
        (3, 1, "3 commits to push, 1 commit to bring in"),
    ],
)
def test_the_way_between_a_branch_and_its_origin_is_said_in_words(ahead, behind, said):
    assert str(Distance(ahead, behind)) == said


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0, "0 s"), (59, "59 s"), (60, "1 min"), (3_599, "60 min"), (3_600, "1 h"), (86_400, "1 d"), (200_000, "2 d")],
)
def test_an_age_is_said_in_the_largest_unit_that_fits(seconds, said):
    assert words_for(seconds) == said


def test_an_origin_that_nobody_asked_for_a_day_is_warned_about(looked_at, monkeypatch):
    now = time.time()

    for hours, status in ((23, "ok"), (25, "warn")):
        monkeypatch.setattr(time, "time", lambda hours=hours: now + hours * 3600)
        assert rows(looked_at)["git origin"].status == status


def test_a_clone_without_an_origin_is_all_right(tmp_path):
    environ = {"HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"]}
    set_up(str(tmp_path / "alone"), "", adopt=True, environ=environ, options={})
    store = GitStore(str(tmp_path / "alone"), environ=environ)

    row = rows(store)["git origin"]

    assert (row.status, row.message) == ("ok", "there is none: history stays on this device")


def test_what_gitignore_keeps_from_the_others_is_counted(clone):
    for name in ("a.tmp.md", "b.tmp.md"):
        clone.write(Locator(name), "mine\n")
    with open(os.path.join(clone.describe(), ".gitignore"), "w") as file:
        file.write("*.tmp.md\n")

    row = rows(clone)["git notes"]

    assert row.status == "warn"
    assert row.message.startswith("2 left out because of .gitignore or ")
    assert row.message.endswith(": a.tmp.md")


def test_a_version_that_lost_is_named_until_it_is_settled(clone, origin_by_path):
    fill(origin_by_path, {NOTE.key: b"of the other\n"})
    clone.write(NOTE, "mine\n")
    clone.commit("mine", AUTHORS, OCCASION)
    clone.sync(OCCASION)

    row = rows(clone)["git conflicts"]

    assert row.status == "warn"
    assert row.message.startswith("1 kept: _meta/conflicts/plans/note")


def test_the_operators_own_git_in_the_middle_of_something_is_said(clone):
    lock = os.path.join(clone.describe(), ".git", "index.lock")
    open(lock, "w").close()
    assert rows(clone)["git clone"].hint == f"if none runs, remove {lock}"
    os.unlink(lock)
    git(clone.describe(), "checkout", "-q", "-b", "theirs")

    assert rows(clone)["git clone"].status == "fail"


def test_no_clone_has_nothing_to_say_and_one_that_is_not_here_says_how_it_comes(tmp_path):
    assert agentm_doctor_checks(context(MemoryBackend())) is None
    assert agentm_doctor_checks(context(None)) is None
    (row,) = agentm_doctor_checks(context(not_here(tmp_path)))

    assert (row.status, row.hint) == ("warn", "run `agentm event workspace-open`")
    assert row.message == "https://example.com/team/notes.git is not on this device yet"
