"""A second reader, written from `docs/reference/encryption-format.md` alone: standard library and age, nothing else.

It reads what agentm writes, and writes what agentm reads.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from pathlib import Path

import pyrage
import pytest

from agentm_kernel import Locator

# ------------------------------------------------------------------------------------------------ the second reader


def derive(secret: bytes, purpose: str) -> bytes:
    extracted = hmac.new(b"", secret, hashlib.sha256).digest()
    return hmac.new(extracted, purpose.encode() + b"\x01", hashlib.sha256).digest()


def mac(key: bytes, data: bytes) -> bytes:
    return hmac.new(key, data, hashlib.sha256).digest()


class SecondReader:
    """A folder with an encrypted store, and the identity of a member."""

    def __init__(self, root: Path, identity: str) -> None:
        self.root = root
        self.id = json.loads((root / "_meta/store.json").read_text())["id"]
        self.epoch = max(int(path.stem) for path in (root / "_meta/keys").glob("*.age"))
        opened = pyrage.decrypt(
            (root / f"_meta/keys/{self.epoch}.age").read_bytes(), [pyrage.x25519.Identity.from_str(identity)]
        )
        body, _, code = opened.rpartition(b"mac ")
        lines = body.decode().split("\n")
        assert lines[0] == "agentm-epoch 1"
        fields = dict(line.split(" ", 1) for line in lines[1:-1] if not line.startswith(("earlier ", "recipient ")))
        assert fields["store"] == self.id
        assert int(fields["epoch"]) == self.epoch
        self.secrets = {self.epoch: bytes.fromhex(fields["secret"])}
        self.identities = {self.epoch: pyrage.x25519.Identity.from_str(fields["identity"])}
        self.oldest = int(fields["oldest"])
        self.names = None if fields["names"] == "clear" else bytes.fromhex(fields["names"])
        for line in lines:
            if line.startswith("earlier "):
                _, number, earlier, secret = line.split(" ")
                self.secrets[int(number)] = bytes.fromhex(secret)
                self.identities[int(number)] = pyrage.x25519.Identity.from_str(earlier)
        self.recipients = [line.split(" ", 3)[1:] for line in lines if line.startswith("recipient ")]
        expected = mac(derive(self.secrets[self.epoch], "epoch"), body)
        assert hmac.compare_digest(expected.hex(), code.decode().strip())

    def fingerprint(self) -> str:
        recipient = self.identities[self.epoch].to_public()
        said = f"agentm-fingerprint 1\n{self.id}\n{self.epoch}\n{recipient}\n{self.secrets[self.epoch].hex()}\n"
        return hashlib.sha256(said.encode()).hexdigest()[:40]

    def place(self, key: str) -> Path:
        if self.names is None:
            return self.root / key
        from cryptography.hazmat.primitives.ciphers.aead import AESSIV

        parts = key.split("/")
        names = []
        for number, part in enumerate(parts):
            sealed = AESSIV(self.names).encrypt(part.encode(), ["/".join(parts[:number]).encode()])
            names.append(base64.b32encode(sealed).decode().rstrip("=").lower())
        return self.root.joinpath(*names)

    def read(self, key: str) -> tuple[str, int]:
        payload = pyrage.decrypt(self.place(key).read_bytes(), list(self.identities.values()))
        fields, position = [], 0
        for _ in range(7):
            size = int.from_bytes(payload[position : position + 4], "big")
            fields.append(payload[position + 4 : position + 4 + size])
            position += 4 + size
        assert position == len(payload) - 32
        name, store, epoch, found, revision, _device, text = fields
        number = int.from_bytes(epoch, "big")
        assert name == b"agentm-note/1"
        assert store.decode() == self.id
        assert found.decode() == key
        assert number >= self.oldest
        assert hmac.compare_digest(mac(derive(self.secrets[number], "mac"), payload[:-32]), payload[-32:])
        return text.decode(), int.from_bytes(revision, "big")

    def write(self, key: str, text: str, revision: int, own: str) -> None:
        fields = (
            b"agentm-note/1",
            self.id.encode(),
            self.epoch.to_bytes(8, "big"),
            key.encode(),
            revision.to_bytes(8, "big"),
            hashlib.sha256(own.encode()).digest()[:8],
            text.encode(),
        )
        signed = b"".join(len(field).to_bytes(4, "big") + field for field in fields)
        payload = signed + mac(derive(self.secrets[self.epoch], "mac"), signed)
        armored = pyrage.encrypt(payload, [self.identities[self.epoch].to_public()], armored=True)
        wanted = self.stored_size(len(text.encode()), key)
        place = self.place(key)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(armored + b"\n" * (wanted - len(armored)))

    def stored_size(self, size: int, key: str) -> int:
        payload = size + len(key.encode()) + len(self.id.encode()) + 97
        data = 384 + 16 + payload + 16 * max(1, (payload + 65535) // 65536)
        base64_size = 4 * ((data + 2) // 3)
        return 35 + base64_size + (base64_size + 63) // 64 + 33 + (data - 1) % 3


# ------------------------------------------------------------------------------------------------ against ours

NOTES = {
    "notes/a.md": "a text\n",
    "notes/ünï/日本語.md": "\ufeffbom\r\nand € more",
    "empty.md": "",
    "large.md": "a line of a large note\n" * 10_000,
}


@pytest.fixture(params=["clear", "sealed"])
def names(request):
    return request.param


@pytest.fixture
def second(laptop, names):
    laptop.init("--names", names)
    return lambda: SecondReader(
        laptop.place, (laptop.home / ".local/state/agentm/encryption/identity").read_text().strip()
    )


def test_it_reads_what_agentm_writes(laptop, second):
    store = laptop.store()
    for key, text in NOTES.items():
        store.write(Locator(key), text)
    reader = second()
    assert {key: reader.read(key)[0] for key in NOTES} == NOTES
    assert reader.fingerprint() == laptop.fingerprint()
    assert [kind for kind, _, _ in reader.recipients] == ["device", "recovery"]
    for key, text in NOTES.items():
        assert reader.place(key).stat().st_size == reader.stored_size(len(text.encode()), key)


def test_it_reads_after_the_keys_were_changed(laptop, second):
    laptop.store().write(Locator("a.md"), "text")
    laptop.done("encryption", "rotate", "--yes")
    assert second().read("a.md")[0] == "text"
    assert second().epoch == 2


def test_agentm_reads_what_it_writes(laptop, second):
    laptop.store().write(Locator("a.md"), "from agentm")
    reader = second()
    own = (laptop.home / ".local/state/agentm/encryption/identity.pub").read_text().strip()
    revision = max(reader.read("a.md")[1] + 1, int(time.time() * 1000))
    reader.write("a.md", "from the other", revision, own)
    reader.write("new/b.md", "x" * 5000, revision, own)
    store = laptop.store()
    assert store.read(Locator("a.md")) == "from the other"
    assert store.read(Locator("new/b.md")) == "x" * 5000
    assert store.info(Locator("new/b.md")).size == 5000
    assert laptop.status()["problems"] == {}
