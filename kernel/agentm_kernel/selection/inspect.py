"""One inspection of the configured store. Selection raises its refusal, the preview and doctor print it."""

from __future__ import annotations

from agentm_kernel.errors import AgentmError, CapabilityMismatchError
from agentm_kernel.seam.values import Frozen, Opening
from agentm_kernel.selection.choose import Choice, choose
from agentm_kernel.selection.identity import IdentityGuard, check_identity, unmarked
from agentm_kernel.selection.open import as_selection_error, open_backend, with_wrappers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_kernel.errors import StorageSelectionError
    from agentm_kernel.seam.backend import StorageBackend
    from agentm_kernel.seam.values import Capabilities
    from agentm_kernel.state.device import Device


class Decision(Frozen):
    """A store that can be used. `warning` is for people only."""

    choice: Choice
    backend: StorageBackend
    warning: str | None


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
        return _decide(device, choice, Opening(name=name, read_only=read_only, state_dir=device.state_dir))
    except AgentmError as error:
        return Refusal(choice, as_selection_error(error, of=device.store_name))


def _decide(device: Device, choice: Choice, opening: Opening) -> Decision:
    backend = open_backend(device, choice, opening)
    backend.check_usable(read_only=opening.read_only)
    warning = None
    if check_identity(backend, choice.protocol, opening.state_dir) is None and not backend.self_stamping:
        warning = f"{unmarked(backend, choice.protocol).message}; reading works"
    guarded: StorageBackend = IdentityGuard(backend, choice.protocol, opening.state_dir)
    if not opening.read_only:
        from agentm_kernel.selection.replacing import with_listeners

        guarded = with_listeners(device, guarded)
    wrappers = (*device.config.wrappers, *backend.own_wrappers)
    return Decision(choice, with_wrappers(device, guarded, wrappers, opening), warning)


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
    return StoragePreview("ok", protocol, f"backend '{protocol}' at {found.backend.describe()}, chosen by {origin}")


def open_other(device: Device, protocol: str) -> IdentityGuard:
    """The store of another protocol than the selected one, from its options in the configuration, for migration."""
    opening = Opening(state_dir=device.state_dir)
    backend = open_backend(device, Choice(protocol, "the command"), opening)
    backend.check_usable(read_only=False)
    check_identity(backend, protocol, opening.state_dir)
    return IdentityGuard(backend, protocol, opening.state_dir)
