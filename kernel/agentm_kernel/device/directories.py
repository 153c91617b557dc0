"""Where this user's directories are, found without platformdirs: importing that costs more than a whole hook may.

A test holds the answers equal to platformdirs' own. On Windows, where only the system can say, it is asked.
Nothing here looks at the disk, and nothing is created.
"""

from __future__ import annotations

import os
import sys

from agentm_kernel.errors import ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

APP_NAME = "agentm"
PREFIX_VARIABLE = "AGENTM_INSTALL_PREFIX"
CONFIG_NAME = ".agentm-config.json"
LEGACY_DIRECTORY = ".claude"
_HOME_VARIABLE = "USERPROFILE" if sys.platform == "win32" else "HOME"


def home_directory(environ: Mapping[str, str]) -> str:
    """`$HOME` where it is an absolute path, else what the system knows about this user."""
    home = environ.get(_HOME_VARIABLE, "")
    if os.path.isabs(home):
        return home.rstrip("/") or "/"
    return _home_of_this_user()


def config_directory(environ: Mapping[str, str]) -> str:
    """Where the configuration lies."""
    return _user_dir("config", environ)


def state_directory(environ: Mapping[str, str]) -> str:
    """Where this device keeps what must survive but is nobody's note: the ids of the stores it knows, locks."""
    return _user_dir("state", environ)


def cache_directory(environ: Mapping[str, str]) -> str:
    """Where lies what can be made again at any time."""
    return _user_dir("cache", environ)


def config_path(environ: Mapping[str, str]) -> str:
    """The file that the writer writes, and that the reader looks for first."""
    return config_places(environ)[0]


def config_places(environ: Mapping[str, str]) -> tuple[str, str | None]:
    """`config_path`, and where older installs kept the file: no such place when a prefix was chosen."""
    prefix = environ.get(PREFIX_VARIABLE)
    if prefix:
        return os.path.join(_checked_prefix(prefix, environ), CONFIG_NAME), None
    legacy = os.path.join(home_directory(environ), LEGACY_DIRECTORY, CONFIG_NAME)
    return os.path.join(config_directory(environ), CONFIG_NAME), legacy


# ------------------------------------------------------------------------------------------------ per platform

_DEFAULTS = (
    {"config": "Library/Application Support", "state": "Library/Application Support", "cache": "Library/Caches"}
    if sys.platform == "darwin"
    else {"config": ".config", "state": ".local/state", "cache": ".cache"}
)
_VARIABLES = {"config": "XDG_CONFIG_HOME", "state": "XDG_STATE_HOME", "cache": "XDG_CACHE_HOME"}


def _user_dir(kind: str, environ: Mapping[str, str]) -> str:
    if sys.platform == "win32":
        import platformdirs

        return str(getattr(platformdirs, f"user_{kind}_dir")(APP_NAME, appauthor=False))
    base = environ.get(_VARIABLES[kind], "")
    if not base.startswith("/"):  # the XDG specification: a path that is not absolute is invalid and to be ignored
        base = os.path.join(home_directory(environ), _DEFAULTS[kind])
    return os.path.join(base, APP_NAME)


def _home_of_this_user() -> str:
    if sys.platform != "win32":
        import pwd

        try:
            home = pwd.getpwuid(os.getuid()).pw_dir
        except KeyError:
            home = ""
    else:
        home = os.path.expanduser("~")
    if not os.path.isabs(home):
        raise ConfigError("this user has no home directory", hint="set HOME to an absolute path")
    return home.rstrip("/") or "/"


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
