"""Merging the small JSON notes that say whose name a project's name is, and which repositories there are.

Two clones that claim one name before they have met both make a record. If one of the two lost, its project would not
find its own notes any more. So both are written as one, whatever the policy for notes is: the record then has the
ids and repositories of both, a pointer or a list the entries of both. Where one of the two projects was given another
name, or taken to another store, before they met, the record is that of the one that stayed: each keeps its own notes.
"""

from __future__ import annotations

import json
from typing import Any

from agentm_kernel.plugin import MOVED_TO_STORE, layout


def says_who_is_who(path: str) -> bool:
    """Whether a note is one of the kernel's own, of which no version may lose."""
    return path == layout.REPOS_KEY or path.startswith(f"{layout.REMOTES}/") or _is_record(path)


def united(path: str, origin: bytes, here: bytes) -> bytes | None:
    """Both versions of such a note as one; `None` for any other note, and for what cannot be understood."""
    if not says_who_is_who(path):
        return None
    try:
        sides = [json.loads(text) for text in (origin, here)]
    except ValueError:
        return None
    if not all(isinstance(side, dict) for side in sides) or sides[0].get("version") != sides[1].get("version"):
        return None
    whole = _record(*sides) if _is_record(path) else _union(*sides)
    return (json.dumps(whole, indent=2, ensure_ascii=False) + "\n").encode()


def _record(origin: dict[str, Any], here: dict[str, Any]) -> dict[str, Any]:
    """What both say of one project; where there are two, and one has left the name, what the one that stayed says."""
    for left, stayed in ((origin, here), (here, origin)):
        others = sorted(_ids(stayed) - _ids(left))
        if _has_left(left) and others and not _has_left(stayed):
            return {**stayed, "id": others[0]} | ({"ids": others} if "ids" in stayed else {})
    ids = sorted(_ids(origin) | _ids(here))
    if _has_left(origin) and _has_left(here) and not _ids(origin) & _ids(here):
        return min(origin, here, key=lambda side: str(side.get("id")))
    return _union(origin, here) | ({"id": ids[0], "ids": ids} if ids else {})


def _ids(side: dict[str, Any]) -> set[str]:
    return {each for each in (side.get("id"), *side.get("ids", ())) if isinstance(each, str)}


def _has_left(side: dict[str, Any]) -> bool:
    """Whether the record only says where its project is now: under another name, or in another store."""
    return bool(side.get("moved_to") or side.get(MOVED_TO_STORE))


def _is_record(path: str) -> bool:
    tree, _, below = path.partition("/")
    return tree in layout.PROJECT_TREES and below.endswith(f"/{layout.PROJECT_RECORD}")


def _union(origin: dict[str, Any], here: dict[str, Any]) -> dict[str, Any]:
    """Every field of both; lists one after the other. Where both have one value, the smaller, alike in all clones."""
    whole = {**here, **origin}
    for name in origin.keys() & here.keys():
        one, other = origin[name], here[name]
        if isinstance(one, list) and isinstance(other, list):
            whole[name] = [*one, *(entry for entry in other if entry not in one)]
        elif one != other:
            whole[name] = min(one, other, key=str)
    return whole
