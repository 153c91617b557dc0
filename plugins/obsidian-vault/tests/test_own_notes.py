"""Names and places of versions that are kept, and the operator's word for a note of their own: in this process."""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager
from io import StringIO
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from agentm_kernel.plugin import (
    AgentmError,
    AuthorizationError,
    BackendLayer,
    Locator,
    LocatorConflictError,
    NotFoundError,
    PersonalSpace,
    StorageConflictError,
    StorageError,
    StorageIOError,
    content_hash,
)
from agentm_obsidian_vault import VaultBackend, commands, kept, medium, page, personal_command
from agentm_obsidian_vault.lost_and_found import lost_files
from agentm_obsidian_vault.names import may_be_copy, note_of_stub
from agentm_obsidian_vault.personal import _ask_elsewhere
from agentm_obsidian_vault.resolve import BOTH, check_union, settle
from agentm_obsidian_vault.side_by_side import side_by_side
from agentm_obsidian_vault.survey import Conflict, find_conflicts

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# ------------------------------------------------------------------------------------------------ names and places


def test_a_thousand_files_that_google_drive_put_aside_are_found(tmp_path: Path) -> None:
    folder = tmp_path / "Library/Application Support/Google/DriveFS/1/lost_and_found"
    folder.mkdir(parents=True)
    for number in range(1001):
        (folder / f"{number:04}.md").touch()
    assert len(lost_files({"HOME": str(tmp_path)})) == 1000


@pytest.mark.parametrize(
    ("key", "note"),
    [
        ("_meta/conflicts/a/b.md/unseen-1-2.md", "a/b.md"),
        ("_meta/conflicts/a/b.md/kept-1-2.md", "a/b.md"),
        ("_meta/conflicts/a/b.md/mine.md", None),
        ("_meta/conflicts/unseen-1-2.md", None),
        ("a/b.md/unseen-1-2.md", None),
        ("a/b.md", None),
    ],
)
def test_a_kept_version_is_known_by_its_place_and_its_name(key: str, note: str | None) -> None:
    found = kept.note_of(Locator(key))
    assert (found and found.key) == note


def test_where_there_is_no_stamp_blocks_are_taken_to_be_counted(tmp_path: Path) -> None:
    hole = SimpleNamespace(st_size=10, st_blocks=0)
    assert not medium.SyncedFolder(str(tmp_path)).is_at_hand(hole)  # type: ignore[arg-type]
    assert medium.SyncedFolder(str(tmp_path)).is_at_hand(SimpleNamespace(st_size=10, st_blocks=1))  # type: ignore[arg-type]


@pytest.mark.parametrize(("name", "is_plan"), [("PLAN.md", True), ("PLAN-x.md", True), ("plan.md", False)])
def test_a_plan_is_known_by_its_name(vault: VaultBackend, root: Path, name: str, is_plan: bool) -> None:
    (root / name).touch()
    info = vault.info(Locator(name))
    conflict = Conflict(info, Locator(name), info, "x")
    assert (conflict.is_plan, conflict.is_suspect) == (is_plan, False)


def test_a_version_that_is_kept_is_called_by_why_when_and_twelve_digits_of_its_hash() -> None:
    place = kept.place_for(Locator("a/b.md"), "0123456789abcdef", kept.KEPT)
    assert place.parent.key == "_meta/conflicts/a/b.md"
    why, when, digest = place.name.split("-")
    assert (why, digest, len(when)) == ("kept", "0123456789ab.md", len("20260501T101112Z"))


def test_a_note_of_which_both_versions_were_renamed_is_in_conflict_and_not_missing(
    vault: VaultBackend, root: Path
) -> None:
    (root / "other.md").touch()
    with pytest.raises(NotFoundError):
        vault.read(Locator("note.md"))
    for number in (1, 2):
        (root / f"note.md.conflict{number}").write_text(f"{number}\n")
    with pytest.raises(StorageConflictError, match=r"note\.md"):
        vault.read(Locator("note.md"))


class Guard(BackendLayer):
    """Watches over one note."""

    def is_guarded(self, key: str) -> bool:
        return key == "guarded.md"


def test_a_note_is_guarded_where_any_layer_says_so(vault: VaultBackend) -> None:
    for store in (Guard(vault), BackendLayer(Guard(vault)), Guard(BackendLayer(vault))):
        assert commands._is_guarded(store, "guarded.md")
        assert not commands._is_guarded(store, "other.md")
    assert not commands._is_guarded(vault, "guarded.md")


def test_the_copy_stays_where_what_a_person_put_together_cannot_be_written(
    vault: VaultBackend, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = root / "note.sync-conflict-20260501-101112-ABCDEF7.md"
    (root / "note.md").write_text("mine\n")
    copy.write_text("theirs\n")
    (conflict,) = find_conflicts(vault)
    write = vault.write

    def fails(locator: Locator, content: str, **condition: Any) -> Locator:
        if locator.key == "note.md":
            raise StorageIOError("no room")
        return write(locator, content, **condition)

    monkeypatch.setattr(vault, "write", fails)
    with pytest.raises(StorageIOError):
        page._merge(vault, vault, conflict, "both\n")
    assert copy.read_text() == "theirs\n"
    assert (root / "note.md").read_text() == "mine\n"


@pytest.mark.parametrize(
    ("name", "note"),
    [
        (".a.icloud", "a"),
        ("..icloud", None),
        (".icloud", None),
        ("a.icloud", None),
        (".a.md.icloud", "a.md"),
        (".a", None),
    ],
)
def test_a_stub_holds_the_place_of_a_note_that_has_a_name(name: str, note: str | None) -> None:
    assert note_of_stub(name) == note


def test_a_line_that_is_there_many_times_is_still_beside_itself() -> None:
    same = ["the same"] * 300
    rows = list(side_by_side("\n".join(same), "\n".join([*same[:150], "new", *same[150:]]), width=43))
    assert len([row for row in rows if "|" in row]) == 1


@pytest.mark.parametrize(
    ("name", "devices", "may"),
    [
        ("note.md", (), False),
        ("note.md", ("hilap",), False),
        ("note-HILAP.md", ("hilap",), True),
        ("note-hilap.md", (), False),
        ("note (Conflicted copy x).md", (), True),
    ],
)
def test_an_ordinary_name_is_spared_the_long_look(name: str, devices: tuple[str, ...], may: bool) -> None:
    assert may_be_copy(name, devices) is may


@pytest.mark.parametrize(
    ("name", "has_union"), [("progress.md", True), ("note.md", False), ("PLAN.md", False), ("PLAN.log.md", False)]
)
def test_lines_of_both_are_offered_only_for_what_grows_and_is_no_plan(
    vault: VaultBackend, root: Path, monkeypatch: pytest.MonkeyPatch, name: str, has_union: bool
) -> None:
    stem, _, extension = name.rpartition(".")
    (root / name).write_text("mine\n")
    (root / f"{stem}.sync-conflict-20260501-101112-ABCDEF7.{extension}").write_text("theirs\n")
    (conflict,) = find_conflicts(vault)
    offered: list[Any] = []

    def prompt(_question: str, *, type: Any, default: str) -> str:
        offered.append((list(type.choices), default))
        return "mine"

    monkeypatch.setattr("click.prompt", prompt)
    monkeypatch.setattr(commands, "_is_at_terminal", lambda: True)
    assert commands._ask(vault, conflict) == "mine"
    union = ["union"] * has_union
    assert offered == [(["mine", "theirs", "both", *union, "skip"], "skip")]
    (block,) = page._show(vault, {})
    assert [action["action"] for action in block["actions"]] == ["mine", "theirs", "both", *union, "merge"]


# ------------------------------------------------------------------------------------------------ personal notes


class Asked:
    """The terminal of an operator who answers so."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, answer: str) -> None:
        self.question = StringIO()

        @contextmanager
        def terminal() -> Iterator[tuple[StringIO, StringIO]]:
            yield self.question, StringIO(f"{answer}\n")

        monkeypatch.setattr(personal_command, "_terminal", terminal)


def test_a_personal_note_is_written_after_a_yes_and_a_program_is_told_where(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "own"
    own.mkdir()
    store = VaultBackend(root, personal_root=own, size_limit=2000)
    device = SimpleNamespace(store=lambda *, read_only: store if not read_only else None)
    monkeypatch.setattr(personal_command, "current_device", lambda: device)
    asked = Asked(monkeypatch, " YES ")
    run = CliRunner().invoke(personal_command.command, ["write", "a/b.md", "--json"], input="mine\n")
    assert (own / "a" / "b.md").read_text() == "mine\n"
    answer = json.loads(run.stdout)
    assert (answer["path"], answer["hash"]) == (str(own / "a" / "b.md"), content_hash("mine\n"))
    assert asked.question.getvalue().endswith("  | mine\nAllow this one write? Type yes: ")
    new = CliRunner().invoke(personal_command.command, ["write", "a/b.md", "--if-match", "absent"], input="2\n")
    assert isinstance(new.exception, AgentmError)
    assert (own / "a" / "b.md").read_text() == "mine\n"
    large = CliRunner().invoke(personal_command.command, ["write", "c.md"], input="x" * 2001)
    assert isinstance(large.exception, AgentmError), "what is too large for the store is too large there"
    assert not (own / "c.md").exists()
    assert isinstance(store.facet(PersonalSpace), PersonalSpace)
    Asked(monkeypatch, "y")
    no = CliRunner().invoke(personal_command.command, ["write", "d.md"], input="x")
    assert isinstance(no.exception, AgentmError)
    assert no.exception.message == "not allowed; nothing was written"


def test_a_store_without_a_personal_space_is_named(vault: VaultBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    device = SimpleNamespace(store=lambda *, read_only: vault)
    monkeypatch.setattr(personal_command, "current_device", lambda: device)
    error = CliRunner().invoke(personal_command.command, ["write", "a.md"], input="x").exception
    assert isinstance(error, StorageError)
    assert error.message == f"the selected store, {vault.describe()}, has no personal space beside it"
    assert error.hint == "a vault has one: `agentm config set plugins.vault.personal_root PATH`"


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ([sys.executable, "-c", "raise SystemExit(3)"], "did not agree (exit code 3)"),
        ("/nowhere/program", "cannot be asked: "),
        ("'", "cannot be asked: "),
    ],
)
def test_a_program_that_does_not_agree_is_said(command: Any, why: str) -> None:
    with pytest.raises(AuthorizationError) as refused:
        _ask_elsewhere(command, "/own/a.md", "text")
    assert refused.value.message.startswith(f"the program of plugins.vault.personal_confirm {why}")
    assert refused.value.message.endswith("; nothing was written")


def test_a_plan_and_what_does_not_only_grow_are_left_to_a_person_with_the_way_to_choose(
    vault: VaultBackend, root: Path
) -> None:
    for name, hint in [
        (
            "PLAN.md",
            "look at both versions: `agentm vault resolve` on a terminal, or `--take mine`, `theirs` or `both`",
        ),
        ("note.md", "choose with `agentm vault resolve` on a terminal, or `--take mine`, `theirs` or `both`"),
    ]:
        (root / name).touch()
        info = vault.info(Locator(name))
        with pytest.raises(LocatorConflictError) as refused:
            check_union(Conflict(info, Locator(name), info, "x"))
        assert refused.value.hint == hint
    with pytest.raises(LocatorConflictError) as alike:
        check_union(Conflict(info, Locator("note.md"), info, "x", ""))
    assert alike.value.hint == (
        "it is a note of its own; if you know better, run `agentm vault resolve NAME` on a terminal"
    )


def test_the_second_of_two_notes_is_called_by_eight_digits_of_its_hash(vault: VaultBackend, root: Path) -> None:
    (root / "note.md").write_text("mine\n")
    (root / "note.sync-conflict-20260501-101112-ABCDEF7.md").write_text("theirs\n")
    (conflict,) = find_conflicts(vault)
    settle(vault, vault, conflict, BOTH)
    assert (root / f"note - other version {content_hash('theirs' + chr(10))[:8]}.md").read_text() == "theirs\n"
