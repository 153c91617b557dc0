"""Making a folder the agent's store, once, and selecting it on this device."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentm_kernel.plugin import (
    Device,
    StorageIOError,
    StorageSelectionError,
    adopt_store,
    check_store,
    layout,
    refuse_nested,
)
from agentm_obsidian_vault.backend import PATH_VARIABLE, PROTOCOL, VaultBackend
from agentm_obsidian_vault.names import is_tool_file

if TYPE_CHECKING:
    from collections.abc import Mapping

_OBSIDIAN = ".obsidian"
_STORE_FOLDERS = frozenset((layout.PROJECTS, layout.PERSONAL, layout.LEGACY_PROJECTS, layout.META))
"""What a store calls its own folders, at its top."""


@dataclass(frozen=True)
class SetUp:
    """What `set_up` did."""

    place: str
    store_id: str
    was_there: bool
    """The folder was a store already: this device joins it."""


def place_of(path: str, *, environ: Mapping[str, str] | None = None) -> str:
    """The full path that `path` means."""
    return os.path.abspath(Device.now(environ).expand(path))


def set_up(path: str, *, adopt: bool, create: bool = False, environ: Mapping[str, str] | None = None) -> SetUp:
    """Give the folder at `path` a store's identity, unless it has one; `adopt` accepts notes that are there.

    A folder that is not there is made only if `create` says so: a misspelled path must not become an empty store.
    """
    device = Device.now(environ)
    place = os.path.abspath(device.expand(path))
    _check_parent(place)
    vault = VaultBackend(place)
    was_there = os.path.isdir(place) and check_store(device, vault, PROTOCOL) is not None
    refuse_nested(place, is_new=not was_there, is_hidden=is_tool_file)
    if not os.path.isdir(place):
        if not create and not os.path.lexists(place):
            raise StorageSelectionError(
                f"the folder {place} does not exist", hint="check the path; add --create to make it"
            )
        _make_folder(place)
    elif not was_there:
        _check_clashes(place)
        if not adopt:
            _check_empty(place)
    return SetUp(place, adopt_store(device, vault, PROTOCOL), was_there)


def options_for(place: str, *, environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """What the configuration has to say for the vault at `place`."""
    config = Device.now(environ).config
    options = {"vault_path": place}
    if config.options(PROTOCOL).get("memory_root"):
        options["memory_root"] = ""  # of an older install: it would be looked for inside the new place
    return options


def check_variable(place: str, *, environ: Mapping[str, str] | None = None) -> None:
    """Refuse what would change nothing: a vault that the environment names beats the configuration."""
    other = (os.environ if environ is None else environ).get(PATH_VARIABLE, "").strip()
    if other and os.path.abspath(other) != place:
        raise StorageSelectionError(
            f"{place} would not be used: ${PATH_VARIABLE} is set to {other} and beats the configuration",
            hint=f"unset ${PATH_VARIABLE}, then run the command again",
        )


def _check_parent(place: str) -> None:
    parent = os.path.dirname(place)
    if not os.path.isdir(parent):
        raise StorageSelectionError(
            f"the folder {parent} does not exist",
            hint="mount the disk or start the sync tool that brings it, or make it: "
            f"`mkdir -p {shlex.quote(parent)}`; only the last folder of the path is made here",
        )


def clashing_folders(place: str) -> list[str]:
    """Folders of the operator whose names differ from the store's own only in case: there, no note can be written."""
    try:
        names = os.listdir(place)
    except OSError:
        return []
    return sorted(name for name in names if name not in _STORE_FOLDERS and name.casefold() in _STORE_FOLDERS)


def _check_clashes(place: str) -> None:
    names = clashing_folders(place)
    if names:
        inside = os.path.join(place, "Agent")
        raise StorageSelectionError(
            f"{place} has {' and '.join(map(ascii, names))}, which the store's own folders would clash with",
            hint=f"give the agent a folder inside it: `agentm vault init {shlex.quote(inside)} --create`",
        )


def _check_empty(place: str) -> None:
    names = [name for name in os.listdir(place) if not is_tool_file(name)]
    if not names:
        return
    if _OBSIDIAN in names:
        inside = os.path.join(place, "agentm")
        raise StorageSelectionError(
            f"{place} is a whole Obsidian vault; the store is a folder that the agent may have for itself",
            hint=f"run `agentm vault init {shlex.quote(inside)} --create`; `--adopt` gives it the whole vault",
        )
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    raise StorageSelectionError(
        f"{place} is not empty: it has {ascii(min(names))}{more}",
        hint="choose an empty folder, or run "
        f"`agentm vault init --adopt {shlex.quote(place)}` if they are the agent's notes",
    )


def _make_folder(place: str) -> None:
    try:
        os.mkdir(place)
    except FileExistsError:
        raise StorageSelectionError(f"{place} is not a folder", hint="choose another path") from None
    except OSError as error:
        raise StorageIOError(
            f"cannot make {place}: {error.strerror}", errno=error.errno, hint="choose a folder that you may write to"
        ) from error
