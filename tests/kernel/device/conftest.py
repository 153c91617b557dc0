"""A home of its own for every test, and a way to put configuration files into it."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NAME = ".agentm-config.json"


class Home:
    """A user's home directory; `environ` is that user's environment."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.environ = {"HOME": str(root)}
        self.config = root / ".config" / "agentm" / NAME
        self.legacy = root / ".claude" / NAME

    def write(self, content: bytes | str | dict[str, object], *, legacy: bool = False) -> Path:
        path = self.legacy if legacy else self.config
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, dict):
            content = json.dumps(content)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def read(self) -> dict[str, object]:
        found: dict[str, object] = json.loads(self.config.read_text())
        return found

    def snapshot(self) -> list[tuple[str, int, bytes | None]]:
        """Every name below the home, with its mode and content."""
        return [
            (str(path), path.lstat().st_mode, path.read_bytes() if path.is_file() else None)
            for path in sorted(self.root.rglob("*"))
        ]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    root = tmp_path / "home"
    root.mkdir()
    return Home(root)


@pytest.fixture
def unprivileged() -> Iterator[None]:
    """Permissions count, also where the tests are run by the superuser."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)
