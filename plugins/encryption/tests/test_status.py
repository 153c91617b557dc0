"""What commands tell people and programs about an encrypted store, and whom they ask."""

from __future__ import annotations

import io
import json
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import click
import pytest
from encrypted_laptops import Laptop

from agentm_encryption import command_members, commands, device_identity, rewriting
from agentm_encryption.command_context import bar, key_fields, listed, recovery_maker, refuse_left, say_keys
from agentm_encryption.device_identity import DeviceIdentity
from agentm_encryption.pins import Pins
from agentm_kernel import Locator
from agentm_kernel.errors import AgentmError, StorageIOError, StorageSelectionError
from agentm_kernel.plugin import Sealed


@pytest.fixture
def encrypted(laptop):
    laptop.init("--name", "one")
    store = laptop.store()
    for key in ("notes/a.md", "notes/b.md", "notes/c.md"):
        store.write(Locator(key), f"{key}\n")
    return laptop


def pins_of(laptop):
    (file,) = laptop.home.rglob("pins")
    return Pins(str(file.parent))


def configure(laptop, *arguments):
    laptop.done("config", *arguments)


# ------------------------------------------------------------------------------------------------ status


def test_a_plain_store_is_said_to_be_plain(laptop):
    laptop.store().write(Locator("notes/a.md"), "a\n")

    assert "is not encrypted" in laptop.done("encryption", "status")
    assert json.loads(laptop.done("encryption", "status", "--json"))["encrypted"] is False


def test_status_says_who_can_read_what_and_how_much_is_sealed(encrypted):
    said = encrypted.done("encryption", "status")
    fields = encrypted.status()

    assert "is encrypted (epoch 1, names clear)" in said
    assert f"notes: {fields['sealed']} sealed" in said
    assert fields["sealed"] == 3
    assert f"device: one (this device)  {fields['this_device']}" in said
    assert "recovery: recovery  age1" in said
    assert "this device keeps its own key in: file" in said
    assert "in each checkout's .harness folder" in said
    for word in ("does not use encryption", "the recovery key", "interrupted", "conflict copy", "plain version"):
        assert word not in said
    assert (fields["plain"], fields["no_text"], fields["old"], fields["problems"]) == ([], [], [], {})


def test_what_is_wrong_is_told_with_what_to_run_and_fails(encrypted):
    (encrypted.place / "notes" / "plain.md").write_text("planted\n")
    (encrypted.place / "notes" / "binary.md").write_bytes(b"\xff\xfe")
    (encrypted.place / "notes" / "a.md").rename(encrypted.place / "notes" / "moved.md")

    result = encrypted.run("encryption", "status")
    fields = encrypted.status()

    assert result.exit_code == 1
    assert "notes/plain.md: not encrypted; `agentm encryption init --adopt` seals it" in result.output
    assert "notes/binary.md: no text, and not encrypted" in result.output
    assert (fields["plain"], fields["no_text"], [*fields["problems"]]) == (
        ["notes/plain.md"],
        ["notes/binary.md"],
        ["notes/moved.md"],
    )
    assert fields["sealed"] == 2


def test_a_device_that_stopped_using_encryption_is_told_so(encrypted):
    configure(encrypted, "unset", "wrappers")

    result = encrypted.run("encryption", "status")

    assert result.exit_code == 1
    assert "this device does not use encryption: `agentm encryption join` sets that right" in result.output
    assert encrypted.status()["configured"] is False


def test_the_epochs_before_are_over_on_this_device_once_keys_are_new(encrypted):
    assert (pins_of(encrypted).newest, pins_of(encrypted).oldest) == (1, 1)

    said = encrypted.done("encryption", "rotate", "--yes")

    assert "3 files were encrypted with new keys; the old ones are over" in said
    assert (pins_of(encrypted).newest, pins_of(encrypted).oldest) == (2, 2)
    assert encrypted.status()["epoch"] == 2


def test_a_program_is_told_what_was_done_before_new_keys_could_not_be_finished(encrypted, monkeypatch):
    def fail(*_):
        raise AgentmError("the disk is full", hint="make room")

    monkeypatch.setattr(commands, "_finish", fail)

    result = encrypted.run("encryption", "rotate", "--yes", "--json")

    assert result.exit_code == 1
    assert result.exception.details["encrypted"] == 3
    assert result.exception.details["epoch"] == 2


def test_init_that_fails_after_everything_is_sealed_is_no_interrupted_one(laptop, monkeypatch):
    def fail(_):
        raise AgentmError("plans cannot be fetched", hint="try again")

    monkeypatch.setattr(commands, "fetch_state", fail)

    laptop.refused("encryption", "init", "--recovery-file", str(laptop.recovery), "--yes", "--adopt")

    assert laptop.status()["unfinished"] is None


def test_the_very_command_that_was_interrupted_goes_on_and_doctor_says_that_it_was(laptop, monkeypatch):
    def full_disk(*_):
        raise StorageIOError("cannot write 'notes/b.md': No space left on device", hint="free some space")

    begun = ("encryption", "init", "--recovery-file", str(laptop.recovery), "--yes")
    laptop.store().write(Locator("notes/a.md"), "one\n")
    with monkeypatch.context() as patch:
        patch.setattr(commands, "seal_all", full_disk)
        laptop.refused(*begun)

    said = laptop.run("doctor").output
    assert "encrypting the store was interrupted, and notes that are not sealed are not read" in said
    assert "run `agentm encryption init` to go on" in said
    another = str(laptop.home / "another.txt")
    hint = "it is not all encrypted yet: `agentm encryption init` without another recovery key goes on"
    assert laptop.run(*begun[:3], another).exception.hint == hint
    laptop.done(*begun)
    assert laptop.store().read(Locator("notes/a.md")) == "one\n"
    assert "was interrupted" not in laptop.run("doctor").output
    assert laptop.run(*begun).exception.hint == "`agentm encryption rotate` changes it"


def test_whatever_is_sealed_is_as_new_as_the_clock_says(laptop):
    """So that it is above what another device may have seen of a note of that name, and deleted."""
    laptop.store().write(Locator("notes/before.md"), "plain until init\n")
    now = time.time_ns() // 1_000_000
    laptop.init()
    laptop.store().write(Locator("notes/after.md"), "never plain\n")

    sealed = laptop.store().facet(Sealed)
    for locator in (Locator("notes/before.md"), Locator("notes/after.md")):
        revision = sealed.open_stored(locator, sealed.as_stored.read(locator)).revision
        assert now <= revision <= time.time_ns() // 1_000_000


def test_a_device_learns_which_epochs_are_over_by_opening_the_store_unless_it_only_reads(shared):
    one, other = shared
    one.done("encryption", "rotate", "--yes")
    other.done("encryption", "join", "--fingerprint", one.fingerprint())
    pins = pins_of(other)
    assert (pins.newest, pins.oldest) == (2, 2)
    text = Path(pins._path).read_text()
    Path(pins._path).write_text(text.replace("oldest 2", "oldest 1"))

    other.store(read_only=True).exists(Locator("notes/a.md"))
    other.store(read_only=True).facet(Sealed).keys  # noqa: B018 - opens them
    assert pins_of(other).oldest == 1
    other.store().facet(Sealed).keys  # noqa: B018 - opens them
    assert pins_of(other).oldest == 2


def test_no_command_works_on_another_store_than_the_one_that_this_device_knows(encrypted):
    mark = encrypted.place / "_meta" / "store.json"
    fields = json.loads(mark.read_text())
    mark.write_text(json.dumps({**fields, "id": "99999999-2222-3333-4444-555555555555"}))

    for command in (["status"], ["rotate", "--yes"], ["decrypt", "--yes"], ["join"]):
        assert "99999999" in encrypted.refused("encryption", *command)


def test_a_device_whose_keys_are_not_confirmed_runs_no_command_of_a_member(tmp_path):
    one, other = (Laptop(tmp_path / name, tmp_path / "vault") for name in ("one", "other"))
    one.init()

    for command in (["status"], ["rotate", "--yes"], ["show", "notes/a.md"], ["accept", "notes/a.md"]):
        assert "has not joined it" in other.refused("encryption", *command)


# ------------------------------------------------------------------------------------------------ asking


def terminal(monkeypatch, answers):
    """A terminal with somebody who types; what was asked, and how."""
    asked = []

    def prompt(text, **how):
        asked.append((text, how))
        return answers.pop(0)

    monkeypatch.setattr(sys, "stdin", SimpleNamespace(isatty=lambda: True))
    monkeypatch.setattr(sys, "stderr", SimpleNamespace(isatty=lambda: True, write=lambda _: None, flush=lambda: None))
    monkeypatch.setattr(click, "prompt", prompt)
    return asked


def test_a_new_passphrase_is_asked_for_twice_and_a_known_one_once_and_neither_is_shown(tmp_path, monkeypatch):
    asked = terminal(monkeypatch, ["correct horse", "correct horse"])
    identity = DeviceIdentity(str(tmp_path), {}, {})

    assert [identity._passphrase(is_new=is_new) for is_new in (True, False)] == ["correct horse"] * 2

    assert [how["confirmation_prompt"] for _, how in asked] == [True, False]
    assert all(how["hide_input"] and how["err"] for _, how in asked)


def test_an_identity_is_made_anew_where_half_of_it_is_gone(tmp_path):
    identity = DeviceIdentity(str(tmp_path), {}, {})
    first = identity.make("file")
    assert identity.make("file") == first

    for half in ("identity", "identity.pub"):
        before = identity.recipient
        (tmp_path / "encryption" / half).unlink()
        assert identity.make("file") not in (None, before)
        assert str(identity.unlock().to_public()) == identity.recipient


def test_a_keyring_without_the_identity_is_said_and_not_taken_for_an_empty_one(tmp_path, monkeypatch):
    kept = {}
    keyring = SimpleNamespace(
        set_password=lambda service, name, text: kept.update({name: text}),
        get_password=lambda service, name: kept.get(name),
    )
    monkeypatch.setattr(device_identity, "_keyring", lambda: keyring)
    identity = DeviceIdentity(str(tmp_path), {}, {})
    recipient = identity.make("keyring")
    assert str(identity.unlock().to_public()) == recipient

    kept.clear()

    with pytest.raises(StorageSelectionError, match="the keyring does not have this device's identity"):
        identity.unlock()


def test_a_fingerprint_is_on_the_screen_before_anybody_is_asked_about_it(monkeypatch):
    happened = []
    monkeypatch.setattr(command_members, "say_keys", lambda _: happened.append("said"))
    monkeypatch.setattr(command_members, "confirm", lambda *_, **how: happened.append(("asked", how["yes"])))
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(flush=lambda: happened.append("shown")))

    command_members._compare(SimpleNamespace(fingerprint="abc"), None)

    assert happened == ["said", "shown", ("asked", False)]


@pytest.mark.parametrize(("given", "is_good"), [("abcde 12345", True), ("ABCDE12345", True), ("abcde 1234", False)])
def test_a_fingerprint_that_was_given_is_compared_however_it_is_spaced(given, is_good):
    keys = SimpleNamespace(fingerprint="abcde12345")
    if is_good:
        command_members._compare(keys, given)
    else:
        with pytest.raises(AgentmError, match="another fingerprint: abcde 12345"):
            command_members._compare(keys, given)


def test_keys_are_said_in_two_lines_and_for_programs_in_two_fields(capsys):
    keys = SimpleNamespace(fingerprint="abcde12345", current=SimpleNamespace(number=7))

    say_keys(keys)

    assert capsys.readouterr().out == "fingerprint of the keys (epoch 7):\n  abcde 12345\n"
    assert key_fields(keys) == {"epoch": 7, "fingerprint": "abcde 12345"}


def test_a_recovery_key_is_named_or_made_and_not_both(tmp_path):
    assert recovery_maker(None, None) is None
    assert recovery_maker("age1x", None)() == "age1x"
    assert recovery_maker(None, str(tmp_path / "file"))().startswith("age1")
    with pytest.raises(click.UsageError, match="give one of them"):
        recovery_maker("age1x", str(tmp_path / "file"))


# ------------------------------------------------------------------------------------------------ telling


class Screen(io.StringIO):
    def __init__(self, *, is_terminal):
        super().__init__()
        self._is_terminal = is_terminal

    def isatty(self):
        return self._is_terminal


@pytest.mark.parametrize(
    ("is_terminal", "count", "is_shown"), [(True, 100, True), (True, 99, False), (False, 100, False)]
)
def test_progress_is_shown_to_people_and_for_what_takes_a_while(monkeypatch, is_terminal, count, is_shown):
    screen = Screen(is_terminal=is_terminal)
    monkeypatch.setattr(sys, "stderr", screen)

    assert [*bar("Reading", [*range(count)])] == [*range(count)]
    assert ("Reading" in screen.getvalue()) is is_shown


@pytest.mark.parametrize(("count", "more"), [(1, []), (20, []), (21, ["  and 1 more"]), (25, ["  and 5 more"])])
def test_as_many_as_fit_are_listed_and_the_others_counted(count, more):
    lines = [*listed({f"{number:02}.md": "why" for number in reversed(range(count))})]

    assert lines == [*(f"  {number:02}.md: why" for number in range(min(count, 20))), *more]


def test_what_was_left_is_listed_counted_and_handed_to_programs(capsys):
    with pytest.raises(AgentmError, match="2 of the notes were left as they are, so nothing ended") as caught:
        refuse_left({"a.md": "x", "b.md": "y"}, "nothing ended", "look")

    assert capsys.readouterr().err == "  a.md: x\n  b.md: y\n"
    assert (caught.value.hint, caught.value.details) == ("look", {"left": {"a.md": "x", "b.md": "y"}})


# ------------------------------------------------------------------------------------------------ waiting


def test_plain_versions_are_waited_for_and_named_when_time_is_up(monkeypatch):
    now, found, seen = [0.0], [["/notes/x"], ["/notes/a/b/x"], []], []
    monkeypatch.setattr(rewriting, "plain_leftovers", lambda _: found.pop(0))
    monkeypatch.setattr(
        rewriting,
        "time",
        SimpleNamespace(monotonic=lambda: now[0], sleep=lambda seconds: now.__setitem__(0, now[0] + seconds)),
    )
    store = SimpleNamespace(describe=lambda: "/notes", mkdir=seen.append)

    assert rewriting.drop_leftovers(store) == []
    assert seen == [Locator(), Locator("a/b")]
    assert now[0] == pytest.approx(4.2)  # twice as long as the floor keeps one

    found += [["/notes/x"]] * 100
    assert rewriting.drop_leftovers(store) == ["/notes/x"]
    assert 70 < now[0] - 4.2 < 73
