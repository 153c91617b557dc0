"""One inspection of the configured store. Selection raises its refusal, the preview and doctor print it."""

from __future__ import annotations

import os
import sys

from agentm_kernel.device.config import load
from agentm_kernel.device.directories import home_directory, state_directory
from agentm_kernel.errors import (
    AgentmError,
    BackendNotInstalledError,
    CapabilityMismatchError,
    PluginError,
    StorageSelectionError,
)
from agentm_kernel.files.evidence import observe, saw_more
from agentm_kernel.seam.backend import SWAP_PROVIDER, StorageBackend
from agentm_kernel.seam.values import Capabilities, Frozen, OpenContext
from agentm_kernel.selection.identity import IdentityGuard, check_identity, unmarked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from agentm_kernel.device.config import Config
    from agentm_kernel.device.installed import PluginRecord

VAULT_VARIABLE = "MEMORY_VAULT_PATH"
DEFAULT_PROTOCOL = "device-local"
_BY_DEFAULT = "the default"
POLICY_PROTOCOL = "policy"
"""The backend that opens what `storage.policy` describes, and the wrapper that keeps its rules."""


class Choice(Frozen):
    """A protocol, and in words where the choice comes from."""

    __slots__ = ("protocol", "origin")
    protocol: str
    origin: str

    def __init__(self, protocol: str, origin: str) -> None:
        self._set(protocol=protocol, origin=origin)


class Decision(Frozen):
    """A store that can be used. `warning` is for people only."""

    __slots__ = ("choice", "backend", "warning")
    choice: Choice
    backend: StorageBackend
    warning: str | None

    def __init__(self, choice: Choice, backend: StorageBackend, warning: str | None) -> None:
        self._set(choice=choice, backend=backend, warning=warning)


class Refusal(Frozen):
    """Why there is no store, and what was chosen, as far as that is known."""

    __slots__ = ("choice", "error")
    choice: Choice | None
    error: StorageSelectionError

    def __init__(self, choice: Choice | None, error: StorageSelectionError) -> None:
        self._set(choice=choice, error=error)


class StoragePreview(Frozen):
    """What `select_backend` would do now, without doing it."""

    __slots__ = ("status", "protocol", "line")
    status: str
    """`ok`, `warn` or `fail`."""
    protocol: str | None
    line: str

    def __init__(self, status: str, protocol: str | None, line: str) -> None:
        self._set(status=status, protocol=protocol, line=line)


def open_context(environ: Mapping[str, str], *, read_only: bool) -> OpenContext:
    """The surroundings that backends of this process are opened in."""
    return OpenContext(environ, home_directory(environ), state_directory(environ), read_only)


def inspect(environ: Mapping[str, str] | None = None, *, read_only: bool = True) -> Decision | Refusal:
    """Choose, load and open the configured store. Creates nothing and never raises an expected failure."""
    environ = os.environ if environ is None else environ
    choice = None
    try:
        config = load(environ)
        choice = choose(config, environ)
        return _decide(choice, config, open_context(environ, read_only=read_only))
    except StorageSelectionError as error:
        return Refusal(choice, error)
    except AgentmError as error:
        refusal = StorageSelectionError(error.message, hint=error.hint)
        refusal.code = error.code
        refusal.__cause__ = error
        return Refusal(choice, refusal)


def select_backend(
    *, required: Capabilities | None = None, environ: Mapping[str, str] | None = None, read_only: bool = False
) -> StorageBackend:
    """The configured store, or `StorageSelectionError`; never another one instead."""
    return having(inspect(environ, read_only=read_only), required)


def having(found: Decision | Refusal, required: Capabilities | None) -> StorageBackend:
    """The store that an inspection found, if it can be used and does what is required of it."""
    if isinstance(found, Refusal):
        raise found.error
    missing = found.backend.capabilities.missing_from(required) if required is not None else ()
    if missing:
        raise CapabilityMismatchError(
            found.choice.protocol,
            missing,
            hint="choose a store that has them (`agentm plugins list --verify` shows which) with "
            "`agentm config set storage.backend NAME`",
        )
    return found.backend


def storage_preview(environ: Mapping[str, str] | None = None) -> StoragePreview:
    """The same inspection as a line for people; never raises, never writes."""
    return preview_of(inspect(environ, read_only=False))


def preview_of(found: Decision | Refusal) -> StoragePreview:
    """What an inspection found, as a line for people."""
    if isinstance(found, Refusal):
        return StoragePreview("fail", found.choice.protocol if found.choice else None, found.error.message)
    protocol, origin = found.choice.protocol, found.choice.origin
    if found.warning:
        return StoragePreview("warn", protocol, found.warning)
    return StoragePreview("ok", protocol, f"backend '{protocol}' at {found.backend.describe()}, chosen by {origin}")


# ------------------------------------------------------------------------------------------------ the parts


def choose(config: Config, environ: Mapping[str, str]) -> Choice:
    """Configuration, then environment, then the default."""
    if config.storage_policy is not None:
        return Choice(POLICY_PROTOCOL, f"storage.policy in {config.path}")
    if config.storage_backend is not None:
        return Choice(config.storage_backend, f"storage.backend in {config.path}")
    if environ.get(VAULT_VARIABLE, "").strip():
        return Choice("vault", f"${VAULT_VARIABLE}")
    return Choice(DEFAULT_PROTOCOL, _BY_DEFAULT)


def choose_protocol(environ: Mapping[str, str] | None = None) -> str:
    """The protocol of the store that this device uses."""
    environ = os.environ if environ is None else environ
    return choose(load(environ), environ).protocol


def open_store(protocol: str, *, environ: Mapping[str, str] | None = None) -> IdentityGuard:
    """The store of another protocol than the selected one, from its options in the configuration, for migration."""
    environ = os.environ if environ is None else environ
    config = load(environ)
    choice = Choice(protocol, "the command")
    context = open_context(environ, read_only=False)
    backend = _open(choice, config, context)
    backend.check_usable(read_only=False)
    check_identity(backend, protocol, context)
    return IdentityGuard(backend, protocol, context)


def check_may_leave(environ: Mapping[str, str] | None = None) -> None:
    """Raise unless whatever guards the selected store lets its notes go to another one.

    The store is opened and not used, so the answer needs no network and no credentials. A store that cannot even be
    opened is no obstacle: changing the configuration is how that is repaired.
    """
    environ = os.environ if environ is None else environ
    try:
        config = load(environ)
        choice = choose(config, environ)
        context = open_context(environ, read_only=True)
        backend = _open(choice, config, context)
    except AgentmError:
        return
    try:
        backend = _with_wrappers(backend, config.wrappers, config, context)
    except AgentmError:
        pass  # a layer that cannot be had says nothing; what it is around is asked all the same
    backend.check_allowed(SWAP_PROVIDER)


def _decide(choice: Choice, config: Config, context: OpenContext) -> Decision:
    if config.storage_policy is not None and config.storage_backend not in (None, POLICY_PROTOCOL):
        raise StorageSelectionError(
            f"storage.backend and storage.policy in {config.path} name two stores",
            hint="keep one: run `agentm config unset storage.backend` or `agentm config unset storage.policy`",
        )
    backend = _open(choice, config, context)
    observe(lambda read_only: backend.check_usable(read_only=read_only), context.read_only)
    warning = None
    if check_identity(backend, choice.protocol, context) is None and not backend.self_stamping:
        warning = f"{unmarked(backend, choice.protocol).message}; reading works"
    guarded = IdentityGuard(backend, choice.protocol, context)
    wrappers = (*config.wrappers, POLICY_PROTOCOL) if choice.protocol == POLICY_PROTOCOL else config.wrappers
    return Decision(choice, _with_wrappers(guarded, wrappers, config, context), warning)


def _open(choice: Choice, config: Config, context: OpenContext) -> StorageBackend:
    backend_class = observe(_registered_class, choice.protocol) or _installed_class(choice, config)
    try:
        backend = backend_class.create(_options(choice.protocol, config, context), context)
        capabilities = backend.capabilities
    except AgentmError:
        raise
    except Exception as error:
        raise StorageSelectionError(
            f"backend '{choice.protocol}' cannot be opened: {type(error).__name__}: {error}",
            hint=f"check its options: `agentm config list` shows plugins.{choice.protocol}.*",
        ) from error
    if not isinstance(backend, StorageBackend) or not isinstance(capabilities, Capabilities):
        raise StorageSelectionError(
            f"backend '{choice.protocol}' does not keep the seam's contract: its capabilities are a "
            f"{type(capabilities).__name__}",
            hint=f"run `agentm plugins check {choice.protocol}` and report the result to its author",
        )
    return backend


def _options(name: str, config: Config, context: OpenContext) -> dict[str, Any]:
    """The table `plugins.<name>`, for the policy with where its document is: relative to the configuration, because
    what is relative to the working directory would be another policy in each.
    """
    options = config.options(name)
    if name == POLICY_PROTOCOL and config.storage_policy is not None:
        options["path"] = os.path.join(os.path.dirname(config.path), context.expand(config.storage_policy))
    return options


def _registered_class(protocol: str) -> type[StorageBackend] | None:
    """What this process registered; a registry that nobody has imported is empty."""
    module = sys.modules.get("agentm_kernel.seam.registry")
    return module.registry.get(protocol) if module else None


def _installed_class(choice: Choice, config: Config) -> type[StorageBackend]:
    from agentm_kernel.device.installed import BACKENDS, find
    from agentm_kernel.plugins.load import load_backend

    record = find(BACKENDS, choice.protocol, disabled=config.disabled_plugins, allowed=config.allowed_plugins)
    if record is None:
        raise _not_installed(choice)
    try:
        return load_backend(record)
    except PluginError as error:
        raise StorageSelectionError(error.message, hint=error.hint) from error


def _with_wrappers(
    backend: StorageBackend, names: tuple[str, ...], config: Config, context: OpenContext
) -> StorageBackend:
    """The layers that the configuration asks for, first one innermost. One that cannot be had is a refusal."""
    for name in names:
        saw_more()  # what a wrapper goes by, only the wrapper knows
        from agentm_kernel.plugins.load import load as load_plugin

        record = _find_wrapper(name, config)
        if record is None:
            raise _missing_wrapper(name)
        wrap = load_plugin(record)
        try:
            backend = wrap(backend, _options(name, config, context), context)  # type: ignore[operator]
        except AgentmError:
            raise
        except Exception as error:
            raise _bad_wrapper(name, f"failed: {type(error).__name__}: {error}") from error
        if not isinstance(backend, StorageBackend):
            raise _bad_wrapper(name, f"returned a {type(backend).__name__} instead of a backend")
    return backend


def _missing_wrapper(name: str) -> StorageSelectionError:
    from agentm_kernel.device.installed import WRAPPERS
    from agentm_kernel.plugins.published import how_to_install

    install = how_to_install(WRAPPERS, name) or "install the plugin"
    return StorageSelectionError(
        f"the wrapper '{name}' is configured but no installed plugin provides it",
        hint=f"{install}, or take '{name}' out of `wrappers`; a guard is never skipped",
    )


def _bad_wrapper(name: str, why: str) -> StorageSelectionError:
    return StorageSelectionError(
        f"the wrapper '{name}' {why}",
        hint=f"check plugins.{name}.* with `agentm config list`, or take '{name}' out of `wrappers`",
    )


def _find_wrapper(name: str, config: Config) -> PluginRecord | None:
    from agentm_kernel.device.installed import WRAPPERS, find

    return find(WRAPPERS, name, disabled=config.disabled_plugins, allowed=config.allowed_plugins)


def _not_installed(choice: Choice) -> BackendNotInstalledError:
    from agentm_kernel.device.installed import BACKENDS, COMMANDS, scan
    from agentm_kernel.plugins.published import PUBLISHED, how_to_install
    from agentm_kernel.seam.registry import registry

    installed = sorted({record.name for record in scan(BACKENDS)} | set(registry.protocols()))
    install = how_to_install(BACKENDS, choice.protocol) or "install the plugin that provides it"
    ready = [name for name in installed if name in PUBLISHED[COMMANDS]]
    if choice.protocol == POLICY_PROTOCOL:
        instead = "choose another with `agentm config unset storage.policy`"
    elif choice.origin == _BY_DEFAULT and ready:  # somebody has installed a store, and the next step is to set it up
        instead = f"set up what is installed with {' or '.join(f'`agentm {name} init`' for name in ready)}"
    else:
        instead = "choose another with `agentm config set storage.backend NAME`"
    return BackendNotInstalledError(
        f"backend '{choice.protocol}' is selected ({choice.origin}) but no installed plugin provides it; "
        f"installed: {', '.join(installed) or 'none'}",
        hint=f"{install}, or {instead}",
    )
