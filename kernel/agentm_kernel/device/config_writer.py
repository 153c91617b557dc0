"""The one writer of the configuration: locked, atomic, private; the reader checks what is about to be written.

A document is edited in place: the spelling that is found is kept, and so is everything else in it.
"""

from __future__ import annotations

import json
import os
import stat

from agentm_kernel.device.config import (
    SIZE_LIMIT,
    config_path,
    find,
    parse_document,
    read_file,
    settings_in,
    spellings,
)
from agentm_kernel.device.settings import UnfitSetting, is_group, normalised
from agentm_kernel.errors import AgentmError, ConfigError
from agentm_kernel.files.atomic import replace_file
from agentm_kernel.files.mutex import store_mutex
from agentm_kernel.files.root import make_private_folder, open_root

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from agentm_kernel.files.tree import Directory

Document = dict[str, object]


def put(document: Document, key: str, value: object) -> None:
    """Give `key` the value where it stands now; a second spelling of it goes. A new key follows its neighbours."""
    places = _places(document, key)
    if places:
        (table, name), *others = places
        table[name] = value
        for other, spelling in others:
            del other[spelling]
    else:
        _add(document, key, value, "", is_nested=_is_nested(document))


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


def _add(table: Document, key: str, value: object, prefix: str, *, is_nested: bool) -> None:
    """Into the object that is there for it; failing that, the way the rest of the document is written."""
    for name, inner in table.items():
        if key.startswith(f"{name}.") and isinstance(inner, dict):
            _add(inner, key[len(name) + 1 :], value, f"{prefix}{name}.", is_nested=True)
            return
    group, dot, rest = key.partition(".")
    if is_nested and dot and is_group(prefix + group) and group not in table:
        made: Document = {}
        table[group] = made
        _add(made, rest, value, f"{prefix}{group}.", is_nested=True)
    else:
        table[key] = value


def _is_nested(document: Document) -> bool:
    return any(is_group(name) for name in document) and not any("." in name for name in document)


_UNCHANGED = "nothing was changed"
_PRIVATE = 0o600


def set_value(environ: Mapping[str, str], key: str, value: object) -> None:
    """Give the setting `key` a value; `ConfigError` and no change if it or the whole could not be read back.

    It is written under its current name, and what older installs called it goes.
    """
    wanted = _checked(key, value)
    key, *older = spellings(key)

    def change(document: Document) -> None:
        for name in older:
            take_out(document, name)
        put(document, key, wanted)

    _edit(environ, change, must_be_sound=True)


def unset_value(environ: Mapping[str, str], key: str) -> bool:
    """Remove the setting or group `key` by every name that it has had; `False` if it was not there.

    Works on a configuration that is refused for its settings too: it is how those are put right one by one.
    """
    names = spellings(key)

    def change(document: Document) -> bool:
        return sum(take_out(document, name) for name in names) > 0  # every spelling goes, not the first

    if not change(_current(environ)[0]):
        return False
    _edit(environ, change, must_be_sound=False)
    return True


def bind_project(environ: Mapping[str, str], keys: Sequence[str], store: str | None) -> None:
    """Let the notes of the project with these keys be in the further store; `None`: in the default one."""

    def change(document: Document) -> None:
        bindings = document.get("bindings")
        others = dict(bindings) if isinstance(bindings, dict) else {}
        for key in keys:
            others.pop(key, None)
        if store is not None:
            others[keys[0]] = {"store": store}
        if others:
            put(document, "bindings", others)
        else:
            take_out(document, "bindings")

    _edit(environ, change, must_be_sound=True)


def _checked(key: str, value: object) -> object:
    if not all(part.strip() for part in key.split(".")) or not key.isprintable():
        raise ConfigError(f"{key!r} is not a dotted key", hint="write it like storage.backend")
    if is_group(key):
        if isinstance(value, dict):
            return value  # checked with the whole
        raise ConfigError(f"'{key}' holds further settings, not a value", hint=f"set one of them: {key}.NAME")
    try:
        return normalised(key, value)
    except UnfitSetting as error:
        raise ConfigError(str(error), hint=_UNCHANGED) from error


# ------------------------------------------------------------------------------------------------ the file


def _edit(environ: Mapping[str, str], change: Callable[[Document], object], *, must_be_sound: bool) -> None:
    _current(environ)  # what cannot be read is refused before a folder is made
    # A link is the operator's: the file it leads to is replaced, and its folder is the one to lock.
    target = os.path.realpath(config_path(environ))
    folder, name = os.path.split(target)
    try:
        make_private_folder(folder)
        with store_mutex(folder), open_root(folder) as directory:
            directory.sweep()
            document, is_successor = _current(environ)
            before = _serialised(document)
            change(document)
            data = _serialised(document)
            _check(data, target, must_be_sound=must_be_sound)
            _restrict(directory, name, target)
            if is_successor or data != before:
                _replace(directory, name, data)
    except AgentmError:
        raise
    except OSError as error:
        raise ConfigError(
            f"the configuration {target} cannot be written: {error.strerror}", hint=_UNCHANGED
        ) from error


def _current(environ: Mapping[str, str]) -> tuple[Document, bool]:
    """The document to change, and whether it is the first at its place: empty, or carried over from an older one."""
    path, status, is_legacy = find(environ)
    if status is None:
        return {}, True
    return parse_document(read_file(path), path), is_legacy


def _serialised(document: Document) -> bytes:
    text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
    try:
        return f"{text}\n".encode()
    except UnicodeEncodeError:  # half a surrogate pair, on its way out or not: only an escape can carry it
        return f"{json.dumps(document, indent=2)}\n".encode()


def _check(data: bytes, target: str, *, must_be_sound: bool) -> None:
    if len(data) > SIZE_LIMIT:
        raise ConfigError(f"the configuration would be larger than {SIZE_LIMIT:,} bytes", hint=_UNCHANGED)
    document = parse_document(data, target)
    if must_be_sound:
        settings_in(document, target)


def _restrict(directory: Directory, name: str, target: str) -> None:
    """Credentials may come to stand in it: no one else reads it, even if somebody made it readable."""
    status = directory.status(name)
    if status is not None and stat.S_IMODE(status.st_mode) != _PRIVATE and os.name != "nt":
        os.chmod(target, _PRIVATE)


def _replace(directory: Directory, name: str, data: bytes) -> None:
    directory.is_private = True  # a new file is made private whatever the folder is
    replace_file(directory, name, data, directory.status(name))
