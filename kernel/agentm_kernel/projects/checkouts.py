"""The id of a checkout, and which project of a store each checkout of this device is.

The id is random, made at the first write, and never in a store. It lies in git's common directory, which no clone and
no commit carries, so what a repository holds cannot claim to be another checkout. A folder without git has it in its
`.harness/project.json`; when it becomes a repository, that one is believed where this device gave it to this folder.

Which project it is stands in `<state>/stores/<store id>/checkouts.json`, on this device only. An entry names the
project's record by its id too: a name that was given to another project since then is not taken for this one.
"""

from __future__ import annotations

import os

from agentm_kernel.device.json_text import JsonTable, dump, locked_folder
from agentm_kernel.errors import AgentmError, ConfigError, StorageIOError
from agentm_kernel.projects import HARNESS_DIR, read_checkout_file, refuse_linked_harness
from agentm_kernel.projects.checkout import path_as_text
from agentm_kernel.projects.slug import PROJECT_FILE, parse_project_file, plain_slug, project_file
from agentm_kernel.seam import Frozen
from agentm_kernel.seam.facets import Identity
from agentm_kernel.selection.identity import read_stamp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from agentm_kernel.projects.checkout import Checkout
    from agentm_kernel.projects.lookup import ProjectRecord
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
    who wrote the repository: it is for `Checkouts.find` to believe.
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
    if (known := read_checkout_id(checkout)) is not None:
        return known
    from agentm_kernel.files.atomic import publish_new, replace_file
    from agentm_kernel.files.tree import open_root

    folder, new = checkout.id_folder, os.urandom(_LENGTH // 2).hex()
    try:
        if folder is None:
            change_project_file(checkout.root, lambda document: {_ID_KEY: new, **document})
        else:
            with open_root(folder) as directory:
                replace_file(directory, _ID_FILE, f"{new}\n".encode(), None, publish=publish_new)
    except FileExistsError:
        pass  # of two who make it at once, the first one's stays
    except (OSError, AgentmError):
        return None
    return read_checkout_id(checkout)


def declare_slug(root: str, slug: str) -> str:
    """Name the project at `root`, whatever its remote or its directory are called; returns the path of the file."""
    slug = plain_slug(slug)
    return change_project_file(root, lambda document: {**document, "vault_project": slug})


def change_project_file(root: str, fn: Callable[[dict[str, object]], dict[str, object]]) -> str:
    """Replace the document in the file by `fn` of it, without losing anyone's edit; returns the path."""
    from agentm_kernel.files.store import FileStore
    from agentm_kernel.seam.locator import Locator
    from agentm_kernel.seam.update import update

    refuse_linked_harness(root)
    path = project_file(root)

    def changed(text: str | None) -> str:
        return dump(fn(parse_project_file(None if text is None else text.encode(), path)))

    update(FileStore(os.path.join(root, HARNESS_DIR), create_root=True), Locator(PROJECT_FILE), changed)
    return path


_LONGEST_ID = 100


class Checkouts(Frozen):
    """The checkouts of this device in one store."""

    state_dir: str
    store: StorageBackend

    def find(self, checkout_id: str | None, folder: str | None = None) -> tuple[str, str] | None:
        """The slug and the record's id that this checkout had last; given a folder, only if it was that one's id."""
        entry = None if checkout_id is None else self._table().read().get(checkout_id)
        if entry is None or (folder is not None and entry.get("at") != path_as_text(folder)):
            return None
        return entry["slug"], entry["id"]

    def lock(self) -> AbstractContextManager[object]:
        """One claim at a time on this device. Raises now, and not after a claim, where nothing can be remembered."""
        return locked_folder(os.path.join(self.state_dir, "stores"))

    def remember(self, checkout_id: str, record: ProjectRecord, checkout: Checkout) -> None:
        """From now on the checkout is the project of this record."""
        entry = {"slug": record.slug, "id": record.id}
        if checkout.id_folder is None:
            entry["at"] = path_as_text(checkout.root)
        table = self._table()
        if table.read().get(checkout_id) != entry:
            table.change({checkout_id: entry})

    def carry_over_to(self, target: StorageBackend) -> None:
        """Let every checkout be the same project in a store that all notes, and so all records, were copied to."""
        if known := self._table().read():
            Checkouts(self.state_dir, target)._table().change(known)  # noqa: SLF001 - of our own kind

    def _table(self) -> JsonTable:
        """By the store's id; a store that carries no mark is known by its place."""
        identity = self.store.facet(Identity)
        store_id = (identity and identity.store_id) or read_stamp(self.store)
        is_plain = store_id is not None and store_id.replace("-", "").replace("_", "").isalnum()
        if store_id is None or not is_plain or len(store_id) > _LONGEST_ID:
            from binascii import crc32

            place = store_id or self.store.describe()
            store_id = f"at-{crc32(place.encode('utf-8', 'surrogateescape')):08x}"
        path = os.path.join(self.state_dir, "stores", store_id, "checkouts.json")
        return JsonTable(path, _is_entry, _unreadable)


def _is_entry(entry: object) -> bool:
    return isinstance(entry, dict) and all(isinstance(entry.get(name), str) for name in ("slug", "id"))


def _unreadable(path: str, why: str) -> StorageIOError:
    return StorageIOError(
        f"{path} cannot be read: {why}",
        hint="it says which project each checkout is; repair it, or move it away and run "
        "`agentm project register --adopt` in checkouts that have no remote",
    )
