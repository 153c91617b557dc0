"""The judges of the campaigns, judged: each names the fault that it is there for, and passes what is right."""

from __future__ import annotations

import os
import unicodedata
from typing import TYPE_CHECKING
from unittest import mock

import pytest

from agentm_encryption import doctor
from agentm_kernel import Locator
from agentm_kernel.files import reading
from agentm_kernel.plugin import FileStore, InvalidLocatorError, content_hash, normalize_key
from agentm_kernel.state.mirror import Mirror
from agentm_recall import named_projects
from agentm_recall.named_projects import NamedProject
from tests.faults.folding import on_a_folding_file_system
from tests.faults.harness import Outcome
from tests.faults.histories import Append, History, Read, check
from tests.faults.key_rules import danger_of
from tests.faults.life_step import Step
from tests.faults.life_world import APPROVED, DEVICES
from tests.faults.lives import _BETWEEN_LOOKS, lived
from tests.faults.locks import NotAlone, alone

if TYPE_CHECKING:
    from pathlib import Path

    from agentm_kernel.plugin import Device

# ------------------------------------------------------------------------------------------------ histories


def append(line: str, began: float, ended: float, *, acknowledged: bool = True) -> Append:
    return Append(f"{line}\n", began, ended, acknowledged)


def read(text: str, began: float, ended: float) -> Read:
    return Read(len(text), content_hash(text), began, ended)


def verdict(final: str, *calls: Append | Read) -> set[str]:
    history = History(
        appends=[call for call in calls if isinstance(call, Append)],
        reads=[call for call in calls if isinstance(call, Read)],
    )
    outcome = Outcome("calls")
    check(history, final, outcome)
    return set(outcome.violations)


def test_a_history_that_one_list_explains_is_right() -> None:
    assert not verdict(
        "a\nb\nc\n",
        append("a", 1, 2),
        append("b", 1, 5),
        append("c", 3, 6),
        append("refused", 3, 6, acknowledged=False),
        read("", 0.1, 0.2),
        read("a\n", 2.5, 2.6),
        read("a\nb\nc\n", 7, 8),
    )


@pytest.mark.parametrize(
    ("fault", "final", "calls"),
    [
        ("lost", "a\n", [append("a", 1, 2), append("b", 3, 4)]),
        ("doubled", "a\na\n", [append("a", 1, 2)]),
        ("phantom", "a\nb\n", [append("a", 1, 2), append("b", 3, 4, acknowledged=False)]),
        ("order", "b\na\n", [append("a", 1, 2), append("b", 3, 4)]),
        ("torn", "a\nb\n", [append("a", 1, 2), append("b", 1, 2), read("b\n", 1.1, 3)]),
        ("stale", "a\n", [append("a", 1, 2), read("", 3, 4)]),
        ("early", "a\n", [append("a", 5, 6), read("a\n", 3, 4)]),
    ],
)
def test_a_history_that_no_list_explains_is_called_by_its_fault(
    fault: str, final: str, calls: list[Append | Read]
) -> None:
    assert verdict(final, *calls) == {fault}


def test_an_error_that_is_not_ours_is_a_fault_of_its_own() -> None:
    outcome = Outcome("calls")
    check(History(untyped=["OSError()"]), "", outcome)
    assert outcome.violations == {"untyped": 1}


# ------------------------------------------------------------------------------------------------ keys


@pytest.mark.parametrize(
    "key",
    [
        "",
        "a",
        "a/b.md",
        " a",
        "日本語",
        "\U0001f468\u200d\U0001f469",
        "\u2764\ufe0f",
        "gitignore",
        "console",
        "a~1",
        "x" * 200,
    ],
)
def test_the_second_rules_agree_on_what_is_harmless(key: str) -> None:
    assert danger_of(key) is None
    assert normalize_key(key) == key


@pytest.mark.parametrize(
    "key",
    ["/a", "a//b", "a/../b", "..", "./a", "a/", "cafe\u0301", "a\nb", "a\u202eb", "a\ufffe", "a\ud800", "a\\b", "a:b"]
    + ["CON", "nul.md", "com\u00b9", "con .x", "a.", "a ", "a\u00a0", ".git", ".GIT", ".g\u0131t", "git~1", "x" * 201]
    + [".obsidian/x", "OBSIDI~1", ".agentm-1.tmp", "/".join(["x" * 150] * 7), "a\u3164", "a\ufe0f", "a\u200db"],
)
def test_the_second_rules_name_a_danger_that_the_kernel_refuses_or_mends(key: str) -> None:
    assert danger_of(key)
    try:
        assert normalize_key(key) != key
    except InvalidLocatorError:
        pass


# ------------------------------------------------------------------------------------------------ the witness


def test_the_witness_notices_company(tmp_path: Path) -> None:
    with alone(str(tmp_path)), pytest.raises(NotAlone), alone(str(tmp_path)):
        pass
    with alone(str(tmp_path)):
        pass


def test_the_witness_notices_that_it_was_replaced(tmp_path: Path) -> None:
    with pytest.raises(NotAlone), alone(str(tmp_path)):
        (tmp_path / "witness").write_text("somebody else")


# ------------------------------------------------------------------------------------------------ whole lives


_PROGRESS = ("progress.md",)
_BOTH_EDIT = [
    Step(0, "state write", "ana", "widgets", _PROGRESS),
    *(Step(number, "session start", "ben", "widgets") for number in range(1, _BETWEEN_LOOKS)),
    *(Step(number, "edit plan", device, "widgets", _PROGRESS) for number, device in ((8, "ben"), (9, "ana"))),
]
_TWO_OF_ONE_NAME = [Step(number, "use-store", device, "plain", ("team",)) for number, device in enumerate(DEVICES)]
_NAMED = ("--slug", "alpha", "--project", "plain", "--kind")
_MEANT = [
    Step(2, "save", "ben", "other/widgets", (*_NAMED, "fact")),
    Step(3, "save", "ben", "other/widgets", (*_NAMED, APPROVED)),
    Step(4, "inbox accept", "ana", "plain"),
]


def kinds(set_up: str, steps: list[Step]) -> set[str]:
    return {problem.partition(":")[0] for problem in lived(set_up, steps).problems}


def test_a_life_is_asked_for_what_lost_to_another_edit_and_whether_that_was_told() -> None:
    assert not kinds("encrypted vault", _BOTH_EDIT)
    with mock.patch.object(doctor, "_conflict_rows", return_value=[]):
        assert kinds("encrypted vault", _BOTH_EDIT) == {"not said"}
    with mock.patch.object(Mirror, "_keep_aside", side_effect=lambda locator: locator):
        assert "lost" in kinds("encrypted vault", _BOTH_EDIT)


@pytest.mark.parametrize("saved", [_MEANT[:1], _MEANT[1:]], ids=["saved", "proposed"])
def test_a_life_knows_which_project_is_meant_by_a_name_that_two_have(saved: list[Step]) -> None:
    steps = [*_TWO_OF_ONE_NAME, *saved]
    assert not kinds("further vault", steps)

    def first_of_the_name(device: Device, *_: object, read_only: bool) -> NamedProject:
        return NamedProject(device.store("team", read_only=read_only), Locator("projects/plain"), "team")

    with mock.patch.object(named_projects, "_moved", first_of_the_name):
        assert kinds("further vault", steps) == {"misplaced"}


# ------------------------------------------------------------------------------------------------ folding


def test_the_folding_file_system_folds_case_and_decomposes_names(tmp_path: Path) -> None:
    with on_a_folding_file_system():
        store = FileStore(tmp_path)
        store.write(Locator("Café/x.md"), "x")
        assert os.listdir(tmp_path) == [unicodedata.normalize("NFD", "Café")]
        assert store.list(Locator()) == [Locator("Café")]
        assert store.read(Locator("Café/x.md")) == "x"
        with reading.open_root(str(tmp_path)) as root:  # the folding one, for as long as this lasts
            assert root.has("CAFÉ")
            assert root.has("cafe\u0301")
            assert not root.has("cafe")
