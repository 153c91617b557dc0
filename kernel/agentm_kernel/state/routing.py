"""Which project this is, and the routing rule: mode `local` → the checkout; a synced store → the store; any other
store → the checkout.

The mode is what a marker in the checkout's `.harness/` folder says, which never leaves it, or else the device.
The discriminator is the backend's `sync` capability, never its class or a path. This is the only module that may
ask a store for a path on this device.
"""

from __future__ import annotations

import os
from _collections_abc import Mapping  # loaded by every interpreter; `collections.abc` would import `collections`

from agentm_kernel import errors
from agentm_kernel.device import DeviceFacts
from agentm_kernel.projects import PROJECT_FILE, harness_path, is_no_project, read_rare_file
from agentm_kernel.seam import Frozen
from agentm_kernel.seam.backend import DeviceCopy, DeviceFiles
from agentm_kernel.seam.layout import HARNESS
from agentm_kernel.seam.locator import Locator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import Any

    from agentm_kernel.projects.checkout import Checkout
    from agentm_kernel.projects.lookup import Checkouts, Place
    from agentm_kernel.seam.backend import StorageBackend
    from agentm_kernel.state import Device

_KEYS = ("slug", "project_locator", "backend", "project_root", "layout")

MODE_MARKER = ".project-mode"
"""Whether state stays in the checkout (`local`) or goes to the store (`backend`)."""

ACTIVE_MARKER = "active-plan"
"""Which plan this checkout works on."""


class Resolution(Mapping):  # type: ignore[type-arg]
    """Frozen; also a read-only mapping with exactly the five keys of `_KEYS`.

    The project's name and its place in the store are looked up when they are first asked for: a hook that only needs
    to know that state lies in the checkout does not pay for reading git's files.
    """

    root: str
    """Whoever made it has seen that `.harness` is no link there."""
    backend: StorageBackend | None
    """The selected store; `None` in mode `local`, where nothing is selected."""
    device: Device | None
    """The device that it was found on; `None` for one that was made by hand."""
    store_name: str | None
    """The further store that the project is bound to; `None` for the default one, where personal notes are too."""
    is_local_view: bool
    """Whether `backend` is the store's copy on this device: hooks read it and wait for no network."""
    _found: dict[str, Any]
    """What was looked up, by the name that it has here."""

    def __init__(
        self,
        root: str,
        backend: StorageBackend | None,
        *,
        device: Device | None = None,
        store_name: str | None = None,
        is_local_view: bool = False,
    ) -> None:
        vars(self).update(
            root=root, backend=backend, device=device, store_name=store_name, is_local_view=is_local_view, _found={}
        )

    @property
    def identity(self) -> Checkout:
        """The project's name, and which repository it is."""
        if "identity" not in self._found:
            from agentm_kernel.projects.checkout import identify_project

            self._found["identity"] = identify_project(self.root)
        return self._found["identity"]  # type: ignore[no-any-return]

    @property
    def local_view(self) -> StorageBackend | None:
        """The store as this device has it: `backend` itself, or its copy here if it lies elsewhere."""
        if (store := self.backend) is None:
            return None
        if "local_view" not in self._found:
            view = store
            if store.facet(DeviceCopy) is not None and (files := store.facet(DeviceFiles)) is not None:
                from agentm_kernel.state.mirrored import LocalCopy

                view = LocalCopy(store, files.device_path(Locator()))
            self._found["local_view"] = view
        return self._found["local_view"]  # type: ignore[no-any-return]

    @property
    def place(self) -> Place | None:
        """Where the project lies in the store, as this device has it; `None` without a store or a project."""
        if "place" not in self._found and (store := self.local_view) is not None:
            from agentm_kernel.projects.lookup import Place, find_record, find_unclaimed

            project, known = self.identity, self.checkouts(store)
            record = find_record(store, project, known)
            if record is None and is_no_project(self.root):
                return None
            place = find_unclaimed(store, project, known) if record is None else Place(record.folder, record)
            refuse_elsewhere(place)
            self._found["place"] = place
        return self._found.get("place")

    @property
    def slug(self) -> str:
        """The name of the project in the store; without a store, the one that it would like to have."""
        return self.identity.slug if self.place is None else self.place.slug

    @property
    def project_root(self) -> Path:
        from pathlib import Path

        return Path(self.root)

    @property
    def layout(self) -> str:
        """`new` (`projects/<slug>`), `legacy` (`personal-projects/<slug>`) or `none`."""
        return "none" if self.place is None else self.place.layout

    @property
    def project_locator(self) -> Locator | None:
        """The project's folder in the store; `None` when no store is asked, and where no project is."""
        return None if self.place is None else self.place.folder

    @property
    def is_claimed(self) -> bool:
        """Whether the store, as this device has it, says that the project's place is this project's.

        As long as it does not, nothing of this project was written, and nothing is there to be read.
        """
        return self.place is not None and self.place.record is not None

    @property
    def notice(self) -> str | None:
        """One line for the operator, where the store and the checkout do not quite agree on which project this is."""
        from agentm_kernel.projects.checkout import notice_about

        return None if self.place is None else notice_about(self.place, self.identity)

    def claim(self) -> Locator:
        """The project's folder in the store, which is its own from now on: before the first write of any kind."""
        from agentm_kernel.projects.claiming import claim

        self.refuse_no_project()
        assert self.backend is not None
        place = claim(self.backend, self.identity, self.checkouts(self.backend))
        refuse_elsewhere(place)
        self._found.update(place=place, is_settled=True)
        return place.folder

    @property
    def is_settled(self) -> bool:
        """Whether the place is the one that was claimed in the store itself."""
        return bool(self._found.get("is_settled"))

    def checkouts(self, store: StorageBackend) -> Checkouts:
        """Which project each checkout of this device is in `store`."""
        from agentm_kernel.projects.lookup import Checkouts

        device: DeviceFacts = self.device or DeviceFacts.now()
        return Checkouts(device.state_dir, store)

    def refuse_no_project(self) -> None:
        """Raise where everything lies, so that nothing is saved there as if it were one project."""
        if is_no_project(self.root):
            raise errors.ConfigError(
                f"{self.root} is not a project",
                hint="change to the project's folder, or say what is meant with `--project NAME`; a note for every "
                "project is saved with `--personal`",
            )

    @property
    def is_synced(self) -> bool:
        """Whether state belongs into the store: the backend's capability decides, nothing else."""
        return self.backend is not None and self.backend.capabilities.sync

    @property
    def state_locator(self) -> Locator:
        """Where the project's state lies in a synced store."""
        folder = self.project_locator
        if folder is None:
            self.refuse_no_project()
            raise errors.StorageError("this project keeps its state in its own folder, not in a store")
        return folder.child(HARNESS)

    def on_this_device(self) -> Resolution:
        """The same project in the store as this device has it, for hooks: they do not wait for a network."""
        return self._seen_through(self.local_view, is_local_view=True)

    def in_the_store(self) -> Resolution:
        """The same project, looked up in the store itself, for commands that may wait for a network."""
        return self._seen_through(self.backend, is_local_view=False)

    def _seen_through(self, store: StorageBackend | None, *, is_local_view: bool) -> Resolution:
        if self.local_view is self.backend:
            return self
        other = Resolution(
            self.root, store, device=self.device, store_name=self.store_name, is_local_view=is_local_view
        )
        other._found.update(local_view=store)
        if "identity" in self._found:
            other._found["identity"] = self.identity
        return other

    __setattr__ = Frozen.__setattr__
    __delattr__ = Frozen.__delattr__

    def __getitem__(self, key: str) -> Any:
        if key not in _KEYS:
            raise KeyError(key)
        return getattr(self, key)

    def __iter__(self) -> Iterator[str]:
        return iter(_KEYS)

    def __len__(self) -> int:
        return len(_KEYS)

    def __hash__(self) -> int:
        return hash((self.root, id(self.backend)))

    def __repr__(self) -> str:
        return f"Resolution(root={self.root!r}, backend={self.backend!r})"


def route(device: Device, root: str, *, read_only: bool) -> Resolution:
    """The project at `root` and, unless its state is local, the store; one that cannot be had raises.

    State that lies in the checkout can be written although the store cannot: a sandbox, for one, lets an agent write
    to the checkout and nowhere else.
    """
    if is_local(device, root):
        return Resolution(root, None, device=device)
    try:
        return in_store(device, root, read_only=read_only)
    except errors.StorageSelectionError:
        try:
            readable = None if read_only else in_store(device, root, read_only=True)
        except errors.StorageSelectionError:
            readable = None
        if readable is None or readable.is_synced:
            raise
        return readable


def in_store(device: Device, root: str, *, read_only: bool) -> Resolution:
    """The project at `root` and the store of its notes, whatever the mode says about its state."""
    name = bound_store(device, root)
    return Resolution(root, device.store(name, read_only=read_only), device=device, store_name=name)


def bound_store(device: Device, root: str) -> str | None:
    """The further store that the operator has bound the project at `root` to; `None` for the default store."""
    try:
        bindings = device.config.bindings
    except errors.ConfigError:
        return None  # opening the store says what is wrong with it
    if not bindings:
        return None
    from agentm_kernel.projects.checkout import Checkout, binding_keys

    return next((bindings[key] for key in binding_keys(Checkout(root)) if key in bindings), None)


def refuse_elsewhere(place: Place) -> None:
    """Raise where the project's notes were moved to a store that this device does not use for it."""
    if place.record is not None and (away := place.record.unread_in(place.folder)):
        raise errors.StorageSelectionError(
            away,
            hint="run `agentm project use-store NAME` here with the name that this device has for it (`agentm store "
            "list`); `agentm store add NAME PROTOCOL OPTION=VALUE …` adds one",
        )


def state_directory(resolution: Resolution) -> str:
    """The directory of the project's state on this device, as `resolution` has it."""
    backend = resolution.backend
    if backend is None or not resolution.is_synced:
        return harness_path(resolution.root)
    files = backend.facet(DeviceFiles)
    if files is None:
        raise errors.StorageError(
            f"the synced store at {backend.describe()} has no files on this device, so a project's state cannot lie "
            "there",
            hint="take out the wrapper that hides them, choose another store, or keep state in the checkout: "
            "`agentm config set state_mode local`",
        )
    return files.device_path(resolution.state_locator)


def state_file_path(resolution: Resolution, name: str) -> str:
    """The path of one state file on this device, whether or not it is there yet."""
    return f"{state_directory(resolution)}{os.sep}{checked_name(name)}"


def checked_name(name: str) -> str:
    """`name` if a state file may have it: a plain name, in either place, and not that of a marker."""
    locator = Locator(name)
    if locator.key != name or len(locator.parts) != 1:
        raise errors.InvalidLocatorError(
            f"{ascii(name)} is not the name of a state file", hint="state files have plain names such as PLAN.md"
        )
    if is_marker(name):
        raise errors.InvalidLocatorError(
            f"{ascii(name)} is not a state file but a marker of this checkout",
            hint="`agentm plan use NAME` sets the active plan; other markers are edited by hand in .harness/",
        )
    return name


def is_marker(name: str) -> bool:
    """Whether a name in `.harness/` belongs to a marker rather than to a state file."""
    return name.partition(" (")[0] in (ACTIVE_MARKER, PROJECT_FILE) or name.startswith(".")


def is_local(device: Device, project_root: str) -> bool:
    """Whether the project's state stays in its checkout: the repository's own word first, then the device's.

    A repository that has its own word does not ask the device: its state stays where it is even while the device's
    configuration is being repaired.
    """
    path = harness_path(project_root, MODE_MARKER)
    word = read_marker(path)
    if not word:
        return device.config.state_mode == "local"
    from agentm_kernel.device.config import STATE_MODES

    mode = STATE_MODES.get(word.lower())
    if mode is None:
        raise errors.ConfigError(
            f"{path} says {ascii(word[:40])}, which is not a state mode",
            hint="write `local` or `backend` into it, or remove it",
        )
    return mode == "local"


def read_marker(path: str) -> str | None:
    """The word in a marker file, `None` if there is no such file; one that cannot be read is an error."""
    data = read_rare_file(path)
    if data is None:
        return None
    try:
        return data.decode().strip()
    except UnicodeDecodeError:
        raise errors.ConfigError(f"{path} is not UTF-8 text", hint="repair or remove that file") from None
