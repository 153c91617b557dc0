"""What an option may say, and what a failure of a request says."""

from __future__ import annotations

import hashlib
import random
import time
from typing import Any

import pytest

from agentm_bucket.credentials import Credentials
from agentm_bucket.failures import Failure, RequestFailed, answered, io_error
from agentm_bucket.options import OPTIONS
from agentm_bucket.place import Place, Timing, parse_options
from agentm_bucket.waiting import Deadline
from agentm_kernel.errors import StorageSelectionError
from agentm_kernel.plugin import MAX_CONTENT_BYTES

# ------------------------------------------------------------------------------------------------ options


@pytest.mark.parametrize(
    "endpoint",
    [
        "https://s3.example.org:65535",
        "http://127.0.0.1:9000",
        "https://[fe80::1]:9000",
        "https://host/path",
        "https://h:0",
    ],
)
def test_the_address_of_a_server_is_taken(endpoint: str) -> None:
    assert Place("s3", "b", endpoint=endpoint).endpoint == endpoint


@pytest.mark.parametrize(
    "endpoint",
    ["https://s3.example.org:65536", "https://:9000", "https://h:x", "https://h:\u0663", "https://hö.org", "ftp://h",
     "https://", "https://h/a b", "https://h/?a", "https://h/#a", "https://h/\x07", "h.example.org"],
)  # fmt: skip
def test_what_is_no_address_of_a_server_is_refused(endpoint: str) -> None:
    with pytest.raises(StorageSelectionError, match="which is not the address of a server"):
        Place("s3", "b", endpoint=endpoint)


def test_a_password_in_an_address_is_refused_and_not_repeated() -> None:
    with pytest.raises(StorageSelectionError, match="holds a name or a password") as caught:
        Place("s3", "b", endpoint="https://ana:s3cret@h.example.org")
    assert "s3cret" not in f"{caught.value} {caught.value.hint}"


@pytest.mark.parametrize("option", ["bucket", "region", "account"])
@pytest.mark.parametrize("name", ["a b", "ä", "a?b", "..", "."])
def test_a_name_that_no_server_knows_is_refused_with_its_option(option: str, name: str) -> None:
    given = {"bucket": "b", "account": "acme", option: name}
    with pytest.raises(StorageSelectionError, match=f"plugins.bucket.{option} is .* which no {option} is called"):
        Place("azure", **given)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "names no bucket"),
        ({"bucket": ""}, "names no bucket"),
        ({"bucket": "a/b"}, "'a/b' names no bucket: it has a slash"),
        ({"bucket": "b", "kind": "ftp"}, "plugins.bucket.kind is 'ftp'"),
        ({"bucket": "b", "kind": "azure"}, "needs the name of its storage account"),
        ({"bucket": 3}, "plugins.bucket.bucket must be text, not int"),
        ({"bucket": "b", "size_limit": "inf"}, "plugins.bucket.size_limit must be a positive number"),
        ({"bucket": "b", "attempt": float("nan")}, "plugins.bucket.attempt must be a positive number"),
        ({"bucket": "b", "deadline": []}, "plugins.bucket.deadline must be a positive number"),
        ({"bucket": "b", "access_key_env": 3}, "plugins.bucket.access_key_env must be text"),
    ],
)
def test_a_wrong_option_is_named(options: dict[str, Any], said: str) -> None:
    with pytest.raises(StorageSelectionError, match=said):
        parse_options(options)


def test_an_empty_option_is_as_good_as_none() -> None:
    empty = {
        option.name: "" for option in OPTIONS if option.name in ("kind", "prefix", "endpoint", "region", "account")
    }
    assert parse_options({"bucket": "b", **empty}) == parse_options({"bucket": "b"})
    place, timing, size_limit, names = parse_options({"bucket": "b"})
    assert (place, size_limit, names) == (Place("s3", "b"), MAX_CONTENT_BYTES, {})
    assert (timing.deadline, timing.attempt) == (30.0, 7.5)


def test_options_reach_place_timing_limit_and_keys() -> None:
    given = {"bucket": "b", "attempt": "0.5", "deadline": 10, "size_limit": "100", "access_key_env": "MINE"}
    _, timing, size_limit, names = parse_options(given)
    assert (timing.attempt, timing.deadline, size_limit, names) == (0.5, 10.0, 100, {"access_key_env": "MINE"})


def test_a_scratch_place_is_below_the_prefix_and_another_for_another_text() -> None:
    digest = hashlib.sha256(b"one").hexdigest()[:12]
    assert parse_options({"bucket": "b", "prefix": "t", "scratch": "one"})[0].prefix == f"t/agentm-{digest}"
    assert parse_options({"bucket": "b", "scratch": "one"})[0].prefix == f"agentm-{digest}"
    assert parse_options({"bucket": "b", "scratch": "two"})[0].prefix != f"agentm-{digest}"


# ------------------------------------------------------------------------------------------------ keys


def test_advice_names_every_variable_and_the_form_of_googles() -> None:
    assert (
        Credentials("azure", {"sas_token_env": "MINE"}, {}).advice == "look at $AZURE_STORAGE_ACCOUNT_KEY and $MINE"
    )
    advice = Credentials("gcs", {}, {}).advice
    assert advice == "look at $GOOGLE_SERVICE_ACCOUNT_KEY: the whole JSON of a service account's key"


@pytest.mark.parametrize(
    ("kind", "wanted"),
    [
        ("s3", "$AWS_ACCESS_KEY_ID and $AWS_SECRET_ACCESS_KEY must be set"),
        ("azure", "$AZURE_STORAGE_ACCOUNT_KEY or $AZURE_STORAGE_SAS_TOKEN must be set"),
        ("gcs", "$GOOGLE_SERVICE_ACCOUNT_KEY must be set"),
    ],
)
def test_what_is_missing_is_named(kind: str, wanted: str) -> None:
    with pytest.raises(StorageSelectionError) as caught:
        Credentials(kind, {}, {"AWS_ACCESS_KEY_ID": "id"}).check_present()
    assert caught.value.message.endswith(wanted)


# ------------------------------------------------------------------------------------------------ failures


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed_and_not_tried_again(status: int) -> None:
    found = answered(status)
    assert (found.failure, str(found)) == (
        Failure.FATAL,
        "the server redirects to another address, which is not followed",
    )
    assert "region" in (found.hint or "")


@pytest.mark.parametrize("status", [300, 304, 309, 400, 404, 407, 410, 412, 424, 428, 501, 505])
def test_no_other_answer_is_taken_for_a_redirect_or_for_none(status: int) -> None:
    found = answered(status)
    assert "redirects" not in found.said
    assert found.failure is not Failure.UNCLEAR


def test_an_error_says_what_failed_where_and_what_to_do() -> None:
    place = Place("s3", "b", endpoint="https://h")
    plain = io_error("reading 'a'", place, RequestFailed(Failure.UNCLEAR, "no answer"), note="; so what")
    assert plain.message == "reading 'a' in s3://b at https://h failed: no answer; so what"
    assert (plain.hint or "").startswith("check the network and the server")
    assert io_error("x", place, RequestFailed(Failure.FATAL, "no", "do this")).hint == "do this"


# ------------------------------------------------------------------------------------------------ pauses


def test_pauses_grow_up_to_a_longest_one_and_are_never_in_step(monkeypatch: pytest.MonkeyPatch) -> None:
    bounds: list[tuple[float, float]] = []
    slept: list[float] = []

    def uniform(low: float, high: float) -> float:
        bounds.append((low, high))
        return high

    monkeypatch.setattr(random, "uniform", uniform)
    monkeypatch.setattr(time, "sleep", slept.append)
    monkeypatch.setattr(time, "monotonic", lambda: sum(slept))
    deadline = Deadline(Timing(10.0, 1.0))
    while deadline.pause():
        pass
    assert bounds == [(0, pause) for pause in (0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 2.0, 2.0, 2.0)]
    assert slept == [pause for _, pause in bounds[:-1]]
    assert deadline.left == pytest.approx(10.0 - sum(slept))
