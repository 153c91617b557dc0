"""Outlines: what choosing among notes takes, as plain lines beside the index, one file per project.

A session that starts has no time to load a database. It lists the notes and looks each one up here; a line counts
only if its version is that of the listing, so a file that is old, torn or gone costs time and never correctness.
"""

from __future__ import annotations

import os

from agentm_recall.layout import project_of
from agentm_recall.note import Note

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentm_recall.index.database import Database

    Outlines = dict[str, tuple[str, Note]]

_FOLDER = "outlines-1"
_HEADER = "agentm-recall outlines 1"
_SEPARATOR = "\t"
_BETWEEN_NAMES = "\x1f"


def read_outlines(index: str, project: str | None) -> Outlines:
    """The version and the outline of each note of a project, or of no project, by key; empty if there are none."""
    try:
        with open(_path(index, project), encoding="utf-8", newline="\n") as file:
            header, *lines = file.read().split("\n")
    except (OSError, ValueError):
        return {}
    if header != _HEADER:
        return {}
    outlines: Outlines = {}
    for line in lines:
        parts = line.split(_SEPARATOR)
        if len(parts) == 5:
            key, version, status, changed, supersedes = parts
            claims = tuple(supersedes.split(_BETWEEN_NAMES)) if supersedes else ()
            outlines[key] = version, Note(key, "", status, "", (), project, "", changed, "", None, claims)
    return outlines


def write_outlines(index: str, database: Database, keys: Iterable[str] | None = None) -> None:
    """Bring the files up to date for the projects of `keys`, or all of them.

    Failing is no loss: what is not there is read from the store.
    """
    from agentm_kernel.plugin import make_private_folder

    projects = None if keys is None else {project_of(key) for key in keys}
    try:
        make_private_folder(os.path.join(os.path.dirname(index), _FOLDER))
        for project, lines in _lines(database, projects).items():
            _write(_path(index, project), "\n".join((_HEADER, *lines, "")))
    except OSError:
        return


def _lines(database: Database, projects: set[str | None] | None) -> dict[str | None, list[str]]:
    """The lines of each file. A project whose last note is gone gets an empty one."""
    files: dict[str | None, list[str]] = {project: [] for project in projects or ()}
    for key, version, status, changed, supersedes in database.outlines():
        project = project_of(key)
        if projects is None or project in projects:
            fields = (key, version, status, changed, supersedes.replace("\n", _BETWEEN_NAMES))
            if not any(_SEPARATOR in field or "\n" in field for field in fields):
                files.setdefault(project, []).append(_SEPARATOR.join(fields))
    return files


def _write(path: str, text: str) -> None:
    temporary = f"{path}.{os.getpid()}.new"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with open(descriptor, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def _path(index: str, project: str | None) -> str:
    """A project's name is one part of a key, so it can be the name of a file on every system."""
    name = "personal" if project is None else f"project {project}"
    return os.path.join(os.path.dirname(index), _FOLDER, name)
