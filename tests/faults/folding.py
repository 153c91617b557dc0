"""A file system that takes other case and other Unicode forms of a name for one, and stores names decomposed.

As on macOS and, but for the decomposition, on Windows. No such file system can be mounted on an ordinary Linux
machine, so a real directory is given that behaviour where a store opens its root.
"""

from __future__ import annotations

import os
import unicodedata
from contextlib import contextmanager
from typing import TYPE_CHECKING
from unittest import mock

from agentm_kernel.files import reading, writing
from agentm_kernel.files.tree import Directory

if TYPE_CHECKING:
    from collections.abc import Iterator


class FoldingDirectory(Directory):
    """Finds an entry by any spelling of its name."""

    def _stored(self, name: str) -> str:
        """The name that the directory has for `name`, or would give it."""
        wanted = _folded(name)
        for listed in os.listdir(self._fd):
            if _folded(listed) == wanted:
                return listed
        return unicodedata.normalize("NFD", name)

    def enter(self, name: str) -> FoldingDirectory:
        return FoldingDirectory(super().enter(self._stored(name))._fd)

    def status(self, name: str) -> os.stat_result | None:
        return super().status(self._stored(name))

    def looks_free(self, name: str) -> bool:
        return super().looks_free(self._stored(name))

    def open_file(self, name: str) -> int:
        return super().open_file(self._stored(name))

    def create_file(self, name: str, mode: int) -> int:
        return super().create_file(self._stored(name), mode)

    def make_dir(self, name: str, mode: int) -> None:
        super().make_dir(self._stored(name), mode)

    def replace(self, source: str, target: str) -> None:
        super().replace(self._stored(source), self._stored(target))

    def exchange(self, first: str, second: str) -> bool:
        return super().exchange(self._stored(first), self._stored(second))

    def link(self, source: str, target: str) -> None:
        super().link(self._stored(source), self._stored(target))

    def unlink(self, name: str) -> None:
        super().unlink(self._stored(name))


@contextmanager
def on_a_folding_file_system() -> Iterator[None]:
    """Let every store that is opened meanwhile lie on such a file system."""

    def open_root(path: str, *, follow_link: bool = True) -> FoldingDirectory:
        return FoldingDirectory(os.open(path, os.O_RDONLY | os.O_DIRECTORY))

    with (
        mock.patch.object(reading, "open_root", open_root),
        mock.patch.object(writing, "Directory", FoldingDirectory),
    ):
        yield


def _folded(name: str) -> str:
    return unicodedata.normalize("NFD", unicodedata.normalize("NFD", name).casefold())
