"""What `status` and `doctor` say of an encrypted store, and when they call it unsound."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from encrypted_laptops import Laptop, let_in

from agentm_encryption.doctor import agentm_doctor_checks
from agentm_encryption.epochs import format_fingerprint
from agentm_encryption.journal import DECRYPT, INIT, Journal
from agentm_encryption.places import store_folder
from agentm_kernel import Locator
from agentm_kernel.plugin import TEMP_PREFIX, Device, HookContext

if TYPE_CHECKING:
    from pathlib import Path

    from agentm_kernel.plugin import DoctorRow, StorageBackend

NOTE = Locator("notes/a.md")


@pytest.fixture
def one(tmp_path: Path) -> Laptop:
    made = Laptop(tmp_path / "one", tmp_path / "vault")
    made.init("--name", "one")
    made.store().write(NOTE, "one\n")
    return made


def device_of(laptop: Laptop) -> Device:
    return Device.now(laptop.environ)


def folder_of(laptop: Laptop) -> str:
    """Where the device keeps what it knows about the store."""
    return store_folder(device_of(laptop).state_dir, str(laptop.status()["store"]))


# ------------------------------------------------------------------------------------------------ status


def test_status_tells_everything_in_a_fixed_order(one: Laptop) -> None:
    result = one.run("encryption", "status", "--recovery-file", str(one.recovery))
    fields = one.status()
    members = {member["kind"]: member["recipient"] for member in fields["members"]}  # type: ignore[attr-defined]
    assert result.stdout.splitlines() == [
        f"the store at {one.place} is encrypted (epoch 1, names clear)",
        f"fingerprint: {format_fingerprint(str(fields['fingerprint']))}",
        f"device: one (this device)  {members['device']}",
        f"recovery: recovery  {members['recovery']}",
        "this device keeps its own key in: file",
        "notes: 1 sealed",
        f"plans and progress are plain for hooks in {folder_of(one)}, private to this user",
        "the recovery key opens the store",
    ]
    assert (result.stderr, result.exit_code) == ("", 0)
    assert (fields["encrypted"], fields["place"], fields["names"]) == (True, str(one.place), "clear")
    assert (fields["configured"], fields["identity"], fields["unfinished"]) == (True, "file", None)
    assert (fields["conflicts"], fields["leftovers"], fields["recovery_key_opens"]) == ({}, [], None)


def test_another_member_is_not_called_this_device(one: Laptop, tmp_path: Path) -> None:
    other = Laptop(tmp_path / "other", tmp_path / "vault")
    let_in(one, other, "other")
    assert "device: one  age1" in other.done("encryption", "status")
    assert "device: other (this device)  age1" in other.done("encryption", "status")


def test_a_plain_store_answers_a_program_with_its_place(tmp_path: Path) -> None:
    plain = Laptop(tmp_path / "one", tmp_path / "vault")
    fields = plain.status()
    assert (fields["place"], fields["encrypted"]) == (str(tmp_path / "vault"), False)
    nowhere = Laptop(tmp_path / "two")
    assert nowhere.status()["encrypted"] is False


@pytest.mark.parametrize("work", [INIT, DECRYPT])
def test_what_was_interrupted_is_to_be_run_again(one: Laptop, work: str) -> None:
    Journal(folder_of(one)).begin(work)
    result = one.run("encryption", "status")
    assert result.exit_code == 1
    assert result.stderr == f"interrupted: run `agentm encryption {work}` to go on\n"
    assert one.status()["unfinished"] == work


def test_a_note_with_keys_that_are_over_is_a_rotation_that_was_interrupted(one: Laptop) -> None:
    old = (one.place / NOTE.key).read_bytes()
    one.done("encryption", "rotate", "--yes")
    assert one.status()["unfinished"] is None
    (one.place / NOTE.key).write_bytes(old)
    assert one.run("encryption", "status").exit_code == 1


def test_a_problem_alone_makes_it_unsound(one: Laptop) -> None:
    (one.place / NOTE.key).rename(one.place / "moved.md")
    result = one.run("encryption", "status")
    assert result.exit_code == 1
    assert result.stderr.startswith("  moved.md: ")
    assert result.stdout.splitlines()[5] == "notes: 0 sealed"


def test_a_plain_version_that_waits_alone_makes_it_unsound(one: Laptop) -> None:
    left = one.place / "notes" / f"{TEMP_PREFIX}x.swap"
    left.write_text("plain\n")
    result = one.run("encryption", "status")
    assert result.exit_code == 1
    assert result.stderr == f"  a plain version that another program has open, or has written to: {left}\n"
    assert one.status()["leftovers"] == [str(left)]


def test_a_store_that_is_not_configured_alone_makes_it_unsound(one: Laptop) -> None:
    one.done("config", "unset", "wrappers")
    result = one.run("encryption", "status")
    assert result.exit_code == 1
    assert result.stderr == "this device does not use encryption: `agentm encryption join` sets that right\n"
    assert "does not use" not in result.stdout


def test_a_conflict_copy_is_told_and_is_no_failure(one: Laptop) -> None:
    copy = "notes/a (conflicted copy 2026-01-01).md"
    (one.place / copy).write_bytes((one.place / NOTE.key).read_bytes())
    result = one.run("encryption", "status")
    assert result.stderr == f"  {copy}: a conflict copy of {NOTE}; `agentm encryption show` prints it\n"
    assert result.exit_code == 0


# ------------------------------------------------------------------------------------------------ doctor


def rows(laptop: Laptop, store: StorageBackend | None = None) -> dict[str, DoctorRow]:
    device = device_of(laptop)
    context = HookContext(device, os.getcwd(), store=store or device.store(read_only=True))
    return {row.check: row for row in agentm_doctor_checks(context) or ()}


def test_doctor_says_which_keys_there_are_and_what_stays_plain(one: Laptop) -> None:
    found = rows(one)
    fingerprint = format_fingerprint(one.fingerprint())
    assert {row.status for row in found.values()} == {"ok"}
    assert found["encryption"].message == f"epoch 1, members: 2, {fingerprint}"
    assert found["encryption key"].message == "this device's own key is private"
    assert found["encryption scope"].message == (
        "notes are sealed; plans and progress are plain in a private copy on this device"
    )
    assert "conflicts" not in found


def test_doctor_has_nothing_to_say_of_a_plain_store_and_of_none(tmp_path: Path) -> None:
    assert rows(Laptop(tmp_path / "one", tmp_path / "vault")) == {}
    nothing: Any = SimpleNamespace(store=None)
    assert agentm_doctor_checks(nothing) is None


def test_doctor_warns_of_a_store_with_keys_that_is_used_without(one: Laptop) -> None:
    one.done("config", "unset", "wrappers")
    row = rows(one)["encryption"]
    assert row.status == "fail"
    assert row.message == "the store has keys of encryption, and this device reads and writes it without"
    assert (row.hint or "").startswith("run `agentm encryption join`")


def test_doctor_counts_conflict_copies_and_names_a_note(one: Laptop) -> None:
    for number in (1, 2):
        copy = one.place / f"notes/a (conflicted copy 2026-01-0{number}).md"
        copy.write_bytes((one.place / NOTE.key).read_bytes())
    row = rows(one)["conflicts"]
    assert (row.status, row.message) == ("warn", f"2 to settle, of '{NOTE}' for one")


@pytest.mark.skipif(os.name == "nt", reason="there are no modes")
def test_doctor_says_when_others_can_read_the_key_of_this_device(one: Laptop) -> None:
    (identity,) = one.home.rglob("encryption/identity")
    identity.chmod(0o644)
    row = rows(one)["encryption key"]
    assert (row.status, row.hint) == ("fail", "run `chmod 600` on it")
    assert row.message == f"{identity} can be read by others"


def test_doctor_says_why_keys_cannot_be_opened(one: Laptop) -> None:
    (key,) = (one.place / "_meta").rglob("1.age")
    key.write_text("damaged")
    row = rows(one)["encryption"]
    assert row.status == "fail"
    assert row.message
