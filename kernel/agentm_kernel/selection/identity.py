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

from agentm_kernel.errors import ConcurrentModificationError, StoreIdentityError
from agentm_kernel.files import read_small_file
from agentm_kernel.seam import Frozen, facets
from agentm_kernel.seam.backend import ABSENT, STAMP, BackendLayer
from agentm_kernel.seam.layout import STAMP_KEY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from agentm_kernel.seam.backend import Absent, StorageBackend
    from agentm_kernel.seam.locator import Locator

LAYOUT_VERSION = 1
_RECORD = "stores.json"
_RECORD_LIMIT = 10_000_000


def check_identity(backend: StorageBackend, protocol: str, state_dir: str) -> str | None:
    """The id that the store carries, `None` without one; `StoreIdentityError` if it is not the one known here."""
    stamp = read_stamp(backend)
    known = known_id(state_dir, protocol, backend.describe())
    if known is None or stamp == known:
        return stamp
    from shlex import quote

    place = backend.describe()
    forgetting = f"`agentm store forget {quote(place)}`"
    if stamp is None:
        raise StoreIdentityError(
            f"the store at {place} is gone: this device knows store {known} there, and what is there now is unmarked",
            hint=f"mount or restore it; if it was removed on purpose, run {forgetting}",
        )
    raise StoreIdentityError(
        f"the store at {place} is another one: this device knows store {known} there, and it holds {stamp}",
        hint=f"check the path or the mount; if the change was meant, run {forgetting}",
    )


class IdentityGuard(BackendLayer, facets.Identity):
    """The innermost layer around every selected backend: no write before the store's identity is settled."""

    passes = (
        *(facets.DeviceFiles, facets.DeviceCopy, facets.PersonalSpace, facets.History, facets.ConflictCopies),
        *(facets.Appends, facets.Rules, facets.Unguarded, facets.WorkingCopy, facets.WatchedStore),
    )

    def __init__(self, inner: StorageBackend, protocol: str, state_dir: str, store_id: str | None = None) -> None:
        super().__init__(inner)
        self.store_id = store_id
        self._protocol = protocol
        self._state_dir = state_dir
        self._settled = False

    def write(self, locator: Locator, content: str, *, if_match: str | Absent | None = None) -> Locator:
        self._settle()
        return self.inner.write(locator, content, if_match=if_match)

    def mkdir(self, locator: Locator) -> Locator:
        self._settle()
        return self.inner.mkdir(locator)

    def delete(self, locator: Locator, *, if_match: str | None = None) -> None:
        self._settle()
        self.inner.delete(locator, if_match=if_match)

    def wrap_facet(self, kind: type[Any], found: Any) -> Any:
        if kind is facets.PersonalSpace:
            return _SettledPersonalSpace(found, self._settle)
        return _SettledAppends(found, self._settle) if kind is facets.Appends else found

    def confirm(self) -> None:
        check_identity(self.inner, self._protocol, self._state_dir)

    def _settle(self) -> None:
        if self._settled:
            return
        store_id = check_identity(self.inner, self._protocol, self._state_dir)
        if store_id is None:
            if not self.inner.self_stamping:
                raise unmarked(self.inner, self._protocol)
            store_id = stamp_store(self.inner)
        place = self.inner.describe()
        if known_id(self._state_dir, self._protocol, place) != store_id:
            record_store(self._state_dir, self._protocol, place, store_id)
        self._settled = True


class _SettledPersonalSpace(facets.PersonalSpace):
    """The personal space of a store whose identity is settled before each write."""

    def __init__(self, space: facets.PersonalSpace, settle: Callable[[], None]) -> None:
        self._space, self._settle = space, settle

    def personal_path(self, locator: Locator) -> str:
        return self._space.personal_path(locator)

    def write_personal(
        self, locator: Locator, content: str, *, authorization: object, if_match: str | Absent | None = None
    ) -> Locator:
        self._settle()
        return self._space.write_personal(locator, content, authorization=authorization, if_match=if_match)


class _SettledAppends(facets.Appends):
    """The same for additions."""

    def __init__(self, inner: facets.Appends, settle: Callable[[], None]) -> None:
        self._inner, self._settle = inner, settle

    def append(self, locator: Locator, text: str) -> Locator:
        self._settle()
        return self._inner.append(locator, text)


def unmarked(backend: StorageBackend, protocol: str) -> StoreIdentityError:
    """The refusal to write where no store has been set up."""
    place = backend.describe()
    return StoreIdentityError(
        f"the store at {place} has no identity stamp, so nothing is written there",
        hint=f"set it up once: `agentm {protocol} init {place}` (`--adopt` if it has notes already)",
    )


# ------------------------------------------------------------------------------------------ the mark in the store


def read_stamp(backend: StorageBackend) -> str | None:
    """The store's id, `None` if it carries none; a stamp that cannot be understood is an error."""
    text = backend.stamp_text()
    if text is None:
        return None
    from agentm_kernel.device.json_text import parse

    try:
        fields = parse(text)
    except ValueError as error:
        raise _bad_stamp(backend, str(error)) from error
    store_id = fields.get("id") if isinstance(fields, dict) else None
    if not isinstance(fields, dict) or not isinstance(store_id, str) or not store_id:
        raise _bad_stamp(backend, "it has no id")
    if fields.get("layout") != LAYOUT_VERSION:
        raise StoreIdentityError(
            f"the store at {backend.describe()} has layout {fields.get('layout')!r}; "
            f"this agentm knows layout {LAYOUT_VERSION}",
            hint="install the agentm that made the store, or a newer one",
        )
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
    fields = {
        "id": store_id or str(uuid4()),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "layout": LAYOUT_VERSION,
    }
    try:
        backend.write(STAMP, json.dumps(fields, indent=2) + "\n", if_match=ABSENT)
    except ConcurrentModificationError:
        other = read_stamp(backend)
        if other is None:
            raise
        return other
    return str(fields["id"])


def _bad_stamp(backend: StorageBackend, why: str) -> StoreIdentityError:
    return StoreIdentityError(
        f"the identity stamp {STAMP_KEY} of the store at {backend.describe()} cannot be read: {why}",
        hint=f"restore {STAMP_KEY} from a backup or another device; agentm does not guess which store this is",
    )


# ---------------------------------------------------------------------------------------- the record on this device


class KnownStore(Frozen):
    """One store that this device has written to."""

    protocol: str
    place: str
    id: str


def known_stores(state_dir: str) -> list[KnownStore]:
    """Every store that this device knows."""
    return [
        KnownStore(protocol, place, store_id)
        for (protocol, _, place), store_id in ((key.partition(" "), i) for key, i in sorted(_read(state_dir).items()))
    ]


def known_id(state_dir: str, protocol: str, place: str) -> str | None:
    """The id of the store that this device used there last."""
    return _read(state_dir).get(_key(protocol, place))


def record_store(state_dir: str, protocol: str, place: str, store_id: str) -> None:
    """Record that the store at `place` is `store_id`."""
    _change(state_dir, {_key(protocol, place): store_id})


def forget_store(state_dir: str, protocol: str, place: str) -> bool:
    """Drop the record; whether there was one."""
    if known_id(state_dir, protocol, place) is None:
        return False
    _change(state_dir, {_key(protocol, place): None})
    return True


def _key(protocol: str, place: str) -> str:
    return f"{protocol} {place}"


def _read(state_dir: str) -> dict[str, str]:
    path = os.path.join(state_dir, _RECORD)
    try:
        data = read_small_file(path, _RECORD_LIMIT)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise _bad_record(path, str(error.strerror)) from error
    from agentm_kernel.device.json_text import parse_bytes

    try:
        fields = parse_bytes(data)
    except ValueError as error:
        raise _bad_record(path, str(error)) from error
    if not isinstance(fields, dict) or not all(isinstance(value, str) for value in fields.values()):
        raise _bad_record(path, "it is not a table of store ids")
    return fields


def _change(state_dir: str, changes: dict[str, str | None]) -> None:
    import json

    from agentm_kernel.files.atomic import atomic_write
    from agentm_kernel.files.mutex import store_mutex
    from agentm_kernel.files.root import make_private_folder

    make_private_folder(state_dir)
    with store_mutex(state_dir):
        merged = {**_read(state_dir), **changes}
        kept = {key: value for key, value in sorted(merged.items()) if value is not None}
        atomic_write(os.path.join(state_dir, _RECORD), json.dumps(kept, indent=2) + "\n")


def _bad_record(path: str, why: str) -> StoreIdentityError:
    return StoreIdentityError(
        f"the record of known stores {path} cannot be read: {why}",
        hint="repair or move that file away; agentm cannot tell without it whether this is the right store",
    )
