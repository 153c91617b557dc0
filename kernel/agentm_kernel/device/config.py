"""The one reader of the configuration.

`Device.config` calls it, once. Reading creates nothing, and whatever is wrong with the file is a `ConfigError`: only
a file that is not there at all means that nothing is configured.
"""

from __future__ import annotations

import errno
import os
import stat

from agentm_kernel.errors import ConfigError, StorageSelectionError
from agentm_kernel.files import home_directory, read_small_file, user_directory
from agentm_kernel.seam import Frozen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from agentm_kernel.device.settings import Settings

PREFIX_VARIABLE = "AGENTM_INSTALL_PREFIX"
CONFIG_NAME = ".agentm-config.json"
LEGACY_DIRECTORY = ".claude"


def config_path(environ: Mapping[str, str]) -> str:
    """The file that the writer writes, and that the reader looks for first."""
    return config_places(environ)[0]


def config_places(environ: Mapping[str, str]) -> tuple[str, str | None]:
    """`config_path`, and where older installs kept the file: no such place when a prefix was chosen."""
    prefix = environ.get(PREFIX_VARIABLE)
    if prefix:
        return os.path.join(_checked_prefix(prefix, environ), CONFIG_NAME), None
    legacy = os.path.join(home_directory(environ), LEGACY_DIRECTORY, CONFIG_NAME)
    return os.path.join(user_directory("config", environ), CONFIG_NAME), legacy


def _checked_prefix(prefix: str, environ: Mapping[str, str]) -> str:
    """A relative prefix would mean another configuration in every working directory."""
    if prefix == "~" or prefix.startswith(("~/", "~\\")):
        return os.path.join(home_directory(environ), prefix[2:])
    if os.path.isabs(prefix):
        return prefix
    raise ConfigError(
        f"${PREFIX_VARIABLE} is not an absolute path: {prefix!r}",
        hint=f"set {PREFIX_VARIABLE} to an absolute path, or unset it",
    )


SIZE_LIMIT = 1_000_000

_OLDER_TABLES = {"vault": "obsidian-vault"}
_OLDER_KEYS = {"vault": ("vault_path",)}


def spellings(key: str) -> tuple[str, ...]:
    """Every name that the setting or group `key` has had, the current one first; it may be given by any of them."""
    for table, older in _OLDER_TABLES.items():
        group, former = f"plugins.{table}", f"plugins.{older}"
        flat = _OLDER_KEYS[table]
        if f"{key}.".startswith(f"{former}."):
            key = group + key[len(former) :]
        elif key in flat:
            key = f"{group}.{key}"
        if key == group:
            return key, former, *flat
        name = key.removeprefix(f"{group}.")
        if name != key:
            return (key, f"{former}.{name}", name) if name in flat else (key, f"{former}.{name}")
    return (key,)


class Config(Frozen):
    """What the configuration says. Lists and objects are handed out as copies: it cannot be changed by a reader."""

    path: str
    """The file that was read; the one that a first `config set` would make if there is none."""
    is_present: bool
    is_legacy: bool
    """The file of an older install is all there is."""
    _settings: Settings
    store_name: str | None = None
    """The further store whose settings these are, as if it were the only one; `None` for the whole."""

    @property
    def storage_backend(self) -> str | None:
        """The protocol of the store that was chosen."""
        return self._text("storage.backend")

    @property
    def chosen_by(self) -> str:
        """The setting that `storage_backend` stands in."""
        return "storage.backend" if self.store_name is None else f"stores.{self.store_name}.backend"

    @property
    def stores(self) -> tuple[str, ...]:
        """The names of the further stores."""
        return tuple(self._table("stores."))

    @property
    def bindings(self) -> dict[str, str]:
        """Which further store the notes of a project belong to, by what the project is."""
        table = self._settings.get("bindings")
        return {key: bound["store"] for key, bound in table.items()} if isinstance(table, dict) else {}

    def for_store(self, name: str, table: Mapping[str, object] | None = None) -> Config:
        """The settings of a further store, or those in `table`, as if it were the only one of this device."""
        options = dict(self._table("stores.").get(name, {}) if table is None else table)
        protocol = options.pop("backend", None)
        if not isinstance(protocol, str) or not protocol.strip():
            raise StorageSelectionError(
                f"there is no store called '{name}' in {self.path}",
                hint=f"`agentm store list` shows them; `agentm store add {name} PROTOCOL OPTION=VALUE …` adds one",
            )
        tables = (protocol, _OLDER_TABLES.get(protocol, protocol))
        others = ("storage.", "stores.", *(f"plugins.{former}." for former in tables))
        dropped = ("wrappers", "bindings", *_OLDER_KEYS.get(protocol, ()))
        kept = {k: v for k, v in self._settings.items() if not k.startswith(others) and k not in dropped}
        wrappers = options.pop("wrappers", ())
        own = {f"plugins.{protocol}.{option}": value for option, value in options.items()}
        chosen = {"storage.backend": protocol, "wrappers": tuple(wrappers)}
        return Config(self.path, self.is_present, self.is_legacy, {**kept, **chosen, **own}, name)

    @property
    def shortcut(self) -> tuple[str, str, str] | None:
        """The setting that chooses a store and says its option `path` in one: its key, the protocol, the path."""
        path = self._text("storage.policy")
        return None if path is None else ("storage.policy", "policy", path)

    @property
    def state_mode(self) -> str | None:
        """`local`, `backend`, or `None` where this device does not say."""
        return self._text("state_mode")

    @property
    def wrappers(self) -> tuple[str, ...]:
        """The layers around the store, innermost first."""
        return self._names("wrappers") or ()

    @property
    def disabled_plugins(self) -> tuple[str, ...]:
        return self._names("plugin_policy.disabled") or ()

    @property
    def allowed_plugins(self) -> tuple[str, ...] | None:
        """The only plugins that may be loaded; `None` where every installed one may."""
        return self._names("plugin_policy.allowed")

    def options(self, protocol: str) -> dict[str, Any]:
        """The table `plugins.<protocol>`; where an option is missing, what older installs called it."""
        options = {key: self._settings[key] for key in _OLDER_KEYS.get(protocol, ()) if key in self._settings}
        if protocol in _OLDER_TABLES:
            options.update(self._table(f"plugins.{_OLDER_TABLES[protocol]}."))
        options.update(self._table(f"plugins.{protocol}."))
        return options

    def get(self, key: str) -> Any:
        """The value of a dotted key, an object where the key names a group; `None` if it is not set.

        A setting that an older install spelled in another way is found by every name that it has had.
        """
        names = spellings(key)
        if len(names) > 1 and names[0].count(".") == 1:
            return self.options(names[0].partition(".")[2]) or None
        return next((value for value in map(self._find, names) if value is not None), None)

    def _find(self, key: str) -> Any:
        if key in self._settings:
            return _copied(self._settings[key])
        outer, dot, _ = key.rpartition(".")
        while dot:
            if outer in self._settings:
                return _copied(_inside(self._settings[outer], key[len(outer) + 1 :]))
            outer, dot, _ = outer.rpartition(".")
        return self._table(f"{key}.") or None

    def items(self) -> list[tuple[str, Any]]:
        """Every setting by its dotted key, in the order of the file."""
        return [(key, _copied(value)) for key, value in self._settings.items()]

    def _text(self, key: str) -> str | None:
        value = self._settings.get(key)
        return value if isinstance(value, str) else None

    def _names(self, key: str) -> tuple[str, ...] | None:
        value = self._settings.get(key)
        return value if isinstance(value, tuple) else None

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


def _inside(value: object, key: str) -> object:
    """What `key` names within a value: a name of its own first, then a name at a time."""
    while isinstance(value, dict):
        if key in value:
            return value[key]
        name, dot, key = key.partition(".")
        if not dot:
            return None
        value = value.get(name)
    return None


def _copied(value: object) -> object:
    if isinstance(value, dict):
        return {name: _copied(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_copied(inner) for inner in value]
    return value


# ------------------------------------------------------------------------------------------------ finding and loading


def load(environ: Mapping[str, str]) -> Config:
    """The configuration as it is now; `ConfigError` if there is one that cannot be relied on."""
    path, status, is_legacy = find(environ)
    if status is None:
        return Config(path, False, False, {}, None)
    return Config(path, True, is_legacy, settings_in(parse_document(read_file(path), path), path), None)


def find(environ: Mapping[str, str]) -> tuple[str, os.stat_result | None, bool]:
    """The file that `load` reads, its status (`None` if there is no file), and whether it is an older install's."""
    path, older = config_places(environ)
    status = _look(path)
    if status is None and older is not None and (status := _look(older)) is not None:
        return older, status, True
    return path, status, False


def _look(path: str) -> os.stat_result | None:
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unreadable(path, error) from error
    if stat.S_ISLNK(status.st_mode):
        try:
            return os.stat(path)
        except OSError:
            pass  # it is there and leads nowhere: reading it will say so
    return status


# ------------------------------------------------------------------------------------------------ bytes to settings


def read_file(path: str) -> bytes:
    """The bytes of the configuration."""
    try:
        return read_small_file(path, SIZE_LIMIT)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.EINVAL):  # it was seen: then it is a link that leads nowhere
            raise ConfigError(
                f"the configuration {path} is there but is not a regular file",
                hint="remove what is in its place, then run `agentm config set storage.backend NAME`",
            ) from None
        raise _unreadable(path, error) from error


def parse_document(data: bytes, path: str) -> dict[str, object]:
    """The JSON object that the file holds, as it is written there."""
    from agentm_kernel.device.json_text import MalformedJson, parse_bytes

    try:
        document = parse_bytes(data)
    except MalformedJson as error:
        raise _malformed(path, str(error)) from error
    if not isinstance(document, dict):
        raise _malformed(path, "it is not an object in braces")
    return document


def settings_in(document: dict[str, object], path: str) -> Settings:
    """The settings of a document, checked."""
    from agentm_kernel.device.settings import UnfitSetting, settings_of

    try:
        return settings_of(document)
    except UnfitSetting as error:
        raise ConfigError(f"the configuration {path} is refused: {error}", hint=f"run `{error.remedy}`") from error


def _malformed(path: str, reason: str) -> ConfigError:
    return ConfigError(
        f"the configuration {path} is not valid: {reason}",
        hint="correct the file, or move it away and run `agentm config set storage.backend NAME`",
    )


def _unreadable(path: str, error: OSError) -> ConfigError:
    is_too_large = error.errno == errno.EFBIG
    return ConfigError(
        f"the configuration {path} cannot be read: {error.strerror}",
        hint="move it away and set what you need"
        if is_too_large
        else "check the permissions of the file and of the folders above it",
    )
