"""`read_only: true`: a write fails before the backend is reached, by whichever way it comes."""

from __future__ import annotations

import json

import pytest
from tests.layer_rules import Recording

from agentm_kernel import Locator, select_backend
from agentm_kernel.plugin import Opening, PersonalSpace, StorageReadOnlyError
from agentm_storage_policy.gate import AccessRules, PolicyGate

POLICY = "provider: recorder\nconfig: {{place: {place}}}\nread_only: {read_only}\n"


def writes(store, note):
    yield lambda: store.write(note, "x\n")
    yield lambda: store.write(note, "x\n", if_match="0" * 64)
    yield lambda: store.mkdir(note)
    yield lambda: store.delete(note)


@pytest.mark.rule(5, "refused")
def test_no_write_reaches_the_backend(desk, recorders, note):
    store = desk.open(POLICY.format(place=desk.home / "store", read_only="true"))
    (recorder, *_), *_ = recorders
    recorder.calls.clear()
    for write in writes(store, note):
        with pytest.raises(StorageReadOnlyError) as caught:
            write()
        assert caught.value.code == "storage_read_only"
        assert "read_only" in caught.value.hint
    assert recorder.calls == [], "not one call of any verb"
    assert not (desk.home / "store").exists()


@pytest.mark.rule(5, "accepted")
def test_reading_is_as_ever(desk, recorders, note):
    (desk.home / "store").mkdir()
    (desk.home / "store" / "plan.md").write_text("text\n")
    store = desk.open(POLICY.format(place=desk.home / "store", read_only="true"))
    assert store.read(note) == "text\n"
    assert store.list(Locator()) == [note]


@pytest.mark.rule(5, "accepted")
def test_without_it_writes_arrive(desk, recorders, note):
    store = desk.open(POLICY.format(place=desk.home / "store", read_only="false"))
    store.write(note, "text\n")
    assert "write" in recorders[0][0].calls


@pytest.mark.rule(5, "refused")
def test_a_selected_store_is_not_touched_either_not_even_for_its_identity(desk, recorders, note):
    path = desk.write("STORAGE.md", POLICY.format(place=desk.home / "store", read_only="true"))
    config = desk.home / ".config" / "agentm" / ".agentm-config.json"
    config.parent.mkdir(parents=True)
    config.write_text(json.dumps({"storage.policy": str(path)}))
    store = select_backend(environ=desk.environ)
    (recorder, *_), *_ = recorders
    recorder.calls.clear()
    for write in writes(store, note):
        with pytest.raises(StorageReadOnlyError):
            write()
    assert recorder.calls == []


@pytest.mark.rule(5, "refused")
def test_the_personal_space_beside_the_store_is_not_written_either(note):
    recording = Recording()
    gate = PolicyGate(recording.store, AccessRules("p", True, None, Opening()), counts=True)
    with pytest.raises(StorageReadOnlyError):
        gate.facet(PersonalSpace).write_personal(note, "x\n", authorization="the operator's word")
    assert recording.facet_calls[PersonalSpace].seen == []
