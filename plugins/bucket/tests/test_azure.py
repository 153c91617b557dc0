"""Azure, with the two kinds of credentials that it takes: a key of the account, and a token for one container."""

from __future__ import annotations

import base64
import hmac
from dataclasses import replace
from urllib.parse import urlencode

import pytest
from bucket_servers import AZURE_ACCOUNT, AZURE_KEY, BUCKET

from agentm_kernel.plugin import ConcurrentModificationError, Locator, content_hash

NAMES = ("a b.md", "grüße.md", "100%.md", "a%20b.md")


def container_token() -> str:
    """What the portal makes: everything, in this container."""
    fields = {"sp": "racwdl", "se": "2099-01-01T00:00:00Z", "spr": "https,http", "sv": "2020-12-06", "sr": "c"}
    lines = ["racwdl", "", fields["se"], f"/blob/{AZURE_ACCOUNT}/{BUCKET}", "", "", "https,http", fields["sv"], "c"]
    text = "\n".join(lines + [""] * 7)
    signature = hmac.digest(base64.b64decode(AZURE_KEY), text.encode(), "sha256")
    return urlencode({**fields, "sig": base64.b64encode(signature).decode()})


@pytest.fixture(params=["account key", "token"])
def server(request, azurite):
    if request.param == "account key":
        return azurite.server
    return replace(azurite.server, environ={"AZURE_STORAGE_SAS_TOKEN": container_token()})


@pytest.mark.parametrize("name", NAMES)
def test_a_note_is_deleted_on_its_condition_whatever_its_name(server, prefix, name):
    store, note = server.open(prefix), Locator(name)
    store.write(note, "two\n")

    with pytest.raises(ConcurrentModificationError):
        store.delete(note, if_match=content_hash("one\n"))
    assert store.read(note) == "two\n"
    store.delete(note, if_match=content_hash("two\n"))
    assert not store.exists(note)
