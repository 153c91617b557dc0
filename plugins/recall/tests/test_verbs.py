"""What people do with notes every day: edit, move, confirm, doubt, undo, review; and why a note is recalled."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from agentm_recall import RecallIndex, phase_recall
from agentm_recall.note import parse_note

NOTE = "---\nkind: decision\nstatus: active\nupdated: 2025-01-01T00:00:00+00:00\n---\n\n# Use files\n\nThey last.\n"


@pytest.fixture
def filled(home, store):
    home.note("projects/widgets/decisions/use-files.md", NOTE)
    home.note("projects/widgets/facts/port.md", "---\ntags: [net]\nupdated: 2025-03-01\n---\n# Port\nIt is 80.\n")
    return home


def done(result):
    assert result.returncode == 0, result.stderr
    return result.stdout


def text(home, key="decisions/use-files"):
    return (home.root / f"projects/widgets/{key}.md").read_text()


def editor(home, script):
    file = home.path / "editor"
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    return {"EDITOR": str(file), "VISUAL": str(file)}


def test_edit_saves_what_the_editor_leaves(filled):
    said = filled.run("notes", "edit", "use-files", **editor(filled, 'sed -i s/last/stay/ "$1"'))

    assert done(said) == "updated projects/widgets/decisions/use-files.md\n"
    assert "They stay." in text(filled)
    assert "updated: 2025-01-01" not in text(filled)


def test_edit_leaves_alone_what_somebody_else_changed_and_keeps_the_text(filled):
    file = filled.root / "projects/widgets/decisions/use-files.md"
    said = filled.run(
        "notes", "edit", "use-files", **editor(filled, f'sed -i s/last/stay/ "$1"; echo more >> {file}')
    )

    assert said.returncode == 3
    kept = said.stderr.partition("your text is kept in ")[2].split(";")[0].strip()
    assert Path(kept).name.startswith("use-files-")
    assert "They stay." in Path(kept).read_text()
    os.unlink(kept)
    assert text(filled).endswith("They last.\nmore\n")


@pytest.mark.parametrize("chosen", ["", "false", "/no/such/editor"])
def test_an_editor_that_cannot_be_had_is_an_error_that_says_how_to_choose_one(filled, chosen):
    said = filled.run("notes", "edit", "use-files", VISUAL="", EDITOR=chosen, input="")

    assert said.returncode == 1
    assert "$EDITOR names your editor" in said.stderr
    assert text(filled) == NOTE


def test_edit_without_a_change_changes_nothing(filled):
    assert done(filled.run("notes", "edit", "use-files", **editor(filled, "true"))) == "nothing was changed\n"
    assert text(filled) == NOTE


def test_an_edit_keeps_the_bytes_that_it_does_not_mean(filled):
    file = filled.root / "projects/widgets/decisions/use-files.md"
    before = b"\xef\xbb\xbf---\r\nkind: decision\r\nupdated: 2025-01-01\r\n---\r\n\r\nThey last.\r\nNo end"
    file.write_bytes(before)

    assert done(filled.run("notes", "edit", "use-files", **editor(filled, "true"))) == "nothing was changed\n"
    assert file.read_bytes() == before
    done(filled.run("notes", "edit", "use-files", **editor(filled, 'sed -i s/last/stay/ "$1"')))
    head, _, body = file.read_bytes().partition(b"updated: ")
    assert head == b"\xef\xbb\xbf---\r\nkind: decision\r\n"
    assert body.partition(b"\r\n")[2] == b"---\r\n\r\nThey stay.\r\nNo end"


def test_what_an_editor_leaves_that_is_no_text_is_kept_and_changes_nothing(filled):
    said = filled.run("notes", "edit", "use-files", **editor(filled, "printf 'long work\\377' > \"$1\""))

    assert said.returncode == 1
    assert "the text is not UTF-8" in said.stderr
    kept = said.stderr.partition("your text is kept in ")[2].split(";")[0].strip()
    assert Path(kept).read_bytes() == b"long work\xff"
    os.unlink(kept)
    gone = filled.run("notes", "edit", "use-files", **editor(filled, 'rm "$1"'))
    assert gone.returncode == 1
    assert "the editor removed the file" in gone.stderr
    assert text(filled) == NOTE


@pytest.mark.parametrize(
    "name", ["use-files", "decisions/use-files", "projects/widgets/decisions/use-files.md", "fil"]
)
def test_one_way_to_name_a_note_everywhere(filled, name):
    path = done(filled.run("notes", "path", name)).strip()

    assert path == str(filled.root / "projects/widgets/decisions/use-files.md")
    assert done(filled.run("notes", "show", name)) == NOTE
    assert done(filled.run("notes", "confirm", name)).startswith("confirmed ")
    assert done(filled.run("recall-here", "--why", name)).startswith("projects/widgets/decisions/use-files: shown\n")
    assert done(filled.run("forget", name)).startswith("forgot ")


def test_a_part_that_several_notes_have_is_refused(filled):
    filled.note("projects/widgets/facts/use-filters.md", "# Filters\n")

    said = filled.run("notes", "path", "use-fil")

    assert said.returncode == 1
    assert "could be any of: projects/widgets/decisions/use-files, projects/widgets/facts/use-filters" in said.stderr


def test_names_are_completed(filled, store):
    RecallIndex(store).update()

    said = filled.run(_AGENTM_COMPLETE="bash_complete", COMP_WORDS="agentm notes show us", COMP_CWORD="3")

    assert said.stdout.split() == ["plain,use-files"]


def test_move_gives_another_name_and_kind(filled):
    said = done(filled.run("notes", "move", "port", "--slug", "web-port", "--kind", "reference"))

    assert said == "moved projects/widgets/facts/port.md to projects/widgets/references/web-port.md\n"
    assert not (filled.root / "projects/widgets/facts/port.md").exists()
    moved = text(filled, "references/web-port")
    assert all(part in moved for part in ("kind: reference", "It is 80.", "tags: [net]"))
    assert "web-port" in done(filled.run("search", "port"))


def test_a_note_that_is_for_every_project_now_is_of_none(filled):
    done(filled.run("save", "--slug", "tabs", "--kind", "convention", input="Tabs.\n"))
    assert done(filled.run("notes", "move", "tabs", "--personal")) == (
        "moved projects/widgets/conventions/tabs.md to personal/conventions/tabs.md\n"
    )
    moved = (filled.root / "personal/conventions/tabs.md").read_text()
    assert "widgets" not in moved
    by_hand = moved.replace('project: ""', "project: widgets")
    assert "project: widgets" in by_hand
    assert parse_note("personal/conventions/tabs.md", by_hand)[0].project is None
    assert parse_note("tabs.md", by_hand)[0].project == "widgets"


def test_move_takes_nobodys_place(filled):
    filled.note("projects/widgets/decisions/port.md", "# Another\n")

    said = filled.run("notes", "move", "facts/port", "--kind", "decision")

    assert (said.returncode, "exists already" in said.stderr) == (1, True)
    assert "It is 80." in text(filled, "facts/port")


def test_doubt_lowers_a_note_and_confirming_it_raises_it(filled, store):
    for slug in ("one", "two"):
        filled.note(
            f"projects/widgets/facts/{slug}.md",
            f"---\nupdated: 2025-02-01\n---\n# Gateway {slug}\nThe gateway answers on port {slug}.\n",
        )

    def found():
        answers = json.loads(done(filled.run("search", "gateway answers", "--json")))["found"]
        return [answer["slug"] for answer in answers]

    first, second = found()
    done(filled.run("notes", "doubt", first, "--reason", "it moved"))
    assert found() == [second, first]
    assert "confidence_reason: it moved" in text(filled, f"facts/{first}")
    assert f"facts/{first}" in done(filled.run("notes", "review"))

    done(filled.run("notes", "confirm", first))
    assert "verified: 2" in text(filled, f"facts/{first}")
    assert "verified 2" in phase_recall("work", "widgets", backend=store)
    assert "doubted" not in done(filled.run("notes", "review"))


@pytest.mark.parametrize("verdict", ["confirm", "doubt"])
def test_a_forgotten_note_is_not_judged_and_the_way_out_is_named(filled, verdict):
    done(filled.run("forget", "use-files"))
    forgotten = text(filled)

    said = filled.run("notes", verdict, "use-files")

    assert (said.returncode, said.stdout) == (1, "")
    assert "'projects/widgets/decisions/use-files.md' was forgotten" in said.stderr
    assert "`agentm notes edit use-files`" in said.stderr
    assert text(filled) == forgotten
    done(filled.run("notes", "edit", "use-files", **editor(filled, "sed -i 's/^status:.*/status: active/' \"$1\"")))
    done(filled.run("notes", verdict, "use-files"))


@pytest.mark.parametrize("verdict", ["confirm", "doubt"])
def test_a_note_that_was_replaced_is_not_judged_and_the_one_that_counts_is_named(filled, verdict):
    done(filled.run("save", "--kind", "decision", "--slug", "use-rows", "--supersedes", "use-files", input="Rows."))

    said = filled.run("notes", verdict, "use-files")

    assert (said.returncode, said.stdout) == (1, "")
    assert "was replaced, so no session is given it" in said.stderr
    assert "use-rows" in done(filled.run("recall-here", "--why", "use-files"))


def test_a_note_does_not_move_to_a_name_that_another_note_has_replaced(filled):
    done(filled.run("save", "--kind", "decision", "--slug", "use-rows", "--supersedes", "use-files", input="Rows."))

    said = filled.run("notes", "move", "facts/port", "--slug", "use-files")

    assert "'projects/widgets/facts/use-files.md' would be hidden" in said.stderr
    assert said.returncode == 1
    assert (filled.root / "projects/widgets/facts/port.md").is_file()
    assert filled.run("notes", "move", "facts/port", "--slug", "port").returncode == 1
    assert (filled.root / "projects/widgets/facts/port.md").is_file()


def test_a_note_that_another_one_has_replaced_does_not_come_back_by_a_move(filled):
    note = filled.root / "projects/widgets/decisions/rows.md"
    note.write_text("---\nsupersedes: [use-files]\n---\n\nRows.\n")

    done(filled.run("notes", "move", "use-files", "--slug", "files"))

    assert "status: superseded" in text(filled, "decisions/files")


def test_list_by_day_and_tag(filled):
    def listed(*words):
        return [note["slug"] for note in json.loads(done(filled.run("notes", "list", "--json", *words)))["notes"]]

    assert listed("--since", "2025-02-01") == ["port"]
    assert listed("--tag", "net") == ["port"]
    assert listed("--kind", "decision") == ["use-files"]
    assert listed("--since", "today") == listed("--since", "2d") == []
    done(filled.run("save", "--kind", "fact", "--slug", "fresh", input="Saved a moment ago."))
    assert listed("--since", "yesterday") == ["fresh"]
    assert listed("--since", "99999d") == listed()
    assert filled.run("notes", "list", "--since", "lately").returncode == 2


def test_a_kind_that_no_note_is_of_is_a_wrong_word_unless_a_note_has_it(filled):
    refused = filled.run("notes", "list", "--kind", "decison")
    assert refused.returncode == 1
    assert "no note is of the kind 'decison'\nhint: run it with one of always-load" in refused.stderr
    filled.note("projects/widgets/facts/odd.md", "---\nkind: recipe\n---\n# Odd\n")
    assert "Odd" in done(filled.run("notes", "list", "--kind", "recipe"))


def test_history_and_undo_by_the_name_of_a_note(filled):
    done(
        filled.run("save", "--kind", "decision", "--slug", "use-files", "--update", input="# Use files\n\nAlways.\n")
    )
    assert "Always." in text(filled)

    assert "projects/widgets/decisions/use-files.md" in done(filled.run("notes", "history", "use-files"))
    assert "brought back" in done(filled.run("notes", "undo", "use-files"))
    assert text(filled) == NOTE
    assert "use-files" in done(filled.run("search", "they last"))


def test_a_note_that_is_gone_is_not_taken_for_another_that_has_its_name_as_a_part(filled):
    """`notes undo port` changed port-mapping, once another program had deleted port."""
    for port in ("80", "81"):
        done(filled.run("save", "--kind", "fact", "--slug", "port-mapping", "--update", f"Mapped to {port}."))
    (filled.root / "projects/widgets/facts/port.md").unlink()

    refused = filled.run("notes", "undo", "port")

    assert refused.returncode == 1
    assert "is it projects/widgets/facts/port-mapping?" in refused.stderr
    assert "`agentm checkpoint undo port`" in refused.stderr
    assert "Mapped to 81." in text(filled, "facts/port-mapping")


def test_undoing_says_so_where_another_note_still_replaces_the_one_that_came_back(filled):
    replaced = ("save", "--kind", "decision", "--slug", "use-databases", "--supersedes", "use-files", "They grow.")
    done(filled.run(*replaced))

    undone = filled.run("notes", "undo", "use-files")

    assert "brought back" in done(undone)
    assert "no session is given it: projects/widgets/decisions/use-databases has replaced it" in undone.stderr
    done(filled.run("forget", "use-databases"))
    assert filled.run("notes", "undo", "use-files").stderr == ""


def test_review_lists_what_is_stale_and_what_says_nearly_the_same(filled):
    body = (
        "# Deploy window\n\nDeployments of the billing service happen on {day} mornings after the standup meeting.\n"
    )
    filled.note("projects/widgets/facts/deploys.md", f"---\nupdated: 2025-01-01\n---\n{body.format(day='Tuesday')}")
    filled.note("projects/widgets/facts/window.md", f"---\nupdated: 2025-05-01\n---\n{body.format(day='Thursday')}")
    red = "# Key\n\nIt is red.\n"
    done(filled.run("save", "--kind", "fact", "--slug", "key", "--stale-after", "2024-12-31T10:00", input=red))

    found = json.loads(done(filled.run("notes", "review", "--json")))["found"]

    assert {(one["what"], one["slug"], one["other"]) for one in found} == {
        ("stale", "key", None),
        ("alike", "window", "projects/widgets/facts/deploys.md"),
    }
    assert "stale since 2024-12-31" in done(filled.run("recall-here"))
    assert "(stale since 2024-12-31)" in done(filled.run("search", "red key"))


def test_why_a_note_is_not_recalled(filled):
    def why(*words):
        return done(filled.run("recall-here", *words))

    assert "the phase work reads decisions, known-issues, conventions first; it is number" in why("--why", "port")
    assert "has no word of the query" in why("--why", "port", "--query", "they last")
    assert "answer 1 of 1: score" in why("--why", "port", "--query", "port 80")
    done(
        filled.run("save", "--kind", "fact", "--slug", "gate", "--supersedes", "port", input="# Gate\n\nIt is 81.\n")
    )
    assert "not shown\n  projects/widgets/facts/gate has replaced it" in why("--why", "port")
    done(filled.run("forget", "gate"))
    assert "it was forgotten" in why("--why", "gate")
    filled.note("projects/other/facts/foreign.md", "# Foreign\n")
    assert "it is of the project other" in why("--why", "foreign")


def test_why_a_note_is_not_recalled_is_known_before_the_index_knows(filled, store):
    RecallIndex(store).update()
    filled.note("projects/widgets/facts/gate.md", "---\nupdated: 2030-01-01\nsupersedes: [port]\n---\nIt is 81.\n")
    why = done(filled.run("recall-here", "--why", "port"))
    assert why == "projects/widgets/facts/port: not shown\n  projects/widgets/facts/gate has replaced it\n"

    filled.note("projects/widgets/facts/port.md", "---\nupdated: 2031-01-01\nsupersedes: [gate]\n---\nIt is 82.\n")
    assert "port: shown\n  the phase" in done(filled.run("recall-here", "--why", "port"))
    assert "gate: not shown\n  projects/widgets/facts/port has replaced it" in done(
        filled.run("recall-here", "--why", "gate")
    )


def test_review_lists_what_no_agent_was_given_in_many_sessions(filled):
    ledger = filled.path / ".local/state/agentm/deliveries/claude-code.jsonl"
    ledger.parent.mkdir(parents=True)
    line = {"time": 4e9, "event": "session-start", "notes": ["projects/widgets/decisions/use-files"]}

    def unused(sessions):
        lines = [json.dumps({**line, "session": str(number)}) + "\n" for number in range(sessions)]
        ledger.write_text("not a line\n" + "".join(lines))
        found = json.loads(done(filled.run("notes", "review", "--json")))["found"]
        return [one["key"] for one in found if one["what"] == "unused"]

    assert unused(19) == []
    assert unused(20) == ["projects/widgets/facts/port.md"]


def test_why_of_a_note_that_is_not_there_is_an_error(filled):
    said = filled.run("recall-here", "--why", "nope")

    assert (said.returncode, said.stdout) == (1, "")
    assert said.stderr.startswith("error: ")
    assert "\nhint: " in said.stderr


def test_what_happened_a_moment_ago_is_counted_once(filled, store):
    RecallIndex(store).update()
    for slug in ("one", "two", "three"):
        done(filled.run("save", "--kind", "reference", "--slug", slug, input=f"# {slug}\n"))
    done(filled.run("forget", "one"))
    done(filled.run("notes", "move", "two", "--slug", "zwei"))

    said = done(filled.run("recall-here"))

    assert said.splitlines()[-1] == "Left out: 1 deleted. Find more with `agentm search`."
    assert said.count("```note\n") == 4
    assert " of 4, as the room allows" in done(filled.run("recall-here", "--why", "zwei"))


def test_a_note_that_is_nowhere_is_said_to_be_nowhere_in_the_store(filled):
    assert "there is no note 'no-such' in the store\n" in filled.run("recall-here", "--why", "no-such").stderr
