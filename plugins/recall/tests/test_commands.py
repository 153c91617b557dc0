"""The commands, as a person or a hook runs them."""

from __future__ import annotations

import json

import pytest
from secret_samples import planted

from agentm_kernel.plugin import MAX_CONTENT_BYTES


@pytest.fixture
def filled(agentm):
    agentm(
        "save",
        "--kind",
        "decision",
        "--slug",
        "use-files",
        "--tag",
        "storage",
        text="# Use files\n\nThey last for ever.\n",
    )
    agentm("save", "--kind", "known-issue", "--slug", "slow-walk", text="# Slow walk\n\nwalkTree() is slow.\n")
    agentm("save", "--kind", "always-load", "--slug", "tone", text="# Tone\n\nWrite plainly.\n")
    agentm(
        "save",
        "--kind",
        "fact",
        "--slug",
        "port",
        "--project",
        "other",
        "--new-project",
        text="# Port\n\nThe files server has port 80.\n",
    )
    return agentm


def test_saving_reports_where_the_note_is(agentm):
    saved = agentm("save", "--kind", "decision", "--slug", "use-files", text="# Use files\n")

    assert saved == "created projects/widgets/decisions/use-files.md\n"
    assert agentm("save", "--kind", "decision", "--slug", "use-files", text="# Use files\n") == (
        "reinforced projects/widgets/decisions/use-files.md\n"
    )
    (saved,) = agentm.json("save", "--kind", "decision", "--slug", "use-files", "--update", text="# New\n")["saved"]
    assert saved.pop("store").endswith("memory")
    assert saved == {"key": "projects/widgets/decisions/use-files.md", "outcome": "updated", "superseded": []}


def test_a_note_that_exists_is_not_replaced_unasked(filled):
    filled("save", "--kind", "decision", "--slug", "use-files", text="other", code=1)

    assert filled.err.splitlines() == [
        "error: 'projects/widgets/decisions/use-files.md' exists and says something else",
        "hint: add --update to replace it, or choose another slug and --supersedes to keep both",
    ]


def test_a_body_may_come_from_a_file(agentm, home):
    (home.project / "body.md").write_text("# From a file\n")

    agentm("save", "--kind", "fact", "--slug", "a", "--body-file", "body.md")

    assert agentm("notes", "show", "a").endswith("# From a file\n")
    agentm("save", "--kind", "fact", "--slug", "b", "--body-file", "missing.md", code=1)
    assert "cannot read missing.md" in agentm.err


def test_personal_notes_belong_to_no_project(agentm):
    assert (
        agentm("save", "--kind", "fact", "--slug", "a", "--personal", text="x\n") == "created personal/facts/a.md\n"
    )
    agentm("save", "--kind", "fact", "--slug", "a", "--personal", "--project", "p", text="x\n", code=2)


def test_what_is_always_loaded_says_how_much_room_it_takes(filled):
    saved = filled("save", "--kind", "always-load", "--slug", "long", text="word " * 800)

    assert saved.splitlines()[0] == "created personal/_always-load/long.md"
    assert saved.splitlines()[1].startswith("notes that are always loaded take about 1,0")


def test_a_kind_that_there_is_not_is_refused(agentm):
    agentm("save", "--kind", "idea", "--slug", "x", text="x", code=2)


@pytest.mark.parametrize("words", [["Payments use SQLite"], ["Payments", "use", "SQLite"]])
def test_the_text_may_be_words(agentm, words):
    assert agentm("save", *words, text="not this") == "created projects/widgets/facts/payments-use-sqlite.md\n"

    assert agentm("notes", "show", "payments-use-sqlite").endswith("\n\nPayments use SQLite\n")
    assert agentm("save", *words).startswith("reinforced ")
    assert agentm("save", text="Payments use SQLite\n").startswith("reinforced ")


def test_kind_and_name_of_words_may_be_given_before_and_after(agentm):
    saved = agentm("save", "--kind", "decision", "Use", "files", "--slug", "files")

    assert saved == "created projects/widgets/decisions/files.md\n"


@pytest.mark.parametrize(
    ("given", "text", "key"),
    [
        ([], "Some words first.\n\n# The Title\n", "facts/the-title"),
        (["--kind", "decision"], "# Use files\n", "decisions/use-files"),
        (["--slug", "x"], "# Use files\n", "facts/x"),
        ([], "---\ntags: [a]\n---\n\n# Below fields\n", "facts/below-fields"),
        ([], "exactly " * 8, "facts/exactly-exactly-exactly-exactly-exactly-exactly-exactly"),
        ([], "a" * 59 + " b", f"facts/{'a' * 59}"),
        ([], "a" * 60 + " b", f"facts/{'a' * 60}"),
        ([], "a" * 70, f"facts/{'a' * 60}"),
    ],
)
def test_what_is_not_said_on_standard_input_is_made_from_the_text(agentm, given, text, key):
    assert agentm("save", *given, text=text) == f"created projects/widgets/{key}.md\n"


def test_a_made_name_that_another_text_has_is_refused(agentm):
    agentm("save", text="# Port\n\nIt is 80.\n")

    agentm("save", text="# Port\n\nIt is 81.\n", code=1)

    assert agentm.err.startswith("error: 'projects/widgets/facts/port.md' exists and says something else\nhint: ")


@pytest.mark.parametrize("option", ["--body-file", "--from-json"])
def test_words_and_another_text_are_one_too_many(agentm, home, option):
    agentm("save", "words", option, "-", text="{}", code=2)

    assert f"the text comes either as TEXT or from {option}, not both" in agentm.err
    assert not home.root.exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("", "the note has no text"),
        (" ", "the note has no text"),
        ("!?", "the first line has no words to name the note by\nhint: name it with --slug"),
        ("caf\udce9", "the text is not UTF-8"),
    ],
)
def test_words_that_make_no_note_are_refused(agentm, home, words, said):
    agentm("save", words, code=1)

    assert agentm.err.startswith(f"error: {said}")
    assert not home.root.exists()


def test_a_secret_is_refused_and_nothing_is_made(agentm, home):
    before = home.files()
    agentm("save", "--kind", "fact", "--slug", "a", text=f"# Key\n\n{planted()['GitHub token']}\n", code=1)

    assert "line 3 looks like a GitHub token" in agentm.err
    assert planted()["GitHub token"].split()[-1] not in agentm.err
    assert home.files() == before
    assert "--allow-secrets" in agentm.err

    agentm("save", "--kind", "fact", "--slug", "a", "--allow-secrets", text=f"{planted()['GitHub token']}\n")
    assert planted()["GitHub token"] in "".join(map(str, home.files().values()))


def test_a_note_is_looked_at_for_secrets_once(agentm, monkeypatch):
    looked_at = []
    monkeypatch.setattr("agentm_recall.saving.refuse_secrets", lambda what, text: looked_at.append(what))
    agentm("save", "--slug", "a", text="# A\n")

    assert looked_at == ["the note", "a field of the note"]


def test_a_note_that_is_too_large_is_refused_by_its_size(agentm, home):
    before = home.files()
    agentm("save", "--slug", "a", text="x" * (MAX_CONTENT_BYTES + 1), code=1)

    assert "the limit is 16,777,216" in agentm.err
    assert home.files() == before


def test_superseding_is_reported(filled):
    assert filled(
        "save", "--kind", "decision", "--slug", "use-db", "--supersedes", "use-files", text="# Use a db\n"
    ) == ("created projects/widgets/decisions/use-db.md\nsuperseded projects/widgets/decisions/use-files.md\n")


def test_in_mode_local_notes_go_to_the_store_all_the_same(agentm, home):
    (home.project / ".harness").mkdir()
    (home.project / ".harness" / ".project-mode").write_text("local\n")

    agentm("save", "--kind", "decision", "--slug", "a", text="# A decision\n")

    assert "projects/widgets/decisions/a" in agentm("recall-here")


# ------------------------------------------------------------------------------------------------ offers


def test_an_offer_is_saved_as_it_was_made(filled):
    offer = filled(
        "offer-save-here",
        "--kind",
        "fact",
        "--slug",
        "lesson",
        "--body-file",
        "-",
        "--confidence",
        "0.7",
        text="Learnt.\n",
    )

    assert filled("save", "--from-json", "-", text=offer) == "created projects/widgets/facts/lesson.md\n"
    assert filled.json("notes", "show", "lesson")["confidence"] == 0.7


def test_a_confidence_in_words_survives(filled, home):
    offer = filled(
        *("offer-save-here", "--kind", "fact", "--slug", "lesson", "--body-file", "-", "--confidence", "quite sure"),
        text="Learnt.\n",
    )
    filled("save", "--from-json", "-", text=offer)
    filled("save", "--kind", "fact", "--slug", "other", "--confidence", "high", text="Learnt too.\n")

    assert "confidence: quite sure\n" in filled("notes", "show", "lesson")
    assert "confidence: high\n" in filled("notes", "show", "other")


@pytest.mark.parametrize("place", ["/", "~"])
def test_where_there_is_no_project_nothing_is_offered(filled, home, place):
    folder = str(home.path) if place == "~" else place
    offer = ("offer-save-here", "--kind", "fact", "--slug", "a", "--body-file", "-")

    assert json.loads(filled(*offer, "--cwd", folder, text="x")) == []
    assert len(json.loads(filled(*offer, text="x"))) == 1


def test_offers_are_checked_before_any_of_them_is_saved(filled, home):
    before = home.files()
    offers = [
        {"kind": "fact", "slug": "fine", "body": "Fine.", "project": "widgets"},
        {"kind": "fact", "slug": "secret", "body": planted()["Stripe key"], "project": "widgets"},
    ]

    filled("save", "--from-json", "-", text=json.dumps(offers), code=1)

    assert home.files() == before


@pytest.mark.parametrize(
    ("offer", "said"),
    [
        ("not json", "not JSON"),
        ("[1]", "not JSON objects"),
        ('[{"kind": "fact", "slug": "a"}]', "body"),
        ('[{"kind": "fact", "slug": "a", "body": "x", "confidence": [1]}]', "understood"),
        ('[{"kind": "fact", "slug": "a", "body": "x", "confidence": "7"}]', "between 0 and 1"),
        ('[{"kind": "fact", "slug": "a", "body": "x", "protocol": "vault"}]', "vault"),
        ('[{"kind": "fact", "slug": "a", "body": "x", "project": "p", "target": "projects/q"}]', "projects/q"),
    ],
)
def test_an_offer_that_cannot_be_saved_says_why(filled, offer, said):
    filled("save", "--from-json", "-", text=offer, code=1)

    assert said in filled.err


def test_fields_that_a_note_has_not_are_named(filled):
    filled(
        "save", "--from-json", "-", text='{"kind": "fact", "slug": "a", "body": "x", "mood": "good", "phase": "work"}'
    )

    assert filled.err == "not saved, because a note has no such fields: mood\n"


# ------------------------------------------------------------------------------------------------ looking


def test_notes_are_listed_newest_first(filled):
    keys = [note["key"] for note in filled.json("notes", "list")["notes"]]

    assert set(keys) == {
        "projects/widgets/decisions/use-files.md",
        "projects/widgets/known-issues/slow-walk.md",
        "personal/_always-load/tone.md",
    }
    assert "projects/widgets/decisions/use-files  Use files" in filled("notes", "list", "--kind", "decision")
    assert len(filled.json("notes", "list", "--everywhere")["notes"]) == 4


def test_forgotten_notes_are_listed_only_when_asked_for(filled):
    assert filled("forget", "use-files") == "forgot projects/widgets/decisions/use-files.md\n"
    assert filled("forget", "use-files") == "projects/widgets/decisions/use-files.md is forgotten already\n"

    assert "use-files" not in filled("notes", "list")
    assert "decision (deleted)" in filled("notes", "list", "--all")


def test_agentm_alone_counts_what_is_told(filled):
    def counted():
        return int(filled().partition(": ")[2].partition(" note")[0])

    before = counted()
    filled("forget", "use-files")

    assert counted() == before - 1 > 0


def test_a_note_that_is_odd_is_named_on_standard_error(filled, home):
    home.note("projects/widgets/facts/odd.md", "---\nkind: [open\n---\ntext\n")

    filled("notes", "list")

    assert "projects/widgets/facts/odd.md: its front matter is not YAML" in filled.err


def test_a_note_is_shown_byte_for_byte(filled, home):
    home.note("projects/widgets/facts/crlf.md", "\ufeff---\r\nkind: fact\r\n---\r\nno final newline")

    assert filled("notes", "show", "crlf") == "\ufeff---\r\nkind: fact\r\n---\r\nno final newline"


def test_a_name_that_means_nothing_suggests_others(filled):
    filled("notes", "show", "use-fyles", code=1)

    assert "hint: is it use-files?" in filled.err


def test_search_shows_where_and_what(filled):
    answer = filled("search", "how", "long", "do", "files", "last")

    assert answer.splitlines()[0].startswith("projects/widgets/decisions/use-files  decision, ")
    assert "They last for ever." in answer


def test_an_agent_that_searches_in_its_shell_is_shown_what_a_person_sees(agentm):
    agentm("save", "--slug", "queue", text="The queue\u202e\x1b]0;x\x07\U000e0041\U000e0042 is kafka.")

    assert "The queue]0;x is kafka." in agentm("search", "kafka")


def test_search_prefers_this_project_and_may_be_limited_to_one(filled):
    everywhere = [found["key"] for found in filled.json("search", "files")["found"]]

    assert everywhere == ["projects/widgets/decisions/use-files.md", "projects/other/facts/port.md"]
    assert [found["key"] for found in filled.json("search", "files", "--project", "other")["found"]] == everywhere[1:]
    assert filled.json("search", "files", "--kind", "known-issue")["found"] == []
    assert [found["slug"] for found in filled.json("search", "walk tree")["found"]] == ["slow-walk"]


def test_search_explains_itself(filled):
    answer = filled("search", "--explain", "file storage")
    explained = filled.json("search", "--explain", "file storage")["found"][0]["explain"]

    assert "score " in answer
    assert "recency" in answer
    assert explained["words"] == {"title": ["files"], "name": ["files storage"], "body": ["files"]}


def test_search_tells_how_many_dead_notes_match(filled):
    filled("forget", "use-files")

    assert (
        filled("search", "last for ever")
        == "nothing found\n1 deleted or superseded notes match too: --all shows them\n"
    )
    assert "(not current)" in filled("search", "--all", "last for ever")


def test_reindex_says_what_it_did(filled):
    assert filled("reindex").startswith("indexed 4 notes, removed 0; the index is ")
    assert filled.json("reindex", "--update")["indexed"] == 0


def test_the_documenter_gets_its_bundle(filled, home):
    home.note("projects/widgets/_index.md", "# Widgets\nAll about widgets.\n")
    filled("save", "--kind", "wiki-style", "--slug", "pages", text="One page per widget.\n")

    bundle = filled.json("documenter-context")

    assert (bundle["slug"], bundle["registered"]) == ("widgets", False)
    assert bundle["project_anchor"] == "# Widgets\nAll about widgets.\n"
    assert [item["name"] for item in bundle["operator_conventions"]] == ["tone"]
    assert [item["name"] for item in bundle["project_decisions"]] == ["use-files"]
    assert [item["name"] for item in bundle["wiki_style"]] == ["pages"]
    assert bundle["project_folder"] == "projects/widgets"
    assert bundle["left_out"] == []
    text = filled("documenter-context")
    assert "## How to write about this project\n\n```note\npages\n\nOne page per widget.\n```\n" in text
    assert "## What the operator wants" in text


def test_the_documenter_gets_the_style_of_all_projects(filled, home):
    home.note("projects/_global/wiki-style/voice.md", "Plain words.\n")
    home.note("personal/wiki-style/tense.md", "Present tense.\n")

    bundle = filled.json("documenter-context")

    assert [item["name"] for item in bundle["global_wiki_style"]] == ["tense", "voice"]


def test_the_documenter_s_bundle_keeps_to_its_budget_and_names_the_rest(filled, home):
    home.note("projects/widgets/_index.md", "# Widgets\n")
    for number in range(9):
        home.note(
            f"projects/widgets/decisions/d{number}.md", f"---\nupdated: 2030-01-0{number + 1}\n---\n" + "w " * 200
        )

    bundle = filled.json("documenter-context", "--budget", "500")

    assert bundle["project_anchor"] == "# Widgets\n"
    assert [item["name"] for item in bundle["project_decisions"]] == ["d6", "d7", "d8", "use-files"]
    assert "projects/widgets/decisions/d0.md" in bundle["left_out"]
    assert "Left out for lack of room: " in filled("documenter-context", "--budget", "500")


def test_a_project_that_nobody_knows_is_an_error(filled, tmp_path):
    filled("documenter-context", "--slug", "wigdets", code=1)
    assert "no project 'wigdets'" in filled.err
    new = tmp_path / "new-one"
    new.mkdir()
    assert filled("documenter-context", "--cwd", str(new)).startswith("# Documenting new-one")


def test_the_documenter_s_bundle_is_fenced(filled, home):
    home.note("projects/widgets/wiki-style/a.md", "```\n# forged\n```\nhid\u200bden\x1b[31m\n")

    text = filled("documenter-context")

    assert "````note\na\n\n```\n# forged\n```\nhidden[31m\n````\n" in text


@pytest.mark.parametrize("command", ["save", "forget", "notes", "search", "reindex", "documenter-context"])
def test_every_command_has_help(agentm, command):
    assert "Usage: agentm" in agentm(command, "--help")


def test_a_misspelt_project_is_not_made(filled):
    filled("save", "--project", "othr", text="A port.\n", code=1)
    assert "there is no project 'othr' in this store" in filled.err
    assert "did you mean 'other'?" in filled.err
    for words in (["notes", "list"], ["notes", "show", "port"], ["search", "port"], ["forget", "port"]):
        filled(*words, "--project", "othr", code=1)
        assert "no project 'othr'" in filled.err
    assert not (filled.home.root / "projects/othr").exists()
    filled("save", "--project", "fresh", "--new-project", text="A port.\n")
    assert "a-port" in filled("notes", "list", "--project", "fresh")


def test_outside_any_project_the_personal_notes_are_listed_and_any_note_is_found(filled, monkeypatch):
    monkeypatch.chdir(filled.home.path)

    assert [note["slug"] for note in filled.json("notes", "list")["notes"]] == ["tone"]
    assert "this folder is no project" not in filled("notes", "list", "--everywhere")
    filled("notes", "list")
    assert "--everywhere lists all" in filled.err
    assert len(filled.json("notes", "list", "--everywhere")["notes"]) == 4
    assert "port 80" in filled("notes", "show", "port")


def test_a_list_says_how_many_it_hides(filled):
    filled("forget", "slow-walk")

    answer = filled.json("notes", "list")
    assert (len(answer["notes"]), answer["hidden"]) == (2, 1)
