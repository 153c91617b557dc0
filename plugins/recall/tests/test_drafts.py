"""Drafts, proposals and names in detail: what is filled in, what is kept, and what a name can mean."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from agentm_devkit.conformance.memory import MemoryBackend
from agentm_kernel.plugin import AgentmError, ConfigError, InvalidContentError, Locator, NotFoundError, StorageError
from agentm_recall.inbox import (
    APPEND,
    REPLACE,
    SAVE,
    Proposal,
    accept,
    days_of,
    is_expired,
    kinds_to_approve,
    look,
    pending,
    proposal_of,
    propose,
    refuse_expired,
)
from agentm_recall.layout import holds_notes, is_note, kind_by_place, kind_folder, project_folder, shelf_of
from agentm_recall.lookup import find_note
from agentm_recall.note import is_date, parse_note
from agentm_recall.saving import Draft, check_slug, forget_note, save_note, with_given_fields

HOME = Locator("projects/widgets")
PORT = HOME.child("facts", "port.md")
DRAFT = Draft("fact", "port", "It is 443.\n")


class Settings:
    def __init__(self, **values: object) -> None:
        self._values = values

    def get(self, key: str) -> Any:
        return self._values.get(key.replace(".", "_"))


def ago(hours: int) -> str:
    return (datetime.now(UTC) - timedelta(hours=hours)).isoformat(timespec="seconds")


# ------------------------------------------------------------------------------------------------ drafts


@pytest.mark.parametrize(
    ("slug", "hint"),
    [
        ("Bad Slug", "try 'bad-slug'"),
        ("a" * 81, f"try '{'a' * 80}'"),
        ("a" * 79 + "-b", f"try '{'a' * 79}'"),
        ("--", "name the fact in a few words with hyphens between them"),
        ("", "name the fact in a few words with hyphens between them"),
    ],
)
def test_a_name_that_is_none_is_refused_with_one_that_is(slug: str, hint: str) -> None:
    with pytest.raises(InvalidContentError, match="at most 80") as refused:
        check_slug(slug)
    assert refused.value.hint == hint
    check_slug("a" * 80)


def test_what_is_said_beside_a_text_is_merged_with_what_stands_above_it() -> None:
    plain = replace(DRAFT, tags=("b", "a"), source="web", supersedes=("x",), confidence=0.5, stale_after="2030-01-01")
    assert with_given_fields(DRAFT, PORT) == DRAFT.body
    assert with_given_fields(plain, PORT) == (
        "---\nconfidence: 0.5\nstale_after: 2030-01-01\ntags: [b, a]\nsupersedes: [x]\nsource: web\n---\n\n"
        "It is 443.\n"
    )
    own = replace(plain, body="---\ntags: a\nsupersedes: [y]\nmood: calm\n---\nIt is 443.\n")
    text = with_given_fields(own, PORT)
    note, body = parse_note(PORT.key, text)
    assert (note.tags, note.supersedes, body) == (("a", "b"), ("y", "x"), "It is 443.\n")
    assert "mood: calm\n" in text


def test_tags_that_a_text_brings_and_tags_that_are_given_are_both_kept() -> None:
    memory = MemoryBackend()
    draft = replace(DRAFT, body="---\ntags: a\nstatus: active\n---\nIt is 443.\n", tags=("b", "a"))
    place = save_note(memory, draft, project=HOME).locator
    assert parse_note(place.key, memory.read(place))[0].tags == ("a", "b")


def test_a_second_saving_adds_and_takes_nothing_back() -> None:
    memory = MemoryBackend()
    for slug in ("old", "older"):
        save_note(memory, Draft("fact", slug, f"The {slug}.\n"), project=HOME)
    save_note(memory, replace(DRAFT, tags=("a",), supersedes=("old",), confidence=0.5), project=HOME)
    done = save_note(memory, replace(DRAFT, tags=("b",), supersedes=("older",), confidence="sure"), project=HOME)
    note, _ = parse_note(PORT.key, memory.read(PORT))
    assert (done.outcome, note.tags, note.supersedes) == ("reinforced", ("a", "b"), ("old", "older"))
    assert "confidence: sure\n" in memory.read(PORT)
    assert [key.key for key in done.superseded] == ["projects/widgets/facts/older.md"]


def test_a_text_that_says_that_it_is_dead_is_not_saved_unless_the_note_says_so_already() -> None:
    memory = MemoryBackend()
    for status in ("deleted", "Superseded"):
        with pytest.raises(InvalidContentError, match=f"says that it is {status.lower()}"):
            save_note(memory, replace(DRAFT, body=f"---\nstatus: {status}\n---\nIt is 443.\n"), project=HOME)
    assert memory.list(HOME) == []


def test_a_note_that_is_gone_is_not_forgotten() -> None:
    with pytest.raises(NotFoundError, match=f"'{PORT}' is gone"):
        forget_note(MemoryBackend(), PORT)


def test_a_personal_note_replaces_personal_ones_and_what_is_always_loaded_does_too() -> None:
    memory = MemoryBackend()
    old = save_note(memory, Draft("fact", "old", "Old.\n"), project=None).locator
    save_note(memory, Draft("fact", "old", "Of the project.\n"), project=HOME)
    always = save_note(memory, Draft("always-load", "new", "New.\n", supersedes=("old",)), project=HOME)
    assert always.superseded == (old,)
    assert "project:" not in memory.read(always.locator)


# ------------------------------------------------------------------------------------------------ proposals


def test_a_proposal_says_what_would_be_done_and_who_wants_it() -> None:
    memory = MemoryBackend()
    new = proposal_of(memory, DRAFT, HOME)
    assert (new.action, new.target, new.kind, new.body, new.expect, new.by) == (
        SAVE,
        PORT.key,
        "fact",
        DRAFT.body,
        "",
        "agent",
    )
    assert proposal_of(memory, replace(DRAFT, source="web"), HOME, by="codex").by == "codex"
    assert proposal_of(memory, DRAFT, HOME, replace=True).action == SAVE, "there is nothing to replace"
    save_note(memory, DRAFT, project=HOME)
    other = replace(DRAFT, body="It is 80.\n", source="web")
    changed = proposal_of(memory, other, HOME, replace=True)
    assert (changed.action, changed.by, len(changed.expect)) == (REPLACE, "web", 64)


@pytest.mark.parametrize(
    ("made", "days", "is_over"),
    [
        (30 * 24 - 1, None, False),
        (30 * 24 + 1, None, True),
        (30 * 24 + 1, "often", True),
        (7 * 24 - 1, 7, False),
        (7 * 24 + 1, 7, True),
        ("some day", 7, False),
        ("", 7, False),
    ],
)
def test_a_proposal_waits_for_thirty_days_or_as_long_as_is_said(made: str | int, days: object, is_over: bool) -> None:
    moment = ago(made) if isinstance(made, int) else made
    proposal = Proposal(SAVE, PORT.key, "fact", "Text.\n", made=moment, name="it")
    config = Settings(inbox_days=days)
    assert is_expired(proposal, config) is is_over
    if is_over:
        with pytest.raises(InvalidContentError, match=f"'it' has waited more than {days_of(config)} days") as refused:
            refuse_expired(proposal, config)
        assert "or raise inbox.days" in str(refused.value.hint)
    else:
        refuse_expired(proposal, config)


def test_a_proposal_is_a_file_that_a_person_can_read() -> None:
    memory = MemoryBackend()
    target = f"projects/widgets/facts/{'n' * 70}.md"
    name = propose(memory, Proposal(SAVE, target, "fact", "Text.\n", by="codex"), Settings())
    assert re.fullmatch(r"\d{8}-\d{6}-n{60}-[0-9a-f]{4}", name)
    text = memory.read(Locator(f"_inbox/{name}.md"))
    assert re.fullmatch(
        rf"---\nproposal: save\ntarget: {target}\nkind: fact\nby: codex\nmade: [-0-9T:+]{{25}}\n---\n\nText.\n", text
    )


def test_proposals_that_differ_in_anything_both_wait() -> None:
    memory = MemoryBackend()
    one = Proposal(APPEND, PORT.key, "fact", "Text.\n", expect="a")
    for other in (one, replace(one, action=REPLACE), replace(one, expect="b"), replace(one, body="More.\n")):
        propose(memory, other, Settings())
    assert len(pending(memory)) == 4
    propose(memory, replace(one, body="\nText.\n\n", by="another"), Settings())
    assert len(pending(memory)) == 4, "margins and names make no other change"


def test_what_is_settled_or_of_another_version_does_not_wait() -> None:
    memory = MemoryBackend()
    for action in ("accepted", "rejected", "dance"):
        memory.write(Locator(f"_inbox/{action}.md"), f"---\nproposal: {action}\ntarget: {PORT.key}\n---\n\nText.\n")
    memory.write(Locator("_inbox/half.md"), "---\nproposal: save\n---\n\nText.\n")
    memory.write(Locator("_inbox/list.md"), "---\nproposal: save\ntarget: [a, b]\n---\n\nText.\n")
    found, problems = look(memory)
    assert found == []
    assert [(key, why.rpartition(": ")[2]) for key, why in problems] == [
        ("_inbox/half.md", "it does not say what it is"),
        ("_inbox/list.md", "it does not say what it is"),
    ]


def test_a_kind_that_does_not_belong_at_the_place_is_refused() -> None:
    memory = MemoryBackend()
    memory.write(Locator("_inbox/odd.md"), f"---\nproposal: save\ntarget: {PORT.key}\nkind: decision\n---\n\nText.\n")
    (odd,) = pending(memory)
    with pytest.raises(InvalidContentError, match=f"a decision is not saved at '{PORT}'") as refused:
        accept(memory, odd)
    assert refused.value.hint == "reject the proposal"


@pytest.mark.parametrize("value", [["all"], ["fact", "index"], (), None, "all"])
def test_the_kinds_to_approve_are_a_list_of_kinds(value: object) -> None:
    wanted = tuple(value) if isinstance(value, (list, tuple)) else ()
    assert kinds_to_approve(Settings(capture_approve=value)) == wanted


def test_a_misspelt_kind_is_an_error_that_names_them() -> None:
    with pytest.raises(ConfigError, match="capture.approve names 'facts'") as refused:
        kinds_to_approve(Settings(capture_approve=["fact", "facts"]))
    assert "capture.approve all`, or with some of always-load,convention" in str(refused.value.hint)


# ------------------------------------------------------------------------------------------------ names and places


@pytest.fixture
def shelves() -> MemoryBackend:
    memory = MemoryBackend()
    for number in range(9):
        memory.write(HOME.child("facts", f"heron-{number}.md"), "Text.\n")
    memory.write(Locator("personal/facts/crane.md"), "Text.\n")
    return memory


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("heron-3", "projects/widgets/facts/heron-3.md"),
        ("facts/heron-3.md", "projects/widgets/facts/heron-3.md"),
        ("ON-3", "projects/widgets/facts/heron-3.md"),
        ("n-3.md", "projects/widgets/facts/heron-3.md"),
        ("cra", "personal/facts/crane.md"),
    ],
)
def test_a_name_means_one_note(shelves: MemoryBackend, name: str, key: str) -> None:
    assert find_note(shelves, name, [HOME, Locator("personal")]).key == key


def test_a_part_of_two_letters_means_no_note(shelves: MemoryBackend) -> None:
    with pytest.raises(NotFoundError, match="there is no note '-3' in projects/widgets or personal") as refused:
        find_note(shelves, "-3", [HOME, Locator("personal")])
    assert refused.value.hint == "`agentm notes list` shows the notes"
    with pytest.raises(NotFoundError, match="in the store") as refused:
        find_note(shelves, "heron-10", [Locator()])
    assert str(refused.value.hint).count(" or ") == 2, "three that are near are named"


def test_a_part_that_many_have_names_eight_of_them(shelves: MemoryBackend) -> None:
    with pytest.raises(StorageError, match="'heron' could be any of: ") as refused:
        find_note(shelves, "heron", [HOME])
    assert refused.value.message.endswith("heron-7 and 1 more")
    assert refused.value.message.count("heron-") == 8
    shelves.delete(HOME.child("facts", "heron-8.md"))
    with pytest.raises(StorageError) as refused:
        find_note(shelves, "heron", [HOME])
    assert refused.value.message.endswith("heron-7")


@pytest.mark.parametrize(
    ("key", "is_one"),
    [
        ("a.md", True),
        ("a.txt", False),
        (".a.md", False),
        ("x/.a.md", False),
        ("x/.git/a.md", False),
        ("_inbox/a.md", False),
        ("projects/p/_harness/a.md", False),
        ("_meta/a.md", False),
        ("projects/p/_index.md", True),
    ],
)
def test_a_note_is_markdown_that_is_neither_state_nor_hidden(key: str, is_one: bool) -> None:
    assert is_note(key) is is_one
    if "/" in key:
        assert holds_notes(key.rpartition("/")[0]) is (is_one or key == "x/.a.md")
    assert holds_notes("")


@pytest.mark.parametrize(
    ("key", "folder", "shelf", "kind"),
    [
        ("personal/facts/a.md", "facts", "facts", "fact"),
        ("personal/a.md", "", "", "note"),
        ("personal/_always-load/a.md", "_always-load", "personal/_always-load", "always-load"),
        ("projects/p/decisions/deep/a.md", "decisions", "decisions", "decision"),
        ("projects/p/a.md", "", "", "note"),
        ("projects/p/_index.md", "_index.md", "_index.md", "index"),
        ("projects/p/known-issues/a.md", "known-issues", "known-issues", "known-issue"),
    ],
)
def test_the_place_of_a_note_says_its_kind(key: str, folder: str, shelf: str, kind: str) -> None:
    assert (kind_folder(key), shelf_of(key), kind_by_place(key)) == (folder, shelf, kind)


def test_a_project_is_at_its_older_place_only_where_that_is_all_there_is() -> None:
    memory = MemoryBackend()
    assert project_folder(memory, "p") == Locator("projects/p")
    memory.write(Locator("personal-projects/p/facts/a.md"), "A.\n")
    assert project_folder(memory, "p") == Locator("personal-projects/p")
    memory.write(Locator("projects/p/facts/a.md"), "A.\n")
    assert project_folder(memory, "p") == Locator("projects/p")
    for name in ("", "a/b"):
        with pytest.raises(AgentmError, match="is not the name of a project"):
            project_folder(memory, name)


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("2026-03-31", True),
        ("2026-03-31T01:02", True),
        ("2026-3-31", False),
        ("26-03-2031", False),
        ("٢٠٢٦-03-31", False),
    ],
)
def test_a_day_is_written_with_four_two_and_two_digits(text: str, is_one: bool) -> None:
    assert is_date(text) is is_one
