"""Gemini CLI: GEMINI.md with its added memories, and the private memory of each project.

`~/.gemini/tmp/<slug>/memory/` is durable in spite of its name; `~/.gemini/projects.json` says which folder a slug is.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from agentm_import.items import Found, Item, Skipped
from agentm_import.source_files import Unreadable, changed_at, count_files, read_optional, read_text
from agentm_import.sources._common import folder_of, markdown_files, need_folder, parsed, tagged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentm_kernel.plugin import Device

_ADDED = re.compile(r"^## Gemini Added Memories[ \t]*\r?$", re.MULTILINE)
_NAME = "GEMINI.md"


class Gemini:
    label = "Gemini CLI"

    def detect(self, device: Device) -> list[Found]:
        root = _root(device, "")
        count = sum(count_files(os.path.join(root, "tmp", slug, "memory")) for slug in _slugs(root))
        text = read_optional(os.path.join(root, _NAME)) or ""
        count += len(re.findall(r"^- ", text, re.MULTILINE)) or bool(text.strip())
        return [Found(root, count, "memories of the user and of projects")] if count else []

    def read(self, path: str, device: Device) -> Iterator[Item | Skipped]:
        root = need_folder(_root(device, path), "Gemini CLI keeps its memory in ~/.gemini")
        folders = _folders(root)
        if os.path.lexists(os.path.join(root, _NAME)):
            yield from _instructions(root, _NAME, _NAME, None)
        for slug in _slugs(root):
            under = f"tmp/{slug}/memory"
            project = folders.get(slug) or slug
            for found in markdown_files(root, under):
                if isinstance(found, Skipped):
                    yield found
                    continue
                name, file = found
                if "/memory/skills/" in name:
                    yield Skipped(name, "a skill, which is a program for Gemini and no memory", is_problem=False)
                    continue
                stem = name.rpartition("/")[2].removesuffix(".md")
                yield Item(
                    name,
                    file.body,
                    title=file.line_of("title") or ("" if stem == "MEMORY" else stem),
                    project=project,
                    slug="gemini-memory" if stem == "MEMORY" else stem,
                    tags=tagged(file),
                    updated=file.changed,
                    line=file.line,
                )
            yield from _inbox(root, under)
        for project in sorted(set(folders.values())):
            if os.path.lexists(os.path.join(project, _NAME)):
                yield from _instructions(project, _NAME, f"{project}/{_NAME}", project)


def _root(device: Device, path: str) -> str:
    home = device.environ.get("GEMINI_CLI_HOME")
    return folder_of(device, path or (os.path.join(home, ".gemini") if home else ""), "", "~/.gemini")


def _slugs(root: str) -> list[str]:
    base = os.path.join(root, "tmp")
    try:
        names = sorted(os.listdir(base))
    except OSError:
        return []
    folders = {name: os.path.join(base, name, "memory") for name in names}
    return [name for name, folder in folders.items() if os.path.isdir(folder) and not os.path.islink(folder)]


def _folders(root: str) -> dict[str, str]:
    """Which folder each slug is."""
    document = parsed(read_optional(os.path.join(root, "projects.json")) or "")
    projects = document.get("projects") if isinstance(document, dict) else None
    pairs = projects.items() if isinstance(projects, dict) else ()
    return {
        slug: path
        for path, slug in pairs
        if isinstance(path, str) and isinstance(slug, str) and os.path.isabs(path) and path.isprintable()
    }


def _instructions(root: str, name: str, origin: str, project: str | None) -> Iterator[Item | Skipped]:
    """GEMINI.md: what the user wrote is one note, each memory that Gemini added one of its own."""
    try:
        text = read_text(os.path.join(root, name))
    except Unreadable as error:
        yield Skipped(origin, str(error))
        return
    changed = changed_at(os.path.join(root, name))
    added = _ADDED.search(text)
    written = text[: added.start()] if added else text
    if written.strip():
        yield Item(origin, written, title=name, kind="convention", project=project, slug="gemini-md", updated=changed)
    if added is None:
        return
    first_line = text.count("\n", 0, added.end()) + 1
    for number, line in enumerate(text[added.end() :].splitlines()):
        if line.startswith("## "):
            rest = "\n".join(text[added.end() :].splitlines()[number:])
            yield Item(
                f"{origin}#after", rest, kind="convention", project=project, slug="gemini-md-more", updated=changed
            )
            return
        said = line.strip().removeprefix("- ").strip()
        if said:
            yield Item(
                f"{origin}#{said[:80]}",
                said,
                project=project,
                tags=("gemini",),
                updated=changed,
                line=first_line + number,
            )


def _inbox(root: str, under: str) -> Iterator[Skipped]:
    base = os.path.join(root, *under.split("/"), ".inbox")
    for folder in ("private", "global"):
        try:
            names = sorted(os.listdir(os.path.join(base, folder)))
        except OSError:
            continue
        for name in names:
            yield Skipped(
                f"{under}/.inbox/{folder}/{name}", "a proposal that nobody has accepted yet", is_problem=False
            )


IMPORTER = Gemini()
