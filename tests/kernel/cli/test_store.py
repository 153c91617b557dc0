"""`agentm store`: what is selected, and forgetting what this device knew."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from agentm_kernel.selection.identity import known_stores, record_store

if TYPE_CHECKING:
    from tests.kernel.cli.conftest import Machine

BUCKET = "s3://notes at https://s3.example.org"


@pytest.fixture
def state(machine: Machine) -> str:
    return str(machine.home / ".local" / "state" / "agentm")


def places(state: str) -> list[str]:
    return [place for _, place, _ in known_stores(state)]


def test_the_only_store_need_not_be_named(machine: Machine, state: str) -> None:
    record_store(state, "vault", "/gone", "1234")

    assert machine.run("store", "forget", "--yes") == (0, "forgot the vault store at /gone\n", "")
    assert places(state) == []


@pytest.mark.parametrize("place", ["/gone", BUCKET])
def test_one_of_several_is_named_by_its_place(machine: Machine, state: str, place: str) -> None:
    for known in ("/gone", BUCKET):
        record_store(state, "some", known, "1234")

    assert machine.run("store", "forget", place, "--yes").code == 0
    assert places(state) == [known for known in ("/gone", BUCKET) if known != place]


def test_a_place_that_was_two_stores_in_turn_is_forgotten_altogether(machine: Machine, state: str) -> None:
    record_store(state, "vault", "/gone", "1234")
    record_store(state, "git", "/gone", "1234")

    assert machine.run("store", "forget", "/gone", "--yes").code == 0
    assert places(state) == []


@pytest.mark.parametrize(("named", "said"), [((), "name the store"), (("/x",), "knows no store at /x")])
def test_what_is_not_clear_is_asked_back(machine: Machine, state: str, named: tuple[str, ...], said: str) -> None:
    for known in ("/a", "/b"):
        record_store(state, "some", known, "1234")

    done = machine.run("store", "forget", *named, "--yes")

    assert done.code == 1
    assert said in done.err
    assert "/a, /b" in done.err
    assert places(state) == ["/a", "/b"]


def test_a_device_that_knows_no_store_says_so(machine: Machine) -> None:
    assert machine.run("store", "forget").err == "error: this device knows no store, so there is none to forget\n"


def test_without_a_terminal_and_without_yes_nothing_is_forgotten(machine: Machine, state: str) -> None:
    record_store(state, "vault", "/gone", "1234")

    done = machine.run("store", "forget")

    assert done.code == 1
    assert "Forget the store at /gone? There is no terminal" in done.err
    assert "hint: add --yes" in done.err
    assert places(state) == ["/gone"]


def test_the_refusal_of_a_store_that_is_gone_names_the_command_that_forgets_it(synced: Machine) -> None:
    (synced.store / "_meta" / "store.json").unlink()
    refused = synced.run("state", "read", "PLAN.md")
    _, _, command = refused.err.partition("run `agentm ")

    assert synced.run(*command.strip().rstrip("`").split(), "--yes").code == 0
    assert "is gone" not in synced.run("state", "read", "PLAN.md").err


def test_a_further_store_that_is_not_marked_yet_is_added_with_a_warning(synced: Machine) -> None:
    team = synced.folder / "team"
    team.mkdir()
    (team / "note.md").write_text("somebody's\n")
    done = synced.execute("store", "add", "team", "stub", f"root={team}")
    assert done.code == 0
    assert done.err.startswith("warning: ")
    assert "reading works" in done.err
    assert "warning" not in done.out
    shown = [json.loads(synced.execute("store", "show", *name, "--json").out) for name in ([], ["team"])]
    assert [(store["name"], store["protocol"]) for store in shown] == [("default", "stub"), ("team", "stub")]
    assert [*shown[0]][1:6] == ["name", "protocol", "chosen_by", "place", "warning"]
    assert [bool(store["warning"]) for store in shown] == [False, True]


@pytest.mark.parametrize(
    ("place", "said"), [("", "is the store 'default'"), ("inner", "lies inside"), ("..", "lies inside")]
)
def test_a_store_that_this_device_has_already_is_not_added_again_nor_one_inside_it_or_around_it(
    synced: Machine, place: str, said: str
) -> None:
    root = (synced.store / place).resolve()
    root.mkdir(exist_ok=True)
    refused = synced.execute("store", "add", "team", "stub", f"root={root}")
    assert refused.code == 1
    assert said in refused.err
    assert "hint: " in refused.err
    assert "team" not in synced.execute("store", "list").out


def test_show_and_doctor_name_the_layers_around_the_store(machine: Machine) -> None:
    assert machine.run("config", "set", "wrappers", "integrity").code == 0

    shown, doctor = machine.run("store", "show"), machine.run("doctor")

    assert "wrappers   integrity" in shown.out, shown
    assert " within integrity, chosen by " in doctor.out
