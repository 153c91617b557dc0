"""A file here, in the store, and as both last agreed: what follows what, and what is counted."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agentm_devkit.conformance.memory import MemoryBackend
from agentm_kernel import Locator
from agentm_kernel.plugin import (
    BackendLayer,
    ConcurrentModificationError,
    IntegrityError,
    InvalidContentError,
    LocatorConflictError,
    MirroredState,
    StorageIOError,
    StoreIdentityError,
    Transfer,
)
from agentm_kernel.state.mirror import CopyFolder, Mirror, file_of, is_mirrored

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentm_kernel.plugin import Absent, Info, StorageBackend

HARNESS = Locator("projects/widgets/_harness")
PLAN = HARNESS.child("PLAN.md")
STAMP = Locator("_meta/store.json")


@pytest.fixture
def store(tmp_path: Path) -> MirroredState:
    return MirroredState(MemoryBackend(sync=True), str(tmp_path / "mirror"))


def here(store: MirroredState, locator: Locator) -> Path:
    path = Path(store.device_path(locator))
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def text_of(path: Path) -> str | None:
    return path.read_text() if path.exists() else None


def text_in(store: MirroredState, locator: Locator) -> str | None:
    return store.inner.read(locator) if store.inner.exists(locator) else None


@pytest.mark.parametrize(
    ("key", "is_in_the_copy"),
    [
        ("_meta/store.json", True),
        ("_meta/remotes/0badcafe.json", True),
        ("_meta/remotes", False),
        ("_meta/remotes/deep/0badcafe.json", False),
        ("projects/widgets", False),
        ("projects/widgets/_harness", True),
        ("projects/widgets/_harness/deep/PLAN.md", True),
        ("projects/widgets/_project.json", True),
        ("projects/widgets/_project.json/deep", False),
        ("projects/widgets/a.md", False),
        ("projects/widgets/deep/_harness/PLAN.md", False),
        ("personal-projects/old/_harness/PLAN.md", True),
        ("notes/projects/_harness/PLAN.md", False),
    ],
)
def test_the_copy_has_the_state_of_projects_and_whose_it_is(key: str, is_in_the_copy: bool) -> None:
    assert is_mirrored(Locator(key)) is is_in_the_copy


# Last agreed on, now here, now in the store; then what both have, and how many files came and went. What is kept
# beside the file is sent like any other one.
MEETINGS = [
    ("A", "A", "A", "A", (0, 0)),
    ("A", "B", "A", "B", (0, 1)),
    ("A", "A", "B", "B", (1, 0)),
    ("A", "B", "C", "C", (1, 1)),
    ("A", "A", None, None, (0, 0)),
    ("A", "B", None, "B", (0, 1)),
    ("A", None, None, None, (0, 0)),
    ("A", None, "B", "B", (1, 0)),
    (None, "B", None, "B", (0, 1)),
    (None, None, "B", "B", (1, 0)),
    (None, "B", "C", "C", (1, 1)),
    (None, None, None, None, (0, 0)),
]


@pytest.mark.parametrize(("agreed", "ours", "theirs", "both", "counts"), MEETINGS)
def test_where_one_side_changed_the_other_follows_and_where_both_did_both_versions_stay(
    store: MirroredState,
    agreed: str | None,
    ours: str | None,
    theirs: str | None,
    both: str | None,
    counts: tuple[int, int],
) -> None:
    path = here(store, PLAN)
    if agreed is not None:
        store.write(PLAN, agreed)
        assert store.pull(store) == Transfer()
    if ours is not None:
        path.write_text(ours)
    elif path.exists():
        path.unlink()
    if theirs is not None:
        store.inner.write(PLAN, theirs)
    elif agreed is not None:
        store.inner.delete(PLAN)

    transfer = store.push(store)

    assert (text_of(path), text_in(store, PLAN)) == (both, both)
    assert (transfer.fetched, transfer.sent) == counts
    kept = [store.inner.read(Locator(key)) for key in transfer.conflicts]
    assert kept == ([ours] if None not in (ours, theirs) and len({agreed, ours, theirs}) == 3 else [])
    assert store.push(store) == Transfer()


@pytest.mark.parametrize("ours", ["begin", "edited here"])
def test_what_a_listing_does_not_show_and_the_store_has_is_not_taken_for_deleted(tmp_path: Path, ours: str) -> None:
    """Some servers list what was just written only later; and a listing of many pages is no look at one moment."""

    class Late(MemoryBackend):
        def walk(self, locator: Locator) -> Iterator[Info]:
            return (info for info in super().walk(locator) if not is_late or info.locator != PLAN)

    is_late = False
    store = MirroredState(Late(sync=True), str(tmp_path / "mirror"))
    store.write(PLAN, "begin")
    store.pull(store)
    here(store, PLAN).write_text(ours)
    is_late = True
    assert store.push(store) == Transfer(sent=int(ours != "begin"))
    assert (text_of(here(store, PLAN)), text_in(store, PLAN)) == (ours, ours)
    is_late = False
    assert store.push(store) == Transfer()


def test_pulling_sends_nothing(store: MirroredState) -> None:
    store.write(PLAN, "begin")
    here(store, PLAN).write_text("of this device")
    assert store.pull(store) == Transfer()
    assert (here(store, PLAN).read_text(), store.inner.read(PLAN)) == ("of this device", "begin")


def test_every_file_that_came_or_went_is_counted(store: MirroredState) -> None:
    for name in ("a.md", "b.md"):
        store.inner.write(HARNESS.child(name), name)
    for name in ("c.md", "d.md", "e.md"):
        here(store, HARNESS.child(name)).write_text(name)
    assert store.push(store) == Transfer(2, 3)


def test_what_a_layer_around_the_store_makes_of_a_text_is_no_news_here(store: MirroredState) -> None:
    class Reversing(BackendLayer):
        def read(self, locator: Locator) -> str:
            return super().read(locator)[::-1]

        def write(self, locator: Locator, content: str, *, if_match: str | Absent | None = None) -> Locator:
            return super().write(locator, content[::-1], if_match=if_match)

    here(store, PLAN).write_text("plan")
    assert store.push(Reversing(store)) == Transfer(0, 1)
    assert (here(store, PLAN).read_text(), store.inner.read(PLAN)) == ("plan", "nalp")
    assert store.push(Reversing(store)) == Transfer()


def test_a_file_that_is_missing_here_is_fetched_again(store: MirroredState) -> None:
    store.write(PLAN, "text")
    store.pull(store)
    here(store, PLAN).unlink()
    store.push(store)
    assert (text_of(here(store, PLAN)), text_in(store, PLAN)) == ("text", "text")


def test_only_state_is_sent(store: MirroredState) -> None:
    for key in ("notes/a.md", "projects/widgets/_project.json", "_meta/remotes/0badcafe.json", PLAN.key):
        here(store, Locator(key)).write_text("made here")
    assert store.push(store) == Transfer(0, 1)
    assert [info.locator for info in store.inner.walk(Locator()) if not info.is_dir] == [PLAN]


def test_what_is_no_text_here_is_left_alone_on_both_sides(store: MirroredState) -> None:
    store.write(PLAN, "text")
    here(store, PLAN).write_bytes(b"\xff")
    store.inner.write(PLAN, "of another device")
    assert store.push(store) == Transfer()
    assert (here(store, PLAN).read_bytes(), store.inner.read(PLAN)) == (b"\xff", "of another device")


def test_what_is_no_text_in_the_store_is_left_alone_there(store: MirroredState) -> None:
    class Unreadable(BackendLayer):
        def read(self, locator: Locator) -> str:
            if locator == PLAN:
                raise InvalidContentError("it is no text")
            return super().read(locator)

    store.inner.write(PLAN, "no text")
    assert store.pull(Unreadable(store)) == Transfer()
    assert not here(store, PLAN).exists()


def test_three_rounds_are_tried_against_a_store_that_always_has_news(store: MirroredState) -> None:
    class Contended(BackendLayer):
        attempts = 0

        def write(self, locator: Locator, content: str, *, if_match: str | Absent | None = None) -> Locator:
            self.attempts += 1
            raise ConcurrentModificationError("somebody was faster")

    contended = Contended(store)
    here(store, PLAN).write_text("of this device")
    assert store.push(contended) == Transfer()
    assert contended.attempts == 3


# ------------------------------------------------------------------------------------------------ following a verb


def test_a_write_through_the_verbs_leaves_an_edit_alone_that_the_store_does_not_have(store: MirroredState) -> None:
    store.write(PLAN, "begin")
    here(store, PLAN).write_text("of this device")
    store.write(PLAN, "written")
    assert here(store, PLAN).read_text() == "of this device"
    (kept,) = store.push(store).conflicts
    assert (store.inner.read(PLAN), store.inner.read(Locator(kept))) == ("written", "of this device")


def test_a_write_of_what_was_edited_here_is_agreed_on(store: MirroredState) -> None:
    here(store, PLAN).write_text("the same")
    store.write(PLAN, "the same")
    store.inner.write(PLAN, "of another device")
    assert store.pull(store) == Transfer(1)
    assert here(store, PLAN).read_text() == "of another device"


def test_the_stamp_follows_whatever_the_copy_had(tmp_path: Path) -> None:
    mirror = Mirror(str(tmp_path / "mirror"), str(tmp_path / "copy"), "pulled")
    for text in ("one", "two"):
        (tmp_path / "copy" / "_meta").mkdir(parents=True, exist_ok=True)
        (tmp_path / "copy" / STAMP.key).write_text("edited")
        mirror.follow_write(STAMP, text)
        assert (tmp_path / "copy" / STAMP.key).read_text() == text


def test_what_is_deleted_and_was_never_in_the_copy_leaves_nothing_there(store: MirroredState, tmp_path: Path) -> None:
    note = Locator("notes/a.md")
    store.write(note, "text")
    store.delete(note)
    assert not (tmp_path / "mirror").exists()


class FailsAtOne(BackendLayer):
    """A store of which one file cannot be read."""

    def __init__(self, inner: StorageBackend, file: Locator, error: Exception) -> None:
        super().__init__(inner)
        self._file, self._error = file, error

    def read(self, locator: Locator) -> str:
        if locator == self._file:
            raise self._error
        return super().read(locator)


def test_a_file_for_which_there_is_no_room_on_one_side_keeps_no_other_from_being_fetched_and_sent(
    store: MirroredState,
) -> None:
    store.inner.write(HARNESS.child("a"), "a file in the store")
    here(store, HARNESS.child("a").child("b.md")).write_text("a folder on this device")
    store.inner.write(PLAN, "of the store")
    here(store, HARNESS.child("z.md")).write_text("of this device")
    with pytest.raises(LocatorConflictError, match="_harness/a"):
        store.push(store)
    assert text_of(here(store, PLAN)) == "of the store"
    assert text_in(store, HARNESS.child("z.md")) == "of this device"
    assert store.copy_age() is None


def test_a_file_that_is_refused_by_a_layer_keeps_no_other_from_being_fetched(store: MirroredState) -> None:
    damaged = HARNESS.child("A.md")
    for file in (damaged, PLAN):
        store.inner.write(file, "of the store")
    with pytest.raises(IntegrityError, match="damaged"):
        store.pull(FailsAtOne(store, damaged, IntegrityError("it is damaged")))
    assert text_of(here(store, PLAN)) == "of the store"


def test_what_came_before_the_network_failed_is_not_taken_for_an_edit_of_this_device(store: MirroredState) -> None:
    last = HARNESS.child("Z.md")
    for file in (PLAN, last):
        store.inner.write(file, "of the store")
    with pytest.raises(StorageIOError):
        store.pull(FailsAtOne(store, last, StorageIOError("no network")))
    store.inner.write(PLAN, "newer")
    assert store.push(store).conflicts == ()
    assert text_of(here(store, PLAN)) == "newer"


# ------------------------------------------------------------------------------------------------ names and refusals


def test_the_name_of_a_version_has_room_for_its_mark() -> None:
    file = HARNESS.child("x" + "é" * 98 + ".md")
    version = CopyFolder().place_for_unseen(file, "0123456789abcdef")
    assert version == HARNESS.child("x" + "é" * 59 + " [conflict 01234567].md")
    assert file_of(version) == HARNESS.child("x" + "é" * 59 + ".md")
    assert file_of(PLAN) is None


@pytest.mark.parametrize(("there", "found"), [(None, "is unmarked"), ('{"id": "two"}', "is the store two")])
def test_a_refusal_says_which_store_was_found_and_what_to_run(
    store: MirroredState, there: str | None, found: str
) -> None:
    store.write(STAMP, '{"id": "one"}')
    store.inner.delete(STAMP)
    if there is not None:
        store.inner.write(STAMP, there)
    with pytest.raises(StoreIdentityError, match=found) as caught:
        store.pull(store)
    assert "agentm store forget" in (caught.value.hint or "")
