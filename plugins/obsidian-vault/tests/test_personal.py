"""The operator's own notes: out of reach for every verb, and written to only on the operator's word."""

from __future__ import annotations

import os
import threading
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from tests.faults.wrong_moment import in_the_middle_of_a_write

from agentm_kernel import AgentmError, Locator
from agentm_kernel.plugin import (
    ABSENT,
    AuthorizationError,
    ConcurrentModificationError,
    LocatorConflictError,
    PersonalSpace,
    StorageIOError,
    StorageSelectionError,
    content_hash,
    stamp_store,
)
from agentm_obsidian_vault import VaultBackend
from agentm_obsidian_vault.authorization import Authorization

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Device

NOTE = Locator("diary/today.md")
TEXT = "dear diary\n"


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """The operator's vault, with a note of the operator in it; the agent's store is a folder inside."""
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "own.md").write_text("mine alone")
    (folder / "agentm").mkdir()
    return folder


@pytest.fixture
def vault(notes: Path) -> VaultBackend:
    store = VaultBackend(notes / "agentm", personal_root=notes)
    stamp_store(store)
    return store


def personal(vault: VaultBackend) -> PersonalSpace:
    space = vault.facet(PersonalSpace)
    assert space is not None
    return space


def everything_outside(notes: Path) -> dict[str, bytes]:
    store = notes / "agentm"
    return {
        str(path): path.read_bytes()
        for path in notes.parent.rglob("*")
        if path.is_file() and not path.is_relative_to(store)
    }


def audit(notes: Path) -> list[str]:
    lines = (notes / "agentm" / "_meta" / "personal-writes.md").read_text().splitlines()
    return [line for line in lines if line.startswith("- ")]


# ------------------------------------------------------------------------------------------------ out of reach

_PIECES = st.sampled_from(
    [
        "..",
        ".",
        "/",
        "\\",
        "own.md",
        "agentm",
        "notes",
        "~",
        "%2e%2e",
        "..;",
        "\u2025",
        "\uff0e\uff0e",
        "\u2215",
        "C:",
        "\0",
    ]
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300, deadline=None)
@given(
    st.lists(st.one_of(_PIECES, st.text(max_size=5)), min_size=1, max_size=8), st.sampled_from(["/", "", "\\", "//"])
)
def test_no_spelling_of_a_key_leads_a_verb_out_of_the_store(
    vault: VaultBackend, notes: Path, pieces: list[str], between: str
) -> None:
    before = everything_outside(notes)
    key = between.join(pieces)
    for verb in (lambda at: vault.write(at, "agent"), vault.mkdir, vault.delete):
        try:
            verb(Locator(key))
        except AgentmError:
            continue
    assert everything_outside(notes) == before


@pytest.mark.parametrize(
    "key", ["../own.md", "..", "a/../../own.md", "..\\own.md", "/../own.md", "%2e%2e/own.md", "own.md"]
)
def test_the_operator_s_note_is_not_reached_by_name(vault: VaultBackend, notes: Path, key: str) -> None:
    try:
        vault.write(Locator(key), "agent")
    except AgentmError:
        pass
    assert (notes / "own.md").read_text() == "mine alone"


def test_a_link_in_the_store_does_not_lead_out_either(vault: VaultBackend, notes: Path) -> None:
    (notes / "agentm" / "up").symlink_to(notes)
    with pytest.raises(AgentmError):
        vault.write(Locator("up/own.md"), "agent")
    assert (notes / "own.md").read_text() == "mine alone"


# ------------------------------------------------------------------------------------------------ with permission


def test_a_permitted_write_arrives_and_leaves_a_line(vault: VaultBackend, notes: Path) -> None:
    personal(vault).write_personal(NOTE, TEXT, authorization=Authorization(NOTE, TEXT))
    assert (notes / "diary" / "today.md").read_text() == TEXT
    (line,) = audit(notes)
    assert "`diary/today.md`" in line
    assert content_hash(TEXT)[:16] in line
    assert not vault.exists(NOTE)


def test_a_permission_is_for_one_note_and_one_text(vault: VaultBackend, notes: Path) -> None:
    permission = Authorization(NOTE, TEXT)
    for locator, text in ((Locator("own.md"), TEXT), (NOTE, "other")):
        with pytest.raises(AuthorizationError, match="another note or another text"):
            personal(vault).write_personal(locator, text, authorization=permission)
    assert (notes / "own.md").read_text() == "mine alone"
    personal(vault).write_personal(NOTE, TEXT, authorization=permission)  # the wrong ones have not spent it


def test_a_permission_is_used_once(vault: VaultBackend, notes: Path) -> None:
    permission = Authorization(NOTE, TEXT)
    personal(vault).write_personal(NOTE, TEXT, authorization=permission)
    with pytest.raises(AuthorizationError, match="has been used"):
        personal(vault).write_personal(NOTE, TEXT, authorization=permission)


def test_of_many_threads_one_gets_to_use_it() -> None:
    permission = Authorization(NOTE, TEXT)
    outcomes: list[bool] = []
    barrier = threading.Barrier(8)

    def use() -> None:
        barrier.wait()
        try:
            permission.use(NOTE, TEXT)
            outcomes.append(True)
        except AuthorizationError:
            outcomes.append(False)

    threads = [threading.Thread(target=use) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == [False] * 7 + [True]


def test_a_permission_that_failed_to_be_used_in_time_is_gone(vault: VaultBackend, notes: Path) -> None:
    with pytest.raises(AuthorizationError, match="expired"):
        personal(vault).write_personal(NOTE, TEXT, authorization=Authorization(NOTE, TEXT, lifetime=-1))
    assert not (notes / "diary").exists()
    assert not (notes / "agentm" / "_meta" / "personal-writes.md").exists()


def test_conditions_hold_there_too_and_a_write_that_failed_says_so(vault: VaultBackend, notes: Path) -> None:
    own = Locator("own.md")
    with pytest.raises(ConcurrentModificationError):
        personal(vault).write_personal(own, TEXT, authorization=Authorization(own, TEXT), if_match=ABSENT)
    assert (notes / "own.md").read_text() == "mine alone"
    assert [("was not written" in line) for line in audit(notes)] == [False, True]
    personal(vault).write_personal(
        own, TEXT, authorization=Authorization(own, TEXT), if_match=content_hash("mine alone")
    )
    assert (notes / "own.md").read_text() == TEXT


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    """In the middle of the write itself, not of the line about it."""
    return partial(in_the_middle_of_a_write, monkeypatch, of=TEXT)


def test_what_the_operator_saves_in_the_middle_of_a_write_is_kept_beside_it(
    vault: VaultBackend, notes: Path, meanwhile
) -> None:
    own = Locator("own.md")
    meanwhile(lambda: (notes / "own.md").write_text("saved just now"))
    personal(vault).write_personal(own, TEXT, authorization=Authorization(own, TEXT))
    assert (notes / "own.md").read_text() == TEXT
    (kept,) = notes.glob("own (unseen *).md")
    assert kept.read_text() == "saved just now"


def test_what_the_operator_saves_in_the_middle_of_a_write_on_condition_refuses_it(
    vault: VaultBackend, notes: Path, meanwhile
) -> None:
    own = Locator("own.md")
    meanwhile(lambda: (notes / "own.md").write_text("saved just now"))
    with pytest.raises(ConcurrentModificationError):
        personal(vault).write_personal(
            own, TEXT, authorization=Authorization(own, TEXT), if_match=content_hash("mine alone")
        )
    assert (notes / "own.md").read_text() == "saved just now"
    assert sorted(path.name for path in notes.iterdir()) == ["agentm", "own.md"]


def test_an_online_only_note_of_the_operator_is_not_waited_for(vault: VaultBackend, notes: Path) -> None:
    own = Locator("own.md")
    (notes / "own.md").write_text("")
    os.truncate(notes / "own.md", 1000)
    with pytest.raises(StorageIOError, match="not on this device"):
        personal(vault).write_personal(own, TEXT, authorization=Authorization(own, TEXT))
    assert (notes / "own.md").stat().st_size == 1000


@pytest.mark.parametrize("key", ["agentm/a.md", "agentm/_meta/store.json", "agentm/projects/x/PLAN.md"])
def test_the_personal_space_does_not_lead_into_the_store(vault: VaultBackend, notes: Path, key: str) -> None:
    before = (notes / "agentm" / "_meta" / "store.json").read_text()
    with pytest.raises(LocatorConflictError, match="agent's store"):
        personal(vault).write_personal(Locator(key), TEXT, authorization=Authorization(Locator(key), TEXT))
    assert (notes / "agentm" / "_meta" / "store.json").read_text() == before
    assert sorted(path.name for path in (notes / "agentm").iterdir()) == ["_meta"]


def test_a_vault_without_a_personal_root_has_none(notes: Path) -> None:
    assert VaultBackend(notes / "agentm").facet(PersonalSpace) is None


def test_a_personal_root_inside_the_store_is_refused(notes: Path) -> None:
    with pytest.raises(StorageSelectionError, match="inside the agent's store"):
        VaultBackend(notes / "agentm", personal_root=notes / "agentm" / "own").facet(PersonalSpace)


@pytest.mark.parametrize("word", [None, True, "yes", object()])
def test_nothing_but_an_authorization_is_the_operator_s_word(vault: VaultBackend, notes: Path, word: object) -> None:
    with pytest.raises(AuthorizationError, match="has not been asked"):
        personal(vault).write_personal(NOTE, TEXT, authorization=word)
    assert not (notes / "diary").exists()


# ------------------------------------------------------------------------------------------------ asking


@pytest.fixture
def in_use(device: Device) -> Path:
    folder = device.home / "Notes"
    folder.mkdir()
    device.agentm("vault", "init", "--create", str(folder / "agentm"), "--use")
    device.agentm("config", "set", "plugins.vault.personal_root", str(folder))
    (device.home / "text").write_text(TEXT)
    return folder


_WRITE = ["personal", "write", "diary/today.md", "--body-file", "text"]


def test_the_operator_is_asked_with_path_and_size_and_says_yes(device: Device, in_use: Path) -> None:
    screen, code = device.talk(_WRITE, ("Type yes", "yes"))
    assert code == 0, screen
    path = in_use / "diary" / "today.md"
    assert str(path) in screen
    assert f"{len(TEXT)} bytes" in screen
    assert "makes a new note" in screen
    assert path.read_text() == TEXT
    assert len(audit(in_use)) == 1
    screen, _ = device.talk(_WRITE, ("Type yes", "yes"))
    assert "replaces your note" in screen


def test_a_condition_on_the_command_line_holds(device: Device, in_use: Path) -> None:
    """Both kinds, each once where it holds and once where it does not: what it guards against is not overwritten."""
    path = in_use / "diary" / "today.md"
    for condition, before, done in (
        ("absent", None, True),
        ("absent", "mine", False),
        (content_hash("mine"), "mine", True),
        (content_hash("mine"), "edited meanwhile", False),
        (content_hash("mine"), None, False),
    ):
        path.unlink(missing_ok=True)
        if before is not None:
            path.parent.mkdir(exist_ok=True)
            path.write_text(before)
        screen, code = device.talk([*_WRITE, "--if-match", condition], ("Type yes", "yes"))
        assert code == (0 if done else 3), screen
        found = path.read_text() if path.exists() else None
        assert found == (TEXT if done else before)


@pytest.mark.parametrize("answer", ["", "y", "no", "yes please", "\x04"])
def test_anything_but_yes_is_no(device: Device, in_use: Path, answer: str) -> None:
    screen, code = device.talk(_WRITE, ("Type yes", answer))
    assert code == 1, screen
    assert not (in_use / "diary").exists()
    assert not (in_use / "agentm" / "_meta" / "personal-writes.md").exists()


def test_without_a_terminal_it_refuses_whatever_is_piped_in(device: Device, in_use: Path) -> None:
    done = device.agentm("personal", "write", "diary/today.md", stdin="yes\nyes\nyes\n", code=1)
    assert "no terminal" in done.stderr
    assert not (in_use / "diary").exists()


def test_what_the_text_holds_cannot_paint_over_the_question(device: Device, in_use: Path) -> None:
    (device.home / "text").write_text("\x1b[2J\x1b[1;1Hharmless\r\n\u202eevil\n")
    screen, _ = device.talk(_WRITE, ("Type yes", "no"))
    assert "\x1b[2J" not in screen
    assert "\u202e" not in screen
    assert "today.md" in screen


def test_a_store_without_a_personal_space_says_so(device: Device) -> None:
    (device.home / "text").write_text(TEXT)
    device.agentm("vault", "init", "--create", "~/notes", "--use")
    done = device.agentm(*_WRITE, code=1)
    assert "no personal space" in done.stderr


def test_a_vault_that_is_not_the_known_one_is_refused_before_anything_is_written(
    device: Device, in_use: Path
) -> None:
    (in_use / "agentm").rename(in_use / "moved")
    (in_use / "agentm").mkdir()
    done = device.agentm(*_WRITE, code=1)
    assert "is gone" in done.stderr
    assert os.listdir(in_use / "agentm") == []


# ------------------------------------------------------------------------------------------------ a second word


@pytest.fixture
def asks_elsewhere(device: Device, in_use: Path) -> Path:
    """A program that must agree, in a folder with a space; it notes what it was asked and does what `answer` says."""
    program = device.home / "my prompts" / "ask"
    program.parent.mkdir()
    program.write_text(
        '#!/bin/sh\nhere="${0%/*}"\necho "$1" > "$here/asked"\ncat >> "$here/asked"\n. "$here/answer"\n'
    )
    program.chmod(0o755)
    device.agentm("config", "set", "plugins.vault.personal_confirm", f"'{program}'")
    return program.parent


def test_a_program_that_must_agree_gets_the_path_and_the_text(
    device: Device, in_use: Path, asks_elsewhere: Path
) -> None:
    (asks_elsewhere / "answer").write_text("exit 0\n")
    screen, code = device.talk(_WRITE, ("Type yes", "yes"))
    assert code == 0, screen
    path = in_use / "diary" / "today.md"
    assert path.read_text() == TEXT
    assert (asks_elsewhere / "asked").read_text() == f"{path}\n{TEXT}"


@pytest.mark.parametrize("answer", ["exit 1", "kill -9 $$"])
def test_where_that_program_does_not_agree_nothing_is_written_and_a_line_says_so(
    device: Device, in_use: Path, asks_elsewhere: Path, answer: str
) -> None:
    (asks_elsewhere / "answer").write_text(f"{answer}\n")
    screen, code = device.talk(_WRITE, ("Type yes", "yes"))
    assert code == 1, screen
    assert "personal_confirm did not agree" in screen
    assert not (in_use / "diary").exists()
    assert "was not written" in audit(in_use)[-1]


def test_that_program_is_not_asked_before_the_operator_was(
    device: Device, in_use: Path, asks_elsewhere: Path
) -> None:
    (asks_elsewhere / "answer").write_text("exit 0\n")
    device.agentm("personal", "write", "diary/today.md", stdin="yes\n", code=1)
    device.talk(_WRITE, ("Type yes", "no"))
    assert not (asks_elsewhere / "asked").exists()


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["/nowhere/ask"], "cannot be asked"),
        ("'unfinished", "cannot be asked"),
        (["sh", "-c", "exec sleep 30"], "did not answer"),
    ],
)
def test_a_program_that_cannot_be_asked_or_does_not_answer_is_a_no(
    notes: Path, command: object, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentm_obsidian_vault.personal._PATIENCE", 0.2)
    store = VaultBackend(notes / "agentm", personal_root=notes, personal_confirm=command)
    stamp_store(store)
    with pytest.raises(AuthorizationError, match=words):
        personal(store).write_personal(NOTE, TEXT, authorization=Authorization(NOTE, TEXT))
    assert not (notes / "diary").exists()
