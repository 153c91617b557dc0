"""Does this server honour conditions? Shown once, with objects of our own, before the first write.

Some servers that speak the protocol accept `If-Match` and ignore it: on those every race loses an update, silently.
What a server has shown is remembered on this device, by endpoint and bucket.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, NamedTuple

from agentm_bucket.failures import Failure, RequestFailed
from agentm_bucket.history import History, new_write
from agentm_kernel.plugin import FileStore, Locator, NotFoundError, StorageSelectionError, content_hash

if TYPE_CHECKING:
    from agentm_bucket.client import Client, Version
    from agentm_bucket.place import Place
    from agentm_bucket.waiting import Deadline

_NAME = ".agentm-proof-"


class Proof(NamedTuple):
    """What a server has shown."""

    deletes_on_condition: bool


def proven(client: Client, state_dir: str, deadline: Deadline) -> Proof:
    """What the server of `client` honours; `StorageSelectionError` for one that ignores conditional writes."""
    records = FileStore(os.path.join(state_dir, "bucket", "proofs"), create_root=True, private=True)
    record = Locator(f"{content_hash(_server(client.place))[:32]}.json")
    try:
        return Proof(bool(json.loads(records.read(record))["deletes_on_condition"]))
    except (NotFoundError, ValueError, KeyError, TypeError):
        pass  # never shown, or a record that cannot be read: shown again
    proof = _ask(client, deadline)
    shown = {"server": _server(client.place), "deletes_on_condition": proof.deletes_on_condition}
    records.write(record, json.dumps(shown, indent=2) + "\n")
    return proof


def _server(place: Place) -> str:
    return f"{place.kind} {place.endpoint} {place.bucket}"


def _ask(client: Client, deadline: Deadline) -> Proof:
    """Try to break each rule once. The object has a name that no key can have, and is removed again."""
    path = client.place.path(_NAME + new_write().replace(".", "-"))
    try:
        first = _put(client, path, b"1", None, deadline)
        _must_refuse(client, path, None, "a second creation of one object", deadline)
        second = _put(client, path, b"2", first, deadline)
        _must_refuse(client, path, first, "a write over another version than the one it names", deadline)
        return Proof(client.place.can_delete_on_condition and _deletes(client, path, first, second, deadline))
    finally:
        _remove(client, path, deadline)


def _put(client: Client, path: str, data: bytes, base: Version | None, deadline: Deadline) -> Version:
    """Store `data`, also if a reply gets lost: the history says whether an attempt before this one did."""
    history = (base.history if base else History()).then(new_write())
    while True:
        try:
            return client.put(path, data, base, history, deadline)
        except RequestFailed as failure:
            if failure.failure in (Failure.FATAL, Failure.LATE):
                raise
            found = _found(client, path, deadline)
            if found is not None and found.history == history:
                return found
            if not deadline.pause():
                raise


def _must_refuse(client: Client, path: str, base: Version | None, what: str, deadline: Deadline) -> None:
    while True:
        try:
            client.put(path, b"3", base, History(), deadline)
        except RequestFailed as failure:
            if failure.failure is Failure.REFUSED:
                return
            if failure.failure is not Failure.UNCLEAR or not deadline.pause():
                raise
        else:
            raise StorageSelectionError(
                f"the server of {client.place} ignores conditional writes: it accepted {what}",
                hint="writers on two machines would lose each other's notes there; use a server that honours "
                "If-Match and If-None-Match",
            )


def _deletes(client: Client, path: str, old: Version, new: Version, deadline: Deadline) -> bool:
    """Whether a deletion that names the old version is refused, and one that names the new one works."""
    try:
        client.delete_on_condition(path, old, deadline)
    except RequestFailed as failure:
        if failure.failure is not Failure.REFUSED:
            return False
    if _found(client, path, deadline) is None:
        return False
    try:
        client.delete_on_condition(path, new, deadline)
    except RequestFailed:
        return False
    return _found(client, path, deadline) is None


def _found(client: Client, path: str, deadline: Deadline) -> Version | None:
    try:
        return client.head(path, deadline)[1]
    except RequestFailed as failure:
        if failure.failure is not Failure.MISSING:
            raise
        return None


def _remove(client: Client, path: str, deadline: Deadline) -> None:
    try:
        client.delete(path, deadline)
    except RequestFailed:
        pass  # it is hidden, a few bytes, and in nobody's way
