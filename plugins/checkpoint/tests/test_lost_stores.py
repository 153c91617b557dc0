"""A store that is gone comes back from its image, or from IPFS, with the identity that it had."""

from __future__ import annotations

import json
import os
import shutil

import pytest

from agentm_kernel import Locator, select_backend
from agentm_kernel.plugin import (
    AgentmError,
    ConcurrentModificationError,
    ConfigError,
    NotFoundError,
    StoreIdentityError,
)

STORE_ID = "11111111-2222-3333-4444-555555555555"


@pytest.fixture
def lost(device, make_notes):
    """A device whose store had checkpoints, and is gone."""
    store = select_backend()
    for key, text in make_notes(40).items():
        store.write(Locator(key), text)
    device.run("create", "--reason", "good")
    shutil.rmtree(device.root)
    return device


def refused(device, *arguments):
    result = device.result(*arguments)
    assert isinstance(result.exception, AgentmError), result.output
    return result.exception


def held(device, notes_in):
    return {key: text for key, text in notes_in(device.store).items() if key != "_meta/store.json"}


def test_the_refusal_names_the_way_back(lost):
    assert "restore latest --into-new" in refused(lost, "list").hint
    assert "restore latest --into-new" in lost.answer("doctor").stdout


@pytest.mark.parametrize("left", ["missing", "empty folder"])
def test_it_comes_back_with_its_identity(lost, notes_in, make_notes, left):
    if left == "empty folder":
        lost.root.mkdir()

    out = lost.run("restore", "--into-new", "--yes")

    assert f"is store {STORE_ID} again" in out
    assert held(lost, notes_in) == make_notes(40)
    assert json.loads((lost.root / "_meta" / "store.json").read_text())["id"] == STORE_ID
    select_backend().write(Locator("new.md"), "it goes on")
    assert lost.json("list")["checkpoints"][0]["reason"] == "good"
    assert "nothing has changed" not in lost.run("create")


def test_keys_that_another_device_brings_back_meanwhile_are_left(device, make_notes, monkeypatch):
    store = select_backend()
    for key, text in {**make_notes(3), "_meta/keys/1.age": "ours"}.items():
        store.write(Locator(key), text)
    device.run("create")
    shutil.rmtree(device.root)
    theirs = device.root / "_meta" / "keys" / "1.age"

    def bring_theirs(*_):
        theirs.parent.mkdir(parents=True)
        theirs.write_text("theirs")

    monkeypatch.setattr("agentm_checkpoint.command_recover.read_or_none", bring_theirs)  # just after our look

    assert isinstance(refused(device, "restore", "--into-new", "--yes"), ConcurrentModificationError)
    assert theirs.read_text() == "theirs"


def test_it_comes_back_after_the_device_has_forgotten_it(lost, notes_in, make_notes):
    done = lost.answer("store", "forget", str(lost.root), "--yes")
    assert done.returncode == 0, done.stderr
    assert isinstance(refused(lost, "restore", "latest", "--into-new", "--yes"), NotFoundError)
    (entry,) = lost.json("list", "--all-stores")["stores"]
    assert (entry["store"], entry["checkpoints"], entry["places"]) == (STORE_ID, 1, [])

    lost.run("restore", "latest", "--into-new", "--store", STORE_ID[:8], "--yes")

    assert held(lost, notes_in) == make_notes(40)
    assert select_backend().read(Locator("no-newline.md")) == "the end"


def test_an_id_finds_its_store_by_itself(lost, notes_in, make_notes):
    lost.answer("store", "forget", str(lost.root), "--yes")
    (entry,) = lost.json("list", "--all-stores")["stores"]

    lost.run("restore", entry["latest"]["id"][:20], "--into-new", "--yes")

    assert held(lost, notes_in) == make_notes(40)


def test_stores_that_are_gone_are_listed_where_nothing_can_be_selected(lost):
    out = lost.run("list", "--all-stores")

    assert STORE_ID in out
    assert str(lost.root) in out


def test_what_is_there_is_never_filled_over(lost, notes_in):
    lost.root.mkdir()
    (lost.root / "mine.md").write_text("mine")

    assert "not empty" in refused(lost, "restore", "--into-new", "--yes").message
    assert notes_in(lost.store) == {"mine.md": "mine"}


def test_a_store_that_is_not_lost_is_left_alone(device, notes_in):
    device.store.write(Locator("a.md"), "one")
    device.run("create")
    device.store.write(Locator("a.md"), "two")

    error = refused(device, "restore", "--into-new", "--yes")

    assert isinstance(error, StoreIdentityError)
    assert "there is a store" in error.message
    assert notes_in(device.store)["a.md"] == "two"


def test_another_store_than_the_known_one_is_refused(lost):
    """Its checkpoint is on this device, and it was never here."""
    other = lost.home / "other"
    lost.configure(plugins__files__root=str(other))
    select_backend().write(Locator("b.md"), "b")
    theirs = lost.json("create")["id"]
    lost.configure(plugins__files__root=str(lost.root))

    assert isinstance(refused(lost, "restore", theirs, "--into-new", "--yes"), StoreIdentityError)
    assert not lost.root.exists()


def test_it_asks_and_a_dry_run_changes_nothing(lost):
    assert "--yes" in refused(lost, "restore", "--into-new").hint
    assert "would write 40 files" in lost.run("restore", "--into-new", "--dry-run")
    assert not lost.root.exists()


def test_a_damaged_checkpoint_fills_nothing(lost):
    (file,) = lost.home.rglob("image.car")
    file.write_bytes(file.read_bytes().replace(b"the end", b"the enf"))
    (entry,) = lost.json("list", "--all-stores")["stores"]

    refused(lost, "restore", "--into-new", "--yes")
    refused(lost, "restore", entry["latest"]["id"], "--into-new", "--yes")

    assert not lost.root.exists()


def test_an_interrupted_refill_is_said_until_it_is_finished(lost, monkeypatch, notes_in, make_notes):
    from agentm_checkpoint import command_recover

    def broken(backend, steps, fetch, progress=None):
        backend.write(Locator(steps[0].key), "")
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(command_recover, "apply_restore", broken)
        lost.result("restore", "--into-new", "--yes")

    result = lost.result("list")
    assert "interrupted" in result.stderr
    assert "interrupted" in lost.answer("doctor").stdout
    again = result.stderr.split("`agentm checkpoint ")[1].split("`")[0].split()
    lost.run(*again, "--yes")
    assert held(lost, notes_in) == make_notes(40)
    assert "interrupted" not in lost.result("list").stderr


def test_from_ipfs_on_a_fresh_device_without_a_dummy_note(device, real_daemon, make_notes, notes_in, tmp_path):
    store = select_backend()
    for key, text in make_notes(40).items():
        store.write(Locator(key), text)
    taken = device.json("create", "--ipfs", real_daemon.api)["id"]
    shutil.rmtree(device.root)
    shutil.rmtree(device.home / ".local")

    device.run("restore", taken, "--from", "ipfs", "--ipfs", real_daemon.api, "--into-new", "--yes")

    assert held(device, notes_in) == make_notes(40)
    assert device.json("list")["checkpoints"][0]["id"] == taken
    select_backend().write(Locator("new.md"), "it goes on")
    assert json.loads((device.root / "_meta" / "store.json").read_text())["id"] == STORE_ID


# ------------------------------------------------------------------------------------------------ the image's place


def test_the_image_lies_where_the_setting_says(device, notes_in):
    place = device.home / "backups"
    place.mkdir()
    device.configure(plugins__checkpoint__image_folder="~/backups")
    device.store.write(Locator("a.md"), "one")
    device.run("create")

    assert (place / STORE_ID / "image.car").is_file()
    assert not list((device.home / ".local").rglob("image.car"))
    assert device.json("list", "--all-stores")["stores"][0]["image"].startswith(str(place))


def test_a_place_that_is_not_there_is_refused_and_not_made(device):
    device.configure(plugins__checkpoint__image_folder="~/not-mounted")
    device.store.write(Locator("a.md"), "one")

    assert isinstance(refused(device, "create"), ConfigError)
    assert not (device.home / "not-mounted").exists()
    assert not list(device.home.rglob("image.car"))


@pytest.mark.parametrize(
    "arguments",
    [
        ("restore",),
        ("restore", "--into-new", "--path", "a"),
        ("restore", "latest", "--store", "x"),
        ("restore", "--device", "--keep-extra"),
        ("restore", "--from", "ipfs", "--into-new"),
    ],
)
def test_options_that_do_not_go_together_are_refused(device, arguments):
    assert type(device.result(*arguments).exception).__name__ == "UsageError"


def test_everything_this_device_keeps_is_private_under_any_umask(device):
    before = os.umask(0)
    try:
        device.store.write(Locator("a.md"), "one")
        device.run("create")
    finally:
        os.umask(before)

    folder = device.home / ".local" / "state" / "agentm" / "checkpoints"
    assert {path.stat().st_mode & 0o077 for path in [folder, *folder.rglob("*")]} == {0}
