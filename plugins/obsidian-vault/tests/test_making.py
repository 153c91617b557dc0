"""Making a folder the store, in this process: what is refused, what is made, and what `agentm doctor` says of it."""

from __future__ import annotations

import json
import os
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from agentm_kernel.plugin import (
    AgentmError,
    AuthorizationError,
    Device,
    DoctorRow,
    StorageIOError,
    StorageSelectionError,
)
from agentm_obsidian_vault import VaultBackend, commands, doctor, setup
from agentm_obsidian_vault.resolve import UNION

if TYPE_CHECKING:
    from pathlib import Path


def made(path: Path | str, home: Path, **options: bool) -> setup.SetUp:
    return setup.set_up(str(path), **{"adopt": False, **options}, environ={"HOME": str(home)})


# ------------------------------------------------------------------------------------------------ the folder


def test_a_folder_is_made_only_where_that_is_asked_for(tmp_path: Path) -> None:
    with pytest.raises(StorageSelectionError) as refused:
        made(tmp_path / "vault", tmp_path)
    assert refused.value.message == f"the folder {tmp_path / 'vault'} does not exist"
    assert refused.value.hint == "check the path; add --create to make it"
    assert not (tmp_path / "vault").exists()
    done = made("~/vault", tmp_path, create=True)
    assert (done.place, done.was_there) == (str(tmp_path / "vault"), False)
    assert json.loads((tmp_path / "vault" / "_meta" / "store.json").read_text())["id"] == done.store_id


def test_a_file_is_no_folder_whatever_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("nowhere")
    for name in ("file", "link"):
        for create in (True, False):
            with pytest.raises(StorageSelectionError) as refused:
                made(tmp_path / name, tmp_path, create=create)
            assert refused.value.message == f"{tmp_path / name} is not a folder"
            assert refused.value.hint == "choose another path"


def test_a_folder_that_cannot_be_made_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_path: str) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "mkdir", refuse)
    with pytest.raises(StorageIOError) as failed:
        made(tmp_path / "vault", tmp_path, create=True)
    assert failed.value.message == f"cannot make {tmp_path / 'vault'}: Permission denied"
    assert (failed.value.errno, failed.value.hint) == (13, "choose a folder that you may write to")


def test_a_folder_above_that_is_missing_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(StorageSelectionError) as refused:
        made(tmp_path / "my disk" / "vault", tmp_path, create=True)
    assert refused.value.message == f"the folder {tmp_path / 'my disk'} does not exist"
    assert f"`mkdir -p '{tmp_path / 'my disk'}'`" in str(refused.value.hint)


def test_a_store_is_not_made_anywhere_inside_of_another(tmp_path: Path) -> None:
    made(tmp_path / "outer", tmp_path, create=True)
    (tmp_path / "outer" / "deep").mkdir()
    for place in (tmp_path / "outer" / "vault", tmp_path / "outer" / "deep" / "vault"):
        with pytest.raises(StorageSelectionError) as refused:
            made(place, tmp_path, create=True)
        assert refused.value.message == f"{place} lies inside the store {tmp_path / 'outer'}"
        assert not place.exists()


def test_a_store_is_not_made_around_another(tmp_path: Path) -> None:
    """It took the notes of the inner one for its own, and a restore deleted them."""
    (tmp_path / "outer" / "deep").mkdir(parents=True)
    made(tmp_path / "outer" / "deep" / "vault", tmp_path, create=True)
    with pytest.raises(StorageSelectionError) as refused:
        made(tmp_path / "outer", tmp_path, adopt=True)
    assert refused.value.message == f"{tmp_path}/outer has another store in it, {tmp_path}/outer/deep/vault"
    assert os.listdir(tmp_path / "outer") == ["deep"]


@pytest.mark.parametrize("bin_", [".trash/Agent", ".stversions", ".git/modules/notes"])
def test_a_store_that_a_program_keeps_in_a_folder_of_its_own_is_in_nobodys_way(tmp_path: Path, bin_: str) -> None:
    """Obsidian and Syncthing put there what was deleted; the new store sees nothing of it."""
    made(tmp_path / "deleted", tmp_path, create=True)
    vault = tmp_path / "vault"
    (vault / bin_).parent.mkdir(parents=True)
    (tmp_path / "deleted").rename(vault / bin_)
    (vault / "idea.md").write_text("mine\n")
    assert not made(vault, tmp_path, adopt=True).was_there


def test_notes_are_taken_over_where_they_are_adopted_but_folders_that_clash_are_not(tmp_path: Path) -> None:
    place = tmp_path / "vault"
    place.mkdir()
    (place / "mine.md").write_text("mine\n")
    assert made(place, tmp_path, adopt=True).was_there is False
    other = tmp_path / "other"
    (other / "Projects").mkdir(parents=True)
    (other / "PERSONAL").mkdir()
    with pytest.raises(StorageSelectionError) as refused:
        made(other, tmp_path, adopt=True)
    assert refused.value.message == (
        f"{other} has 'PERSONAL' and 'Projects', which the store's own folders would clash with"
    )
    assert refused.value.hint == f"give the agent a folder inside it: `agentm vault init {other}/Agent --create`"
    assert setup.clashing_folders(str(tmp_path / "none")) == []


@pytest.mark.parametrize(("value", "is_refused"), [("", False), ("  ", False), ("{place}", False), ("/other", True)])
def test_a_place_that_the_environment_overrules_is_refused(tmp_path: Path, value: str, is_refused: bool) -> None:
    place = str(tmp_path / "vault")
    environ = {"MEMORY_VAULT_PATH": value.format(place=place)}
    if not is_refused:
        setup.check_variable(place, environ=environ)
        return
    with pytest.raises(StorageSelectionError) as refused:
        setup.check_variable(place, environ=environ)
    assert refused.value.message == (
        f"{place} would not be used: $MEMORY_VAULT_PATH is set to /other and beats the configuration"
    )
    assert refused.value.hint == "unset $MEMORY_VAULT_PATH, then run the command again"


def test_the_environment_of_this_process_counts_where_no_other_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_VAULT_PATH", "/other")
    with pytest.raises(StorageSelectionError, match="is set to /other"):
        setup.check_variable("/vault")
    setup.check_variable("/vault", environ={})


# ------------------------------------------------------------------------------------------------ the command


@pytest.fixture
def init(monkeypatch: pytest.MonkeyPatch) -> Any:
    """`agentm vault init`; returns what it set up, checked and concluded with."""
    done: list[Any] = []

    def set_up(path: str, **options: bool) -> setup.SetUp:
        done.append((path, options))
        return setup.SetUp("/vault", "an id", True)

    def conclude(protocol: str, options: object, **more: object) -> dict[str, object]:
        done.append((protocol, options, more))
        return {"concluded": True}

    monkeypatch.setattr(commands, "set_up", set_up)
    monkeypatch.setattr(commands, "check_variable", done.append)
    monkeypatch.setattr(commands, "options_for", lambda place: {"vault_path": place})
    monkeypatch.setattr(commands, "conclude_set_up", conclude)
    monkeypatch.setattr(commands, "_may_create", lambda path: path == "asked")

    def run(*arguments: str) -> list[Any]:
        done.clear()
        result = CliRunner().invoke(commands.command, ["init", *arguments, "--json"])
        assert json.loads(result.stdout)["concluded"] is True, result.output
        return list(done)

    return run


@pytest.mark.parametrize(
    ("arguments", "set_up", "is_checked", "concluded"),
    [
        (("p",), {"adopt": False, "create": False}, False, {"use_it": False, "take_along": False}),
        (("p", "--adopt"), {"adopt": True, "create": False}, False, {"use_it": False, "take_along": False}),
        (("p", "--create"), {"adopt": False, "create": True}, False, {"use_it": False, "take_along": False}),
        (("asked",), {"adopt": False, "create": True}, False, {"use_it": False, "take_along": False}),
        (("p", "--use"), {"adopt": False, "create": False}, True, {"use_it": True, "take_along": False}),
        (("p", "--take-along"), {"adopt": False, "create": False}, True, {"use_it": False, "take_along": True}),
    ],
)
def test_init_hands_on_what_it_was_told(
    init: Any, arguments: Any, set_up: Any, is_checked: bool, concluded: dict[str, bool]
) -> None:
    first, *checked, last = init(*arguments)
    assert first == (arguments[0], set_up)
    assert checked == ["/vault"] * is_checked
    known = {"store_id": "an id", "place": "/vault", "was_there": True}
    assert last == ("vault", {"vault_path": "/vault"}, {**known, **concluded})


@pytest.mark.parametrize(
    ("path", "stdin", "stderr", "answer", "may"),
    [
        ("new", True, True, True, True),
        ("new", True, True, False, False),
        ("new", False, True, True, False),
        ("new", True, False, True, False),
        ("there", True, True, True, False),
        ("none/new", True, True, True, False),
    ],
)
def test_who_sits_at_a_terminal_is_asked_before_a_folder_is_made(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    path: str,
    stdin: bool,
    stderr: bool,
    answer: bool,
    may: bool,
) -> None:
    (tmp_path / "there").mkdir()
    asked: list[Any] = []

    def confirm(question: str, *, err: bool) -> bool:
        asked.append((question, err))
        return answer

    terminal = SimpleNamespace(
        stdin=SimpleNamespace(isatty=lambda: stdin), stderr=SimpleNamespace(isatty=lambda: stderr)
    )
    monkeypatch.setattr(commands, "sys", terminal)
    monkeypatch.setattr(commands, "shown", lambda text, *, err: f"{text} ({err})")
    monkeypatch.setattr("click.confirm", confirm)
    assert commands._may_create(str(tmp_path / path)) is may
    question = f"The folder {tmp_path / path} does not exist. Make it? (True)"
    is_asked = path == "new" and stdin and stderr
    assert asked == [(question, True)] * is_asked


def test_what_only_grows_is_not_merged_under_a_guard_unless_somebody_is_at_a_terminal(
    vault: VaultBackend, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("progress.md", "progress.sync-conflict-20260501-101112-ABCDEF7.md"):
        (root / name).write_text(f"- {name}\n")
    from agentm_obsidian_vault.survey import find_conflicts

    (conflict,) = find_conflicts(vault)
    monkeypatch.setattr(commands, "_is_guarded", lambda _store, _key: True)
    answer: dict[str, list[dict[str, str]]] = {"settled": [], "left": []}
    with pytest.raises(AuthorizationError, match="is under guard"):
        commands._merge(vault, vault, [conflict], answer, named=True)
    assert commands._merge(vault, vault, [conflict], answer, named=False) == 1
    assert (len(answer["left"]), answer["settled"]) == (1, [])
    monkeypatch.setattr(commands, "_is_at_terminal", lambda: True)
    assert commands._merge(vault, vault, [conflict], answer, named=False) == 0
    assert [one["take"] for one in answer["settled"]] == [UNION]


def test_a_program_is_told_which_store_the_conflicts_are_in(
    vault: VaultBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commands, "_selected_vault", lambda *, read_only: (vault, vault) if read_only else None)
    monkeypatch.setattr(commands, "lost_files", list)
    answer = json.loads(CliRunner().invoke(commands.command, ["conflicts", "--json"]).stdout)
    assert (answer["store"], answer["conflicts"], answer["lost_and_found"]) == (vault.describe(), [], [])


# ------------------------------------------------------------------------------------------------ doctor


def context(store: object, home: Path) -> Any:
    device = Device.now({"HOME": str(home)})
    return SimpleNamespace(store=store, device=device)


def test_doctor_says_everything_about_a_vault_in_one_order(vault: VaultBackend, root: Path, tmp_path: Path) -> None:
    lost = tmp_path / "Library/Application Support/Google/DriveFS/1/lost_and_found/a.md"
    lost.parent.mkdir(parents=True)
    lost.touch()
    (root / "Projects").mkdir()
    for name in ("a.md", "A.md", ".agentm-1.tmp"):
        (root / name).touch()
    rows = doctor.agentm_doctor_checks(context(vault, tmp_path))
    assert rows is not None
    assert [(row.status, row.check) for row in rows] == [
        ("ok", "vault path"),
        ("ok", "vault id"),
        ("ok", "conflicts"),
        ("fail", "folders"),
        ("warn", "lost and found"),
        ("warn", "collisions"),
        (rows[-1].status, "leftovers"),
    ]
    assert rows[3] == DoctorRow(
        "fail",
        "folders",
        "'Projects' differ only in case from the store's own folders, so no note can be written there",
        "rename them, or give the agent a folder inside: `agentm vault init PATH/Agent --create --use`",
    )
    assert rows[4] == DoctorRow(
        "warn",
        "lost and found",
        f"what Google Drive could not sync, it put aside (1): {str(lost)!r}",
        "`agentm vault conflicts` lists them; take what is missing over by hand",
    )
    assert rows[5].message == "names that are one file on Windows or macOS: 'a.md'"
    assert rows[5].hint == "rename one of each pair"


def test_doctor_says_that_a_folder_is_not_marked_or_not_there(root: Path, tmp_path: Path) -> None:
    unmarked = VaultBackend(root)
    assert doctor._identity_row(unmarked, context(unmarked, tmp_path)) == DoctorRow(
        "warn", "vault id", "the folder is not marked as a store", f"run `agentm vault init {root}`"
    )
    gone = VaultBackend(tmp_path / "gone")
    row = doctor._path_row(gone)
    assert (row.status, row.check) == ("fail", "vault path")
    assert row.message == f"the vault's folder {tmp_path / 'gone'} is missing or not a folder"


def test_doctor_goes_on_where_a_row_cannot_be_had(
    vault: VaultBackend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_vault: object) -> DoctorRow:
        raise AgentmError("a folder cannot be read", hint="look at it")

    monkeypatch.setattr(doctor, "_conflicts_row", fails)
    rows = doctor.agentm_doctor_checks(context(vault, tmp_path))
    assert rows is not None
    assert rows[2:] == [DoctorRow("fail", "vault", "a folder cannot be read", "look at it")]


def test_what_a_killed_writer_left_is_counted_and_what_others_hold_is_not(root: Path) -> None:
    from agentm_kernel.plugin import TEMP_PREFIX

    (root / f"{TEMP_PREFIX}1").touch()
    (root / f"{TEMP_PREFIX}2.swap").touch()
    assert doctor._leftovers_row(sorted(doctor._paths(str(root)))) == DoctorRow(
        "warn",
        "leftovers",
        f"1 unfinished writes: '{TEMP_PREFIX}1'",
        "the next write to their folder clears them up; nothing in them is lost",
    )
