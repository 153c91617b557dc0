"""The format of notes for plugins that write many: as `save` writes them, by the quick way or the careful one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agentm_kernel.plugin import AgentmError, Device, InvalidContentError, Locator
from agentm_recall import note_format
from agentm_recall.note_format import FORMAT
from agentm_recall.rendering import new_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conftest import Home

    from agentm_kernel.plugin import StorageBackend


@pytest.mark.parametrize(
    "fields",
    [
        {"kind": "fact", "tags": ["a", "b c"], "title": "Plain words"},
        {"title": "a: b"},
        {"title": " spaced "},
        {"title": "x", "tags": ["a, b"]},
        {"title": "yes", "tags": []},
        {"title": "12"},
        {"title": "two\nlines"},
        {},
    ],
    ids=str,
)
def test_a_note_is_spelled_as_saving_spells_it_and_read_again(fields: dict[str, str | Sequence[str]]) -> None:
    text = FORMAT.render(fields, "The text.\n")
    assert text == new_text(fields, "The text.\n")
    read, body, problem = FORMAT.parse(text)
    assert (read, body.lstrip("\n"), problem) == (fields, "The text.\n", None)


def test_plain_fields_are_written_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> str:
        raise AssertionError("the library was asked")

    monkeypatch.setattr(note_format, "new_text", refused)
    monkeypatch.setattr(note_format, "with_fields", refused)
    text = FORMAT.render({"kind": "fact", "tags": ["a", "b"]}, "Text.\n")
    assert text == "---\nkind: fact\ntags: [a, b]\n---\n\nText.\n"
    more = FORMAT.with_fields("a.md", text, {"origin": "a.md", "seen": ["here", "there"]})
    assert more == "---\nkind: fact\ntags: [a, b]\norigin: a.md\nseen: [here, there]\n---\n\nText.\n"
    with pytest.raises(AssertionError, match="the library was asked"):
        FORMAT.with_fields("a.md", text, {"kind": "decision"})


@pytest.mark.parametrize(
    ("text", "changes", "wanted"),
    [
        ("---\r\nkind: fact\r\n---\r\nT.", {"a": "b"}, "---\r\nkind: fact\r\na: b\r\n---\r\nT."),
        ("---\nkind: fact\n---\nT.", {"kind": "decision"}, "---\nkind: decision\n---\nT."),
        ("---\nkind: fact\n---\nT.", {"a": "b: c"}, '---\nkind: fact\na: "b: c"\n---\nT.'),
        ("---\nkind: fact # sure\n---\nT.", {"a": "b"}, "---\nkind: fact # sure\na: b\n---\nT."),
        ("---\ntags:\n- a\n---\nT.", {"a": "b"}, "---\ntags:\n- a\na: b\n---\nT."),
        ("T.", {"a": "b"}, "---\na: b\n---\nT."),
    ],
)
def test_fields_are_set_and_no_other_byte_changes(text: str, changes: dict[str, str], wanted: str) -> None:
    assert FORMAT.with_fields("a.md", text, changes) == wanted


def test_what_cannot_be_changed_is_refused() -> None:
    with pytest.raises(InvalidContentError):
        FORMAT.with_fields("a.md", "---\nkind: [open\n---\nT.", {"a": "b"})


def test_a_text_without_fields_is_all_text_and_one_that_is_broken_says_why() -> None:
    assert FORMAT.parse("Just text.\n") == ({}, "Just text.\n", None)
    fields, body, problem = FORMAT.parse("---\nkind: [open\n---\nText.\n")
    assert (fields, body) == ({}, "Text.\n")
    assert "not YAML" in str(problem)


def test_places_names_and_kinds_are_those_of_saving() -> None:
    assert FORMAT.place("fact", "a", Locator("projects/p")) == Locator("projects/p/facts/a.md")
    assert FORMAT.place("fact", "a", None) == Locator("personal/facts/a.md")
    assert FORMAT.slug("The Port!") == "the-port"
    assert [FORMAT.is_note(key) for key in ("projects/p/facts/a.md", "_meta/a.md", "a.txt")] == [True, False, False]
    assert FORMAT.kind("projects/p/decisions/a.md") == "decision"
    assert FORMAT.with_body("---\na: b\n---\nOld.\n", "New.\n") == "---\na: b\n---\n\nNew.\n"


OLD, NEW = "projects/p/facts/old.md", "projects/p/facts/new.md"
TEXTS = {OLD: "Old.\n", NEW: "---\nsupersedes: [old]\n---\nNew.\n"}


def test_what_is_replaced_among_notes_is_told() -> None:
    assert FORMAT.replaced(TEXTS) == {OLD}
    assert FORMAT.replaced({OLD: TEXTS[OLD]}) == set()


def test_notes_that_would_hide_one_another_are_told_with_who_hides_them() -> None:
    one, other = {OLD: TEXTS[OLD]}, {NEW: TEXTS[NEW]}
    assert FORMAT.hidden_together(one, other) == FORMAT.hidden_together(other, one) == {OLD: NEW}
    assert FORMAT.hidden_together(TEXTS, {}) == {}, "they are together already"
    assert FORMAT.hidden_together({OLD: "---\nstatus: deleted\n---\nOld.\n"}, other) == {}
    assert FORMAT.hidden_together(one, {"_meta/new.md": TEXTS[NEW]}) == {}, "that is no note"


def test_a_project_is_found_by_its_name_and_may_be_new(home: Home, store: StorageBackend) -> None:
    device = Device.now({"HOME": str(home.path)})
    home.note("personal-projects/old/facts/a.md", "A.\n")
    for name, folder in (("old", "personal-projects/old"), ("new", "projects/new")):
        backend, found = FORMAT.named_project(device, name, read_only=True)
        assert (backend.describe(), found) == (store.describe(), Locator(folder))
    backend, _ = FORMAT.named_project(device, "old", read_only=False)
    backend.write(Locator("projects/p/facts/a.md"), "A.\n")


def test_a_personal_note_is_refused_where_the_store_is_not_the_operators_own(
    home: Home, store: StorageBackend
) -> None:
    FORMAT.check_personal(Device.now({"HOME": str(home.path)}))
    folder = home.path / "team"
    folder.mkdir()
    assert home.run("store", "add", "team", "device-local", f"root={folder}").returncode == 0
    with pytest.raises(AgentmError, match="lives in the default store, and not in 'team'"):
        FORMAT.check_personal(Device.now({"HOME": str(home.path)}).of_store("team"))
