"""Which store this device uses: the choice, its identity, and the refusal when it cannot be had.

Which backend this device uses, and opening it: its class, its options, the layers around it; or the refusal.
"""

from __future__ import annotations

import os
import sys

from agentm_kernel.device.installed import BACKENDS, WRAPPERS
from agentm_kernel.errors import AgentmError, BackendNotInstalledError, CapabilityMismatchError, StorageSelectionError
from agentm_kernel.plugins import Call, StdoutToStderr, wrong_answer
from agentm_kernel.plugins.table import find, load, load_backend
from agentm_kernel.seam import Capabilities, Frozen, Opening
from agentm_kernel.seam.backend import SWAP_PROVIDER, StorageBackend
from agentm_kernel.selection.guard import PluginGuard
from agentm_kernel.selection.identity import IdentityGuard, check_identity, unmarked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from agentm_kernel.device import DeviceFacts
    from agentm_kernel.device.config import Config
    from agentm_kernel.state import Device

VAULT_VARIABLE = "MEMORY_VAULT_PATH"
DEFAULT_PROTOCOL = "device-local"
BY_DEFAULT = "the default"


class Choice(Frozen):
    """A protocol, in words where the choice comes from, and what the choosing setting says beyond the name."""

    protocol: str
    origin: str
    setting: str | None = None
    """The setting that chose it, where that is not `storage.backend`: unsetting it chooses anew."""


def _undecided(config: Config, path: object) -> StorageSelectionError:
    """Older installs took a path for a choice. There are notes at that path: an empty store must not replace them."""
    return StorageSelectionError(
        f"{config.path} says where a vault is ({path}), but not which store to use",
        hint="run `agentm config set storage.backend vault` to use the vault, or "
        f"`agentm config set storage.backend {DEFAULT_PROTOCOL}` to use the store of this device",
    )


def choose(device: DeviceFacts) -> Choice:
    """The choice, made or refused; nothing is loaded for it."""
    config = device.config
    if config.shortcut is not None:
        setting, protocol, _ = config.shortcut
        if config.storage_backend not in (None, protocol):
            raise StorageSelectionError(
                f"{config.chosen_by} and {setting} in {config.path} name two stores",
                hint=f"keep one: run `agentm config unset {config.chosen_by}` or `agentm config unset {setting}`",
            )
        return Choice(protocol, f"{setting} in {config.path}", setting)
    if config.storage_backend is not None:
        return Choice(config.storage_backend, f"{config.chosen_by} in {config.path}", None)
    if device.environ.get(VAULT_VARIABLE, "").strip():
        return Choice("vault", f"${VAULT_VARIABLE}")
    if (path := config.options("vault").get("vault_path")) is not None:
        raise _undecided(config, path)
    return Choice(DEFAULT_PROTOCOL, BY_DEFAULT, None)


def open_backend(device: Device, choice: Choice, opening: Opening) -> PluginGuard:
    """The chosen backend, opened; refused if it cannot be had or does not keep the contract."""
    record = None
    backend_class = _registered_class(choice.protocol)
    if backend_class is None:
        record = find(device, BACKENDS, choice.protocol)
        if record is None:
            raise _not_installed(device, choice)
        backend_class = load_backend(record)
    label = f"backend '{choice.protocol}'" if record is None else str(record)
    options = options_of(device, choice.protocol)
    try:
        with StdoutToStderr(), Call(label, "create"):
            backend = backend_class.create(options, device, opening)
            capabilities: object = backend.capabilities
    except AgentmError as error:
        cause = error.__cause__
        if isinstance(cause, (TypeError, ValueError)) and not isinstance(cause, AgentmError):
            raise StorageSelectionError(
                f"the {label} cannot be opened: {type(cause).__name__}: {cause}",
                hint=f"check its options: `agentm config list` shows plugins.{choice.protocol}.*",
            ) from cause
        raise
    if not isinstance(backend, StorageBackend):
        raise wrong_answer(label, "create", backend, "a StorageBackend")
    if not isinstance(capabilities, Capabilities):
        raise wrong_answer(label, "capabilities", capabilities, "Capabilities")
    return PluginGuard(backend, label)


def options_of(device: Device, name: str) -> dict[str, Any]:
    """The table `plugins.<name>`, with what a setting that chooses the store says for it: a path, relative to the
    configuration, because what is relative to the working directory would be another one in each.
    """
    config = device.config
    options = config.options(name)
    if config.shortcut is not None and config.shortcut[1] == name:
        options["path"] = os.path.join(os.path.dirname(config.path), device.expand(config.shortcut[2]))
    return options


def with_wrappers(
    device: Device, backend: StorageBackend, names: tuple[str, ...], opening: Opening
) -> StorageBackend:
    """The layers around the backend, first one innermost. One that cannot be had is a refusal: none is skipped."""
    for name in names:
        record = find(device, WRAPPERS, name)
        if record is None:
            from agentm_kernel.plugins.published import how_to_install

            raise StorageSelectionError(
                f"the wrapper '{name}' is configured but no installed plugin provides it",
                hint=f"{how_to_install(WRAPPERS, name) or 'install the plugin'}, or take '{name}' out of `wrappers`; "
                "a guard is never skipped",
            )
        wrap: Any = load(record)
        label = str(record)
        with StdoutToStderr(), Call(label, "opening"):
            backend = wrap(backend, options_of(device, name), device, opening)
        if not isinstance(backend, StorageBackend):
            raise wrong_answer(label, "opening", backend, "a backend")
        backend = PluginGuard(backend, label)
    return backend


def check_may_leave(device: Device) -> None:
    """Raise unless whatever guards the selected store lets its notes go to another one.

    The store is opened and not used, so the answer needs no network and no credentials. A store that cannot even be
    opened is no obstacle: changing the configuration is how that is repaired.
    """
    opening = Opening(read_only=True, state_dir=device.state_dir)
    try:
        backend: StorageBackend = open_backend(device, choose(device), opening)
    except AgentmError:
        return
    try:
        backend = with_wrappers(device, backend, device.config.wrappers, opening)
    except AgentmError:
        pass  # a layer that cannot be had says nothing; what it is around is asked all the same
    backend.check_allowed(SWAP_PROVIDER)


def as_selection_error(
    error: AgentmError, *, of: str | None = None, protocol: str | None = None
) -> StorageSelectionError:
    """Whatever was in the way of a store, as the refusal of the store; `of` names it where it is not the default. The
    hints of a backend speak of the default one's options, in the table `plugins.PROTOCOL`.
    """
    if isinstance(error, StorageSelectionError) and of is None:
        return error
    kind = type(error) if isinstance(error, StorageSelectionError) else StorageSelectionError
    message = error.message if of is None else f"the store '{of}' cannot be had: {error.message}"
    hint = error.hint
    if hint and of is not None and protocol is not None:
        hint = hint.replace(f"plugins.{protocol}.", f"stores.{of}.")
    refusal = kind(message, hint=hint)
    refusal.code = error.code
    refusal.__cause__ = error
    return refusal


def _registered_class(protocol: str) -> type[StorageBackend] | None:
    """What this process registered; a registry that nobody has imported is empty."""
    module = sys.modules.get("agentm_kernel.seam.registry")
    return module.registry.get(protocol) if module else None


def _not_installed(device: Device, choice: Choice) -> BackendNotInstalledError:
    from agentm_kernel.device.installed import COMMANDS
    from agentm_kernel.plugins.published import PUBLISHED, how_to_install
    from agentm_kernel.seam.registry import registry

    installed = sorted({record.name for record in device.plugins.of(BACKENDS)} | set(registry.protocols()))
    install = how_to_install(BACKENDS, choice.protocol) or "install the plugin that provides it"
    ready = [name for name in installed if name in PUBLISHED[COMMANDS]]
    if choice.setting is not None:
        instead = f"choose another with `agentm config unset {choice.setting}`"
    elif choice.origin == BY_DEFAULT and ready:  # somebody has installed a store, and the next step is to set it up
        instead = f"set up what is installed with {' or '.join(f'`agentm {name} init`' for name in ready)}"
    else:
        instead = "choose another with `agentm config set storage.backend NAME`"
    return BackendNotInstalledError(
        f"backend '{choice.protocol}' is selected ({choice.origin}) but no installed plugin provides it; "
        f"installed: {', '.join(installed) or 'none'}",
        hint=f"{install}, or {instead}",
    )


class Decision(Frozen):
    """A store that can be used. `warning` is for people only."""

    choice: Choice
    backend: StorageBackend
    warning: str | None
    wrappers: tuple[str, ...] = ()
    """The layers around the backend, the innermost first."""


class Refusal(Frozen):
    """Why there is no store, and what was chosen, as far as that is known."""

    choice: Choice | None
    error: StorageSelectionError


class StoragePreview(Frozen):
    """What selecting the store would do now, without doing it."""

    status: str
    """`ok`, `warn` or `fail`."""
    protocol: str | None
    line: str


def inspect_store(device: Device, *, read_only: bool = True) -> Decision | Refusal:
    """Choose, load and open the configured store. Creates nothing and never raises an expected failure."""
    choice = None
    try:
        choice = choose(device)
        name = device.store_name or "default"
        return _decide(device, choice, Opening(name, read_only, device.state_dir))
    except AgentmError as error:
        protocol = choice.protocol if choice else None
        return Refusal(choice, as_selection_error(error, of=device.store_name, protocol=protocol))


def _decide(device: Device, choice: Choice, opening: Opening) -> Decision:
    backend = open_backend(device, choice, opening)
    backend.check_usable(read_only=opening.read_only)
    warning = None
    store_id = check_identity(backend, choice.protocol, opening.state_dir)
    if store_id is None and not backend.self_stamping:
        warning = f"{unmarked(backend, choice.protocol).message}; reading works"
    guarded: StorageBackend = IdentityGuard(backend, choice.protocol, opening.state_dir, store_id)
    if not opening.read_only:
        from agentm_kernel.selection.replacing import with_listeners

        guarded = with_listeners(device, guarded)
    wrappers = (*device.config.wrappers, *backend.own_wrappers)
    return Decision(choice, with_wrappers(device, guarded, wrappers, opening), warning, device.config.wrappers)


def require(found: Decision | Refusal, required: Capabilities | None = None) -> StorageBackend:
    """The store that an inspection found, if it can be used and does what is required of it; else raises."""
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


def preview_of(found: Decision | Refusal) -> StoragePreview:
    """What an inspection found, as a line for people that also says what to run."""
    if isinstance(found, Refusal):
        return StoragePreview("fail", found.choice.protocol if found.choice else None, str(found.error))
    protocol, origin = found.choice.protocol, found.choice.origin
    if found.warning:
        return StoragePreview("warn", protocol, found.warning)
    within = f" within {', '.join(found.wrappers)}" if found.wrappers else ""
    place = f"backend '{protocol}' at {found.backend.describe()}"
    return StoragePreview("ok", protocol, f"{place}{within}, chosen by {origin}")


def open_other(device: Device, protocol: str) -> IdentityGuard:
    """The store of another protocol than the selected one, from its options in the configuration, for migration."""
    opening = Opening(state_dir=device.state_dir)
    backend = open_backend(device, Choice(protocol, "the command"), opening)
    backend.check_usable(read_only=False)
    check_identity(backend, protocol, opening.state_dir)
    return IdentityGuard(backend, protocol, opening.state_dir)
