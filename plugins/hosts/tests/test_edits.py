"""Settings of other programs: every byte that is not ours stays, and disconnecting puts the file back."""

from __future__ import annotations

import json
import os
import random
import sys
import tomllib
from dataclasses import replace as replaced
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import generated

from agentm_hosts.adapters import claude_code, codex, gemini
from agentm_hosts.files.connections import carry_out, plan_connection, plan_disconnection
from agentm_hosts.files.json_tree import NotJson, parse
from agentm_hosts.files.reading import SettingsError, read_bytes
from agentm_hosts.files.receipts import read_receipt, receipt_path
from agentm_hosts.files.recognition import command_of
from agentm_hosts.place import SET, Change, Entry, Place

LAUNCHER = "/home/ana/.local/bin/agentm"
HOOKS = tuple(
    Entry(("hooks", event), {"hooks": [{"type": "command", "command": f"{LAUNCHER} hook {verb} --host x"}]})
    for event, verb in (("SessionStart", "session-start"), ("UserPromptSubmit", "prompt"), ("Stop", "turn-end"))
)


def written_by(adapter) -> tuple[Entry, ...]:
    """What `agentm connect` really puts into the files of a host."""
    changes = adapter.changes(Place("/home/ana", {}, LAUNCHER, "/state"))
    return tuple(entry for change in changes for entry in change.entries)


CODEX_TABLE = written_by(codex.ADAPTER)[-1:]
FORMATS = {
    "json": (generated.json_text, written_by(claude_code.ADAPTER)),
    "jsonc": (generated.jsonc_text, written_by(gemini.ADAPTER)),
    "toml": (generated.toml_text, CODEX_TABLE),
}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setattr(os, "fsync", lambda _: None)  # a thousand files are written here, and none has to last
    return Place(str(tmp_path), {}, LAUNCHER, str(tmp_path / "state"))


def connect(change: Change, place: Place, **options: bool) -> None:
    carry_out(plan_connection(change, place, "x", replace=options.get("replace", False)), place)


def disconnect(change: Change, place: Place) -> None:
    receipt = read_receipt(receipt_path(place.state_dir, "x", change.path))
    assert receipt is not None
    carry_out(plan_disconnection(receipt), place)


def parsed(text: str, format: str):
    if format == "toml":
        return tomllib.loads(text.removeprefix("\ufeff").replace("\r\n", "\n"))
    return parse(text, comments=True).value if text.strip("\ufeff \r\n") else {}


def entries_in(document, entries) -> int:
    found = 0
    for entry in entries:
        node = document
        for key in entry.path:
            node = node.get(key, {}) if isinstance(node, dict) else {}
        found += entry.value == node if entry.how == SET else node.count(entry.value) if isinstance(node, list) else 0
    return found


@pytest.mark.parametrize("format", FORMATS)
def test_two_hundred_files_come_back_byte_for_byte(place: Place, tmp_path: Path, format: str) -> None:
    make, entries = FORMATS[format]
    rng = random.Random(7)
    for number in range(200):
        before = make(rng).encode()
        file = tmp_path / f"{number}.{format}"
        file.write_bytes(before)
        change = Change(str(file), format, entries)

        connect(change, place)
        after = file.read_bytes().decode()
        assert entries_in(parsed(after, format), entries) == len(entries), before
        connect(change, place)
        assert file.read_bytes().decode() == after  # two connects are one
        disconnect(change, place)

        assert file.read_bytes() == before
    assert not [*(tmp_path / "state" / "connections").iterdir()]


@pytest.mark.parametrize("format", FORMATS)
def test_with_edits_in_between_only_our_entries_go(place: Place, tmp_path: Path, format: str) -> None:
    make, entries = FORMATS[format]
    rng = random.Random(11)
    for number in range(100):
        file = tmp_path / f"{number}.{format}"
        file.write_bytes(make(rng).encode())
        original = parsed(file.read_bytes().decode(), format)
        change = Change(str(file), format, entries)
        connect(change, place)
        edited = parsed(file.read_bytes().decode(), format)
        if format == "toml":
            with file.open("ab") as end:
                end.write(b"\n[theirs]\nnew = 1\n")
        else:
            edited["theirs"] = {"new": 1}
            edited.setdefault("hooks", {}).setdefault("SessionStart", []).insert(0, {"command": "another"})
            file.write_text(json.dumps(edited, indent=rng.choice([None, 2, "\t"])))
        disconnect(change, place)

        left = parsed(file.read_bytes().decode(), format)
        assert entries_in(left, entries) == 0
        assert left.pop("theirs") == {"new": 1}
        if format != "toml":
            left["hooks"]["SessionStart"].remove({"command": "another"})
        assert pruned(left) == pruned(original)


@pytest.mark.parametrize("format", FORMATS)
def test_what_others_wrote_meanwhile_stays_to_the_byte(place: Place, tmp_path: Path, format: str) -> None:
    """The same edit made to the file with our entries and to the file without: what is left then is the same."""
    make, entries = FORMATS[format]
    rng = random.Random(13)
    exact = 0
    for number in range(200):
        original = make(rng)
        if format != "toml" and not parsed(original, format):
            continue  # a member that is added beside ours looks different from one that is alone
        file = tmp_path / f"{number}.{format}"
        file.write_bytes(original.encode())
        change = Change(str(file), format, entries)
        connect(change, place)
        file.write_bytes(edited(file.read_bytes().decode(), format).encode())
        disconnect(change, place)

        assert file.read_bytes().decode() == edited(original, format)
        exact += 1
    assert exact > 150


def edited(text: str, format: str) -> str:
    """By a person: something before, something in between, something after."""
    if format == "toml":
        mark = "\ufeff" if text.startswith("\ufeff") else ""
        return f"{mark}new = 1 # theirs\n{text.removeprefix(mark)}\n[theirs]\nnew=1\n"
    at = text.index("{", text.index("*/") if text.lstrip("\ufeff \r\n").startswith("/*") else 0) + 1
    comment = " // theirs, {\n" if format == "jsonc" else ""
    return f'{text[:at]}{comment} "theirs" :{{ "new": [1 ,2]}},{text[at:]} \n'


def test_handlers_of_others_in_our_group_stay(place: Place, tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    file.write_text("{}")
    change = Change(str(file), "json", HOOKS)
    connect(change, place)
    document = json.loads(file.read_text())
    document["hooks"]["Stop"][0]["hooks"].append({"type": "command", "command": "notify"})
    document["hooks"]["SessionStart"][0]["hooks"].insert(0, {"type": "command", "command": "lint"})
    file.write_text(json.dumps(document))
    disconnect(change, place)

    assert json.loads(file.read_text())["hooks"] == {
        "SessionStart": [{"hooks": [{"type": "command", "command": "lint"}]}],
        "Stop": [{"hooks": [{"type": "command", "command": "notify"}]}],
    }


def test_an_older_handler_goes_from_a_group_and_the_others_in_it_stay(place: Place, tmp_path: Path) -> None:
    older = {"type": "command", "command": f"{LAUNCHER} hook session-start --host claude-code", "timeout": 5}
    theirs = {"type": "command", "command": "lint --all"}
    file = tmp_path / "settings.json"
    file.write_text(json.dumps({"hooks": {"SessionStart": [{"matcher": "startup", "hooks": [theirs, older]}]}}))
    connect(Change(str(file), "json", HOOKS), place)

    groups = json.loads(file.read_text())["hooks"]["SessionStart"]
    assert groups == [{"matcher": "startup", "hooks": [theirs]}, HOOKS[0].value]


@pytest.mark.parametrize(
    ("line", "event"),
    [
        (f"{LAUNCHER} hook turn-end --host claude-code", "Stop"),
        (f"{LAUNCHER} event turn-end", "Stop"),
        ("agentm event turn-start", "UserPromptSubmit"),
        ("uv run agentm hook session-start", "SessionStart"),
        ("test -x /gone/agentm && /gone/agentm hook session-start --host gemini || exit 0", "SessionStart"),
        ("'/home/ana lyst/bin/agentm' hook session-start", "SessionStart"),
    ],
)
def test_every_older_form_is_recognised(place: Place, tmp_path: Path, line: str, event: str) -> None:
    file = tmp_path / "settings.json"
    file.write_text(json.dumps({"hooks": {event: [{"hooks": [{"type": "command", "command": line}]}]}}))
    plan = plan_connection(Change(str(file), "json", HOOKS), place, "x", replace=False)
    carry_out(plan, place)

    assert len(json.loads(file.read_text())["hooks"][event]) == 1
    assert "replaces an older entry" in plan.notes[0]


@pytest.mark.parametrize(
    "line", ["agentmail hook session-start", "echo agentm", "/opt/agentm/run hook x", "agentm save"]
)
def test_what_only_sounds_like_us_is_not_ours(line: str) -> None:
    assert command_of({"hooks": [{"command": line}]}) == ""


def test_a_file_of_ours_that_its_host_went_on_with_keeps_nothing_of_us(place: Place, tmp_path: Path) -> None:
    """There was none; we made it; the host put its own settings into it."""
    change = Change(str(tmp_path / "settings.json"), "json", HOOKS)
    connect(change, place)
    document = json.loads(Path(change.path).read_text())
    Path(change.path).write_text(json.dumps({**document, "model": "opus"}, indent=2))
    disconnect(change, place)

    assert json.loads(Path(change.path).read_text()) == {"model": "opus"}


def test_an_empty_list_of_theirs_stays(place: Place, tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    file.write_text('{"hooks": {"Stop": []}}')
    change = Change(str(file), "json", HOOKS)
    connect(change, place)
    file.write_text(json.dumps(json.loads(file.read_text()) | {"new": 1}))
    disconnect(change, place)

    assert json.loads(file.read_text()) == {"hooks": {"Stop": []}, "new": 1}


def test_a_second_install_does_not_take_over_what_the_first_has_connected(place: Place, tmp_path: Path) -> None:
    first = tmp_path / "first" / "agentm"
    first.parent.mkdir()
    first.write_text("#!/bin/sh\n")
    first.chmod(0o755)
    file = tmp_path / "settings.json"
    file.write_text("{}")
    own = Change(str(tmp_path / "own.json"), "text", text="1")
    for change in (Change(str(file), "json", HOOKS), own):
        connect(change, replaced(place, launcher=str(first)))
        with pytest.raises(SettingsError, match=f"another agentm: {first}"):
            connect(change, place)
        connect(change, place, replace=True)
        connect(change, place)


def test_another_way_to_the_same_install_is_no_other_install(place: Place, tmp_path: Path) -> None:
    real = tmp_path / "tools" / "agentm"
    real.parent.mkdir()
    real.write_text("#!/bin/sh\n")
    real.chmod(0o755)
    link = tmp_path / "bin" / "agentm"
    link.parent.mkdir()
    link.symlink_to(real)
    change = Change(str(tmp_path / "settings.json"), "json", HOOKS)
    connect(change, replaced(place, launcher=str(real)))
    connect(change, replaced(place, launcher=str(link)))


def pruned(value):
    if isinstance(value, dict):
        inside = {key: pruned(inner) for key, inner in value.items()}
        return {key: inner for key, inner in inside.items() if inner not in ({}, [])}
    return value


def test_a_file_that_was_not_there_is_not_there_afterwards(place: Place, tmp_path: Path) -> None:
    change = Change(str(tmp_path / "new" / "deep" / "settings.json"), "json", HOOKS)

    connect(change, place)
    assert json.loads(Path(change.path).read_text())["hooks"].keys() == {"SessionStart", "UserPromptSubmit", "Stop"}
    disconnect(change, place)

    assert not (tmp_path / "new").exists()


def test_a_link_to_a_dotfile_stays_a_link(place: Place, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles" / "settings.json"
    real.parent.mkdir()
    real.write_text('{"a": 1}')
    real.chmod(0o640)
    link = tmp_path / "settings.json"
    link.symlink_to(real)

    connect(Change(str(link), "json", HOOKS), place)

    assert link.is_symlink()
    assert "agentm" in real.read_text()
    assert real.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "a key in quotes was expected"),
        ('{"a": 1} // hello', "there is a comment; all is off"),
        ('{"a": 1,}', "a comma before a closing bracket"),
        ('{"hooks": 5}', "hooks is not an object"),
        ('{"hooks": {"SessionStart": {}}}', "hooks.SessionStart is not a list"),
        ("[1]", "it is not an object"),
        ('{"a": 1, "a": 2}', "the key 'a' is given twice"),
        ("\udcff", "is not UTF-8"),
    ],
)
def test_what_cannot_be_edited_is_left_alone(place: Place, tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "settings.json"
    file.write_bytes(text.encode("utf-8", "surrogateescape"))
    before = file.read_bytes()

    with pytest.raises(SettingsError, match="settings.json") as refused:
        connect(Change(str(file), "json", HOOKS, comments_disable="all is off"), place)

    assert said in refused.value.message
    assert file.read_bytes() == before


def test_a_pipe_in_the_place_of_a_file_is_refused_at_once(place: Place, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "settings.json")
    (tmp_path / "folder.json").mkdir()

    for name in ("settings.json", "folder.json"):
        with pytest.raises(SettingsError, match="not a regular file"):
            connect(Change(str(tmp_path / name), "json", HOOKS), place)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only the superuser can give a file away")
def test_a_file_of_another_user_is_refused(place: Place, tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    file.write_text("{}")
    os.chown(file, 12345, 12345)

    with pytest.raises(SettingsError, match="belongs to another user"):
        connect(Change(str(file), "json", HOOKS), place)


def test_what_cannot_be_read_at_all_is_refused(place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    circle, file = tmp_path / "circle.json", tmp_path / "settings.json"
    circle.symlink_to(circle)
    with pytest.raises(SettingsError, match="cannot be read"):
        read_bytes(str(circle))
    file.write_text("{}")
    monkeypatch.setattr("agentm_hosts.files.reading._LARGEST", 2)
    assert read_bytes(str(file)) == b"{}"
    file.write_text("{ }")
    with pytest.raises(SettingsError, match="more than 2 bytes"):
        read_bytes(str(file))


def test_a_file_of_our_own_is_brought_up_to_date_and_goes_with_its_folder(place: Place, tmp_path: Path) -> None:
    file = tmp_path / "hooks" / "agentm.json"
    for text in ("first\n", "second\n", "second\n"):
        connect(Change(str(file), "text", text=text), place)
        assert file.read_text() == text
    disconnect(Change(str(file), "text"), place)
    assert not file.parent.exists()


@pytest.mark.parametrize("is_connected", [True, False])
def test_a_file_in_our_place_that_somebody_wrote_stays(place: Place, tmp_path: Path, is_connected: bool) -> None:
    file = tmp_path / "agentm.json"
    change = Change(str(file), "text", text="ours\n")
    if is_connected:
        connect(replaced(change, text="older\n"), place)
    file.write_text("theirs\n")
    with pytest.raises(SettingsError, match="is there, and is not what agentm wrote"):
        connect(change, place)
    assert file.read_text() == "theirs\n"
    if is_connected:
        disconnect(change, place)
        assert file.read_text() == "theirs\n"
    connect(change, place, replace=True)
    assert file.read_text() == "ours\n"


def test_a_change_meanwhile_is_not_overwritten(place: Place, tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    file.write_text("{}")
    plan = plan_connection(Change(str(file), "json", HOOKS), place, "x", replace=False)
    file.write_text('{"meanwhile": true}')

    with pytest.raises(SettingsError, match="was changed meanwhile"):
        carry_out(plan, place)

    assert file.read_text() == '{"meanwhile": true}'
    assert [*tmp_path.rglob("*.json")] == [file]  # no receipt of what was not done, and no temp file


def test_an_older_entry_for_the_same_program_is_replaced(place: Place, tmp_path: Path) -> None:
    older = {"hooks": [{"type": "command", "command": LAUNCHER, "args": ["hook", "session-start", "--host", "x"]}]}
    file = tmp_path / "settings.json"
    file.write_text(json.dumps({"hooks": {"SessionStart": [{"other": 1}, older]}}, indent=2))

    connect(Change(str(file), "json", HOOKS), place)

    assert json.loads(file.read_text())["hooks"]["SessionStart"] == [{"other": 1}, HOOKS[0].value]


def test_another_install_is_replaced_only_when_that_is_asked_for(place: Place, tmp_path: Path) -> None:
    other = tmp_path / "venv" / "agentm"
    other.parent.mkdir()
    other.write_text("#!/bin/sh\n")
    other.chmod(0o755)
    file = tmp_path / "settings.json"
    file.write_text(json.dumps({"hooks": {"SessionStart": [{"command": f"{other} hook session-start --host x"}]}}))
    change = Change(str(file), "json", HOOKS)

    with pytest.raises(SettingsError, match=f"another agentm: {other}"):
        connect(change, place)
    connect(change, place, replace=True)

    assert str(other) not in file.read_text()


def test_what_a_user_made_of_our_entry_goes_too(place: Place, tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    file.write_text("{}")
    change = Change(str(file), "json", HOOKS)
    connect(change, place)
    document = json.loads(file.read_text())
    document["hooks"]["Stop"][0]["hooks"][0]["timeout"] = 99
    file.write_text(json.dumps(document))

    disconnect(change, place)

    assert json.loads(file.read_text()) == {}


@pytest.mark.parametrize("after", ["# Theirs.\n[theirs]\nnew = 1\n", "\n# The end.\n", "# a\n\n# b\n[[c]]\n"])
def test_a_comment_behind_what_a_user_made_of_our_table_stays(place: Place, tmp_path: Path, after: str) -> None:
    file = tmp_path / "config.toml"
    file.write_text('model = "x"\n')
    change = Change(str(file), "toml", CODEX_TABLE)
    connect(change, place)
    file.write_text(f'{file.read_text()}enabled_tools = ["memory_search"]\n{after}')

    disconnect(change, place)

    assert file.read_text().startswith('model = "x"\n')
    assert file.read_text().endswith(after)
    assert "memory_search" not in file.read_text()


@pytest.mark.parametrize("before", ["# The end.", 'model = "x" # The end.', "[theirs]\n# The end."])
def test_a_key_that_a_user_added_to_our_table_is_not_glued_to_a_comment(
    place: Place, tmp_path: Path, before: str
) -> None:
    file = tmp_path / "config.toml"
    file.write_text(before)
    change = Change(str(file), "toml", CODEX_TABLE)
    connect(change, place)
    file.write_text(f"{file.read_text()}startup_timeout_sec = 30\n")

    disconnect(change, place)

    assert file.read_text().rstrip() == before


def test_a_comment_behind_our_table_is_not_glued_to_the_line_before_it(place: Place, tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text("# The end.")
    change = Change(str(file), "toml", CODEX_TABLE)
    connect(change, place)
    file.write_text(f"{file.read_text()}# Mine.\n")

    disconnect(change, place)

    assert file.read_text() == "# The end.\n# Mine.\n"


def test_the_receipt_holds_no_secret_of_the_file(place: Place, tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    file.write_text('{"env": {"KEY": "sk-very-secret"}}')
    change = Change(str(file), "json", HOOKS)
    connect(change, place)

    receipt = Path(receipt_path(place.state_dir, "x", str(file)))
    assert "sk-very-secret" not in receipt.read_text()
    assert receipt.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("text", ["", "[", '{"a"}', '{"a": tru}', '{"a": 01}', '"\n"', "{} {}", "[" * 500])
def test_what_is_not_json_is_said_with_its_place(text: str) -> None:
    with pytest.raises(NotJson, match="line 1"):
        parse(text, comments=False)


def test_how_deep_a_file_may_be_nested_does_not_depend_on_what_stands_beside_it():
    """A file that is nested without end would end the hook instead."""
    siblings = "[]," * 300
    assert parse(f"[{siblings}{'[' * 199}{']' * 199}]", comments=False)
    with pytest.raises(NotJson, match="nested too deep"):
        parse(f"[{siblings}{'[' * 200}{']' * 200}]", comments=False)
