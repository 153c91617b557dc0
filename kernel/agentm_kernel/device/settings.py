"""What a configuration document says: its two spellings made one, and the values of known keys checked.

A *setting* is a dotted key with a value. `{"storage": {"backend": "vault"}}` and `{"storage.backend": "vault"}` are
the same setting, and so is any mixture. Objects are taken apart only down to where the kernel knows their shape;
below that, in a plugin's option or under a key that belongs to somebody else, an object is a value.
"""

from __future__ import annotations

from agentm_kernel import errors

Settings = dict[str, object]

_GROUPS = ("storage", "plugin_policy", "plugins", "stores", "capture", "inbox")
_TABLES = ("plugins.", "stores.")  # below these, one group for each name

# A key that begins like one of these and is not known is a misspelt guard or a misspelt store: refused, because
# passing over it would select another store, or leave a plugin unguarded, without a word.
_RESERVED = ("storage", "plugin_policy", "state_mode", "wrapper", "binding", "capture", "inbox")

STATE_MODES = {"local": "local", "backend": "backend", "vault": "backend"}
"""What may be written, and what it means: `vault` is the older word for `backend`."""

_TEXT = "a name or path"
_MODE = "'local' or 'backend'"
_NAMES = "a list of names"
_DAYS = "a number of days"
_BINDINGS = "a store for each project"

_KINDS = {
    "storage.backend": _TEXT,
    "storage.policy": _TEXT,
    "state_mode": _MODE,
    "plugin_policy.disabled": _NAMES,
    "plugin_policy.allowed": _NAMES,
    "wrappers": _NAMES,
    "capture.approve": _NAMES,
    "inbox.confirm": _TEXT,
    "inbox.days": _DAYS,
    "bindings": _BINDINGS,
    "vault_path": _TEXT,
}
_OF_A_STORE = {"backend": _TEXT, "wrappers": _NAMES}

KNOWN = tuple(key for key in _KINDS if key not in ("vault_path", "bindings"))  # the settings of the kernel itself


def _fitted(kind: str, value: object) -> object:
    """`value` as a setting of this kind keeps it; `None` if it does not fit."""
    if kind == _TEXT and isinstance(value, str):
        return value.strip() or None
    if kind == _MODE and isinstance(value, str):
        return STATE_MODES.get(value.strip().lower())
    if kind == _NAMES and isinstance(value, list) and all(_fitted(_TEXT, name) for name in value):
        return tuple(name.strip() for name in value)
    if kind == _DAYS and isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return value
    if kind == _BINDINGS and isinstance(value, dict):
        is_table = all(isinstance(to, dict) and _fitted(_TEXT, to.get("store")) for to in value.values())
        return value if is_table else None
    return None


def _kind_of(key: str) -> str | None:
    """What holds for the default store holds for its like of a further one."""
    if key.startswith("stores.") and key.count(".") == 2:
        return _OF_A_STORE.get(key.rpartition(".")[2])
    return _KINDS.get(key)


def is_list(key: str) -> bool:
    """Whether the setting is a list of names."""
    return _kind_of(key) == _NAMES


def is_text(key: str) -> bool:
    """Whether the setting is a word or a path, whatever it looks like."""
    return _kind_of(key) in (_TEXT, _MODE)


def is_group(key: str) -> bool:
    """Whether an object under `key` holds further settings rather than being a value."""
    return key in _GROUPS or (key.startswith(_TABLES) and key.count(".") == 1)


def settings_of(document: dict[str, object]) -> Settings:
    """Every setting of a document, in its order; `UnfitSetting` names the first that may not stand."""
    found: Settings = {}
    _collect(document, "", found)
    for key in found:
        outer, dot, _ = key.rpartition(".")
        while dot:
            if outer in found:
                raise errors.UnfitSetting(key, f"is given beside a value of '{outer}'")
            outer, dot, _ = outer.rpartition(".")
    return found


def _collect(table: dict[str, object], prefix: str, found: Settings) -> None:
    for name, value in table.items():
        key = prefix + name
        if is_group(key):
            if not isinstance(value, dict):
                raise errors.UnfitSetting(key, f"is {_described(value)}, but it holds further settings")
            _collect(value, f"{key}.", found)
        elif key in found:
            raise errors.UnfitSetting(key, "is given twice, nested and dotted")
        else:
            found[key] = normalised(key, value)


def normalised(key: str, value: object) -> object:
    """`value` as the setting `key` holds it; `UnfitSetting` if that key cannot hold it."""
    kind = _kind_of(key)
    if kind is None and key.lstrip().lower().replace("-", "_").startswith(_RESERVED):
        known = ", ".join(name for name in _KINDS if name.startswith(_RESERVED))
        raise errors.UnfitSetting(key, f"is not a setting; there are {known}")
    kept = value if kind is None else _fitted(kind, value)
    if kind is not None and kept is None:
        raise errors.UnfitSetting(key, f"is {_described(value)}, not {kind}", "unset" if kind == _BINDINGS else "set")
    try:  # half of a surrogate pair can be escaped into JSON, but never be printed or stored
        (key + _all_text(value)).encode()
    except UnicodeEncodeError:
        raise errors.UnfitSetting(ascii(key)[1:-1], "holds text that is not valid Unicode", "set") from None
    return kept


def _all_text(value: object) -> str:
    if isinstance(value, dict):
        return "".join(name + _all_text(inner) for name, inner in value.items())
    if isinstance(value, list):
        return "".join(map(_all_text, value))
    return value if isinstance(value, str) else ""


def _described(value: object) -> str:
    if isinstance(value, str):
        return ascii(value[:40]) if value.strip() else "blank"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, (int, float)):
        return "a number"
    return "an object" if isinstance(value, dict) else "a list"
