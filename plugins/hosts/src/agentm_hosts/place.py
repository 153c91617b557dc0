"""Where a host is connected, and what is changed there."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


PATIENCE = 3.0


@dataclass(frozen=True)
class Place:
    """A user's home, or one project of theirs."""

    home: str
    environ: Mapping[str, str]
    launcher: str
    """The command `agentm` by its absolute path, unresolved; bare in a project, where others have it elsewhere."""
    state_dir: str
    project: str | None = None
    """The root of the project; `None` for all of the user's projects."""
    with_hooks: bool = True
    with_mcp: bool = True
    patience: float = PATIENCE
    """Seconds that a host's own program may take to answer a question."""

    @property
    def scope(self) -> str:
        return "user" if self.project is None else "project"

    @property
    def quoted_launcher(self) -> str:
        return shlex.quote(self.launcher)

    def path(self, *parts: str) -> str:
        """A path below the project, or below the home."""
        return os.path.join(self.project or self.home, *parts)

    def folder(self, variable: str, *default: str) -> str:
        """The user's folder that `variable` names, else the default below the home; a project has its own."""
        given = "" if self.project is not None else self.environ.get(variable, "")
        return given if os.path.isabs(given) else self.path(*default)


APPEND = "append"
SET = "set"


@dataclass(frozen=True)
class Entry:
    """One value of ours in a settings file: an element of the list at `path`, or the value of the key at `path`."""

    path: tuple[str, ...]
    value: Any
    how: str = APPEND


@dataclass(frozen=True)
class Change:
    """What is wanted in one file."""

    path: str
    format: str
    """`json`, `jsonc` (comments allowed), `toml`, or `text`: a file that is ours as a whole."""
    entries: tuple[Entry, ...] = ()
    text: str = ""
    """The content of a file that is ours as a whole."""
    comments_disable: str = ""
    """What a comment in this file would do to the host: then the file is refused with this reason."""
