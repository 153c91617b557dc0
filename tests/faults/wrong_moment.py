"""The worst moment to save for somebody else: everything is compared, the temp file finished, nothing renamed yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentm_kernel.files import atomic

if TYPE_CHECKING:
    import os
    from collections.abc import Callable
    from pathlib import Path

    import pytest

    from agentm_kernel.files.tree import Directory


def in_the_middle_of_a_write(
    monkeypatch: pytest.MonkeyPatch, happens: Callable[[], object], *, of: str | None = None
) -> None:
    """Let something happen once, in the next write, or in the next write of that text."""
    real = atomic.write_temp

    def write_temp(directory: Directory, temp: str, data: bytes, status: os.stat_result | None) -> None:
        real(directory, temp, data, status)
        if of is None or data == of.encode():
            monkeypatch.setattr(atomic, "write_temp", real)
            happens()

    monkeypatch.setattr(atomic, "write_temp", write_temp)


def as_client(path: Path, text: str | None) -> None:
    """What a sync client does: a finished download is renamed over the file, or the file is deleted."""
    if text is None:
        path.unlink(missing_ok=True)
    else:
        temp = path.with_name(".download.partial")
        temp.write_text(text)
        temp.rename(path)
