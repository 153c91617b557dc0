"""Two names swapped in one step, where the system can; and a plain `False` where it cannot."""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import sys
from typing import TYPE_CHECKING
from unittest import mock

import pytest

from agentm_kernel.files import exchange as module
from agentm_kernel.files.exchange import exchange, rename_to_free
from agentm_kernel.files.tree import PathDirectory, open_root

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

can_exchange = pytest.mark.skipif(sys.platform not in ("linux", "darwin"), reason="this system cannot exchange names")


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[int]:
    (tmp_path / "a").write_text("was a")
    (tmp_path / "b").write_text("was b")
    descriptor = os.open(tmp_path, os.O_RDONLY)
    yield descriptor
    os.close(descriptor)


@can_exchange
def test_both_names_change_hands(folder: int, tmp_path: Path) -> None:
    assert exchange(folder, "a", "b")
    assert (tmp_path / "a").read_text() == "was b"
    assert (tmp_path / "b").read_text() == "was a"


@can_exchange
def test_a_file_and_a_directory_can_change_places(folder: int, tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    assert exchange(folder, "a", "d")
    assert (tmp_path / "a").is_dir()
    assert (tmp_path / "d").read_text() == "was a"


@can_exchange
def test_a_name_that_is_missing_is_an_error_and_nothing_is_done(folder: int, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        exchange(folder, "a", "missing")
    assert (tmp_path / "a").read_text() == "was a"


@can_exchange
def test_names_are_what_the_file_system_has_not_what_is_printable(folder: int, tmp_path: Path) -> None:
    odd = os.fsdecode(b"\xff\xfe")
    try:
        (tmp_path / odd).write_text("odd")
    except OSError:
        pytest.skip("this file system wants text")
    assert exchange(folder, "a", odd)
    assert (tmp_path / "a").read_text() == "odd"


@pytest.mark.parametrize("code", [errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP])
def test_a_system_that_does_not_know_the_call_is_no_error(
    folder: int, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def refuse(*_: object) -> int:
        ctypes.set_errno(code)
        return -1

    monkeypatch.setattr(module, "_rename", refuse)
    assert not exchange(folder, "a", "b")
    assert not rename_to_free(folder, "a", "c")


def test_a_name_is_taken_only_if_it_is_free(folder: int, tmp_path: Path) -> None:
    with pytest.raises(FileExistsError):
        rename_to_free(folder, "a", "b")
    assert (tmp_path / "b").read_text() == "was b"
    if not rename_to_free(folder, "a", "c"):
        pytest.skip("this file system cannot")
    assert (tmp_path / "c").read_text() == "was a"
    assert not (tmp_path / "a").exists()


def test_any_other_failure_is_one(folder: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> int:
        ctypes.set_errno(errno.EIO)
        return -1

    monkeypatch.setattr(module, "_rename", fail)
    with pytest.raises(OSError, match="Input/output"):
        exchange(folder, "a", "b")


def test_a_platform_without_the_call_cannot(folder: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_rename", None)
    assert not exchange(folder, "a", "b")


@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")
def test_without_the_library_s_function_the_call_is_made_by_number(
    folder: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_number = module._by_number(ctypes.CDLL(None, use_errno=True))
    if by_number is None:
        pytest.skip("the number of the call is not known for this machine")
    monkeypatch.setattr(module, "_rename", by_number)
    assert exchange(folder, "a", "b")
    assert (tmp_path / "a").read_text() == "was b"
    with pytest.raises(FileNotFoundError):
        exchange(folder, "a", "missing")


@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")
@pytest.mark.parametrize(
    ("machine", "number"),
    [("x86_64", 316), ("aarch64", 276), ("riscv64", 276), ("ppc64le", 357), ("s390x", 347), ("pdp11", None)],
)
def test_each_machine_has_its_own_number_for_the_call(
    machine: str, number: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "uname", lambda: mock.Mock(machine=machine))
    made = module._by_number(ctypes.CDLL(None))
    assert (made.args[0] if isinstance(made, functools.partial) else None) == number


def test_directories_exchange_and_move_their_names(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("was a")
    (tmp_path / "b").write_text("was b")
    (tmp_path / "d").mkdir()
    for kind in (open_root, PathDirectory):
        with kind(str(tmp_path)) as directory, directory.enter("d") as inner:
            assert directory.exchange("a", "b") in (True, False)
            directory.move("b", inner, "moved")
            assert inner.has("moved")
            assert not directory.has("b")
            inner.move("moved", directory, "b")


def test_by_path_names_cannot_be_exchanged(tmp_path: Path) -> None:
    with PathDirectory(str(tmp_path)) as directory:
        assert not directory.exchange("a", "b")
