"""Writing a settings file of another program: whole or not at all, and only if it is still what was looked at."""

from __future__ import annotations

import os
import tempfile

from agentm_hosts.files.reading import SettingsError, read_text


def write_unless_changed(path: str, old: str | None, new: str | None) -> None:
    """Replace the file, or remove it if `new` is `None`. Its mode stays. Hosts rewrite their files when they like:
    it is compared at the last moment, so that what they wrote is lost only between two system calls.
    """
    try:
        if new is None:
            _check(path, old)
            os.unlink(path)
        else:
            _write(path, old, new)
    except FileNotFoundError as error:
        raise _changed(path) from error
    except OSError as error:
        raise SettingsError(
            f"{path} cannot be {'removed' if new is None else 'written'}: {error.strerror}",
            hint="nothing was changed in it; let it be written, or change it where it is made: --dry-run shows how",
        ) from error


def _write(path: str, old: str | None, new: str) -> None:
    folder = os.path.dirname(path)
    os.makedirs(folder, exist_ok=True)
    descriptor, temp = tempfile.mkstemp(prefix=".agentm-", dir=folder)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(new.encode())
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temp, os.stat(path).st_mode & 0o7777 if old is not None else 0o666 & ~_umask())
        _check(path, old)
        os.replace(temp, path)
    finally:
        if os.path.exists(temp):
            os.unlink(temp)


def _umask() -> int:
    found = os.umask(0o077)
    os.umask(found)
    return found


def _check(path: str, old: str | None) -> None:
    if read_text(path) != old:
        raise _changed(path)


def _changed(path: str) -> SettingsError:
    return SettingsError(f"{path} was changed meanwhile", hint="nothing was changed in it; run this again")
