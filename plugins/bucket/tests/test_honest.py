"""What is wrong with a server is said as what it is; what cannot be known is never said to be empty."""

from __future__ import annotations

import json
import time

import pytest
from bucket_servers import BUCKET
from laptops import Laptop
from strangers import Redirector, Stranger, WithoutEtags, listening

from agentm_bucket.backend import BucketBackend
from agentm_kernel.plugin import ABSENT, Device, Locator, Opening, StorageIOError

KEYS = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AZURE_STORAGE_ACCOUNT_KEY": "a2V5"}
NOTE = Locator("plans/note.md")


def bucket_at(endpoint, tmp_path, **options):
    device = Device({**KEYS, "HOME": str(tmp_path)})
    given = {"bucket": "notes", "endpoint": endpoint, "deadline": 8, "allow_http": True}
    return BucketBackend.create({**given, **options}, device, Opening(state_dir=str(tmp_path / "state")))


# ------------------------------------------------------------------------------------------------ redirects


@pytest.mark.parametrize(
    "verb",
    [
        lambda store: store.read(NOTE),
        lambda store: store.info(NOTE),
        lambda store: store.exists(NOTE),
        lambda store: store.list(Locator()),
        lambda store: list(store.walk(Locator())),
        lambda store: store.fetch_stamp(),
        lambda store: store.write(NOTE, "ours\n"),
        lambda store: store.write(NOTE, "ours\n", if_match=ABSENT),
        lambda store: store.mkdir(NOTE.parent),
        lambda store: store.delete(NOTE),
    ],
    ids=["read", "info", "exists", "list", "walk", "stamp", "write", "create", "mkdir", "delete"],
)
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("kind", [{}, {"kind": "azure", "account": "acme"}], ids=["s3", "azure"])
def test_a_redirect_to_another_host_is_refused(tmp_path, verb, status, kind):
    with listening(Stranger) as (other, asked):
        with listening(Redirector, target=f"http://127.0.0.1:{other}", status=status) as (port, _):
            store = bucket_at(f"http://localhost:{port}", tmp_path, **kind)
            began = time.monotonic()
            with pytest.raises(StorageIOError, match="redirects to another address, which is not followed"):
                verb(store)
            assert time.monotonic() - began < 4, "asking again does not help"
        assert asked == [], "the stranger was never asked"


def test_the_stranger_would_have_been_believed(tmp_path):
    """The control: without the refusal, this is what a note would be."""
    with listening(Stranger) as (port, asked):
        store = bucket_at(f"http://127.0.0.1:{port}", tmp_path)
        assert store.read(NOTE) == Stranger.text.decode()
        assert asked


# ------------------------------------------------------------------------------------------------ named as they are


def test_a_certificate_that_nobody_signed_is_named(tmp_path):
    refused = pytest.raises(StorageIOError, match="the certificate of the server is not accepted: nobody whom")
    with listening(Stranger, tmp_path) as (port, _), refused:
        bucket_at(f"https://localhost:{port}", tmp_path).read(NOTE)


def test_a_server_without_tls_is_named(tmp_path):
    with listening(Stranger) as (port, _), pytest.raises(StorageIOError, match="does not speak TLS"):
        bucket_at(f"https://localhost:{port}", tmp_path).read(NOTE)


def test_a_server_without_etags_is_named_before_anything_is_written(tmp_path):
    with listening(WithoutEtags) as (port, _), pytest.raises(StorageIOError, match="sends no ETags"):
        bucket_at(f"http://127.0.0.1:{port}", tmp_path).write(NOTE, "x\n")


# ------------------------------------------------------------------------------------------------ doctor


@pytest.fixture
def laptop(tmp_path, moto, prefix):
    return Laptop(tmp_path / "one", moto.server.environ).join(moto.server, prefix)


@pytest.mark.parametrize("arguments", [(), ("--requires", "sync")], ids=["plain", "requires"])
def test_doctor_fails_where_nobody_listens_and_says_so_in_time(laptop, arguments):
    assert laptop.run("doctor", *arguments).returncode == 0
    laptop.run("config", "set", "plugins.bucket.endpoint", "http://127.0.0.1:9")
    laptop.run("store", "forget", "--yes", ok=False)
    began = time.monotonic()
    done = laptop.run("doctor", "--json", *arguments, ok=False)
    assert done.returncode == 1
    assert time.monotonic() - began < 6
    rows = [row for row in json.loads(done.stdout)["rows"] if row["check"] == "storage"]
    assert [row["status"] for row in rows] == ["fail"]
    assert "cannot be reached" in rows[0]["message"]


def test_doctor_waits_two_seconds_for_a_server_that_says_nothing(laptop):
    import socket

    with socket.create_server(("127.0.0.1", 0)) as silent:
        laptop.run("config", "set", "plugins.bucket.endpoint", f"http://127.0.0.1:{silent.getsockname()[1]}")
        began = time.monotonic()
        assert "did not answer in time" in laptop.run("doctor", ok=False).stdout
        assert time.monotonic() - began < 6
        began = time.monotonic()
        laptop.session_start()
        assert time.monotonic() - began < 3, "hooks do not wait for it"


# ------------------------------------------------------------------------------------------------ lists


def save(laptop, slug):
    words = ("save", "--kind", "decision", "--slug", slug, "--project", "widgets", "--new-project")
    laptop.run(*words, stdin=f"We decided about {slug}.\n")


def listed(laptop, **options):
    done = laptop.run("notes", "list", "--project", "widgets", "--json", **options)
    return [note["slug"] for note in json.loads(done.stdout)["notes"]]


def test_a_second_device_sees_every_note_at_once(tmp_path, laptop, moto, prefix):
    save(laptop, "use-sqlite")
    two = Laptop(tmp_path / "two", moto.server.environ).join(moto.server, prefix)
    assert listed(two) == ["use-sqlite"]
    save(laptop, "use-postgres")
    assert sorted(listed(two)) == ["use-postgres", "use-sqlite"]


def test_a_bucket_that_was_emptied_is_an_error_for_every_command_and_not_an_empty_store(laptop, moto, prefix):
    save(laptop, "use-sqlite")
    empty(moto.server, prefix)
    for words in (("notes", "list"), ("search", "sqlite"), ("checkpoint", "create"), ("bucket", "sync")):
        done = laptop.run(*words, ok=False)
        assert (done.returncode, "is unmarked; this device knows the store" in done.stderr) == (1, True), words
    assert "FAIL  storage" in laptop.run("doctor", ok=False).stdout


def test_after_store_forget_an_emptied_bucket_can_be_set_up_anew(laptop, moto, prefix):
    save(laptop, "use-sqlite")
    empty(moto.server, prefix)
    laptop.run("store", "forget", "--yes")
    laptop.run("bucket", "init", BUCKET, "--endpoint", moto.server.endpoint, "--prefix", prefix)
    assert listed(laptop) == []
    save(laptop, "use-postgres")
    assert listed(laptop) == ["use-postgres"]


def empty(server, prefix):
    import boto3

    keys = {name.lower(): server.environ[name] for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")}
    client = boto3.client("s3", endpoint_url=server.endpoint, region_name="us-east-1", **keys)
    for found in client.list_objects_v2(Bucket=BUCKET, Prefix=prefix)["Contents"]:
        client.delete_object(Bucket=BUCKET, Key=found["Key"])


def test_recall_knows_the_notes_after_the_first_event(tmp_path, laptop, moto, prefix):
    save(laptop, "use-sqlite")
    two = Laptop(tmp_path / "two", moto.server.environ).join(moto.server, prefix)
    two.run("event", "session-start")
    assert "use-sqlite" in two.run("recall-here").stdout


def test_a_list_that_cannot_be_made_is_an_error(laptop):
    save(laptop, "use-sqlite")
    assert listed(laptop) == ["use-sqlite"]
    without = {name: value for name, value in laptop.environ.items() if not name.startswith("AWS_")}
    done = laptop.run("notes", "list", "--project", "widgets", "--json", ok=False, environ=without)
    assert (done.returncode, "there are no credentials" in done.stderr) == (1, True)
    assert "notes" not in json.loads(done.stdout)
    laptop.run("config", "set", "plugins.bucket.endpoint", "http://127.0.0.1:9")
    laptop.run("config", "set", "plugins.bucket.deadline", "2")
    assert laptop.run("notes", "list", "--project", "widgets", ok=False).returncode == 1
