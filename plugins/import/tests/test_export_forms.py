"""What a note looks like in the format of each other tool."""

from __future__ import annotations

from pathlib import Path

import pytest
from import_home import Home

from agentm_import.contract import NoteFormat, note_format
from agentm_import.exports.claude_code import claude_files, memory
from agentm_import.exports.codex import codex_files
from agentm_import.exports.okf import concept, invalid, okf_files, original, quoted
from agentm_import.exports.stored import StoredNote, current, parsed
from agentm_kernel.plugin import FileStore, Locator, content_hash


def note(key: str, body: str = "We drink tea.\n", kind: str = "fact", **fields: str | list[str]) -> StoredNote:
    return StoredNote(key, f"---\nx: y\n---\n{body}", fields, body, kind)


TEA = "projects/widgets/facts/tea.md"


@pytest.fixture
def notes(home: Home) -> NoteFormat:
    return note_format(home.device())


def test_a_note_is_called_by_its_title_its_heading_or_its_name() -> None:
    assert note(TEA, "# Heading \n", title="Title").title == "Title"
    assert note(TEA, "text\n## Heading \n").title == "Heading"
    assert note(TEA).title == "tea"
    assert note(TEA, "#\n").title == "tea"


def test_a_note_is_about_its_description_or_its_first_words() -> None:
    assert note(TEA, description="What we\n drink").summary() == "What we drink"
    assert note(TEA, "\n# Tea\n\n> We drink\x07tea.\nMore.\n").summary() == "We drink tea."
    assert note(TEA, "# Tea\n").summary() == ""
    assert note(TEA, "x" * 10).summary(10) == "x" * 10
    assert note(TEA, "x" * 11).summary(10) == "x" * 9 + "…"
    assert len(note(TEA, "x" * 151).summary()) == 150
    assert len(note(TEA, "x" * 150).summary()) == 150


def test_only_what_still_holds_is_handed_to_another_tool_the_newest_first(notes: NoteFormat, tmp_path: Path) -> None:
    store = FileStore(tmp_path / "store", create_root=True)
    for key, text in {
        "old.md": "---\nstatus: active\nupdated: 2026-07-01\n---\nOld.\n",
        "new.md": '---\nupdated: 2026-07-02\nsupersedes: ["[[facts/replaced.md]]", other]\n---\nNew.\n',
        "made.md": "---\ncreated: 2026-07-03\n---\nMade.\n",
        "replaced.md": "Replaced.\n",
        "other.md": "Replaced, too.\n",
        "deleted.md": "---\nstatus: Deleted\n---\nDeleted.\n",
        "superseded.md": "---\nstatus: superseded\n---\nSuperseded.\n",
    }.items():
        store.write(Locator(f"personal/facts/{key}"), text)
    store.write(Locator("personal/facts/picture.txt"), "No note.\n")
    found, gone = current(notes, [(store, Locator("personal"))])
    assert [one.slug for one in found] == ["made", "new", "old"]
    assert gone == 4


def test_the_kind_of_a_note_is_its_own_word_or_that_of_its_folder(notes: NoteFormat) -> None:
    assert parsed(notes, TEA, "---\nkind: decision\n---\nx\n").kind == "decision"
    assert parsed(notes, TEA, "---\nkind: []\n---\nx\n").kind == "fact"
    assert parsed(notes, TEA, "x\n").kind == "fact"


@pytest.mark.parametrize(
    ("key", "kind", "word"),
    [
        ("personal/facts/tea.md", "fact", "user"),
        (TEA, "fact", "project"),
        (TEA, "convention", "feedback"),
        (TEA, "reference", "reference"),
        ("personal/_always-load/tea.md", "always-load", "user"),
    ],
)
def test_a_memory_for_claude_code_says_whose_it_is(key: str, kind: str, word: str) -> None:
    head = f'---\nname: "tea"\ndescription: "We drink tea."\nmetadata:\n  type: {word}\n'
    assert memory(note(key, "\nWe drink tea.", kind), "tea") == f"{head}---\n\nWe drink tea.\n"
    dated = memory(note(key, kind=kind, updated="2026-07-01"), "tea")
    assert dated == f'{head}modified: "2026-07-01"\n---\n\nWe drink tea.\n'


def test_the_index_of_claude_code_keeps_its_lines_and_those_of_an_export_are_made_anew(tmp_path: Path) -> None:
    index = "- [Mine](mine.md) — mine\n- [Gone](gone.md) — of an earlier export\n- [Tea](tea.md) — before\nThe end"
    (tmp_path / "MEMORY.md").write_text(index)
    notes = [note(TEA, title="[Tea]"), note("personal/facts/tea.md"), note("personal/facts/MEMORY.md")]
    files, left_out, before = claude_files(notes, str(tmp_path), {"gone.md"})
    assert list(files) == ["tea.md", "tea-fact-1.md", "MEMORY-fact-2.md", "MEMORY.md"]
    assert files["MEMORY.md"] == (
        "- [Mine](mine.md) — mine\nThe end\n"
        "- [(Tea)](tea.md) — We drink tea.\n"
        "- [tea](tea-fact-1.md) — We drink tea.\n"
        "- [MEMORY](MEMORY-fact-2.md) — We drink tea.\n"
    )
    assert files["tea-fact-1.md"].startswith('---\nname: "tea-fact-1"\n')
    assert (left_out, before) == ([], index)


def test_the_lines_in_the_index_of_claude_code_are_short() -> None:
    files, _, _ = claude_files([note(TEA, "x" * 200, title="y" * 200)], "/nowhere", set())
    assert files["MEMORY.md"] == f"- [{'y' * 80}](tea.md) — {'x' * 109}…\n"


@pytest.mark.parametrize(
    ("count", "own", "length", "lines", "said"),
    [
        (200, 0, 1, 200, []),
        (201, 0, 1, 200, ["left out of MEMORY.md, which holds 200 lines: 1 of the notes"]),
        (3, 198, 1, 200, ["left out of MEMORY.md, which holds 200 lines: 1 of the notes"]),
        (2, 201, 1, 201, ["left out of MEMORY.md, which holds 200 lines: 2 of the notes"]),
        (190, 0, 110, 187, ["left out of MEMORY.md, which holds 200 lines: 3 of the notes"]),
    ],
    ids=["as many as it reads", "one more", "beside its own", "already too long", "too many bytes"],
)
def test_claude_code_gets_no_more_lines_than_it_reads(
    count: int, own: int, length: int, lines: int, said: list[str], tmp_path: Path
) -> None:
    (tmp_path / "MEMORY.md").write_text("mine\n" * own)
    notes = [note(f"personal/facts/n{number:03}.md", "x" * length) for number in range(count)]
    files, left_out, _ = claude_files(notes, str(tmp_path), set())
    assert files["MEMORY.md"].count("\n") == lines
    assert len(files["MEMORY.md"].encode()) <= 25_000
    assert left_out[: len(said)] == said
    assert left_out[len(said) :] == ([f"Claude Code looks at 200 files; there are {count}"] if count > 200 else [])
    assert len(files) == count + 1


def test_the_index_of_claude_code_may_have_exactly_as_many_bytes_as_it_reads(tmp_path: Path) -> None:
    line = len("- [n0](n0.md) — \n".encode())
    notes = [note(f"personal/facts/n{number}.md", "") for number in range(2)]
    for more, lines in ((0, 3), (1, 2)):
        (tmp_path / "MEMORY.md").write_text("x" * (25_000 - 2 * line - 1 + more) + "\n")
        files, _, _ = claude_files(notes, str(tmp_path), set())
        assert files["MEMORY.md"].count("\n") == lines


@pytest.mark.parametrize(
    ("changed", "stamp"),
    [
        ("2026-07-01T10:11:12+00:00", "2026-07-01T10-11-12"),
        ("2026-07-01 10:11:12", "2026-07-01T10-11-12"),
        ("2026-07-01", "2026-07-01T00-00-00"),
        ("", "2000-01-01T00-00-00"),
    ],
)
def test_a_note_for_codex_has_its_time_in_its_name(changed: str, stamp: str) -> None:
    assert list(codex_files([note(TEA, updated=changed)])) == [f"extensions/ad_hoc/notes/{stamp}-tea.md"]


def test_names_for_codex_are_plain_short_and_all_different() -> None:
    long = "x" * 78 + "-" + "y" * 20
    keys = [
        f"a/{name}.md" for name in ("Tea Time", "tea-time", "tea.time", "日本", f"{long}", f"{long}z", f"{long}zz")
    ]
    names = [
        path.removeprefix("extensions/ad_hoc/notes/2000-01-01T00-00-00-")
        for path in codex_files(list(map(note, keys)))
    ]
    assert names == [
        "tea-time.md",
        "tea-time-fact.md",
        "tea-time-2.md",
        "note.md",
        f"{'x' * 78}-y.md",
        f"{'x' * 75}-fact.md",
        f"{'x' * 78}-2.md",
    ]


def test_a_note_for_codex_has_a_title() -> None:
    assert [*codex_files([note(TEA, " text ", title="Tea")]).values()] == ["# Tea\n\ntext\n"]
    assert [*codex_files([note(TEA, "\n# Tea\n\ntext\n", title="Other")]).values()] == ["# Tea\n\ntext\n"]


def test_a_concept_of_okf_says_everything_that_the_note_does() -> None:
    text = "---\nx: y\n---\nWe drink tea.\n"
    full = note(TEA, title="Tea", tags=["a", 'b"'], status="Superseded", updated="2026-07-01", source="operator")
    assert concept(full) == (
        '---\ntype: "fact"\ntitle: "Tea"\ndescription: "We drink tea."\ntags: ["a", "b\\""]\nstatus: deprecated\n'
        'generated: { by: "human:operator", at: "2026-07-01" }\n'
        f'agentm_key: "{TEA}"\nagentm_head: "---\\nx: y\\n---\\n"\nagentm_sha256: {content_hash(text)}\n'
        "---\nWe drink tea.\n"
    )
    bare = concept(note(TEA, "# Tea\n"))
    assert bare.startswith('---\ntype: "fact"\ntitle: "Tea"\nstatus: stable\nagentm_key:')
    assert 'by: "agentm/unknown"' in concept(note(TEA, created="2026-07-01"))
    assert 'by: "codex/unknown"' in concept(note(TEA, created="2026-07-01", source="codex"))
    assert f'title: "{"x" * 200}"\n' in concept(note(TEA, title="x" * 201))


@pytest.mark.parametrize(("length", "is_apart"), [(6_000, True), (6_001, False)])
def test_front_matter_that_is_very_long_stays_with_the_body(length: int, is_apart: bool) -> None:
    head = "---\nx: " + "y" * (length - 12) + "\n---\n"
    long = StoredNote(TEA, f"{head}Tea.\n", {}, "Tea.\n", "fact")
    made = concept(long)
    assert len(head) == length
    assert made.endswith("---\nTea.\n")
    assert ('agentm_head: ""' not in made) is is_apart
    assert original(made) == (TEA, long.text, True)


def test_what_was_edited_in_a_bundle_is_known_to_be() -> None:
    made = concept(note(TEA))
    assert original(made) == (TEA, "---\nx: y\n---\nWe drink tea.\n", True)
    assert original(made.replace("tea.\n", "coffee.\n")) == (TEA, "---\nx: y\n---\nWe drink coffee.\n", False)
    assert original("---\ntype: x\n---\nagentm_key\n") is None
    assert original("---\nagentm_key: a\n---\n") is None
    assert original('---\nagentm_key: [a]\nagentm_head: ""\n---\n') is None
    assert original("---\nagentm_key: [a\n---\n") is None


def test_the_index_of_a_bundle_leads_to_every_note_and_no_note_is_taken_for_it(notes: NoteFormat) -> None:
    files = okf_files(
        notes,
        [
            ("b/x (1).md", "# [X]\n\nSaid.\n"),
            ("index.md", "# Mine\n"),
            ("a/Log.md", "Logged.\n"),
            ("a/_project.json", "{}"),
        ],
    )
    index, log = f"index-note-{content_hash('index.md')[:6]}.md", f"a/Log-note-{content_hash('a/Log.md')[:6]}.md"
    assert list(files) == ["b/x (1).md", index, log, "a/_project.json", "index.md"]
    assert files["a/_project.json"] == "{}"
    assert files["index.md"] == (
        f'---\nokf_version: "0.2"\n---\n\n# Notes\n\n* [Log]({log}) - Logged.\n'
        f"* [(X)](b/x%20%281%29.md) - Said.\n* [Mine]({index})\n"
    )


@pytest.mark.parametrize(
    ("path", "text", "reason"),
    [
        ("a.md", "---\ntype: x\n---\n", None),
        ("a.md", "---\nkind: x\n---\n", "no type"),
        ("a.md", "---\ntype: [x]\n---\n", "no type"),
        ("a.md", "text\n", "no front matter"),
        ("a.md", "---\na: [\n---\n", "front matter that is not YAML: "),
        ("index.md", '---\nokf_version: "0.2"\n---\n', None),
        ("a/index.md", '---\nokf_version: "0.2"\n---\n', "front matter in an index"),
        ("a/index.md", "* x\n", None),
    ],
)
def test_a_file_that_breaks_the_rules_of_okf_is_told(path: str, text: str, reason: str | None) -> None:
    told = invalid(path, text)
    assert told == reason or (told is not None and reason is not None and told.startswith(reason) and "YAML" in told)


def test_a_quoted_text_has_nothing_in_it_that_yaml_would_read() -> None:
    assert quoted('a "b" \\ é\n') == '"a \\"b\\" \\\\ é\\n"'
    assert quoted("\x07\xad\u2028\ufeff\U000e0001") == '"\\x07\\xad\\u2028\\ufeff\\U000e0001"'
