"""Writes whose requests or replies get lost, and races with others, on a bucket in memory that does as it is told.

The tests beside these ask real servers the same; here every order of events can be had, in no time.
"""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from agentm_bucket.client import Entry, Folder, Version
from agentm_bucket.failures import Failure, RequestFailed
from agentm_bucket.history import LIMIT, History
from agentm_bucket.place import Place
from agentm_bucket.proof import _ask, proven
from agentm_bucket.verbs import MARKER, Verbs
from agentm_bucket.writing import delete, mkdir, write
from agentm_kernel.errors import (
    ConcurrentModificationError,
    InvalidContentError,
    LocatorConflictError,
    NotFoundError,
    StorageIOError,
    StorageSelectionError,
)
from agentm_kernel.plugin import ABSENT, Locator, content_hash

NOTE = Locator("plans/note.md")
PATH = "team/plans/note.md"
LOST = RequestFailed(Failure.UNCLEAR, "no answer")
FATAL = RequestFailed(Failure.FATAL, "no rights")
LATE = RequestFailed(Failure.LATE, "no time")
MISSING = RequestFailed(Failure.MISSING, "there is no such object")
REFUSED = RequestFailed(Failure.REFUSED, "the condition did not hold")


class Clock:
    """Time for so many further attempts."""

    def __init__(self, pauses=3):
        self.pauses = pauses

    def pause(self):
        self.pauses -= 1
        return self.pauses >= 0


class Bucket:
    """The objects, and what is to happen to the next requests: `before` them, or to the reply `after` them."""

    def __init__(self, *, honours=True, deletes=True):
        self.place = Place("s3", "bucket", "team", "http://127.0.0.1:1")
        self.objects = {}
        self.asked = []
        self.before = {}
        self.after = {}
        self._honours = honours
        self._deletes = deletes
        self._count = 0

    def deadline(self):
        return Clock()

    def _ask(self, verb, path, work):
        self.asked.append((verb, path))
        self._happen(self.before, verb)
        answer = work()
        self._happen(self.after, verb)
        return answer

    def _happen(self, events, verb):
        if events.get(verb):
            event = events[verb].pop(0)
            if isinstance(event, Exception):
                raise event
            event()

    def store(self, path, data, history=()):
        """As another program or device does."""
        self._count += 1
        self.objects[path] = (Version(f'"{self._count}"', None, History(history)), data)
        return self.objects[path][0]

    def _found(self, path):
        if path not in self.objects:
            raise MISSING
        return self.objects[path]

    def _check(self, path, base):
        now = self.objects.get(path)
        if self._honours and (now and now[0].etag) != (base and base.etag):
            raise REFUSED

    def get(self, path, deadline, *, limit):
        version, data = self._ask("get", path, lambda: self._found(path))
        return Entry(path, len(data), 0.0, ""), version, data if len(data) <= limit else None

    def head(self, path, deadline):
        version, data = self._ask("head", path, lambda: self._found(path))
        return Entry(path, len(data), 0.0, ""), version

    def folder(self, path, deadline):
        below = [one.removeprefix(f"{path}/") for one in self.objects if one.startswith(f"{path}/")]
        files = tuple(Entry(f"{path}/{one}", 0, 0.0, "") for one in below if "/" not in one)
        folders = {f"{path}/{one.partition('/')[0]}" for one in below if "/" in one}
        return self._ask("folder", path, lambda: Folder(files, tuple(sorted(folders))))

    def holds_anything(self, path, deadline):
        return self._ask("holds", path, lambda: any(one.startswith(f"{path}/") for one in self.objects))

    def put(self, path, data, base, history, deadline):
        def work():
            self._check(path, base)
            return self.store(path, data, history)

        return self._ask("put", path, work)

    def delete(self, path, deadline):
        self._ask("delete", path, lambda: self.objects.pop(path, None))

    def delete_on_condition(self, path, version, deadline):
        def work():
            if self._deletes:
                self._found(path)
                self._check(path, version)
            self.objects.pop(path, None)

        self._ask("delete", path, work)


@pytest.fixture
def bucket():
    return Bucket()


@pytest.fixture
def verbs(bucket):
    return Verbs(bucket, 1000)


def text(bucket, path=PATH):
    return bucket.objects[path][1].decode()


def writers(bucket, path=PATH):
    return len(bucket.objects[path][0].history)


def count(bucket, verb):
    return sum(one == verb for one, _ in bucket.asked)


# ------------------------------------------------------------------------------------------------ plain writes


def test_a_note_is_written_read_and_written_over(bucket, verbs):
    write(verbs, NOTE, "one\n", None, Clock())
    assert verbs.read(NOTE) == "one\n"

    write(verbs, NOTE, "two\n", None, Clock())

    assert text(bucket) == "two\n"
    assert writers(bucket) == 1


def test_what_was_just_read_or_written_is_not_looked_at_again(bucket, verbs):
    bucket.store(PATH, b"one\n")
    verbs.read(NOTE)
    bucket.asked.clear()

    write(verbs, NOTE, "two\n", content_hash("one\n"), Clock())
    write(verbs, NOTE, "three\n", content_hash("two\n"), Clock())

    assert bucket.asked == [("put", PATH)] * 2


def test_what_was_never_read_is_looked_at_for_its_condition(bucket, verbs):
    bucket.store(PATH, b"one\n")

    write(verbs, NOTE, "two\n", content_hash("one\n"), Clock())

    assert text(bucket) == "two\n"
    assert count(bucket, "get") == 1


def test_writing_over_something_takes_no_look_at_its_bytes(bucket, verbs):
    bucket.store(PATH, b"one\n")

    write(verbs, NOTE, "two\n", None, Clock())

    assert (count(bucket, "get"), count(bucket, "head"), text(bucket)) == (0, 1, "two\n")


@pytest.mark.parametrize("condition", [ABSENT, content_hash("other\n")])
def test_a_condition_that_does_not_hold_changes_nothing(bucket, verbs, condition):
    bucket.store(PATH, b"one\n")

    with pytest.raises(ConcurrentModificationError, match="not what was expected"):
        write(verbs, NOTE, "two\n", condition, Clock())
    assert text(bucket) == "one\n"


def test_a_condition_on_a_note_that_is_gone_does_not_hold(bucket, verbs):
    with pytest.raises(ConcurrentModificationError):
        write(verbs, NOTE, "two\n", content_hash("one\n"), Clock())
    assert bucket.objects == {}


def test_no_note_takes_the_place_of_a_folder_nor_a_folder_that_of_a_note(bucket, verbs):
    bucket.store(f"{PATH}/below.md", b"")

    for condition in (None, ABSENT, content_hash("x")):
        with pytest.raises(LocatorConflictError, match="is a directory"):
            write(verbs, NOTE, "two\n", condition, Clock())
    with pytest.raises(LocatorConflictError, match="is a note"):
        mkdir(verbs, Locator("plans/note.md/below.md"), Clock())
    with pytest.raises(LocatorConflictError, match="root"):
        write(verbs, Locator(), "two\n", None, Clock())
    assert [*bucket.objects] == [f"{PATH}/below.md"]


def test_a_text_that_is_too_long_is_not_sent(bucket, verbs):
    write(verbs, NOTE, "x" * 1000, None, Clock())
    with pytest.raises(InvalidContentError):
        write(verbs, NOTE, "x" * 1001, None, Clock())
    assert len(text(bucket)) == 1000


# ------------------------------------------------------------------------------------------------ lost replies


@pytest.mark.parametrize("where", ["before", "after"])
@pytest.mark.parametrize("condition", [None, content_hash("one\n"), ABSENT])
def test_a_write_is_made_once_whether_the_request_or_its_reply_gets_lost(bucket, verbs, where, condition):
    if condition is not ABSENT:
        bucket.store(PATH, b"one\n", ["else.1"])
    getattr(bucket, where)["put"] = [LOST]

    write(verbs, NOTE, "two\n", condition, Clock())

    assert text(bucket) == "two\n"
    assert writers(bucket) == (1 if condition is ABSENT else 2)
    assert count(bucket, "put") == (2 if where == "before" else 1)


def test_a_write_whose_reply_is_lost_is_not_made_again_on_top_of_what_others_built_on_it(bucket, verbs):
    bucket.store(PATH, b"one\n")

    def others_build_on_it():
        version, data = bucket.objects[PATH]
        bucket.store(PATH, data + b"theirs\n", version.history.then("other.1"))
        raise LOST

    bucket.after["put"] = [others_build_on_it]

    write(verbs, NOTE, "two\n", content_hash("one\n"), Clock())

    assert text(bucket) == "two\ntheirs\n"


def test_where_others_wrote_instead_the_condition_is_told_to_have_failed(bucket, verbs):
    bucket.store(PATH, b"one\n", ["a.1"])

    def others_are_faster():
        bucket.store(PATH, b"theirs\n", ["a.1", "b.1"])
        raise LOST

    bucket.before["put"] = [others_are_faster]

    with pytest.raises(ConcurrentModificationError):
        write(verbs, NOTE, "two\n", content_hash("one\n"), Clock())
    assert text(bucket) == "theirs\n"


def test_where_a_writer_of_before_wrote_again_the_condition_is_told_to_have_failed(bucket, verbs):
    """The list has the same writers as before, and none of them is this one: so nothing of ours was stored."""
    bucket.store(PATH, b"one\n", ["a.1"])

    def the_same_writer_is_faster():
        bucket.store(PATH, b"theirs\n", ["a.2"])
        raise LOST

    bucket.before["put"] = [the_same_writer_is_faster]

    with pytest.raises(ConcurrentModificationError):
        write(verbs, NOTE, "two\n", content_hash("one\n"), Clock())


def test_where_the_list_of_writers_cannot_tell_it_is_said_that_nobody_knows(bucket, verbs):
    bucket.store(PATH, b"one\n", ["a.1"])

    def replaced_by_another_program():
        bucket.store(PATH, b"theirs\n")
        raise LOST

    bucket.before["put"] = [replaced_by_another_program]

    with pytest.raises(StorageIOError, match="whether it was stored is not known"):
        write(verbs, NOTE, "two\n", content_hash("one\n"), Clock())


def test_a_refusal_is_looked_into_at_once_and_not_waited_for(bucket, verbs):
    bucket.store(PATH, b"one\n")
    verbs.read(NOTE)
    bucket.store(PATH, b"theirs\n")
    clock = Clock()

    with pytest.raises(ConcurrentModificationError):
        write(verbs, NOTE, "two\n", content_hash("one\n"), clock)
    assert clock.pauses == 3
    assert text(bucket) == "theirs\n"


def test_a_write_without_a_condition_goes_over_what_others_wrote_meanwhile(bucket, verbs):
    bucket.store(PATH, b"one\n")
    verbs.read(NOTE)
    bucket.store(PATH, b"theirs\n", ["other.1"])

    write(verbs, NOTE, "two\n", None, Clock())

    assert text(bucket) == "two\n"
    assert writers(bucket) == 2


def test_a_server_that_refuses_again_and_again_is_given_up_on_in_time(bucket, verbs):
    bucket.before["put"] = [REFUSED] * 10
    clock = Clock()

    with pytest.raises(StorageIOError, match="nothing was written"):
        write(verbs, NOTE, "two\n", None, clock)
    assert clock.pauses == -1


@pytest.mark.parametrize(
    ("failure", "said"),
    [
        (FATAL, ": no rights"),
        (LATE, ": no time; nothing was written"),
        (LOST, "; whether it was stored is not known"),
    ],
)
def test_what_cannot_be_carried_out_is_told_with_whether_it_may_have_happened(bucket, verbs, failure, said):
    bucket.before["put"] = [failure] * 10

    with pytest.raises(StorageIOError) as caught:
        write(verbs, NOTE, "two\n", None, Clock())
    assert caught.value.message.endswith(said)
    assert bucket.objects == {}


def test_a_look_that_fails_after_a_lost_reply_is_told_as_a_write_that_may_have_happened(bucket, verbs):
    bucket.after["put"] = [LOST]
    bucket.before["get"] = [FATAL]

    with pytest.raises(StorageIOError, match="no rights; whether it was stored is not known"):
        write(verbs, NOTE, "two\n", ABSENT, Clock())


# ------------------------------------------------------------------------------------------------ folders


def test_a_folder_is_made_once_and_only_where_nothing_is(bucket, verbs):
    mkdir(verbs, Locator("plans"), Clock())
    mkdir(verbs, Locator("plans"), Clock())

    assert [*bucket.objects] == [f"team/plans/{MARKER}"]
    assert count(bucket, "put") == 1
    bucket.store("team/note.md", b"")
    with pytest.raises(LocatorConflictError, match="is a note, so it cannot become a directory"):
        mkdir(verbs, Locator("note.md"), Clock())
    with pytest.raises(LocatorConflictError, match="differs only in case"):
        mkdir(verbs, Locator("Plans"), Clock())
    assert [*bucket.objects] == [f"team/plans/{MARKER}", "team/note.md"]


@pytest.mark.parametrize("where", ["before", "after"])
def test_a_folder_is_there_whether_the_request_or_its_reply_gets_lost(bucket, verbs, where):
    getattr(bucket, where)["put"] = [LOST]

    mkdir(verbs, Locator("plans"), Clock())

    assert [*bucket.objects] == [f"team/plans/{MARKER}"]


def test_a_folder_that_cannot_be_made_is_an_error(bucket, verbs):
    for failures in ([FATAL], [LOST] * 10):
        bucket.before["put"] = failures
        with pytest.raises(StorageIOError, match="making 'plans'"):
            mkdir(verbs, Locator("plans"), Clock())
    bucket.before = {"head": [FATAL]}
    with pytest.raises(StorageIOError, match="no rights"):
        mkdir(verbs, Locator("plans"), Clock())
    assert bucket.objects == {}


# ------------------------------------------------------------------------------------------------ deletions


def test_a_note_that_was_deleted_is_not_remembered(bucket, verbs):
    write(verbs, NOTE, "one\n", None, Clock())

    delete(verbs, NOTE, None, Clock(), on_condition=True)

    assert bucket.objects == {}
    assert verbs.known(NOTE) is None
    write(verbs, NOTE, "two\n", ABSENT, Clock())
    assert text(bucket) == "two\n"


@pytest.mark.parametrize("where", ["before", "after"])
@pytest.mark.parametrize("on_condition", [True, False])
def test_a_note_is_gone_whether_the_request_or_its_reply_gets_lost(bucket, verbs, where, on_condition):
    bucket.store(PATH, b"one\n")
    getattr(bucket, where)["delete"] = [LOST]

    delete(verbs, NOTE, None, Clock(), on_condition=on_condition)

    assert bucket.objects == {}


def test_what_somebody_wrote_meanwhile_is_not_deleted(bucket, verbs):
    bucket.store(PATH, b"one\n")
    bucket.before["delete"] = [lambda: bucket.store(PATH, b"theirs\n")]

    with pytest.raises(ConcurrentModificationError):
        delete(verbs, NOTE, content_hash("one\n"), Clock(), on_condition=True)
    assert text(bucket) == "theirs\n"


def test_what_is_not_there_or_is_a_folder_is_not_deleted(bucket, verbs):
    bucket.store("team/plans/other.md", b"")

    with pytest.raises(NotFoundError):
        delete(verbs, NOTE, None, Clock(), on_condition=True)
    with pytest.raises(LocatorConflictError, match="is a directory"):
        delete(verbs, Locator("plans"), None, Clock(), on_condition=True)
    assert [*bucket.objects] == ["team/plans/other.md"]


@pytest.mark.parametrize("failure", [FATAL, LATE, LOST])
def test_a_deletion_that_cannot_be_carried_out_is_an_error(bucket, verbs, failure):
    bucket.store(PATH, b"one\n")
    bucket.before["delete"] = [failure] * 10
    clock = Clock()

    with pytest.raises(StorageIOError, match=r"deleting 'plans/note\.md'"):
        delete(verbs, NOTE, None, clock, on_condition=True)
    assert text(bucket) == "one\n"
    assert clock.pauses == (-1 if failure is LOST else 3)


# ------------------------------------------------------------------------------------------------ what a server shows


def test_a_server_that_honours_conditions_has_shown_it_and_has_nothing_left_of_it(bucket):
    assert _ask(bucket, Clock()).deletes_on_condition
    assert bucket.objects == {}


def test_a_server_that_ignores_conditions_is_refused_and_has_nothing_left_of_it():
    careless = Bucket(honours=False)

    with pytest.raises(StorageSelectionError, match="ignores conditional writes: it accepted a second creation"):
        _ask(careless, Clock())
    assert careless.objects == {}


def test_a_server_that_compares_only_whether_something_is_there_is_refused(bucket):
    def only_existence(path, base):
        if base is None and path in bucket.objects:
            raise REFUSED

    bucket._check = only_existence

    with pytest.raises(StorageSelectionError, match="a write over another version than the one it names"):
        _ask(bucket, Clock())


def test_a_server_that_deletes_whatever_is_there_does_not_delete_on_condition():
    careless = Bucket(deletes=False)

    assert not _ask(careless, Clock()).deletes_on_condition
    assert careless.objects == {}


@pytest.mark.parametrize("failures", [[REFUSED, FATAL], [REFUSED, LOST], [FATAL], [LOST]])
def test_a_server_that_refuses_every_deletion_with_a_condition_does_not_delete_on_condition(bucket, failures):
    bucket.before["delete"] = failures

    assert not _ask(bucket, Clock()).deletes_on_condition
    assert bucket.objects == {}


@pytest.mark.parametrize("place", ["before", "after"])
@pytest.mark.parametrize("number", range(4))
def test_a_server_shows_it_over_a_bad_network_too(bucket, place, number):
    getattr(bucket, place)["put"] = [*[lambda: None] * number, LOST]

    assert _ask(bucket, Clock()).deletes_on_condition
    assert bucket.objects == {}


@pytest.mark.parametrize("failure", [FATAL, LATE])
def test_a_server_that_does_not_let_us_ask_has_shown_nothing(bucket, tmp_path, failure):
    bucket.before["put"] = [failure]

    with pytest.raises(RequestFailed):
        proven(bucket, str(tmp_path), Clock())
    assert list(tmp_path.rglob("*.json")) == []
    assert proven(bucket, str(tmp_path), Clock()).deletes_on_condition
    asked = len(bucket.asked)
    assert proven(bucket, str(tmp_path), Clock()).deletes_on_condition
    assert len(bucket.asked) == asked  # it is remembered


def test_a_server_that_never_answers_has_shown_nothing_when_time_is_up(bucket, tmp_path):
    for pauses in (0, 2):
        bucket.before["put"] = [LOST] * 10
        clock = Clock(pauses)
        with pytest.raises(RequestFailed, match="no answer"):
            proven(bucket, str(tmp_path), clock)
        assert clock.pauses == -1
    assert list(tmp_path.rglob("*.json")) == []


def test_a_full_list_of_writers_still_tells_whether_a_write_happened(bucket, verbs):
    bucket.store(PATH, b"one\n", [f"w{number}.1" for number in range(LIMIT)])
    bucket.after["put"] = [LOST]

    write(verbs, NOTE, "two\n", content_hash("one\n"), Clock())

    assert (text(bucket), writers(bucket), count(bucket, "put")) == ("two\n", LIMIT, 1)


def test_what_is_remembered_of_versions_has_an_end(bucket, verbs):
    for number in range(600):
        verbs.remember(Locator(f"{number}.md"), SimpleNamespace())

    known = [number for number in range(600) if verbs.known(Locator(f"{number}.md"))]
    assert known == [*range(88, 600)]
