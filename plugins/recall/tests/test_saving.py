"""Saving and forgetting: nothing is overwritten unasked, nothing is lost, no secret reaches a store."""

from __future__ import annotations

import multiprocessing
from datetime import UTC, datetime

import pytest
from secret_samples import planted
from widgets import PROJECT

from agentm_kernel import Locator
from agentm_kernel.files.store import FileStore
from agentm_kernel.plugin import InvalidContentError, LocatorConflictError, NotFoundError, StorageError
from agentm_recall import Draft, forget_note, parse_note, save_note
from agentm_recall.commands.save import _confidence, _draft
from agentm_recall.saving import slugify
from agentm_recall.supersession import superseded_keys

NOW = datetime(2025, 5, 1, 12, tzinfo=UTC)
LATER = datetime(2025, 6, 1, 12, tzinfo=UTC)


def draft(slug="use-files", body="# Use files\n\nThey last.\n", kind="decision", **fields):
    return Draft(kind, slug, body, **fields)


def stored(store, locator):
    return parse_note(locator.key, store.read(locator))


def test_a_new_note_says_where_it_comes_from(any_store):
    done = save_note(
        any_store,
        draft(tags=("storage",), source="agent", confidence=0.8, confidence_reason="measured"),
        project=PROJECT,
        now=NOW,
    )

    assert (done.locator.key, done.outcome) == ("projects/widgets/decisions/use-files.md", "created")
    assert any_store.read(done.locator) == (
        "---\nkind: decision\nstatus: active\ntags: [storage]\nproject: widgets\ncreated: 2025-05-01T12:00:00+00:00\n"
        "updated: 2025-05-01T12:00:00+00:00\nsource: agent\nconfidence: 0.8\nconfidence_reason: measured\n---\n\n"
        "# Use files\n\nThey last.\n"
    )


@pytest.mark.parametrize(
    ("kind", "project", "key"),
    [
        ("fact", PROJECT, "projects/widgets/facts/a.md"),
        ("fact", None, "personal/facts/a.md"),
        ("always-load", None, "personal/_always-load/a.md"),
        ("always-load", PROJECT, "personal/_always-load/a.md"),
        ("known-issue", Locator("personal-projects/old"), "personal-projects/old/known-issues/a.md"),
    ],
)
def test_the_kind_decides_the_folder(any_store, kind, project, key):
    assert save_note(any_store, draft("a", kind=kind), project=project).locator.key == key


@pytest.mark.parametrize("again", ["# Use files\n\nThey last.\n", "\n# Use files\r\n\r\nThey last.  \r\n\r\n"])
def test_the_same_again_reinforces_what_is_there(any_store, again):
    first = save_note(any_store, draft(tags=("a",)), project=PROJECT, now=NOW)
    text = any_store.read(first.locator)

    done = save_note(any_store, draft(body=again, tags=("b",)), project=PROJECT, now=LATER)

    assert done.outcome == "reinforced"
    assert any_store.read(done.locator) == text.replace("tags: [a]", "tags: [a, b]").replace(
        "updated: 2025-05-01", "updated: 2025-06-01"
    )


def test_another_body_is_refused_until_it_is_meant(any_store):
    first = save_note(any_store, draft(), project=PROJECT, now=NOW)
    text = any_store.read(first.locator)

    with pytest.raises(LocatorConflictError) as refused:
        save_note(any_store, draft(body="Something else"), project=PROJECT)
    assert "--update" in refused.value.hint
    assert any_store.read(first.locator) == text

    done = save_note(any_store, draft(body="Something else"), project=PROJECT, replace=True, now=LATER)
    assert done.outcome == "updated"
    note, body = stored(any_store, done.locator)
    assert (note.created, note.updated[:10], body.strip()) == (
        "2025-05-01T12:00:00+00:00",
        "2025-06-01",
        "Something else",
    )


def test_an_update_keeps_every_other_byte_of_the_front_matter(any_store):
    place = PROJECT.child("decisions/use-files.md")
    any_store.write(place, "---\nmine: {a: 1} # hand-made\nkind: decision\n---\nold\n")

    save_note(any_store, draft(body="new"), project=PROJECT, replace=True, now=NOW)

    assert any_store.read(place) == (
        "---\nmine: {a: 1} # hand-made\nkind: decision\nupdated: 2025-05-01T12:00:00+00:00\n---\n\nnew\n"
    )


def test_a_note_that_was_forgotten_does_not_come_back_by_itself(any_store):
    place = save_note(any_store, draft(), project=PROJECT).locator
    forget_note(any_store, place)

    with pytest.raises(LocatorConflictError, match="deleted"):
        save_note(any_store, draft(), project=PROJECT)

    assert save_note(any_store, draft(), project=PROJECT, replace=True).outcome == "reinforced"
    assert stored(any_store, place)[0].status == "active"


def test_superseding_marks_the_old_note_and_names_it_in_the_new_one(any_store):
    old = save_note(any_store, draft("old"), project=PROJECT).locator

    done = save_note(any_store, draft("new", supersedes=("old",)), project=PROJECT)

    assert done.superseded == (old,)
    assert stored(any_store, old)[0].status == "superseded"
    assert stored(any_store, done.locator)[0].supersedes == ("old",)


def test_what_is_superseded_must_exist_in_the_same_project(any_store):
    save_note(any_store, draft("old"), project=Locator("projects/other"))

    with pytest.raises(NotFoundError, match="old"):
        save_note(any_store, draft("new", supersedes=("old",)), project=PROJECT)
    assert any_store.list(PROJECT) == []


def test_a_personal_note_is_not_superseded_by_one_of_a_project_and_the_refusal_says_by_what(store):
    save_note(store, draft("old"), project=None)

    with pytest.raises(NotFoundError) as refused:
        save_note(store, draft("new", supersedes=("old",)), project=PROJECT)
    assert "is for every project: what is saved with `--personal` can replace it" in (refused.value.hint or "")


def test_an_ambiguous_name_is_refused_with_the_candidates(any_store):
    save_note(any_store, draft("same", kind="decision"), project=PROJECT)
    save_note(any_store, draft("same", kind="fact"), project=PROJECT)

    with pytest.raises(StorageError, match="decisions/same.*facts/same"):
        save_note(any_store, draft("new", supersedes=("same",)), project=PROJECT)

    done = save_note(any_store, draft("new", supersedes=("facts/same",)), project=PROJECT)
    assert [locator.key for locator in done.superseded] == ["projects/widgets/facts/same.md"]


def test_a_note_cannot_supersede_itself(any_store):
    save_note(any_store, draft(), project=PROJECT)

    with pytest.raises(InvalidContentError, match="itself"):
        save_note(any_store, draft(supersedes=("use-files",)), project=PROJECT)


def test_forgetting_flips_the_status_and_deletes_nothing(any_store):
    place = save_note(any_store, draft(), project=PROJECT, now=NOW).locator
    text = any_store.read(place)

    assert forget_note(any_store, place, now=LATER).outcome == "forgotten"
    assert any_store.read(place) == text.replace("status: active", "status: deleted").replace(
        "updated: 2025-05-01", "updated: 2025-06-01"
    )
    assert forget_note(any_store, place).outcome == "unchanged"


def test_forgetting_a_note_written_by_hand_keeps_its_text(any_store):
    place = any_store.write(PROJECT.child("facts/hand.md"), "Just a line\r\n")

    forget_note(any_store, place, now=NOW)

    assert (
        any_store.read(place)
        == "---\r\nstatus: deleted\r\nupdated: 2025-05-01T12:00:00+00:00\r\n---\r\nJust a line\r\n"
    )


def test_a_note_that_cannot_be_edited_is_refused_and_stays(any_store):
    place = any_store.write(PROJECT.child("facts/odd.md"), "---\nstatus: [open\n---\ntext\n")

    with pytest.raises(InvalidContentError, match="not YAML"):
        forget_note(any_store, place)
    assert any_store.read(place) == "---\nstatus: [open\n---\ntext\n"


class Untouchable:
    """A store that must not be asked for anything."""

    def __getattribute__(self, name):
        raise AssertionError(f"the store was asked for {name}")


@pytest.mark.parametrize("kind", list(planted()))
def test_a_secret_is_refused_before_the_store_is_asked_for_anything(kind):
    body = f"# Deploy\n\nUse this:\n{planted()[kind]}\n"

    with pytest.raises(InvalidContentError, match="line 4"):
        save_note(Untouchable(), draft(body=body), project=PROJECT)


@pytest.mark.parametrize("field", ["tags", "source", "confidence_reason"])
def test_a_secret_in_a_field_is_refused_too(field):
    secret = planted()["GitHub token"].split()[-1]
    value = (secret,) if field == "tags" else secret

    with pytest.raises(InvalidContentError, match="secret"):
        save_note(Untouchable(), draft(**{field: value}), project=PROJECT)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"kind": "thought"}, "kinds"),
        ({"slug": "Use Files"}, "use-files"),
        ({"slug": "../escape"}, "escape"),
        ({"slug": ""}, "few words"),
        ({"slug": "a" * 81}, "at most"),
        ({"body": " \n"}, "no text"),
        ({"confidence": 1.5}, "between 0 and 1"),
        ({"tags": ("two\nlines",)}, "one short line"),
    ],
)
def test_what_makes_no_note_is_refused_before_the_store_is_asked(wrong, said):
    with pytest.raises(InvalidContentError) as refused:
        save_note(Untouchable(), draft(**wrong), project=PROJECT)

    assert said in f"{refused.value.message} {refused.value.hint}"


@pytest.mark.parametrize(
    ("text", "slug"), [("Use Files!", "use-files"), ("  a  b ", "a-b"), ("Ünï code", "ünï-code"), ("...", "")]
)
def test_a_slug_is_words_with_hyphens(text, slug):
    assert slugify(text) == slug


def _save_tagged(root, number):
    save_note(FileStore(root, create_root=True), draft(tags=(f"tag-{number}",)), project=PROJECT)


def test_eight_processes_saving_one_fact_lose_none_of_their_tags(tmp_path):
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=_save_tagged, args=(tmp_path, number)) for number in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)

    assert [worker.exitcode for worker in workers] == [0] * 8
    note, _ = stored(FileStore(tmp_path), PROJECT.child("decisions/use-files.md"))
    assert set(note.tags) == {f"tag-{number}" for number in range(8)}


# ------------------------------------------------------------------------------------------------ own front matter


def test_a_note_that_was_printed_and_edited_keeps_one_front_matter(any_store):
    place = save_note(any_store, draft(tags=("old",)), project=PROJECT, now=NOW).locator
    printed = any_store.read(place)

    again = save_note(any_store, draft(body=printed), project=PROJECT, now=LATER)
    assert again.outcome == "reinforced"
    edited = printed.replace("They last.", "They stay.").replace("tags: [old]", "tags: [old, new]\nmood: calm")
    with pytest.raises(LocatorConflictError):
        save_note(any_store, draft(body=edited), project=PROJECT, now=LATER)
    done = save_note(any_store, draft(body=edited), project=PROJECT, replace=True, now=LATER)

    assert done.outcome == "updated"
    assert any_store.read(place) == (
        "---\nkind: decision\nstatus: active\ntags: [old, new]\nproject: widgets\n"
        "created: 2025-05-01T12:00:00+00:00\nupdated: 2025-06-01T12:00:00+00:00\nsource: agent\nmood: calm\n---\n\n"
        "# Use files\n\nThey stay.\n"
    )


def test_only_an_edited_field_is_an_update_too(any_store):
    place = save_note(any_store, draft(), project=PROJECT, now=NOW).locator
    edited = any_store.read(place).replace("source: agent", "source: operator")

    assert save_note(any_store, draft(body=edited), project=PROJECT, replace=True, now=LATER).outcome == "updated"
    assert stored(any_store, place)[0].source == "operator"
    assert any_store.read(place).count("---\n") == 2


def test_a_new_note_keeps_the_front_matter_that_it_brings(any_store):
    body = "---\n# mine\ntags:\n  - a\nkind: fact\nmood: calm\ncreated: 2020-01-01\n---\nText.\n"
    place = save_note(any_store, draft(body=body, tags=("x",)), project=PROJECT, now=NOW).locator

    note, text = stored(any_store, place)
    assert any_store.read(place).startswith(
        "---\n# mine\ntags:\n  - a\n  - x\nkind: decision\nmood: calm\ncreated: 2020-01-01\n"
    )
    assert any_store.read(place).count("---\n") == 2
    assert (note.kind, note.status, note.created, text) == ("decision", "active", "2020-01-01", "Text.\n")
    assert set(note.tags) == {"a", "x"}


def test_what_stands_between_two_rules_is_not_front_matter(any_store):
    body = "---\nJust a sentence\n---\nMore.\n"
    place = save_note(any_store, draft(body=body), project=PROJECT, now=NOW).locator

    assert stored(any_store, place)[1].endswith(body)


def test_front_matter_that_is_broken_is_refused_and_changes_nothing(any_store):
    place = save_note(any_store, draft(), project=PROJECT, now=NOW).locator
    before = any_store.read(place)

    for body in ("---\ntags: [a\n---\nText.\n", "---\ntags: a\n---\n\n"):
        with pytest.raises(InvalidContentError):
            save_note(any_store, draft(body=body), project=PROJECT, replace=True)
    assert any_store.read(place) == before


def test_a_note_that_was_replaced_is_current_again_only_if_it_replaces_the_other_in_turn(any_store):
    for slug, replaced in (("a", ()), ("b", ("a",)), ("c", ("b",))):
        save_note(any_store, draft(slug, f"Fact {slug}.\n", supersedes=replaced), project=PROJECT, now=NOW)
    before = any_store.read(Locator("projects/widgets/decisions/a.md"))
    for replaced in ((), ("c",)):
        with pytest.raises(
            LocatorConflictError, match="was replaced by 'projects/widgets/decisions/b.md'"
        ) as refused:
            save_note(any_store, draft("a", "New.\n", supersedes=replaced), project=PROJECT, replace=True, now=LATER)
        assert "--supersedes b" in refused.value.hint
    assert any_store.read(Locator("projects/widgets/decisions/a.md")) == before
    done = save_note(any_store, draft("a", "New.\n", supersedes=("b", "c")), project=PROJECT, replace=True, now=LATER)
    assert done.outcome == "updated"
    notes = [stored(any_store, Locator(f"projects/widgets/decisions/{slug}.md"))[0] for slug in "abc"]
    assert superseded_keys(notes) == {notes[1].key, notes[2].key}


def test_a_forgotten_note_is_current_again_only_if_no_other_has_replaced_it(any_store):
    first = save_note(any_store, draft("a"), project=PROJECT)
    save_note(any_store, draft("b", "Fact b.\n", supersedes=("a",)), project=PROJECT)
    forget_note(any_store, first.locator)
    with pytest.raises(LocatorConflictError, match="was replaced by 'projects/widgets/decisions/b.md'"):
        save_note(any_store, draft("a"), project=PROJECT, replace=True)


def test_a_note_whose_successor_was_forgotten_is_current_again(any_store):
    save_note(any_store, draft("a"), project=PROJECT)
    successor = save_note(any_store, draft("b", "Fact b.\n", supersedes=("a",)), project=PROJECT)
    forget_note(any_store, successor.locator)
    assert save_note(any_store, draft("a"), project=PROJECT, replace=True).outcome == "reinforced"


def test_an_offer_is_saved_with_everything_that_it_says():
    offer = {"kind": "fact", "slug": "port", "body": "443", "tags": ["net", 1], "supersedes": ["host"]}
    more = {"source": "codex", "confidence": "0.5", "confidence_reason": "tried"}
    assert _draft({**offer, **more}) == Draft(
        "fact", "port", "443", ("net", "1"), "codex", 0.5, confidence_reason="tried", supersedes=("host",)
    )
    plain = _draft({"kind": "fact", "slug": "port", "body": "443"})
    assert (plain.tags, plain.source, plain.confidence, plain.supersedes) == ((), "agent", None, ())


@pytest.mark.parametrize(
    ("given", "read"), [(None, None), (1, 1.0), ("0.25", 0.25), (" quite sure ", "quite sure"), (" ", None)]
)
def test_a_confidence_is_a_number_or_words(given, read):
    assert _confidence(given) == read


@pytest.mark.parametrize("given", [True, [0.5], {}])
def test_what_is_no_confidence_is_refused(given):
    with pytest.raises(TypeError, match="a number or words"):
        _confidence(given)
