"""A server shows that it honours conditions before anything is written to it, and only once."""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from agentm_bucket import proof
from agentm_kernel import Locator
from agentm_kernel.errors import StorageSelectionError

NOTE = Locator("note.md")


def proofs(server, device):
    return list(Path(server.folder, "state", device, "bucket", "proofs").glob("*.json"))


def test_a_server_that_ignores_conditions_is_refused_with_that_reason(s3rver, prefix):
    store = s3rver.server.open(prefix, device="careful")
    with pytest.raises(StorageSelectionError, match="ignores conditional writes") as caught:
        store.write(NOTE, "one\n")
    assert "lose each other's notes" in caught.value.hint
    assert not store.exists(NOTE)
    assert proofs(s3rver.server, "careful") == []


def test_a_refused_server_can_still_be_read(s3rver, prefix):
    assert s3rver.server.open(prefix).list(Locator()) == []


@pytest.mark.parametrize("verb", ["write", "mkdir", "delete"])
def test_no_verb_that_changes_something_comes_before_the_proof(s3rver, prefix, verb):
    store = s3rver.server.open(prefix)
    arguments = (NOTE, "one\n") if verb == "write" else (NOTE,)
    with pytest.raises(StorageSelectionError, match="ignores conditional writes"):
        getattr(store, verb)(*arguments)


def test_what_a_server_has_shown_is_remembered_on_the_device(moto, prefix):
    moto.server.open(prefix, device="once").write(NOTE, "one\n")
    (record,) = proofs(moto.server, "once")
    shown = json.loads(record.read_text())
    assert shown["deletes_on_condition"] is True
    before = record.stat().st_mtime_ns
    moto.server.open(f"{prefix}-elsewhere", device="once").write(NOTE, "one\n")
    assert record.stat().st_mtime_ns == before


def test_a_record_that_cannot_be_read_is_made_again(moto, prefix):
    moto.server.open(prefix, device="damaged").write(NOTE, "one\n")
    (record,) = proofs(moto.server, "damaged")
    record.write_text("{")
    moto.server.open(prefix, device="damaged").write(NOTE, "two\n")
    assert json.loads(record.read_text())["deletes_on_condition"] is True


def test_the_proof_leaves_nothing_in_the_bucket(moto, prefix):
    store = moto.server.open(prefix, device="tidy")
    store.mkdir(Locator("dir"))
    assert [info.locator.key for info in store.walk(Locator())] == ["dir"]
    assert list(store.foreign_entries(Locator())) == []


def test_reading_needs_no_proof(moto, prefix):
    assert moto.server.open(prefix, device="reader").list(Locator()) == []
    assert proofs(moto.server, "reader") == []


def test_a_bucket_that_is_missing_is_an_error_and_not_an_empty_store(moto, azurite, prefix):
    for server in (moto.server, azurite.server):
        store = server.open(prefix, bucket="no-such-bucket", deadline=4)
        for verb in (store.read, store.list, store.exists, store.info):
            with pytest.raises(OSError, match="no such bucket"):
                verb(NOTE)
        with pytest.raises(OSError, match="no such bucket"):
            store.write(NOTE, "one\n")


@pytest.mark.skipif(os.name == "nt", reason="there are no modes")
def test_what_a_server_has_shown_nobody_else_may_read(tmp_path, monkeypatch):
    monkeypatch.setattr(proof, "_ask", lambda *_: proof.Proof(deletes_on_condition=True))
    client = SimpleNamespace(place=SimpleNamespace(kind="s3", endpoint="https://example.com", bucket="notes"))
    before = os.umask(0)
    try:
        assert proof.proven(client, str(tmp_path / "state"), None).deletes_on_condition
    finally:
        os.umask(before)
    kept = {path.relative_to(tmp_path).as_posix(): oct(path.stat().st_mode & 0o777) for path in tmp_path.rglob("*")}
    assert len(kept) == 4
    assert set(kept.values()) == {"0o700", "0o600"}
