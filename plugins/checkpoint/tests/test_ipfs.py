"""Push and pull through a real IPFS daemon: the same ids, the same bytes."""

from __future__ import annotations

import threading
import time

import pytest

from agentm_checkpoint.capture import take
from agentm_checkpoint.cids import cid_text
from agentm_checkpoint.image import Image
from agentm_checkpoint.ipfs import Daemon
from agentm_checkpoint.reading import reachable
from agentm_checkpoint.remote import pull, push
from agentm_checkpoint.verifying import verify_image
from agentm_kernel import Locator
from agentm_kernel.errors import StorageIOError


@pytest.fixture
def client(real_daemon):
    return lambda **options: Daemon(real_daemon.api, **options)


@pytest.fixture
def taken(store, open_image, make_notes, write_notes):
    write_notes(store, make_notes(500, seed=time.time_ns()))
    image = open_image()
    return image, take(store, image, author="a", reason="r").snapshot


def test_the_daemon_computes_the_same_ids(client, memory, open_image):
    """Every kind of block that there is: notes, long notes, folders, large folders in shards, snapshots."""
    memory.write(Locator("long.md"), "a long line\n" * 200_000)
    for number in range(1100):
        memory.write(Locator(f"large/note-{number}.md"), "text")
    image = open_image()
    snapshot = take(memory, image, author="a", reason="r").snapshot
    nodes = [cid for cid in reachable(snapshot.root.cid, image.fetch) if cid[1] == 0x71]

    assert len(nodes) > 18
    for cid in nodes:
        assert client().put_node(image.fetch(cid)) == cid
    assert client().put_node(snapshot.block) == snapshot.cid


def test_a_checkpoint_comes_back_bit_for_bit(client, taken):
    image, snapshot = taken

    sent = push(client(), image, snapshot)
    back, blocks = pull(client(), snapshot.cid)

    assert back.block == snapshot.block
    assert blocks == {cid: image.fetch(cid) for cid in reachable(snapshot.root.cid, image.fetch)}
    assert sent == len(blocks) + 1
    assert snapshot.cid in client().pinned()


def test_what_the_daemon_has_is_not_sent_again(client, taken, store):
    image, snapshot = taken
    push(client(), image, snapshot)

    assert push(client(), image, snapshot) == 0
    store.write(Locator("same-a.md"), "changed")
    later = take(store, image, author="a", reason="r").snapshot
    assert push(client(), image, later) == 3  # the snapshot, the root folder, the note
    assert pull(client(), later.cid)[0].id == later.id


def test_what_a_daemon_has_forgotten_is_sent_again(client, taken, real_daemon, store):
    import http.client

    image, snapshot = taken
    push(client(), image, snapshot)
    connection = http.client.HTTPConnection(real_daemon.api.removeprefix("http://"), timeout=60)
    lost = image.find("latest").root.cid
    connection.request("POST", f"/api/v0/block/rm?arg={cid_text(lost)}&force=true")
    connection.getresponse().read()
    connection.close()
    store.write(Locator("same-a.md"), "changed once more")
    later = take(store, image, author="a", reason="r").snapshot

    push(client(), image, later)

    assert pull(client(), later.cid)[0].id == later.id


def test_a_checkpoint_that_the_daemon_does_not_have_is_an_error_in_time(client, open_image, memory):
    memory.write(Locator("a.md"), "never pushed")
    snapshot = take(memory, open_image(), author="a", reason="r").snapshot
    start = time.monotonic()

    with pytest.raises(StorageIOError):
        pull(client(timeout=3), snapshot.cid)
    assert time.monotonic() - start < 10


def test_restoring_on_another_device(device, real_daemon, make_notes, write_notes, notes_in):
    notes = make_notes(120, seed=7)
    write_notes(device.store, notes)
    device.configure(plugins__checkpoint__ipfs_api=real_daemon.api)
    made = device.json("create", "--ipfs")
    assert made["blocks_sent"] > 100
    for key in notes:
        device.store.delete(Locator(key))
    for file in device.home.rglob("image.car"):
        file.unlink()

    device.run("restore", made["id"], "--from", "ipfs", "--yes")

    held = notes_in(device.store)
    del held["_meta/store.json"]
    assert held == notes
    assert "whole" in device.run("verify")
    assert device.json("pull", made["id"])["id"] == made["id"]
    assert len(device.json("list")["checkpoints"]) == 2  # and the one from before the restore


def test_a_daemon_that_is_killed_in_the_middle_of_a_push(real_daemon, taken, image_file):
    """A daemon of this test's own, because it does not survive."""
    daemon = type(real_daemon)()
    try:
        daemon.start()
        image, snapshot = taken
        before = image_file.read_bytes()
        killer = threading.Timer(0.25, daemon.kill)
        killer.start()
        start = time.monotonic()
        with pytest.raises(StorageIOError):
            push(Daemon(daemon.api, timeout=20), image, snapshot, lambda *_: time.sleep(0.1))
        killer.join()

        assert time.monotonic() - start < 25
        assert image_file.read_bytes() == before
        assert verify_image(Image(str(image_file), snapshot.store)).is_good
        daemon.start()
        push(Daemon(daemon.api), image, snapshot)
        assert pull(Daemon(daemon.api), snapshot.cid)[0].id == snapshot.id
    finally:
        daemon.stop()
