"""Deliberately broken builds: the negative controls. Each takes away one thing that the write floor does."""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from unittest import mock

from agentm_kernel.files import writing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextmanager
def without_file_fsync() -> Iterator[None]:
    """A rename may reach the disk before the data that it names."""
    with _fsync_only(stat.S_ISDIR):
        yield


@contextmanager
def without_directory_fsync() -> Iterator[None]:
    """An acknowledged write may lose its name."""
    with _fsync_only(stat.S_ISREG):
        yield


@contextmanager
def without_any_fsync() -> Iterator[None]:
    with _fsync_only(lambda mode: False):
        yield


@contextmanager
def writing_in_place() -> Iterator[None]:
    """Open, truncate, write: what a program does that has not thought about it."""
    with mock.patch.object(writing, "replace_file", _overwrite):
        yield


@contextmanager
def _fsync_only(wanted: Callable[[int], bool]) -> Iterator[None]:
    real = os.fsync

    def fsync(descriptor: int) -> None:
        if wanted(os.fstat(descriptor).st_mode):
            real(descriptor)

    with mock.patch.object(os, "fsync", fsync):
        yield


def _overwrite(
    directory: Any, name: str, data: bytes, status: os.stat_result | None, *how: Any, **options: Any
) -> None:
    if status is None:
        descriptor = directory.create_file(name, 0o600)
    else:
        descriptor = os.open(name, os.O_WRONLY | os.O_TRUNC, dir_fd=directory._fd)
    try:
        os.write(descriptor, data)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
