"""Versions of a plan that lost to the bucket's: how they are called, and which there are."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from agentm_kernel.plugin import Locator

if TYPE_CHECKING:
    from agentm_kernel.plugin import StorageBackend

_MARK = re.compile(r"(.+) \[conflict [0-9a-f]{8}\]")
_LONGEST_STEM = 120  # bytes: with mark and suffix the name stays below what a segment may have


class Kept(NamedTuple):
    """A version beside the file that it lost to."""

    version: Locator
    file: Locator


def place_for(file: Locator, digest: str) -> Locator:
    """Where the version of `file` with this content hash is kept: no other version is called that."""
    stem, suffix = _split(file)
    short = stem.encode()[:_LONGEST_STEM].decode(errors="ignore").rstrip()
    return file.parent.child(f"{short} [conflict {digest[:8]}]{suffix}")


def kept_versions(copy: StorageBackend) -> list[Kept]:
    """What waits for the operator in a store, by key."""
    found = []
    for info in copy.walk(Locator()):
        stem, suffix = _split(info.locator)
        mark = None if info.is_dir else _MARK.fullmatch(stem)
        if mark is not None:
            found.append(Kept(info.locator, info.locator.parent.child(mark.group(1) + suffix)))
    return found


def _split(locator: Locator) -> tuple[str, str]:
    suffix = locator.short_suffix
    return locator.name.removesuffix(suffix), suffix
