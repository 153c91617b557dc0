"""Google Drive's `lost_and_found`: where it puts files that it could not bring to the cloud, far from the vault."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_FOLDER = "lost_and_found"
_MOST = 1000


def lost_files(environ: Mapping[str, str] | None = None) -> list[str]:
    """The paths of all files in there, of every account of this device."""
    found: list[str] = []
    for root in _roots(os.environ if environ is None else environ):
        for account in _entries(root):
            for folder, _, files in os.walk(os.path.join(root, account, _FOLDER)):
                found += [os.path.join(folder, name) for name in files if not name.startswith(".")]
                if len(found) >= _MOST:
                    return sorted(found[:_MOST])
    return sorted(found)


def _roots(environ: Mapping[str, str]) -> list[str]:
    home, local = environ.get("HOME", ""), environ.get("LOCALAPPDATA", "")
    places = [os.path.join(home, "Library", "Application Support", "Google", "DriveFS")] if home else []
    return places + ([os.path.join(local, "Google", "DriveFS")] if local else [])


def _entries(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []
