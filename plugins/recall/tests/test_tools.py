"""The tools of an agent: it is told whose notes it gets, writes where it may, and loses nobody's words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from secret_samples import planted

from agentm_kernel.plugin import (
    ConcurrentModificationError,
    Device,
    InvalidContentError,
    Locator,
    NotFoundError,
    StorageBackend,
    Tool,
    ToolCall,
    content_hash,
)
from agentm_recall import tool_writing, tools
from agentm_recall.tool_reading import read, recall, search
from agentm_recall.tool_writing import append, feedback, save

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Home

PORT = "projects/widgets/facts/the-port.md"


@pytest.fixture
def call(home: Home, store: StorageBackend) -> ToolCall:
    return in_folders(home, home.project)


def in_folders(home: Home, *folders: Path) -> ToolCall:
    return ToolCall(Device.now({"HOME": str(home.path)}), tuple(map(str, folders)), "codex", lambda *_: None)


# ------------------------------------------------------------------------------------------------ what agents see


def test_what_a_tool_takes_and_whether_it_changes_anything_is_said() -> None:
    said = {tool.name: (tool.required, tool.only_reads) for tool in ALL}
    assert said == {
        "memory_search": (("query",), True),
        "memory_read": (("note",), True),
        "memory_recall": ((), True),
        "memory_save": (("title", "body"), False),
        "memory_append": (("note", "text"), False),
        "memory_feedback": (("note", "verdict"), False),
    }


ALL = (tools.SEARCH, tools.READ, tools.RECALL, tools.SAVE, tools.APPEND, tools.FEEDBACK)
LIMITS = {
    ("memory_search", "query"): {"minLength": 1, "maxLength": 20_000},
    ("memory_search", "limit"): {"minimum": 1, "maximum": 50},
    ("memory_read", "offset"): {"minimum": 0},
    ("memory_recall", "query"): {"maxLength": 20_000},
    ("memory_recall", "budget"): {"minimum": 200, "maximum": 20_000},
    ("memory_save", "title"): {"minLength": 1, "maxLength": 120},
    ("memory_save", "body"): {"minLength": 1},
    ("memory_save", "expect"): {"maxLength": 64},
    ("memory_append", "text"): {"minLength": 1},
    ("memory_feedback", "reason"): {"maxLength": 200},
}


@pytest.mark.parametrize("tool", ALL, ids=lambda tool: tool.name)
def test_an_argument_says_how_long_it_may_be(tool: Tool) -> None:
    names = {"minLength", "maxLength", "minimum", "maximum"}
    for argument, schema in tool.parameters.items():
        limits = {name: value for name, value in schema.items() if name in names}
        usual = {"note": {"minLength": 1, "maxLength": 1000}, "project": {"maxLength": 200}}
        assert limits == LIMITS.get((tool.name, argument), usual.get(argument, {})), argument


def test_every_tool_does_what_it_is_called(call: ToolCall) -> None:
    saved = tools.SAVE.function(call, title="The port", body="It is 443.")
    assert saved["key"] == PORT
    assert "It is 443." in str(tools.READ.function(call, note="the-port")["text"])
    assert tools.SEARCH.function(call, query="port")["found"] == 1
    assert "It is 443." in str(tools.RECALL.function(call)["text"])
    assert tools.APPEND.function(call, note="the-port", text="Not 80.")["status"] == "saved"
    assert tools.FEEDBACK.function(call, note="the-port", verdict="doubt")["verdict"] == "doubt"


# ------------------------------------------------------------------------------------------------ saving


def test_a_new_note_is_below_its_title_and_found_at_once(call: ToolCall, store: StorageBackend) -> None:
    answer = save(call, "  The\n port ", "\nIt is 443.")
    text = store.read(Locator(PORT))
    assert answer == {
        "status": "saved",
        "key": PORT,
        "hash": content_hash(text),
        "project": "widgets",
        "store": store.describe(),
    }
    assert text.endswith("---\n\n# The port\n\nIt is 443.\n")
    assert search(call, "port")["found"] == 1
    assert save(call, "The port", "It is 443.")["status"] == "unchanged"


@pytest.mark.parametrize("body", ["  # Mine\n\nText.\n", "---\ntags: [a]\n---\n\nText.\n"])
def test_a_text_with_a_heading_or_fields_of_its_own_gets_no_title(
    call: ToolCall, store: StorageBackend, body: str
) -> None:
    assert "# The port" not in store.read(Locator(str(save(call, "The port", body)["key"])))


@pytest.mark.parametrize(
    ("title", "slug"),
    [
        ("a" * 80, "a" * 80),
        ("a" * 90, "a" * 80),
        ("a" * 80 + " b", "a" * 80),
        ("a" * 79 + " b", "a" * 79),
        ("word " * 20, "-".join(["word"] * 16)),
    ],
)
def test_a_long_title_makes_a_name_that_is_cut_between_words(call: ToolCall, title: str, slug: str) -> None:
    assert save(call, title, "Text.")["key"] == f"projects/widgets/facts/{slug}.md"


@pytest.mark.parametrize(
    ("given", "key"),
    [
        ({"scope": "personal"}, "personal/facts/the-port.md"),
        ({"kind": "always-load"}, "personal/_always-load/the-port.md"),
        ({"kind": "decision"}, "projects/widgets/decisions/the-port.md"),
    ],
)
def test_scope_and_kind_decide_where_a_note_goes(call: ToolCall, given: dict[str, str], key: str) -> None:
    answer = save(call, "The port", "It is 443.", **given)
    assert answer["key"] == key
    assert answer["project"] == ("widgets" if key.startswith("projects") else "personal")


@pytest.mark.parametrize("given", [{"note": "the-port"}, {"expect": "0" * 64}])
def test_a_note_is_changed_only_by_one_who_knows_its_hash(call: ToolCall, given: dict[str, str]) -> None:
    with pytest.raises(InvalidContentError, match="both note and expect") as refused:
        save(call, "The port", "It is 443.", **given)
    assert "leave both out for a new note" in str(refused.value.hint)


def test_another_text_under_a_title_that_is_taken_shows_what_is_there(call: ToolCall, store: StorageBackend) -> None:
    saved = save(call, "The port", "It is 443.")
    with pytest.raises(ConcurrentModificationError, match="says something else") as refused:
        save(call, "The port", "It is 80.")
    assert f"note={PORT} and expect={saved['hash']}" in str(refused.value.hint)
    text = store.read(Locator(PORT))
    assert refused.value.details == {"key": PORT, "hash": saved["hash"], "text": text}
    save(call, "The port", "x" * 30_000, note="the-port", expect=str(saved["hash"]))
    with pytest.raises(ConcurrentModificationError) as refused:
        save(call, "The port", "It is 80.")
    assert len(str(refused.value.details["text"])) == 20_000


def test_a_text_that_was_read_is_replaced_once(call: ToolCall, store: StorageBackend) -> None:
    digest = str(save(call, "The port", "It is 443.")["hash"])
    changed = save(call, "The port", "It is 8443.", note="the-port", expect=digest)
    assert changed["status"] == "saved"
    assert store.read(Locator(PORT)).endswith("# The port\n\nIt is 8443.\n")
    assert search(call, "8443")["found"] == 1
    assert save(call, "The port", "It is 8443.", note="the-port", expect=digest)["status"] == "unchanged"
    with pytest.raises(ConcurrentModificationError, match="was changed since it was read") as refused:
        save(call, "The port", "It is 80.", note="the-port", expect=digest)
    assert refused.value.details["hash"] == changed["hash"]
    assert store.read(Locator(PORT)).endswith("It is 8443.\n")


def test_a_text_for_a_version_that_is_no_more_is_refused_at_once_where_the_operator_approves(
    home: Home, call: ToolCall, store: StorageBackend
) -> None:
    digest = str(save(call, "The port", "It is 443.")["hash"])
    save(call, "The port", "It is 8443.", note="the-port", expect=digest)
    assert home.run("config", "set", "capture.approve", "all").returncode == 0
    approved = in_folders(home, home.project)
    with pytest.raises(ConcurrentModificationError, match="was changed since it was read") as refused:
        save(approved, "The port", "It is 80.", note="the-port", expect=digest)
    assert refused.value.details["text"] == store.read(Locator(PORT))
    assert not store.list(Locator("_inbox"))  # nobody could accept it
    now = str(refused.value.details["hash"])
    assert save(approved, "The port", "It is 80.", note="the-port", expect=now)["status"] == "proposed"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("---\ntags: [a]\n---\n\n", "no text"),
        (f"# Key\n\n{planted()['GitHub token']}\n", "secret|token"),
        ("---\nstatus: deleted\n---\n\nGone.\n", "says that it is deleted"),
        ("---\nsource: operator\n---\n\nMine.\n", "does not come through a tool"),
        ("---\nsource: ' OPERATOR '\n---\n\nMine.\n", "does not come through a tool"),
        ("---\nsource:\n---\n\nMine.\n", "does not come through a tool"),
    ],
)
def test_a_text_that_must_not_be_there_replaces_nothing(
    call: ToolCall, store: StorageBackend, body: str, said: str
) -> None:
    digest = str(save(call, "The port", "It is 443.")["hash"])
    before = store.read(Locator(PORT))
    with pytest.raises(InvalidContentError, match=said):
        save(call, "The port", body, note="the-port", expect=digest)
    assert store.read(Locator(PORT)) == before


def test_who_keeps_no_earlier_versions_has_none_replaced(
    call: ToolCall, store: StorageBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    digest = str(save(call, "The port", "It is 443.")["hash"])
    monkeypatch.setattr(tool_writing, "permitted", lambda *_: [])
    with pytest.raises(InvalidContentError, match="nobody keeps the earlier versions") as refused:
        save(call, "The port", "It is 80.", note="the-port", expect=digest)
    assert "under another title" in str(refused.value.hint)
    with pytest.raises(ConcurrentModificationError) as taken:
        save(call, "The port", "It is 80.")
    assert taken.value.hint == "save it under another title"
    assert content_hash(store.read(Locator(PORT))) == digest


@pytest.mark.parametrize("source", ["", "source: Operator\n"])
def test_the_operators_own_word_is_not_changed_by_an_agent(
    home: Home, call: ToolCall, store: StorageBackend, source: str
) -> None:
    home.note("personal/_always-load/tone.md", f"---\nkind: always-load\n{source}---\n\nBe brief.\n")
    before = store.read(Locator("personal/_always-load/tone.md"))
    with pytest.raises(InvalidContentError, match="operator's own word") as refused:
        append(call, "tone", "Or long.")
    assert "`agentm notes edit tone`" in str(refused.value.hint)
    with pytest.raises(InvalidContentError, match="operator's own word"):
        save(call, "Tone", "Be long.", note="tone", expect=content_hash(before))
    assert store.read(Locator("personal/_always-load/tone.md")) == before


def test_lines_are_added_at_the_end_and_found_at_once(call: ToolCall, store: StorageBackend) -> None:
    save(call, "The port", "It is 443.")
    answer = append(call, "the-port", "Herons use 8443.")
    text = store.read(Locator(PORT))
    assert (answer["status"], answer["key"], answer["hash"]) == ("saved", PORT, content_hash(text))
    append(call, "the-port", "Cranes use 80.\n")
    assert store.read(Locator(PORT)) == f"{text}Cranes use 80.\n"
    assert text.endswith("It is 443.\nHerons use 8443.\n")
    assert search(call, "cranes")["found"] == 1


def test_what_no_session_is_given_gets_no_more_text(call: ToolCall, store: StorageBackend) -> None:
    save(call, "The port", "It is 443.")
    text = store.read(Locator(PORT))
    for status in ("deleted", "superseded"):
        store.write(Locator(PORT), text.replace("status: active", f"status: {status}"))
        for change in (lambda: append(call, "the-port", "More."), lambda: feedback(call, "the-port", "confirm")):
            with pytest.raises(InvalidContentError, match=f"is {status}, so no session is given it"):
                change()
    store.write(Locator(PORT), text)
    with pytest.raises(InvalidContentError):
        append(call, "the-port", planted()["GitHub token"])
    assert store.read(Locator(PORT)) == text


def test_a_judgement_is_kept_and_answered(call: ToolCall, store: StorageBackend) -> None:
    save(call, "The port", "It is 443.")
    answer = feedback(call, "the-port", "confirm", reason="tried it")
    text = store.read(Locator(PORT))
    assert (answer["status"], answer["verdict"], answer["hash"]) == ("saved", "confirm", content_hash(text))
    assert "confidence: 0.9\n" in text
    assert "confidence_reason: tried it\n" in text


# ------------------------------------------------------------------------------------------------ looking


def test_what_is_found_is_a_line_about_the_note_and_one_of_it(home: Home, call: ToolCall) -> None:
    fields = "kind: fact\nupdated: 2025-02-03T04:05:06\nsource: web\n"
    home.note(PORT, f"---\n{fields}---\n\n# The port\n\nHerons go to 443. {'More words. ' * 100}\n")
    home.note("projects/widgets/facts/gone.md", "---\nstatus: deleted\n---\n\nHerons were here.\n")
    answer = search(call, "herons")
    entry, snippet = str(answer["text"]).splitlines()
    assert entry == f"- {PORT} (fact, 2025-02-03, from web): The port"
    assert snippet.startswith("    # The port Herons go to 443.")
    assert len(snippet) <= 304
    assert answer["found"] == 1
    assert answer["left_out"] == "1 that match but were deleted or replaced"
    assert "notices" not in answer


def test_nothing_found_is_said_and_no_more_is_shown_than_was_asked_for(home: Home, call: ToolCall) -> None:
    for number in range(10):
        home.note(f"projects/widgets/facts/heron-{number}.md", f"# Heron {number}\n\nHerons go to 80{number}.\n")
    home.note("projects/widgets/decisions/heron.md", "Herons are protected.\n")
    assert search(call, "herons")["found"] == 8
    assert search(call, "herons", limit=2)["found"] == 2
    assert search(call, "herons", kind="decision")["found"] == 1
    nothing = search(call, "submarines")
    assert (nothing["found"], nothing["text"]) == (0, "no note says anything about this")
    assert "left_out" not in nothing


def test_a_search_that_builds_the_index_says_how_far_it_is(home: Home, call: ToolCall) -> None:
    for number in range(101):
        home.note(f"projects/widgets/facts/heron-{number}.md", f"Herons go to {number}.\n")
    said: list[tuple[float, float]] = []
    search(ToolCall(call.device, call.roots, "codex", lambda at, of, _what: said.append((at, of))), "herons")
    assert said == [(0, 101), (100, 101)]


def test_a_long_note_is_read_page_by_page(home: Home, call: ToolCall, store: StorageBackend) -> None:
    home.note(PORT, "a" * 60_000 + "\u200bb" * 600)
    first = read(call, "the-port")
    assert first["text"] == "a" * 60_000
    assert first["left_out"] == "1,200 characters: go on with offset 60000"
    assert (first["key"], first["hash"]) == (PORT, content_hash(store.read(Locator(PORT))))
    rest = read(call, "the-port", offset=60_000)
    assert rest["text"] == "b" * 600
    assert "left_out" not in rest
    assert read(call, "the-port", offset=61_200)["text"] == "(nothing here)"


def test_a_recall_is_of_the_project_and_in_the_room_that_is_given(home: Home, call: ToolCall) -> None:
    assert recall(call) == {
        "project": "widgets",
        "store": call.device.store().describe(),
        "text": "memory holds nothing for this project yet",
    }
    for number in range(20):
        home.note(f"projects/widgets/decisions/heron-{number}.md", f"# Heron {number}\n\n{'Herons. ' * 40}\n")
    whole, part = str(recall(call)["text"]), str(recall(call, budget=400)["text"])
    assert whole.startswith("# Memory: project widgets, phase work\n")
    assert len(part) < 1700 < len(whole)
    assert recall(call, "review")["text"] != whole
    home.note("projects/widgets/decisions/submarine.md", "Boats go below.\n")
    assert "1 not matching the query" in str(recall(call, query="herons")["text"])


# ------------------------------------------------------------------------------------------------ whose memory


def test_where_no_project_is_open_there_are_the_personal_notes_and_nothing_is_written(
    home: Home, store: StorageBackend
) -> None:
    home.note("personal/facts/mine.md", "Herons are mine.\n")
    home.note("projects/widgets/facts/ours.md", "Herons are ours.\n")
    call = in_folders(home, home.path)
    answer = search(call, "herons")
    assert (answer["project"], answer["found"]) == ("none: this folder is no project", 1)
    assert "Herons are mine." in str(read(call, "mine")["text"])
    assert "Herons are mine." in str(recall(call)["text"])
    assert "ours" not in str(recall(call)["text"])
    with pytest.raises(InvalidContentError, match="is not a project") as refused:
        save(call, "The port", "It is 443.")
    assert 'scope "personal"' in str(refused.value.hint)
    assert save(call, "The port", "It is 443.", scope="personal")["key"] == "personal/facts/the-port.md"


def test_of_several_open_folders_one_has_to_be_named(home: Home, store: StorageBackend) -> None:
    other = home.path / "gadgets"
    (other / ".git").mkdir(parents=True)
    call = in_folders(home, home.project, other, home.path / "missing")
    with pytest.raises(InvalidContentError, match="several folders are open: gadgets, widgets") as refused:
        recall(call)
    assert refused.value.hint == "say which one with project"
    assert save(call, "The port", "It is 443.", project="gadgets")["key"] == "projects/gadgets/facts/the-port.md"
    assert save(call, "The port", "It is 443.", project="widgets")["project"] == "widgets"


def test_a_folder_that_is_not_on_this_machine_is_none(home: Home, store: StorageBackend) -> None:
    home.note("projects/other/facts/heron.md", "Herons are here.\n")
    call = in_folders(home, home.path / "missing")
    with pytest.raises(InvalidContentError, match=r"is not on this machine: .*missing") as refused:
        recall(call)
    assert "with project" in str(refused.value.hint)
    assert "Herons are here." in str(read(call, "heron", project="other")["text"])


def test_a_project_that_is_named_is_another_one_that_the_store_has(home: Home, call: ToolCall) -> None:
    home.note("projects/other/facts/heron.md", "Herons are here.\n")
    answer = search(call, "herons", project="other")
    assert (answer["project"], answer["found"]) == ("other", 1)
    assert "Herons are here." in str(recall(call, project="other")["text"])
    assert append(call, "heron", "And there.", project="other")["key"] == "projects/other/facts/heron.md"
    for look in (lambda: search(call, "herons", project="otter"), lambda: save(call, "A", "B.", project="otter")):
        with pytest.raises(NotFoundError, match="there is no project 'otter'") as refused:
            look()
        assert "`agentm project list`" in str(refused.value.hint)
