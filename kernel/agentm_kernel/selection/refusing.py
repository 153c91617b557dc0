"""Why there is no store, and what people are told about the choice. Loaded where there is none, or somebody asks."""

from __future__ import annotations

from agentm_kernel.device.installed import BACKENDS, COMMANDS
from agentm_kernel.errors import AgentmError, BackendNotInstalledError, StorageSelectionError
from agentm_kernel.plugins.published import PUBLISHED, how_to_install
from agentm_kernel.seam import Frozen
from agentm_kernel.seam.registry import registry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_kernel.selection import Choice, Decision
    from agentm_kernel.state import Device


class Refusal(Frozen):
    """Why there is no store, and what was chosen, as far as that is known."""

    choice: Choice | None
    error: StorageSelectionError


class StoragePreview(Frozen):
    """What selecting the store would do now, without doing it."""

    status: str  # `ok`, `warn` or `fail`
    protocol: str | None
    line: str


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


def as_selection_error(
    error: AgentmError, *, of: str | None = None, protocol: str | None = None
) -> StorageSelectionError:
    """Whatever was in the way of a store, as the refusal of the store; `of` names it where it is not the default. The
    hints of a backend speak of the default one's options, in the table `plugins.PROTOCOL`.
    """
    if isinstance(error, StorageSelectionError) and of is None:
        return error
    kind = type(error) if isinstance(error, StorageSelectionError) else StorageSelectionError
    message, hint = error.message, error.hint
    if of is not None:
        message = f"the store '{of}' cannot be had: {message}"
        hint = hint and hint.replace(f"plugins.{protocol}.", f"stores.{of}.")
    refusal = kind(message, hint=hint)
    refusal.code = error.code
    refusal.__cause__ = error
    return refusal


def not_installed(device: Device, choice: Choice, *, is_default: bool) -> BackendNotInstalledError:
    installed = sorted({record.name for record in device.plugins.of(BACKENDS)} | set(registry.protocols()))
    install = how_to_install(BACKENDS, choice.protocol) or "install the plugin that provides it"
    ready = [name for name in installed if name in PUBLISHED[COMMANDS]]
    if choice.setting is not None:
        instead = f"choose another with `agentm config unset {choice.setting}`"
    elif is_default and ready:  # somebody has installed a store, and the next step is to set it up
        instead = f"set up what is installed with {' or '.join(f'`agentm {name} init`' for name in ready)}"
    else:
        instead = "choose another with `agentm config set storage.backend NAME`"
    return BackendNotInstalledError(
        f"backend '{choice.protocol}' is selected ({choice.origin}) but no installed plugin provides it; "
        f"installed: {', '.join(installed) or 'none'}",
        hint=f"{install}, or {instead}",
    )
