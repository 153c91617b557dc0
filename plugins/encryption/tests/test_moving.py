"""Notes that move between stores of which one is encrypted: none comes to lie in plain where it must not."""

from __future__ import annotations

import pytest

from agentm_kernel.plugin import Sealed


@pytest.fixture
def vault(tmp_path):
    folder = tmp_path / "vault"
    folder.mkdir()
    return folder


def readable(folder):
    return [path for path in folder.rglob("*.md") if "-----BEGIN AGE" not in path.read_text()]


@pytest.mark.parametrize("names", ["clear", "sealed"])
def test_plain_notes_are_sealed_on_their_way_into_an_encrypted_store(laptop, note, vault, names):
    laptop.store().write(note, "the text")
    laptop.done("vault", "init", str(vault), "--use")
    laptop.init("--names", names)
    laptop.done("migrate", "--from", "device-local", "--to", "vault", "--yes")
    store = laptop.store()
    assert store.facet(Sealed) is not None
    assert store.read(note) == "the text"
    assert readable(vault) == []
    laptop.done("encryption", "status")


@pytest.mark.parametrize(
    "arguments", [("vault", "init", "{vault}", "--take-along"), ("migrate", "--to", "vault", "--yes")]
)
def test_an_encrypted_store_is_not_copied_in_plain_and_the_hint_leads_there(laptop, note, vault, arguments):
    laptop.store().write(note, "the text")
    laptop.init()
    if arguments[0] == "migrate":
        laptop.done("config", "set", "storage.backend", "device-local")
        laptop.done("config", "set", "plugins.vault.vault_path", str(vault))
    refused = laptop.refused(*(word.format(vault=vault) for word in arguments))
    assert "would get its notes in plain" in refused
    assert readable(vault) == []
    assert laptop.store().read(note) == "the text"

    laptop.done("encryption", "decrypt", "--yes")
    laptop.done("vault", "init", str(vault), "--use")
    laptop.init()
    laptop.done("migrate", "--from", "device-local", "--to", "vault", "--yes")
    assert laptop.store().read(note) == "the text"
    assert readable(vault) == []


def test_plain_notes_are_not_merged_into_an_encrypted_store_without_its_layer(laptop, note, vault):
    laptop.store().write(note, "the text")
    laptop.done("vault", "init", str(vault), "--use")
    laptop.init()
    laptop.done("config", "unset", "wrappers")
    refused = laptop.refused("migrate", "--from", "device-local", "--to", "vault", "--merge", "--yes")
    assert "is encrypted, and would get the notes of device-local in plain" in refused
    laptop.done("config", "set", "storage.backend", "device-local")
    refused = laptop.refused("migrate", "--to", "vault", "--merge", "--yes")
    assert "is encrypted, and would get the notes of device-local in plain" in refused
    assert readable(vault) == []
