"""The id of a checkout: random, made at the first write, and never in a store.

It lies in git's common directory, which no clone and no commit carries, so what a repository holds cannot claim to be
another checkout. A folder without git has it in its `.harness/project.json`.
"""

from __future__ import annotations

import os

from agentm_kernel.errors import AgentmError, ConfigError
from agentm_kernel.projects.root import HARNESS_DIR, read_checkout_file, refuse_linked_harness
from agentm_kernel.projects.slug import PROJECT_FILE, parse_project_file, plain_slug, project_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from agentm_kernel.projects.checkout import Checkout

_ID_FILE = "agentm-checkout"
_ID_KEY = "checkout"
_LENGTH = 32
_HEX = frozenset("0123456789abcdef")


def read_checkout_id(checkout: Checkout) -> str | None:
    """The id, `None` if the checkout has none yet; one that cannot be understood is an error."""
    folder = checkout.id_folder
    if folder is None:
        path = project_file(checkout.root)
        found = parse_project_file(read_checkout_file(path), path).get(_ID_KEY)
    else:
        path = os.path.join(folder, _ID_FILE)
        data = read_checkout_file(path)
        found = None if data is None else data.decode("ascii", "replace").strip()
    if found is None:
        return None
    if not isinstance(found, str) or len(found) != _LENGTH or not _HEX.issuperset(found):
        raise ConfigError(
            f"{path} holds no id of a checkout",
            hint="remove what is there; `agentm project register --adopt` then says which project this is",
        )
    return found + checkout.part


def binding_key(checkout: Checkout) -> str:
    """What a project is, in one text: its remote, or else its checkout. Empty for a checkout that has no id yet."""
    return checkout.remote or read_checkout_id(checkout) or ""


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
