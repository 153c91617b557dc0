"""The one writer of the configuration: locked, atomic, private; the reader checks what is about to be written.

A document is edited in place: the spelling that is found is kept, and so is everything else in it.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Any

from agentm_kernel import errors
from agentm_kernel.device import config
from agentm_kernel.device.config import is_group, normalised
from agentm_kernel.device.json_text import encoded
from agentm_kernel.errors import AgentmError, ConfigError
from agentm_kernel.files.atomic import replace_file
from agentm_kernel.files.mutex import store_mutex
from agentm_kernel.files.tree import make_private_folder, open_root

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

Document = dict[str, Any]
_UNCHANGED = "nothing was changed"
_PRIVATE = 0o600


def put(document: Document, key: str, value: object) -> None:
    """Give `key` the value where it stands now; a second spelling of it goes. A new key follows its neighbours."""
    (table, name), *others = _places(document, key) or [_new_place(document, key)]
    table[name] = value
    for other, spelling in others:
        del other[spelling]


def take_out(document: Document, key: str) -> bool:
    """Remove `key` and what it groups, in every spelling, and the objects that this leaves empty."""
    found = False
    for name in list(document):
        inner = document[name]
        if name == key or name.startswith(f"{key}."):
            del document[name]
            found = True
        elif key.startswith(f"{name}.") and isinstance(inner, dict) and take_out(inner, key[len(name) + 1 :]):
            found = True
            if not inner:
                del document[name]
    return found


def _places(table: Document, key: str) -> list[tuple[Document, str]]:
    """Every spelling of exactly `key`: the objects that hold it, and its name there."""
    found = []
    for name, inner in table.items():
        if name == key:
            found.append((table, name))
        elif key.startswith(f"{name}.") and isinstance(inner, dict):
            found += _places(inner, key[len(name) + 1 :])
    return found


def _new_place(table: Document, key: str) -> tuple[Document, str]:
    """In the object that is there for it; failing that, the way the rest of the document is written."""
    is_nested = any(is_group(name) for name in table) and not any("." in name for name in table)
    prefix = ""
    while True:
        holders = [name for name, inner in table.items() if key.startswith(f"{name}.") and isinstance(inner, dict)]
        name = holders[0] if holders else key.partition(".")[0]
        if not holders:
            if not is_nested or name == key or name in table or not is_group(prefix + name):
                return table, key
            table[name] = {}
        table, key, prefix, is_nested = table[name], key[len(name) + 1 :], f"{prefix}{name}.", True


def set_value(environ: Mapping[str, str], key: str, value: object) -> None:
    """Give the setting `key` a value; `ConfigError` and no change if it or the whole could not be read back.

    It is written under its current name, and what older installs called it goes.
    """
    if not all(part.strip() for part in key.split(".")) or not key.isprintable():
        raise ConfigError(f"{key!r} is not a dotted key", hint="write it like storage.backend")
    if is_group(key) and not isinstance(value, dict):
        raise ConfigError(f"'{key}' holds further settings, not a value", hint=f"set one of them: {key}.NAME")
    try:
        wanted = value if is_group(key) else normalised(key, value)  # a group is checked with the whole
    except errors.UnfitSetting as error:
        raise ConfigError(str(error), hint=_UNCHANGED) from error
    key, *older = config.spellings(key)

    def change(document: Document) -> None:
        for name in older:
            take_out(document, name)
        put(document, key, wanted)

    _edit(environ, change, must_be_sound=True)


def unset_value(environ: Mapping[str, str], key: str) -> bool:
    """Remove the setting or group `key` by every name that it has had; `False` if it was not there.

    Works on a configuration that is refused for its settings too: it is how those are put right one by one.
    """
    names = config.spellings(key)

    def change(document: Document) -> bool:
        return sum(take_out(document, name) for name in names) > 0  # every spelling goes, not the first

    if not change(_current(environ)[0]):
        return False
    _edit(environ, change, must_be_sound=False)
    return True


def bind_project(environ: Mapping[str, str], keys: Sequence[str], store: str | None) -> None:
    """Let the notes of the project with these keys be in the further store; `None`: in the default one."""

    def change(document: Document) -> None:
        found = document.get("bindings")
        others = {key: to for key, to in found.items() if key not in keys} if isinstance(found, dict) else {}
        if store is not None:
            others[keys[0]] = {"store": store}
        if others:
            put(document, "bindings", others)
        else:
            take_out(document, "bindings")

    _edit(environ, change, must_be_sound=True)


def _edit(environ: Mapping[str, str], change: Callable[[Document], object], *, must_be_sound: bool) -> None:
    _current(environ)  # what cannot be read is refused before a folder is made
    # A link is the operator's: the file it leads to is replaced, and its folder is the one to lock.
    target = os.path.realpath(config.config_places(environ)[0])
    folder, name = os.path.split(target)
    try:
        make_private_folder(folder)
        with store_mutex(folder), open_root(folder) as directory:
            directory.sweep()
            document, is_successor = _current(environ)
            before = encoded(document)
            change(document)
            data = encoded(document)
            if len(data) > config.SIZE_LIMIT:
                too_large = f"the configuration would be larger than {config.SIZE_LIMIT:,} bytes"
                raise ConfigError(too_large, hint=_UNCHANGED)
            document = config.parse_document(data, target)
            if must_be_sound:
                config.settings_in(document, target)
            status = directory.status(name)
            if status is not None and stat.S_IMODE(status.st_mode) != _PRIVATE and os.name != "nt":
                os.chmod(target, _PRIVATE)  # credentials may come to stand in it, even if somebody made it readable
            if is_successor or data != before:
                directory.keeps_private = True  # a new file is made private whatever the folder is
                replace_file(directory, name, data, directory.status(name))
    except AgentmError:
        raise
    except OSError as error:
        why = f"the configuration {target} cannot be written: {error.strerror}"
        raise ConfigError(why, hint=_UNCHANGED) from error


def _current(environ: Mapping[str, str]) -> tuple[Document, bool]:
    """The document to change, and whether it is the first at its place: empty, or carried over from an older one."""
    path, status, is_legacy = config.find(environ)
    return ({}, True) if status is None else (config.read_document(path), is_legacy)
