"""The one reader of the configuration: what its document says, in two spellings made one, and what a `Config` tells.

`Device.config` calls it, once. Reading creates nothing, and whatever is wrong with the file is a `ConfigError`: only
a file that is not there at all means that nothing is configured.

A *setting* is a dotted key with a value. `{"storage": {"backend": "vault"}}` and `{"storage.backend": "vault"}` are
the same setting, and so is any mixture. Objects are taken apart only down to where the kernel knows their shape;
below that, in a plugin's option or under a key that belongs to somebody else, an object is a value.
"""

from __future__ import annotations

import os

from agentm_kernel import errors
from agentm_kernel.files import home_directory, read_small_file, status_if_any, user_directory
from agentm_kernel.seam import Frozen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, TypeVar

    T = TypeVar("T")

Settings = dict[str, object]

PREFIX_VARIABLE = "AGENTM_INSTALL_PREFIX"
CONFIG_NAME = ".agentm-config.json"
_CONFIG = os.sep + CONFIG_NAME
_LEGACY = f"{os.sep}.claude{_CONFIG}"
SIZE_LIMIT = 1_000_000


def expanded(path: str, environ: Mapping[str, str]) -> str:
    """`path` with a leading `~` replaced by the home of the user whose environment this is."""
    is_of_home = path == "~" or path.startswith(("~/", "~\\"))
    return home_directory(environ) + path[1:] if is_of_home else path


def config_places(environ: Mapping[str, str], home: str = "") -> tuple[str, ...]:
    """The file that is written, and read first; then, unless a prefix was chosen, where older installs kept it."""
    prefix = expanded(environ.get(PREFIX_VARIABLE, ""), environ)
    if not prefix:
        home = home or home_directory(environ)
        legacy = f"{home.rstrip(os.sep)}{_LEGACY}"
        return f"{user_directory('config', environ, home)}{_CONFIG}", legacy
    if not os.path.isabs(prefix):  # it would mean another configuration in every working directory
        hint = f"set {PREFIX_VARIABLE} to an absolute path, or unset it"
        raise errors.ConfigError(f"${PREFIX_VARIABLE} is not an absolute path: {prefix!r}", hint=hint)
    return (os.path.join(prefix, CONFIG_NAME),)


_TABLE, _OLDER_TABLE, _OLDER_KEY = "plugins.vault", "plugins.obsidian-vault", "vault_path"


def spellings(key: str) -> tuple[str, ...]:
    """Every name that the setting or group `key` has had, the current one first; it may be given by any of them."""
    if key == _OLDER_KEY:
        key = f"{_TABLE}.{key}"
    elif f"{key}.".startswith(f"{_OLDER_TABLE}."):
        key = _TABLE + key[len(_OLDER_TABLE) :]
    if not f"{key}.".startswith(f"{_TABLE}."):
        return (key,)
    inside = key[len(_TABLE) :]
    names = key, _OLDER_TABLE + inside
    return (*names, _OLDER_KEY) if inside in ("", f".{_OLDER_KEY}") else names


class Config(Frozen):
    """What the configuration says. Lists and objects are handed out as copies: it cannot be changed by a reader."""

    path: str  # the file that was read; the one that a first `config set` would make if there is none
    is_present: bool
    is_legacy: bool  # the file of an older install is all there is
    _settings: Settings
    store_name: str | None = None
    """The further store whose settings these are, as if it were the only one; `None` for the whole."""

    @property
    def storage_backend(self) -> str | None:
        """The protocol of the store that was chosen."""
        return self._value("storage.backend", str)

    @property
    def chosen_by(self) -> str:
        """The setting that `storage_backend` stands in."""
        return "storage.backend" if self.store_name is None else f"stores.{self.store_name}.backend"

    @property
    def wrapped_by(self) -> str:
        """The setting that `wrappers` stand in."""
        return "wrappers" if self.store_name is None else f"stores.{self.store_name}.wrappers"

    @property
    def stores(self) -> tuple[str, ...]:
        """The names of the further stores."""
        return tuple(self._table("stores."))

    @property
    def bindings(self) -> dict[str, str]:
        """Which further store the notes of a project belong to, by what the project is."""
        return {key: bound["store"] for key, bound in (self._value("bindings", dict) or {}).items()}

    def for_store(self, name: str, table: Mapping[str, object] | None = None) -> Config:
        """The settings of a further store, or those in `table`, as if it were the only one of this device."""
        options = dict(self._table("stores.").get(name, {}) if table is None else table)
        protocol = options.pop("backend", None)
        if not isinstance(protocol, str) or not protocol.strip():
            hint = f"`agentm store list` shows them; `agentm store add {name} PROTOCOL OPTION=VALUE …` adds one"
            raise errors.StorageSelectionError(f"there is no store called '{name}' in {self.path}", hint=hint)
        others = ("storage.", "stores.", f"plugins.{protocol}.", "wrappers", "bindings")
        kept = {key: value for key, value in self._settings.items() if not key.startswith(others)}
        chosen = {"storage.backend": protocol, "wrappers": tuple(options.pop("wrappers", ()))}
        own = {f"plugins.{protocol}.{option}": value for option, value in options.items()}
        return Config(self.path, self.is_present, self.is_legacy, {**kept, **chosen, **own}, name)

    def alone(self) -> Config:
        """The settings as if the default store were the only one."""
        kept = {key: value for key, value in self._settings.items() if not key.startswith(("stores.", "bindings"))}
        return Config(self.path, self.is_present, self.is_legacy, kept)

    @property
    def shortcut(self) -> tuple[str, str, str] | None:
        """The setting that chooses a store and says its option `path` in one: its key, the protocol, the path."""
        path = self._value("storage.policy", str)
        return None if path is None else ("storage.policy", "policy", path)

    @property
    def state_mode(self) -> str | None:
        """`local`, `backend`, or `None` where this device does not say."""
        return self._value("state_mode", str)

    @property
    def wrappers(self) -> tuple[str, ...]:
        """The layers around the store, innermost first."""
        return self._value("wrappers", tuple) or ()

    @property
    def disabled_plugins(self) -> tuple[str, ...]:
        return self._value("plugin_policy.disabled", tuple) or ()

    @property
    def allowed_plugins(self) -> tuple[str, ...] | None:
        """The only plugins that may be loaded; `None` where every installed one may."""
        return self._value("plugin_policy.allowed", tuple)

    def options(self, protocol: str) -> dict[str, Any]:
        """The table `plugins.<protocol>`."""
        return self._table(f"plugins.{protocol}.")

    def get(self, key: str) -> Any:
        """The value of a dotted key, by any name that it has had: an object for a group, `None` if it is not set."""
        value: object = self._table("")
        key, *_ = spellings(key)
        while isinstance(value, dict) and key not in value:  # a name with dots in it first, then a name at a time
            name, _, key = key.partition(".")
            value = value.get(name)
        return value[key] if isinstance(value, dict) else None

    def items(self) -> list[tuple[str, Any]]:
        """Every setting by its dotted key, in the order of the file; by its current name, whatever it has there."""
        return [(key, _copied(value)) for key, value in self._settings.items()]

    def _value(self, key: str, kind: type[T]) -> T | None:
        value = self._settings.get(key)
        return value if isinstance(value, kind) else None

    def _table(self, prefix: str) -> dict[str, Any]:
        table: dict[str, Any] = {}
        for key, value in self._settings.items():
            if key.startswith(prefix):
                *groups, name = key[len(prefix) :].split(".")
                inner = table
                for group in groups:
                    inner = inner.setdefault(group, {})
                inner[name] = _copied(value)
        return table

    def __repr__(self) -> str:
        return f"Config({self.path!r}, is_present={self.is_present})"  # values may be secrets


def _copied(value: object) -> object:
    if isinstance(value, dict):
        return {name: _copied(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_copied(inner) for inner in value]
    return value


def load(environ: Mapping[str, str], home: str = "") -> Config:
    """The configuration as it is now; `ConfigError` if there is one that cannot be relied on."""
    path, status, is_legacy = find(environ, home)
    found = {} if status is None else settings_in(read_document(path), path)
    settings: Settings = {}
    for key in found:
        names = spellings(key)
        settings[names[0]] = next(found[name] for name in names if name in found)
    return Config(path, status is not None, is_legacy, settings, None)


def find(environ: Mapping[str, str], home: str = "") -> tuple[str, os.stat_result | None, bool]:
    """The file that `load` reads, its status (`None` if there is no file), and whether it is an older install's."""
    places = config_places(environ, home)
    for path in places:
        try:
            status = status_if_any(path)
        except OSError as error:
            raise _unreadable(path, error) from error
        if status is not None:  # also a link that leads nowhere: reading it will say so
            return path, status, path != places[0]
    return places[0], None, False


def read_document(path: str) -> dict[str, object]:
    """The JSON object that the file holds, as it is written there."""
    try:
        data = read_small_file(path, SIZE_LIMIT)
    except OSError as error:
        raise _unreadable(path, error) from error
    return parse_document(data, path)


def parse_document(data: bytes, path: str) -> dict[str, object]:
    """The object that the text of the file spells."""
    from agentm_kernel.device.json_text import parse_object

    try:
        return parse_object(data)
    except errors.MalformedJson as error:
        hint = "correct the file, or move it away and run `agentm config set storage.backend NAME`"
        raise errors.ConfigError(f"the configuration {path} is not valid: {error}", hint=hint) from error


def _unreadable(path: str, error: OSError) -> errors.ConfigError:
    import errno

    why, hint = f"cannot be read: {error.strerror}", "check the permissions of the file and of the folders above it"
    if error.errno == errno.EFBIG:
        hint = "move it away and set what you need"
    if error.errno in (errno.ENOENT, errno.EINVAL):  # it was seen, so it is a link that leads nowhere
        why = "is there but is not a regular file"
        hint = "remove what is in its place, then run `agentm config set storage.backend NAME`"
    return errors.ConfigError(f"the configuration {path} {why}", hint=hint)


# ------------------------------------------------------------------------------------------------ settings

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


def settings_in(document: dict[str, object], path: str) -> Settings:
    """Every setting of a document, in its order; `ConfigError` names the first that may not stand."""
    found: Settings = {}
    try:
        _collect(document, "", found)
        for key in found:
            outer, dot, _ = key.rpartition(".")
            while dot:
                if outer in found:
                    raise errors.UnfitSetting(key, f"is given beside a value of '{outer}'")
                outer, dot, _ = outer.rpartition(".")
    except errors.UnfitSetting as error:
        hint = f"run `{error.remedy}`"
        raise errors.ConfigError(f"the configuration {path} is refused: {error}", hint=hint) from error
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
