"""Settings, patterns, folders, comparisons and what is said of them: the small parts, each to its limit."""

from __future__ import annotations

import getpass
import os
from types import SimpleNamespace
from typing import Any

import pytest

from agentm_checkpoint.car import encode_frame, encode_header, frames, read_varint
from agentm_checkpoint.cids import decode_node, raw_cid
from agentm_checkpoint.command_restore import confirm_steps
from agentm_checkpoint.comparing import Difference, changed_lines, changed_sections, compare, describe_changes
from agentm_checkpoint.directories import folder_of, history_folder, image_path, store_folder, store_id
from agentm_checkpoint.doctor import _guard_row
from agentm_checkpoint.events import _age
from agentm_checkpoint.patterns import Patterns
from agentm_checkpoint.sections import split
from agentm_checkpoint.settings import Settings
from agentm_checkpoint.texts import agentm_of, counted, visible
from agentm_devkit.conformance.memory import MemoryBackend
from agentm_kernel.plugin import ConfigError, StorageError

# ------------------------------------------------------------------------------------------------ settings


def test_without_a_word_in_the_configuration_the_documented_settings_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(getpass, "getuser", lambda: "ana")
    settings = Settings({})
    assert (settings.author, settings.heartbeat_minutes, settings.history_days) == ("ana", 10.0, 90.0)
    assert (settings.history_megabytes, settings.image_folder) == (64.0, None)
    assert (settings.ipfs_allow_remote, settings.ipfs_api) == (False, "http://127.0.0.1:5001")
    assert settings.ipfs_timeout == 300.0


def test_what_the_configuration_says_holds() -> None:
    given: dict[str, Any] = {
        "author": "Bo",
        "heartbeat_minutes": 0.5,
        "history_days": 1,
        "history_megabytes": 2,
        "image_folder": "/images",
        "ipfs_allow_remote": True,
        "ipfs_api": "http://other:1",
        "ipfs_timeout": 3,
    }
    settings = Settings(given)
    assert {name: getattr(settings, name) for name in given} == given


def test_a_user_without_a_name_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    def nameless() -> str:
        raise OSError("no username")

    monkeypatch.setattr(getpass, "getuser", nameless)
    assert Settings({}).author == "unknown"
    assert Settings({"author": "Bo"}).author == "Bo"


@pytest.mark.parametrize(
    ("option", "value", "takes"),
    [
        ("history_days", 0, "a number above zero"),
        ("history_days", "1", "a number above zero"),
        ("author", 1, "text"),
        ("image_folder", 1, "text"),
        ("ipfs_allow_remote", 1, "true or false"),
    ],
)
def test_a_setting_that_does_not_fit_is_said_with_what_it_takes(option: str, value: object, takes: str) -> None:
    with pytest.raises(ConfigError) as told:
        Settings({option: value})
    assert told.value.message == f"plugins.checkpoint.{option} is {value!r}, and takes {takes}"
    assert told.value.hint == f"run `agentm config set plugins.checkpoint.{option} VALUE`"


# ------------------------------------------------------------------------------------------------ patterns


@pytest.mark.parametrize(
    ("pattern", "key", "is_matched"),
    [
        ("a/**/b", "a/b", True),
        ("a/**/b", "a/x/y/b", True),
        ("a/**/b", "a/x/y", False),
        ("a/**", "a", False),
        ("a/*", "a", False),
        ("a", "a/b", False),
        ("ab*ba", "aba", False),
        ("ab*ba", "abba", True),
        ("*x*x*", "x", False),
        ("*x*x*", "xx", True),
        ("*xy*yx*", "xyx", False),
        ("a*b*c", "abc", True),
        ("a*b*c", "acb", False),
        ("a*bb*b", "abb", False),
        ("a*bb*b", "abbb", True),
    ],
)
def test_stars_take_what_is_left_for_them_and_nothing_twice(pattern: str, key: str, is_matched: bool) -> None:
    assert Patterns([pattern]).match(key) is is_matched


def test_guarded_notes_are_looked_for_below_what_a_pattern_says_plainly() -> None:
    given = ["skills/**", "a/b*/c", "**/x", "/AGENTS.md/"]
    patterns = Patterns(given)
    assert patterns.roots == ["", "AGENTS.md", "a", "skills"]
    assert patterns.given == given
    assert Patterns(None).given == ["skills/**"]
    assert Patterns(()).roots == []
    assert not Patterns([]).match("skills/a.md")


# ------------------------------------------------------------------------------------------------ folders


@pytest.mark.parametrize(("store", "is_kept"), [("a" * 64, True), ("a" * 65, False), ("a-Z09", True), ("a/b", False)])
def test_only_a_plain_id_is_the_name_of_a_folder(store: str, is_kept: bool) -> None:
    folder = store_folder("/base", store)
    assert os.path.dirname(folder) == "/base"
    assert (os.path.basename(folder) == store) is is_kept
    assert is_kept or len(os.path.basename(folder)) == 64
    for odd in ("", "..", "\ud800"):
        assert len(os.path.basename(store_folder("/base", odd))) == 64


def test_what_belongs_to_a_store_lies_together() -> None:
    folder = folder_of("/state", "id")
    assert (folder, image_path(folder)) == ("/state/checkpoints/id", "/state/checkpoints/id/image.car")
    assert history_folder(folder) == "/state/checkpoints/id/history"


def test_a_store_without_an_identity_has_no_checkpoints() -> None:
    with pytest.raises(StorageError, match="has no identity yet, so there is nothing to tie a checkpoint to"):
        store_id(MemoryBackend())


# ------------------------------------------------------------------------------------------------ comparing


def test_notes_are_compared_by_key_and_only_what_changed_is_described() -> None:
    before: Any = {"b": 1, "a": 1, "d": 1}
    after: Any = {"a": 2, "c": 1, "d": 1}
    found = compare(before, after)
    assert [(one.key, one.kind) for one in found] == [("a", "changed"), ("b", "removed"), ("c", "added")]
    describe_changes(found, lambda _: b"# T\none\n", lambda _: b"# T\ntwo\n")
    assert [(one.sections, one.lines) for one in found] == [
        (["changed: the section 'T'"], ["@@ -1,3 +1,3 @@", " # T", "-one", "+two", " "]),
        ([], []),
        ([], []),
    ]


def test_notes_of_ten_thousand_lines_are_compared_and_longer_ones_are_not() -> None:
    half, more = b"\n" * 4_999, b"\n" * 5_000
    assert changed_lines(half, half) == []
    assert changed_lines(half, more) == ["(5,000 and 5,001 lines: too many to compare line by line)"]


def test_sections_are_changed_added_removed_or_in_another_order() -> None:
    old, new = b"# A\n1\n# B\n2\n# C\n3\n", b"# A\n1\n# B\n9\n# D\n4\n"
    assert changed_sections(old, new) == [
        "changed: the section 'B'",
        "added: the section 'D'",
        "removed: the section 'C'",
    ]
    assert changed_sections(b"# A\n1\n# B\n2\n", b"# B\n2\n# A\n1\n") == ["the order of its sections"]
    assert Difference("a", "added").sections == []


# ------------------------------------------------------------------------------------------------ words


def test_numbers_and_texts_of_others_in_a_sentence() -> None:
    assert [counted(number, "note") for number in (0, 1, 2, 1_000)] == ["0 notes", "1 note", "2 notes", "1,000 notes"]
    assert visible("é\x1b[0m\n") == "é\\x1b[0m\\n"


@pytest.mark.parametrize(
    ("name", "stores", "said"),
    [
        (None, {}, "agentm"),
        (None, {"team": 1}, "agentm --store default"),
        ("team", {"team": 1}, "agentm --store team"),
        ("team", {}, "agentm --store team"),
    ],
)
def test_a_command_names_the_store_where_there_are_several(name: str | None, stores: Any, said: str) -> None:
    device: Any = SimpleNamespace(store_name=name, config=SimpleNamespace(stores=stores))
    assert agentm_of(device) == said


@pytest.mark.parametrize(
    ("locked", "said"),
    [
        (["b", "a"], "locked: a, b"),
        (["c", "b", "a"], "locked: a, b, c"),
        (["d", "c", "b", "a"], "locked: a, b, c and 1 more"),
    ],
)
def test_doctor_names_three_locked_notes_and_counts_the_others(locked: list[str], said: str) -> None:
    current = SimpleNamespace(locks=lambda: dict.fromkeys(locked), leaves=dict)
    guard: Any = SimpleNamespace(record=SimpleNamespace(current=lambda: current))
    device: Any = SimpleNamespace(store_name=None, config=SimpleNamespace(stores={}))
    row = _guard_row(guard, MemoryBackend(), device)
    assert (row.status, row.check, row.message) == ("fail", "integrity", said)


def test_what_was_never_looked_at_was_so_for_ever_and_what_is_to_come_as_well(tmp_path: Any) -> None:
    file = tmp_path / "mark"
    assert _age(str(file)) == float("inf")
    file.write_text("")
    assert 0 <= _age(str(file)) < 3_600
    os.utime(file, (4_000_000_000, 4_000_000_000))
    assert _age(str(file)) == float("inf")


@pytest.mark.parametrize(
    ("more", "last"), [(0, "  delete   note 19"), (1, "  and 1 more"), (1_000, "  and 1,000 more")]
)
def test_who_is_asked_sees_twenty_steps_first_and_how_many_more_there_are(
    more: int, last: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentm_checkpoint.command_restore.confirm", lambda question, *, yes: None)
    steps: list[Any] = [SimpleNamespace(verb="delete", key=f"note {number}") for number in range(20 + more)]
    confirm_steps(steps, yes=False)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "  delete   note 0"
    assert lines[-1] == last
    assert sum(line.startswith("  delete") for line in lines) == 20
    confirm_steps(steps, yes=True)
    assert capsys.readouterr().err == "", "who has said yes already is not asked, and shown no list"


# ------------------------------------------------------------------------------------------------ archives


@pytest.mark.parametrize("size", [0, 1, 91, 92, 127, 128, 16_347, 16_348, 300_000])
def test_a_frame_of_any_size_is_read_as_it_was_written(size: int) -> None:
    blocks = [b"x" * size, b"y"]
    data = b"".join(encode_frame(raw_cid(block), block) for block in blocks)
    found = [(cid, data[begin:end]) for cid, begin, end in frames(data, 0)]
    assert found == [(raw_cid(block), block) for block in blocks]


@pytest.mark.parametrize(
    "damaged",
    [
        b"\x05short",
        b"\x40" + raw_cid(b"x") + b"too little",
        b"\x30" + b"z" * 48,
        b"\xff\xff\xff\xff\xff",
        b"\xff",
    ],
    ids=["no room for an id", "cut off", "no id of ours", "no length", "half a length"],
)
def test_what_is_no_whole_frame_ends_the_reading(damaged: bytes) -> None:
    whole = encode_frame(raw_cid(b"one"), b"one")
    assert [data[0] for data in frames(whole + damaged, 0)] == [raw_cid(b"one")]


def test_an_archive_says_its_version_and_its_roots() -> None:
    header = encode_header([raw_cid(b"root")])
    size, begin = read_varint(header, 0) or (0, 0)
    assert len(header) == begin + size
    assert decode_node(header[begin:]) == {"roots": [raw_cid(b"root")], "version": 1}


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"\x00", (0, 1)),
        (b"\x7f", (127, 1)),
        (b"\x80\x01", (128, 2)),
        (b"\xff\xff\xff\x7f", (268_435_455, 4)),
        (b"\xff\xff\xff\xff\x01", None),
        (b"\x80", None),
        (b"", None),
    ],
)
def test_a_length_has_at_most_four_bytes(data: bytes, found: tuple[int, int] | None) -> None:
    assert read_varint(data, 0) == found


# ------------------------------------------------------------------------------------------------ sections


@pytest.mark.parametrize(
    ("note", "labels"),
    [
        (b"---\n---\n# A\n", ["the front matter", "the section 'A'"]),
        (b"---\na: b\n...\n# A\n", ["the front matter", "the section 'A'"]),
        (b"```\n```\n# A\n", ["code block 1", "the section 'A'"]),
        (b"```\n# no heading\n```\n# A\n", ["code block 1", "the section 'A'"]),
        (b"~~~~\n~~~\n# no heading\n~~~~\n# A\n", ["code block 1", "the section 'A'"]),
    ],
)
def test_front_matter_and_fences_end_on_the_first_line_that_ends_them(note: bytes, labels: list[str]) -> None:
    found = split(note)
    assert len(found) == len(labels)
    assert found[-1].label == labels[-1]
    assert b"".join(section.data for section in found) == note
