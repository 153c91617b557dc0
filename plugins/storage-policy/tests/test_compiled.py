"""Documents that were parsed before: the same answer, only if whole, and never made by who may not write."""

from __future__ import annotations

import pytest

from agentm_storage_policy import compiled
from agentm_storage_policy.errors import StoragePolicyError

DATA = b"---\nschema: storage/v1\nprovider: dev-local\nconfig: {root: /srv/x}\n---\n"


def parse(desk, data=DATA, file="STORAGE.md", may_write=True):
    return compiled.parse_once(data, file, expected=("storage",), state_dir=str(desk.state), may_write=may_write)


def stored(desk):
    folder = desk.state / "policies"
    return sorted(folder.iterdir()) if folder.exists() else []


def without_parser(monkeypatch):
    def fail(*_arguments, **_options):
        raise AssertionError("parsed again")

    monkeypatch.setattr("agentm_storage_policy.parse.parse_bytes", fail)


def test_the_second_time_is_not_parsed_and_is_the_same(desk, monkeypatch):
    first = parse(desk)
    without_parser(monkeypatch)
    second = parse(desk, file="elsewhere/STORAGE.md")
    assert (second.kind, second.data, second.marks) == (first.kind, first.data, first.marks)
    assert [str(warning) for warning in second.warnings] == [
        str(warning).replace("STORAGE.md", "elsewhere/STORAGE.md", 1) for warning in first.warnings
    ]
    assert first.warnings


def test_another_byte_is_another_document(desk):
    parse(desk)
    parse(desk, DATA + b"prose\n")
    assert len(stored(desk)) == 2


def test_a_copy_that_is_damaged_is_not_used(desk):
    parse(desk)
    (copy,) = stored(desk)
    whole = copy.read_bytes()
    for damaged in (b"", whole[:-1], whole[:70], b"0" * len(whole), whole + b"x"):
        copy.write_bytes(damaged)
        assert parse(desk).data["provider"] == "dev-local"
        assert copy.read_bytes() == whole, "and is made anew"


def test_who_may_not_write_leaves_no_copy(desk):
    parse(desk, may_write=False)
    assert not desk.state.exists()


def test_a_refused_document_is_never_stored(desk):
    with pytest.raises(StoragePolicyError):
        parse(desk, b"---\nprovider: dev-local\n---\n")
    assert stored(desk) == []


def test_copies_do_not_pile_up(desk, monkeypatch):
    monkeypatch.setattr(compiled, "_KEPT", 3)
    for number in range(6):
        parse(desk, DATA + f"{number}\n".encode())
    assert len(stored(desk)) == 3


def test_a_copy_that_cannot_be_stored_is_no_obstacle(desk):
    desk.state.mkdir(parents=True)
    (desk.state / "policies").write_text("in the way")
    assert parse(desk).data["provider"] == "dev-local"
