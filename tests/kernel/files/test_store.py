"""`FileStore`: what the verbs do over a real directory tree, with everything that may already lie in it."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

import pytest
from tests.kernel.files.verbs import tree, verbs

from agentm_kernel import Locator
from agentm_kernel.files import reading, writing
from agentm_kernel.files.reading import StoreReader
from agentm_kernel.files.tree import Directory
from agentm_kernel.plugin import (
    ABSENT,
    Appends,
    ConcurrentModificationError,
    DeviceFiles,
    FileStore,
    InvalidContentError,
    InvalidLocatorError,
    LocatorConflictError,
    LockTimeout,
    Medium,
    NotFoundError,
    StorageError,
    StorageIOError,
    StorageSelectionError,
    StoreIdentityError,
    content_hash,
    store_mutex,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentm_kernel.files.medium import Beside
    from agentm_kernel.plugin import Absent
from pathlib import Path

posix_only = pytest.mark.skipif(os.name == "nt", reason="needs POSIX files")


# ------------------------------------------------------------------------------------------------ read and write


def test_a_process_that_would_spell_names_otherwise_is_refused_a_store(root: Path, monkeypatch) -> None:
    monkeypatch.setattr("sys.getfilesystemencoding", lambda: "iso8859-1")

    with pytest.raises(StorageSelectionError, match="iso8859-1.*PYTHONUTF8=1"):
        FileStore(root)


@pytest.mark.parametrize(
    "text", ["", "a\n", "no newline", "a\r\nb\rc\n", "\ufeffbom", "nul \0 inside", "é 日本 \U0001f600", "x" * 300_000]
)
def test_text_comes_back_byte_for_byte(store: FileStore, root: Path, text: str) -> None:
    note = Locator("a.md")
    assert store.write(note, text) == note
    assert store.read(note) == text
    assert (root / "a.md").read_bytes() == text.encode()


def test_the_root_of_a_store_that_is_not_made_yet_is_an_empty_folder(tmp_path: Path) -> None:
    store = FileStore(tmp_path / "new", create_root=True)
    found = store.info(Locator())
    assert (found.is_dir, found.size, found.mtime, found.version) == (True, 0, 0.0, "")
    assert store.list(Locator()) == []
    assert not (tmp_path / "new").exists()


def test_directories_above_a_note_appear_by_themselves(store: FileStore, root: Path) -> None:
    store.write(Locator("a/b/c.md"), "x")
    assert tree(root) == {"a": None, "a/b": None, "a/b/c.md": b"x"}


def test_the_longest_names_that_a_key_allows_can_be_written(store: FileStore) -> None:
    note = Locator("a" * 200)
    store.write(note, "x")
    assert store.list(Locator()) == [note]


@pytest.mark.parametrize("content", [b"bytes", 5, None])
def test_content_that_is_not_text_is_refused(store: FileStore, root: Path, content: object) -> None:
    with pytest.raises(InvalidContentError):
        store.write(Locator("a.md"), content)  # type: ignore[arg-type]
    assert tree(root) == {}


def test_a_lone_surrogate_is_refused_before_anything_is_touched(store: FileStore, root: Path) -> None:
    with pytest.raises(InvalidContentError, match="a/b") as caught:
        store.write(Locator("a/b.md"), "bad \ud800")
    assert caught.value.hint == "decode the input with its real encoding first"
    assert tree(root) == {}


def test_a_note_over_the_limit_is_refused_both_ways(root: Path) -> None:
    store = FileStore(root, size_limit=10)
    store.write(Locator("a.md"), "0123456789")
    with pytest.raises(InvalidContentError):
        store.write(Locator("a.md"), "01234567890")
    with pytest.raises(InvalidContentError):
        store.write(Locator("a.md"), "é" * 6)
    assert store.read(Locator("a.md")) == "0123456789"
    (root / "big.md").write_bytes(b"x" * 11)
    with pytest.raises(InvalidContentError, match="big"):
        store.read(Locator("big.md"))


def test_bytes_that_are_not_utf_8_are_an_error_and_stay_as_they_are(store: FileStore, root: Path) -> None:
    (root / "a.md").write_bytes(b"caf\xe9")
    with pytest.raises(InvalidContentError, match=r"a\.md"):
        store.read(Locator("a.md"))
    with pytest.raises(ConcurrentModificationError):
        store.write(Locator("a.md"), "x", if_match=ABSENT)
    assert (root / "a.md").read_bytes() == b"caf\xe9"


@pytest.mark.parametrize(
    ("key", "why"),
    [
        ("absent.md", "'absent.md' does not exist"),
        ("absent/a.md", "'absent' does not exist"),
        ("absent/deep/a.md", "'absent/deep' does not exist"),
        ("dir", "'dir' is a directory, not a note"),
        ("file.md/below", "'file.md' is a file, so nothing is stored below it"),
        ("file.md/a/b", "'file.md' is a file, so nothing is stored below it"),
        ("", "the root of the store is a directory, not a note"),
    ],
)
def test_reading_what_is_no_note_is_not_found(store: FileStore, key: str, why: str) -> None:
    store.mkdir(Locator("dir"))
    store.write(Locator("file.md"), "x")
    with pytest.raises(NotFoundError, match=why):
        store.read(Locator(key))


@pytest.mark.parametrize(
    ("key", "why"),
    [
        ("", "the root of the store is a directory"),
        ("dir", "'dir' is a directory, so no note can be stored there"),
        ("file.md/below", "'file.md' is not a directory"),
        ("file.md/a/b", "'file.md' is not a directory"),
    ],
)
def test_writing_where_there_is_no_room_for_a_note_changes_nothing(
    store: FileStore, root: Path, key: str, why: str
) -> None:
    store.mkdir(Locator("dir"))
    store.write(Locator("file.md"), "x")
    before = tree(root)
    with pytest.raises(LocatorConflictError, match=why):
        store.write(Locator(key), "y")
    assert tree(root) == before


# ------------------------------------------------------------------------------------------------ conditions


def test_a_matching_hash_lets_a_write_through(store: FileStore) -> None:
    note = store.write(Locator("a.md"), "one", if_match=ABSENT)
    store.write(note, "two", if_match=content_hash("one"))
    assert store.read(note) == "two"


@pytest.mark.parametrize("condition", [content_hash("other"), "", "not a hash", ABSENT])
def test_a_condition_that_does_not_hold_writes_nothing(store: FileStore, root: Path, condition) -> None:
    store.write(Locator("a.md"), "one")
    with pytest.raises(ConcurrentModificationError):
        store.write(Locator("a.md"), "two", if_match=condition)
    assert tree(root) == {"a.md": b"one"}


def test_a_hash_for_a_note_that_is_gone_writes_nothing_and_makes_no_directory(store: FileStore, root: Path) -> None:
    for key in ("a.md", "b/c.md"):
        with pytest.raises(ConcurrentModificationError):
            store.write(Locator(key), "x", if_match=content_hash("x"))
    assert tree(root) == {}


@pytest.mark.parametrize("key", ["a.md", "b/c.md"])
def test_create_only_creates_once(store: FileStore, key: str) -> None:
    store.write(Locator(key), "first", if_match=ABSENT)
    with pytest.raises(ConcurrentModificationError):
        store.write(Locator(key), "second", if_match=ABSENT)
    assert store.read(Locator(key)) == "first"


# ------------------------------------------------------------------------------------------------ delete, mkdir


def test_delete_removes_one_file(store: FileStore, root: Path) -> None:
    store.write(Locator("a/b.md"), "x")
    store.delete(Locator("a/b.md"))
    assert tree(root) == {"a": None}


@pytest.mark.parametrize("key", ["absent", "a.md/below"])
def test_deleting_nothing_is_not_found(store: FileStore, key: str) -> None:
    store.write(Locator("a.md"), "x")
    with pytest.raises(NotFoundError):
        store.delete(Locator(key))


@pytest.mark.parametrize("key", ["a", ""])
def test_a_directory_is_not_deleted(store: FileStore, key: str) -> None:
    store.mkdir(Locator("a"))
    with pytest.raises(LocatorConflictError):
        store.delete(Locator(key))
    assert store.exists(Locator("a"))


def test_delete_honours_its_condition(store: FileStore) -> None:
    note = store.write(Locator("a.md"), "x")
    with pytest.raises(ConcurrentModificationError):
        store.delete(note, if_match=content_hash("y"))
    assert store.exists(note)
    store.delete(note, if_match=content_hash("x"))
    assert not store.exists(note)


def test_mkdir_is_content_with_what_is_there(store: FileStore, root: Path) -> None:
    assert store.mkdir(Locator("a/b")) == Locator("a/b")
    store.mkdir(Locator("a/b"))
    store.mkdir(Locator())
    assert tree(root) == {"a": None, "a/b": None}


@pytest.mark.parametrize("key", ["a.md", "a.md/b"])
def test_mkdir_onto_or_below_a_file_is_a_conflict(store: FileStore, key: str) -> None:
    store.write(Locator("a.md"), "x")
    with pytest.raises(LocatorConflictError):
        store.mkdir(Locator(key))


# ------------------------------------------------------------------------------------------------ looking around


def test_list_gives_the_immediate_children_sorted(store: FileStore) -> None:
    for key in ("b.md", "a/z.md", "a/y/x.md", "C.md"):
        store.write(Locator(key), "x")
    assert store.list(Locator()) == [Locator("C.md"), Locator("a"), Locator("b.md")]
    assert store.list(Locator("a")) == [Locator("a/y"), Locator("a/z.md")]


@pytest.mark.parametrize("key", ["absent", "a.md", "a.md/below", "empty"])
def test_list_of_anything_without_children_is_empty(store: FileStore, key: str) -> None:
    store.write(Locator("a.md"), "x")
    store.mkdir(Locator("empty"))
    assert store.list(Locator(key)) == []


def test_info_describes_files_and_directories(store: FileStore, root: Path) -> None:
    store.write(Locator("a/é.md"), "é\n")
    info = store.info(Locator("a/é.md"))
    assert (info.locator, info.is_dir, info.size) == (Locator("a/é.md"), False, 3)
    assert info.mtime == (root / "a" / "é.md").stat().st_mtime
    directory = store.info(Locator("a"))
    assert (directory.is_dir, directory.size) == (True, 0)
    assert store.info(Locator()).is_dir


def test_the_version_changes_with_every_write_even_of_the_same_length(store: FileStore) -> None:
    note = Locator("a.md")
    versions = [store.info(store.write(note, text)).version for text in ("one", "two", "two")]
    assert versions[0] != versions[1] != versions[2]
    assert store.info(note).version == versions[-1]


@pytest.mark.parametrize("key", ["absent", "a.md/below", "absent/a"])
def test_info_of_nothing_is_not_found_and_exists_says_so(store: FileStore, key: str) -> None:
    store.write(Locator("a.md"), "x")
    with pytest.raises(NotFoundError):
        store.info(Locator(key))
    assert not store.exists(Locator(key))


def test_walk_gives_parents_before_children_and_siblings_by_key(store: FileStore) -> None:
    for key in ("b.md", "a/z.md", "a/y/x.md"):
        store.write(Locator(key), key)
    keys = [info.locator.key for info in store.walk(Locator())]
    assert keys == ["a", "a/y", "a/y/x.md", "a/z.md", "b.md"]
    assert list(store.walk(Locator("absent"))) == list(store.walk(Locator("b.md"))) == []
    assert [info.locator.key for info in store.walk(Locator("a/y"))] == ["a/y/x.md"]


# ------------------------------------------------------------------------------------------------ the root


def test_a_missing_root_is_an_error_for_every_verb_and_is_not_made(tmp_path: Path) -> None:
    store = FileStore(tmp_path / "unmounted")
    for name, verb in verbs(store, "a.md").items():
        with pytest.raises(StorageIOError) as caught:
            verb()
        assert caught.value.errno == errno.ENOENT, name
    for look in (lambda: store.list(Locator()), lambda: list(store.walk(Locator())), lambda: store.info(Locator())):
        with pytest.raises(StorageIOError):
            look()
    assert list(tmp_path.iterdir()) == []


def test_a_store_that_may_make_its_root_is_empty_until_the_first_write_makes_it(tmp_path: Path) -> None:
    store = FileStore(tmp_path / "a" / "b", create_root=True)
    assert store.list(Locator()) == list(store.walk(Locator())) == []
    assert store.exists(Locator())
    assert store.info(Locator()).is_dir
    assert not store.exists(Locator("note.md"))
    with pytest.raises(NotFoundError):
        store.read(Locator("note.md"))
    assert list(tmp_path.iterdir()) == []
    store.write(Locator("note.md"), "x")
    assert FileStore(tmp_path / "a" / "b").read(Locator("note.md")) == "x"


def test_a_file_in_the_place_of_the_root_is_an_error_and_stays(tmp_path: Path) -> None:
    (tmp_path / "root").write_text("a file")
    for store in (FileStore(tmp_path / "root"), FileStore(tmp_path / "root", create_root=True)):
        for verb in verbs(store, "a.md").values():
            with pytest.raises(StorageIOError):
                verb()
    assert (tmp_path / "root").read_text() == "a file"


@pytest.mark.parametrize("create_root", [True, False])
def test_a_root_that_vanishes_after_it_was_seen_is_an_error_and_not_made_again(root: Path, create_root: bool) -> None:
    store = FileStore(root, create_root=create_root)
    store.write(Locator("a.md"), "x")
    root.rename(root.with_name("elsewhere"))
    for verb in verbs(store, "a.md").values():
        with pytest.raises(StorageIOError):
            verb()
    assert not root.exists()


def test_another_folder_in_the_place_of_the_root_is_refused(root: Path) -> None:
    store = FileStore(root)
    store.write(Locator("a.md"), "x")
    root.rename(root.with_name("elsewhere"))
    root.mkdir()
    for verb in verbs(store, "a.md").values():
        with pytest.raises(StoreIdentityError):
            verb()
    assert list(root.iterdir()) == []


def test_a_link_that_the_operator_named_as_root_is_followed(root: Path) -> None:
    (root.parent / "alias").symlink_to(root)
    FileStore(root.parent / "alias").write(Locator("a.md"), "x")
    assert FileStore(root).read(Locator("a.md")) == "x"


def test_a_relative_root_means_the_directory_of_the_moment_of_opening(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(root.parent)
    store = FileStore("store")
    monkeypatch.chdir("/")
    store.write(Locator("a.md"), "x")
    assert (root / "a.md").exists()
    assert store.describe() == str(root)
    assert store.device_path(Locator("b/c.md")) == str(root / "b" / "c.md")
    assert store.device_path(Locator()).rstrip(os.sep) == str(root)


# ------------------------------------------------------------------------------------------------ the rest


def test_a_note_that_comes_while_strangers_are_sought_is_none_of_them(root: Path, monkeypatch) -> None:
    """A checkpoint that met a save said that the note was none, and failed."""
    store = FileStore(root)
    look = Directory.kinds

    def look_before_a_save(self: Directory) -> dict[str, int]:
        seen = look(self)
        (root / f"{len(os.listdir(root))}.md").touch()
        return seen

    monkeypatch.setattr(Directory, "kinds", look_before_a_save)
    assert list(store.foreign_entries(Locator())) == []


def test_hidden_names_are_neither_listed_nor_read_nor_taken_as_keys(root: Path) -> None:
    class Hiding(Medium):
        def is_hidden(self, name: str) -> bool:
            return name.endswith(".tool")

    store = FileStore(root, medium=Hiding())
    (root / "a.tool").touch()
    store.write(Locator("a.md"), "x")
    assert store.list(Locator()) == [Locator("a.md")]
    assert list(store.foreign_entries(Locator())) == []
    assert not store.exists(Locator("a.tool"))
    with pytest.raises(NotFoundError):
        store.read(Locator("a.tool"))
    for key in ("a.tool", "b.tool", "b.tool/c.md"):
        with pytest.raises(InvalidLocatorError):
            store.write(Locator(key), "x")
        with pytest.raises(InvalidLocatorError):
            store.mkdir(Locator(key))


def test_conflict_copies_are_hidden_and_directories_are_never_copies(root: Path) -> None:
    class Copied(Medium):
        def is_copy(self, name: str, beside: Beside) -> bool:
            return name.endswith(" 2") and beside(name.removesuffix(" 2"))

    store = FileStore(root, medium=Copied())
    for name in ("a", "a 2", "b 2"):
        (root / name).write_text(name)
    for name in ("d", "d 2"):
        (root / name).mkdir()
    (root / "d" / "e").mkdir()
    (root / "d" / "e 2").write_text("beside a directory")
    assert [child.key for child in store.list(Locator())] == ["a", "b 2", "d", "d 2"]
    assert store.list(Locator("d")) == [Locator("d/e"), Locator("d/e 2")]
    assert list(store.foreign_entries(Locator())) == []
    with pytest.raises(NotFoundError, match="conflict copy"):
        store.read(Locator("a 2"))
    for key in ("a 2", "a 2/below"):
        with pytest.raises((InvalidLocatorError, LocatorConflictError)):
            store.write(Locator(key), "x")
    store.write(Locator("d 2/f"), "x")
    store.write(Locator("b 2"), "x")


def test_a_store_may_refuse_to_wait_for_a_file_that_is_not_here(root: Path) -> None:
    class Elsewhere(Medium):
        def before_reading(self, locator: Locator, status: os.stat_result) -> None:
            raise StorageIOError(f"'{locator}' is not on this device")

    FileStore(root).write(Locator("a.md"), "x")
    with pytest.raises(StorageIOError, match="not on this device"):
        FileStore(root, medium=Elsewhere()).read(Locator("a.md"))
    with pytest.raises(StorageIOError, match="not on this device"):
        FileStore(root, medium=Elsewhere()).write(Locator("a.md"), "y", if_match=content_hash("x"))


def test_writers_wait_for_the_mutex_and_readers_do_not(root: Path, hold) -> None:
    FileStore(root).write(Locator("a.md"), "x")
    hold(root)
    store = FileStore(root, lock_timeout=0.1)
    for verb in ("write", "create", "replace", "mkdir", "delete"):
        with pytest.raises(LockTimeout, match=r"for 0\.1 s"):
            verbs(store, "a.md")[verb]()
    assert store.read(Locator("a.md")) == "x"
    assert store.list(Locator()) == [Locator("a.md")]
    assert store.exists(Locator("a.md"))


def test_a_verb_works_inside_the_store_s_own_mutex(store: FileStore, root: Path) -> None:
    with store_mutex(root):
        store.write(Locator("a.md"), "x")
    assert store.read(Locator("a.md")) == "x"


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs /proc")
def test_no_verb_leaks_a_descriptor(store: FileStore) -> None:
    store.write(Locator("d/a.md"), "x")
    before = len(os.listdir("/proc/self/fd"))
    for key in ("d/a.md", "d", "absent/b", "d/a.md/below", "D/x"):
        for verb in verbs(store, key).values():
            try:
                verb()
            except (StorageError, ConcurrentModificationError):
                continue
    assert len(os.listdir("/proc/self/fd")) <= before


def test_the_capabilities_are_those_of_files_on_this_device(store: FileStore) -> None:
    capabilities = store.capabilities
    assert (capabilities.concurrent_writers, capabilities.device_files, capabilities.delete) == (True, True, True)
    assert (capabilities.sync, capabilities.conflict_files, capabilities.encryption) == (False, False, False)


def test_a_reader_that_looks_just_before_another_thread_makes_the_root_sees_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = FileStore(tmp_path / "new", create_root=True)
    real = reading.open_root

    def too_early(path: str, **options: bool) -> object:
        monkeypatch.setattr(reading, "open_root", real)
        store.write(Locator("a.md"), "x")  # the other thread, between our look and its answer
        raise FileNotFoundError(path)

    monkeypatch.setattr(reading, "open_root", too_early)
    with pytest.raises(NotFoundError):
        store.info(Locator("a.md"))
    assert store.read(Locator("a.md")) == "x"


def test_the_place_of_a_store_may_be_there_already(root: Path) -> None:
    FileStore(root).make_place()
    (root / "file").touch()
    with pytest.raises(StorageIOError, match="cannot make the folder") as caught:
        FileStore(root / "file" / "below").make_place()
    assert caught.value.errno == errno.ENOTDIR


def test_a_store_with_a_rule_for_its_writes_does_not_append_past_it(root: Path) -> None:
    class Ruled(FileStore):
        def write(self, locator: Locator, content: str, *, if_match: str | Absent | None = None) -> Locator:
            return super().write(locator, content.upper(), if_match=if_match)

    class RuledTwice(Ruled):
        def append(self, locator: Locator, text: str) -> Locator:
            return super().append(locator, text.upper())

    plain, ruled, both = FileStore(root), Ruled(root), RuledTwice(root)
    assert (plain.facet(Appends), ruled.facet(Appends), both.facet(Appends)) == (plain, None, both)
    assert ruled.facet(DeviceFiles) is ruled


@pytest.mark.parametrize(
    ("looking", "verb"),
    [
        ("read_bytes", lambda store: store.read(Locator("a.md"))),
        ("existing", lambda store: store.info(Locator("a.md"))),
        ("listed", lambda store: store.list(Locator())),
    ],
    ids=["read", "info", "list"],
)
def test_what_vanishes_while_it_is_looked_at_is_absent(
    store: FileStore, looking: str, verb: Callable[[FileStore], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    def vanish(*_: object) -> None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))

    monkeypatch.setattr(StoreReader, looking, vanish)
    with pytest.raises(NotFoundError, match="does not exist"):
        verb(store)


@pytest.mark.parametrize(
    ("place", "create_root", "may_write", "why"),
    [
        ("store", False, True, ""),
        ("store", False, False, "store is not writable"),
        ("missing", False, True, "missing is missing"),
        ("missing/deep", True, True, ""),
        ("missing/deep", True, False, "is not writable"),
        ("file", False, True, "file is not a folder"),
        ("file", True, True, "file is not a folder"),
        ("file/deep", True, True, "file is not a folder"),
    ],
)
def test_a_store_is_usable_where_its_folder_is_or_may_be_made(
    tmp_path: Path, place: str, create_root: bool, may_write: bool, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "store").mkdir()
    (tmp_path / "file").touch()
    monkeypatch.setattr(os, "access", lambda path, mode: may_write)  # root may write anywhere
    store = FileStore(tmp_path / place, create_root=create_root)
    if why:
        with pytest.raises(StorageSelectionError, match=why):
            store.check_usable(read_only=False)
    else:
        store.check_usable(read_only=False)
    if not may_write:
        store.check_usable(read_only=True)


def test_only_a_note_that_was_empty_is_looked_at_twice(store: FileStore, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = []
    monkeypatch.setattr(writing, "wait_until_settled", looks.append)
    for number, (old, new) in enumerate((("one", "two"), ("", "two"))):
        note = store.write(Locator(f"{number}.md"), old)
        store.write(note, new, if_match=content_hash(old))
        store.write(note, new)
        assert len(looks) == number
