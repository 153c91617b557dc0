"""What the commands of encryption answer, word for word and field for field."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest
from encrypted_laptops import Laptop, let_in

from agentm_encryption import commands
from agentm_kernel import Locator
from agentm_kernel.plugin import DeviceFiles

if TYPE_CHECKING:
    from pathlib import Path

NOTE = Locator("notes/a.md")


def answer(laptop: Laptop, *arguments: str) -> dict[str, Any]:
    result = laptop.run(*arguments, "--json")
    assert result.exit_code == 0, (arguments, result.output, result.exception)
    answered: dict[str, Any] = json.loads(result.stdout)
    return answered


def grouped(laptop: Laptop) -> str:
    """The fingerprint as people compare it."""
    digits = str(laptop.status()["fingerprint"])
    return " ".join(digits[start : start + 5] for start in range(0, len(digits), 5))


def recipient_of(laptop: Laptop) -> str:
    """The key that the device shows to whoever may admit it."""
    return laptop.refused("encryption", "join").partition("agentm encryption admit ")[2].split()[0]


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    return tmp_path / "vault"


@pytest.fixture
def one(tmp_path: Path, vault: Path) -> Laptop:
    made = Laptop(tmp_path / "one", vault)
    made.store().write(NOTE, "one\n")
    made.init("--name", "one")
    return made


@pytest.fixture
def other(tmp_path: Path, vault: Path, one: Laptop) -> Laptop:
    return Laptop(tmp_path / "other", vault)


# ------------------------------------------------------------------------------------------------ init


def test_init_says_how_much_was_sealed_with_which_keys_and_what_to_do_with_the_recovery_key(
    tmp_path: Path, vault: Path
) -> None:
    laptop = Laptop(tmp_path / "one", vault)
    (vault / "a.md").write_text("one\n")
    said = laptop.init("--name", "one").splitlines()
    assert said == [
        f"the store at {vault} is encrypted; 1 file was sealed",
        "fingerprint of the keys (epoch 1):",
        f"  {grouped(laptop)}",
        f"take the recovery key off this device: {laptop.recovery}",
    ]
    again = laptop.done("encryption", "init", "--yes").splitlines()
    assert again[0] == f"the store at {vault} is encrypted; 0 files were sealed"
    assert len(again) == 3


def test_init_answers_a_program(tmp_path: Path, vault: Path) -> None:
    laptop = Laptop(tmp_path / "one", vault)
    for number in range(2):
        (vault / f"{number}.md").write_text("one\n")
    (vault / "picture.md").write_bytes(b"\xff\xd8")
    found = answer(laptop, "encryption", "init", "--recovery-file", str(laptop.recovery), "--yes")
    assert (found["place"], found["sealed"], found["epoch"], found["fingerprint"]) == (
        str(vault),
        2,
        1,
        grouped(laptop),
    )
    assert (found["no_text"], found["left"], found["stays_readable"]) == (["picture.md"], [], [])


def test_what_is_no_text_is_named(tmp_path: Path, vault: Path) -> None:
    laptop = Laptop(tmp_path / "one", vault)
    (vault / "picture.md").write_bytes(b"\xff\xd8")
    assert "not encrypted, because it is no text: picture.md\n" in laptop.init()


def test_a_store_that_is_encrypted_gets_no_second_recovery_key(one: Laptop) -> None:
    refused = one.refused("encryption", "init", "--recovery-file", str(one.home / "second.txt"), "--yes")
    assert "this store is encrypted already, and has a recovery key" in refused
    assert not (one.home / "second.txt").exists()


def test_checkpoints_from_before_stay_readable_and_that_is_said(tmp_path: Path, vault: Path) -> None:
    laptop = Laptop(tmp_path / "one", vault)
    laptop.store().write(NOTE, "one\n")
    laptop.done("checkpoint", "create")
    found = answer(laptop, "encryption", "init", "--recovery-file", str(laptop.recovery), "--yes")
    (line,) = found["stays_readable"]
    assert line.startswith("older checkpoints and versions stay readable in ")
    assert line.endswith("; delete it if they should not")
    assert os.path.isdir(line.partition(" readable in ")[2].partition(";")[0])


# ------------------------------------------------------------------------------------------------ members


def test_who_is_no_member_yet_is_told_what_a_member_has_to_run(other: Laptop) -> None:
    named = other.refused("encryption", "join", "--name", "desk top")
    assert "this device is not a member of the store yet" in named
    assert "`agentm encryption admit age1" in named
    assert " 'desk top'`; then run this again here" in named
    assert "''" not in other.refused("encryption", "join")


def test_admitting_says_who_is_a_member_and_what_to_tell_them(one: Laptop, other: Laptop) -> None:
    recipient = recipient_of(other)
    told = ["fingerprint of the keys (epoch 1):", f"  {grouped(one)}"]
    told.append("tell them this fingerprint: they run `agentm encryption join`")
    assert one.done("encryption", "admit", recipient, "other").splitlines() == ["other is a member now", *told]
    again = one.done("encryption", "admit", recipient, "other").splitlines()
    assert again == [f"{recipient} is a member already", *told]


def test_admitting_answers_a_program(one: Laptop, other: Laptop) -> None:
    recipient = recipient_of(other)
    for is_new in (True, False):
        found = answer(one, "encryption", "admit", recipient, "other")
        assert (found["recipient"], found["name"], found["new"]) == (recipient, "other", is_new)
        assert (found["epoch"], found["fingerprint"]) == (1, grouped(one))


def test_joining_says_where(one: Laptop, other: Laptop, vault: Path) -> None:
    recipient = recipient_of(other)
    one.done("encryption", "admit", recipient, "other")
    joined = other.done("encryption", "join", "--fingerprint", one.fingerprint())
    assert joined == f"this device has joined the store at {vault}\n"
    assert other.store().read(NOTE) == "one\n"
    found = answer(other, "encryption", "join")
    assert (found["place"], found["recipient"]) == (str(vault), recipient)
    assert (found["epoch"], found["fingerprint"]) == (1, grouped(one))


def test_another_fingerprint_than_was_given_is_refused_with_the_one_that_there_is(one: Laptop, other: Laptop) -> None:
    one.done("encryption", "admit", recipient_of(other), "other")
    refused = other.refused("encryption", "join", "--fingerprint", "0" * 64)
    assert f"the keys in the store have another fingerprint: {grouped(one)}" in refused
    assert "--fingerprint with what they see" in other.refused("encryption", "join")


# ------------------------------------------------------------------------------------------------ recover


def test_recovering_gives_the_device_a_name_that_is_free(
    one: Laptop, other: Laptop, tmp_path: Path, vault: Path
) -> None:
    fingerprint = one.fingerprint()
    given = ("encryption", "recover", str(one.recovery), "--fingerprint", fingerprint, "--name", "one")
    assert other.done(*given).splitlines() == [
        f"this device can read the store at {vault} again, as one 2",
        "remove devices that are lost: `agentm encryption rotate --remove NAME`",
    ]
    assert other.store().read(NOTE) == "one\n"
    third = Laptop(tmp_path / "third", vault)
    found = answer(third, *given)
    assert (found["place"], found["name"]) == (str(vault), "one 3")
    assert (found["epoch"], found["fingerprint"]) == (1, grouped(one))
    members = {member["name"] for member in third.status()["members"]}  # type: ignore[attr-defined]
    assert {"one", "one 2", "one 3"} <= members


def test_a_member_that_recovers_keeps_its_name(one: Laptop) -> None:
    found = answer(one, "encryption", "recover", str(one.recovery), "--name", "one")
    assert found["name"] == "one"


def test_without_a_name_a_device_is_called_by_its_host(one: Laptop, other: Laptop) -> None:
    given = ("encryption", "recover", str(one.recovery), "--fingerprint", one.fingerprint())
    assert answer(other, *given)["name"] not in (None, "", "None")


# ------------------------------------------------------------------------------------------------ show and accept


def test_show_says_who_wrote_what_it_prints(one: Laptop) -> None:
    result = one.run("encryption", "show", NOTE.key)
    assert result.stdout == "one\n"
    assert result.stderr.startswith(f"written as {NOTE}, epoch 1, by the device ")


def test_an_older_version_is_accepted_note_by_note(one: Laptop, vault: Path) -> None:
    other = Locator("notes/b.md")
    one.store().write(other, "one\n")
    before = {note: (vault / note.key).read_bytes() for note in (NOTE, other)}
    for note, old in before.items():
        one.store().write(note, "two\n")
        (vault / note.key).write_bytes(old)
    assert one.status()["problems"].keys() == {NOTE.key, other.key}  # type: ignore[attr-defined]
    said = one.done("encryption", "accept", NOTE.key)
    assert said == f"{NOTE} is accepted as it is\n"
    assert one.store().read(NOTE) == "one\n"
    assert answer(one, "encryption", "accept", other.key, NOTE.key)["accepted"] == [other.key, NOTE.key]


# ------------------------------------------------------------------------------------------------ rotate and decrypt


def test_rotating_says_how_much_has_new_keys_and_whom_to_tell(one: Laptop) -> None:
    assert one.done("encryption", "rotate", "--yes").splitlines() == [
        "1 file was encrypted with new keys; the old ones are over",
        "fingerprint of the keys (epoch 2):",
        f"  {grouped(one)}",
        "tell the other members this fingerprint: they run `agentm encryption join`",
    ]
    found = answer(one, "encryption", "rotate", "--yes")
    assert (found["encrypted"], found["left"], found["epoch"], found["fingerprint"]) == (1, {}, 3, grouped(one))


def test_a_member_who_is_removed_is_named_once_they_are_gone(one: Laptop, other: Laptop) -> None:
    let_in(one, other, "other")
    one.done("encryption", "rotate", "--remove", "other", "--yes")
    members = {member["name"] for member in one.status()["members"]}  # type: ignore[attr-defined]
    assert "other" not in members
    assert "one" in members


@pytest.mark.parametrize("command", [("rotate",), ("decrypt",)])
def test_what_cannot_be_undone_is_asked_for(one: Laptop, command: tuple[str, ...]) -> None:
    before = one.fingerprint()
    assert "--yes" in one.refused("encryption", *command)
    assert one.fingerprint() == before


def test_decrypting_says_how_much_is_plain_and_what_other_devices_have_to_do(one: Laptop, vault: Path) -> None:
    one.store().write(Locator("b.md"), "two\n")
    assert one.done("encryption", "decrypt", "--yes").splitlines() == [
        f"the store at {vault} is plain; 2 files were decrypted",
        "on the other devices, run `agentm encryption decrypt`, too",
    ]
    assert (vault / NOTE.key).read_text() == "one\n"
    assert f"the store at {vault} is not encrypted" in one.refused("encryption", "decrypt", "--yes")
    assert one.done("encryption", "status") == f"the store at {vault} is not encrypted\n"


def test_decrypting_answers_a_program_and_keeps_the_keys_on_this_device(one: Laptop, vault: Path) -> None:
    found = answer(one, "encryption", "decrypt", "--yes")
    assert (found["place"], found["decrypted"]) == (str(vault), 1)
    assert not [*(vault / "_meta").rglob("*.age")]
    retired = [path for path in one.home.rglob("*") if path.is_file() and "retired" in path.as_posix()]
    assert len(retired) == 1


def test_who_does_not_agree_to_a_plain_store_sends_nothing(one: Laptop) -> None:
    plan = Locator("projects/widgets/_harness/PLAN.md")
    one.store().write(plan, "begin\n")
    files = one.store().facet(DeviceFiles)
    assert files is not None
    with open(files.device_path(plan), "w", encoding="utf-8") as copy:
        copy.write("edited\n")
    one.refused("encryption", "decrypt")
    assert one.store().read(plan) == "begin\n"
    one.done("encryption", "decrypt", "--yes")
    assert one.store().read(plan) == "edited\n"


def test_a_note_of_somebody_who_had_not_noticed_new_keys_gets_them_too(
    one: Laptop, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    late = Locator("late.md")
    one.store().write(late, "late\n")
    sealed = (vault / late.key).read_bytes()
    (vault / late.key).unlink()
    real = commands.replace_keys

    def replaced(*given: Any) -> None:
        real(*given)
        (vault / late.key).write_bytes(sealed)

    monkeypatch.setattr(commands, "replace_keys", replaced)
    one.done("encryption", "rotate", "--yes")
    assert one.store().read(late) == "late\n"
    assert one.status()["old"] == []
