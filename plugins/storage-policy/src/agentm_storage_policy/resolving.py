"""Following references from a document to the storage block that it means. Nothing takes the place of a target."""

from __future__ import annotations

import os

from agentm_kernel.plugin import Frozen
from agentm_storage_policy.compiled import Document, parse_once
from agentm_storage_policy.crossing import may_cross, record_owner_change
from agentm_storage_policy.definition import StorageDefinition, entries
from agentm_storage_policy.errors import REF_UNRESOLVABLE, RefUnresolvableError, refusal
from agentm_storage_policy.files import Unreadable, confined, read_document, workspace_root
from agentm_storage_policy.ref_forms import FORMS, REGISTRY, SIBLING, WORKSPACE, form_of, is_bare_path, owner_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from agentm_storage_policy.definition import Data
    from agentm_storage_policy.host import Host

MAX_DEPTH = 8
_STORAGE_KINDS = ("storage", "reference", "workspace", "manifest")


class Place(Frozen):
    """A document and the workspace that its references are relative to."""

    __slots__ = ("document", "root")
    document: Document
    root: str

    def __init__(self, document: Document, root: str) -> None:
        self._set(document=document, root=root)


class Resolved(Frozen):
    """A storage block with everything that its surroundings say about it."""

    __slots__ = ("definition", "place", "prefix", "identity", "policies", "read_only", "trail")
    definition: StorageDefinition
    place: Place
    prefix: str
    """The dotted key of the block in its document; empty where the document is the block."""
    identity: tuple[tuple[Data, Place], ...]
    policies: tuple[tuple[Data, Place], ...]
    """Of the block and of every manifest around it: all of them apply."""
    read_only: bool | None
    """Of the block, or else of the nearest manifest that says; `None` where none does."""
    trail: tuple[str, ...]
    """The documents on the way, the first one first."""

    def __init__(
        self,
        definition: StorageDefinition,
        place: Place,
        prefix: str,
        identity: tuple[tuple[Data, Place], ...],
        policies: tuple[tuple[Data, Place], ...],
        read_only: bool | None,
        trail: tuple[str, ...],
    ) -> None:
        self._set(
            definition=definition,
            place=place,
            prefix=prefix,
            identity=identity,
            policies=policies,
            read_only=read_only,
            trail=trail,
        )

    @property
    def name(self) -> str:
        """The policy's id, or where it lies."""
        return self.definition.id or self.place.document.file


class Resolver:
    """Reads documents for one host. Which providers there are is asked when one is opened."""

    def __init__(self, host: Host) -> None:
        self._host = host

    # -- storage --------------------------------------------------------------------------------------------

    def open_file(self, path: str) -> Place:
        """The document that the configuration or a command names."""
        try:
            data = read_document(path)
        except Unreadable as error:
            raise RefUnresolvableError(
                f"the policy {path} cannot be read: {error}",
                hint="check the path; `agentm config get storage.policy` shows the configured one, "
                "relative to the folder of the configuration",
            ) from None
        return Place(self._parse(data, path, _STORAGE_KINDS), workspace_root(path))

    def follow(self, place: Place) -> Resolved:
        """From a document to the block that it embeds or refers to, over at most eight references."""
        identity: tuple[tuple[Data, Place], ...] = ()
        policies: tuple[tuple[Data, Place], ...] = ()
        read_only: bool | None = None
        trail = [os.path.realpath(place.document.file)]
        while True:
            block, prefix = block_of(place.document)
            manifest: Any = place.document.data if block is not place.document.data else {}
            identity = _with_place(manifest.get("identity"), place) or identity
            policies += _with_place(manifest.get("policy"), place)
            if place.document.kind == "workspace":
                read_only = manifest.get("defaults", {}).get("read_only", read_only)
            if block is not None:
                break
            place = self._next(place, *_reference_of(place.document), trail)
        definition = StorageDefinition(block)
        if definition.read_only is not None:
            read_only = definition.read_only
        return Resolved(
            definition,
            place,
            prefix,
            _with_place(block.get("identity"), place) or identity,
            policies + _with_place(block.get("policy"), place),
            read_only,
            tuple(trail),
        )

    def _next(self, place: Place, key: str, target: str, trail: list[str]) -> Place:
        if len(trail) > MAX_DEPTH:
            raise self._unresolvable(place, key, f"more than {MAX_DEPTH} references follow each other")
        following = self.fetch(place, key, target, _STORAGE_KINDS)
        real = os.path.realpath(following.document.file)
        if real in trail:
            names = " → ".join(os.path.basename(path) for path in (*trail[trail.index(real) :], real))
            raise self._unresolvable(place, key, f"the references go round in a circle: {names}")
        trail.append(real)
        return following

    # -- any document ---------------------------------------------------------------------------------------

    def fetch(self, place: Place, key: str, target: str, expected: Sequence[str]) -> Place:
        """The document that the field `key` refers to; `RefUnresolvableError` with its position without one."""
        path, root = self._locate(place, key, target)
        try:
            data = read_document(path)
        except Unreadable as error:
            raise self._unresolvable(place, key, f"the reference leads nowhere: {error}") from None
        document = self._parse(data, path, expected)
        if target.startswith("@") and document.data.get("id") not in (None, target):
            raise self._unresolvable(place, key, "the document that is registered under this slug has another id")
        return Place(document, root)

    def _locate(self, place: Place, key: str, target: str) -> tuple[str, str]:
        form = form_of(target)
        if form is None and (key.endswith("file") or is_bare_path(target)):
            form, target = WORKSPACE, f"./{target.removeprefix('./')}"
        if form == REGISTRY:
            return self._registered(place, key, target)
        try:
            if form == WORKSPACE:
                return confined(place.root, target[2:]), place.root
            if form == SIBLING and not key.endswith("file"):
                return self._sibling(place, key, target)
        except Unreadable as error:
            raise self._unresolvable(place, key, f"the reference is refused: {error}") from None
        raise self._unresolvable(place, key, f"a reference is {FORMS}")

    def _registered(self, place: Place, key: str, slug: str) -> tuple[str, str]:
        path = self._host.registry.get(slug)
        if path is None:
            message = "the registry of this device has no such slug"
            known = {**self._host.options.get("registry", {}), slug: "/path/STORAGE.md"}
            hint = f"name its document: {self._host.setting('registry', known)}"
            raise self._unresolvable(place, key, message, hint)
        own: Any = place.document.data.get("id")
        if isinstance(own, str) and owner_of(own) != owner_of(slug):
            record_owner_change(self._host, owner_of(slug), slug)
        return path, workspace_root(path)

    def _sibling(self, place: Place, key: str, target: str) -> tuple[str, str]:
        name, _, rest = target[3:].partition("/")
        above = os.path.dirname(os.path.realpath(place.root))
        root = confined(above, name)
        if root == os.path.realpath(place.root):
            return confined(root, rest), root
        if not may_cross(self._host, place.root, root, target):
            raise self._unresolvable(
                place,
                key,
                "the reference leads to another workspace, and nobody allowed that",
                hint=f"allow it: {self._host.setting('shared', [*self._host.options.get('shared', ()), root])}",
            )
        return confined(root, rest), root

    def _parse(self, data: bytes, path: str, expected: Sequence[str]) -> Document:
        opening = self._host.opening
        return parse_once(
            data,
            path,
            expected=expected,
            state_dir=opening.state_dir,
            may_write=not opening.read_only,
        )

    def _unresolvable(self, place: Place, key: str, message: str, hint: str | None = None) -> RefUnresolvableError:
        finding = place.document.finding(REF_UNRESOLVABLE, key, message, hint)
        error = refusal([finding])
        assert isinstance(error, RefUnresolvableError)
        return error


def _with_place(block: Any, place: Place) -> tuple[tuple[Data, Place], ...]:
    return tuple((entry, place) for entry in entries(block))


def block_of(document: Document) -> tuple[Any, str]:
    """The storage block of a document with its dotted key; `None` where the document only refers to one."""
    if document.kind == "storage":
        return document.data, ""
    holder, prefix = _holder(document)
    return (holder["inline"], f"{prefix}inline") if "inline" in holder else (None, "")


def _reference_of(document: Document) -> tuple[str, str]:
    """The field that refers to a storage block, and where to."""
    holder, prefix = _holder(document)
    form = "ref" if "ref" in holder else "file"
    return f"{prefix}{form}", holder[form]


def _holder(document: Document) -> tuple[Any, str]:
    if document.kind == "reference":
        return document.data, ""
    return document.data["storage"], "storage."
