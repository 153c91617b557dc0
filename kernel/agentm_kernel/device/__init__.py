"""This device as one process sees it: environment, directories, configuration, installed plugins.

Nothing is looked up before it is asked for, and nothing twice. Whoever has a device asks it, and hands it on; a
long-lived process makes a fresh one per question, so that whatever changed meanwhile is seen.

`Device`, which plugins are given, adds the questions that need the later rooms: its store and its projects
(`state/__init__.py`). The rooms in between are written against these facts.
"""

from __future__ import annotations

import os

from agentm_kernel import errors
from agentm_kernel.files import home_directory, user_directory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

    from agentm_kernel.device.config import Config
    from agentm_kernel.device.installed import Installed

_OF_THE_DEFAULT_STORE = ("MEMORY_VAULT_PATH", "AGENTM_DEVICE_LOCAL_ROOT")


class DeviceFacts:
    """Environment, directories, configuration and plugin table, each found out once."""

    __slots__ = ("_config", "_home", "_is_alone", "_plugins", "_state_dir", "environ", "store_name")

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.environ = environ
        self.store_name: str | None = None
        """The further store that is meant by "the store" here; `None` for the default one."""
        self._config: Config | errors.ConfigError | None = None
        self._plugins: Installed | None = None
        self._home = self._state_dir = ""
        self._is_alone = False

    @classmethod
    def now(cls, environ: Mapping[str, str] | None = None) -> Self:
        """The device as it is now; `environ` instead of the process's environment."""
        return cls(os.environ if environ is None else environ)

    def renewed(self) -> Self:
        """The same device, everything to be looked up again."""
        now = type(self)(self.environ)
        return now.alone() if self._is_alone else now.of_store(self.store_name)

    def of_store(self, name: str | None, table: Mapping[str, object] | None = None) -> Self:
        """The same device as if the further store `name` were the only one it has: what selects, opens and tells a
        store needs no second way for it. `StorageSelectionError` if there is none. `table` stands for its settings.
        """
        if name in (None, "default", self.store_name):
            return self
        assert name is not None
        view = type(self)({key: value for key, value in self.environ.items() if key not in _OF_THE_DEFAULT_STORE})
        view.store_name = name
        view._config, view._plugins = self.config.for_store(name, table), self._plugins  # noqa: SLF001 - our own kind
        return view

    def alone(self) -> Self:
        """The same device as if it had the default store only, which projects are bound to no other then."""
        view = type(self)(self.environ)
        view._config, view._plugins, view._is_alone = self.config.alone(), self._plugins, True  # noqa: SLF001
        return view

    @property
    def home(self) -> str:
        if not self._home:
            self._home = home_directory(self.environ)
        return self._home

    def _home_if_any(self) -> str:
        """Empty where there is none: not every directory lies there, and who needs it will say so."""
        try:
            return self.home
        except errors.ConfigError:
            return ""

    @property
    def state_dir(self) -> str:
        """Where this device keeps what must survive and is nobody's note. Never inside a store."""
        if not self._state_dir:
            self._state_dir = user_directory("state", self.environ, self._home_if_any())
        return self._state_dir

    @property
    def cache_dir(self) -> str:
        """Where lies what can be made again at any time."""
        return user_directory("cache", self.environ)

    @property
    def config(self) -> Config:
        """The configuration, read once; `ConfigError`, each time, if there is one that cannot be relied on."""
        if self._config is None:
            from agentm_kernel.device.config import load

            try:
                self._config = load(self.environ, self._home_if_any())
            except errors.ConfigError as error:
                self._config = error
        config = self._config
        if isinstance(config, errors.AgentmError):
            raise config
        return config

    @property
    def plugins(self) -> Installed:
        """What is installed, scanned once. Nothing is imported."""
        if self._plugins is None:
            from agentm_kernel.device.installed import installed_plugins

            self._plugins = installed_plugins()
        return self._plugins

    def expand(self, path: str) -> str:
        """`path` with a leading `~` replaced by this user's home."""
        from agentm_kernel.device.config import expanded

        return expanded(path, self.environ)
