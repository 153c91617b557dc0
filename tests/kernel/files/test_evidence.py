from __future__ import annotations

import errno
import os
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agentm_kernel.errors import ConfigError
from agentm_kernel.files import evidence, gathering
from agentm_kernel.files.evidence import (
    observe,
    read_small_file,
    saw_file,
    saw_more,
    saw_nothing,
    saw_process,
    settled_signature,
)
from agentm_kernel.files.gathering import Gathering

if TYPE_CHECKING:
    from collections.abc import Callable


def read(path: str) -> bytes:
    """A reader as rooms have them: it says what it read."""
    with open(path, "rb") as file:
        trusted = settled_signature(os.fstat(file.fileno()))
        data = file.read()
    saw_file(path, trusted, data, read)
    return data


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "file"
    path.write_bytes(b"one")
    return path


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file counts as old, so that its signature alone is trusted."""
    monkeypatch.setattr(evidence, "_SETTLED_AFTER_NS", -(10**18))


def gathered(*looks):
    with Gathering() as found:
        for look in looks:
            look()
    return found


def test_what_is_not_looked_at_holds_for_ever():
    assert gathered().holds()


def test_outside_of_a_gathering_nothing_is_kept(file):
    read(str(file))
    saw_process()
    saw_more()
    assert observe(os.path.exists, str(file)) is True


def test_a_file_that_does_not_change_holds(file):
    found = gathered(lambda: read(str(file)))

    assert found.holds()
    assert found.holds()


@pytest.mark.parametrize("is_settled", [True, False])
def test_every_way_to_change_a_file_is_seen(file, tmp_path, is_settled, monkeypatch):
    if is_settled:
        monkeypatch.setattr(evidence, "_SETTLED_AFTER_NS", -(10**18))

    def replace() -> None:
        other = tmp_path / "other"
        other.write_bytes(b"two")
        os.replace(other, file)

    def link_elsewhere() -> None:
        (tmp_path / "target").write_bytes(b"six")
        file.unlink()
        file.symlink_to(tmp_path / "target")

    changes = {
        "replaced": replace,
        "made longer": lambda: file.write_bytes(b"three"),
        "made a link": link_elsewhere,
        "removed": file.unlink,
    }
    for name, change in changes.items():
        found = gathered(lambda: read(str(file)))
        assert found.holds()
        change()
        assert not found.holds(), name


@pytest.mark.usefixtures("settled")
def test_a_settled_file_is_looked_at_and_not_read(file, monkeypatch):
    found = gathered(lambda: read(str(file)))
    monkeypatch.setattr(gathering._File, "_has_same_content", lambda *_: pytest.fail("it was read"))

    assert found.holds()


def test_a_change_within_one_tick_of_the_clock_is_seen(file, monkeypatch):
    """Same inode, same size, same times: only the bytes tell."""
    found = gathered(lambda: read(str(file)))
    before = file.stat()
    file.write_bytes(b"two")
    monkeypatch.setattr(gathering, "signature_of", lambda _: settled_signature(before) or ())

    assert not found.holds()


def test_a_file_that_was_only_touched_holds_and_is_trusted_anew(file, monkeypatch):
    monkeypatch.setattr(evidence, "_SETTLED_AFTER_NS", -(10**18))
    found = gathered(lambda: read(str(file)))
    os.utime(file, ns=(1, 1))
    assert found.holds()
    monkeypatch.setattr(gathering._File, "_has_same_content", lambda *_: pytest.fail("it was read again"))

    assert found.holds()


def test_a_young_file_without_a_reader_does_not_hold(file):
    found = gathered(lambda: saw_file(str(file), settled_signature(file.stat()), None, None))

    assert not found.holds()


def test_what_was_missing_is_seen_when_it_appears(tmp_path):
    path = tmp_path / "marker"
    found = gathered(lambda: saw_nothing(str(path)))
    assert found.holds()
    path.symlink_to("nowhere")

    assert not found.holds()


def test_a_look_is_repeated_and_compared(tmp_path):
    found = gathered(lambda: observe(os.path.isdir, str(tmp_path / "folder")))
    assert found.holds()
    (tmp_path / "folder").mkdir()

    assert not found.holds()


def test_a_look_that_fails_does_not_hold():
    answers = iter([1, ConfigError("broken")])

    def look(_: str) -> int:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    assert not gathered(lambda: observe(look, "place")).holds()


def test_the_environment_and_the_search_path_have_a_say(monkeypatch):
    found = gathered(saw_process)
    assert found.holds()
    with monkeypatch.context() as patch:
        patch.setenv("SOME_VARIABLE", "x")
        assert not found.holds()
    assert found.holds()
    with monkeypatch.context() as patch:
        patch.setattr(sys, "path", [*sys.path, "elsewhere"])
        assert not found.holds()


def test_what_cannot_be_looked_at_again_never_holds():
    assert not gathered(saw_more).holds()


def test_a_gathering_that_fails_never_holds_nor_does_the_one_around_it(file):
    def fail() -> None:
        with Gathering() as inner:
            failed.append(inner)
            read(str(file))
            raise RuntimeError

    failed = []
    with Gathering() as outer, pytest.raises(RuntimeError):
        fail()

    assert not failed[0].holds()
    assert not outer.holds()


def test_what_changes_while_an_answer_is_found_is_evidence_for_nothing(file):
    def change() -> None:
        file.write_bytes(b"another")

    found = gathered(lambda: read(str(file)), change, lambda: read(str(file)), lambda: file.write_bytes(b"one"))

    assert not found.holds()


def test_an_outer_gathering_knows_what_the_inner_one_saw(file):
    with Gathering() as outer, Gathering():
        read(str(file))
    file.write_bytes(b"another")

    assert not outer.holds()


def test_an_earlier_answer_lends_its_evidence(file):
    earlier = gathered(lambda: read(str(file)))
    later = gathered(lambda: earlier.lend())
    assert later.holds()
    file.write_bytes(b"another")

    assert not later.holds()


def test_threads_do_not_see_each_others_looks(file, tmp_path):
    inside, looked = threading.Event(), threading.Event()

    def elsewhere() -> None:
        inside.wait(10)
        read(str(file))
        saw_more()
        looked.set()

    thread = threading.Thread(target=elsewhere)
    thread.start()
    with Gathering() as found:
        inside.set()
        assert looked.wait(10)
        saw_nothing(str(tmp_path / "nothing"))
    thread.join()
    file.unlink()

    assert found.holds()


# ------------------------------------------------------------------------------------------------ small files


@pytest.mark.parametrize("size", [0, 1, 99, 100])
def test_a_small_file_is_read_to_its_end(tmp_path: Path, size: int) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"x" * size)
    (tmp_path / "link").symlink_to(file)
    for path in (file, tmp_path / "link"):
        os.utime(file, (1, 1))
        data, trusted = read_small_file(str(path), 100)
        assert data == b"x" * size
        assert trusted is None  # its change of status is too recent


def test_a_file_that_is_larger_than_it_says_is_read_to_its_end() -> None:
    if not os.path.exists("/proc/self/status"):
        pytest.skip("needs /proc")
    assert b"VmPeak" in read_small_file("/proc/self/status", 1_000_000)[0]


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (os.mkfifo, errno.EINVAL),
        (os.mkdir, errno.EINVAL),
        (lambda path: path.write_bytes(b"x" * 101), errno.EFBIG),
        (lambda path: path.symlink_to(path), errno.ELOOP),
        (lambda path: None, errno.ENOENT),
    ],
    ids=["fifo", "folder", "large", "loop", "absent"],
)
def test_what_is_no_small_file_is_an_error_at_once(tmp_path: Path, make: Callable[[Path], None], code: int) -> None:
    make(tmp_path / "it")
    before = len(os.listdir("/dev/fd"))
    with pytest.raises(OSError) as caught:
        read_small_file(str(tmp_path / "it"), 100)
    assert caught.value.errno == code
    assert len(os.listdir("/dev/fd")) == before
