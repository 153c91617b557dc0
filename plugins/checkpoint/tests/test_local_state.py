"""`.harness/` of this device's checkouts: kept beside the checkpoint, never in it, and brought back on request."""

from __future__ import annotations

import shutil

import pytest

from agentm_checkpoint.reading import reachable
from agentm_checkpoint.texts import visible
from agentm_kernel import Locator
from agentm_kernel.plugin import AgentmError, NotFoundError

PLAN = "# Plan: ship the widget\n"


@pytest.fixture
def checkout(device, monkeypatch):
    """A checkout with state of its own, and the working directory in it."""
    root = device.home / "widgets"
    (root / ".git").mkdir(parents=True)
    (root / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (root / ".harness").mkdir()
    (root / ".harness" / "PLAN.md").write_text(PLAN)
    (root / ".harness" / "progress.md").write_text("- begun\n")
    device.store.write(Locator("a.md"), "one")
    monkeypatch.chdir(root)
    return root


def refused(device, *arguments):
    result = device.result(*arguments)
    assert isinstance(result.exception, AgentmError), result.output
    return result.exception


def state_of(checkout):
    """Its state files; what hides them from git is none."""
    return {path.name: path.read_text() for path in (checkout / ".harness").iterdir() if path.name != ".gitignore"}


def test_it_comes_back_after_git_clean(device, checkout):
    before = state_of(checkout)
    device.run("create")
    shutil.rmtree(checkout / ".harness")

    device.run("restore", "--device", "--yes")

    assert state_of(checkout) == before
    assert (checkout / ".harness" / ".gitignore").read_text() == "*\n", "the next cleaning leaves it alone"
    assert device.store.read(Locator("a.md")) == "one"


def test_only_device_brings_it_back(device, checkout):
    device.run("create")
    (checkout / ".harness" / "PLAN.md").write_text("changed\n")
    device.store.write(Locator("a.md"), "two")

    device.run("restore", "latest", "--yes")

    assert state_of(checkout)["PLAN.md"] == "changed\n"
    assert device.store.read(Locator("a.md")) == "one"


def test_it_can_be_taken_back_and_deletes_nothing(device, checkout):
    device.run("create")
    (checkout / ".harness" / "PLAN.md").write_text("changed\n")
    (checkout / ".harness" / "new.md").write_text("new\n")

    out = device.run("restore", "latest", "--device", "--yes")

    assert state_of(checkout) == {"PLAN.md": PLAN, "progress.md": "- begun\n", "new.md": "new\n"}
    back = out.split("`agentm checkpoint ")[1].split("`")[0].split()
    device.run(*back, "--yes")
    assert state_of(checkout)["PLAN.md"] == "changed\n"


def test_a_change_of_the_state_alone_is_a_checkpoint(device, checkout):
    device.run("create")
    (checkout / ".harness" / "PLAN.md").write_text("changed\n")

    assert device.json("create")["new"] is True
    assert device.json("create")["new"] is False
    one, other = device.json("list")["checkpoints"]
    assert one["root"] == other["root"]


def test_what_looks_like_a_secret_or_is_too_much_is_left_out_and_named(device, checkout):
    harness = checkout / ".harness"
    (harness / "secrets.md").write_text("AKIA" + "Q3ZT7XW2KLMV5RBD\n")
    (harness / "large.log").write_text("x" * (1 << 20))
    (harness / "picture.md").write_bytes(b"\xff\xfe")

    result = device.result("create")

    assert "secrets.md" in result.stderr
    assert "large.log" in result.stderr
    assert "picture.md" in result.stderr
    (file,) = device.home.rglob("image.car")
    assert b"AKIA" not in file.read_bytes()
    shutil.rmtree(harness)
    device.run("restore", "--device", "--yes")
    assert sorted(state_of(checkout)) == ["PLAN.md", "progress.md"]


def test_it_is_in_nothing_that_is_pushed(device, checkout):
    from agentm_checkpoint.capture import open_image
    from agentm_kernel import select_backend
    from agentm_kernel.plugin import Device

    device.run("create")
    image = open_image(select_backend(), Device.now())
    snapshot = image.latest()
    pushed = {snapshot.block, *(image.fetch(cid) for cid in reachable(snapshot.root.cid, image.fetch))}
    state = image.device_state(snapshot)

    assert state is not None
    assert state.root.notes == 2
    assert not any(b"ship the widget" in block or b"widgets" in block for block in pushed)
    assert snapshot.root.notes == 1


def test_another_checkout_is_given_nothing_of_it(device, checkout, monkeypatch):
    device.run("create")
    other = device.home / "other"
    (other / ".harness").mkdir(parents=True)
    monkeypatch.chdir(other)

    assert isinstance(refused(device, "restore", "--device", "--yes"), NotFoundError)
    assert list((other / ".harness").iterdir()) == []


def test_checkouts_that_were_seen_once_are_looked_at_from_elsewhere(device, checkout, monkeypatch):
    device.run("create")
    (checkout / ".harness" / "PLAN.md").write_text("later\n")
    monkeypatch.chdir(device.home)
    device.run("create")
    monkeypatch.chdir(checkout)
    shutil.rmtree(checkout / ".harness")

    device.run("restore", "--device", "--yes")

    assert state_of(checkout)["PLAN.md"] == "later\n"
    assert f"with .harness/ of {visible(str(checkout))}" in device.run("show")


def test_a_harness_that_is_a_link_is_not_followed(device, checkout):
    elsewhere = device.home / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "theirs.md").write_text("theirs")
    shutil.rmtree(checkout / ".harness")
    (checkout / ".harness").symlink_to(elsewhere)

    device.run("create")

    (file,) = device.home.rglob("image.car")
    assert b"theirs" not in file.read_bytes()


def test_pruning_keeps_the_state_of_what_it_keeps(device, checkout):
    for number in range(3):
        (checkout / ".harness" / "PLAN.md").write_text(f"plan {number}\n")
        device.run("create")
    device.run("prune", "--keep", "1", "--yes")
    shutil.rmtree(checkout / ".harness")

    device.run("restore", "--device", "--yes")

    assert state_of(checkout)["PLAN.md"] == "plan 2\n"
    (file,) = device.home.rglob("image.car")
    assert b"plan 0" not in file.read_bytes()
