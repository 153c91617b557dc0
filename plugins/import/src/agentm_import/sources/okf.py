"""OKF: a folder of Markdown in which every file says its `type`. An export of agentm comes home byte for byte."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from agentm_import.exports.manifest import NAME
from agentm_import.exports.okf import RESERVED, original
from agentm_import.items import Found, Item, Skipped
from agentm_import.source_files import Unreadable, no_source, read_text, walk
from agentm_import.sources._common import MarkdownFile, moment
from agentm_import.sources.markdown import file_item
from agentm_kernel.plugin import AgentmError, Locator, layout

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentm_kernel.plugin import Device


class OKF:
    label = "an OKF bundle"

    def detect(self, device: Device) -> list[Found]:
        return []  # a bundle can be anywhere

    def read(self, path: str, device: Device) -> Iterator[Item | Skipped]:
        root = device.expand(path) if path else ""
        if not os.path.isdir(root):
            raise no_source(root or "okf", "there is no such folder", "give the folder of the bundle")
        for found in walk(root, enter=lambda name: name != ".git"):
            if isinstance(found, Skipped):
                yield found
            elif found != NAME:
                yield _read(root, found)


def _read(root: str, path: str) -> Item | Skipped:
    name = path.rpartition("/")[2]
    if name in RESERVED:
        return Skipped(path, "OKF's own list, made of the notes", is_problem=False)
    try:
        if name.endswith(".md"):
            return _concept(path, MarkdownFile(root, path))
        if name == layout.PROJECT_RECORD or path.startswith(f"{layout.META}/"):
            return Item(path, read_text(os.path.join(root, *path.split("/"))), key=Locator(path).key)
    except Unreadable as error:
        return Skipped(path, str(error))
    except AgentmError as error:
        return Skipped(path, error.message)
    return Skipped(path, "not Markdown: an attachment, which stays where it is", is_problem=False)


def _concept(path: str, file: MarkdownFile) -> Item:
    ours = original(file.text)
    if ours is not None:
        key, text, _ = ours
        return Item(path, text, key=Locator(key).key)
    item = file_item(path, file)
    generated = file.fields.get("generated")
    at = generated.get("at") if isinstance(generated, dict) else file.line_of("timestamp")
    is_gone = file.line_of("status") == "deprecated"
    return replace(item, updated=moment(at) or item.updated, status="superseded" if is_gone else "active")


IMPORTER = OKF()
