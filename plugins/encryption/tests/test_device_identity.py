"""How a device keeps its own key, and what it says when it cannot have it."""

from __future__ import annotations

import hashlib
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pyrage
import pytest

from agentm_encryption.device_identity import DeviceIdentity, check_private
from agentm_kernel import plugin
from agentm_kernel.errors import AgentmError, IntegrityError, StorageSelectionError

if TYPE_CHECKING:
    from pathlib import Path

PHRASE = "AGENTM_ENCRYPTION_PASSPHRASE"


@pytest.fixture
def quick_passphrases(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for what takes more than a second on purpose."""

    def encrypt(data: bytes, phrase: str, *, armored: bool) -> bytes:
        assert armored
        return f"-----BEGIN AGE ENCRYPTED FILE-----\n{phrase}\n".encode() + data

    def decrypt(data: bytes, phrase: str) -> bytes:
        _, wanted, text = data.split(b"\n", 2)
        if phrase.encode() != wanted:
            raise pyrage.DecryptError("wrong")
        return text

    monkeypatch.setattr(pyrage, "passphrase", SimpleNamespace(encrypt=encrypt, decrypt=decrypt))


def identity(folder: Path, environ: dict[str, str] | None = None, **options: object) -> DeviceIdentity:
    return DeviceIdentity(str(folder), environ or {}, options)


def test_a_device_without_a_key_of_its_own_says_what_to_run(tmp_path: Path) -> None:
    none = identity(tmp_path)
    assert (none.recipient, none.way) == (None, "file")
    with pytest.raises(StorageSelectionError, match="no identity for encrypted stores") as caught:
        none.unlock()
    assert "agentm encryption join" in (caught.value.hint or "")


def test_a_key_is_made_once_and_stands_for_the_device(tmp_path: Path) -> None:
    made = identity(tmp_path).make("file")
    again = identity(tmp_path)
    assert again.make("file") == again.recipient == made
    assert again.device_id == hashlib.sha256(made.encode()).hexdigest()[:16]
    assert str(again.unlock().to_public()) == made


@pytest.mark.parametrize("half", ["identity", "identity.pub"])
def test_a_device_whose_key_was_not_kept_whole_makes_one_that_it_can_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, half: str
) -> None:
    """The public half comes last: where it is, there is a key behind it."""
    write = plugin.atomic_write

    def fail_at(path: str, text: str) -> None:
        if path.endswith(f"/{half}"):
            raise OSError("no space left")
        write(path, text)

    device = identity(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(plugin, "atomic_write", fail_at)
        with pytest.raises(OSError, match="no space left"):
            device.make("file")
    made = device.make("file")
    assert device.recipient == made == str(device.unlock().to_public())


def test_what_a_device_seals_for_itself_no_other_opens(tmp_path: Path) -> None:
    one, other = identity(tmp_path / "one"), identity(tmp_path / "other")
    for device in (one, other):
        device.make("file")
    sealed = one.seal_own(b"mine")
    assert one.open_own(sealed) == b"mine"
    with pytest.raises(IntegrityError, match="what this device sealed for itself cannot be opened"):
        other.open_own(sealed)
    with pytest.raises(IntegrityError):
        one.open_own(sealed[:-1])


@pytest.mark.usefixtures("quick_passphrases")
@pytest.mark.parametrize(
    ("environ", "options"),
    [
        ({PHRASE: "open sesame"}, {}),
        ({}, {"passphrase_command": f"{sys.executable} -c \"print('open sesame')\""}),
        ({}, {"passphrase_command": [sys.executable, "-c", "print('open sesame', end='\\r\\n')"]}),
    ],
)
def test_a_passphrase_comes_from_the_environment_or_a_command(
    tmp_path: Path, environ: dict[str, str], options: dict[str, object]
) -> None:
    made = identity(tmp_path, {PHRASE: "open sesame"}).make("passphrase")
    locked = identity(tmp_path, environ, **options)
    assert locked.way == "passphrase"
    assert str(locked.unlock().to_public()) == made


@pytest.mark.usefixtures("quick_passphrases")
@pytest.mark.parametrize(
    ("environ", "options", "said"),
    [
        ({PHRASE: "wrong"}, {}, "the passphrase of this device's identity is wrong"),
        ({}, {"passphrase_command": "no-such-program"}, "plugins.encryption.passphrase_command failed: "),
        ({}, {"passphrase_command": "false"}, "plugins.encryption.passphrase_command failed: "),
        ({}, {}, "locked by a passphrase, and there is no terminal to ask for it"),
    ],
)
def test_a_passphrase_that_cannot_be_had_is_said(
    tmp_path: Path, environ: dict[str, str], options: dict[str, object], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    identity(tmp_path, {PHRASE: "open sesame"}).make("passphrase")
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(isatty=lambda: False))
    with pytest.raises(StorageSelectionError, match=said):
        identity(tmp_path, environ, **options).unlock()


@pytest.mark.parametrize(("stdin", "stderr"), [(True, False), (False, True)])
def test_nobody_is_asked_who_cannot_see_or_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stdin: bool, stderr: bool
) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(isatty=lambda: stdin))
    monkeypatch.setattr(sys, "stderr", SimpleNamespace(isatty=lambda: stderr))
    with pytest.raises(StorageSelectionError, match="there is no terminal"):
        identity(tmp_path).make("passphrase")
    assert identity(tmp_path).recipient is None, "no key is left that nobody can open"


def test_a_key_file_that_is_no_text_is_an_error_and_not_a_device_without_one(tmp_path: Path) -> None:
    device = identity(tmp_path)
    device.make("file")
    (path,) = tmp_path.rglob("identity")
    path.write_bytes(b"\xff")
    with pytest.raises(StorageSelectionError, match=f"cannot read {path}"):
        device.unlock()


def test_the_keyring_that_cannot_be_used_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class KeyringError(Exception):
        """As the package has it."""

    def refused(*_: str) -> None:
        raise KeyringError("locked")

    ring: Any = SimpleNamespace(set_password=refused, errors=SimpleNamespace(KeyringError=KeyringError))
    monkeypatch.setitem(sys.modules, "keyring", ring)
    monkeypatch.setitem(sys.modules, "keyring.errors", ring.errors)
    with pytest.raises(StorageSelectionError, match="the keyring cannot be used: locked"):
        identity(tmp_path).make("keyring")
    monkeypatch.setitem(sys.modules, "keyring", None)
    with pytest.raises(StorageSelectionError, match="the keyring needs the package keyring"):
        identity(tmp_path).make("keyring")


def test_permissions_are_looked_at_where_there_is_a_key(tmp_path: Path) -> None:
    assert check_private(str(tmp_path)) is None
    identity(tmp_path).make("file")
    assert check_private(str(tmp_path)) is None
    (path,) = tmp_path.rglob("identity")
    path.chmod(0o640)
    assert check_private(str(tmp_path)) == f"{path} can be read by others"
    with pytest.raises(AgentmError, match="cannot look at"):
        check_private(str(path))
