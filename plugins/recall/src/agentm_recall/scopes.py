"""Which store holds what: a project's notes are in the project's store, the operator's own in the default one.

On most devices that is one store. Where the project is bound to a further one, whoever looks for a note looks in
both, and whoever saves one saves it where its scope lives.
"""

from __future__ import annotations

from agentm_kernel.plugin import AgentmError, DeviceCopy, Locator, NotFoundError, Sealed, WorkingCopy
from agentm_recall.layout import PERSONAL
from agentm_recall.lookup import find_note

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_kernel.plugin import Device, Resolution, StorageBackend

SHARING = "plugins.recall.share_personal"


def own_store(device: Device, *, read_only: bool = False) -> StorageBackend:
    """The default store, to save what is the operator's own; refused where that would tell it to a team. `read_only`
    asks without the wish to save.
    """
    if device.store_name is not None:
        raise AgentmError(
            f"what is personal lives in the default store, and not in '{device.store_name}'",
            hint="leave --store out, or save a note of the project",
        )
    store = device.store(read_only=read_only)
    if _is_shared(store) and device.config.get(SHARING) is not True:
        raise AgentmError(
            f"everybody who has the store at {store.describe()} would read a personal note, and this device has no "
            "other",
            hint="make a private one: run `agentm config set storage.backend device-local`, then "
            f"`{_as_further_store(device)}`, then in the checkout of each project `agentm project use-store team`: "
            "until then it is as if it had no notes and no plan; if only you have that store, run "
            f"`agentm config set {SHARING} true`",
        )
    return store


def _is_shared(store: StorageBackend) -> bool:
    """Whether the store has its home elsewhere, where others may have it too: a git remote, a bucket.

    A folder is the operator's own, and so is one that a sync tool carries to their other devices.
    """
    sealed = store.facet(Sealed)
    held = store if sealed is None else sealed.as_stored
    return held.facet(WorkingCopy) is not None or held.facet(DeviceCopy) is not None


def _as_further_store(device: Device) -> str:
    """The command that keeps the present store, under a name, for the projects of the team."""
    from shlex import quote

    from agentm_kernel.plugin import choose_protocol

    protocol = choose_protocol(device=device)
    options = device.config.get(f"plugins.{protocol}") or {}
    words = [f"{name}={value}" for name, value in options.items() if isinstance(value, str)]
    return " ".join(map(quote, ("agentm", "store", "add", "team", protocol, *words)))


class Part:
    """Folders of one store in which notes are looked for."""

    def __init__(self, backend: StorageBackend, folders: list[Locator], store: str | None) -> None:
        self.backend, self.folders = backend, folders
        self.store = store
        """The name of the store, where the notes of more than one are shown."""


def parts_of(here: Resolution, folder: Locator | None) -> list[Part]:
    """Where the notes of a project and the operator's own are: in one store, or in two."""
    assert here.backend is not None
    of_project = [] if folder is None else [folder]
    if here.store_name is None or here.device is None:
        return [Part(here.backend, [*of_project, Locator(PERSONAL)], None)]
    return [
        Part(here.backend, of_project, here.store_name),
        Part(here.device.store(read_only=True), [Locator(PERSONAL)], "default"),
    ]


def find_in(parts: list[Part], name: str) -> tuple[Part, Locator]:
    """The note that `name` means, in the first part that has one."""
    for part in parts[:-1]:
        try:
            return part, find_note(part.backend, name, part.folders)
        except NotFoundError:
            continue
    last = parts[-1]
    return last, find_note(last.backend, name, last.folders)
