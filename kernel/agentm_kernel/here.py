"""The questions of callers who have no device at hand. Each makes one, so each sees this device as it is now."""

from __future__ import annotations

from agentm_kernel.projects import refuse_linked_harness, working_directory
from agentm_kernel.state import Device
from agentm_kernel.state.routing import Resolution, is_local, route, state_directory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from typing import Any

    from agentm_kernel.seam import Capabilities
    from agentm_kernel.seam.backend import Absent, StorageBackend
    from agentm_kernel.selection.refusing import StoragePreview


def select_backend(
    *,
    required: Capabilities | None = None,
    environ: Mapping[str, str] | None = None,
    device: Device | None = None,
    read_only: bool = False,
) -> StorageBackend:
    """The configured store, or `StorageSelectionError`; never another one instead."""
    return (device or Device.now(environ)).store(read_only=read_only, required=required)


def storage_preview(environ: Mapping[str, str] | None = None, *, device: Device | None = None) -> StoragePreview:
    """What `select_backend` would do now, as a line for people; never raises, never writes."""
    from agentm_kernel.selection import inspect_store
    from agentm_kernel.selection.refusing import preview_of

    return preview_of(inspect_store(device or Device.now(environ), read_only=False))


def choose_protocol(environ: Mapping[str, str] | None = None, *, device: Device | None = None) -> str:
    """The protocol of the store that this device uses."""
    from agentm_kernel.selection import choose

    return choose(device or Device.now(environ)).protocol


def resolve_project(
    context: Mapping[str, Any] | None = None, *, device: Device | None = None, read_only: bool = False
) -> Resolution:
    """Which project this is and where its state belongs; `context["cwd"]` instead of the current directory.

    In mode `local` nothing is selected. Otherwise a store that cannot be had raises: state is never routed to a
    place that merely happens to be there. `read_only` admits a store that can be read but not written.
    """
    resolution = (device or Device.now()).project(working_directory(context), read_only=read_only)
    _ = resolution.identity
    if resolution.is_synced:
        _ = resolution.slug  # whatever is wrong with it is said here, not later
    return resolution


def harness_state_dir(resolution: Resolution | None = None) -> Path:
    """The directory of the project's state: of `resolution`, else of the current directory's project."""
    from pathlib import Path

    now = Device.now().project() if resolution is None else renewed(resolution)
    return Path(state_directory(now))


def renewed(resolution: Resolution, *, read_only: bool = True) -> Resolution:
    """`resolution` as things stand now: a marker or a configuration that was replaced since it was made counts.

    One that was made by hand, around a store of the caller's choice, keeps that store while its mode is the same.
    """
    refuse_linked_harness(resolution.root)
    if resolution.device is not None:
        now = route(resolution.device.renewed(), resolution.root, read_only=read_only)
        return now.on_this_device() if resolution.is_local_view else now
    device = Device.now()
    if is_local(device, resolution.root) == (resolution.backend is None):
        return resolution
    return route(device, resolution.root, read_only=read_only)


def read_state_file(resolution: Resolution, name: str) -> str:
    """The text of a state file, `""` if there is none; one that cannot be read raises."""
    from agentm_kernel.state.files import find_state_file

    return find_state_file(renewed(resolution), name) or ""


def write_state_file(
    resolution: Resolution,
    name: str,
    content: str,
    *,
    if_match: str | Absent | None = None,
    allow_secrets: bool = False,
) -> Path:
    """Write a state file where it belongs and return its path on this device.

    Text that seems to hold a secret is refused, unless `allow_secrets` says that it only looks like one.
    """
    from pathlib import Path

    from agentm_kernel.state.files import write_state_file as write

    current = renewed(resolution, read_only=False)
    return Path(write(current, name, content, if_match=if_match, allow_secrets=allow_secrets))


def update_state_file(
    resolution: Resolution, name: str, fn: Callable[[str | None], str], *, allow_secrets: bool = False
) -> Path:
    """Change a state file without losing anyone's edit; `fn` as in `update`. New lines must hold no secret."""
    from pathlib import Path

    from agentm_kernel.state.files import update_state_file as update

    return Path(update(renewed(resolution, read_only=False), name, fn, allow_secrets=allow_secrets))


def list_state_files(resolution: Resolution) -> list[str]:
    """The names of the project's state files, sorted."""
    from agentm_kernel.state.files import list_state_files as list_files

    return list_files(renewed(resolution))


def resolve_active_plan(resolution: Resolution, plan_arg: str | None = None) -> tuple[str, str]:
    """`(plan file, progress file)`: the explicit plan, else the marker's, else `PLAN.md` and `progress.md`."""
    from agentm_kernel.state.plans import resolve_active_plan as resolve

    return resolve(resolution if plan_arg is not None else renewed(resolution), plan_arg)


def list_plan_files(resolution: Resolution) -> list[str]:
    """The plans of the project: `PLAN.md` first, then named ones by name; no archives, no conflict copies."""
    from agentm_kernel.state.plans import list_plan_files as list_plans

    return list_plans(renewed(resolution))
