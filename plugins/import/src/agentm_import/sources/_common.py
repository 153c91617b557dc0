"""What the readers of several sources share."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from agentm_import.items import Item, Skipped
from agentm_import.source_files import Unreadable, changed_at, iso_time, no_source, read_text, walk
from agentm_import.yaml_text import NotYaml, mapping, one_text, split, texts

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from agentm_kernel.plugin import Device

KINDS_BY_WORD = {
    "decision": "decision",
    "architecture": "decision",
    "bugfix": "known-issue",
    "bug": "known-issue",
    "known-issue": "known-issue",
    "issue": "known-issue",
    "gotcha": "known-issue",
    "convention": "convention",
    "preference": "convention",
    "pattern": "convention",
    "rule": "convention",
    "question": "open-question",
    "open-question": "open-question",
    "reference": "reference",
    "fact": "fact",
    "wiki-style": "wiki-style",
}
"""What other tools call the kinds of note."""


def kind_of(word: str, otherwise: str = "fact") -> str:
    """The kind of note that a source's word means."""
    return KINDS_BY_WORD.get(word.strip().lower().replace("_", "-").replace(" ", "-"), otherwise)


def folder_of(device: Device, path: str, variable: str, default: str) -> str:
    """The source's folder: as given, else where the tool's own variable says, else its default."""
    return device.expand(path or device.environ.get(variable) or default)


def need_folder(path: str, hint: str) -> str:
    if not os.path.isdir(path):
        problem = "this is not a folder" if os.path.lexists(path) else "there is no such folder"
        raise no_source(path, problem, hint)
    return path


def moment(value: object) -> str:
    """A time as notes spell it: from seconds or milliseconds since 1970, or a text that looks like a date."""
    if isinstance(value, bool) or value is None:
        return ""
    if isinstance(value, str) and value.strip().isdigit():
        value = int(value.strip())
    if isinstance(value, int | float):
        return iso_time(value / 1000 if value > 1e11 else value)
    text = str(value).strip()
    return text[:40] if len(text) >= 10 and text[:4].isdigit() and text[4] in "-/" else ""


def parsed(text: str) -> Any:
    """JSON of a source; `None` if it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def listed(value: object) -> list[str]:
    """A JSON list in a text column, as texts."""
    found = parsed(value) if isinstance(value, str) and value.lstrip().startswith("[") else None
    return [str(entry) for entry in found if isinstance(entry, str | int | float)] if isinstance(found, list) else []


def bullets(title: str, entries: list[str]) -> str:
    """A section with a list, nothing if it would be empty."""
    lines = "\n".join(f"- {' '.join(entry.split())}" for entry in entries if entry.strip())
    return f"## {title}\n\n{lines}\n\n" if lines else ""


def section(title: str, text: object) -> str:
    """A section, nothing if it would be empty."""
    return f"## {title}\n\n{text.strip()}\n\n" if isinstance(text, str) and text.strip() else ""


class MarkdownFile:
    """A Markdown file of a source: its front matter as fields, its body, and where that begins."""

    def __init__(self, root: str, path: str) -> None:
        full = os.path.join(root, *path.split("/"))
        self.text = read_text(full)
        self.changed = changed_at(full)
        yaml, self.body, self.line = split(self.text)
        self.problem: str | None = None
        self.fields: dict[str, Any] = {}
        if yaml is not None:
            try:
                self.fields = mapping(yaml)
            except NotYaml as error:
                self.problem = str(error)
                self.body, self.line = self.text, 1

    def line_of(self, name: str) -> str:
        return one_text(self.fields.get(name))


def markdown_files(root: str, under: str = "") -> Iterator[tuple[str, MarkdownFile] | Skipped]:
    """The Markdown files below a folder of a source, hidden folders left out; everything else with the reason."""
    base = os.path.join(root, *under.split("/")) if under else root
    for path in walk(base, stores=False):
        if isinstance(path, Skipped):
            yield path
            continue
        full = f"{under}/{path}" if under else path
        if not path.lower().endswith((".md", ".markdown")):
            yield Skipped(full, "not Markdown: an attachment, which stays where it is", is_problem=False)
            continue
        try:
            yield full, MarkdownFile(root, full)
        except Unreadable as error:
            yield Skipped(full, str(error))


def whole_file(root: str, path: str, *, origin: str = "", kind: str = "convention", **fields: Any) -> Item | Skipped:
    """One file of text as one item; its front matter, if it has one, is part of the text."""
    try:
        text = read_text(os.path.join(root, *path.split("/")))
    except Unreadable as error:
        return Skipped(origin or path, str(error))
    stamp = changed_at(os.path.join(root, *path.split("/")))
    return Item(origin or path, text, kind=kind, updated=stamp, **fields)


def tagged(file: MarkdownFile) -> tuple[str, ...]:
    return texts(file.fields.get("tags"))
