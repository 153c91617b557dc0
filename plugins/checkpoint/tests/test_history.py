"""Every change through agentm is in the history of its store, and can be undone."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

import pytest

from agentm_checkpoint.caches import save_cache
from agentm_checkpoint.command_history import undo
from agentm_checkpoint.events import _touch
from agentm_checkpoint.history import History
from agentm_checkpoint.page import _write_back
from agentm_checkpoint.past import Past, open_past
from agentm_kernel import Locator, select_backend, update
from agentm_kernel.plugin import (
    ConcurrentModificationError,
    Device as ThisDevice,
    IntegrityError,
    NotFoundError,
    content_hash,
    store_mutex,
)

NOTE = Locator("notes/a.md")


@pytest.fixture
def history(tmp_path):
    return History(str(tmp_path / "history"), days=90, megabytes=1)


def versions(history, key="a.md"):
    changes = history.read()
    return [None if entry.old is None else changes.read(entry.old).decode() for entry in changes.of(key)]


# ------------------------------------------------------------------------------------------------ the file


def test_no_file_is_an_empty_history(history):
    changes = history.read()

    assert (changes.entries, changes.head, changes.problems()) == ([], None, [])


def test_versions_come_back_byte_for_byte_in_order(tmp_path):
    history = History(str(tmp_path / "history"), days=90, megabytes=16)
    texts = ["\ufeffone\r\n", "", "two\0", "ï🧠\n", "long line\n" * 300_000]
    history.record("a.md", None, texts[0])
    for old, new in zip(texts, [*texts[1:], None], strict=True):
        history.record("a.md", old, new)

    assert versions(history) == [None, *texts]
    assert [entry.what for entry in history.read().entries] == ["created", *["changed"] * 4, "deleted"]
    assert history.read().problems() == []


def test_each_entry_names_the_one_before(history):
    for number in range(5):
        history.record(f"{number}.md", str(number), "new")
    entries = history.read().entries

    assert [entry.before for entry in entries] == [None, *(entry.id for entry in entries[:-1])]
    assert history.read().head == entries[-1].id


def test_a_write_that_is_tried_again_is_one_change(history):
    for _ in range(3):
        history.record("a.md", "old", "new")

    assert versions(history) == ["old"]


def test_the_file_is_private_whatever_the_umask_is(history):
    before = os.umask(0)
    try:
        history.record("a.md", "old", "new")
    finally:
        os.umask(before)

    assert os.stat(history.path).st_mode & 0o777 == 0o600
    assert os.stat(history.folder).st_mode & 0o777 == 0o700


def test_cut_anywhere_it_keeps_every_entry_before_and_goes_on(history):
    for number in range(4):
        history.record("a.md", f"version {number}", f"version {number + 1}")
    with open(history.path, "rb") as file:
        good = file.read()
    changes = history.read()
    ends = [group[-1][2] for group in changes.groups]
    for cut in range(1, len(good)):
        with open(history.path, "wb") as file:
            file.write(good[:cut])

        history.record("b.md", "other", "new")

        complete = sum(end <= cut for end in ends)
        assert versions(history) == [f"version {number}" for number in range(complete)]
        assert versions(history, "b.md") == ["other"]
        assert history.read().problems() == []


def test_a_changed_byte_is_named_and_costs_one_change(history):
    for number in range(3):
        history.record("a.md", f"version {number}", f"version {number + 1}")
    with open(history.path, "rb") as file:
        good = file.read()
    for place in range(len(good)):
        with open(history.path, "wb") as file:
            file.write(good[:place] + bytes([good[place] ^ 1 << place % 8]) + good[place + 1 :])

        changes = history.read()

        assert changes.problems(), place
        assert len(changes.entries) >= 2, place


def test_an_entry_that_was_taken_out_is_noticed(history):
    for number in range(3):
        history.record("a.md", f"version {number}", f"version {number + 1}")
    with open(history.path, "rb") as file:
        data = file.read()
    groups = history.read().groups
    start, end = groups[0][-1][2], groups[1][-1][2]
    with open(history.path, "wb") as file:
        file.write(data[:start] + data[end:])

    assert "is missing" in history.read().problems()[0]


def test_it_is_bounded_by_size_and_keeps_the_newest(history):
    for number in range(40):
        history.record("a.md", f"{number} " * 30_000, f"{number + 1}")

    assert os.path.getsize(history.path) <= 1 << 20
    kept = versions(history)
    assert kept[-1] == "39 " * 30_000
    assert 5 < len(kept) < 40
    assert history.read().problems() == []


def test_it_holds_the_newest_days_on_which_something_was_changed(history, monkeypatch):
    for day in range(100):
        monkeypatch.setattr(time, "time", lambda at=1_800_000_000 + day * 5 * 86_400: at)
        history.record("a.md", str(day), str(day + 1))

    history.prune()

    assert versions(history) == [str(day) for day in range(10, 100)]
    assert history.read().problems() == []


@pytest.mark.parametrize("wrong", [4_000_000_000, 0], ids=["far ahead", "far back"])
@pytest.mark.parametrize("writes", [False, True])
def test_a_clock_that_is_wrong_for_an_hour_costs_no_version(history, monkeypatch, wrong, writes):
    history.record("a.md", "one", "two")
    monkeypatch.setattr(time, "time", lambda: wrong)
    if writes:
        history.record("a.md", "two", "three")
    history.prune()
    monkeypatch.undo()
    history.record("a.md", "three", "four")
    history.prune()

    assert versions(history) == ["one", "two", "three"] if writes else ["one", "three"]


WRITER = """
import sys
from agentm_checkpoint.history import History
history = History(sys.argv[1], days=90, megabytes=64)
for number in range(int(sys.argv[3])):
    history.record(f"{sys.argv[2]}.md", f"{sys.argv[2]} {number}", "new")
    print(number, flush=True)
"""


def test_writers_at_once_all_have_their_entries(history):
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, history.folder, name, "50"]) for name in "abcd"]
    assert [writer.wait(60) for writer in writers] == [0] * 4

    for name in "abcd":
        assert versions(history, f"{name}.md") == [f"{name} {number}" for number in range(50)]
    assert history.read().problems() == []


def test_a_killed_writer_loses_nothing_that_it_acknowledged(history):
    for _ in range(5):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, history.folder, "a", "100000"], stdout=subprocess.PIPE, text=True
        )
        lines = [writer.stdout.readline() for _ in range(20)]
        writer.kill()
        lines += [line for line in writer.stdout if line.endswith("\n")]
        writer.wait()
        writer.stdout.close()
        assert f"a {int(lines[-1])}" in versions(history)
        history.record("b.md", "b", f"{time.time()}")
        assert history.read().problems() == []


# ------------------------------------------------------------------------------------------------ every write


def entries_of(device, key=NOTE.key):
    return [(entry["what"], entry["version"]) for entry in device.json("history", key)["changes"]]


def short(text):
    return content_hash(text)[:12]


def test_every_change_through_agentm_is_in_it(device):
    store = select_backend()
    store.write(NOTE, "one")
    store.write(NOTE, "two", if_match=content_hash("one"))
    store.write(NOTE, "three")
    update(store, NOTE, lambda text: text + "!")
    store.delete(NOTE)

    assert entries_of(device) == [
        ("created", None),
        ("changed", short("one")),
        ("changed", short("two")),
        ("changed", short("three")),
        ("deleted", short("three!")),
    ]


def test_the_history_of_a_note_is_told_under_its_name(device):
    store = select_backend()
    for text in ("one", "x" * 1234, "three"):
        store.write(NOTE, text)

    name, first, _, last = device.run("history", "a").splitlines()

    assert name == NOTE.key
    assert first.split()[-3:] == ["created", "-", "-"]
    assert last.split()[-3:] == ["changed", short("x" * 1234), "1,234"]


def test_what_is_refused_replaces_nothing(device):
    store = select_backend()
    store.write(NOTE, "one")

    with pytest.raises(ConcurrentModificationError):
        store.write(NOTE, "two", if_match=content_hash("other"))
    with pytest.raises(NotFoundError):
        store.delete(Locator("nothing.md"))

    assert store.read(NOTE) == "one"
    assert entries_of(device) == [("created", None)]


def test_reading_puts_no_layer_on_and_writes_nothing(device):
    store = select_backend(read_only=True)

    assert type(store).__name__ == "IdentityGuard"
    assert not list(device.home.rglob("history*"))


def test_a_history_that_cannot_be_written_is_reported_and_the_note_is_written(device, capfd):
    select_backend().write(NOTE, "one")
    (file,) = device.home.rglob("history.car")
    file.unlink()
    file.mkdir()

    select_backend().write(NOTE, "two")

    assert device.store.read(NOTE) == "two"
    assert "history" in capfd.readouterr().err


def test_where_nobody_listens_there_is_no_layer(device):
    device.configure(plugin_policy__disabled=["agentm-checkpoint"])

    assert type(select_backend()).__name__ == "IdentityGuard"


# ------------------------------------------------------------------------------------------------ undo


def test_undo_takes_the_last_change_back_and_can_be_undone(device):
    store = select_backend()
    for text in ("one\n", "two\n", "three\n"):
        store.write(NOTE, text)

    device.run("undo", NOTE.key)
    assert device.store.read(NOTE) == "two\n"
    device.run("undo", NOTE.key)
    assert device.store.read(NOTE) == "three\n"
    device.run("undo", "a", short("one\n")[:6])
    assert device.store.read(NOTE) == "one\n"
    assert entries_of(device)[-1] == ("back to " + short("one\n"), short("three\n"))


def test_undo_brings_a_deleted_note_back(device):
    store = select_backend()
    store.write(NOTE, "precious\n")
    store.delete(NOTE)

    assert "brought back" in device.run("undo", "a.md")

    assert device.store.read(NOTE) == "precious\n"


def test_a_change_from_outside_is_not_overwritten_unseen(device):
    """What an editor wrote is what undo replaces, so it is in the history then."""
    store = select_backend()
    store.write(NOTE, "one\n")
    store.write(NOTE, "two\n")
    device.store.write(NOTE, "by hand\n")

    device.run("undo", NOTE.key)

    assert device.store.read(NOTE) == "one\n"
    assert entries_of(device)[-1] == ("back to " + short("one\n"), short("by hand\n"))


def test_a_version_can_be_read(device):
    store = select_backend()
    store.write(NOTE, "\ufeffone\r\n")
    store.write(NOTE, "two\n")

    result = device.result("history", NOTE.key, "--show", short("\ufeffone\r\n"))

    assert result.stdout_bytes == "\ufeffone\r\n".encode()


def test_the_version_that_a_note_has_is_not_brought_back(device):
    store = select_backend()
    for text in ("one\n", "two\n", "one\n"):
        store.write(NOTE, text)
    before = entries_of(device)

    result = device.result("undo", NOTE.key, short("one\n"))

    assert "is that version already" in str(result.exception)
    assert entries_of(device) == before


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("undo", "nothing"), "has no history of 'nothing'"),
        (("history", "notes/never-changed-here.md"), "has no history of 'notes/never-changed-here.md'"),
        (("undo", "notes/a.md"), "no earlier version"),
        (("undo", "notes/a.md", "ffffffff"), "no version"),
        (("history", "note"), "several"),
    ],
)
def test_what_cannot_be_undone_is_refused_with_the_reason(device, arguments, words):
    store = select_backend()
    store.write(NOTE, "one\n")
    store.write(Locator("x/note.md"), "one\n")
    store.write(Locator("y/note.md"), "one\n")

    result = device.result(*arguments)

    assert isinstance(result.exception, NotFoundError)
    assert words in result.exception.message
    assert device.store.read(NOTE) == "one\n"


def test_a_damaged_history_is_not_one_without_changes(device):
    store = select_backend()
    store.write(NOTE, "one\n")
    (file,) = device.home.rglob("history.car")
    whole = file.read_bytes()
    file.write_bytes(bytes(len(whole)))

    for command in ("history", "undo"):
        refused = device.result(command, "a").exception
        assert isinstance(refused, IntegrityError)
        assert f"{len(whole):,} bytes at byte 0 are damaged" in refused.message

    file.write_bytes(b"")
    for command in ("history", "undo"):
        refused = device.result(command, "a").exception
        assert isinstance(refused, IntegrityError)
        assert "is not whole: it is empty" in refused.message

    file.write_bytes(whole + b"\x50half a frame")
    listed = device.result("history", "a")
    assert "created" in listed.output
    assert "are damaged" in listed.stderr


def test_verify_compares_the_history_too(device):
    store = select_backend()
    store.write(NOTE, "one\n")
    store.write(NOTE, "two\n")
    assert "the history is whole: 2 changes" in device.run("verify")

    (file,) = device.home.rglob("history.car")
    data = file.read_bytes()
    file.write_bytes(data.replace(b"one\n", b"0ne\n"))
    result = device.result("verify")
    assert result.return_value == 1
    assert "history:" in result.stdout


def test_a_history_whose_end_was_cut_off_is_noticed_by_the_checkpoint_that_knew_it(device):
    store = select_backend()
    store.write(NOTE, "one\n")
    store.write(NOTE, "two\n")
    store.write(NOTE, "three\n")
    device.run("create")
    (file,) = device.home.rglob("history.car")
    history = History(str(file.parent), days=90, megabytes=1)
    groups = history.read().groups
    file.write_bytes(file.read_bytes()[: groups[1][-1][2]])

    result = device.result("verify")

    assert result.return_value == 1
    assert "knew a later change" in result.stdout


def test_undo_replaces_nothing_that_is_written_meanwhile(device, monkeypatch):
    store = select_backend()
    for text in ("one\n", "two\n"):
        store.write(NOTE, text)
    real = Past.read

    def read_while_an_editor_writes(past, *arguments):
        (device.root / NOTE.key).write_text("theirs\n")
        return real(past, *arguments)

    monkeypatch.setattr(Past, "read", read_while_an_editor_writes)
    with pytest.raises(ConcurrentModificationError):
        undo(store, open_past(store, ThisDevice.now()), NOTE.key)
    assert device.store.read(NOTE) == "theirs\n"


@pytest.mark.skipif(os.name == "nt", reason="there are no modes")
def test_what_is_kept_beside_the_store_nobody_else_may_read(tmp_path):
    folder = tmp_path / "state"
    before = os.umask(0)
    try:
        save_cache(str(folder / "cache"), b"what was found")
        _touch(str(folder / "looked"))
        History(str(folder), days=90, megabytes=1).record("a.md", "old", "new")
    finally:
        os.umask(before)
    kept = [path for path in folder.rglob("*") if path.is_file()]
    assert len(kept) >= 3
    assert {oct(path.stat().st_mode & 0o777) for path in kept} == {"0o600"}


@pytest.mark.parametrize("change", ["record", "prune"])
def test_the_file_is_changed_by_one_at_a_time(history, change):
    history.record("a.md", "old", "new")
    size = os.path.getsize(history.path)
    long_ago = History(history.folder, days=0, megabytes=1)
    work = {"record": lambda: history.record("b.md", "old", "new"), "prune": long_ago.prune}[change]
    with store_mutex(history.folder):
        changing = threading.Thread(target=work)
        changing.start()
        changing.join(0.5)
        assert os.path.getsize(history.path) == size
    changing.join(10)
    assert os.path.getsize(history.path) != size


@pytest.mark.parametrize("shown", ["absent", content_hash("what the page showed")])
def test_the_page_replaces_only_what_it_showed(memory, shown):
    memory.write(NOTE, "theirs\n")
    with pytest.raises(ConcurrentModificationError):
        _write_back(memory, NOTE.key, "mine\n", shown)
    assert memory.read(NOTE) == "theirs\n"
    _write_back(memory, NOTE.key, "mine\n", content_hash("theirs\n"))
    assert memory.read(NOTE) == "mine\n"
