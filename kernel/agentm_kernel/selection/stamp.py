"""The mark that a store carries: without it, an empty folder and the right store look alike."""

from __future__ import annotations

from agentm_kernel.errors import ConcurrentModificationError, StoreIdentityError
from agentm_kernel.seam.backend import ABSENT, STAMP_KEY
from agentm_kernel.seam.locator import Locator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_kernel.seam.backend import StorageBackend

LAYOUT_VERSION = 1


def read_stamp(backend: StorageBackend) -> str | None:
    """The store's id, `None` if it carries none; a stamp that cannot be understood is an error."""
    text = backend.stamp_text()
    if text is None:
        return None
    from agentm_kernel.config.json_text import parse

    try:
        fields = parse(text)
    except ValueError as error:
        raise _unreadable(backend, str(error)) from error
    store_id = fields.get("id") if isinstance(fields, dict) else None
    if not isinstance(fields, dict) or not isinstance(store_id, str) or not store_id:
        raise _unreadable(backend, "it has no id")
    if fields.get("layout") != LAYOUT_VERSION:
        raise StoreIdentityError(
            f"the store at {backend.describe()} has layout {fields.get('layout')!r}; "
            f"this agentm knows layout {LAYOUT_VERSION}",
            hint="install the agentm that made the store, or a newer one",
        )
    return store_id


def stamp(backend: StorageBackend) -> str:
    """Give the store an identity unless it has one, and return it. Of two who stamp at once, one wins for both."""
    import json
    from datetime import UTC, datetime
    from uuid import uuid4

    existing = read_stamp(backend)
    if existing is not None:
        return existing
    fields = {
        "id": str(uuid4()),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "layout": LAYOUT_VERSION,
    }
    try:
        backend.write(Locator(STAMP_KEY), json.dumps(fields, indent=2) + "\n", if_match=ABSENT)
    except ConcurrentModificationError:
        other = read_stamp(backend)
        if other is None:
            raise
        return other
    return str(fields["id"])


def _unreadable(backend: StorageBackend, why: str) -> StoreIdentityError:
    return StoreIdentityError(
        f"the identity stamp {STAMP_KEY} of the store at {backend.describe()} cannot be read: {why}",
        hint=f"restore {STAMP_KEY} from a backup or another device; agentm does not guess which store this is",
    )
