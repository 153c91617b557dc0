"""What people see of a vault's conflicts: on a terminal, as JSON, on the page and in `agentm doctor`."""

from __future__ import annotations

import json
import os
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from agentm_kernel.plugin import (
    MAX_KEY_BYTES,
    AgentmError,
    Capabilities,
    Device,
    DoctorRow,
    Locator,
    StorageSelectionError,
    content_hash,
)
from agentm_obsidian_vault import commands, doctor, page, setup
from agentm_obsidian_vault.kept import folder_of
from agentm_obsidian_vault.lost_and_found import lost_files
from agentm_obsidian_vault.merge import is_version, union
from agentm_obsidian_vault.names import may_be_suspect, note_of_stub, stub_of_note
from agentm_obsidian_vault.personal_command import _described
from agentm_obsidian_vault.side_by_side import side_by_side
from agentm_obsidian_vault.survey import conflict_copies, find_conflicts, in_conflict, read_copy

if TYPE_CHECKING:
    from pathlib import Path

    from agentm_obsidian_vault import VaultBackend

AT = 1_785_578_400
WHEN = "2026-08-01 10:00:00Z"
MARK = "sync-conflict-20260501-101112-ABCDEF7"


def put(root: Path, name: str, text: str) -> None:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(text)
    os.utime(root / name, (AT, AT))


@pytest.fixture
def conflicts(vault: VaultBackend, root: Path) -> VaultBackend:
    """A log with another version, a plan with one, a version whose note is gone, and a suspect."""
    put(root, "a/progress.md", "- one\n- mine\n")
    put(root, f"a/progress.{MARK}.md", "- one\n- theirs\n")
    put(root, "a/PLAN.md", "# plan\n")
    put(root, f"a/PLAN.{MARK}.md", "# other plan\n")
    put(root, f"b/gone.{MARK}.md", "It was here.\n")
    put(root, "b/Sprint.md", "One thing.\n")
    put(root, "b/Sprint 2.md", "Another thing.\n")
    return vault


# ------------------------------------------------------------------------------------------------ two columns


def rows(mine: str, theirs: str, width: int = 43) -> list[str]:
    return list(side_by_side(mine, theirs, width=width))


def test_lines_that_differ_stand_beside_each_other_with_two_around_them() -> None:
    mine, theirs = "1\n2\n3\n4\nmine\n6\n7\n8\n", "1\n2\n3\n4\ntheirs\nmore\n6\n7\n8\n"
    assert rows(mine, theirs) == [
        "mine                   theirs",
        f"{'-' * 20}   {'-' * 20}",
        "…                      …",
        "3                      3",
        "4                      4",
        "mine                 | theirs",
        "                     | more",
        "6                      6",
        "7                      7",
    ]
    assert rows("1\n2\nmine\n", "1\n2\n")[2:] == [
        "1                      1",
        "2                      2",
        "mine                 |",
    ]
    assert rows("1\n2\n3\nmine\n", "1\n2\n3\n")[2] == "…                      …"
    assert rows("a\n", "a\n")[2:] == []


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("x" * 20, "x" * 20),
        ("x" * 21, "x" * 19 + "…"),
        ("日" * 10, "日" * 10),
        ("日" * 11, "日" * 9 + "…"),
        ("e\u0301" * 20, "e\u0301" * 20),
        ("a\tb", "a   b" + " " * 15),
        ("a\x1b[31m", "a\ufffd[31m" + " " * 14),
    ],
)
def test_a_cell_has_its_width_and_no_command_for_the_terminal(text: str, cell: str) -> None:
    assert rows(text, "z")[2] == f"{cell} | z"


def test_columns_share_the_terminal_and_are_never_too_narrow() -> None:
    assert len(rows("a", "b", width=83)[1]) == 83
    assert len(rows("a", "b", width=84)[1]) == 83
    assert len(rows("a", "b", width=10)[1]) == 43


# ------------------------------------------------------------------------------------------------ merging


def test_lines_that_are_everywhere_are_still_matched_in_a_long_log() -> None:
    """A matcher that takes frequent lines for noise would double them."""
    days = ["- all is well"] * 300
    mine, theirs = ["- mine", *days], ["- theirs", *days]
    assert union("\n".join(mine), "\n".join(theirs)) == "\n".join(["- mine", "- theirs", *days])


@pytest.mark.parametrize(
    ("ours", "others", "is_one"),
    [
        ("1 2 3 a b c d e f g h i", "1 2 3 j k l m n o p q r", True),
        ("1 2 3 a b c d e f g h i s", "1 2 3 j k l m n o p q r t", False),
        ("1 2 a b c d e f", "1 2 g h i j k l", False),
        ("x 1 2 3", "y 1 2 3", True),
        ("x 1", "y 1", False),
        ("x 1 2 a", "y 1 2 b", False),
        ("x 1 2 a b c d", "1 2 y", False),
        ("x 1 2 a b c", "1 2 y", True),
    ],
)
def test_how_much_two_texts_share_shows_whether_they_are_one_note(ours: str, others: str, is_one: bool) -> None:
    assert is_version(ours.replace(" ", "\n"), others.replace(" ", "\n")) is is_one


def test_front_matter_headings_and_rules_show_nothing() -> None:
    shared = "---\na: b\nc: d\ne: f\ng: h\n---\n# One\n## Two\n\n---\n***\n| - |\n"
    assert not is_version(f"{shared}this\n", f"{shared}that\n")
    assert is_version("\ufeff---\na: b\n---\n1\n2\n3\n", "1\n2\n3\n4\n")
    assert is_version("---\n1\n2\n3\n", "1\n2\n3\n")
    assert not is_version(" \n", " \n")
    assert is_version("x", "x")


# ------------------------------------------------------------------------------------------------ commands


@pytest.fixture
def run(conflicts: VaultBackend, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(commands, "_selected_vault", lambda *, read_only=False: (conflicts, conflicts))
    monkeypatch.setattr(commands, "lost_files", list)

    def run(*arguments: str, input: str = "") -> Any:
        return CliRunner().invoke(commands.command, arguments, input=input)

    return run


def test_conflicts_are_listed_with_their_tools_sizes_and_times(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    done = run("conflicts")
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert lines == [
        f"a/PLAN.md a/PLAN.{MARK}.md Syncthing 13 {WHEN}",
        f"a/progress.md a/progress.{MARK}.md Syncthing 15 {WHEN}",
        f"b/Sprint.md b/Sprint 2.md iCloud (suspect) 15 {WHEN}",
        f"b/gone.md (gone) b/gone.{MARK}.md Syncthing 13 {WHEN}",
        "3 to settle: run `agentm vault resolve`",
    ]
    monkeypatch.setattr(commands, "lost_files", lambda: ["/lost/x.md"])
    assert "in Google Drive's lost_and_found: /lost/x.md\n" in run("conflicts").stdout
    answer = json.loads(run("conflicts", "--json").stdout)
    assert answer["lost_and_found"] == ["/lost/x.md"]
    assert answer["conflicts"][0] == {
        "note": "a/PLAN.md",
        "copy": f"a/PLAN.{MARK}.md",
        "tool": "Syncthing",
        "suspect": False,
        "plan": True,
        "note_size": 7,
        "note_changed": WHEN,
        "copy_size": 13,
        "copy_changed": WHEN,
    }
    assert [one["suspect"] for one in answer["conflicts"]] == [False, False, True, False]
    assert (answer["conflicts"][3]["note_size"], answer["conflicts"][3]["note_changed"]) == (None, None)


def test_where_nothing_is_to_settle_that_is_said(run: Any, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (f"a/progress.{MARK}.md", f"a/PLAN.{MARK}.md", f"b/gone.{MARK}.md"):
        (root / name).unlink()
    assert run("conflicts").stdout.splitlines()[-1] == "nothing to settle: suspects are notes of their own"
    assert run("resolve").stdout == "nothing to settle\n"
    (root / "b/Sprint 2.md").unlink()
    assert run("conflicts").stdout == "no conflicts\n"
    monkeypatch.setattr(commands, "lost_files", lambda: ["/lost/x.md"])
    assert run("conflicts").stdout == "in Google Drive's lost_and_found: /lost/x.md\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--union", "--take", "mine", "progress"), "--union and --take exclude each other"),
        (("--take", "mine"), "--take needs the NAME of one note or copy"),
    ],
)
def test_what_makes_no_sense_together_is_refused(arguments: tuple[str, ...], said: str, run: Any) -> None:
    done = run("resolve", *arguments)
    assert (done.exit_code, said in done.stderr) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("none",), "'none' has no conflict"),
        (("Sprint",), "'Sprint' has no conflict"),
        (("PLAN",), "'a/PLAN.md' needs somebody to choose between two versions, and this is not a terminal"),
        (("PLAN", "--union"), "'a/PLAN.md' is a plan, and plans are not merged by a rule"),
        (("gone", "--union"), "'b/gone.md' is not a file that only grows"),
        (("PLAN", "--take", "theirs"), f"'a/PLAN.{MARK}.md' would take the place of 'a/PLAN.md'"),
        (("b/Sprint 2.md", "--take", "mine"), "'b/Sprint 2.md' has a name like a copy of 'b/Sprint.md'"),
        (("b/Sprint 2.md", "--union"), "'b/Sprint 2.md' has a name like a copy of 'b/Sprint.md'"),
    ],
)
def test_what_a_rule_must_not_settle_is_left_with_the_reason(
    arguments: tuple[str, ...], said: str, run: Any, root: Path
) -> None:
    before = {path: path.read_text() for path in root.rglob("*.md")}
    done = run("resolve", *arguments)
    assert isinstance(done.exception, AgentmError)
    assert done.exception.message.startswith(said)
    assert {path: path.read_text() for path in root.rglob("*.md")} == before


def test_a_note_is_settled_by_its_name_and_a_program_is_told_what_became_of_it(run: Any, root: Path) -> None:
    done = json.loads(run("resolve", "PLAN.md", "--take", "theirs", "--yes", "--json").stdout)
    (settled,) = done["settled"]
    assert (done["left"], settled["note"], settled["copy"], settled["take"]) == (
        [],
        "a/PLAN.md",
        f"a/PLAN.{MARK}.md",
        "theirs",
    )
    assert settled["outcome"].startswith("'a/PLAN.md' has the copy's content")
    assert (root / "a/PLAN.md").read_text() == "# other plan\n"
    assert (
        run("resolve", f"gone.{MARK}", "--take", "mine").stdout == "'b/gone.md' was gone and is back, from its copy\n"
    )


def test_what_only_grows_is_merged_and_the_rest_is_left_for_a_person(run: Any, root: Path) -> None:
    done = CliRunner().invoke(commands.command, ["resolve", "--union"], standalone_mode=False)
    assert done.return_value == 1
    merged, *left = done.stdout.splitlines()
    assert merged.startswith("'a/progress.md' has the lines of both; the other version is kept as _meta/conflicts/")
    assert left == [
        f"left for you: 'a/PLAN.md', other version 'a/PLAN.{MARK}.md'",
        f"left for you: 'b/gone.md', other version 'b/gone.{MARK}.md'",
    ]
    assert (root / "a/progress.md").read_text() == "- one\n- mine\n- theirs\n"


def test_a_name_that_several_notes_have_is_not_taken_for_all_of_them(run: Any, root: Path) -> None:
    put(root, "b/PLAN.md", "# plan\n")
    put(root, f"b/PLAN.{MARK}.md", "# other plan\n")
    done = run("resolve", "PLAN", "--take", "mine")
    assert isinstance(done.exception, AgentmError)
    assert done.exception.message == "'PLAN' could be any of: a/PLAN.md, b/PLAN.md"
    assert run("resolve", "a/PLAN", "--take", "mine").exit_code == 0


def test_looking_needs_no_vault_that_can_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "selected_store", lambda *kind, read_only=False: read_only)
    assert commands._selected_vault(read_only=True) is True
    assert commands._selected_vault() is False


@pytest.mark.parametrize("sealed", [True, False])
def test_the_versions_of_an_encrypted_vault_are_said_to_be_elsewhere(
    sealed: bool, vault: VaultBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*kind: object, read_only: bool) -> None:
        raise StorageSelectionError("no vault is selected")

    inner = SimpleNamespace(as_stored=vault) if sealed else None
    store = SimpleNamespace(facet=lambda kind: inner)
    monkeypatch.setattr(commands, "selected_store", refuse)
    monkeypatch.setattr(commands, "store_device", lambda: SimpleNamespace(store=lambda: store))
    said = "the vault is encrypted, so its versions of a note cannot be compared here" if sealed else "no vault"
    with pytest.raises(StorageSelectionError, match=said) as told:
        commands._selected_vault()
    assert ("agentm encryption status" in (told.value.hint or "")) is sealed


def test_a_vault_says_what_it_can(vault: VaultBackend) -> None:
    assert vault.capabilities == Capabilities(
        concurrent_writers=True, conflict_files=True, sync=True, device_files=True, delete=True
    )


@pytest.mark.parametrize(("length", "is_named"), [(MAX_KEY_BYTES - 100, True), (MAX_KEY_BYTES - 99, False)])
def test_a_note_whose_name_leaves_no_room_is_kept_under_its_hash(length: int, is_named: bool) -> None:
    parts = [f"{number:03}" + "x" * 196 for number in range(length // 200)]
    key = "/".join([*parts, "y" * (length - 200 * len(parts))])
    note = Locator(key)
    assert len(key) == length
    assert folder_of(note).key == (
        f"_meta/conflicts/{key}" if is_named else f"_meta/conflicts/long-{content_hash(key)}"
    )


def test_somebody_at_a_terminal_sees_both_and_chooses(run: Any, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "_is_at_terminal", lambda: True)
    done = run("resolve", input="theirs\nunion\n\n")
    assert f"a/PLAN.md: another version from Syncthing, {WHEN}\n" in done.stdout
    assert "(mine, theirs, both, skip) [skip]" in done.stdout.partition("progress.md")[0], "a plan is not merged"
    assert "(mine, theirs, both, union, skip) [skip]" in done.stdout.partition("progress.md")[2]
    assert (root / "a/PLAN.md").read_text() == "# other plan\n"
    assert (root / "a/progress.md").read_text() == "- one\n- mine\n- theirs\n"
    assert not (root / "b/gone.md").exists()
    assert "Sprint" not in done.stdout, "nobody is asked about a suspect"


def test_what_somebody_skips_is_named_as_left(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "_is_at_terminal", lambda: True)
    done = run("resolve", "gone", "--json", input="skip\n")
    answer = json.loads(done.stdout)
    assert (answer["settled"], answer["left"]) == ([], [{"note": "b/gone.md", "copy": f"b/gone.{MARK}.md"}])


# ------------------------------------------------------------------------------------------------ the page


def test_the_page_shows_both_texts_and_what_can_be_done(conflicts: VaultBackend) -> None:
    plan, log, gone = page._show(conflicts, {})
    mine, theirs = "- one\n- mine\n", "- one\n- theirs\n"
    fields = {"copy": f"a/progress.{MARK}.md", "mine": content_hash(mine), "theirs": content_hash(theirs)}
    labels = ("Keep the note", "Take the other version", "Keep both as notes", "Lines of both")
    actions: list[dict[str, Any]] = [
        {"action": action, "label": label, "fields": fields}
        for action, label in zip(("mine", "theirs", "both", "union"), labels, strict=True)
    ]
    ask = [{"name": "text", "label": "Or put together what should stay", "text": mine, "long": True}]
    actions.append({"action": "merge", "label": "Save what is written here", "fields": fields, "ask": ask})
    assert log == {
        "type": "sides",
        "title": "a/progress.md",
        "note": "a/progress.md",
        "text": "Another version came from Syncthing. Whatever you choose, the other one is kept.",
        "left": {"title": "The note", "text": mine},
        "right": {"title": f"progress.{MARK}.md", "text": theirs},
        "actions": actions,
    }
    for block in (plan, gone):
        assert [action["action"] for action in block["actions"]] == ["mine", "theirs", "both", "merge"]
    assert (gone["note"], gone["left"]["text"], gone["actions"][0]["fields"]["mine"]) == ("", "", "absent")


def test_the_page_shows_twenty_conflicts_at_once(vault: VaultBackend, root: Path) -> None:
    for number in range(20):
        put(root, f"n{number}.{MARK}.md", "x\n")
    assert len(page._show(vault, {})) == 20
    put(root, f"n20.{MARK}.md", "x\n")
    assert page._show(vault, {})[20:] == [{"type": "text", "text": "1 more are shown when these are settled."}]


def test_the_page_has_a_panel_only_for_a_vault(vault: VaultBackend) -> None:
    (panel,) = page.agentm_page_panels(SimpleNamespace(store=vault, device=None)) or []
    assert (panel.name, panel.title) == ("conflicts", "Conflicts")
    assert set(panel.actions) == {"mine", "theirs", "both", "union", "merge"}
    other = SimpleNamespace(facet=lambda kind: None)
    assert page.agentm_page_panels(SimpleNamespace(store=other, device=None)) is None
    assert page.agentm_page_panels(SimpleNamespace(store=None, device=None)) is None


@pytest.mark.parametrize("name", ["a/progress.md", "a/PLAN.md"])
def test_what_a_person_put_together_is_the_note_and_both_versions_are_kept(
    name: str, conflicts: VaultBackend, root: Path
) -> None:
    (block,) = [block for block in page._show(conflicts, {}) if block["title"] == name]
    device: Any = SimpleNamespace(store=lambda *, read_only: conflicts)
    fields = {**block["actions"][-1]["fields"], "text": "- all\n"}
    assert page._settle(device, "merge", fields) == f"'{name}' is what you put together; both versions are kept."
    assert (root / name).read_text() == "- all\n"
    kept = {path.read_text() for path in (root / "_meta/conflicts").rglob("kept-*")}
    assert kept == {block["left"]["text"], block["right"]["text"]}
    with pytest.raises(AgentmError, match="is settled already, or gone"):
        page._settle(device, "mine", fields)


def test_a_suspect_is_not_settled_on_the_page_and_another_store_is_not_a_vault(conflicts: VaultBackend) -> None:
    device: Any = SimpleNamespace(store=lambda *, read_only: conflicts)
    with pytest.raises(AgentmError, match=r"'b/Sprint 2\.md' is settled already, or gone"):
        page._settle(device, "mine", {"copy": "b/Sprint 2.md"})
    other: Any = SimpleNamespace(store=lambda *, read_only: SimpleNamespace(facet=lambda kind: None))
    with pytest.raises(AgentmError, match="no vault any more"):
        page._settle(other, "mine", {})


# ------------------------------------------------------------------------------------------------ finding


def test_versions_are_found_below_what_is_asked_about_only(conflicts: VaultBackend) -> None:
    def bases(below: str) -> list[str]:
        return [conflict.base.key for conflict in find_conflicts(conflicts, Locator(below))]

    assert bases("") == ["a/PLAN.md", "a/progress.md", "b/Sprint.md", "b/gone.md"]
    assert bases("a") == ["a/PLAN.md", "a/progress.md"]
    assert bases("a/PLAN.md") == ["a/PLAN.md"]
    assert bases("b/gone.md") == ["b/gone.md"]
    assert bases("c") == []
    (copy,) = conflict_copies(conflicts, Locator("a/PLAN.md"))
    assert (copy.note, copy.copy, copy.origin, copy.size) == (
        Locator("a/PLAN.md"),
        Locator(f"a/PLAN.{MARK}.md"),
        "Syncthing",
        13,
    )
    assert len(conflict_copies(conflicts, Locator("b"))) == 1, "a suspect is a note of its own"


def test_a_note_that_is_gone_is_told_to_be_in_conflict_with_its_versions(conflicts: VaultBackend, root: Path) -> None:
    def told(note: str) -> str | None:
        error = in_conflict(conflicts, Locator(note))
        return None if error is None else error.message

    assert (
        told("b/gone.md")
        == "'b/gone.md' is in conflict: one version of it waits to be settled, and none has its name"
    )
    put(root, f"b/gone.{MARK[:-1]}8.md", "It was here, too.\n")
    assert (
        told("b/gone.md") == "'b/gone.md' is in conflict: 2 versions of it wait to be settled, and none has its name"
    )
    assert told("b/other.md") is told("none/x.md") is told("") is None


def test_only_a_conflict_copy_is_read_as_one(conflicts: VaultBackend) -> None:
    assert read_copy(conflicts, Locator(f"a/PLAN.{MARK}.md")) == "# other plan\n"
    with pytest.raises(AgentmError, match=r"'a/PLAN\.md' is no conflict copy"):
        read_copy(conflicts, Locator("a/PLAN.md"))


def test_stubs_and_suspects_are_known_by_their_names() -> None:
    assert note_of_stub(stub_of_note("note.md")) == "note.md"
    assert note_of_stub(".icloud") is note_of_stub("note.icloud") is note_of_stub(".note.md") is None
    assert note_of_stub(".x.icloud") == "x"
    assert may_be_suspect("Copy of x.md", ())
    assert may_be_suspect("Sprint 2.md", {"sprint", "sprint.md"})
    assert not may_be_suspect("Sprint.md", {"sprint", "sprint.md"})


def test_what_google_drive_put_aside_is_found_for_every_account(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = tmp_path / "Library/Application Support/Google/DriveFS"
    local = tmp_path / "local"
    for name in ("1/lost_and_found/deep/a.md", "2/lost_and_found/b.md", "1/lost_and_found/.hidden", "1/other/c.md"):
        put(base, name, "x")
    put(local, "Google/DriveFS/3/lost_and_found/d.md", "x")
    found = [str(base / "1/lost_and_found/deep/a.md"), str(base / "2/lost_and_found/b.md")]
    assert lost_files({"HOME": str(tmp_path)}) == found
    both = lost_files({"HOME": str(tmp_path), "LOCALAPPDATA": str(local)})
    assert both == sorted([*found, str(local / "Google/DriveFS/3/lost_and_found/d.md")])
    assert lost_files({}) == []
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("LOCALAPPDATA", raising=False)
    assert lost_files() == found
    monkeypatch.setattr("agentm_obsidian_vault.lost_and_found._MOST", 1)
    assert len(lost_files()) == 1


# ------------------------------------------------------------------------------------------------ doctor and set-up


def context(store: object, tmp_path: Path, **config: object) -> Any:
    device = Device.now({"HOME": str(tmp_path / "home")})
    options = SimpleNamespace(options=lambda name: config.get("options", {}), storage_backend=config.get("backend"))
    return SimpleNamespace(
        store=store, device=SimpleNamespace(config=options, environ={}, state_dir=device.state_dir)
    )


def test_doctor_has_a_row_for_each_thing_that_wants_looking_at(conflicts: VaultBackend, root: Path) -> None:
    hint = "`agentm vault conflicts` lists them, `agentm vault resolve` settles them"
    several = "3 other versions of 'a/PLAN.md', 'a/progress.md', 'b/gone.md'"
    assert doctor._conflicts_row(conflicts) == DoctorRow("warn", "conflicts", several, hint)
    for name in (f"a/progress.{MARK}.md", f"a/PLAN.{MARK}.md"):
        (root / name).unlink()
    one = "1 other version of 'b/gone.md'"
    assert doctor._conflicts_row(conflicts) == DoctorRow("warn", "conflicts", one, hint)
    (root / f"b/gone.{MARK}.md").unlink()
    assert doctor._conflicts_row(conflicts) == DoctorRow(
        "ok", "conflicts", "none; notes that only have names like copies: 1"
    )
    (root / "b/Sprint 2.md").unlink()
    assert doctor._conflicts_row(conflicts) == DoctorRow("ok", "conflicts", "none")
    paths = sorted(doctor._paths(str(root)))
    assert doctor._leftovers_row(paths) == DoctorRow("ok", "leftovers", "none")
    assert doctor._collisions_row(paths).status == "ok"
    assert doctor._path_row(conflicts) == DoctorRow("ok", "vault path", f"{root}, the selected store")


def test_names_that_are_one_file_elsewhere_are_found(root: Path) -> None:
    for name in ("a.md", "A.md", "caf\u00e9.md", "cafe\u0301.md", "b.md", ".git/A", ".git/a"):
        put(root, name, "x")
    assert doctor.collisions(sorted(doctor._paths(str(root)))) == ["a.md", "caf\u00e9.md"]


@pytest.mark.parametrize(
    ("names", "said"),
    [(["a"], "'a'"), (["a", "b", "c"], "'a', 'b', 'c'"), (["a", "b", "c", "d", "e"], "'a', 'b', 'c' and 2 more")],
)
def test_of_many_names_a_few_are_said(names: list[str], said: str) -> None:
    assert doctor._some(names) == said


@pytest.mark.parametrize(
    ("has_store", "backend", "path", "is_said"),
    [
        (True, None, "/vault", True),
        (False, None, "/vault", True),
        (True, "device-local", "/vault", False),
        (False, "device-local", "/vault", True),
        (False, "vault", "/vault", False),
        (True, None, None, False),
    ],
)
def test_a_vault_that_is_configured_and_not_used_is_said_unless_that_was_chosen(
    has_store: bool, backend: str | None, path: str | None, is_said: bool, tmp_path: Path
) -> None:
    other = SimpleNamespace(facet=lambda kind: None) if has_store else None
    given = context(other, tmp_path, backend=backend, options={"vault_path": path} if path else {})
    told = doctor.agentm_doctor_checks(given)
    assert (told is not None) is is_said


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["b.md"], "is not empty: it has 'b.md'"),
        (["b.md", "a.md", "c.md"], "is not empty: it has 'a.md' and 2 more"),
        ([".obsidian/app.json", "a.md"], "is a whole Obsidian vault"),
        (["Projects/x.md"], "has 'Projects', which the store's own folders would clash with"),
    ],
)
def test_a_folder_that_somebody_uses_is_not_made_a_store(names: list[str], said: str, tmp_path: Path) -> None:
    place = tmp_path / "folder"
    for name in names:
        put(place, name, "x")
    with pytest.raises(StorageSelectionError) as refused:
        setup.set_up(str(place), adopt=False, environ={"HOME": str(tmp_path / "home")})
    assert refused.value.message.removeprefix(f"{place} ").startswith(said)
    assert refused.value.message.endswith(said) or "vault;" in refused.value.message
    assert refused.value.hint
    assert not (place / "_meta").exists()


def test_a_tool_s_own_files_are_nobody_s_notes(tmp_path: Path) -> None:
    put(tmp_path / "folder", ".stfolder/x", "x")
    put(tmp_path / "folder", ".DS_Store", "x")
    done = setup.set_up(str(tmp_path / "folder"), adopt=False, environ={"HOME": str(tmp_path / "home")})
    assert (done.place, done.was_there) == (str(tmp_path / "folder"), False)
    again = setup.set_up(str(tmp_path / "folder"), adopt=False, environ={"HOME": str(tmp_path / "home")})
    assert (again.store_id, again.was_there) == (done.store_id, True)


def test_the_question_before_a_personal_note_shows_what_is_written_where(tmp_path: Path) -> None:
    place = tmp_path / "note.md"
    five = "".join(f"line {number}\n" for number in range(5))
    said = _described(five, str(place)).split("\n")
    assert said[0] == f"This makes a new note: {place}"
    assert said[1] == f"with 35 bytes, sha256 {content_hash(five)[:16]}"
    assert said[2:] == [*(f"  | line {number}" for number in range(5)), ""]
    place.write_text("x")
    more = _described(f"{five}\x1b[31m\n7\n", str(place)).split("\n")
    assert more[0].startswith("This replaces your note: ")
    assert more[-2] == "  | … 2 more lines"
    assert _described("\x1b\ta", "p").split("\n")[2] == "  | \ufffd   a"
