"""How a device keeps its own key: in a private file, under a passphrase, in the keyring; and what a crash leaves."""

from __future__ import annotations

import subprocess
import sys
import types

import pytest

from agentm_encryption.device_identity import PASSPHRASE_VARIABLE, DeviceIdentity
from agentm_kernel.plugin import StorageSelectionError

SECRET = "the launch code is heliotrope"


def identity_file(laptop):
    return laptop.home / ".local/state/agentm/encryption/identity"


def test_the_file_is_private_and_doctor_says_when_it_is_not(laptop, note):
    laptop.init()
    assert identity_file(laptop).stat().st_mode & 0o077 == 0
    identity_file(laptop).chmod(0o644)
    assert "can be read by others" in laptop.run("doctor").output


def test_a_passphrase_wraps_the_key(tmp_path, monkeypatch):
    """Opening it takes more than a second of work on purpose, so it is tried three times and not more."""
    monkeypatch.setattr(sys.stdin, "isatty", lambda: False, raising=False)

    def identity(environ=None, **options):
        return DeviceIdentity(str(tmp_path), environ or {}, options)

    recipient = identity({PASSPHRASE_VARIABLE: "correct horse"}).make("passphrase")
    assert "AGE-SECRET-KEY" not in (tmp_path / "encryption" / "identity").read_text()
    assert identity().way == "passphrase"
    with pytest.raises(StorageSelectionError, match="no terminal to ask"):
        identity().unlock()
    with pytest.raises(StorageSelectionError, match="passphrase_command failed"):
        identity(passphrase_command="cat /nowhere").unlock()
    with pytest.raises(StorageSelectionError, match="passphrase of this device's identity is wrong"):
        identity({PASSPHRASE_VARIABLE: "wrong horse"}).unlock()
    unlocked = identity(passphrase_command="printf 'correct horse'").unlock()
    assert str(unlocked.to_public()) == recipient


def test_the_keyring_has_the_key_and_the_disk_has_not(laptop, note, monkeypatch):
    """With a stand-in for the package: a desktop's keyring is not to be had in a test."""
    kept: dict[tuple[str, str], str] = {}

    class KeyringError(Exception):
        pass

    def get_password(service: str, name: str) -> str | None:
        if not kept:
            raise KeyringError("it is locked")
        return kept.get((service, name))

    package, errors = types.ModuleType("keyring"), types.ModuleType("keyring.errors")
    package.set_password = lambda service, name, text: kept.update({(service, name): text})
    package.get_password = get_password
    errors.KeyringError = KeyringError
    monkeypatch.setitem(sys.modules, "keyring", package)
    monkeypatch.setitem(sys.modules, "keyring.errors", errors)
    laptop.init("--identity", "keyring")
    laptop.store().write(note, SECRET)
    (secret,) = kept.values()
    assert secret.startswith("AGE-SECRET-KEY-")
    everything = b"".join(path.read_bytes() for path in laptop.home.rglob("*") if path.is_file())
    assert secret.encode() not in everything
    assert laptop.store().read(note) == SECRET
    assert laptop.status()["identity"] == "keyring"
    kept.clear()
    with pytest.raises(StorageSelectionError, match="keyring cannot be used: it is locked"):
        laptop.store().read(note)


@pytest.mark.skipif(sys.platform == "win32", reason="there are no core dumps")
def test_a_process_that_opened_keys_leaves_no_core_dump(laptop, note):
    laptop.init()
    laptop.store().write(note, SECRET)
    program = (
        "import resource; from agentm_kernel import Locator, select_backend\n"
        "hard = resource.getrlimit(resource.RLIMIT_CORE)[1]\n"
        "resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))\n"
        "store = select_backend(read_only=True)\n"
        f"assert store.read(Locator({note.key!r})) == {SECRET!r}\n"
        "print(resource.getrlimit(resource.RLIMIT_CORE)[0])"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", program], env=laptop.environ, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "0"
