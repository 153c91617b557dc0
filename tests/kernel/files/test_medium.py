"""What a medium is asked around every verb, and the tree by its bytes."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, Any

import pytest
from tests.kernel.files.verbs import verbs

from agentm_kernel import Locator
from agentm_kernel.plugin import (
    ABSENT,
    ConcurrentModificationError,
    Directory,
    EditedFolder,
    FileStore,
    InvalidContentError,
    InvalidLocatorError,
    Medium,
    NotFoundError,
    StorageIOError,
    content_hash,
)

if TYPE_CHECKING:
    from pathlib import Path

    from agentm_kernel.plugin import Absent


class Told(Medium):
    """Writes down what it is asked, and what is stored at that moment."""

    def __init__(self, root: Path) -> None:
        self.told: list[tuple[str, str, bool]] = []
        self._root = root

    def before_change(self, locator: Locator) -> None:
        self.told.append(("before", locator.key, (self._root / locator.key).exists()))

    def after_change(self, locator: Locator) -> None:
        self.told.append(("after", locator.key, (self._root / locator.key).exists()))


def test_a_medium_hears_of_every_change_before_and_after_it(root: Path) -> None:
    medium = Told(root)
    store = FileStore(root, medium=medium)
    store.mkdir(Locator("d"))
    store.write(Locator("d/a.md"), "x")
    store.delete(Locator("d/a.md"))
    assert medium.told == [
        ("before", "d", False),
        ("before", "d/a.md", False),
        ("after", "d/a.md", True),
        ("before", "d/a.md", True),
        ("after", "d/a.md", False),
    ]


class Hiding(Medium):
    """Knows names that a sync tool uses for itself, and names of the versions that lost."""

    def is_hidden(self, name: str) -> bool:
        return name.startswith("~tool")

    def is_copy(self, name: str, beside: object) -> bool:
        return "conflict" in name


@pytest.mark.parametrize("key", ["~tool.md", "~tool/a.md", "d/a conflict.md"])
def test_nothing_is_written_under_a_name_that_the_medium_keeps_from_readers(root: Path, key: str) -> None:
    store = FileStore(root, medium=Hiding())
    with pytest.raises(InvalidLocatorError, match="is a name that the store's sync tool uses here"):
        store.write(Locator(key), "x")
    assert not (root / key).exists()


def test_a_medium_does_not_hear_of_a_change_that_did_not_come_about(root: Path) -> None:
    medium = Told(root)
    store = FileStore(root, medium=medium)
    with pytest.raises(ConcurrentModificationError):
        store.write(Locator("a.md"), "x", if_match=content_hash("other"))
    with pytest.raises(NotFoundError):
        store.delete(Locator("a.md"))
    assert {what for what, _, _ in medium.told} == {"before"}


def test_a_medium_may_refuse_a_change_before_anything_is_touched(root: Path, hold) -> None:
    class Refusing(Medium):
        def before_change(self, locator: Locator) -> None:
            raise StorageIOError(f"no room for '{locator}'")

    hold(root)  # nobody has to wait for the mutex to be told
    store = FileStore(root, medium=Refusing(), lock_timeout=0.1)
    for verb in ("write", "create", "mkdir", "delete"):
        with pytest.raises(StorageIOError, match="no room"):
            verbs(store, "a.md")[verb]()
    assert os.listdir(root) == []


def test_a_tree_that_is_not_here_answers_no_verb(root: Path) -> None:
    class NotHere(Medium):
        def check_here(self) -> None:
            raise StorageIOError("it was never fetched")

    FileStore(root).write(Locator("a.md"), "x")
    store = FileStore(root, medium=NotHere())
    note = Locator("a.md")
    for verb in (
        lambda: store.read(note),
        lambda: store.list(Locator()),
        lambda: store.exists(note),
        lambda: store.info(note),
        lambda: list(store.walk(Locator())),
        lambda: list(store.foreign_entries(Locator())),
        lambda: store.write(note, "y"),
        lambda: store.delete(note),
        lambda: store.mkdir(Locator("d")),
        lambda: store.tree,
    ):
        with pytest.raises(StorageIOError, match="never fetched"):
            verb()
    assert FileStore(root).read(note) == "x"


class Elsewhere(Medium):
    """What a sync tool has not brought here yet: neither the note's bytes nor, perhaps, its file."""

    def before_reading(self, locator: Locator, status: os.stat_result) -> None:
        raise StorageIOError(f"'{locator}' is not downloaded")

    def when_missing(self, directory: Directory, locator: Locator) -> None:
        raise NotFoundError(f"'{locator}' is not here yet")


def test_a_file_whose_bytes_are_elsewhere_is_not_even_opened(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "a.md").write_text("a placeholder\n")
    opened, real = list[str](), os.open

    def opening(path: str, *args: Any, **options: Any) -> int:
        opened.append(path)
        return real(path, *args, **options)

    monkeypatch.setattr(os, "open", opening)
    with pytest.raises(StorageIOError, match="is not downloaded"):
        FileStore(root, medium=Elsewhere()).read(Locator("a.md"))
    assert [path for path in opened if os.path.basename(path) == "a.md"] == [], "that would wait for them"


def test_nothing_is_added_to_a_note_whose_bytes_are_elsewhere(root: Path) -> None:
    (root / "a.md").write_text("a placeholder\n")
    with pytest.raises(StorageIOError, match="is not downloaded"):
        FileStore(root, medium=Elsewhere()).append(Locator("a.md"), "more\n")
    assert (root / "a.md").read_text() == "a placeholder\n"


@pytest.mark.parametrize("condition", [None, ABSENT])
def test_a_write_of_a_note_that_is_elsewhere_does_not_pass_for_done(root: Path, condition: Absent | None) -> None:
    with pytest.raises(NotFoundError, match="is not here yet"):
        FileStore(root, medium=Elsewhere()).write(Locator("a.md"), "x", if_match=condition)
    assert list(root.iterdir()) == []


@pytest.mark.parametrize("size", [0, 1, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 3 << 20])
def test_the_hash_of_a_file_of_any_size_is_that_of_all_its_bytes(root: Path, size: int) -> None:
    data = bytes(range(256)) * (size // 256) + b"x" * (size % 256)
    (root / "a.md").write_bytes(data)
    assert FileStore(root).tree.hash(Locator("a.md")) == content_hash(data)


@pytest.mark.parametrize("verb", ["read", "bytes", "hash"])
def test_a_medium_says_why_a_file_cannot_be_read(root: Path, monkeypatch: pytest.MonkeyPatch, verb: str) -> None:
    class Telling(Medium):
        def when_unreadable(self, locator: Locator, error: OSError) -> None:
            raise StorageIOError(f"'{locator}' is still on its way ({error.strerror})")

    def fail(*_: object) -> None:
        raise OSError(errno.EDEADLK, "it would wait")

    (root / "a.md").write_text("text " * 20_000)
    store, note = FileStore(root, medium=Telling()), Locator("a.md")
    for name in ("read_file", "hash_file"):
        monkeypatch.setattr(Directory, name, fail)
    with pytest.raises(StorageIOError, match=r"'a.md' is still on its way \(it would wait\)"):
        {"read": store.read, "bytes": store.tree.read, "hash": store.tree.hash}[verb](note)


def test_the_same_tree_by_bytes(root: Path) -> None:
    tree = FileStore(root, size_limit=10).tree
    note = Locator("d/a.md")
    assert tree.read(note) is None
    assert tree.hash(note) is None
    tree.write(note, b"\xff", ABSENT)
    assert (root / "d" / "a.md").read_bytes() == b"\xff" == tree.read(note)
    assert tree.hash(note) == content_hash(b"\xff")
    assert tree.read(Locator("d")) is None
    assert tree.hash(Locator("d")) is None
    with pytest.raises(ConcurrentModificationError):
        tree.write(note, b"y", content_hash("other"))
    (root / "d" / "big").write_bytes(b"x" * 100)
    assert tree.hash(Locator("d/big")) == content_hash(b"x" * 100)
    with pytest.raises(InvalidContentError):
        tree.read(Locator("d/big"))
    assert not tree.remove_empty_directory(Locator("d"))
    with pytest.raises(ConcurrentModificationError):
        tree.delete(note, content_hash("other"))
    tree.delete(note, content_hash(b"\xff"))
    tree.delete(Locator("d/big"))
    assert tree.remove_empty_directory(Locator("d"))
    assert os.listdir(root) == []
    assert not tree.remove_empty_directory(Locator("d"))


def test_bytes_follow_no_link_either(root: Path) -> None:
    (root.parent / "outside").write_text("secret")
    (root / "a.md").symlink_to(root.parent / "outside")
    tree = FileStore(root).tree
    with pytest.raises(StorageIOError):
        tree.read(Locator("a.md"))
    assert tree.hash(Locator("a.md")) is None


@pytest.mark.parametrize(
    ("key", "place"),
    [
        ("notes/a.md", "_meta/conflicts/notes/a.md/unseen-0123456789ab.md"),
        ("x" * 200 + "/" + "y" * 199, f"_meta/conflicts/{'x' * 200}/{'y' * 199}/unseen-0123456789ab"),
        ("x" * 200 + "/" + "y" * 200, None),
    ],
)
def test_an_unseen_version_has_a_place_whatever_the_length_of_its_key(key: str, place: str | None) -> None:
    long = f"_meta/conflicts/long-{content_hash(key)}/unseen-0123456789ab"
    assert Medium().place_for_unseen(Locator(key), "0123456789abcdef") == Locator(place or long)


def test_what_people_did_not_see_lies_beside_the_file_that_they_edit() -> None:
    place = EditedFolder().place_for_unseen(Locator("a/PLAN.md"), "0123456789abcdef")
    assert place == Locator("a/PLAN (unseen 01234567).md")


def test_where_the_medium_is_not_here_its_bytes_are_not_either(tmp_path: Path) -> None:
    class Leaving(Medium):
        is_here = True

        def check_here(self) -> None:
            if not self.is_here:
                raise StorageIOError("it is not mounted")

    medium = Leaving()
    store = FileStore(tmp_path, medium=medium)
    assert store.tree is store.tree
    medium.is_here = False
    with pytest.raises(StorageIOError, match="not mounted"):
        _ = store.tree
