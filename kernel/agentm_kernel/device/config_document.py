"""Editing a configuration document in place: the spelling that is found is kept, and so is everything else in it."""

from __future__ import annotations

from agentm_kernel.device.settings import is_group

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
