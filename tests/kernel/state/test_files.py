from __future__ import annotations

import os

import pytest
from tests.faults.wrong_moment import in_the_middle_of_a_write

from agentm_kernel import (
    read_state_file,
    resolve_project,
    update_state_file,
    write_state_file,
)
from agentm_kernel.plugin import (
    ABSENT,
    ConcurrentModificationError,
    FileStore,
    InvalidContentError,
    InvalidLocatorError,
    LocatorConflictError,
    NotFoundError,
    StorageError,
    StorageIOError,
    content_hash,
    list_plan_files,
    list_state_files,
)
from agentm_kernel.state import files
from agentm_kernel.state.files import append_state_file, set_marker


@pytest.fixture(params=["checkout", "store"])
def resolution(request, device, monkeypatch):
    """Both sides of the routing rule: what follows holds on either."""
    monkeypatch.chdir(device.project())
    if request.param == "store":
        device.found_store("stub")
        device.uses("stub")
    return resolve_project()


def test_a_file_that_is_absent_reads_as_nothing(resolution):
    assert read_state_file(resolution, "PLAN.md") == ""


@pytest.mark.parametrize("text", ["", "plan\n", "no newline", "a\r\nb\rc\n", "\ufeffbom", "zażółć 👋", "x" * 100_000])
def test_what_is_written_is_read_byte_for_byte(resolution, text):
    path = write_state_file(resolution, "PLAN.md", text)

    assert path.read_bytes() == text.encode()
    assert read_state_file(resolution, "PLAN.md") == text


def test_a_file_that_cannot_be_read_is_not_absent(resolution):
    path = write_state_file(resolution, "PLAN.md", "x")
    path.write_bytes(b"\xff\xfe")

    with pytest.raises(InvalidContentError):
        read_state_file(resolution, "PLAN.md")
    assert path.read_bytes() == b"\xff\xfe"


def test_a_fifo_is_refused_and_not_waited_for(resolution):
    path = write_state_file(resolution, "PLAN.md", "x")
    path.unlink()
    os.mkfifo(path)

    with pytest.raises(StorageIOError):
        read_state_file(resolution, "PLAN.md")


@pytest.mark.parametrize(
    "name",
    ["../PLAN.md", "a/PLAN.md", "/PLAN.md", "PLAN.md/", "./PLAN.md", "..", ".", "", "a\\b", "a\0b", "con.md", 5],
)
def test_a_name_that_leads_elsewhere_is_refused(resolution, name):
    with pytest.raises(InvalidLocatorError):
        read_state_file(resolution, name)
    with pytest.raises(InvalidLocatorError):
        write_state_file(resolution, name, "x")


@pytest.mark.parametrize("marker", ["active-plan", "project.json", ".project-mode", ".promoted-progress-cursor"])
def test_markers_are_not_state(resolution, marker):
    with pytest.raises(InvalidLocatorError, match="marker"):
        write_state_file(resolution, marker, "x")


def test_a_write_may_be_conditional(resolution):
    write_state_file(resolution, "PLAN.md", "one", if_match=ABSENT)
    with pytest.raises(ConcurrentModificationError):
        write_state_file(resolution, "PLAN.md", "two", if_match=ABSENT)
    with pytest.raises(ConcurrentModificationError):
        write_state_file(resolution, "PLAN.md", "two", if_match=content_hash("other"))
    write_state_file(resolution, "PLAN.md", "two", if_match=content_hash("one"))

    assert read_state_file(resolution, "PLAN.md") == "two"


def test_an_update_starts_from_what_is_there(resolution):
    update_state_file(resolution, "progress.md", lambda text: f"{text}1")
    path = update_state_file(resolution, "progress.md", lambda text: f"{text}2")

    assert path.read_text() == "None12"


def test_what_an_agent_saves_in_the_middle_of_a_write_is_not_lost(device, monkeypatch):
    """Agents edit the files of a checkout with their own tools."""
    root = device.project()
    monkeypatch.chdir(root)
    resolution = resolve_project()
    path = write_state_file(resolution, "PLAN.md", "one\n")

    def agent_saves():
        path.write_text("one\nby the agent\n")

    in_the_middle_of_a_write(monkeypatch, agent_saves)
    update_state_file(resolution, "PLAN.md", lambda text: f"{text}two\n")
    assert read_state_file(resolution, "PLAN.md") == "one\nby the agent\ntwo\n"

    in_the_middle_of_a_write(monkeypatch, agent_saves)
    write_state_file(resolution, "PLAN.md", "all new\n")
    assert read_state_file(resolution, "PLAN.md") == "all new\n"
    (unseen,) = path.parent.glob("PLAN (unseen *).md")
    assert unseen.read_text() == "one\nby the agent\n"
    assert list_plan_files(resolution) == ["PLAN.md"]


def test_state_files_are_listed_without_markers_and_folders(resolution, device):
    for name in ("progress.md", "PLAN.md", "NOTES", "features.json"):
        path = write_state_file(resolution, name, "x")
    (path.parent / "folder.md").mkdir()
    checkout = resolution.project_root / ".harness"
    checkout.mkdir(exist_ok=True)
    for marker in ("active-plan", ".project-mode"):
        (checkout / marker).write_text("backend")
    (checkout / "project.json").write_text("{}")

    assert list_state_files(resolution) == ["NOTES", "PLAN.md", "features.json", "progress.md"]


def test_reading_creates_nothing(resolution):
    before = sorted(resolution.project_root.rglob("*"))

    read_state_file(resolution, "PLAN.md")
    list_state_files(resolution)

    assert sorted(resolution.project_root.rglob("*")) == before


def test_a_file_in_the_checkout_is_not_read_where_state_belongs_into_the_store(synced, monkeypatch):
    root = synced.project()
    monkeypatch.chdir(root)
    (root / ".harness").mkdir()
    (root / ".harness" / "PLAN.md").write_text("an old plan")

    assert read_state_file(resolve_project(), "PLAN.md") == ""


def test_a_mode_that_changes_moves_what_an_older_resolution_writes(synced, monkeypatch):
    root = synced.project()
    monkeypatch.chdir(root)
    resolution = resolve_project()
    write_state_file(resolution, "PLAN.md", "in the store")
    (root / ".harness").mkdir()
    (root / ".harness" / ".project-mode").write_text("local")

    assert read_state_file(resolution, "PLAN.md") == ""
    assert write_state_file(resolution, "PLAN.md", "in the checkout") == root / ".harness" / "PLAN.md"
    (root / ".harness" / ".project-mode").unlink()
    assert read_state_file(resolution, "PLAN.md") == "in the store"


def test_another_store_that_is_configured_gets_what_an_older_resolution_writes(synced, tmp_path, monkeypatch):
    monkeypatch.chdir(synced.project())
    resolution = resolve_project()
    first, synced.store = synced.store, tmp_path / "second"
    synced.found_store("stub")
    synced.uses("stub")

    path = write_state_file(resolution, "PLAN.md", "x")

    assert path == synced.store / "projects" / "widgets" / "_harness" / "PLAN.md"
    assert not (first / "projects").exists()


def test_a_project_that_was_moved_in_the_store_is_written_where_it_lies_now(synced, monkeypatch):
    monkeypatch.chdir(synced.project())
    (synced.store / "personal-projects" / "widgets").mkdir(parents=True)
    resolution = resolve_project()
    (synced.store / "personal-projects").rename(synced.store / "projects")

    path = write_state_file(resolution, "PLAN.md", "x")

    assert path == synced.store / "projects" / "widgets" / "_harness" / "PLAN.md"
    assert not (synced.store / "personal-projects").exists()


def test_a_store_without_files_on_this_device_is_read_but_not_written(device, monkeypatch):
    monkeypatch.chdir(device.project())
    device.found_store("remote")
    device.uses("remote")
    resolution = resolve_project()
    resolution.claim()
    resolution.backend.write(resolution.state_locator.child("PLAN.md"), "from elsewhere")

    assert read_state_file(resolution, "PLAN.md") == "from elsewhere"
    with pytest.raises(StorageError, match="no files on this device"):
        write_state_file(resolution, "PLAN.md", "from here")
    assert read_state_file(resolution, "PLAN.md") == "from elsewhere"


# ------------------------------------------------------------------------------------------------ secrets

SECRET = "gh" + "p_" + "Q7w2Zk9" * 5 + "x"


def test_a_secret_is_refused_and_the_file_stays_as_it_was(resolution):
    write_state_file(resolution, "PLAN.md", "old\n")

    with pytest.raises(InvalidContentError, match="line 2 looks like a GitHub token"):
        write_state_file(resolution, "PLAN.md", f"new\n{SECRET}\n")
    with pytest.raises(InvalidContentError, match="line 2 looks like a GitHub token"):
        update_state_file(resolution, "PLAN.md", lambda current: f"{current}{SECRET}\n")
    with pytest.raises(InvalidContentError, match="line 2 looks like a GitHub token"):
        append_state_file(resolution, "PLAN.md", f"new\n{SECRET}\n")

    assert read_state_file(resolution, "PLAN.md") == "old\n"


def test_a_secret_is_told_first_where_the_name_is_wrong_too(resolution):
    """Who only mends the name would send it once more."""
    with pytest.raises(InvalidContentError, match="looks like a GitHub token"):
        write_state_file(resolution, "a/b.md", SECRET)


def test_text_that_only_looks_like_a_secret_can_be_written(resolution):
    write_state_file(resolution, "PLAN.md", SECRET, allow_secrets=True)
    update_state_file(resolution, "PLAN.md", lambda current: f"{current}\nmore {SECRET}", allow_secrets=True)
    update_state_file(resolution, "PLAN.md", lambda current: f"{current}\nlines that stood there are let be")
    append_state_file(resolution, "PLAN.md", SECRET, allow_secrets=True)

    assert read_state_file(resolution, "PLAN.md").startswith(SECRET)


def test_a_state_file_that_vanishes_while_they_are_listed_is_left_out(resolution, monkeypatch):
    for name in ("PLAN.md", "gone.md"):
        write_state_file(resolution, name, "x")
    info = FileStore.info

    def vanishing(store, locator):
        if locator.name == "gone.md":
            raise NotFoundError("it has just gone")
        return info(store, locator)

    monkeypatch.setattr(FileStore, "info", vanishing)
    assert list_state_files(resolution) == ["PLAN.md"]


def test_a_name_that_is_refused_claims_nothing_in_the_store(synced, monkeypatch):
    monkeypatch.chdir(synced.project())
    with pytest.raises(InvalidLocatorError):
        write_state_file(resolve_project(), "deep/PLAN.md", "x")
    assert synced.stored("stub") == {}


def test_what_was_not_written_is_not_hidden_from_git(device, monkeypatch):
    root = device.project()
    monkeypatch.chdir(root)
    (root / ".harness").mkdir()
    (root / ".harness" / "PLAN.md").write_text("theirs")
    with pytest.raises(ConcurrentModificationError):
        write_state_file(resolve_project(), "PLAN.md", "x", if_match=ABSENT)
    (root / ".harness" / "active-plan").mkdir()
    with pytest.raises(LocatorConflictError):
        set_marker(resolve_project(), "active-plan", "foo")
    assert not (root / ".harness" / ".gitignore").exists()


def test_whoever_does_not_say_that_it_only_looks_like_a_secret_is_refused(resolution):
    secret = "password = Tr0ub" + "4dor&3"
    for change in (
        lambda: files.write_state_file(resolution, "PLAN.md", secret),
        lambda: files.append_state_file(resolution, "PLAN.md", secret),
        lambda: files.update_state_file(resolution, "PLAN.md", lambda _: secret),
    ):
        with pytest.raises(InvalidContentError, match="seems to hold a secret"):
            change()
    assert list_state_files(resolution) == []
