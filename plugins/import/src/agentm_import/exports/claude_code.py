"""Claude Code's auto memory: one file per note, and the index `MEMORY.md`, which it reads when a session starts."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from agentm_import.exports.okf import quoted
from agentm_import.source_files import read_optional
from agentm_kernel.plugin import layout

if TYPE_CHECKING:
    from agentm_import.exports.stored import StoredNote

INDEX = "MEMORY.md"
_TYPES = {"convention": "feedback", "reference": "reference", "always-load": "user"}
_MOST_LINES = 200
_MOST_BYTES = 25_000
_MOST_FILES = 200


def claude_files(notes: list[StoredNote], folder: str, own: set[str]) -> tuple[dict[str, str], list[str], str]:
    """Path and text of each file, what Claude Code will not see, and the index that there was.

    `MEMORY.md` that Claude Code wrote itself keeps its bytes; lines are added to it. `own` are the names that an
    earlier export wrote, whose lines are made anew.
    """
    files: dict[str, str] = {}
    lines: list[str] = []
    for note in notes:
        name = _name(note, files)
        files[name] = memory(note, name.removesuffix(".md"))
        title = note.title.replace("[", "(").replace("]", ")")[:80]
        lines.append(f"- [{title}]({name}) — {note.summary(110)}")
    index = read_optional(os.path.join(folder, INDEX)) or ""
    kept = _kept(index, own | set(files))
    fitting = _fitting(kept, lines)
    files[INDEX] = kept + "".join(f"{line}\n" for line in fitting)
    left_out = []
    if len(fitting) < len(lines):
        left_out.append(
            f"left out of MEMORY.md, which holds {_MOST_LINES} lines: {len(lines) - len(fitting)} of the notes"
        )
    if len(notes) > _MOST_FILES:
        left_out.append(f"Claude Code looks at {_MOST_FILES} files; there are {len(notes)}")
    return files, left_out, index


def _name(note: StoredNote, taken: dict[str, str]) -> str:
    name = f"{note.slug}.md"
    return name if name not in taken and name != INDEX else f"{note.slug}-{note.kind}-{len(taken)}.md"


def memory(note: StoredNote, name: str) -> str:
    """One memory as Claude Code writes it."""
    is_personal = note.key.startswith(f"{layout.PERSONAL}/")
    word = _TYPES.get(note.kind, "user" if is_personal else "project")
    head = [f"name: {quoted(name)}", f"description: {quoted(note.summary())}", "metadata:", f"  type: {word}"]
    if note.changed:
        head.append(f"modified: {quoted(note.changed)}")
    body = note.body.lstrip("\n")
    return "---\n" + "\n".join(head) + "\n---\n\n" + (body if body.endswith("\n") else f"{body}\n")


def _kept(text: str, names: set[str]) -> str:
    """The lines of an index that is there already, without those that lead to files of an export."""
    kept = [line for line in text.splitlines(keepends=True) if not any(f"]({name})" in line for name in names)]
    joined = "".join(kept)
    return joined if not joined or joined.endswith("\n") else f"{joined}\n"


def _fitting(kept: str, lines: list[str]) -> list[str]:
    room = _MOST_LINES - kept.count("\n")
    size = len(kept.encode())
    fitting = []
    for line in lines[: max(0, room)]:
        size += len(line.encode()) + 1
        if size > _MOST_BYTES:
            break
        fitting.append(line)
    return fitting
