"""Reading a bucket: which objects are notes, which are folders, and which are somebody else's. Without any server."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from agentm_bucket.client import _PAGE, _REMEMBERED, Client, Entry, Folder, Version
from agentm_bucket.failures import Failure, RequestFailed
from agentm_bucket.history import History
from agentm_bucket.place import Place
from agentm_bucket.room import check_room
from agentm_bucket.verbs import MARKER, Verbs
from agentm_kernel.errors import InvalidContentError, LocatorConflictError, NotFoundError, StorageIOError
from agentm_kernel.plugin import Locator, content_hash

OBJECTS = {
    "team/a.md": b"a\n",
    "team/plans/b.md": b"bb\n",
    "team/plans/deep/c.md": b"ccc\n",
    f"team/empty/{MARKER}": b"",
    f"team/.git/{MARKER}": b"",
    "team/plans/nul.md": b"theirs",
    "team/notes//double.md": b"theirs",
}


class Stored:
    """Objects as they are, and one failure for every request if there is one."""

    def __init__(self, objects=OBJECTS, failure=None):
        self.place = Place("s3", "bucket", "team", "http://127.0.0.1:1")
        self.objects = dict(objects)
        self.failure = failure

    def deadline(self):
        return None

    def _entry(self, path):
        return Entry(path, len(self.objects[path]), 5.0, f"token of {path}")

    def _ask(self, path=None):
        if self.failure is not None:
            raise RequestFailed(self.failure, "no")
        if path is not None and path not in self.objects:
            raise RequestFailed(Failure.MISSING, "there is no such object")

    def get(self, path, deadline, *, limit):
        self._ask(path)
        data = self.objects[path]
        return self._entry(path), Version('"1"', None, History()), data if len(data) <= limit else None

    def head(self, path, deadline):
        self._ask(path)
        return self._entry(path), Version('"1"', None, History())

    def folder(self, path, deadline):
        self._ask()
        start = f"{path}/" if path else ""
        rest = [one.removeprefix(start) for one in self.objects if one.startswith(start)]
        files = tuple(self._entry(f"{start}{one}") for one in rest if "/" not in one)
        return Folder(files, tuple(sorted({f"{start}{one.partition('/')[0]}" for one in rest if "/" in one})))

    def below(self, path, deadline):
        self._ask()
        return [self._entry(one) for one in self.objects if not path or one.startswith(f"{path}/")]

    def holds_anything(self, path, deadline):
        self._ask()
        return any(one.startswith(f"{path}/") for one in self.objects)


@pytest.fixture
def verbs():
    return Verbs(Stored(), 1000)


def keys(infos):
    return [(info.locator.key, info.is_dir) for info in infos]


def test_everything_below_a_folder_is_found_with_the_folders_around_it(verbs):
    assert keys(verbs.walk(Locator())) == [
        ("a.md", False),
        ("empty", True),
        ("plans", True),
        ("plans/b.md", False),
        ("plans/deep", True),
        ("plans/deep/c.md", False),
    ]
    assert keys(verbs.walk(Locator("plans"))) == [
        ("plans/b.md", False),
        ("plans/deep", True),
        ("plans/deep/c.md", False),
    ]


def test_a_folder_lists_what_lies_immediately_below_it(verbs):
    assert [locator.key for locator in verbs.list(Locator())] == ["a.md", "empty", "notes", "plans"]
    assert [locator.key for locator in verbs.list(Locator("plans"))] == ["plans/b.md", "plans/deep"]
    assert verbs.list(Locator("empty")) == []


def test_what_no_key_can_name_is_somebody_elses_and_the_marks_of_folders_are_ours(verbs):
    assert sorted(verbs.foreign_entries(Locator())) == ["notes//double.md", "plans/nul.md"]
    assert [*verbs.foreign_entries(Locator("plans"))] == ["plans/nul.md"]


def test_a_note_a_folder_and_nothing_are_told_apart(verbs):
    note = verbs.info(Locator("plans/b.md"))

    assert (note.is_dir, note.size, note.mtime, note.version) == (False, 3, 5.0, "token of team/plans/b.md")
    assert verbs.info(Locator("plans")).is_dir
    assert verbs.info(Locator()).is_dir
    assert [verbs.exists(Locator(key)) for key in ("a.md", "plans", "", "none.md")] == [True, True, True, False]
    with pytest.raises(NotFoundError):
        verbs.info(Locator("none.md"))
    for key in ("none.md", "plans"):
        with pytest.raises(NotFoundError):
            verbs.read(Locator(key))


def test_what_was_read_is_remembered_until_it_is_gone(verbs):
    note = Locator("plans/b.md")
    assert verbs.read(note) == "bb\n"
    assert verbs.known(note).digest == content_hash("bb\n")

    del verbs.client.objects["team/plans/b.md"]

    with pytest.raises(NotFoundError):
        verbs.read(note)
    assert verbs.known(note) is None


def test_a_note_that_is_too_long_is_refused_and_not_fetched(verbs):
    verbs.client.objects["team/a.md"] = b"x" * 1001

    with pytest.raises(InvalidContentError):
        verbs.read(Locator("a.md"))


@pytest.mark.parametrize("failure", [Failure.UNCLEAR, Failure.LATE, Failure.FATAL])
def test_a_bucket_that_does_not_answer_is_an_error_and_never_absence(failure):
    verbs = Verbs(Stored(failure=failure), 1000)

    for work, said in (
        (lambda: verbs.read(Locator("a.md")), "reading 'a.md'"),
        (lambda: verbs.info(Locator("a.md")), "looking at 'a.md'"),
        (lambda: verbs.exists(Locator("a.md")), "looking at 'a.md'"),
        (lambda: verbs.list(Locator("plans")), "listing 'plans'"),
        (lambda: [*verbs.walk(Locator("plans"))], "listing 'plans'"),
        (lambda: [*verbs.foreign_entries(Locator("plans"))], "listing 'plans'"),
    ):
        with pytest.raises(StorageIOError, match=said):
            work()


# ------------------------------------------------------------------------------------------------ room for a new key


@pytest.mark.parametrize(
    ("key", "is_folder", "said"),
    [
        ("plans", False, "'plans' is a directory"),
        ("a.md/below.md", False, "'a.md' is a note, so 'a.md/below.md' cannot be stored below it"),
        ("a.md/new/below.md", False, "'a.md' is a note"),
        ("A.md", False, "'A.md' differs only in case from the stored 'a.md'"),
        ("Plans/new.md", False, "'Plans' differs only in case from the stored 'plans'"),
        ("PLANS", True, "'PLANS' differs only in case"),
        ("plans/B.md", False, "'plans/B.md' differs only in case from the stored 'b.md'"),
    ],
)
def test_a_key_that_another_leaves_no_room_for_is_refused(key, is_folder, said):
    with pytest.raises(LocatorConflictError) as caught:
        check_room(Stored(), Locator(key), None, is_folder=is_folder)
    assert said in caught.value.message


@pytest.mark.parametrize(
    ("key", "is_folder"),
    [("new.md", False), ("plans/new.md", False), ("x/y/z.md", False), ("plans", True), ("x", True)],
)
def test_other_keys_have_room(key, is_folder):
    check_room(Stored(), Locator(key), None, is_folder=is_folder)


# ------------------------------------------------------------------------------------------------ long folders


def test_a_folder_is_listed_without_a_clock_only_after_it_was_one_page_long():
    client = SimpleNamespace(_short=set())
    remember = lambda path, length: Client._remember_length(client, path, length)  # noqa: E731

    remember("short", _PAGE - 1)
    assert client._short == {"short"}
    remember("long", _PAGE)
    assert client._short == set()
    for number in range(_REMEMBERED + 1):
        remember(str(number), 1)
    assert client._short == {str(_REMEMBERED)}
