"""The text of an imported note, the front matter of other tools, and the files of a source: to the letter."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from import_home import Home

from agentm_import.contract import NoteFormat, detect_all, note_format
from agentm_import.importing import Import
from agentm_import.items import Item, as_item
from agentm_import.note_text import note_text, one_line
from agentm_import.planning import SKIP
from agentm_import.source_files import (
    LARGEST,
    Unreadable,
    count_files,
    iso_time,
    read_bytes,
    read_lines,
    read_text,
    walk,
)
from agentm_import.sources._common import bullets, kind_of, listed, moment, section
from agentm_import.yaml_text import NotYaml, mapping, split, texts
from agentm_kernel.plugin import MAX_CONTENT_BYTES, AgentmError, Locator

if TYPE_CHECKING:
    from collections.abc import Callable

PLACE, FOLDER = Locator("projects/widgets/facts/tea.md"), Locator("projects/widgets")


@pytest.fixture
def notes(home: Home) -> NoteFormat:
    return note_format(home.device())


def test_a_note_says_all_that_its_source_does(notes: NoteFormat) -> None:
    item = Item(
        "table/1\n",
        "\n\nWe drink tea.",
        title=" Tea \x07 time ",
        kind="decision",
        tags=("a", " ", "b"),
        created="2026-07-01",
        updated="2026-07-02",
        status="superseded",
        extra={"session": "s\n1", "aliases": ("t\n", "u"), "none": "", "kind": "not this"},
    )
    assert note_text(notes, "tool", item, PLACE, FOLDER, ("old",)) == (
        "---\nkind: decision\nstatus: superseded\ntitle: Tea time\ntags: [a, b]\nproject: widgets\n"
        "created: 2026-07-01\nupdated: 2026-07-02\nsource: tool\norigin: table/1\nsupersedes: [old]\n"
        "session: s 1\naliases: [t, u]\n---\n\nWe drink tea.\n"
    )
    bare = note_text(notes, "tool", Item("x", "Text.\n", created="2026-07-01"), PLACE, None, ())
    assert bare == (
        "---\nkind: fact\nstatus: active\ncreated: 2026-07-01\nupdated: 2026-07-01\nsource: tool\norigin: x\n---\n\n"
        "Text.\n"
    )
    assert note_text(notes, "tool", Item("x", "as it is", key=PLACE.key), PLACE, FOLDER, ()) == "as it is"


def test_a_file_keeps_its_fields_and_gets_those_that_it_has_not(notes: NoteFormat) -> None:
    def added(body: str, **fields: Any) -> str:
        return note_text(notes, "tool", Item("a.md", body, verbatim=True, **fields), PLACE, None, ())

    own = "---\nsource: mine\ntitle: Mine\n---\nText\n"
    assert added(own, kind="reference", title="Other") == "---\nsource: mine\ntitle: Mine\norigin: a.md\n---\nText\n"
    assert added(own, kind="decision") == "---\nsource: mine\ntitle: Mine\norigin: a.md\nkind: decision\n---\nText\n"
    kind = "---\nkind: fact\nstatus: deprecated\n---\nText\n"
    assert added(kind, kind="decision", status="superseded") == (
        "---\nkind: fact\nstatus: superseded\nsource: tool\norigin: a.md\noriginal_status: deprecated\n---\nText\n"
    )
    assert "status: deprecated\n" in added(kind, kind="decision")
    assert "original_status" not in added("---\na: b\n---\nText\n", status="superseded")
    broken = "---\na: [\n---\nText\n"
    assert added(broken) == broken


def test_a_field_is_one_line_of_bounded_length() -> None:
    assert one_line(" a\n\tb\x00 c ") == "a b c"
    assert one_line("x" * 201) == "x" * 200
    assert one_line(" " * 700 + "x" * 300) == "x" * 100
    assert one_line("x" * 199 + " y") == "x" * 199


@pytest.mark.parametrize(
    ("text", "yaml", "body", "line"),
    [
        ("---\na: b\n---\nText\n", "a: b\n", "Text\n", 4),
        ("\ufeff--- \na: b\n...\nText\n", "a: b\n", "Text\n", 4),
        ("---\n---\nText\n", "", "Text\n", 3),
        ("---\na: b\n---", "a: b\n", "", 4),
        ("Text\n---\n", None, "Text\n---\n", 1),
        ("\ufeffText\n", None, "Text\n", 1),
        ("---", None, "---", 1),
        ("---\nno end\n", None, "---\nno end\n", 1),
    ],
)
def test_front_matter_is_split_from_the_body(text: str, yaml: str | None, body: str, line: int) -> None:
    assert split(text) == (yaml, body, line)


def test_front_matter_may_have_so_many_letters_and_no_more() -> None:
    head = "a: " + "b" * 16_380 + "\n"
    assert split(f"---\n{head}---\nText\n") == (head, "Text\n", 4)
    assert split(f"---\n{head}\n---\nText\n")[0] is None
    with pytest.raises(NotYaml, match="too large"):
        mapping(f"{head}x: [1]")


def test_front_matter_is_plain_texts_lists_and_mappings() -> None:
    assert mapping("a: b c\nd: 1.5\n") == {"a": "b c", "d": "1.5"}
    assert mapping("a: [1, {b: true}]\nc:\n  d: null\n? [x]\n: y\n") == {
        "a": ["1", {"b": "true"}],
        "c": {"d": "null"},
    }
    assert mapping("") == {}
    assert mapping("# nothing") == {}
    with pytest.raises(NotYaml, match="not a list of `key: value` fields"):
        mapping("- a")
    with pytest.raises(NotYaml):
        mapping("a: b\na: c\nd: [\n")
    assert mapping("a: b:c\n") == {"a": "b:c"}


@pytest.mark.parametrize(("deep", "is_read"), [(30, True), (31, False)])
def test_front_matter_is_not_nested_for_ever(deep: int, is_read: bool) -> None:
    yaml = "a: " + "[" * deep + "]" * deep
    if is_read:
        assert list(mapping(yaml)) == ["a"]
    else:
        with pytest.raises(NotYaml, match="nested too deeply"):
            mapping(yaml)


def test_front_matter_that_multiplies_is_refused() -> None:
    with pytest.raises(NotYaml, match="too large"):
        mapping("a: " + "[" * 501)
    yaml = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"{new}: &{new} [{', '.join([f'*{old}'] * 10)}]\n" for old, new in zip("abc", "bcd", strict=True)
    )
    with pytest.raises(NotYaml, match="nested too deeply"):
        mapping(yaml)


def test_several_words_are_a_list_or_have_commas_between_them() -> None:
    assert texts("a, #b,,a") == ("a", "b")
    assert texts(["#a ", 3, "", "b  c"]) == ("a", "b c")
    assert texts(3) == ()


@pytest.mark.parametrize(
    ("value", "spelled"),
    [
        (1_785_578_400, "2026-08-01T10:00:00+00:00"),
        (1_785_578_400_000, "2026-08-01T10:00:00+00:00"),
        (" 1785578400 ", "2026-08-01T10:00:00+00:00"),
        (100_000_000_000, "5138-11-16T09:46:40+00:00"),
        (" 2026-07-01 10:00 ", "2026-07-01 10:00"),
        ("2026/07/01", "2026/07/01"),
        ("2026-07-01" + "x" * 50, "2026-07-01" + "x" * 30),
        ("2026-07-0", ""),
        ("2026.07.01", ""),
        ("July 2026, 1", ""),
        (None, ""),
        (True, ""),
        (1e300, ""),
    ],
)
def test_a_moment_is_spelled_as_notes_do(value: object, spelled: str) -> None:
    assert moment(value) == spelled


def test_a_moment_beyond_the_calendar_is_none() -> None:
    assert iso_time(float("nan")) == ""
    assert iso_time(1e18) == ""


def test_words_of_other_tools_for_kinds_lists_and_sections_are_understood() -> None:
    assert (kind_of(" Known_Issue "), kind_of("Open question"), kind_of("x"), kind_of("x", "reference")) == (
        "known-issue",
        "open-question",
        "fact",
        "reference",
    )
    assert listed(' ["a", 1, null, ["b"]]') == ["a", "1"]
    assert listed('{"a": 1}') == listed(3) == listed("[") == []
    assert bullets("T", ["a\nb", " "]) == "## T\n\n- a b\n\n"
    assert bullets("T", [" "]) == section("T", " ") == section("T", 3) == ""


def test_a_file_is_read_up_to_its_limit_and_no_byte_further(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"12345")
    assert read_bytes(str(file), 5) == b"12345"
    assert LARGEST == MAX_CONTENT_BYTES - 65_536, "with the front matter it has to fit into a note"
    with pytest.raises(Unreadable, match=r"larger than a note may be \(5 bytes\)"):
        read_bytes(str(file), 4)
    with pytest.raises(Unreadable, match="not a regular file"):
        read_bytes(str(tmp_path))
    with pytest.raises(Unreadable, match="^No such file or directory$"):
        read_bytes(str(tmp_path / "none"))
    file.write_bytes(b"a\nb\xff")
    with pytest.raises(Unreadable, match=r"not UTF-8 \(line 2\)"):
        read_text(str(file))


def test_a_line_is_read_up_to_its_limit_and_the_next_ones_as_well(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"1234\n12345\n1234567890\n12\n\n123")
    assert list(read_lines(str(file), 5)) == [(1, b"1234"), (2, None), (3, None), (4, b"12"), (5, b""), (6, b"123")]
    with pytest.raises(Unreadable, match="^No such file or directory$"):
        list(read_lines(str(tmp_path / "none")))
    (tmp_path / "link").symlink_to(file)
    for reading in (read_lines, read_bytes):
        with pytest.raises(Unreadable, match="^a link; links are not followed$"):
            list(reading(str(tmp_path / "link")))
    with pytest.raises(Unreadable, match="not a regular file"):
        list(read_lines(os.devnull))


def test_a_folder_is_walked_in_order_and_not_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("b/x.md", "a/y.md", "c.md", ".hidden/z.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    assert list(walk(str(tmp_path))) == ["c.md", "a/y.md", "b/x.md"]
    assert (count_files(str(tmp_path)), count_files(str(tmp_path), limit=2), count_files(str(tmp_path), ".x")) == (
        3,
        2,
        0,
    )
    monkeypatch.setattr("agentm_import.source_files._DEEPEST", 0)
    assert [getattr(found, "reason", found) for found in walk(str(tmp_path))] == [
        "c.md",
        "nested deeper than 0 folders",
    ]
    monkeypatch.setattr("agentm_import.source_files._DEEPEST", 1)
    assert list(walk(str(tmp_path))) == ["c.md", "a/y.md", "b/x.md"]
    for most, said in ((6, "b/x.md"), (5, "more than 5 files: import its folders one by one")):
        monkeypatch.setattr("agentm_import.source_files._MOST", most)
        assert [getattr(found, "reason", found) for found in walk(str(tmp_path))][-1] == said


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (["x"], "it yielded a list, not a mapping"),
        ({"origin": "x", "body": "y", "colour": "red"}, "there is no field 'colour'"),
        ({"body": "y"}, "'origin' is not a text"),
        ({"origin": "x", "body": 3}, "'body' is not a text"),
        ({"origin": "x", "body": "y", "created": None}, "'created' is not a text"),
        ({"origin": "x", "body": "y", "slug": 5}, "'slug' is not a text"),
        ({"origin": "x", "body": "y", "path": 3}, "'path' is not a text"),
        ({"origin": "x", "body": "y", "project": 5}, "'project' is not a text"),
        ({"origin": "x", "body": "y", "tags": "a,b"}, "'tags' is not a list of texts"),
        ({"origin": "x", "body": "y", "supersedes": None}, "'supersedes' is not a list of texts"),
        ({"origin": "x", "body": "y", "line": "1"}, "'line' is not a number"),
        ({"origin": "x", "body": "y", "verbatim": 1}, "'verbatim' is not true or false"),
        ({"origin": "x", "body": "y", "extra": None}, "'extra' is not a mapping"),
        ({"origin": "x", "body": "y", "extra": {"a": None}}, "'a' in 'extra' is neither a text nor a tuple of texts"),
        ({"origin": "x"}, "an item has neither a body nor a reason"),
    ],
)
def test_an_importer_of_somebody_else_that_breaks_the_contract_is_told_where(given: object, why: str) -> None:
    with pytest.raises(AgentmError, match=why) as told:
        as_item(given, "tool")
    assert told.value.hint == "nothing of it was imported"


def test_an_importer_that_fails_is_named_and_nothing_is_imported(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    class Failing:
        def read(self, path: str, device: object) -> list[object]:
            raise OSError("the disk is gone")

    monkeypatch.setattr("agentm_import.importing.find_importer", lambda device, name: Failing())
    with pytest.raises(AgentmError, match="the importer 'failing' failed: .*the disk is gone") as told:
        Import(home.device(), "failing")
    assert told.value.hint == "nothing was imported"


@pytest.mark.parametrize(
    ("end", "why"), [(lambda: sys.exit(0), r"sys\.exit\(0\)"), (lambda: os._exit(0), r"os\._exit\(\)")]
)
def test_an_importer_that_ends_the_process_is_named_and_nothing_is_imported(
    home: Home, monkeypatch: pytest.MonkeyPatch, end: Callable[[], None], why: str
) -> None:
    class Ending:
        def read(self, path: str, device: object) -> None:
            end()

    monkeypatch.setattr("agentm_import.importing.find_importer", lambda device, name: Ending())
    with pytest.raises(AgentmError, match=f"the importer 'ending' failed in reading: it called {why}"):
        Import(home.device(), "ending")


def test_sources_are_looked_for_by_every_importer_however_one_of_them_fails(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers: dict[str, Callable[[], object]] = {
        "a-number": lambda: 17,
        "ending": lambda: os._exit(0),
        "good": lambda: [("/somewhere", 3, "memories")],
        "slow": lambda: time.sleep(60),
        "short": lambda: [("/somewhere", 3)],
    }

    def found(_device: object, name: str) -> SimpleNamespace:
        return SimpleNamespace(label=name, detect=lambda _: answers[name]())

    monkeypatch.setattr("agentm_import.contract.names", lambda _: sorted(answers))
    monkeypatch.setattr("agentm_import.contract.find_importer", found)
    monkeypatch.setattr("agentm_import.contract._PATIENCE", 0.2)
    sources, failures = detect_all(home.device())
    assert [name for name, _, _ in sources] == ["good"]
    assert [line.partition(":")[0] for line in failures] == ["a-number", "ending", "short", "slow"]
    assert failures[-1] == "slow: the importer 'slow' is late: detect took more than 0.2 s"


def test_a_secret_anywhere_around_a_memory_is_refused(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "AKIA" + "IOSFODNN7EXAMPLZ"
    given: list[dict[str, Any]] = [
        {"origin": "a", "body": f"one\n{secret}\ntwo\n{secret}\n", "line": 5},
        {"origin": "b", "body": "x", "title": secret},
        {"origin": "c", "body": "x", "tags": [secret]},
        {"origin": "d", "body": "x", "extra": {"f": secret}},
        {"origin": "e", "body": "x", "extra": {"f": ("y", secret)}},
        {"origin": "f", "body": "x", "slug": secret},
        {"origin": secret, "body": "x"},
    ]

    class Secretive:
        def read(self, path: str, device: object) -> list[dict[str, Any]]:
            return given

    monkeypatch.setattr("agentm_import.importing.find_importer", lambda device, name: Secretive())
    done = Import(home.device(), "secretive").carry_out()
    assert {step.action for step in done.steps} == {SKIP}
    assert all(step.is_problem for step in done.steps)
    lines = tuple(f"line {number} looks like an AWS key id" for number in (6, 8))
    around = "its title or a field looks like an AWS key id"
    assert [step.secrets for step in done.steps] == [lines, *[(around,)] * 6]
    assert done.steps[0].reason == f"seems to hold a secret: {lines[0]} and 1 more"
    assert done.steps[1].reason == f"seems to hold a secret: {around}"
    assert home.notes() == {}


def test_two_things_of_one_name_are_one_and_an_empty_one_is_none(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    class Repeating:
        def read(self, path: str, device: object) -> list[dict[str, Any]]:
            return [{"origin": "x", "body": "One."}, {"origin": "x", "body": "Two."}, {"origin": "y", "body": " \n"}]

    monkeypatch.setattr("agentm_import.importing.find_importer", lambda device, name: Repeating())
    done = Import(home.device(), "repeating").carry_out()
    assert [(step.action, step.reason, step.is_problem) for step in done.steps] == [
        ("create", "", False),
        ("skip", "the source has two things of this name; the first one counts", True),
        ("skip", "empty", False),
    ]
