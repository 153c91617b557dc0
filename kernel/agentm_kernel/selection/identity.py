"""Is this the store that this device knows? Compared when it is opened, settled at the first write.

A store carries a mark, without which an empty folder and the right store would look alike; the device keeps a record
of the marks that it has seen, by protocol and place.

| stamp in the store | record on this device | reading | writing |
|---|---|---|---|
| yes | none | yes | yes, and recorded: a second device joins a shared store by itself |
| yes | the same | yes | yes |
| yes | another | refused | refused |
| none | yes | refused | refused: an unmounted folder, or a wrong path |
| none | none | yes | only a backend that stamps by itself; else refused with what to run |
"""

from __future__ import annotations

import os

from agentm_kernel import errors
from agentm_kernel.files import status_if_any
from agentm_kernel.seam.backend import ABSENT, STAMP, StorageBackend
from agentm_kernel.seam.layout import STAMP_KEY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_kernel.device import DeviceFacts
    from agentm_kernel.device.json_text import JsonTable

LAYOUT_VERSION = 1
_RECORD = "stores.json"


def check_store(device: DeviceFacts, backend: StorageBackend, protocol: str) -> str | None:
    """The id that the store carries, `None` for an unmarked one; refused if this device knows another one there."""
    stamp, place = read_stamp(backend), backend.describe()
    known = known_id(device.state_dir, protocol, place)
    if known is None or stamp == known:
        return stamp
    from shlex import quote

    forgetting = f"`agentm store forget {quote(place)}`"
    if stamp is None:
        raise errors.StoreIdentityError(
            f"the store at {place} is gone: this device knows store {known} there, and what is there now is unmarked",
            hint=f"mount or restore it; if it was removed on purpose, run {forgetting}",
        )
    raise errors.StoreIdentityError(
        f"the store at {place} is another one: this device knows store {known} there, and it holds {stamp}",
        hint=f"check the path or the mount; if the change was meant, run {forgetting}",
    )


def unmarked(backend: StorageBackend, protocol: str) -> errors.StoreIdentityError:
    """The refusal to write where no store has been set up."""
    place = backend.describe()
    return errors.StoreIdentityError(
        f"the store at {place} has no identity stamp, so nothing is written there",
        hint=f"set it up once: `agentm {protocol} init {place}` (`--adopt` if it has notes already)",
    )


def read_stamp(backend: StorageBackend) -> str | None:
    """The store's id, `None` if it carries none; a stamp that cannot be understood is an error."""
    text = backend.stamp_text()
    if text is None:
        return None
    from agentm_kernel.device.json_text import parse_object

    try:
        fields = parse_object(text)
    except errors.MalformedJson as error:
        raise _bad_stamp(backend, str(error)) from error
    store_id = fields.get("id")
    if not isinstance(store_id, str) or not store_id:
        raise _bad_stamp(backend, "it has no id")
    if fields.get("layout") != LAYOUT_VERSION:
        raise errors.StoreIdentityError(
            f"the store at {backend.describe()} has layout {fields.get('layout')!r}; "
            f"this agentm knows layout {LAYOUT_VERSION}",
            hint="install the agentm that made the store, or a newer one",
        )
    return store_id


def _bad_stamp(backend: StorageBackend, why: str) -> errors.StoreIdentityError:
    return errors.StoreIdentityError(
        f"the identity stamp {STAMP_KEY} of the store at {backend.describe()} cannot be read: {why}",
        hint=f"restore {STAMP_KEY} from a backup or another device; agentm does not guess which store this is",
    )


def known_id(state_dir: str, protocol: str, place: str) -> str | None:
    """The id of the store that this device used there last."""
    try:
        if status_if_any(f"{state_dir}{os.sep}{_RECORD}") is None:
            return None  # a new home: hooks are spared the reader of JSON
    except OSError:
        pass  # not absence: reading it will say what it is
    known: str | None = known_table(state_dir).read().get(f"{protocol} {place}")
    return known


def known_table(state_dir: str) -> JsonTable:
    from agentm_kernel.device.json_text import JsonTable

    def refuse(path: str, why: str) -> errors.StoreIdentityError:
        hint = "repair or move that file away; agentm cannot tell without it whether this is the right store"
        return errors.StoreIdentityError(f"the record of known stores {path} cannot be read: {why}", hint=hint)

    return JsonTable(f"{state_dir}{os.sep}{_RECORD}", lambda store_id: isinstance(store_id, str), refuse)


# What the first write settles: the mark of a store that has none, and this device's record of it.


def adopt_store(device: DeviceFacts, backend: StorageBackend, protocol: str, *, may_stamp: bool = True) -> str:
    """Give the store an identity unless it has one, let this device know it there, and return it.

    With `may_stamp=False`, a store that has none is refused.
    """
    store_id, place = check_store(device, backend, protocol), backend.describe()
    if store_id is None:
        if not may_stamp:
            raise unmarked(backend, protocol)
        store_id = stamp_store(backend)
    if known_id(device.state_dir, protocol, place) != store_id:
        record_store(device.state_dir, protocol, place, store_id)
    return store_id


def stamp_store(backend: StorageBackend, store_id: str | None = None) -> str:
    """Give the store an identity unless it has one, and return it. Of two who stamp at once, one wins for both.

    `store_id` is the identity that it had before it was lost; otherwise it gets a new one.
    """
    import json
    from datetime import UTC, datetime
    from uuid import uuid4

    existing = read_stamp(backend)
    if existing is not None:
        return existing
    new = store_id or str(uuid4())
    fields = {"id": new, "created": datetime.now(UTC).isoformat(timespec="seconds"), "layout": LAYOUT_VERSION}
    try:
        backend.write(STAMP, json.dumps(fields, indent=2) + "\n", if_match=ABSENT)
    except errors.ConcurrentModificationError:
        other = read_stamp(backend)
        if other is None:
            raise
        return other
    return new


def known_stores(state_dir: str) -> list[tuple[str, str, str]]:
    """Protocol, place and id of every store that this device has written to."""
    known = [(*key.partition(" "), store_id) for key, store_id in sorted(known_table(state_dir).read().items())]
    return [(protocol, place, store_id) for protocol, _, place, store_id in known]


def record_store(state_dir: str, protocol: str, place: str, store_id: str | None) -> None:
    """Record that the store at `place` is `store_id`; `None` forgets the one that was there."""
    known_table(state_dir).change({f"{protocol} {place}": store_id})
