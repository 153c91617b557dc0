"""The id of a checkout, and which project of a store each checkout of this device is.

The id is random, made at the first write, and never in a store. It lies in git's common directory, which no clone and
no commit carries, so what a repository holds cannot claim to be another checkout. A folder without git has it in its
`.harness/project.json`; when it becomes a repository, that one is believed where this device gave it to this folder.

Which project it is stands in `<state>/stores/<store id>/checkouts.json`, on this device only. An entry names the
project's record by its id too: a name that was given to another project since then is not taken for this one.
"""

from __future__ import annotations

import os

from agentm_kernel.device.json_text import MalformedJson, parse_bytes
from agentm_kernel.errors import AgentmError, ConfigError, StorageIOError
from agentm_kernel.files import read_small_file
from agentm_kernel.projects import HARNESS_DIR, read_checkout_file, refuse_linked_harness
from agentm_kernel.projects.checkout import path_as_text
from agentm_kernel.projects.slug import PROJECT_FILE, parse_project_file, plain_slug, project_file
from agentm_kernel.seam.facets import Identity
from agentm_kernel.selection.identity import read_stamp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from agentm_kernel.projects.checkout import Checkout
    from agentm_kernel.projects.records import ProjectRecord
    from agentm_kernel.seam.backend import StorageBackend

_ID_FILE = "agentm-checkout"
_ID_KEY = "checkout"
_LENGTH = 32
_HEX = frozenset("0123456789abcdef")


def read_checkout_id(checkout: Checkout) -> str | None:
    """The id, `None` if the checkout has none yet; one that cannot be understood is an error."""
    folder = checkout.id_folder
    if folder is None:
        return _id_in_folder(checkout)
    path = os.path.join(folder, _ID_FILE)
    data = read_checkout_file(path)
    return None if data is None else _checked_id(data.decode("ascii", "replace").strip(), path) + checkout.part


def read_former_id(checkout: Checkout) -> str | None:
    """The id that a checkout without one had as a folder, before it became a repository. Anybody may have written it
    who wrote the repository: it is for `find_as_folder` to believe.
    """
    return None if checkout.id_folder is None or read_checkout_id(checkout) is not None else _id_in_folder(checkout)


def _id_in_folder(checkout: Checkout) -> str | None:
    path = project_file(checkout.root)
    found = parse_project_file(read_checkout_file(path), path).get(_ID_KEY)
    return None if found is None else _checked_id(found, path)


def _checked_id(found: object, path: str) -> str:
    if not isinstance(found, str) or len(found) != _LENGTH or not _HEX.issuperset(found):
        raise ConfigError(
            f"{path} holds no id of a checkout",
            hint="remove what is there; `agentm project register --adopt` then says which project this is",
        )
    return found


def binding_keys(checkout: Checkout) -> Iterator[str]:
    """What a project is, in one text: its remote, its checkout, what that was as a folder. It is bound by the first
    one that there is, and may have been bound by another before.
    """
    if checkout.remote is not None:
        yield checkout.remote
    for read in (read_checkout_id, read_former_id):
        if (key := read(checkout)) is not None:
            yield key


def make_checkout_id(checkout: Checkout) -> str | None:
    """The id, made if there is none yet; `None` where it cannot be written."""
    known = read_checkout_id(checkout)
    if known is not None:
        return known
    folder, new = checkout.id_folder, os.urandom(_LENGTH // 2).hex()
    try:
        if folder is None:
            change_project_file(checkout.root, lambda document: {_ID_KEY: new, **document})
        else:
            _create(os.path.join(folder, _ID_FILE), new)
    except (OSError, AgentmError):
        return None
    return read_checkout_id(checkout)


def _create(path: str, text: str) -> None:
    """Make the file whole or not at all; of two who make it at once, the first one's stays."""
    draft = f"{path}.{os.getpid()}-{text[:8]}"
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    try:
        with open(descriptor, "w", encoding="ascii") as file:
            file.write(f"{text}\n")
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(draft, path)
        except FileExistsError:
            pass
    finally:
        os.unlink(draft)


def declare_slug(root: str, slug: str) -> str:
    """Name the project at `root`, whatever its remote or its directory are called; everything else in the file stays.

    Returns the path of the file.
    """
    slug = plain_slug(slug)
    return change_project_file(root, lambda document: {**document, "vault_project": slug})


def change_project_file(root: str, fn: Callable[[dict[str, object]], dict[str, object]]) -> str:
    """Replace the document in the file by `fn` of it, without losing anyone's edit; returns the path."""
    from agentm_kernel.files.store import FileStore
    from agentm_kernel.projects.records import dump_note
    from agentm_kernel.seam.locator import Locator
    from agentm_kernel.seam.update import update

    refuse_linked_harness(root)
    path = project_file(root)

    def changed(text: str | None) -> str:
        return dump_note(fn(parse_project_file(None if text is None else text.encode(), path)))

    update(FileStore(os.path.join(root, HARNESS_DIR), create_root=True), Locator(PROJECT_FILE), changed)
    return path


_FILE = "checkouts.json"
_LIMIT = 10_000_000
_LONGEST_ID = 100


class Checkouts:
    """The checkouts of this device in one store."""

    __slots__ = ("_state_dir", "_store")

    def __init__(self, state_dir: str, store: StorageBackend) -> None:
        self._state_dir = state_dir
        self._store = store

    def find(self, checkout_id: str) -> tuple[str, str] | None:
        """The slug and the record's id that this checkout had last."""
        entry = _read(os.path.join(self._folder(), _FILE)).get(checkout_id)
        return (entry["slug"], entry["id"]) if entry else None

    def find_as_folder(self, former_id: str, root: str) -> tuple[str, str] | None:
        """The same for what became a repository: believed only where this very folder had the id."""
        entry = _read(os.path.join(self._folder(), _FILE)).get(former_id)
        return (entry["slug"], entry["id"]) if entry and entry.get("at") == path_as_text(root) else None

    def lock(self) -> AbstractContextManager[object]:
        """One claim at a time on this device. Raises now, and not after a claim, where nothing can be remembered."""
        from agentm_kernel.files.mutex import store_mutex
        from agentm_kernel.files.root import make_private_folder

        folder = os.path.join(self._state_dir, "stores")
        try:
            make_private_folder(folder)
        except OSError as error:
            raise _unwritable(folder, error) from error
        return store_mutex(folder)

    def remember(self, checkout_id: str, record: ProjectRecord, folder: str | None) -> None:
        """From now on the checkout is the project of this record; `folder` is the root of one without git."""
        entry = {"slug": record.slug, "id": record.id}
        if folder is not None:
            entry["at"] = path_as_text(folder)
        if _read(os.path.join(self._folder(), _FILE)).get(checkout_id) != entry:
            self._add({checkout_id: entry})

    def carry_over_to(self, target: StorageBackend) -> None:
        """Let every checkout be the same project in a store that all notes, and so all records, were copied to."""
        if known := _read(os.path.join(self._folder(), _FILE)):
            Checkouts(self._state_dir, target)._add(known)  # noqa: SLF001 - of our own kind

    def _add(self, entries: dict[str, dict[str, str]]) -> None:
        import json

        from agentm_kernel.files.atomic import atomic_write
        from agentm_kernel.files.mutex import store_mutex
        from agentm_kernel.files.root import make_private_folder

        folder = self._folder()
        path = os.path.join(folder, _FILE)
        try:
            make_private_folder(folder)
            with store_mutex(folder):
                known = {**_read(path), **entries}
                atomic_write(path, json.dumps(known, indent=1, sort_keys=True) + "\n")
        except StorageIOError:
            raise
        except OSError as error:
            raise _unwritable(folder, error) from error

    def _folder(self) -> str:
        """By the store's id; a store that carries no mark is known by its place."""
        identity = self._store.facet(Identity)
        store_id = (identity and identity.store_id) or read_stamp(self._store)
        is_plain = store_id is not None and store_id.replace("-", "").replace("_", "").isalnum()
        if store_id is None or not is_plain or len(store_id) > _LONGEST_ID:
            from binascii import crc32

            place = store_id or self._store.describe()
            store_id = f"at-{crc32(place.encode('utf-8', 'surrogateescape')):08x}"
        return os.path.join(self._state_dir, "stores", store_id)


def _read(path: str) -> dict[str, dict[str, str]]:
    try:
        data = read_small_file(path, _LIMIT)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise _unreadable(path, str(error.strerror)) from error
    try:
        found = parse_bytes(data)
    except MalformedJson as error:
        raise _unreadable(path, str(error)) from error
    if not isinstance(found, dict) or not all(_is_entry(entry) for entry in found.values()):
        raise _unreadable(path, "it is no table of checkouts")
    return found


def _is_entry(entry: object) -> bool:
    return isinstance(entry, dict) and all(isinstance(entry.get(name), str) for name in ("slug", "id"))


def _unreadable(path: str, why: str) -> StorageIOError:
    return StorageIOError(
        f"{path} cannot be read: {why}",
        hint="it says which project each checkout is; repair it, or move it away and run "
        "`agentm project register --adopt` in checkouts that have no remote",
    )


def _unwritable(path: str, error: OSError) -> StorageIOError:
    return StorageIOError(
        f"cannot write {path}: {error.strerror}",
        hint="this device keeps there which project each checkout is; make it writable",
        errno=error.errno,
    )
