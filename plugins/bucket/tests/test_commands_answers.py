"""What the commands of a bucket answer, word for word and field for field, on objects in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from memory_bucket import Desk, Objects

from agentm_bucket.client import Version
from agentm_bucket.failures import Failure, RequestFailed
from agentm_bucket.history import History
from agentm_kernel import Locator

if TYPE_CHECKING:
    from pathlib import Path

PLAN = Locator("projects/widgets/_harness/PLAN.md")
PLACE = "s3://notes/team at https://s3.us-east-1.amazonaws.com"


@pytest.fixture
def objects(monkeypatch: pytest.MonkeyPatch) -> Objects:
    made = Objects()
    monkeypatch.setattr("agentm_bucket.client.Client", made.client)
    return made


@pytest.fixture
def desk(tmp_path: Path, objects: Objects) -> Desk:
    made = Desk(tmp_path / "one")
    made.done("bucket", "init", "notes", "--prefix", "team", "--use")
    return made


@pytest.fixture
def other(tmp_path: Path, desk: Desk) -> Desk:
    made = Desk(tmp_path / "two")
    made.done("bucket", "init", "notes", "--prefix", "team", "--use")
    return made


def both_change_the_plan(one: Desk, other: Desk) -> str:
    """The version that lost."""
    one.store().write(PLAN, "begin\n")
    other.done("bucket", "sync")
    for desk, text in ((one, "of one\n"), (other, "of two\n")):
        desk.copy(PLAN).write_text(text)
    one.done("bucket", "sync")
    (kept,) = other.answer("bucket", "sync")["conflicts"]
    return str(kept)


# ------------------------------------------------------------------------------------------------ init


def test_the_first_device_makes_the_store_and_the_second_joins_it(tmp_path: Path, objects: Objects) -> None:
    one, two = Desk(tmp_path / "one"), Desk(tmp_path / "two")
    made = one.done("bucket", "init", "notes", "--use")
    assert made.startswith("made the store ")
    assert " at s3://notes at https://s3.us-east-1.amazonaws.com\n" in made
    assert made.endswith("this device uses it now\n")
    assert two.done("bucket", "init", "notes", "--use") == made.replace("made", "joined", 1)
    assert "run the same command again with --use" in Desk(tmp_path / "three").done("bucket", "init", "notes")


def test_init_selects_what_was_given_and_nothing_of_the_place_before(desk: Desk) -> None:
    desk.done("config", "set", "plugins.bucket.deadline", "7")
    desk.done("bucket", "init", "more", "--region", "eu-west-3", "--use")
    kept = {name: value for name, value in desk.device.config.options("bucket").items() if value}
    assert kept == {"kind": "s3", "bucket": "more", "region": "eu-west-3", "deadline": 7}
    assert desk.store().describe() == "s3://more at https://s3.eu-west-3.amazonaws.com"


def test_a_place_with_objects_of_others_is_adopted_only_if_that_is_said(tmp_path: Path, objects: Objects) -> None:
    desk = Desk(tmp_path / "one")
    objects["other/readme.md"] = (Version('"1"', None, History()), b"theirs\n")
    refused = desk.refused("bucket", "init", "notes", "--prefix", "other")
    assert "s3://notes/other at https://s3.us-east-1.amazonaws.com has objects already and is no store" in refused
    assert "--adopt" in refused
    assert [*objects] == ["other/readme.md"]
    assert desk.done("bucket", "init", "notes", "--prefix", "other", "--adopt").startswith("made the store ")


def test_init_needs_keys_and_asks_nothing_without_them(tmp_path: Path, objects: Objects) -> None:
    desk = Desk(tmp_path / "one")
    del desk.environ["AWS_ACCESS_KEY_ID"]
    assert "$AWS_ACCESS_KEY_ID and $AWS_SECRET_ACCESS_KEY must be set" in desk.refused("bucket", "init", "notes")
    assert not objects


def test_joining_brings_the_plans_at_once(desk: Desk, tmp_path: Path) -> None:
    desk.store().write(PLAN, "the plan\n")
    joined = Desk(tmp_path / "two")
    joined.done("bucket", "init", "notes", "--prefix", "team", "--use")
    assert joined.copy(PLAN).read_text() == "the plan\n"


def test_notes_of_the_store_before_are_taken_along_where_that_is_said(tmp_path: Path, objects: Objects) -> None:
    desk = Desk(tmp_path / "one")
    desk.store().write(Locator("plan.md"), "the plan\n")
    desk.done("bucket", "init", "notes", "--take-along")
    assert objects["plan.md"][1] == b"the plan\n"
    assert desk.device.config.storage_backend == "bucket"


# ------------------------------------------------------------------------------------------------ sync and conflicts


def test_sync_counts_what_went_either_way(desk: Desk, other: Desk) -> None:
    desk.store().write(PLAN, "the plan\n")
    assert other.done("bucket", "sync") == "1 fetched, 0 sent\n"
    other.copy(PLAN).write_text("edited\n")
    assert other.done("bucket", "sync") == "0 fetched, 1 sent\n"
    answer = other.answer("bucket", "sync")
    assert (answer["fetched"], answer["sent"], answer["conflicts"]) == (0, 0, [])


def test_a_version_that_lost_is_told_with_where_it_is_kept(desk: Desk, other: Desk) -> None:
    desk.store().write(PLAN, "begin\n")
    other.done("bucket", "sync")
    for one, text in ((desk, "of one\n"), (other, "of two\n")):
        one.copy(PLAN).write_text(text)
    desk.done("bucket", "sync")
    counted, told, how = other.done("bucket", "sync").splitlines()
    assert counted.endswith(" sent")
    kept = told.removeprefix("both sides changed; your version is kept as ")
    assert kept.startswith("projects/widgets/_harness/PLAN [conflict ")
    assert how == "`agentm bucket conflicts` lists what is kept"
    assert other.answer("bucket", "conflicts")["conflicts"] == [{"file": PLAN.key, "version": kept}]


def test_kept_versions_are_listed_until_they_are_discarded(desk: Desk, other: Desk, objects: Objects) -> None:
    assert other.done("bucket", "conflicts") == "no conflicts\n"
    kept = both_change_the_plan(desk, other)
    listed = f"{PLAN}  {kept}\ntake over what is missing, then run `agentm bucket discard VERSION`\n"
    assert other.done("bucket", "conflicts") == listed
    assert other.answer("bucket", "conflicts")["store"] == PLACE
    assert f"'{PLAN}' is no kept version of a plan" in other.refused("bucket", "discard", PLAN.key, "--yes")
    assert "--yes" in other.refused("bucket", "discard", kept)
    assert f"team/{kept}" in objects
    assert other.done("bucket", "discard", kept, "--yes") == f"removed {kept}\n"
    assert f"team/{kept}" not in objects
    assert other.done("bucket", "conflicts") == "no conflicts\n"


def test_discarding_answers_a_program_with_the_version(desk: Desk, other: Desk) -> None:
    kept = both_change_the_plan(desk, other)
    assert other.answer("bucket", "discard", kept, "--yes")["version"] == kept


def test_looking_for_kept_versions_asks_no_server_and_needs_no_keys(desk: Desk, objects: Objects) -> None:
    objects.trouble = RequestFailed(Failure.UNCLEAR, "no network")
    del desk.environ["AWS_ACCESS_KEY_ID"]
    assert desk.done("bucket", "conflicts") == "no conflicts\n"


# ------------------------------------------------------------------------------------------------ events


@pytest.mark.parametrize("name", ["session-start", "conversation-start", "turn-start"])
def test_what_begins_fetches_and_sends_nothing(desk: Desk, other: Desk, objects: Objects, name: str) -> None:
    desk.store().write(PLAN, "the plan\n")
    desk.copy(PLAN).write_text("edited\n")
    assert other.event(name) == "bucket: 1 fetched"
    assert desk.event(name) is None
    assert objects[f"team/{PLAN}"][1] == b"the plan\n"


@pytest.mark.parametrize("name", ["session-end", "conversation-end", "turn-end", "pre-compact", "flush"])
def test_what_ends_sends(desk: Desk, objects: Objects, name: str) -> None:
    desk.store().write(PLAN, "the plan\n")
    desk.copy(PLAN).write_text("edited\n")
    assert desk.event(name) == "bucket: 1 sent"
    assert objects[f"team/{PLAN}"][1] == b"edited\n"
    assert desk.event(name) is None


def test_a_server_that_is_away_is_said_with_the_age_of_the_copy(desk: Desk, objects: Objects) -> None:
    objects.trouble = RequestFailed(Failure.FATAL, "no network")
    said = desk.event("turn-start") or ""
    assert said.startswith("bucket: ")
    assert said.endswith(" failed: no network; the copy on this device is 0 min old and keeps what was written")


def test_an_event_names_the_versions_that_lost(desk: Desk, other: Desk) -> None:
    desk.store().write(PLAN, "begin\n")
    other.done("bucket", "sync")
    for one, text in ((desk, "of one\n"), (other, "of two\n")):
        one.copy(PLAN).write_text(text)
    assert desk.event("turn-end") == "bucket: 1 sent"
    assert "both sides changed, your version is kept as projects/widgets/" in (other.event("turn-end") or "")


def test_other_events_and_other_stores_are_no_business_of_a_bucket(
    tmp_path: Path, desk: Desk, objects: Objects
) -> None:
    objects.trouble = RequestFailed(Failure.FATAL, "no network")
    assert desk.event("tool-call") is None
    assert Desk(tmp_path / "local").event("turn-end") is None
