"""Reading and writing state files, on whichever side of the routing rule they belong."""

from __future__ import annotations

from agentm_kernel import errors
from agentm_kernel.errors import NotFoundError, StorageError
from agentm_kernel.files.medium import EditedFolder
from agentm_kernel.files.store import FileStore
from agentm_kernel.projects import harness_path, refuse_linked_harness
from agentm_kernel.seam.locator import Locator
from agentm_kernel.state.routing import Resolution, checked_name, is_marker, state_file_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from agentm_kernel.seam.backend import Absent, StorageBackend


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
        return bool(store.read(locator).strip("\ufeff \t\r\n\f\v"))
    except NotFoundError:
        return False
    except (StorageError, errors.InvalidContentError):
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
    new = "" if allow_secrets else content
    return _change(resolution, name, new, lambda store, note: store.write(note, content, if_match=if_match))


def update_state_file(
    resolution: Resolution, name: str, fn: Callable[[str | None], str], *, allow_secrets: bool = False
) -> str:
    """Change a state file without losing anyone's edit; `fn` as in `update`. Returns its path.

    Lines that are new are looked at for secrets. Those that stand in the file already are let be: what somebody wrote
    there by other means must not keep the next line out.
    """
    from agentm_kernel.seam.update import update

    def changed(current: str | None) -> str:
        text, old = fn(current), frozenset((current or "").split("\n"))
        if not allow_secrets:
            _refuse_secrets(name, "\n".join("" if line in old else line for line in text.split("\n")))
        return text

    return _change(resolution, name, "", lambda store, note: update(store, note, changed))


def append_state_file(resolution: Resolution, name: str, text: str, *, allow_secrets: bool = False) -> str:
    """Add text to the end of a state file, on a line of its own, and return its path."""
    from agentm_kernel.seam.update import append

    return _change(resolution, name, "" if allow_secrets else text, lambda store, note: append(store, note, text))


def _change(
    resolution: Resolution, name: str, new_text: str, change: Callable[[StorageBackend, Locator], object]
) -> str:
    """Change the file where it belongs, and return its path. What can be refused is refused before, `new_text` for a
    secret too: nothing is written then.
    """
    _refuse_secrets(name, new_text)
    state_file_path(resolution, name)
    if resolution.is_synced:
        resolution.claim()  # what the copy of a store on this device says about the place may be old
    else:
        resolution.refuse_no_project()
    store, locator = _place(resolution, name)
    path = state_file_path(resolution, name)
    change(store, locator)
    _hide_from_git(resolution)
    return path


def set_marker(resolution: Resolution, name: str, text: str | None) -> bool:
    """Write a marker of the checkout, or with `None` remove it; whether there was one.

    Markers always lie in the checkout: they say something about it, not about the project.
    """
    checkout, marker = _checkout(resolution), Locator(name)
    was_there = checkout.exists(marker)
    if text is not None:
        checkout.write(marker, text)
        _hide_from_git(resolution)
    elif was_there:
        checkout.delete(marker)
    return was_there


def _refuse_secrets(name: str, text: str) -> None:
    if text:
        from agentm_kernel.seam.secrets import refuse_secrets  # here, because hooks only read

        refuse_secrets(name, text)


def _hide_from_git(resolution: Resolution) -> None:
    from agentm_kernel.projects.git_ignore import hide_from_git

    hide_from_git(resolution.root)


def _place(resolution: Resolution, name: str) -> tuple[StorageBackend, Locator]:
    store, directory = _directory(resolution)
    return store, directory.child(checked_name(name))


def _directory(resolution: Resolution) -> tuple[StorageBackend, Locator]:
    """The store and the folder in it. Whoever reads from a store has to have found the place there, and not in a copy
    that does not know yet whose name it is: it would read another project's plan.
    """
    if resolution.is_synced:
        here = resolution if resolution.is_settled else resolution.in_the_store()
        assert here.backend is not None
        return here.backend, here.state_locator
    return _checkout(resolution), Locator()


def _checkout(resolution: Resolution) -> FileStore:
    """`.harness/` in a checkout: agents edit its files with their own tools, which know nothing of our mutex."""
    refuse_linked_harness(resolution.root)
    store = FileStore(harness_path(resolution.root), medium=EditedFolder(), create_root=True, follow_root_link=False)
    if resolution.device is not None:
        store.state_dir = resolution.device.state_dir
    return store


def _is_file(store: StorageBackend, locator: Locator) -> bool:
    try:
        return not store.info(locator).is_dir
    except NotFoundError:
        return False
