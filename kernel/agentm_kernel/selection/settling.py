"""What the first write settles: the mark of a store that has none, and this device's record of it."""

from __future__ import annotations

from agentm_kernel.errors import ConcurrentModificationError
from agentm_kernel.seam.backend import ABSENT, STAMP, passed_on
from agentm_kernel.seam.facets import Appends, PersonalSpace
from agentm_kernel.selection.identity import LAYOUT_VERSION, check_store, known_id, known_table, read_stamp, unmarked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from agentm_kernel.device import DeviceFacts
    from agentm_kernel.seam.backend import StorageBackend


class SettledFacet(PersonalSpace, Appends):
    """Either facet, of a store whose identity is settled before each write."""

    def __init__(self, inner: Any, settle: Callable[[], None]) -> None:
        self.inner, self._settle_store = inner, settle

    def _settle(self) -> None:
        self._settle_store()

    personal_path = passed_on(PersonalSpace.personal_path)
    write_personal = passed_on(PersonalSpace.write_personal, _settle)
    append = passed_on(Appends.append, _settle)


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
    except ConcurrentModificationError:
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
