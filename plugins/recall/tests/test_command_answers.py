"""What commands answer: every option has its effect, and every refusal says what to run instead."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import pytest

from agentm_kernel.plugin import Locator
from agentm_recall.inbox import REPLACE, SAVE, Proposal, propose

if TYPE_CHECKING:
    from conftest import Home, Terminal

    from agentm_kernel.plugin import StorageBackend

PORT = "projects/widgets/facts/port.md"


@pytest.fixture
def noted(home: Home, store: StorageBackend, agentm: Terminal) -> Terminal:
    """The project has two notes, the operator one, another project one."""
    fields = "kind: fact\ncreated: 2025-01-01\nupdated: 2025-02-03T04:05:06\nsource: web\nconfidence: 0.5\n"
    home.note(PORT, f"---\n{fields}tags: [net]\n---\n\n# The port\n\nHerons go to 443.\n")
    home.note("projects/widgets/decisions/bus.md", "---\nupdated: 2025-01-01\n---\n\n# The bus\n\nKafka it is.\n")
    home.note("personal/facts/mine.md", "# Mine\n\nHerons are blue.\n")
    home.note("projects/other/facts/port.md", "# Another port\n\nHerons go to 80.\n")
    return agentm


# ------------------------------------------------------------------------------------------------ save


def test_what_is_said_beside_the_text_is_in_the_note(agentm: Terminal) -> None:
    words = ("--tag", "a", "--tag", "b", "--confidence", "0.25", "--confidence-reason", "seen")
    agentm("save", "--slug", "port", *words, "--stale-after", "2030-01-02", "--source", "web", text="It is 443.\n")
    note = agentm.json("notes", "show", "port")
    assert (note["tags"], note["confidence"], note["stale_after"], note["source"]) == (
        ["a", "b"],
        0.25,
        "2030-01-02",
        "web",
    )
    assert "confidence_reason: seen\n" in agentm("notes", "show", "port")
    agentm("save", "--slug", "plain", text="It is 80.\n")
    assert agentm.json("notes", "show", "plain")["source"] == "agent"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--personal", "--project", "other"), "a note is either --personal or of a --project"),
        (("--kind", "thought"), "thought"),
    ],
)
def test_words_that_exclude_each_other_are_refused(agentm: Terminal, words: tuple[str, ...], said: str) -> None:
    agentm("save", "It is 443.", *words, code=2)
    assert said in agentm.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--confidence", "1.5"), "between 0 and 1, not 1.5"),
        (("--stale-after", "soon"), "stale-after is a day such as 2026-03-31, not 'soon'"),
        (("--tag", "x" * 201), "one short line"),
        (("--source", "x" * 201), "one short line"),
        (("--confidence", "x" * 201), "one short line"),
        (("--confidence-reason", "a\nb"), "one short line"),
        (("--slug", "Bad Slug"), "try 'bad-slug'"),
        (("--supersedes", "nothing"), "there is no note 'nothing'"),
    ],
)
def test_what_makes_no_note_is_refused_and_nothing_is_made(
    agentm: Terminal, words: tuple[str, ...], said: str
) -> None:
    agentm("save", "It is 443.", *words, code=1)
    assert said in agentm.err
    assert not (agentm.home.root / "projects/widgets/facts").exists()


@pytest.mark.parametrize("words", [("--tag", "x" * 200), ("--confidence", "1"), ("--confidence", "0")])
def test_what_is_just_allowed_is(agentm: Terminal, words: tuple[str, ...]) -> None:
    assert agentm("save", "It is 443.", *words).startswith("created ")


def test_an_answer_for_programs_says_what_became_of_each_note(noted: Terminal) -> None:
    answer = noted.json("save", "--slug", "new", "--supersedes", "port", text="It is 8443.\n")
    store = str(noted.home.root)
    key = "projects/widgets/facts/new.md"
    assert answer["saved"] == [{"key": key, "outcome": "created", "superseded": [PORT], "store": store}]
    assert noted.json("search", "8443")["found"][0]["key"] == key, "it is in the index at once"
    assert noted.json("notes", "list", "--all")["notes"][0]["store"] is None


def test_what_was_saved_of_several_offers_is_said_where_one_fails(noted: Terminal) -> None:
    offers = [
        {"kind": "fact", "slug": "new", "body": "It is new.", "project": "widgets"},
        {"kind": "fact", "slug": "port", "body": "It is another.", "project": "widgets"},
    ]
    said = noted("save", "--from-json", "-", text=json.dumps(offers), code=1)
    assert said == "created projects/widgets/facts/new.md\n"
    assert noted.json("search", "new")["found"][0]["slug"] == "new"
    assert noted("save", "--from-json", "-", "--update", text=json.dumps(offers)).splitlines() == [
        "reinforced projects/widgets/facts/new.md",
        f"updated {PORT}",
    ]


def test_an_offer_without_a_project_is_the_operators_own_and_one_for_always_too(noted: Terminal) -> None:
    offers = [
        {"kind": "fact", "slug": "own", "body": "Mine."},
        {"kind": "always-load", "slug": "tone", "body": "Be brief.", "project": "widgets"},
        {"kind": "fact", "slug": "ours", "body": "Ours.", "project": "widgets", "target": "projects/widgets"},
    ]
    said = noted("save", "--from-json", "-", text=json.dumps(offers)).splitlines()
    assert said[0] == "created personal/facts/own.md"
    assert said[1] == "created personal/_always-load/tone.md"
    assert said[2].startswith("notes that are always loaded take about ")
    assert said[3] == "created projects/widgets/facts/ours.md"


def test_the_first_offer_makes_the_name_this_project_s(agentm: Terminal) -> None:
    offer = {"kind": "fact", "slug": "a", "body": "x", "project": "widgets"}
    agentm("save", "--from-json", "-", text=json.dumps({**offer, "project": "other"}))
    assert not (agentm.home.root / "projects/widgets").exists()
    agentm("save", "--from-json", "-", text=json.dumps(offer))
    assert "example.com/ana/widgets" in (agentm.home.root / "projects/widgets/_project.json").read_text()


@pytest.mark.parametrize(
    ("offer", "said"),
    [
        ({"slug": "a", "body": "x"}, "no text for 'kind'"),
        ({"kind": "fact", "body": "x"}, "no text for 'slug'"),
        ({"kind": "fact", "slug": "a", "body": 3}, "no text for 'body'"),
        ({"kind": "fact", "slug": "a", "body": "x", "confidence": True}, "a number or words, not True"),
        ({"kind": "fact", "slug": "a", "body": "x", "tags": 3}, "cannot be understood"),
    ],
)
def test_an_offer_that_is_not_whole_is_refused(noted: Terminal, offer: dict[str, object], said: str) -> None:
    noted("save", "--from-json", "-", text=json.dumps(offer), code=1)
    assert said in noted.err


def test_a_text_that_is_there_is_kept_and_the_way_to_change_it_named(noted: Terminal) -> None:
    noted("save", "--slug", "port", text="Another.\n", code=1)
    assert "add --update to replace it, or choose another slug and --supersedes to keep both" in noted.err
    noted("forget", "port")
    noted("save", "--slug", "port", text="# The port\n\nHerons go to 443.\n", code=1)
    assert "says the same but is deleted" in noted.err
    assert "add --update to make it current again" in noted.err


# ------------------------------------------------------------------------------------------------ notes


def test_a_list_is_of_the_project_and_of_what_is_personal_newest_first(noted: Terminal) -> None:
    listed = noted("notes", "list").splitlines()
    assert [" ".join(line.split()) for line in listed] == [
        "2025-02-03 fact projects/widgets/facts/port The port",
        "2025-01-01 decision projects/widgets/decisions/bus The bus",
        "- fact personal/facts/mine Mine",
    ]
    assert noted.err == ""


def test_a_title_is_cut_in_a_list(noted: Terminal) -> None:
    noted("save", "--slug", "long", text=f"# {'x' * 70}\n")
    assert f" {'x' * 60}\n" in noted("notes", "list")


@pytest.mark.parametrize(
    ("words", "slugs"),
    [
        (("--kind", "fact"), ["port", "mine"]),
        (("--tag", "net"), ["port"]),
        (("--tag", "#net"), ["port"]),
        (("--tag", "none"), []),
        (("--since", "2025-02-03"), ["port"]),
        (("--since", "2025-02-04"), []),
        (("--since", "2025-01-01"), ["port", "bus"]),
        (("--project", "other"), ["port", "mine"]),
        (("--everywhere", "--kind", "fact"), ["port", "port", "mine"]),
    ],
)
def test_a_list_is_narrowed(noted: Terminal, words: tuple[str, ...], slugs: list[str]) -> None:
    assert [note["slug"] for note in noted.json("notes", "list", *words)["notes"]] == slugs


@pytest.mark.parametrize(("since", "ago"), [("today", 0), ("yesterday", 1), ("0d", 0), ("3d", 3), ("99999d", None)])
def test_since_takes_days(noted: Terminal, since: str, ago: int | None) -> None:
    for days in (0, 1, 2, 3, 4):
        day = time.strftime("%Y-%m-%d", time.gmtime(time.time() - days * 86_400))
        noted.home.note(f"projects/widgets/facts/ago-{days}.md", f"---\nupdated: {day}\n---\n\nText.\n")
    slugs = [note["slug"] for note in noted.json("notes", "list", "--since", since)["notes"]]
    if ago is None:
        assert {"ago-4", "port", "bus"} <= set(slugs)
    else:
        assert slugs == [f"ago-{days}" for days in range(ago + 1)]


@pytest.mark.parametrize("since", ["d", "soon", "-1d", "100000d", "7", "2025"])
def test_since_takes_nothing_else(noted: Terminal, since: str) -> None:
    noted("notes", "list", f"--since={since}", code=2)
    assert f"--since takes a date such as 2025-03-31, today, yesterday or 7d, not '{since}'" in noted.err


def test_what_is_hidden_is_counted_and_shown_with_its_status(noted: Terminal) -> None:
    noted("save", "--slug", "new", "--supersedes", "port", text="It is 8443.\n")
    noted("forget", "bus")
    listed = noted.json("notes", "list")
    assert ([note["slug"] for note in listed["notes"]], listed["hidden"]) == (["new", "mine"], 2)
    assert (listed["problems"], listed["unreached"]) == ({}, 0)
    everything = {note["slug"]: note["status"] for note in noted.json("notes", "list", "--all")["notes"]}
    assert everything == {"new": "active", "mine": "active", "port": "superseded", "bus": "deleted"}
    assert noted.json("notes", "list", "--kind", "decision")["hidden"] == 1


def test_a_kind_that_nobody_uses_is_refused_with_those_that_there_are(noted: Terminal) -> None:
    noted("notes", "list", "--kind", "thought", code=1)
    assert "no note is of the kind 'thought'" in noted.err
    assert "run it with one of always-load, convention" in noted.err
    assert noted("notes", "list", "--kind", "reference") == ""


def test_a_note_is_shown_with_its_fields_for_a_program(noted: Terminal) -> None:
    assert noted.json("notes", "show", "port") == {
        "schema": 1,
        "key": PORT,
        "slug": "port",
        "kind": "fact",
        "status": "active",
        "title": "The port",
        "tags": ["net"],
        "project": "widgets",
        "created": "2025-01-01",
        "updated": "2025-02-03T04:05:06",
        "source": "web",
        "confidence": 0.5,
        "supersedes": [],
        "verified": "",
        "stale_after": "",
        "problem": None,
        "body": "\n# The port\n\nHerons go to 443.\n",
    }


def test_the_path_of_a_note_is_that_of_its_file(noted: Terminal) -> None:
    file = str(noted.home.root / PORT)
    assert noted("notes", "path", "port") == f"{file}\n"
    assert noted.json("notes", "path", "port") == {"schema": 1, "note": PORT, "path": file}


def test_a_note_is_moved_and_found_at_its_new_place_only(noted: Terminal, store: StorageBackend) -> None:
    noted("search", "herons")
    moved = noted.json("notes", "move", "port", "--slug", "gate", "--kind", "reference")
    assert moved == {"schema": 1, "key": "projects/widgets/references/gate.md", "moved_from": PORT}
    found = [one["key"] for one in noted.json("search", "443")["found"]]
    assert found == ["projects/widgets/references/gate.md"]
    assert noted("notes", "move", "gate", "--to-project", "other") == (
        "moved projects/widgets/references/gate.md to projects/other/references/gate.md\n"
    )
    assert "project: other\n" in store.read(Locator("projects/other/references/gate.md"))
    noted("notes", "move", "bus", "--personal")
    assert store.exists(Locator("personal/decisions/bus.md"))
    noted("notes", "move", "bus", "--to-project", "nowhere", code=1)
    assert "there is no project 'nowhere'" in noted.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "say what is to be another: --slug, --kind, --to-project or --personal"),
        (("--personal", "--to-project", "other"), "a note is either --personal or of a project"),
    ],
)
def test_a_move_says_where_to(noted: Terminal, words: tuple[str, ...], said: str) -> None:
    noted("notes", "move", "port", *words, code=2)
    assert said in noted.err


def test_a_move_to_a_name_that_is_none_is_refused(noted: Terminal) -> None:
    noted("notes", "move", "port", "--slug", "Bad Slug", code=1)
    assert "try 'bad-slug'" in noted.err
    noted("notes", "move", "port", "--slug", "port", code=1)
    assert "exists already" in noted.err


def test_judgements_are_answered(noted: Terminal) -> None:
    assert noted("notes", "confirm", "port", "--reason", "tried") == f"confirmed {PORT}\n"
    assert "confidence_reason: tried\n" in noted("notes", "show", "port")
    assert noted.json("notes", "doubt", "port") == {"schema": 1, "key": PORT, "verdict": "doubt"}
    assert noted.json("notes", "show", "port")["confidence"] == 0.3
    noted("notes", "doubt", "port", "--reason", "two\nlines", code=1)
    assert "the reason is one short line" in noted.err


def test_what_was_given_to_nobody_is_said_with_the_day_since_when(noted: Terminal) -> None:
    ledger = noted.home.path / ".local/state/agentm/deliveries/claude-code.jsonl"
    ledger.parent.mkdir(parents=True)
    lines = [{"time": 1.8e9, "session": str(number), "notes": [PORT]} for number in range(20)]
    ledger.write_text("".join(json.dumps(line) + "\n" for line in lines))
    (row,) = noted("notes", "review").splitlines()
    assert row.endswith("  projects/widgets/decisions/bus  given to no agent in the 20 sessions since 2027-01-15")


def test_what_wants_a_look_is_listed_with_the_reason(noted: Terminal) -> None:
    assert noted("notes", "review") == "nothing wants a look\n"
    noted("notes", "doubt", "port")
    noted.home.note("projects/widgets/facts/old.md", "---\nstale_after: 2025-02-03\n---\n\nOld things.\n")
    rows = [" ".join(line.split()) for line in noted("notes", "review").splitlines()]
    assert rows == [
        "doubted projects/widgets/facts/port doubted: confidence 0.3",
        "stale projects/widgets/facts/old stale since 2025-02-03",
    ]
    first, second = noted.json("notes", "review")["found"]
    assert (first["what"], first["key"], first["other"]) == ("doubted", PORT, None)
    assert second["why"] == "stale since 2025-02-03"


# ------------------------------------------------------------------------------------------------ search


def test_a_found_note_is_shown_with_its_day_and_what_is_wrong_with_it(noted: Terminal) -> None:
    noted.home.note("projects/widgets/facts/old.md", "---\nstale_after: 2025-02-03\n---\n\nSubmarines dive.\n")
    first, second, last = noted("search", "submarines").splitlines()
    assert first == "projects/widgets/facts/old  fact, no date (stale since 2025-02-03)"
    assert second == "    Submarines dive."
    assert last.startswith("confidence 0.")
    far = noted("search", "which colour is the logo on the printed catalogue of the port")
    assert "no note seems to answer this (confidence 0." in far
    assert far.rstrip().endswith("these come nearest")
    assert noted("search", "zeppelin") == "nothing found\n"


def test_a_search_for_programs_says_how_sure_it_is(noted: Terminal) -> None:
    answer = noted.json("search", "herons 443", "--limit", "1")
    (found,) = answer["found"]
    assert (found["key"], found["current"], found["store"], found["remark"]) == (PORT, True, None, "")
    assert found["snippet"] == "# The port Herons go to 443."
    assert "explain" not in found
    assert (answer["answered"], answer["left_out"], answer["notices"]) == (True, 0, [])
    assert 0 < answer["confidence"] <= 1
    noted("search", "herons", "--limit", "0", code=2)
    noted("search", "herons", "--limit", "1001", code=2)


# ------------------------------------------------------------------------------------------------ inbox, index


def test_what_is_proposed_is_listed_and_shown(noted: Terminal, store: StorageBackend) -> None:
    class Days:
        def get(self, _key: str) -> None:
            return None

    name = propose(store, Proposal(SAVE, "projects/widgets/facts/new.md", "fact", "It is new.\n", by="codex"), Days())
    change = Proposal(REPLACE, PORT, "fact", "# The port\n\nHerons go to 80.\n", expect="0" * 64, by="codex")
    other = propose(store, change, Days())
    store.write(Locator("_inbox/odd.md"), "nothing\n")
    lines = [" ".join(line.split()) for line in noted("inbox", "list").splitlines()]
    assert any(line.endswith(f"codex save projects/widgets/facts/new.md {name}") for line in lines)
    assert "_inbox/odd.md: '_inbox/odd.md' is not a proposal: it has no front matter" in noted.err
    listed = noted.json("inbox", "list")
    assert {one["name"]: (one["action"], one["expired"]) for one in listed["proposals"]} == {
        name: ("save", False),
        other: ("replace", False),
    }
    assert list(listed["problems"]) == ["_inbox/odd.md"]
    shown = noted.json("inbox", "show", other)
    assert (shown["target"], shown["kind"], shown["by"]) == (PORT, "fact", "codex")
    assert "-Herons go to 443.\n+Herons go to 80." in shown["change"]
    assert shown["body"] == "# The port\n\nHerons go to 80.\n"
    assert noted("inbox", "show", name).startswith("codex proposes to save projects/widgets/facts/new.md (fact, ")
    assert noted("inbox", "show", name).endswith("\n\nIt is new.\n")
    store.delete(Locator(PORT))
    assert noted.json("inbox", "show", other)["change"].startswith("(no note is there now)\n# The port")


def test_building_the_index_is_answered_in_numbers(noted: Terminal) -> None:
    index = str(noted.home.index_file())
    numbers = {"looked_at": 4, "indexed": 4, "removed": 0}
    assert noted.json("reindex") == {"schema": 1, "index": index, **numbers, "unlisted": []}
    (noted.home.root / PORT).unlink()
    assert noted("reindex", "--update") == f"indexed 0 notes, removed 1; the index is {index}\n"
    assert noted.json("reindex")["indexed"] == 3
