"""Where a bucket is, with which keys, how long it may take, and what a person is told of it: without any server."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from urllib.parse import parse_qs

import pytest

from agentm_bucket import doctor, page, reach
from agentm_bucket.azure_signing import address, deletion_query
from agentm_bucket.backend import BucketBackend
from agentm_bucket.client import Client, Version, _entry, _nowhere_else
from agentm_bucket.credentials import Credentials, variables_among
from agentm_bucket.failures import Failure, RequestFailed, answered, failed
from agentm_bucket.history import History
from agentm_bucket.place import Place, Timing, parse_options
from agentm_bucket.waiting import Deadline, within
from agentm_bucket.writing import write
from agentm_devkit.conformance.memory import MemoryBackend
from agentm_kernel import Locator
from agentm_kernel.errors import InvalidContentError, StorageIOError, StorageSelectionError
from agentm_kernel.plugin import HookContext, Opening

# ------------------------------------------------------------------------------------------------ places


@pytest.mark.parametrize(
    ("given", "endpoint"),
    [
        ({"kind": "s3"}, "https://s3.us-east-1.amazonaws.com"),
        ({"kind": "s3", "region": "eu-west-3"}, "https://s3.eu-west-3.amazonaws.com"),
        ({"kind": "azure", "account": "acme"}, "https://acme.blob.core.windows.net"),
        ({"kind": "gcs"}, "https://storage.googleapis.com"),
        ({"kind": "s3", "endpoint": "https://s3.example.org/"}, "https://s3.example.org"),
    ],
)
def test_a_bucket_is_at_its_vendors_unless_an_endpoint_is_named(given, endpoint):
    assert Place(bucket="notes", **given).endpoint == endpoint


def test_a_place_is_described_by_all_that_makes_it():
    assert str(Place("s3", "notes", "/team/a/", "https://x.org")) == "s3://notes/team/a at https://x.org"
    assert str(Place("azure", "notes", account="acme")) == "az://notes at https://acme.blob.core.windows.net"
    assert str(Place("gcs", "notes")) == "gs://notes at https://storage.googleapis.com"


@pytest.mark.parametrize("prefix", ["", "team", "team/a"])
def test_a_key_and_its_object_lead_to_each_other(prefix):
    place = Place("s3", "notes", prefix)

    assert place.key(place.path("plans/a.md")) == "plans/a.md"
    assert place.path("") == prefix


@pytest.mark.parametrize("prefix", ["a//b", "a/../b", "./a", "a/.", "be\x07ll"])
def test_a_prefix_that_is_no_folder_is_refused(prefix):
    with pytest.raises(StorageSelectionError, match="is no folder in a bucket"):
        Place("s3", "notes", prefix)


def test_only_google_cannot_delete_on_a_condition():
    kinds = {"s3": "", "azure": "acme", "gcs": ""}

    assert [kind for kind, account in kinds.items() if Place(kind, "b", account=account).can_delete_on_condition] == [
        "s3",
        "azure",
    ]


@pytest.mark.parametrize(("number", "is_good"), [(1, True), ("2.5", True), (0, False), (-1, False), ("x", False)])
def test_a_time_is_a_positive_number(number, is_good):
    options = {"bucket": "b", "deadline": number}
    if is_good:
        assert parse_options(options)[1].deadline == float(number)
    else:
        with pytest.raises(StorageSelectionError, match="must be a positive number"):
            parse_options(options)


def test_four_attempts_fit_into_a_deadline():
    assert (Timing().deadline, Timing().attempt) == (30.0, 7.5)
    assert (Timing(40, 8).attempt, Timing(8, 8).attempt) == (8, 2)


@pytest.mark.parametrize(
    ("endpoint", "allowed", "is_good"),
    [
        ("http://127.0.0.1:9000", None, True),
        ("http://[::1]:9000", None, True),
        ("http://localhost", None, True),
        ("http://s3.example.org", None, False),
        ("http://s3.example.org", False, False),
        ("http://s3.example.org", True, True),
        ("http://s3.example.org", "true", True),
    ],
)
def test_notes_go_in_the_clear_only_on_this_machine_or_where_that_is_allowed(endpoint, allowed, is_good):
    options = {"bucket": "b", "endpoint": endpoint, **({} if allowed is None else {"allow_http": allowed})}
    if is_good:
        assert parse_options(options)[0].is_plain_http
    else:
        with pytest.raises(StorageSelectionError, match="in the clear"):
            parse_options(options)


# ------------------------------------------------------------------------------------------------ keys


S3 = {"AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "secret"}


def given(kind, values):
    return Credentials(kind, {}, values).for_client()["credential_provider"]()


def test_a_session_token_goes_along_where_there_is_one():
    assert given("s3", S3) == {
        "access_key_id": "id",
        "secret_access_key": "secret",
        "token": None,
        "expires_at": None,
    }
    assert given("s3", {**S3, "AWS_SESSION_TOKEN": "session"})["token"] == "session"


def test_azure_takes_the_key_of_the_account_before_a_signature():
    signature = {"AZURE_STORAGE_SAS_TOKEN": "?sv=1&sig=x"}

    assert given("azure", signature) == {"sas_token": "sv=1&sig=x", "expires_at": None}
    assert given("azure", {**signature, "AZURE_STORAGE_ACCOUNT_KEY": "key"})["access_key"] == "key"


@pytest.mark.parametrize("secret", ["", "two\nlines", "ключ"])
def test_a_key_that_cannot_be_one_is_named_and_kept_for_whoever_asks_why(secret):
    credentials = Credentials("s3", {}, {**S3, "AWS_SECRET_ACCESS_KEY": secret})
    provide = credentials.for_client()["credential_provider"]

    with pytest.raises(StorageSelectionError, match=r"\$AWS_SECRET_ACCESS_KEY is empty, or holds"):
        provide()
    assert "AWS_SECRET_ACCESS_KEY" in credentials.problem.message
    credentials._values["AWS_SECRET_ACCESS_KEY"] = "good"
    provide()
    assert credentials.problem is None


def test_variables_of_a_policy_are_told_by_their_whole_name_first():
    assert variables_among("s3", ["TEAM_ACCESS_KEY_ID", "AWS_ACCESS_KEY_ID", "X"])["access_key_env"] == (
        "AWS_ACCESS_KEY_ID"
    )
    assert variables_among("s3", ["TEAM_ACCESS_KEY_ID"]) == {"access_key_env": "TEAM_ACCESS_KEY_ID"}


@pytest.mark.parametrize(("endpoint", "protocols"), [("", "https"), ("http://127.0.0.1:1/acme", "https,http")])
def test_an_address_to_delete_a_blob_is_for_that_blob_that_verb_and_a_while(endpoint, protocols):
    place = Place("azure", "notes", endpoint=endpoint, account="acme")
    query = deletion_query(place, "a b/ü.md", "a2V5", timedelta(minutes=15))
    other = deletion_query(place, "a b/v.md", "a2V5", timedelta(minutes=15))
    fields = {name: value for name, (value,) in parse_qs(query).items()}
    until = datetime.strptime(fields["se"], "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)

    assert (fields["sp"], fields["sr"], fields["spr"], fields["sv"]) == ("d", "b", protocols, "2020-12-06")
    assert timedelta(minutes=14) < until - datetime.now(UTC) <= timedelta(minutes=15)
    assert fields["sig"] != parse_qs(other)["sig"][0]
    assert address(place, "a b/ü.md", query) == f"{place.endpoint}/notes/a%20b/%C3%BC.md?{query}"


@pytest.mark.parametrize(
    ("values", "part"),
    [
        ({"AZURE_STORAGE_SAS_TOKEN": "?sv=1&sig=mine"}, "?sv=1&sig=mine"),
        ({"AZURE_STORAGE_ACCOUNT_KEY": "a2V5"}, "sp=d"),
    ],
)
def test_a_deletion_is_signed_by_what_there_is(values, part):
    client = object.__new__(Client)
    client.place, client._credentials = Place("azure", "notes", account="acme"), Credentials("azure", {}, values)

    assert part in client._deletion_address("a.md")


# ------------------------------------------------------------------------------------------------ the client


@pytest.mark.parametrize(
    ("kind", "excludes"), [("s3", "s3.example.org"), ("gcs", "s3.example.org,oauth2.googleapis.com")]
)
def test_the_client_talks_with_the_endpoint_and_with_nobody_else(monkeypatch, kind, excludes):
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    place = Place(kind, "b", endpoint="https://s3.example.org:9000")

    assert _nowhere_else(place) == {"proxy_url": "http://127.0.0.1:0", "proxy_excludes": excludes}
    monkeypatch.setenv("https_proxy", "http://proxy.example.org")
    assert _nowhere_else(place) == {}
    monkeypatch.setenv("no_proxy", "s3.example.org")
    assert _nowhere_else(place)["proxy_excludes"] == excludes
    monkeypatch.delenv("https_proxy")
    monkeypatch.delenv("no_proxy")
    monkeypatch.setenv("all_proxy", "http://proxy.example.org")
    assert _nowhere_else(place) == {}


@pytest.mark.parametrize(
    ("etag", "generation", "token"),
    [('"a"', None, "a"), ('W/"a"', "7", "a"), (None, "7", "7"), (None, None, ""), ('"a"', "7", "a")],
)
def test_an_object_is_told_from_its_other_versions_by_what_the_server_names(etag, generation, token):
    moment = datetime.fromtimestamp(1_000_000.75, UTC)
    meta = {"path": "a.md", "size": 3, "e_tag": etag, "version": generation, "last_modified": moment}

    assert _entry(meta) == ("a.md", 3, 1_000_000.0, token)
    named = {"e_tag": etag, "version": generation}
    assert Version(etag, generation, History()).condition == {name: value for name, value in named.items() if value}


@pytest.mark.parametrize(
    ("status", "failure"),
    [
        (None, Failure.UNCLEAR),
        (404, Failure.MISSING),
        (412, Failure.REFUSED),
        *((status, Failure.UNCLEAR) for status in (408, 409, 425, 429, 500, 502, 503, 504)),
        *((status, Failure.FATAL) for status in (301, 302, 303, 307, 308, 400, 405, 501)),
    ],
)
def test_a_status_means_one_thing(status, failure):
    assert answered(status).failure is failure


@pytest.mark.parametrize(
    ("error", "failure", "said"),
    [
        (FileNotFoundError("status code: 404"), Failure.MISSING, "no such object"),
        (FileNotFoundError("NoSuchBucket"), Failure.FATAL, "no such bucket"),
        (PermissionError("x"), Failure.FATAL, "refused the credentials"),
        (OSError("status: 403"), Failure.FATAL, "refused the credentials"),
        (OSError("status: 401"), Failure.FATAL, "refused the credentials"),
        (OSError("status code: 503"), Failure.UNCLEAR, "status 503"),
        (OSError("nothing known"), Failure.UNCLEAR, "cannot be reached"),
        (OSError("InvalidCertificate(Expired)"), Failure.FATAL, "it has expired"),
        (OSError("InvalidCertificate(Other)"), Failure.FATAL, "not one for a server"),
        (OSError("InvalidContentType"), Failure.FATAL, "does not speak TLS"),
        (OSError("MissingEtag"), Failure.FATAL, "sends no ETags"),
        (OSError("connect to 127.0.0.1:0, refused"), Failure.FATAL, "redirects to another address"),
        (OSError("connect to 127.0.0.1:0123"), Failure.UNCLEAR, "cannot be reached"),
    ],
)
def test_what_the_library_says_is_understood_and_not_repeated(error, failure, said):
    found = failed(error)

    assert found.failure is failure
    assert said in found.said


# ------------------------------------------------------------------------------------------------ waiting


def test_a_request_is_begun_only_if_it_can_end_in_time(monkeypatch):
    now, slept = [100.0], []
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(time, "sleep", slept.append)
    monkeypatch.setattr("random.uniform", lambda low, high: high)
    deadline = Deadline(Timing(8, 2))

    assert deadline.left == 8
    for _ in range(8):
        assert deadline.pause()
    assert slept == [0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 2.0, 2.0]
    now[0] = 106.0
    deadline.check()
    assert not deadline.pause()
    now[0] = 106.1
    with pytest.raises(RequestFailed) as caught:
        deadline.check()
    assert caught.value.failure is Failure.LATE


def test_what_takes_too_long_counts_as_lost_and_what_fails_fails():
    assert within(5, lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        within(5, lambda: 1 // 0)
    with pytest.raises(RequestFailed) as caught:
        within(0.01, lambda: time.sleep(0.2))
    assert caught.value.failure is Failure.UNCLEAR


@pytest.mark.parametrize(
    ("answer", "is_reached"),
    [(None, True), (Failure.MISSING, True), (Failure.UNCLEAR, False), (Failure.FATAL, False)],
)
def test_a_bucket_without_a_store_answers_too(monkeypatch, answer, is_reached):
    asked = []

    class Once:
        def __init__(self, place, credentials, timing):
            asked.append((timing.deadline, timing.attempt))

        def head_once(self, path):
            asked.append(path)
            if answer is not None:
                raise RequestFailed(answer, "no")

    monkeypatch.setattr(reach, "Client", Once)
    place = Place("s3", "b", "team")
    if is_reached:
        reach.check_reachable(place, None, 10.0)
    else:
        with pytest.raises(StorageIOError, match="looking for the store in s3://b/team"):
            reach.check_reachable(place, None, 10.0)
    assert asked == [(40.0, 10.0), "team/_meta/store.json"]  # one attempt fills the time


# ------------------------------------------------------------------------------------------------ doctor and the page


class Selected(BucketBackend):
    """A bucket whose answers a test gives."""

    def __init__(self, *, age=60.0, kept=(), keys=None, reached=None):
        self._given = SimpleNamespace(age=age, kept=kept, keys=keys, reached=reached)

    def facet(self, kind):
        return self if isinstance(self, kind) else None

    def check_usable(self, *, read_only):
        assert not read_only
        if self._given.keys:
            raise self._given.keys

    def copy_age(self):
        return self._given.age

    def conflict_copies(self, locator):
        return self._given.kept

    def check_reachable(self, seconds):
        if self._given.reached:
            raise self._given.reached

    def describe(self):
        return "s3://b"


def context(store):
    return HookContext(SimpleNamespace(), "/", store=store)


def rows(**answers):
    return {row.check: row for row in doctor.agentm_doctor_checks(context(Selected(**answers)))}


def test_only_a_bucket_has_something_to_say():
    for store in (None, MemoryBackend()):
        assert doctor.agentm_doctor_checks(context(store)) is None
        assert page.agentm_page_panels(context(store)) is None


def test_a_bucket_that_is_well_is_all_right():
    found = rows()

    assert {row.status for row in found.values()} == {"ok"}
    assert found["bucket copy"].message == "1 min old"


@pytest.mark.parametrize(("age", "status"), [(24 * 3600.0, "ok"), (24 * 3600.0 + 1, "warn"), (None, "warn")])
def test_a_copy_of_more_than_a_day_is_warned_about(age, status):
    assert rows(age=age)["bucket copy"].status == status


def test_keys_that_are_missing_and_versions_that_lost_are_named():
    kept = [SimpleNamespace(note=Locator(key), copy=Locator("x.md")) for key in ("b.md", "a.md", "a.md")]
    found = rows(keys=StorageSelectionError("no keys", hint="export them"), kept=kept)

    assert (found["bucket keys"].status, found["bucket keys"].hint) == ("fail", "export them")
    assert found["bucket conflicts"].status == "warn"
    assert found["bucket conflicts"].message == "kept versions of a.md, b.md: 3"


@pytest.mark.parametrize("error", [None, StorageIOError("it is down", hint="look")])
def test_the_page_says_first_whether_the_bucket_answers(error):
    (panel,) = page.agentm_page_panels(context(Selected(reached=error)))
    (block,) = panel.show({})
    first, *others = block["rows"]

    assert (panel.place, first["label"]) == ("more", "bucket")
    assert (first["status"], first["text"]) == (("ok", "s3://b answers") if error is None else ("fail", "it is down"))
    assert [row["label"] for row in others] == ["bucket keys", "bucket copy", "bucket conflicts"]


# ------------------------------------------------------------------------------------------------ opening


def test_what_the_options_say_reaches_the_client(tmp_path, monkeypatch):
    """The size of a note, where the bucket is, and that a PUT with a condition is sent as one."""
    made = []
    monkeypatch.setattr(
        "obstore.store.S3Store", lambda bucket, **how: made.append((bucket, how)) or SimpleNamespace()
    )
    options = {"bucket": "notes", "endpoint": "https://s3.example.org", "size_limit": 10, "region": "eu-west-3"}
    store = BucketBackend.create(options, SimpleNamespace(environ=S3), Opening(state_dir=str(tmp_path)))

    with pytest.raises(InvalidContentError):
        write(store.inner._verbs, Locator("a.md"), "x" * 11, None, None)

    ((bucket, how),) = made
    assert (bucket, how["endpoint"], how["region"]) == ("notes", "https://s3.example.org", "eu-west-3")
    assert (how["conditional_put"], how["virtual_hosted_style_request"]) == ("etag", False)
    assert how["retry_config"]["max_retries"] == 0
    assert how["client_options"]["timeout"] == timedelta(seconds=7.5)
    assert how["client_options"]["allow_http"] is False
