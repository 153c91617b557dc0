"""`agentm checkpoint`, as people and programs use it."""

from __future__ import annotations

import json
import os
import pty
import select
import sys
import time

import pytest

from agentm_kernel import Locator, select_backend
from agentm_kernel.errors import (
    AgentmError,
    ConfigError,
    IntegrityError,
    InvalidContentError,
    NotFoundError,
    StorageIOError,
)

DEPLOY = Locator("skills/deploy.md")


def refused(device, *arguments):
    result = device.result(*arguments)
    assert isinstance(result.exception, AgentmError), result.output
    return result.exception


def image_of(device):
    (file,) = device.home.rglob("image.car")
    return file


# ------------------------------------------------------------------------------------------------ create, list, show


def test_create_says_what_it_took(device):
    device.store.write(Locator("a.md"), "one\n")

    out = device.run("create", "--reason", "before the move")

    assert "took checkpoint bafyrei" in out
    assert out.endswith(" of 1 file\n")
    (listed,) = device.json("list")["checkpoints"]
    assert (listed["reason"], listed["notes"], listed["bytes"]) == ("before the move", 1, 4)
    assert "nothing has changed since" in device.run("create")


def test_create_answers_in_json(device):
    device.store.write(Locator("a.md"), "one")

    answer = device.json("create")

    assert answer["schema"] == 1
    assert answer["new"] is True
    assert answer["skipped"] == []
    assert answer["id"] == device.json("show")["id"]


def test_what_is_no_note_makes_the_command_fail_unless_it_is_allowed(device):
    device.store.write(Locator("a.md"), "one")
    (device.root / "picture.png").write_bytes(b"\x89PNG\xff")

    result = device.result("create")
    assert result.return_value == 1
    assert "not a note, not in the checkpoint: picture.png" in result.stderr
    assert device.result("create", "--allow-skipped").return_value == 0
    assert device.json("show")["entries"] == {"a.md": 3}


def test_list_shows_the_oldest_first(device):
    assert "no checkpoints yet" in device.run("list")
    for number in range(3):
        device.store.write(Locator("a.md"), str(number))
        device.run("create", "--reason", f"number {number}")

    lines = device.run("list").splitlines()

    assert [line.rpartition("  ")[2] for line in lines] == ["number 0", "number 1", "number 2"]


def test_show_lists_the_notes_and_prints_one_byte_for_byte(device):
    text = "\ufeffone\r\ntwo\n\n"
    device.store.write(Locator("folder/a.md"), text)
    device.run("create")

    assert "folder/a.md" in device.run("show", "latest")
    result = device.result("show", "latest", "--path", "folder/a.md")
    assert result.stdout_bytes == text.encode()
    assert isinstance(refused(device, "show", "latest", "--path", "nothing.md"), NotFoundError)


def test_a_checkpoint_that_is_not_there_is_refused(device):
    assert isinstance(refused(device, "show", "latest"), NotFoundError)
    assert isinstance(refused(device, "restore", "bafyreinothing", "--yes"), NotFoundError)
    assert isinstance(refused(device, "pull", "nonsense"), InvalidContentError)


# ------------------------------------------------------------------------------------------------ diff, verify


def test_diff_names_notes_and_the_sections_in_them(device):
    device.store.write(Locator("skill.md"), "# A\n\n```sh\nmake\n```\n\n# B\n\nText.\n")
    device.store.write(Locator("gone.md"), "gone")
    device.run("create")
    device.store.write(Locator("skill.md"), "# A\n\n```sh\nrm\n```\n\n# B\n\nText.\n# C\n")
    device.store.delete(Locator("gone.md"))
    device.store.write(Locator("new.md"), "new")

    expected = {
        "gone.md": ("removed", []),
        "new.md": ("added", []),
        "skill.md": ("changed", ["changed: code block 1 (sh) under 'A'", "added: the section 'C'"]),
    }
    found = device.json("diff")["differences"]
    assert {entry["note"]: (entry["kind"], entry["sections"]) for entry in found} == expected
    (lines,) = [entry["lines"] for entry in found if entry["note"] == "skill.md"]
    assert [line for line in lines if line[:1] in "+-"] == ["-make", "+rm", "+# C"]
    assert "    -make\n    +rm\n" in device.run("diff")
    assert [line for line in device.run("diff").splitlines() if line.startswith(" " * 11)] == [
        f"           {section}" for difference in found for section in difference["sections"]
    ]
    assert any(difference["sections"] for difference in found)

    device.run("create")
    between = device.json("diff", "latest~1", "latest")["differences"]
    assert between == found
    assert "changed  skill.md" in device.run("diff", "latest~1")
    assert device.run("diff") == "no differences\n"


def test_verify_says_what_is_whole(device):
    device.store.write(Locator("a.md"), "precious text")
    device.run("create")
    device.store.write(Locator("a.md"), "another text")
    device.run("create")

    assert "2 of 2 checkpoints are whole" in device.run("verify")
    assert "is whole" in device.run("verify", "latest")

    file = image_of(device)
    file.write_bytes(file.read_bytes().replace(b"another text", b"poisoned txt"))
    result = device.result("verify")
    assert result.return_value == 1
    assert "1 of 2 checkpoints are whole" in result.stdout
    assert "the last one that is whole" in result.stdout
    answer = json.loads(device.result("verify", "--json").stdout)
    assert len(answer["broken"]) == 1
    assert answer["last_whole"] == device.json("list")["checkpoints"][0]["id"]
    assert isinstance(refused(device, "verify", "latest"), IntegrityError)


def test_a_torn_image_is_reported_and_used(device):
    for number in range(2):
        device.store.write(Locator("a.md"), str(number))
        device.run("create")
    file = image_of(device)
    file.write_bytes(file.read_bytes()[:-5])

    result = device.result("list")

    assert "warning: the image" in result.stderr
    assert "the last complete checkpoint is" in result.stderr
    assert len(result.stdout.splitlines()) == 1


def test_nothing_that_is_printed_reaches_the_terminal_as_a_command(device):
    device.store.write(Locator("a.md"), "# One\n")
    (device.root / "evil\x1b]52;c;ZXZpbA==\x07.png").write_bytes(b"\xff")
    device.run("create", "--allow-skipped")
    device.store.write(Locator("a.md"), "# One\n\x1b]52;c;ZXZpbA==\x07\n")

    shown = [
        device.result("create", "--reason", "\x1b[2J").output,
        device.run("diff", "latest~1"),
        device.run("list"),
    ]

    assert not any("\x1b" in text for text in shown)
    assert any("\\x1b" in text for text in shown)


def test_a_very_long_note_is_not_compared_line_by_line(device):
    device.store.write(Locator("a.md"), "one\n" * 20_000)
    device.run("create")
    device.store.write(Locator("a.md"), "two\n" * 20_000)

    started = time.monotonic()
    assert "too many to compare" in device.run("diff")
    assert time.monotonic() - started < 10


# ------------------------------------------------------------------------------------------------ restore


def test_restore_brings_the_store_back_and_can_be_undone(device, make_notes, write_notes, notes_in):
    notes = make_notes(60)
    write_notes(device.store, notes)
    device.run("create")
    before = notes_in(device.store)
    device.store.write(Locator("same-a.md"), "spoilt")
    device.store.write(Locator("new.md"), "new")
    spoilt = notes_in(device.store)

    out = device.run("restore", "latest", "--yes")

    assert "wrote 1 file and deleted 1" in out
    assert notes_in(device.store) == before
    device.run("restore", out.split("`agentm checkpoint restore ")[1].split("`")[0], "--yes")
    assert notes_in(device.store) == spoilt


def test_restore_needs_yes_without_a_terminal(device, notes_in):
    device.store.write(Locator("a.md"), "one")
    device.run("create")
    device.store.write(Locator("a.md"), "two")

    assert "--yes" in refused(device, "restore", "latest").hint
    assert notes_in(device.store)["a.md"] == "two"


def test_a_restore_that_is_refused_or_declined_leaves_no_trace(device, notes_in):
    device.store.write(Locator("a.md"), "one")
    device.run("create")
    device.store.write(Locator("a.md"), "two")
    for arguments in (("restore", "latest"), ("restore", "latest", "--path", "nothing", "--yes")):
        refused(device, *arguments)

    assert len(device.json("list")["checkpoints"]) == 1
    device.run("restore", "latest", "--yes")
    assert notes_in(device.store)["a.md"] == "one"


def test_latest_is_never_what_a_restore_took(device, notes_in):
    device.store.write(Locator("a.md"), "one")
    device.run("create")
    device.store.write(Locator("a.md"), "two")
    device.run("restore", "latest", "--yes")

    assert [entry["automatic"] for entry in device.json("list")["checkpoints"]] == [False, True]
    assert "auto  before restoring" in device.run("list")
    assert "wrote 0 files" in device.run("restore", "latest", "--yes")
    assert notes_in(device.store)["a.md"] == "one"


def test_on_a_damaged_image_latest_is_refused_with_the_id_that_is_meant(device, notes_in):
    device.store.write(Locator("a.md"), "one")
    first = device.json("create")["id"]
    device.store.write(Locator("a.md"), "two")
    device.run("create")
    file = image_of(device)
    file.write_bytes(file.read_bytes()[:-1] + b"\0")

    error = refused(device, "restore", "latest", "--yes")

    assert isinstance(error, IntegrityError)
    assert first in error.message
    assert notes_in(device.store)["a.md"] == "two"
    device.run("restore", first, "--yes")
    assert notes_in(device.store)["a.md"] == "one"


def test_pruning_counts_only_checkpoints_that_somebody_wanted(device):
    for number in range(3):
        device.store.write(Locator("a.md"), f"good {number}")
        device.run("create")
        device.store.write(Locator("a.md"), f"spoilt {number}")
        device.run("restore", "latest", "--yes")

    device.run("prune", "--keep", "2", "--yes")

    kept = device.json("list")["checkpoints"]
    assert [entry["automatic"] for entry in kept] == [False, True, False, True]


def test_restore_can_say_what_it_would_do(device, notes_in):
    device.store.write(Locator("a.md"), "one")
    device.run("create")
    device.store.write(Locator("a.md"), "two")

    assert "would replace a.md" in device.run("restore", "latest", "--dry-run")
    answer = device.json("restore", "latest", "--dry-run")
    assert answer["steps"] == [{"note": "a.md", "do": "replace"}]
    assert len(device.json("list")["checkpoints"]) == 1
    assert notes_in(device.store)["a.md"] == "two"


def test_restore_of_what_is_there_does_nothing(device):
    device.store.write(Locator("a.md"), "one")
    device.run("create")

    assert "wrote 0 files and deleted 0" in device.run("restore", "latest")
    assert len(device.json("list")["checkpoints"]) == 1


def test_restore_refuses_a_damaged_checkpoint_and_leaves_the_store(device, notes_in):
    device.store.write(Locator("a.md"), "precious text")
    device.run("create")
    device.store.write(Locator("a.md"), "two")
    file = image_of(device)
    file.write_bytes(file.read_bytes().replace(b"precious text", b"poisoned text"))
    before = notes_in(device.store)

    assert isinstance(refused(device, "restore", "latest", "--yes"), IntegrityError)
    assert notes_in(device.store) == before


def test_restore_from_a_daemon_that_is_down_says_so(device):
    device.store.write(Locator("a.md"), "one")
    made = device.json("create")
    device.configure(plugins__checkpoint__ipfs_api="http://127.0.0.1:1")

    error = refused(device, "restore", made["id"], "--from", "ipfs", "--yes")

    assert isinstance(error, StorageIOError)
    assert "cannot be reached" in error.message
    assert isinstance(refused(device, "create", "--ipfs"), StorageIOError)
    assert isinstance(refused(device, "push"), StorageIOError)


# ------------------------------------------------------------------------------------------------ prune, settings


def test_prune_keeps_the_newest(device):
    for number in range(4):
        device.store.write(Locator("a.md"), str(number))
        device.run("create")

    assert "--yes" in refused(device, "prune", "--keep", "1").hint
    assert "forgot 3 checkpoints, kept 1" in device.run("prune", "--keep", "1", "--yes")
    assert device.json("prune", "--keep", "1") == {
        "schema": 1,
        "pruned": [],
        "kept": 1,
        "bytes": image_of(device).stat().st_size,
    }
    assert device.run("show", "latest", "--path", "a.md") == "3"


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("ipfs_timeout", "soon"),
        ("ipfs_timeout", 0),
        ("ipfs_timeout", True),
        ("ipfs_allow_remote", "yes"),
        ("ipfs_api", 5001),
        ("author", ["a"]),
        ("heartbeat_minutes", -1),
    ],
)
def test_a_setting_of_the_wrong_kind_is_refused(device, option, value):
    device.configure(**{f"plugins__checkpoint__{option}": value})

    assert isinstance(refused(device, "create"), ConfigError)


def test_a_setting_that_does_not_exist_is_refused(device):
    device.configure(plugins__checkpoint__unknown=1)

    assert "plugins.checkpoint has no option 'unknown'" in str(refused(device, "create"))


def test_the_author_can_be_set(device):
    device.configure(plugins__checkpoint__author="Ana")

    assert device.json("create")["author"] == "Ana"


# ------------------------------------------------------------------------------------------------ guarded notes


def test_verify_reports_guarded_notes_and_where_the_good_version_is(guarded):
    made = guarded.json("create")
    assert "every guarded note is as it is known" in guarded.run("verify")
    guarded.store.write(DEPLOY, "evil")

    result = guarded.result("verify")

    assert result.return_value == 1
    assert "locked: 'skills/deploy.md'" in result.stdout
    assert f"agentm checkpoint restore {made['id']} --path skills/deploy.md" in result.stdout


def test_a_checkpoint_records_what_is_there_even_if_it_is_not_good(guarded):
    guarded.store.write(DEPLOY, "evil")

    guarded.run("create")

    assert guarded.run("show", "latest", "--path", "skills/deploy.md") == "evil"


def test_restoring_the_known_version_unlocks_it(guarded, notes_in):
    guarded.run("create")
    guarded.store.write(DEPLOY, "evil")
    with pytest.raises(IntegrityError):
        select_backend().read(DEPLOY)

    guarded.run("restore", "latest", "--path", "skills/deploy.md", "--yes")

    assert "make deploy" in select_backend().read(DEPLOY)
    assert "_meta/alerts.md" in notes_in(guarded.store)


def test_a_locked_note_that_is_back_by_itself_is_unlocked_by_restoring_it(guarded):
    guarded.run("create")
    good = guarded.store.read(DEPLOY)
    guarded.store.write(DEPLOY, "evil")
    with pytest.raises(IntegrityError):
        select_backend().read(DEPLOY)
    guarded.store.write(DEPLOY, good)

    guarded.run("restore", "latest", "--path", "skills", "--yes")

    assert select_backend().read(DEPLOY) == good


def test_without_a_terminal_no_other_version_of_a_guarded_note_can_be_restored(guarded):
    guarded.store.write(DEPLOY, "evil")
    guarded.run("create")
    with pytest.raises(IntegrityError):
        select_backend().read(DEPLOY)
    guarded.store.write(DEPLOY, "other")

    error = refused(guarded, "restore", "latest", "--yes")

    assert "not known to be good" in error.message
    assert guarded.store.read(DEPLOY) == "other"


def test_an_added_note_can_be_removed_by_restoring(guarded, notes_in):
    guarded.run("create")
    guarded.store.write(Locator("skills/evil.md"), "evil")
    with pytest.raises(IntegrityError):
        select_backend().read(Locator("skills/evil.md"))

    guarded.run("restore", "latest", "--path", "skills/evil.md", "--yes")

    assert "skills/evil.md" not in notes_in(guarded.store)
    assert "every guarded note" in guarded.run("verify")


def test_accept_needs_the_operator_at_a_terminal(guarded):
    guarded.store.write(DEPLOY, "evil")

    assert "terminal" in refused(guarded, "accept", "skills/deploy.md").message
    with pytest.raises(IntegrityError):
        select_backend().read(DEPLOY)


def at_terminal(device, *command_line, answer):
    """Run `agentm …` with a terminal of its own and somebody at it."""
    pid, terminal = pty.fork()
    if pid == 0:
        code = device.preamble + "from agentm_kernel.cli.main import main\nsys.exit(main())"
        os.execve(sys.executable, [sys.executable, "-c", code, *command_line], device.environ)
    said = b""
    deadline = time.monotonic() + 60
    answered = False
    while time.monotonic() < deadline:
        if select.select([terminal], [], [], 0.1)[0]:
            try:
                piece = os.read(terminal, 4096)
            except OSError:
                break
            if not piece:
                break
            said += piece
        if not answered and b"[y/N]" in said:
            os.write(terminal, f"{answer}\n".encode())
            answered = True
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), said.decode()


def test_the_operator_accepts_a_change(guarded):
    guarded.run("create")
    guarded.store.write(DEPLOY, guarded.store.read(DEPLOY).replace("make deploy", "make ship"))
    with pytest.raises(IntegrityError):
        select_backend().read(DEPLOY)

    code, said = at_terminal(guarded, "checkpoint", "accept", "skills", "--json", answer="y")

    assert code == 0, said
    assert "changed: code block 1 (bash) under 'Deploy'" in said
    assert "accepted 1 note," in said
    assert "make ship" in select_backend().read(DEPLOY)
    assert "make ship" in guarded.run("show", "latest", "--path", "skills/deploy.md")


def test_the_operator_declines_a_change(guarded):
    guarded.store.write(DEPLOY, "evil")

    code, said = at_terminal(guarded, "checkpoint", "accept", "skills/deploy.md", answer="n")

    assert code == 1, said
    assert "not confirmed; nothing was changed" in said
    assert "error:" not in said
    with pytest.raises(IntegrityError):
        select_backend().read(DEPLOY)


def test_the_operator_restores_an_older_version(guarded):
    guarded.run("create")
    old = guarded.store.read(DEPLOY)
    select_backend().write(DEPLOY, "newer")
    guarded.run("create")

    code, said = at_terminal(guarded, "checkpoint", "restore", "latest~1", answer="y")

    assert code == 0, said
    assert select_backend().read(DEPLOY) == old
