"""What the client sends, what it makes of answers, and how providers and stores are named: without a server."""

from __future__ import annotations

import base64
import hashlib
import hmac
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import obstore
import pytest
from memory_bucket import KEYS, Desk, Objects

from agentm_bucket import azure_signing, client as client_module
from agentm_bucket.backend import BucketBackend
from agentm_bucket.client import Client, Version
from agentm_bucket.credentials import Credentials
from agentm_bucket.doctor import agentm_doctor_checks
from agentm_bucket.events import agentm_event
from agentm_bucket.failures import Failure, RequestFailed
from agentm_bucket.history import FIELD, History
from agentm_bucket.place import Place, Timing
from agentm_bucket.providers import open_mastra_azure, open_self_bucket
from agentm_devkit.conformance.memory import MemoryBackend
from agentm_kernel import Locator
from agentm_kernel.errors import ConcurrentModificationError, InvalidContentError, StorageSelectionError
from agentm_kernel.plugin import ABSENT, Device, HookContext, Opening, ProviderContext, SyncRules, content_hash

if TYPE_CHECKING:
    from pathlib import Path

PLACE = Place("s3", "notes", "team", "https://s3.example.org")
WAITING = Timing(40.0, 2.0)


@pytest.fixture
def client() -> Client:
    return Client(PLACE, Credentials("s3", {}, KEYS), WAITING)


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """The requests that the library is asked for; every answer is the same."""
    requests: list[tuple[Any, ...]] = []

    def put(store: object, path: str, data: bytes, **given: object) -> dict[str, object]:
        requests.append(("put", path, data, given))
        return {"e_tag": '"2"', "version": None}

    monkeypatch.setattr(obstore, "put", put)
    return requests


# ------------------------------------------------------------------------------------------------ writing


def test_a_put_names_what_it_replaces_and_tells_who_wrote(client: Client, sent: list[tuple[Any, ...]]) -> None:
    history = History(("a.1",))
    done = client.put("team/a.md", b"one\n", None, history, client.deadline())
    client.put("team/a.md", b"two\n", Version('"1"', None, history), history, client.deadline())
    client.put("team/a.md", b"three\n", Version(None, "7", history), history, client.deadline())
    assert done == Version('"2"', None, history)
    assert [request[3]["mode"] for request in sent] == ["create", {"e_tag": '"1"'}, {"version": "7"}]
    assert sent[0][3]["attributes"] == {"Content-Type": "text/markdown; charset=utf-8", FIELD: "a.1"}
    assert {request[3]["use_multipart"] for request in sent} == {False}


def test_nothing_is_sent_that_could_not_be_answered_in_time(client: Client, sent: list[tuple[Any, ...]]) -> None:
    late = client_module.Deadline(Timing(0.0, 0.0))
    late._attempt = 1.0
    for step in (
        lambda: client.put("a", b"", None, History(), late),
        lambda: client.delete("a", late),
        lambda: client.delete_on_condition("a", Version('"1"', None, History()), late),
    ):
        with pytest.raises(RequestFailed) as caught:
            step()
        assert caught.value.failure is Failure.LATE
    assert sent == []


@pytest.mark.parametrize(
    ("status", "failure"),
    [(200, None), (202, None), (204, None), (201, Failure.FATAL), (412, Failure.REFUSED), (None, Failure.UNCLEAR)],
)
def test_a_deletion_is_sent_signed_for_a_while_and_names_the_version(
    client: Client, monkeypatch: pytest.MonkeyPatch, status: int | None, failure: Failure | None
) -> None:
    asked: list[tuple[str, dict[str, str], float]] = []
    monkeypatch.setattr(client_module, "_send_delete", lambda *given: (asked.append(given), status)[1])
    version = Version('"1"', None, History())
    if failure is None:
        client.delete_on_condition("team/a b.md", version, client.deadline())
    else:
        with pytest.raises(RequestFailed) as caught:
            client.delete_on_condition("team/a b.md", version, client.deadline())
        assert caught.value.failure is failure
    ((url, headers, seconds),) = asked
    parts = urlsplit(url)
    assert (parts.netloc, parts.path) == ("s3.example.org", "/notes/team/a%20b.md")
    assert parse_qs(parts.query)["X-Amz-Expires"] == ["900"]
    assert (headers, seconds) == ({"If-Match": '"1"'}, 2.0)


def test_the_signature_of_a_blobs_deletion_is_over_the_sixteen_lines_that_azure_wants(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Now(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Now:
            return cls(2026, 1, 2, 3, 4, 5, tzinfo=UTC)

    monkeypatch.setattr(azure_signing, "datetime", Now)
    place = Place("azure", "notes", account="acme")
    query = azure_signing.deletion_query(place, "a b/ü.md", "a2V5", timedelta(minutes=15))
    until = "2026-01-02T03:19:05Z"
    lines = [
        "d",
        "",
        until,
        "/blob/acme/notes/a b/ü.md",
        "",
        "",
        "https",
        "2020-12-06",
        "b",
        "",
        "",
        "",
        "",
        "",
        "",
        "",
    ]
    signature = hmac.digest(b"key", "\n".join(lines).encode(), hashlib.sha256)
    assert parse_qs(query)["sig"] == [base64.b64encode(signature).decode()]
    assert parse_qs(query)["se"] == [until]


# ------------------------------------------------------------------------------------------------ reading


def test_what_only_reads_is_asked_again_while_there_is_time(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    answers: list[Exception | str] = [OSError("status: 503"), OSError("status: 503"), "here"]

    def answer() -> str:
        found = answers.pop(0)
        if isinstance(found, Exception):
            raise found
        return found

    deadline = client.deadline()
    pauses = iter([True, True])
    monkeypatch.setattr(deadline, "pause", lambda: next(pauses))
    assert client._repeat(answer, deadline) == "here"
    answers += [OSError("status: 503"), "never"]
    monkeypatch.setattr(deadline, "pause", lambda: False)
    with pytest.raises(RequestFailed):
        client._repeat(answer, deadline)
    answers[:] = [FileNotFoundError("gone"), "never"]
    monkeypatch.setattr(deadline, "pause", lambda: pytest.fail("absence is an answer"))
    with pytest.raises(RequestFailed) as caught:
        client._repeat(answer, deadline)
    assert caught.value.failure is Failure.MISSING


def test_nothing_is_asked_that_could_not_be_answered_in_time(client: Client) -> None:
    late = client_module.Deadline(Timing(0.0, 0.0))
    late._attempt = 1.0
    with pytest.raises(RequestFailed) as caught:
        client._repeat(lambda: pytest.fail("it was asked"), late)
    assert caught.value.failure is Failure.LATE


def test_why_there_were_no_keys_is_said_instead_of_what_the_library_makes_of_it(client: Client) -> None:
    client._credentials.problem = StorageSelectionError("the key is empty")

    def refused() -> None:
        raise OSError("no credentials")

    with pytest.raises(StorageSelectionError, match="the key is empty"):
        client._once(refused)


# ------------------------------------------------------------------------------------------------ stores


def test_the_copy_of_a_place_has_a_readable_name_of_its_own(tmp_path: Path) -> None:
    def folder(place: Place) -> str:
        store = BucketBackend(place, WAITING, Credentials("s3", {}, KEYS), Opening(state_dir=str(tmp_path)))
        return str(store.device_path(Locator())).removeprefix(f"{tmp_path}/bucket/").partition("/")[0]

    name = folder(PLACE)
    assert name.startswith("notes-team-s3-example-org-")
    assert len(name.removeprefix("notes-team-s3-example-org-")) == 8
    long = Place("s3", "notes", "p" * 200, "https://s3.example.org")
    assert len(folder(long)) == 100 + 1 + 8
    assert len({folder(PLACE), folder(long), folder(Place("s3", "notes", "p" * 201, "https://s3.example.org"))}) == 3


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> BucketBackend:
    """A bucket in memory."""
    monkeypatch.setattr("agentm_bucket.client.Client", Objects().client)
    place = Place("s3", "notes", "team", "https://s3.example.org")
    return BucketBackend(place, WAITING, Credentials("s3", {}, KEYS), Opening(state_dir=str(tmp_path)), size_limit=10)


def test_a_condition_of_the_caller_is_the_servers_to_judge(store: BucketBackend) -> None:
    note = Locator("notes/a.md")
    store.write(note, "one\n", if_match=ABSENT)
    for condition in (ABSENT, content_hash("two\n")):
        with pytest.raises(ConcurrentModificationError):
            store.write(note, "three\n", if_match=condition)
    with pytest.raises(ConcurrentModificationError):
        store.delete(note, if_match=content_hash("two\n"))
    assert store.read(note) == "one\n"
    store.write(note, "two\n", if_match=content_hash("one\n"))
    store.delete(note, if_match=content_hash("two\n"))
    assert not store.exists(note)


def test_a_bucket_has_the_verbs_of_every_store_and_its_own_limit(store: BucketBackend) -> None:
    store.mkdir(Locator("empty"))
    store.write(Locator("notes/a.md"), "one\n")
    assert [str(child) for child in store.list(Locator())] == ["empty", "notes"]
    assert [info.locator.key for info in store.walk(Locator())] == ["empty", "notes", "notes/a.md"]
    folder = store.info(Locator("notes"))
    assert (folder.is_dir, folder.size, folder.mtime, store.info(Locator("notes/a.md")).size) == (True, 0, 0.0, 4)
    assert [*store.foreign_entries(Locator())] == []
    assert (store.capabilities.concurrent_writers, store.capabilities.sync, store.capabilities.delete) == (True,) * 3
    assert store.describe() == "s3://notes/team at https://s3.example.org"
    with pytest.raises(InvalidContentError):
        store.write(Locator("notes/b.md"), "more than ten bytes\n")


@pytest.mark.parametrize(
    ("kind", "shortcut", "is_asked"), [("vault", None, False), ("vault", "x", True), ("policy", None, True)]
)
def test_an_event_opens_only_a_store_that_may_be_a_bucket(
    tmp_path: Path, kind: str, shortcut: str | None, is_asked: bool
) -> None:
    asked: list[bool] = []

    def opened(*, read_only: bool) -> MemoryBackend:
        asked.append(read_only)
        return MemoryBackend()

    device: Any = SimpleNamespace(config=SimpleNamespace(storage_backend=kind, shortcut=shortcut), store=opened)
    assert agentm_event("turn-end", HookContext(device, str(tmp_path))) is None
    assert asked == ([False] if is_asked else [])


@pytest.fixture
def context(tmp_path: Path) -> ProviderContext:
    device, opening = Device({"HOME": str(tmp_path)}), Opening(state_dir=str(tmp_path / "state"))
    return ProviderContext(device, opening, "STORAGE.md", SyncRules("canonical"), lambda _: False)


@pytest.mark.parametrize(
    ("config", "account"),
    [
        ({"accountName": "acme"}, "acme"),
        ({"account_name": "acme"}, "acme"),
        ({"accountName": "acme", "endpoint": "https://other.blob.core.windows.net"}, "acme"),
        ({"endpoint": "https://other.blob.core.windows.net"}, "other"),
        ({"endpoint": "https://host.example.org/emulated"}, "emulated"),
    ],
)
def test_an_azure_account_is_named_or_told_by_the_endpoint(
    context: ProviderContext, config: dict[str, str], account: str
) -> None:
    assert open_mastra_azure({"container": "notes", **config}, {}, context).place.account == account
    if "endpoint" in config and len(config) == 1:
        given = {"kind": "azure", "bucket": "notes", **config}
        assert open_self_bucket(given, {}, context).place.account == account


# ------------------------------------------------------------------------------------------------ ages


def test_the_age_of_the_copy_is_said_in_minutes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    objects = Objects()
    monkeypatch.setattr("agentm_bucket.client.Client", objects.client)
    desk = Desk(tmp_path / "one")
    desk.done("bucket", "init", "notes", "--use")
    objects.trouble = RequestFailed(Failure.FATAL, "no network")
    for age, said in ((6000.0, "is 100 min old"), (None, "was never up to date")):
        monkeypatch.setattr(BucketBackend, "copy_age", lambda _, age=age: age)
        assert f"; the copy on this device {said} and keeps" in (desk.event("turn-end") or "")
    monkeypatch.setattr(BucketBackend, "copy_age", lambda _: 6000.0)
    rows = agentm_doctor_checks(HookContext(desk.device, str(desk.home), store=desk.store())) or ()
    assert {row.check: row.message for row in rows}["bucket copy"] == "100 min old"


def test_a_list_with_the_same_writers_reaches_back_to_its_base() -> None:
    assert History(("a.2",)).reaches_back_to(History(("a.1",)))
