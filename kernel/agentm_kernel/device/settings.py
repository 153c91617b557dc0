"""What a configuration document says: its two spellings made one, and the values of known keys checked.

A *setting* is a dotted key with a value. `{"storage": {"backend": "vault"}}` and `{"storage.backend": "vault"}` are
the same setting, and so is any mixture. Objects are taken apart only down to where the kernel knows their shape;
below that, in a plugin's option or under a key that belongs to somebody else, an object is a value.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

Settings = dict[str, object]

_GROUPS = ("storage", "plugin_policy", "plugins", "stores", "capture", "inbox")
_TABLES = ("plugins.", "stores.")  # below these, one group for each name

# A key that begins like one of these and is not known is a misspelt guard or a misspelt store: refused, because
# passing over it would select another store, or leave a plugin unguarded, without a word.
_RESERVED = ("storage", "plugin_policy", "state_mode", "wrapper", "binding", "capture", "inbox")

STATE_MODES = {"local": "local", "backend": "backend", "vault": "backend"}
"""What may be written, and what it means: `vault` is the older word for `backend`."""


class UnfitSetting(ValueError):
    """A setting that may not stand, and in `remedy` the command that puts it right."""

    def __init__(self, reason: str, remedy: str) -> None:
        super().__init__(reason)
        self.remedy = remedy


def settings_of(document: dict[str, object]) -> Settings:
    """Every setting of a document, in its order; `UnfitSetting` names the first that may not stand."""
    found: Settings = {}
    _collect(document, "", found)
    for key in found:
        _refuse_key_inside_value(key, found)
    return found


def normalised(key: str, value: object) -> object:
    """`value` as the setting `key` holds it; `UnfitSetting` if that key cannot hold it."""
    check = _check_of(key)
    if check is not None:
        return check(key, value)
    _refuse_near_miss(key)
    _refuse_broken_text(key, value)
    return value


def is_list(key: str) -> bool:
    """Whether the setting is a list of names."""
    return _check_of(key) is _names


def is_text(key: str) -> bool:
    """Whether the setting is a word or a path, whatever it looks like."""
    return _check_of(key) not in (None, _names, _days, _bindings)


# ------------------------------------------------------------------------------------------------ two spellings


def is_group(key: str) -> bool:
    """Whether an object under `key` holds further settings rather than being a value."""
    return key in _GROUPS or (key.startswith(_TABLES) and key.count(".") == 1)


def _collect(table: dict[str, object], prefix: str, found: Settings) -> None:
    for name, value in table.items():
        key = prefix + name
        if is_group(key):
            if not isinstance(value, dict):
                raise UnfitSetting(f"'{key}' is {_described(value)}, but it holds further settings", _removal(key))
            _collect(value, f"{key}.", found)
        elif key in found:
            raise UnfitSetting(f"'{key}' is given twice, nested and dotted", _removal(key))
        else:
            found[key] = normalised(key, value)


def _refuse_key_inside_value(key: str, found: Settings) -> None:
    outer, dot, _ = key.rpartition(".")
    while dot:
        if outer in found:
            raise UnfitSetting(f"'{key}' is given beside a value of '{outer}'", _removal(key))
        outer, dot, _ = outer.rpartition(".")


def _refuse_near_miss(key: str) -> None:
    spelled = key.lstrip().lower().replace("-", "_")
    if spelled.startswith(_RESERVED):
        known = ", ".join(name for name in _CHECKS if name.startswith(_RESERVED))
        raise UnfitSetting(f"'{key}' is not a setting; there are {known}", _removal(key))


# ------------------------------------------------------------------------------------------------ known values


def _text(key: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise UnfitSetting(f"'{key}' is {_described(value)}, not a name or path", _setting(key))
    _refuse_broken_text(key, value)
    return value.strip()


def _state_mode(key: str, value: object) -> str:
    mode = STATE_MODES.get(value.strip().lower()) if isinstance(value, str) else None
    if mode is None:
        raise UnfitSetting(f"'{key}' is {_described(value)}, not 'local' or 'backend'", _setting(key))
    return mode


def _names(key: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(name, str) and name.strip() for name in value):
        raise UnfitSetting(f"'{key}' is {_described(value)}, not a list of names", _setting(key))
    _refuse_broken_text(key, value)
    return tuple(name.strip() for name in value)


def _days(key: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise UnfitSetting(f"'{key}' is {_described(value)}, not a number of days", _setting(key))
    return value


def _bindings(key: str, value: object) -> dict[str, object]:
    is_table = isinstance(value, dict) and all(
        isinstance(bound, dict) and isinstance(bound.get("store"), str) and bound["store"] for bound in value.values()
    )
    if not isinstance(value, dict) or not is_table:
        raise UnfitSetting(f"'{key}' does not name a store for each project", _removal(key))
    _refuse_broken_text(key, value)
    return value


_CHECKS: dict[str, Callable[[str, object], object]] = {
    "storage.backend": _text,
    "storage.policy": _text,
    "state_mode": _state_mode,
    "plugin_policy.disabled": _names,
    "plugin_policy.allowed": _names,
    "wrappers": _names,
    "capture.approve": _names,
    "inbox.confirm": _text,
    "inbox.days": _days,
    "bindings": _bindings,
    "vault_path": _text,
}


def _check_of(key: str) -> Callable[[str, object], object] | None:
    """What holds for the default store holds for its like of a further one."""
    if key.startswith("stores.") and key.count(".") == 2:
        return {"backend": _text, "wrappers": _names}.get(key.rpartition(".")[2])
    return _CHECKS.get(key)


KNOWN = tuple(key for key in _CHECKS if key not in ("vault_path", "bindings"))
"""The settings of the kernel itself."""


def _refuse_broken_text(key: str, value: object) -> None:
    """Half of a surrogate pair can be escaped into JSON, but never be printed or stored."""
    try:
        (key + _all_text(value)).encode()
    except UnicodeEncodeError:
        raise UnfitSetting(f"'{ascii(key)[1:-1]}' holds text that is not valid Unicode", _setting(key)) from None


def _all_text(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return "".join(name + _all_text(inner) for name, inner in value.items())
    if isinstance(value, list):
        return "".join(_all_text(inner) for inner in value)
    return ""


# ------------------------------------------------------------------------------------------------ words


def _described(value: object) -> str:
    if isinstance(value, str):
        return ascii(value[:40]) if value.strip() else "blank"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return "a number"
    return "an object" if isinstance(value, dict) else "a list"


def _setting(key: str) -> str:
    return f"agentm config set {_for_shell(key)} VALUE"


def _removal(key: str) -> str:
    return f"agentm config unset {_for_shell(key)}"


def _for_shell(key: str) -> str:
    plain = key.replace(".", "").replace("_", "").replace("-", "")
    return key if plain.isalnum() and plain.isascii() else "'" + key.replace("'", "'\\''") + "'"
