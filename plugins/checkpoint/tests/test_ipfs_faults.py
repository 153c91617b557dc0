"""Daemons that are down, silent, slow, full, dying or lying: a typed error in time, and nothing is changed."""

from __future__ import annotations

import json
import socket
import threading
import time
from urllib.parse import parse_qs, urlsplit

import pytest

from agentm_checkpoint.capture import take
from agentm_checkpoint.car import encode_frame, encode_header
from agentm_checkpoint.cids import cid_text, encode_node, node_cid, raw_cid
from agentm_checkpoint.ipfs import Daemon
from agentm_checkpoint.reading import Limits, reachable
from agentm_checkpoint.remote import pull, push
from agentm_checkpoint.snapshot import Snapshot
from agentm_checkpoint.tree import Root, build_tree, note_blocks
from agentm_kernel import Locator
from agentm_kernel.errors import ConfigError, IntegrityError, StorageIOError

PATIENCE = 1.0
SLACK = 4.0
"""Seconds on a busy machine between a deadline and the error."""


class FakeDaemon:
    """A socket that speaks as much HTTP as a misbehaving daemon needs."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.api = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.answers = {}
        self.asked = []
        self._open = []
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self._open.append(connection)
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        try:
            verb, query, rest, has_body = _head(connection)
            self.asked.append((verb, query))
            answer = self.answers.get(verb, refuse)
            answer(Conversation(connection, query, rest, has_body))
            connection.close()
        except OSError:
            pass

    def close(self) -> None:
        if self._listener.fileno() < 0:
            return
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for connection in self._open:
            connection.close()
        self._thread.join(5)


def _head(connection):
    data = b""
    while b"\r\n\r\n" not in data:
        piece = connection.recv(65536)
        if not piece:
            raise OSError
        data += piece
    head, _, rest = data.partition(b"\r\n\r\n")
    target = urlsplit(head.split(b" ")[1].decode())
    return target.path.removeprefix("/api/v0/"), parse_qs(target.query), rest, b"chunked" in head


class Conversation:
    def __init__(self, connection, query, rest, has_body):
        self.connection = connection
        self.query = query
        self.body = rest
        self._has_body = has_body

    def read_all(self):
        while self._has_body and not self.body.endswith(b"0\r\n\r\n"):
            piece = self.connection.recv(65536)
            if not piece:
                return
            self.body = self.body[-5:] + piece if len(self.body) > 1 << 20 else self.body + piece

    def send(self, body, status="200 OK", length=None):
        size = len(body) if length is None else length
        self.connection.sendall(f"HTTP/1.1 {status}\r\nContent-Length: {size}\r\n\r\n".encode() + body)

    def send_json(self, value, status="200 OK"):
        self.read_all()
        self.send(json.dumps(value).encode() + b"\n", status)


def refuse(talk):
    talk.send_json({"Message": "not here", "Code": 0, "Type": "error"}, "500 Internal Server Error")


def silent(talk):
    time.sleep(60)


def dripping(talk):
    talk.connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
    for _ in range(600):
        talk.connection.sendall(b"{")
        time.sleep(0.1)


@pytest.fixture
def fake():
    daemon = FakeDaemon()
    yield daemon
    daemon.close()


@pytest.fixture
def client(fake):
    return lambda **options: Daemon(fake.api, **{"timeout": PATIENCE, "silence": PATIENCE, **options})


@pytest.fixture
def taken(memory, open_image, make_notes, write_notes):
    write_notes(memory, {key: text for key, text in make_notes(60).items() if len(text) < 100_000})
    image = open_image()
    return image, take(memory, image, author="a", reason="r").snapshot


def archive(snapshot, blocks, *, order=None):
    frames = b"".join(encode_frame(cid, blocks[cid]) for cid in (order or blocks))
    return encode_header([snapshot.cid]) + encode_frame(snapshot.cid, snapshot.block) + frames


@pytest.fixture
def blocks(taken):
    image, snapshot = taken
    return {cid: image.fetch(cid) for cid in reachable(snapshot.root.cid, image.fetch)}


def exporting(fake, data):
    fake.answers["dag/export"] = lambda talk: talk.send(data)


class Patience:
    """The work in it must end in time."""

    def __init__(self, seconds=PATIENCE):
        self._limit = seconds + SLACK

    def __enter__(self):
        self._start = time.monotonic()

    def __exit__(self, *_):
        assert time.monotonic() - self._start < self._limit


# ------------------------------------------------------------------------------------------------ not alive


def test_a_daemon_that_is_down(fake, client, taken):
    image, snapshot = taken
    fake.close()

    with Patience(), pytest.raises(StorageIOError, match="cannot be reached"):
        push(client(), image, snapshot)
    with Patience(), pytest.raises(StorageIOError, match="cannot be reached"):
        pull(client(), snapshot.cid)


@pytest.mark.parametrize("behaviour", [silent, dripping])
@pytest.mark.parametrize("verb", ["block/put", "pin/ls", "dag/import"])
def test_a_daemon_that_accepts_and_does_not_answer(fake, client, taken, verb, behaviour, image_file):
    image, snapshot = taken
    before = image_file.read_bytes()
    fake.answers["block/put"] = lambda talk: talk.send_json({"Key": snapshot.id})
    fake.answers["pin/ls"] = lambda talk: talk.send_json({"Keys": {}})
    fake.answers[verb] = behaviour

    with Patience(), pytest.raises(StorageIOError):
        push(client(), image, snapshot)
    assert image_file.read_bytes() == before


def test_a_daemon_may_be_silent_while_it_looks_through_what_it_was_sent(fake, client, taken):
    image, snapshot = taken
    fake.answers["block/put"] = lambda talk: talk.send_json({"Key": snapshot.id})
    fake.answers["pin/ls"] = lambda talk: talk.send_json({"Keys": {}})

    def thinking(talk):
        talk.read_all()
        time.sleep(0.5)
        talk.send_json({"Root": {"Cid": {"/": snapshot.id}, "PinErrorMsg": ""}})

    fake.answers["dag/import"] = thinking

    assert push(client(timeout=60, silence=0.3), image, snapshot) > 60


def test_who_needs_longer_is_told_which_setting_gives_it(fake, client, taken):
    fake.answers["block/put"] = silent

    with pytest.raises(StorageIOError, match="did not finish within") as refusal:
        push(client(silence=60), *taken)
    assert "plugins.checkpoint.ipfs_timeout" in (refusal.value.hint or "")


@pytest.mark.parametrize("behaviour", [silent, dripping])
def test_a_pull_from_a_daemon_that_does_not_answer(fake, client, taken, behaviour):
    fake.answers["dag/export"] = behaviour

    with Patience(), pytest.raises(StorageIOError):
        pull(client(), taken[1].cid)


def test_a_daemon_that_does_not_take_what_is_sent(fake, client, memory, open_image):
    memory.write(Locator("long.md"), "a long line\n" * 1_000_000)
    image = open_image()
    snapshot = take(memory, image, author="a", reason="r").snapshot
    fake.answers["block/put"] = lambda talk: talk.send_json({"Key": snapshot.id})
    fake.answers["pin/ls"] = lambda talk: talk.send_json({"Keys": {}})
    fake.answers["dag/import"] = silent

    with Patience(), pytest.raises(StorageIOError):
        push(client(), image, snapshot)


@pytest.mark.parametrize("part", [0.0, 0.3, 0.99])
def test_a_daemon_that_dies_while_it_sends(fake, client, taken, blocks, part):
    data = archive(taken[1], blocks)
    fake.answers["dag/export"] = lambda talk: talk.send(data[: int(len(data) * part)], length=len(data))

    with Patience(), pytest.raises((StorageIOError, IntegrityError)):
        pull(client(), taken[1].cid)


def test_a_daemon_that_dies_while_it_receives(fake, client, memory, open_image):
    memory.write(Locator("long.md"), "a long line\n" * 1_000_000)
    image = open_image()
    snapshot = take(memory, image, author="a", reason="r").snapshot
    fake.answers["block/put"] = lambda talk: talk.send_json({"Key": snapshot.id})
    fake.answers["pin/ls"] = lambda talk: talk.send_json({"Keys": {}})
    fake.answers["dag/import"] = lambda talk: talk.connection.close()

    with Patience(), pytest.raises(StorageIOError):
        push(client(), image, snapshot)


def test_a_daemon_whose_disk_is_full_is_quoted(fake, client, taken):
    image, snapshot = taken
    fake.answers["block/put"] = lambda talk: talk.send_json({"Key": snapshot.id})
    fake.answers["pin/ls"] = lambda talk: talk.send_json({"Keys": {}})
    full = {"Message": "no space left on device\x1b[2J", "Code": 0, "Type": "error"}
    fake.answers["dag/import"] = lambda talk: talk.send_json(full, "500 Internal Server Error")

    with Patience(), pytest.raises(StorageIOError, match="no space left on device") as refusal:
        push(client(), image, snapshot)
    assert refusal.value.message.isprintable()


# ------------------------------------------------------------------------------------------------ lies on push


@pytest.mark.parametrize(
    "answer",
    [b"", b"not json", b"[]", b"{}", b"null", b'{"Key": 5}', b'{"Key": "bafkqaaa"}', b"[" * 5000, b"x" * 3_000_000],
)
def test_a_daemon_with_other_ids_gets_nothing(fake, client, taken, answer):
    fake.answers["block/put"] = lambda talk: (talk.read_all(), talk.send(answer))

    with Patience(), pytest.raises((IntegrityError, StorageIOError)):
        push(client(), *taken)
    assert [verb for verb, _ in fake.asked] == ["block/put"]


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"Root": None},
        {"Root": {"Cid": {"/": "bafkqaaa"}, "PinErrorMsg": ""}},
        {"Root": {"Cid": {}, "PinErrorMsg": ""}},
    ],
)
def test_a_daemon_that_does_not_confirm_the_import_is_not_believed(fake, client, taken, answer):
    image, snapshot = taken
    fake.answers["block/put"] = lambda talk: talk.send_json({"Key": snapshot.id})
    fake.answers["pin/ls"] = lambda talk: talk.send_json({"Keys": {}})
    fake.answers["dag/import"] = lambda talk: talk.send_json(answer)

    with Patience(), pytest.raises(IntegrityError):
        push(client(), image, snapshot)


def test_a_daemon_that_cannot_pin_is_an_error(fake, client, taken):
    image, snapshot = taken
    fake.answers["block/put"] = lambda talk: talk.send_json({"Key": snapshot.id})
    fake.answers["pin/ls"] = lambda talk: talk.send_json({"Keys": {}})
    root = {"Cid": {"/": snapshot.id}, "PinErrorMsg": "block not found"}
    fake.answers["dag/import"] = lambda talk: talk.send_json({"Root": root})

    with Patience(), pytest.raises(StorageIOError, match="block not found"):
        push(client(), image, snapshot)


# ------------------------------------------------------------------------------------------------ lies on pull


def test_what_an_honest_daemon_sends_is_taken(fake, client, taken, blocks):
    exporting(fake, archive(taken[1], blocks))

    snapshot, pulled = pull(client(timeout=20), taken[1].cid)

    assert (snapshot.block, pulled) == (taken[1].block, blocks)


@pytest.mark.parametrize("place", [0.1, 0.4, 0.8, 0.999])
def test_wrong_bytes_are_refused(fake, client, taken, blocks, place):
    data = bytearray(archive(taken[1], blocks))
    data[int(len(data) * place)] ^= 1
    exporting(fake, bytes(data))

    with Patience(20), pytest.raises((IntegrityError, StorageIOError)):
        pull(client(timeout=20), taken[1].cid)


def test_a_block_under_the_id_of_another_is_refused(fake, client, taken, blocks):
    one, other, *_ = [cid for cid in blocks if cid[1] == 0x55]
    swapped = {**blocks, one: blocks[other], other: blocks[one]}
    exporting(fake, archive(taken[1], swapped))

    with pytest.raises(IntegrityError, match="not what that id stands for"):
        pull(client(timeout=20), taken[1].cid)


def test_another_checkpoint_than_the_one_asked_for_is_refused(fake, client, taken, blocks):
    root, nodes = build_tree({})
    other = Snapshot(root, parent=None, store="s", time=1, author="a", reason="r")
    exporting(fake, archive(other, nodes))

    with pytest.raises(IntegrityError, match="not the one that was asked for"):
        pull(client(timeout=20), taken[1].cid)


@pytest.mark.parametrize("what", ["root", "folder", "note"])
def test_a_missing_block_is_refused(fake, client, taken, blocks, what):
    snapshot = taken[1]
    missing = {
        "root": snapshot.root.cid,
        "folder": next(cid for cid in blocks if cid[1] == 0x71 and cid != snapshot.root.cid),
        "note": next(cid for cid in blocks if cid[1] == 0x55),
    }[what]
    exporting(fake, archive(snapshot, {cid: block for cid, block in blocks.items() if cid != missing}))

    with pytest.raises(IntegrityError, match="missing"):
        pull(client(timeout=20), snapshot.cid)


def test_blocks_that_nobody_asked_for_are_not_kept(fake, client, taken, blocks):
    stowaway = b"not part of it"
    exporting(fake, archive(taken[1], {**blocks, raw_cid(stowaway): stowaway}))

    assert raw_cid(stowaway) not in pull(client(timeout=20), taken[1].cid)[1]


def test_an_answer_without_end_is_cut(fake, client, memory, open_image):
    memory.write(Locator("a.md"), "small")
    image = open_image()
    snapshot = take(memory, image, author="a", reason="r").snapshot
    sent = []

    def endless(talk):
        talk.connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n" + archive(snapshot, {}))
        for number in range(1000):
            piece = number.to_bytes(4, "big") * (1 << 18)
            talk.connection.sendall(encode_frame(raw_cid(piece), piece))
            sent.append(number)

    fake.answers["dag/export"] = endless

    with Patience(30), pytest.raises(IntegrityError, match="more than the checkpoint holds"):
        pull(client(timeout=30), snapshot.cid)
    assert len(sent) < 100


@pytest.mark.parametrize(
    "data",
    [b"", b"<html>", b"\0" * 100_000, b"\xff" * 100_000, encode_header([raw_cid(b"")]) + b"\xff\xff\xff\xff\x7f"],
)
def test_what_is_no_archive_is_refused(fake, client, taken, data):
    exporting(fake, data)

    with Patience(20), pytest.raises((IntegrityError, StorageIOError)):
        pull(client(timeout=20), taken[1].cid)


def test_a_block_of_another_kind_is_refused(fake, client, taken, blocks):
    dag_pb = b"\x01\x70\x12\x20" + b"\0" * 32
    exporting(fake, archive(taken[1], blocks) + encode_frame(dag_pb, b"x" * 100))

    with pytest.raises(IntegrityError, match="no block of a checkpoint"):
        pull(client(timeout=20), taken[1].cid)


def hostile_snapshot(top, *, notes=1, size=4):
    block = encode_node(top)
    snapshot = Snapshot(Root(size, notes, node_cid(block)), parent=None, store="s", time=1, author="a", reason="r")
    return snapshot, {node_cid(block): block, raw_cid(b"text"): b"text"}


@pytest.mark.parametrize("name", ["../up.md", "/etc/passwd", ".git", "a\\b", "nul.md"])
def test_a_hostile_tree_is_refused_and_leaves_the_image(fake, client, device, name):
    snapshot, blocks = hostile_snapshot({name: [4, raw_cid(b"text")]})
    exporting(fake, archive(snapshot, blocks))
    device.configure(plugins__checkpoint__ipfs_api=fake.api)
    device.run("create")
    (image,) = device.home.rglob("image.car")
    before = image.read_bytes()
    files = set(device.home.rglob("*"))

    for command in (["pull", snapshot.id], ["restore", snapshot.id, "--from", "ipfs", "--yes"]):
        assert isinstance(device.result(*command).exception, IntegrityError)

    assert image.read_bytes() == before
    assert set(device.home.rglob("*")) == files


def test_a_checkpoint_that_claims_too_much_is_refused_at_once(fake, client):
    snapshot, blocks = hostile_snapshot({"a.md": [4, raw_cid(b"text")]}, notes=10**9, size=10**12)
    exporting(fake, archive(snapshot, blocks))

    with pytest.raises(IntegrityError, match="claims"):
        pull(client(timeout=20), snapshot.cid)


def test_limits_hold_for_what_is_pulled(fake, client):
    leaf, found = note_blocks(b"text")
    root, nodes = build_tree({"a.md": leaf})
    snapshot = Snapshot(root, parent=None, store="s", time=1, author="a", reason="r")
    exporting(fake, archive(snapshot, found | nodes))

    with pytest.raises(IntegrityError, match="limit"):
        pull(client(timeout=20), snapshot.cid, Limits(notes=0))


def test_the_id_in_the_request_is_the_one_that_was_asked_for(fake, client, taken, blocks):
    exporting(fake, archive(taken[1], blocks))
    pull(client(timeout=20), taken[1].cid)

    assert fake.asked == [("dag/export", {"arg": [cid_text(taken[1].cid)], "cid-base": ["base32"]})]


# ------------------------------------------------------------------------------------------------ an honest one


def keeping(fake, kept):
    """Let it keep what it is sent, in `kept`: the last archive, and the ids of what it has pinned."""

    def take_archive(talk):
        talk.read_all()
        kept["archive"] = talk.body
        kept["pins"].append(kept["id"])
        talk.send(json.dumps({"Root": {"Cid": {"/": kept["id"]}, "PinErrorMsg": ""}}).encode())

    fake.answers["block/put"] = lambda talk: talk.send_json({"Key": kept["id"]})
    fake.answers["pin/ls"] = lambda talk: talk.send_json({"Keys": {one: {} for one in kept["pins"]}})
    fake.answers["dag/import"] = take_archive


@pytest.fixture
def online(fake, device):
    """A device with two checkpoints, the ids of both, and an honest daemon that has nothing yet."""
    device.configure(plugins__checkpoint__ipfs_api=fake.api)
    device.store.write(Locator("notes/first.md"), "first\n")
    older = device.json("create")["id"]
    device.store.write(Locator("notes/second.md"), "second\n")
    newer = device.json("create")["id"]
    return device, older, newer


def test_a_push_says_what_was_sent_and_sends_only_what_the_daemon_lacks(fake, online):
    device, older, newer = online
    kept = {"pins": [], "id": older}
    keeping(fake, kept)

    said = device.run("push", older)
    assert f"{older} is pinned on IPFS; 4 blocks sent" in said
    assert b"first\n" in kept["archive"]
    kept["id"] = newer
    answer = device.json("push")

    assert (answer["id"], answer["blocks_sent"]) == (newer, 4)
    assert b"second\n" in kept["archive"]
    assert b"first\n" not in kept["archive"]
    assert device.json("push")["blocks_sent"] == 0


def test_progress_of_a_push_is_told_up_to_the_last_block(fake, client, memory, open_image):
    for number in range(4):
        memory.write(Locator(f"notes/{number}.md"), f"{number}\n" * 100_000)
    image = open_image()
    snapshot = take(memory, image, author="a", reason="r").snapshot
    keeping(fake, {"pins": [], "id": snapshot.id})
    told = []

    sent = push(client(timeout=20), image, snapshot, lambda done, total: told.append((done, total)))

    assert told[-1] == (sent, sent)
    assert told == sorted(told)
    assert len(told) > 2


def test_progress_of_a_pull_is_told_up_to_the_size_of_the_notes(fake, client, taken, blocks):
    exporting(fake, archive(taken[1], blocks))
    told = []

    pull(client(timeout=20), taken[1].cid, None, lambda done, total: told.append((done, total)))

    assert told[-1] == (taken[1].root.size, taken[1].root.size)
    assert told == sorted(told)


def test_a_pull_says_what_came_and_a_checkpoint_that_is_there_stays_as_it_is(fake, device, taken, blocks):
    snapshot = taken[1]
    exporting(fake, archive(snapshot, blocks))

    said = device.run("pull", snapshot.id, "--ipfs", fake.api)
    (image,) = device.home.rglob("image.car")
    once = image.read_bytes()
    answer = device.json("pull", snapshot.id, "--ipfs", fake.api)

    assert f"pulled checkpoint {snapshot.id} of {snapshot.root.notes} files into {image}" in said
    assert (answer["id"], answer["notes"]) == (snapshot.id, snapshot.root.notes)
    assert image.read_bytes() == once
    assert [one["id"] for one in device.json("list")["checkpoints"]] == [snapshot.id]


# ------------------------------------------------------------------------------------------------ where it may be


@pytest.mark.parametrize(
    "api", ["", "127.0.0.1:5001", "https://127.0.0.1:5001", "ftp://127.0.0.1", "http://", "http://127.0.0.1:99999", "http://127.0.0.1/x"]
)  # fmt: skip
def test_what_is_no_address_is_refused(api):
    with pytest.raises(ConfigError, match="address"):
        Daemon(api)


def test_a_daemon_on_another_machine_is_not_talked_to(fake, monkeypatch):
    """The connection is made, to see where the name leads; not a byte is sent."""
    monkeypatch.setattr(socket.socket, "getpeername", lambda self: ("192.0.2.1", 5001))

    with pytest.raises(ConfigError, match="not on this machine"):
        Daemon(fake.api).version()
    assert fake.asked == []


def test_a_daemon_on_another_machine_can_be_allowed(fake, monkeypatch):
    monkeypatch.setattr(socket.socket, "getpeername", lambda self: ("192.0.2.1", 5001))
    fake.answers["version"] = lambda talk: talk.send_json({"Version": "0.22.0"})

    assert Daemon(fake.api, allow_remote=True).version() == "0.22.0"
