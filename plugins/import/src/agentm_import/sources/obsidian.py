"""An Obsidian vault: notes are files, and stay as they are. Attachments are listed and stay where they are."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from agentm_import.items import Found
from agentm_import.source_files import count_files, no_source, read_optional
from agentm_import.sources._common import parsed
from agentm_import.sources.markdown import tree

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentm_import.items import Item, Skipped
    from agentm_kernel.plugin import Device

_LISTS = (".config/obsidian/obsidian.json", "Library/Application Support/obsidian/obsidian.json")


class Obsidian:
    label = "an Obsidian vault"

    def detect(self, device: Device) -> list[Found]:
        return [
            Found(path, count, "notes")
            for path in _vaults(device)
            if os.path.isdir(os.path.join(path, ".obsidian")) and (count := count_files(path))
        ]

    def read(self, path: str, device: Device) -> Iterator[Item | Skipped]:
        root = device.expand(path) if path else next(iter(_vaults(device)), "")
        if not os.path.isdir(os.path.join(root, ".obsidian")):
            raise no_source(
                root or "obsidian",
                "it is no Obsidian vault: it has no folder .obsidian",
                "give the vault's folder; for any other folder run `agentm import markdown DIR`",
            )
        return tree(root)


def _vaults(device: Device) -> list[str]:
    """The vaults that Obsidian itself lists."""
    found = []
    for name in _LISTS:
        document = parsed(read_optional(os.path.join(device.home, *name.split("/"))) or "")
        vaults = document.get("vaults") if isinstance(document, dict) else None
        for vault in vaults.values() if isinstance(vaults, dict) else ():
            path = vault.get("path") if isinstance(vault, dict) else None
            if isinstance(path, str) and os.path.isabs(path) and path.isprintable():
                found.append(path)
    return found


IMPORTER = Obsidian()
