"""basic-memory: folders of Markdown that its configuration lists. Its database is derived from them."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from agentm_import.items import Found, Item, Skipped
from agentm_import.source_files import count_files, no_source, read_optional
from agentm_import.sources._common import markdown_files, parsed
from agentm_import.sources.markdown import file_item

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentm_kernel.plugin import Device


class BasicMemory:
    label = "basic-memory"

    def detect(self, device: Device) -> list[Found]:
        return [
            Found(path, count, f"notes of the project '{name}'")
            for name, path in _projects(device).items()
            if os.path.isdir(path) and (count := count_files(path))
        ]

    def read(self, path: str, device: Device) -> Iterator[Item | Skipped]:
        places = {"": device.expand(path)} if path else _projects(device)
        existing = {name: place for name, place in places.items() if os.path.isdir(place)}
        if not existing:
            raise no_source(next(iter(places.values())), "there is no such folder", "give the folder of a project")
        for name, root in existing.items():
            for found in markdown_files(root):
                yield found if isinstance(found, Skipped) else _note(name, *found)


def _projects(device: Device) -> dict[str, str]:
    """The folder of each project of basic-memory."""
    folder = device.expand(device.environ.get("BASIC_MEMORY_CONFIG_DIR") or "~/.basic-memory")
    document = parsed(read_optional(os.path.join(folder, "config.json")) or "")
    listed = document.get("projects") if isinstance(document, dict) else None
    found = {}
    for name, entry in listed.items() if isinstance(listed, dict) else ():
        path = entry.get("path") if isinstance(entry, dict) else entry
        if isinstance(path, str) and path.isprintable():
            found[str(name)] = device.expand(path)
    return found or {"main": os.path.join(device.home, "basic-memory")}


def _note(name: str, path: str, file: object) -> Item:
    """The file as it is; its permalink stays a name by which it is found."""
    from agentm_import.sources._common import MarkdownFile

    assert isinstance(file, MarkdownFile)
    item = file_item(path, file, project=name if name != "main" else "")
    permalink = file.line_of("permalink")
    extra = {"aliases": (permalink,)} if permalink and "aliases" not in file.fields else {}
    origin = f"{name}/{path}" if name else path
    return replace(item, origin=origin, extra=extra)


IMPORTER = BasicMemory()
