"""`deepagents_files.py FOLDER`: a note through the file backend of deepagents, whose `edit` replaces a piece."""

from __future__ import annotations

import sys

from deepagents.backends import FilesystemBackend
from desk import serve

END = "<!-- end -->"
backend = FilesystemBackend(root_dir=sys.argv[1], virtual_mode=True)


def prepare(text: str) -> None:
    done = backend.write("/shared.md", f"{text}{END}\n")
    if done.error:
        raise RuntimeError(done.error)


def add(line: str) -> None:
    done = backend.edit("/shared.md", END, f"{line}\n{END}")
    if done.error:
        raise RuntimeError(done.error)


def read() -> str:
    (found,) = backend.download_files(["/shared.md"])
    if found.error or found.content is None:
        raise RuntimeError(found.error)
    text: str = found.content.decode()
    if END not in text:
        raise RuntimeError(f"the end of the note is missing; it holds {len(text)} characters")
    return text


serve(prepare=prepare, add=add, read=read)
