"""What is said, and in which order: the error before its hint, the kernel's rows before the plugins', all of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.pins.laptop import Laptop

if TYPE_CHECKING:
    from pathlib import Path

FAILING = """
from agentm_kernel.plugin import hookimpl

@hookimpl
def agentm_doctor_checks(context):
    raise RuntimeError("{name} is out of order")
"""
REFUSING = """
import os
from agentm_kernel.plugin import Capabilities, FileStore, StorageSelectionError

class Store(FileStore):
    self_stamping = True

    @property
    def capabilities(self):
        return Capabilities(concurrent_writers=True, device_files=True, delete=True)

    def check_usable(self, *, read_only):
        super().check_usable(read_only=read_only)
        if os.environ.get("CLOSED") and not read_only:
            raise StorageSelectionError("closed for repairs", hint="come back tomorrow")
"""


@pytest.fixture
def laptop(tmp_path: Path) -> Laptop:
    made = Laptop(tmp_path)
    (tmp_path / "site").mkdir()
    made.environ["PYTHONPATH"] = str(tmp_path / "site")
    return made


def install(laptop: Laptop, name: str, group: str, value: str, source: str) -> None:
    """A distribution with one module and one entry point."""
    site = laptop.folder / "site"
    info = site / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{group}]\n{name} = {value}\n")
    (site / f"plugin_{name}.py").write_text(source)


@pytest.mark.parametrize(
    "command",
    [
        ("config", "set", "storage.backend", ""),
        ("state", "write", "../PLAN.md"),
        ("save", "--kind", "no-such-kind"),
        ("checkpoint", "list"),
        ("notes", "show", "nothing"),
    ],
)
def test_the_error_comes_before_its_hint_one_line_each_and_output_stays_empty(
    laptop: Laptop, command: tuple[str, ...]
) -> None:
    said = laptop.run(*command)
    assert said.code != 0
    assert said.out == ""
    lines = said.err.splitlines()
    assert [line.split(":")[0] for line in lines] == ["error", "hint"][: len(lines)]
    assert lines


def test_doctor_goes_from_the_configuration_to_the_store_to_what_is_asked_of_it(laptop: Laptop) -> None:
    rows = json.loads(laptop.run("doctor", "--requires", "sync", "--json").out)["rows"]
    assert [row["check"] for row in rows][:3] == ["config", "storage", "capabilities"]
    assert [row["status"] for row in rows][:3] == ["ok", "ok", "fail"]


def test_doctor_names_every_plugin_that_fails_after_its_own_rows(laptop: Laptop) -> None:
    for name in ("one", "two"):
        install(laptop, name, "agentm.plugins.doctor_checks", f"plugin_{name}", FAILING.format(name=name))
    said = laptop.run("doctor")
    assert said.code == 1
    lines = said.out.splitlines()
    places = [next(number for number, line in enumerate(lines) if word in line) for word in ("config", "storage")]
    failures = [number for number, line in enumerate(lines) if "out of order" in line]
    assert sorted(places) == places
    assert len(failures) == 2
    assert min(failures) > max(places)
    assert ["one is out of order" in lines[failures[0]], "two is out of order" in lines[failures[1]]] == [True, True]
    assert [lines[number + 1].strip().startswith("hint:") for number in failures] == [True, True]


def test_a_configuration_that_cannot_be_read_is_the_first_thing_that_is_said(laptop: Laptop) -> None:
    laptop.must("config", "set", "state_mode", "local")
    (laptop.home / ".config/agentm/.agentm-config.json").write_text("{")
    rows = json.loads(laptop.run("doctor", "--json").out)["rows"]
    assert (rows[0]["check"], rows[0]["status"]) == ("config", "fail")
    assert rows[0]["hint"]


# -------------------------------------------------------------------------------------- a store that cannot be used


@pytest.fixture
def closing(laptop: Laptop) -> Laptop:
    """A device whose store can be closed for writers with the variable `CLOSED`."""
    install(laptop, "closing", "agentm.backends", "plugin_closing:Store", REFUSING)
    (laptop.folder / "store").mkdir()
    laptop.must("config", "set", "plugins.closing.root", str(laptop.folder / "store"))
    return laptop


@pytest.mark.parametrize("wrappers", ["[]", '["integrity"]'])
def test_a_store_that_refuses_writers_is_asked_through_every_layer(closing: Laptop, wrappers: str) -> None:
    closing.must("config", "set", "storage.backend", "closing")
    closing.must("config", "set", "wrappers", wrappers)
    closing.must("project", "register")
    script = (
        "import os\nfrom agentm_kernel import select_backend\n"
        "from agentm_kernel.plugin import StorageSelectionError\n"
        "store = select_backend()\n"
        "os.environ['CLOSED'] = '1'\n"
        "store.check_usable(read_only=True)\n"
        "try:\n    store.check_usable(read_only=False)\n"
        "except StorageSelectionError as error:\n    os._exit(7 if 'closed for repairs' in str(error) else 8)\n"
        "os._exit(9)\n"
    )
    assert closing.run(before=script).code == 7
    said = closing.run("doctor", CLOSED="1")
    assert said.code == 1
    assert "closed for repairs" in said.out
    assert "hint: come back tomorrow" in said.out
    assert closing.run("project", "register", CLOSED="1").err.splitlines() == [
        "error: closed for repairs",
        "hint: come back tomorrow",
    ]
    assert "widgets" in closing.must("project", "list", CLOSED="1"), "reading goes on"


def test_a_migration_asks_its_target_before_it_writes_anything(closing: Laptop) -> None:
    closing.must("save", "--kind", "fact", "--slug", "port", input="The port is 8080.\n")
    said = closing.run("migrate", "--to", "closing", "--yes", CLOSED="1")
    assert said.err.splitlines()[0] == "error: closed for repairs"
    assert list((closing.folder / "store").iterdir()) == []
    assert "storage.backend" not in closing.config
    closing.must("migrate", "--to", "closing", "--yes")
    assert "8080" in closing.must("notes", "show", "port")


# ------------------------------------------------------------------------------------ what others left behind


@pytest.mark.parametrize("place", ["checkout", "vault"])
def test_a_leftover_with_an_illegal_name_stops_no_write_and_stays(laptop: Laptop, place: str) -> None:
    """It looks like what a killed writer of ours left, but none of ours gives such a name: nothing is known of it."""
    if place == "vault":
        laptop.must("vault", "init", str(laptop.folder / "vault"), "--create", "--use")
    laptop.must("state", "write", "PLAN.md", input="# One\n")
    [plan] = [path for path in laptop.folder.rglob("PLAN.md") if path.is_file()]
    leftover = plan.parent / f".agentm-01234567{'0' * 32}.CON.md.swap"
    leftover.write_text("somebody's only copy\n")
    laptop.must("state", "write", "PLAN.md", input="# Two\n")
    laptop.must("state", "append", "progress.md", input="- a step\n")
    assert plan.read_text() == "# Two\n"
    assert leftover.read_text() == "somebody's only copy\n"
    assert "CON" not in laptop.must("state", "list")


def test_names_that_no_note_can_have_are_told_and_never_copied_or_lost(laptop: Laptop) -> None:
    laptop.must("save", "--kind", "fact", "--slug", "port", input="The port is 8080.\n")
    [note] = laptop.home.rglob("port.md")
    foreign = [note.parent / "CON.md", note.parent / "what?.md"]
    for file in foreign:
        file.write_text("not a note\n")
    told = laptop.run("checkpoint", "create").err
    assert all(f"not in the checkpoint: projects/widgets/facts/{file.name}" in told for file in foreign)
    laptop.must("vault", "init", str(laptop.folder / "vault"), "--create")
    laptop.must("config", "set", "storage.backend", "device-local")
    laptop.must("config", "set", "plugins.vault.vault_path", str(laptop.folder / "vault"))
    said = laptop.run("migrate", "--to", "vault", "--yes")
    assert said.code != 0
    assert all(file.name in said.err.splitlines()[0] for file in foreign)
    assert laptop.must("migrate", "--to", "vault", "--yes", "--allow-skipped").count("left behind") == 2
    assert [file.read_text() for file in foreign] == ["not a note\n"] * 2
