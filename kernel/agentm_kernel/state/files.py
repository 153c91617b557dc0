"""Reading and writing state files, on whichever side of the routing rule they belong."""

from __future__ import annotations

import os

from agentm_kernel.errors import InvalidContentError, NotFoundError, StorageError
from agentm_kernel.files.medium import EditedFolder
from agentm_kernel.files.store import FileStore
from agentm_kernel.projects import HARNESS_DIR, refuse_linked_harness
from agentm_kernel.seam.locator import Locator
from agentm_kernel.state.routing import checked_name, is_marker, state_file_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from agentm_kernel.seam.backend import Absent, StorageBackend
    from agentm_kernel.state.routing import Resolution


def find_state_file(resolution: Resolution, name: str) -> str | None:
    """The text of a state file, `None` if there is none; one that cannot be read raises."""
    store, locator = _place(resolution, name)
    try:
        return store.read(locator)
    except NotFoundError:
        return None


def is_written(resolution: Resolution, name: str) -> bool:
    """Whether a state file is there and has something in it; white space is nothing.

    What cannot be read is there, and is not reported as empty: reading it says what is wrong with it.
    """
    store, locator = _place(resolution, name)
    try:
        info = store.info(locator)
        if info.is_dir or not info.size:
            return False
    except NotFoundError:
        return False
    try:
        return bool(store.read(locator).strip("\ufeff \t\r\n\f\v"))
    except NotFoundError:
        return False
    except (StorageError, InvalidContentError):
        return True


def list_state_files(resolution: Resolution) -> list[str]:
    """The names of the project's state files, sorted."""
    store, directory = _directory(resolution)
    return [child.name for child in store.list(directory) if not is_marker(child.name) and _is_file(store, child)]


def write_state_file(
    resolution: Resolution,
    name: str,
    content: str,
    *,
    if_match: str | Absent | None = None,
    allow_secrets: bool = False,
) -> str:
    """Write a state file where it belongs and return its path on this device.

    Text that seems to hold a secret is refused, unless `allow_secrets` says that it only looks like one.
    """
    if not allow_secrets:
        _refuse_secrets(name, content)
    store, locator, path = _place_for_writing(resolution, name)
    store.write(locator, content, if_match=if_match)
    _hide_from_git(resolution)
    return path


def update_state_file(
    resolution: Resolution, name: str, fn: Callable[[str | None], str], *, allow_secrets: bool = False
) -> str:
    """Change a state file without losing anyone's edit; `fn` as in `update`. Returns its path.

    Lines that are new are looked at for secrets. Those that stand in the file already are let be: what somebody wrote
    there by other means must not keep the next line out.
    """
    from agentm_kernel.seam.update import update

    store, locator, path = _place_for_writing(resolution, name)
    update(store, locator, fn if allow_secrets else lambda current: _without_new_secrets(name, current, fn(current)))
    _hide_from_git(resolution)
    return path


def append_state_file(resolution: Resolution, name: str, text: str, *, allow_secrets: bool = False) -> str:
    """Add text to the end of a state file, on a line of its own, and return its path."""
    from agentm_kernel.seam.update import append

    if not allow_secrets:
        _refuse_secrets(name, text)
    store, locator, path = _place_for_writing(resolution, name)
    append(store, locator, text)
    return path


def _refuse_secrets(name: str, text: str) -> None:
    from agentm_kernel.seam.secrets import refuse_secrets  # here, because hooks only read

    refuse_secrets(name, text)


def _without_new_secrets(name: str, current: str | None, changed: str) -> str:
    old = frozenset((current or "").split("\n"))
    _refuse_secrets(name, "\n".join("" if line in old else line for line in changed.split("\n")))
    return changed


def write_marker(resolution: Resolution, name: str, text: str) -> None:
    """Markers always lie in the checkout: they say something about it, not about the project."""
    _checkout(resolution).write(Locator(name), text)
    _hide_from_git(resolution)


def remove_marker(resolution: Resolution, name: str) -> bool:
    """Whether there was one to remove."""
    checkout, marker = _checkout(resolution), Locator(name)
    if not checkout.exists(marker):
        return False
    checkout.delete(marker)
    return True


# ------------------------------------------------------------------------------------------------ places


def _place(resolution: Resolution, name: str) -> tuple[StorageBackend, Locator]:
    store, directory = _directory(resolution)
    return store, directory.child(checked_name(name))


def _place_for_writing(resolution: Resolution, name: str) -> tuple[StorageBackend, Locator, str]:
    """Store, locator and path, everything that can be refused having been refused: nothing is written before."""
    store, locator = _place(resolution, name)
    path = state_file_path(resolution, name)
    if resolution.is_synced:
        if resolution.claim() != locator.parent.parent:  # another repository was faster, and has the name now
            store, locator = _place(resolution, name)
            path = state_file_path(resolution, name)
    else:
        resolution.refuse_no_project()
    return store, locator, path


def _directory(resolution: Resolution) -> tuple[StorageBackend, Locator]:
    if resolution.is_synced:
        assert resolution.backend is not None
        return resolution.backend, resolution.state_locator
    return _checkout(resolution), Locator()


def _checkout(resolution: Resolution) -> FileStore:
    """`.harness/` in a checkout: agents edit its files with their own tools, which know nothing of our mutex."""
    refuse_linked_harness(resolution.root)
    store = FileStore(os.path.join(resolution.root, HARNESS_DIR), medium=EditedFolder(), create_root=True)
    if resolution.device is not None:
        store.state_dir = resolution.device.state_dir
    return store


def _hide_from_git(resolution: Resolution) -> None:
    from agentm_kernel.projects.git_ignore import hide_from_git

    hide_from_git(resolution.root)


def _is_file(store: StorageBackend, locator: Locator) -> bool:
    try:
        return not store.info(locator).is_dir
    except NotFoundError:
        return False
