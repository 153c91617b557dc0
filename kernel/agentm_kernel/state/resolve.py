"""Which project, which store, which directory: for processes that ask again and again.

The answers are those of `routing`, kept for as long as they hold (see `memo`). Hooks, which ask once and end, go to
`routing` itself.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from agentm_kernel.device.config import load
from agentm_kernel.errors import ConfigError
from agentm_kernel.files.evidence import observe, saw_file, saw_more, saw_nothing, saw_process, settled_signature
from agentm_kernel.files.gathering import Gathering
from agentm_kernel.projects.in_store import LEGACY_PROJECTS, PROJECTS
from agentm_kernel.projects.ownership import RECORD
from agentm_kernel.projects.root import physical_directory, project_root_above
from agentm_kernel.seam.backend import STAMP_KEY
from agentm_kernel.seam.facets import DeviceFiles
from agentm_kernel.seam.locator import Locator
from agentm_kernel.selection.identity import confirm_identity
from agentm_kernel.state.memo import Memo, keep
from agentm_kernel.state.routing import (
    current,
    is_local,
    path_in_store,
    route,
    state_directory,
    working_directory,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from agentm_kernel.files.gathering import Evidence
    from agentm_kernel.seam.backend import StorageBackend
    from agentm_kernel.state.resolution import Resolution

_projects = Memo()
_directories = Memo()


def resolve_project(context: Mapping[str, Any] | None = None, *, read_only: bool = False) -> Resolution:
    """Which project this is and where its state belongs; `context["cwd"]` instead of the current directory.

    In mode `local` nothing is selected. Otherwise a store that cannot be had raises: state is never routed to a
    place that merely happens to be there. `read_only` admits a store that can be read but not written.
    """
    start = physical_directory(working_directory(context))
    return _projects.answer((start, read_only), lambda: _resolve(start, read_only=read_only))


def harness_state_dir(resolution: Resolution | None = None) -> Path:
    """The directory of the project's state: of `resolution`, else of the current directory's project."""
    if resolution is None:
        start = physical_directory()
        return _directories.answer(start, lambda: _directory(_route(start, read_only=True)))
    kept = resolution.kept
    if kept is None or not kept.evidence.holds():
        kept = keep(lambda: _directory(current(resolution)))
        resolution.keep(kept=kept)
    answer: Path = kept.answer
    return answer


def _resolve(start: str, *, read_only: bool) -> Resolution:
    resolution = _route(start, read_only=read_only)
    _ = resolution.slug  # whatever is wrong with it is said here, not later
    _see_place(resolution)
    _ = resolution.layout
    return resolution


def _route(start: str, *, read_only: bool) -> Resolution:
    root = project_root_above(start)
    resolution = route(root, read_only=read_only, standing=_standing(root))
    with Gathering() as identified:
        _see_identity(resolution)
    resolution.keep(identified=identified)
    return resolution


def _standing(root: str) -> Evidence:
    """What mode and choice of store rest on."""
    with Gathering() as standing:
        saw_process()
        if not is_local(root):
            try:
                load()
            except ConfigError:
                saw_more()  # selection will refuse it, in its own words
    return standing


def _directory(resolution: Resolution) -> Path:
    if resolution.is_synced:
        resolution = resolution.placed_anew()
        _see_identity(resolution)
        _see_place(resolution)
    return Path(state_directory(resolution))


# ------------------------------------------------------------------------------------------------ files of the store
#
# Each is looked at before it is read: one that is replaced in between will not look the same again.


def _see_identity(resolution: Resolution) -> None:
    """Let the answer not outlive a store that vanishes or is replaced."""
    backend = resolution.backend
    if backend is None:
        return
    if backend.capabilities.device_files:
        _see(path_in_store(resolution, Locator(STAMP_KEY)))
    else:
        observe(_stamp_of, backend)
    if resolution.identified is None or not resolution.identified.holds():
        confirm_identity(backend)


def _see_place(resolution: Resolution) -> None:
    """Let the answer not outlive a change of the project's place in the store, or of its owner."""
    if resolution.backend is None:
        return
    if resolution.backend.facet(DeviceFiles) is None:
        saw_more()
        return
    for folder in (PROJECTS, LEGACY_PROJECTS):
        project = path_in_store(resolution, Locator(f"{folder}/{resolution.slug}"))
        if _see(os.path.join(project, RECORD)):
            break  # the record of its owner is all that is asked for
        _see(project)


def _stamp_of(backend: StorageBackend) -> str | None:
    return backend.stamp_text()


def _see(path: str) -> bool:
    """Look at a path of the store, and tell whether something is there."""
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        saw_nothing(path)
        return False
    except OSError:
        saw_more()
        return False
    if stat.S_ISREG(status.st_mode):
        saw_file(path, settled_signature(status), None, None)
    else:
        observe(_kind, path)
    return True


def _kind(path: str) -> int:
    return stat.S_IFMT(os.lstat(path).st_mode)
