"""A folder of Markdown, or one file: notes as they are. An export of agentm comes home to the very keys it had."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from agentm_import.exports.manifest import read_manifest
from agentm_import.items import Found, Item, Skipped
from agentm_import.source_files import A_STORE, Unreadable, is_in_store, no_source, read_text, walk
from agentm_import.sources._common import MarkdownFile, kind_of, markdown_files, moment, tagged
from agentm_kernel.plugin import AgentmError, Locator

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentm_kernel.plugin import Device


class Markdown:
    label = "a folder of Markdown"

    def detect(self, device: Device) -> list[Found]:
        return []  # any folder could be meant: nobody can guess which

    def read(self, path: str, device: Device) -> Iterator[Item | Skipped]:
        root = device.expand(path) if path else ""
        if os.path.isfile(root):
            folder, name = os.path.split(os.path.abspath(root))
            yield _one(folder, name)
        elif os.path.isdir(root):
            yield from exported(root) if read_manifest(root, "markdown") else tree(root)
        else:
            raise no_source(root or "markdown", "there is no such folder", "give a folder or a file")


def _one(folder: str, name: str) -> Item | Skipped:
    if is_in_store(os.path.join(folder, name)):
        return Skipped(name, f"in {A_STORE}")
    try:
        return file_item(name, MarkdownFile(folder, name))
    except Unreadable as error:
        return Skipped(name, str(error))


def tree(root: str) -> Iterator[Item | Skipped]:
    """Every Markdown file below a folder, at its own path."""
    for found in markdown_files(root):
        yield found if isinstance(found, Skipped) else file_item(*found)


def file_item(path: str, file: MarkdownFile, project: str = "") -> Item:
    """A file that becomes a note with its front matter and every byte of its body."""
    word = file.line_of("kind") or file.line_of("type")
    return Item(
        path,
        file.text,
        kind=kind_of(word, "reference"),
        project=project,
        tags=tagged(file),
        updated=moment(file.line_of("updated")) or moment(file.line_of("modified")) or file.changed,
        verbatim=True,
        path=path if path.endswith(".md") else f"{path.rpartition('.')[0]}.md",
    )


def exported(root: str) -> Iterator[Item | Skipped]:
    """A folder that `agentm export markdown` wrote: each file is the note, and its path the key."""
    for path in walk(root, enter=lambda _: True):
        if isinstance(path, Skipped):
            yield path
        elif not os.path.basename(path).startswith(".agentm-export"):
            yield _own(root, path)


def _own(root: str, path: str) -> Item | Skipped:
    try:
        key = Locator(path).key
        text = read_text(os.path.join(root, *path.split("/")))
    except Unreadable as error:
        return Skipped(path, str(error))
    except AgentmError as error:
        return Skipped(path, error.message)
    return Item(path, text, key=key)


IMPORTER = Markdown()
