"""Reading a settings file of another program: a regular file of this user, of bounded size, or a refusal."""

from __future__ import annotations

import os
import stat
from typing import Any

from agentm_kernel.plugin import AgentmError

_LARGEST = 32_000_000


class SettingsError(AgentmError):
    """A settings file of an agent host that is left alone, and why."""


def real_path(path: str) -> str:
    """Where a file really lies: dotfiles are often links into a repository, and the link has to stay."""
    return os.path.realpath(path)


def read_bytes(path: str) -> bytes | None:
    """The bytes of a settings file, `None` where there is none. What must not be edited is a `SettingsError`."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
    try:
        descriptor = os.open(path, flags)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise SettingsError(f"{path} cannot be read: {error.strerror}", hint="nothing was changed") from error
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise SettingsError(f"{path} is not a regular file", hint="nothing was changed; look what put it there")
    with os.fdopen(descriptor, "rb") as file:
        if hasattr(os, "geteuid") and status.st_uid != os.geteuid():
            raise SettingsError(
                f"{path} belongs to another user", hint="nothing was changed; run this as the user whose file it is"
            )
        data = file.read(_LARGEST + 1)
    if len(data) > _LARGEST:
        raise SettingsError(f"{path} has more than {_LARGEST:,} bytes", hint="nothing was changed")
    return data


def read_text(path: str) -> str | None:
    """The text of a settings file, byte for byte."""
    data = read_bytes(path)
    try:
        return None if data is None else data.decode()
    except UnicodeDecodeError as error:
        raise SettingsError(f"{path} is not UTF-8: byte {error.start}", hint="nothing was changed") from error


def read_settings(path: str) -> dict[str, Any]:
    """What a JSON file of a host says, for a look; nothing where it cannot be read."""
    from agentm_hosts.files.json_tree import NotJson, parse

    try:
        text = read_text(path)
        value = parse(text, comments=True).value if text else {}
    except (SettingsError, NotJson):
        return {}
    return value if isinstance(value, dict) else {}


def read_toml(path: str) -> dict[str, Any]:
    """The same for TOML."""
    import tomllib

    try:
        return tomllib.loads(read_text(path) or "")
    except (SettingsError, tomllib.TOMLDecodeError):
        return {}
