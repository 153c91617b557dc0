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
from agentm_kernel.seam.layout import STAMP_KEY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_kernel.device import DeviceFacts
    from agentm_kernel.device.json_text import JsonTable
    from agentm_kernel.seam.backend import StorageBackend

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
        os.lstat(f"{state_dir}{os.sep}{_RECORD}")
    except FileNotFoundError:
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
