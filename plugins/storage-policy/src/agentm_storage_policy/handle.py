"""`define_storage` and `load_storage`: a policy as an object, checked at once and opened when it is asked to."""

from __future__ import annotations

import os

from agentm_kernel.plugin import Frozen
from agentm_storage_policy.compiled import Document
from agentm_storage_policy.definition import StorageDefinition
from agentm_storage_policy.errors import (
    AUTH_UNRESOLVABLE,
    PROVIDER_UNKNOWN,
    RefUnresolvableError,
    StorageConfigInvalidError,
    refusal,
)
from agentm_storage_policy.files import Unreadable, read_document, workspace_root
from agentm_storage_policy.providers import AUTH_REMEDY, DISTRIBUTIONS, MODES, NO_AUTH, needs_auth
from agentm_storage_policy.registry import registered_providers
from agentm_storage_policy.resolving import Place, Resolver, block_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from threading import Event
    from typing import Any

    from agentm_kernel.plugin import Change, Device, Opening
    from agentm_storage_policy.errors import Finding
    from agentm_storage_policy.resolving import Resolved
    from agentm_storage_policy.store import PolicyStore

_MADE = "<definition>"


class StorageHandle(Frozen):
    """A storage policy that breaks no rule. Nothing has been opened, resolved or revealed."""

    __slots__ = ("document", "root")
    document: Document
    root: str | None
    """The workspace that references are relative to; `None` where it is found from the document."""

    def __init__(self, document: Document, root: str | None = None) -> None:
        self._set(document=document, root=root)

    @property
    def definition(self) -> StorageDefinition | None:
        """The block, with defaults; `None` where it is somewhere else and has to be resolved first."""
        block, _ = block_of(self.document)
        return None if block is None else StorageDefinition(block)

    @property
    def name(self) -> str:
        definition = self.definition
        return (definition.id if definition else None) or self.document.file

    @property
    def warnings(self) -> tuple[Finding, ...]:
        """What is allowed and questionable."""
        return self.document.warnings

    def resolve(
        self,
        device: Device | None = None,
        options: Mapping[str, Any] | None = None,
        opening: Opening | None = None,
    ) -> Resolved:
        """Follow references to the block. Files are read; nothing is opened."""
        return self._resolve(device, options, opening)[0]

    def open(
        self,
        device: Device | None = None,
        options: Mapping[str, Any] | None = None,
        opening: Opening | None = None,
    ) -> PolicyStore:
        """The store, under the rules of the policy. `options` are those of `plugins.policy`; the configured ones
        if they are not given.
        """
        from agentm_storage_policy.host import Host
        from agentm_storage_policy.store import PolicyStore

        resolved, host, resolver = self._resolve(device, options, opening)
        assert isinstance(host, Host)
        return PolicyStore.of(resolved, host, resolver)

    def watch(
        self,
        stop: Event | None = None,
        *,
        device: Device | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> Iterator[list[Change]]:
        """Changes that others make, as they happen, for hosts that live long; `stop` ends it."""
        from agentm_kernel.plugin import WatchedStore

        watched = self.open(device, options).facet(WatchedStore)
        if watched is None:
            mode = self.definition.sync.mode if self.definition else "another mode"
            raise StorageConfigInvalidError(
                f"{self.name} is in mode {mode}: only a watched store can be watched",
                hint="the provider local-fs is watched",
            )
        return watched.watch(stop)

    def _resolve(
        self, device: Device | None, options: Mapping[str, Any] | None, opening: Opening | None
    ) -> tuple[Resolved, Any, Resolver]:
        from agentm_kernel.plugin import Device, Opening
        from agentm_storage_policy.host import Host

        device = device or Device.now()
        host = Host(
            device.config.options("policy") if options is None else options,
            device,
            opening or Opening(state_dir=device.state_dir),
        )
        resolver = Resolver(host)
        root = self.root or workspace_root(self.document.file)
        return resolver.follow(Place(self.document, root)), host, resolver


def define_storage(
    definition: Mapping[str, Any], *, root: str | None = None, providers: Collection[str] = ()
) -> StorageHandle:
    """A policy that a program makes: a storage block, or `{inline}`, `{ref}` or `{file}`.

    `root` is the workspace that references are relative to, the current directory if it is not given; `providers` are
    ids that a host knows beside the seven. Nothing is looked up.
    """
    from agentm_storage_policy.parse import parse_values

    known = (*providers, *registered_providers())
    parsed = parse_values(_plain(definition), _MADE, providers=known)
    return StorageHandle(Document.of(parsed, _MADE), root or os.getcwd())


def load_storage(path: str | os.PathLike[str], *, providers: Collection[str] | None = None) -> StorageHandle:
    """The policy in a STORAGE.md, a WORKSPACE.md, or another manifest with a `storage` field.

    Only the document is read. A provider beside the seven has to be in `providers`; if that is not given, it has to
    be installed, which the metadata of installed distributions tells.
    """
    from agentm_storage_policy.parse import parse_bytes

    file = os.fspath(path)
    try:
        data = read_document(file)
    except Unreadable as error:
        raise RefUnresolvableError(f"the policy {file} cannot be read: {error}", hint="check the path") from None
    known = None if providers is None else (*providers, *registered_providers())
    handle = StorageHandle(Document.of(parse_bytes(data, file, providers=known), file))
    if known is None:
        check_provider(handle)
    return handle


def check_provider(handle: StorageHandle) -> None:
    """Raise `StorageProviderUnknownError` unless somebody provides what the block names. Imports nothing."""
    definition = handle.definition
    if definition is None or definition.provider in (*MODES, *registered_providers()):
        return
    from agentm_kernel.plugin import Device, PluginError, find_plugin

    try:
        find_plugin(Device.now(), "agentm.providers", definition.provider)
    except PluginError as error:
        _, prefix = block_of(handle.document)
        key = f"{prefix}.provider" if prefix else "provider"
        hint = f"there are {', '.join(DISTRIBUTIONS)}; {error.hint}"
        raise refusal([handle.document.finding(PROVIDER_UNKNOWN, key, "no such provider is known", hint)]) from error


def check_auth(document: Document) -> None:
    """Raise `StorageAuthUnresolvableError` if the block is one of a bucket that no credentials are declared for.

    The specification does not ask for them, so such a document can be loaded. It cannot be opened.
    """
    block, prefix = block_of(document)
    if block is not None and needs_auth(block["provider"], block["config"]) and not block.get("auth", {}).get("ref"):
        key = f"{prefix}.auth" if prefix else "auth"
        raise refusal([document.finding(AUTH_UNRESOLVABLE, key, f"is missing: {NO_AUTH}", AUTH_REMEDY)])


def _plain(value: object) -> Any:
    """Mappings and sequences of any kind as the dicts and lists that a document would give."""
    from collections.abc import Mapping, Sequence

    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        return [_plain(inner) for inner in value]
    return value
