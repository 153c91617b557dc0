"""Reading and writing state files, on whichever side of the routing rule they belong."""

from __future__ import annotations

import os

from agentm_kernel.errors import InvalidLocatorError, NotFoundError
from agentm_kernel.files.store import FileStore
from agentm_kernel.projects.root import HARNESS_DIR
from agentm_kernel.seam.locator import Locator
from agentm_kernel.state.routing import current, state_file_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from agentm_kernel.seam.backend import Absent, StorageBackend
    from agentm_kernel.state.resolution import Resolution


def read_state_file(resolution: Resolution, name: str) -> str:
    """The text of a state file, `""` if there is none; one that cannot be read raises."""
    store, locator = _place(resolution, name)
    try:
        return store.read(locator)
    except NotFoundError:
        return ""


def write_state_file(
    resolution: Resolution, name: str, content: str, *, if_match: str | Absent | None = None
) -> Path:
    """Write a state file where it belongs and return its path on this host."""
    from pathlib import Path

    store, locator = _place_for_writing(resolution, name)
    store.write(locator, content, if_match=if_match)
    return Path(state_file_path(resolution, name))


def update_state_file(resolution: Resolution, name: str, fn: Callable[[str | None], str]) -> Path:
    """Change a state file without losing anyone's edit; `fn` as in `update`."""
    from pathlib import Path

    from agentm_kernel.seam.update import update

    store, locator = _place_for_writing(resolution, name)
    update(store, locator, fn)
    return Path(state_file_path(resolution, name))


def list_state_files(resolution: Resolution) -> list[str]:
    """The names of the project's state files, sorted; markers of the checkout are not state."""
    store, directory = _directory(resolution)
    return [
        child.name
        for child in store.list(directory)
        if not child.name.startswith(".") and child.suffix and not store.info(child).is_dir
    ]


def write_marker(resolution: Resolution, name: str, text: str) -> None:
    """Markers always lie in the checkout: they say something about it, not about the project."""
    _checkout(resolution).write(Locator(name), text)


def remove_marker(resolution: Resolution, name: str) -> bool:
    """Whether there was one to remove."""
    try:
        _checkout(resolution).delete(Locator(name))
    except NotFoundError:
        return False
    return True


def _place(resolution: Resolution, name: str) -> tuple[StorageBackend, Locator]:
    resolution = current(resolution)
    store, directory = _directory(resolution)
    return store, directory.child(_checked_name(name))


def _place_for_writing(resolution: Resolution, name: str) -> tuple[StorageBackend, Locator]:
    resolution = current(resolution)
    store, locator = _place(resolution, name)
    if resolution.is_synced:
        from agentm_kernel.projects.ownership import claim_ownership

        claim_ownership(store, resolution.slug, resolution.identity.remote)
    return store, locator


def _directory(resolution: Resolution) -> tuple[StorageBackend, Locator]:
    if resolution.is_synced:
        assert resolution.backend is not None
        return resolution.backend, resolution.state_locator
    return _checkout(resolution), Locator()


def _checkout(resolution: Resolution) -> FileStore:
    return FileStore(os.path.join(resolution.root, HARNESS_DIR), create_root=True)


def _checked_name(name: str) -> str:
    locator = Locator(name)
    if locator.key != name or len(locator.parts) != 1:
        raise InvalidLocatorError(
            f"{ascii(name)} is not the name of a state file", hint="state files have plain names such as PLAN.md"
        )
    return name
