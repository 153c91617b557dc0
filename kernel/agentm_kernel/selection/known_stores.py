"""The store ids that this device has seen, by protocol and place: `stores.json` in the user's state directory."""

from __future__ import annotations

import os

from agentm_kernel.errors import StoreIdentityError
from agentm_kernel.files.evidence import saw_file, saw_nothing, settled_signature
from agentm_kernel.seam.values import Frozen

_FILE = "stores.json"


class KnownStore(Frozen):
    """One store that this device has written to."""

    __slots__ = ("protocol", "place", "id")
    protocol: str
    place: str
    id: str

    def __init__(self, protocol: str, place: str, id: str) -> None:  # noqa: A002
        self._set(protocol=protocol, place=place, id=id)


def known_stores(state_dir: str) -> list[KnownStore]:
    """Every store that this device knows."""
    return [
        KnownStore(protocol, place, store_id)
        for (protocol, _, place), store_id in ((key.partition(" "), i) for key, i in sorted(_read(state_dir).items()))
    ]


def known_id(state_dir: str, protocol: str, place: str) -> str | None:
    """The id of the store that this device used there last."""
    return _read(state_dir).get(_key(protocol, place))


def remember(state_dir: str, protocol: str, place: str, store_id: str) -> None:
    """Record that the store at `place` is `store_id`."""
    _change(state_dir, {_key(protocol, place): store_id})


def forget(state_dir: str, protocol: str, place: str) -> bool:
    """Drop the record; whether there was one."""
    if known_id(state_dir, protocol, place) is None:
        return False
    _change(state_dir, {_key(protocol, place): None})
    return True


def _key(protocol: str, place: str) -> str:
    return f"{protocol} {place}"


def _read(state_dir: str) -> dict[str, str]:
    path = os.path.join(state_dir, _FILE)
    try:
        with open(path, encoding="utf-8") as file:
            trusted = settled_signature(os.fstat(file.fileno()))
            text = file.read()
    except FileNotFoundError:
        saw_nothing(path)
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise _unreadable(path, str(error)) from error
    fields = _parsed(text, path)
    saw_file(path, trusted, fields, lambda _: _read(state_dir))
    return fields


def _parsed(text: str, path: str) -> dict[str, str]:
    from agentm_kernel.config.json_text import parse

    try:
        fields = parse(text)
    except ValueError as error:
        raise _unreadable(path, str(error)) from error
    if not isinstance(fields, dict) or not all(isinstance(value, str) for value in fields.values()):
        raise _unreadable(path, "it is not a table of store ids")
    return fields


def _change(state_dir: str, changes: dict[str, str | None]) -> None:
    import json

    from agentm_kernel.files.atomic import atomic_write
    from agentm_kernel.files.mutex import store_mutex

    os.makedirs(state_dir, mode=0o700, exist_ok=True)
    with store_mutex(state_dir):
        merged = {**_read(state_dir), **changes}
        kept = {key: value for key, value in sorted(merged.items()) if value is not None}
        atomic_write(os.path.join(state_dir, _FILE), json.dumps(kept, indent=2) + "\n")


def _unreadable(path: str, why: str) -> StoreIdentityError:
    return StoreIdentityError(
        f"the record of known stores {path} cannot be read: {why}",
        hint="repair or move that file away; agentm cannot tell without it whether this is the right store",
    )
