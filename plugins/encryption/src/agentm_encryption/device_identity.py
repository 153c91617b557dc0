"""This device's own identity: a file that only its user can read, wrapped by a passphrase or the keyring if wanted.

The public half lies beside it, so that who this device is can be told without opening anything.
"""

from __future__ import annotations

import os
import sys

from agentm_encryption.places import NAME, device_folder
from agentm_kernel.plugin import AgentmError, IntegrityError, StorageSelectionError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

PLAIN = "file"
PASSPHRASE = "passphrase"  # noqa: S105 - a word for people
KEYRING = "keyring"
WAYS = (PLAIN, PASSPHRASE, KEYRING)
PASSPHRASE_VARIABLE = "AGENTM_ENCRYPTION_PASSPHRASE"  # noqa: S105 - the name of a variable

_ARMOR = "-----BEGIN AGE ENCRYPTED FILE-----"
_IN_KEYRING = "keyring "
_SERVICE = "agentm-encryption"
_LIMIT = 100_000


class DeviceIdentity:
    """What this device opens key files with."""

    def __init__(self, state_dir: str, environ: Mapping[str, str], options: Mapping[str, Any]) -> None:
        self._folder = device_folder(state_dir)
        self._path = os.path.join(self._folder, "identity")
        self._environ = environ
        self._options = options

    @property
    def recipient(self) -> str | None:
        """The public half; `None` if this device has none yet."""
        text = _read(f"{self._path}.pub")
        return text.strip() if text is not None else None

    @property
    def device_id(self) -> str:
        """Sixteen digits that stand for this device inside of notes."""
        import hashlib

        return hashlib.sha256((self.recipient or "").encode()).hexdigest()[:16]

    @property
    def way(self) -> str:
        """How it is kept: one of `WAYS`."""
        text = _read(self._path) or ""
        if text.startswith(_ARMOR):
            return PASSPHRASE
        return KEYRING if text.startswith(_IN_KEYRING) else PLAIN

    def make(self, way: str) -> str:
        """Make an identity unless there is one, and return its public half."""
        from pyrage import x25519

        from agentm_kernel.plugin import make_private_folder

        present = self.recipient
        if present is not None and os.path.exists(self._path):
            return present
        identity = x25519.Identity.generate()
        make_private_folder(self._folder)
        self._keep(str(identity), str(identity.to_public()), way)
        return str(identity.to_public())

    def unlock(self) -> Any:
        """The identity itself; `StorageSelectionError` if it is not there or stays locked."""
        from agentm_encryption.epochs import parse_identity

        _no_core_dumps()
        return parse_identity(self._text())

    def seal_own(self, data: bytes) -> bytes:
        """Seal something that only this device is to open."""
        import pyrage

        recipient = self.recipient
        assert recipient is not None
        return bytes(pyrage.encrypt(data, [pyrage.x25519.Recipient.from_str(recipient)]))

    def open_own(self, data: bytes) -> bytes:
        """What `seal_own` sealed; `IntegrityError` if it is damaged or another device's."""
        import pyrage

        try:
            return bytes(pyrage.decrypt(data, [self.unlock()]))
        except (pyrage.DecryptError, OSError) as error:
            raise IntegrityError(f"what this device sealed for itself cannot be opened: {error}") from None

    # -- keeping ----------------------------------------------------------------------------------------------

    def _keep(self, identity: str, recipient: str, way: str) -> None:
        from agentm_kernel.plugin import atomic_write

        kept = identity + "\n"
        if way == PASSPHRASE:
            import pyrage

            phrase = self._passphrase(is_new=True)
            kept = pyrage.passphrase.encrypt(identity.encode(), phrase, armored=True).decode("ascii")
        elif way == KEYRING:
            _keyring().set_password(_SERVICE, recipient, identity)
            kept = f"{_IN_KEYRING}{recipient}\n"
        if not os.path.exists(self._path):
            os.close(os.open(self._path, os.O_WRONLY | os.O_CREAT, 0o600))
        atomic_write(self._path, kept)
        atomic_write(f"{self._path}.pub", recipient + "\n")

    # -- unlocking --------------------------------------------------------------------------------------------

    def _text(self) -> str:
        text = _read(self._path)
        if not text:
            raise StorageSelectionError(
                "this device has no identity for encrypted stores", hint="run `agentm encryption join`"
            )
        if text.startswith(_IN_KEYRING):
            found = _keyring().get_password(_SERVICE, text.removeprefix(_IN_KEYRING).strip())
            if not found:
                raise StorageSelectionError(
                    "the keyring does not have this device's identity", hint="unlock it, or run as its user"
                )
            return str(found)
        if text.startswith(_ARMOR):
            import pyrage

            try:
                return str(pyrage.passphrase.decrypt(text.encode(), self._passphrase(is_new=False)).decode("ascii"))
            except pyrage.DecryptError:
                raise StorageSelectionError(
                    "the passphrase of this device's identity is wrong", hint="try again"
                ) from None
        return text.strip()

    def _passphrase(self, *, is_new: bool) -> str:
        given = self._environ.get(PASSPHRASE_VARIABLE)
        if given:
            return given
        command = self._options.get("passphrase_command")
        if command:
            return _from_command(command)
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise StorageSelectionError(
                "this device's identity is locked by a passphrase, and there is no terminal to ask for it",
                hint=f"set plugins.{NAME}.passphrase_command, or {PASSPHRASE_VARIABLE} in the environment",
            )
        import click

        asked = "Passphrase for this device's identity"
        return str(click.prompt(asked, hide_input=True, confirmation_prompt=is_new, err=True))


def _from_command(command: object) -> str:
    import shlex
    import subprocess

    words = shlex.split(command) if isinstance(command, str) else [str(word) for word in command]  # type: ignore[attr-defined]
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=30, check=True)  # noqa: S603
    except (OSError, subprocess.SubprocessError) as error:
        raise StorageSelectionError(
            f"plugins.{NAME}.passphrase_command failed: {error}", hint="run it by hand and see what it says"
        ) from None
    return done.stdout.decode("utf-8", "replace").rstrip("\r\n")


def _keyring() -> Any:
    try:
        import keyring
        from keyring.errors import KeyringError
    except ImportError:
        raise StorageSelectionError(
            "the keyring needs the package keyring", hint="run `pip install 'agentm-encryption[keyring]'`"
        ) from None

    class Checked:
        def __getattr__(self, name: str) -> Any:
            def call(*given: str) -> Any:
                try:
                    return getattr(keyring, name)(*given)
                except KeyringError as error:
                    raise StorageSelectionError(
                        f"the keyring cannot be used: {error}", hint="`--identity passphrase` needs none"
                    ) from None

            return call

    return Checked()


def _read(path: str) -> str | None:
    try:
        with open(path, encoding="ascii") as file:
            return file.read(_LIMIT)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise StorageSelectionError(f"cannot read {path}: {error}", hint="check its permissions") from error


def _no_core_dumps() -> None:
    """A process that holds keys leaves no image of its memory when it crashes."""
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    except (ImportError, ValueError, OSError):
        pass  # a system without such limits


def check_private(state_dir: str) -> str | None:
    """What is wrong with the permissions of the identity; `None` if only this user can read it."""
    path = os.path.join(device_folder(state_dir), "identity")
    try:
        mode = os.stat(path).st_mode & 0o077
    except FileNotFoundError:
        return None
    except OSError as error:
        raise AgentmError(f"cannot look at {path}: {error.strerror}") from error
    return f"{path} can be read by others" if mode and os.name == "posix" else None
