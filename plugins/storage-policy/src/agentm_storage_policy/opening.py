"""From a resolved block to an open backend: this device's rules, then the provider's plugin, then its answer."""

from __future__ import annotations

import os

from agentm_kernel.plugin import (
    AgentmError,
    PluginError,
    ProviderContext,
    StorageBackend,
    SyncRules,
    WatchedStore,
    WorkingCopy,
)
from agentm_storage_policy.errors import (
    AUTH_UNRESOLVABLE,
    CONFIG_INVALID,
    PROVIDER_UNKNOWN,
    RefUnresolvableError,
    StorageAuthUnresolvableError,
    refusal,
)
from agentm_storage_policy.exclusion import excluder
from agentm_storage_policy.providers import AUTH_REMEDY, DISTRIBUTIONS, NO_AUTH, PULL_PUSH, WATCH, needs_auth
from agentm_storage_policy.registry import registered_provider

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentm_kernel.plugin import Opener
    from agentm_storage_policy.errors import StoragePolicyError
    from agentm_storage_policy.host import Host
    from agentm_storage_policy.resolving import Place, Resolved, Resolver
    from agentm_storage_policy.secrets import Credentials

GROUP = "agentm.providers"
_DEFAULT_INVENTORY = ".secrets"
_INVENTORY_NAME = "SECRETS.md"


def open_provider(resolved: Resolved, host: Host, resolver: Resolver) -> StorageBackend:
    """The backend of the block. Nothing is revealed, created or sent by opening it."""
    definition = resolved.definition
    _check_endpoint(resolved, host)
    opener = _opener(resolved, host)
    rules = SyncRules(
        definition.sync.mode,
        definition.sync.conflict_policy,
        definition.sync.branch_policy,
        definition.sync.pr_policy,
    )
    context = ProviderContext(host.device, host.opening, resolved.name, rules, excluder(definition.exclude))
    try:
        backend = opener(definition.config, credentials_for(resolved, host, resolver), context)
    except AgentmError:
        raise
    except Exception as error:
        raise _refused(resolved, CONFIG_INVALID, "config", f"the provider refuses it: {_reason(error)}") from error
    return _checked(backend, resolved)


def _checked(backend: object, resolved: Resolved) -> StorageBackend:
    """A store that does what its mode promises: a mode that is only declared would sync nothing, silently."""
    mode = resolved.definition.sync.mode
    if not isinstance(backend, StorageBackend):
        message = f"the provider answered with a {type(backend).__name__} instead of a store"
        raise _refused(resolved, CONFIG_INVALID, "provider", message)
    if (mode == PULL_PUSH and backend.facet(WorkingCopy) is None) or (
        mode == WATCH and backend.facet(WatchedStore) is None
    ):
        raise _refused(resolved, CONFIG_INVALID, "sync.mode", f"the provider cannot work in mode {mode}")
    return backend


def _reason(error: Exception) -> str:
    """The kind of the error alone: its text may repeat a value of the configuration."""
    return type(error).__name__


# ------------------------------------------------------------------------------------------------ the plugin


def _opener(resolved: Resolved, host: Host) -> Opener:
    from agentm_kernel.plugin import find_plugin, load_plugin

    provider = resolved.definition.provider
    registered = registered_provider(provider)
    if registered is not None:
        return registered
    expected = DISTRIBUTIONS.get(provider)
    try:
        record = find_plugin(host.device, GROUP, provider)
        if expected is not None and record.distribution != expected:
            message = f"{record.distribution} provides it, and this name belongs to {expected}"
            raise _refused(resolved, PROVIDER_UNKNOWN, "provider", message, f"uninstall {record.distribution}")
        found = load_plugin(host.device, GROUP, provider)
    except PluginError as error:
        is_missing = error.message.startswith("no installed plugin")
        hint = f"run `pip install {expected}`" if expected and is_missing else error.hint
        raise _refused(resolved, PROVIDER_UNKNOWN, "provider", error.message, hint) from error
    if not callable(found):
        raise _refused(resolved, PROVIDER_UNKNOWN, "provider", f"the {record} is not a function that opens stores")
    return found


def _check_endpoint(resolved: Resolved, host: Host) -> None:
    endpoint = resolved.definition.config.get("endpoint")
    if not isinstance(endpoint, str):
        return
    from agentm_storage_policy.endpoints import is_allowed

    if not is_allowed(endpoint, host.endpoints):
        name = endpoint.partition("://")[2].partition("/")[0]
        raise _refused(
            resolved,
            CONFIG_INVALID,
            "config.endpoint",
            "this device does not allow to store anything there",
            f"allow it: {host.setting('endpoints', [*host.endpoints, name])}",
        )


# ------------------------------------------------------------------------------------------------ credentials


def credentials_for(resolved: Resolved, host: Host, resolver: Resolver) -> Mapping[str, str]:
    """What the provider may ask for. Whether it may have it is checked now, unless this process leaves no trace."""
    definition = resolved.definition
    slug = definition.config.get("credentials_ref") if definition.provider == "self-bucket" else None
    if definition.auth_ref is None and slug is None:
        if needs_auth(definition.provider, definition.config):
            raise _refused(resolved, AUTH_UNRESOLVABLE, "auth", f"is missing: {NO_AUTH}", AUTH_REMEDY)
        return {}
    from agentm_storage_policy.secrets import Credentials, Inventory, variables_of

    inventory = Inventory(_inventories(resolved, resolver))
    names = list(inventory.variables() if definition.auth_env is None and slug is None else definition.auth_env or ())
    if slug is not None:
        short = slug.partition("/")[2] if slug.count("/") == 2 else slug
        entry = inventory.by_slug(short)
        if entry is None:
            message = "the inventory has no secret of this slug"
            raise _refused(resolved, AUTH_UNRESOLVABLE, "config.credentials_ref", message)
        names += variables_of(entry)
    purpose = f"storage={resolved.name} provider={definition.provider}"
    credentials = Credentials(inventory, names, host, purpose)
    is_told_what = definition.auth_env is not None or slug is not None
    if is_told_what and not host.opening.read_only:
        _check(credentials, resolved)
    return credentials


def _check(credentials: Credentials, resolved: Resolved) -> None:
    try:
        credentials.check()
    except StorageAuthUnresolvableError as error:
        raise _refused(resolved, AUTH_UNRESOLVABLE, "auth", error.message, error.hint) from error


def _inventories(resolved: Resolved, resolver: Resolver) -> list[Place]:
    """The inventory that `auth.ref` names, or else those of the workspace."""
    place = resolved.place
    key = _key(resolved, "auth.ref")
    try:
        if resolved.definition.auth_ref is not None:
            return [resolver.fetch(place, key, resolved.definition.auth_ref, ("secrets",))]
        folder = os.path.join(place.root, _DEFAULT_INVENTORY)
        below = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
        paths = [_INVENTORY_NAME, *(f"{name}/{_INVENTORY_NAME}" for name in below)]
        found = [path for path in paths if os.path.isfile(os.path.join(folder, path))]
        return [resolver.fetch(place, key, f"./{_DEFAULT_INVENTORY}/{path}", ("secrets",)) for path in found]
    except RefUnresolvableError as error:
        raise _refused(
            resolved,
            AUTH_UNRESOLVABLE,
            "auth.ref",
            error.findings[0].message if error.findings else error.message,
            error.hint,
        ) from error


def _refused(resolved: Resolved, code: str, key: str, message: str, hint: str | None = None) -> StoragePolicyError:
    return refusal([resolved.place.document.finding(code, _key(resolved, key), message, hint)])


def _key(resolved: Resolved, key: str) -> str:
    return f"{resolved.prefix}.{key}" if resolved.prefix else key
