"""Modes of every file and folder that agentm makes, under the widest and the narrowest umask.

Private are the places that are this user's alone: configuration, state, cache, the default store, the record of a
folder made on the way to one of them included. A checkout and a vault are shared with other programs, so what is made
there has the mode that any other program would give it.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from tests.pins.laptop import Laptop, needs_git, posix_only

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = posix_only

PRIVATE_FOLDER, PRIVATE_FILE = "drwx------", "-rw-------"
SHARED = {0: ("drwxrwxrwx", "-rw-rw-rw-"), 0o077: (PRIVATE_FOLDER, PRIVATE_FILE)}
NOTE = ("save", "--kind", "decision", "--slug", "use-tabs")
POLICY = """---
provider: local-fs
config: {mount_path: %s}
---
"""


@pytest.fixture(params=[0, 0o077], ids=["umask 0", "umask 077"])
def laptop(request: pytest.FixtureRequest, tmp_path: Path) -> Laptop:
    return Laptop(tmp_path, request.param)


def use_everything(laptop: Laptop) -> None:
    """Every command that keeps something on this device with the default store."""
    laptop.must("config", "set", "wrappers", '["integrity"]')
    laptop.must(*NOTE, input="Tabs it is.\n")
    laptop.must(*NOTE, "--update", input="Spaces after all.\n")
    laptop.must("save", "--kind", "fact", "--slug", "port", "--personal", input="The port is 8080.\n")
    laptop.must("reindex")
    laptop.must("search", "port")
    laptop.must("forget", "port")
    laptop.must("project", "register")
    laptop.must("state", "write", "PLAN.md", input="# Plan\n")
    laptop.must("state", "append", "progress.md", input="- begun\n")
    laptop.must("checkpoint", "create")
    laptop.must("checkpoint", "verify")
    laptop.must("hook", "session-start", input="{}")
    laptop.must("event", "turn-end", input="{}")
    laptop.must("event", "session-end", input="{}")
    laptop.run("doctor")


def test_what_agentm_keeps_for_the_operator_nobody_else_may_read(laptop: Laptop) -> None:
    use_everything(laptop)
    modes = laptop.modes(laptop.project)
    made = {path: mode for path, mode in modes.items() if path != "home"}
    expected_in = (
        "home/.agentm/memory/_meta/store.json",
        "home/.agentm/memory/_meta/repos.json",
        "home/.config/agentm/.agentm-config.json",
        "home/.local/state/agentm/stores.json",
    )
    assert set(expected_in) <= set(made)
    assert any(path.endswith("image.car") for path in made), "the image of checkpoints"
    assert any(".cache/agentm/" in path and path.endswith(".sqlite3") for path in made), "the index"
    assert any(path.endswith("use-tabs.md") for path in made)
    assert {path: mode for path, mode in made.items() if mode not in (PRIVATE_FOLDER, PRIVATE_FILE)} == {}


def test_a_checkout_s_state_has_the_modes_of_the_checkout(laptop: Laptop) -> None:
    use_everything(laptop)
    modes = laptop.modes(laptop.home, laptop.project / ".git")
    folder, file = SHARED[laptop.umask]
    assert modes.pop("widgets") == "drwxr-xr-x"
    assert modes["widgets/.harness"] == folder
    assert modes["widgets/.harness/PLAN.md"] == modes["widgets/.harness/progress.md"] == file
    assert set(modes.values()) == {folder, file}


def test_a_vault_has_the_modes_that_the_sync_tool_and_the_editor_give(laptop: Laptop) -> None:
    vault = laptop.folder / "vault"
    laptop.must("vault", "init", str(vault), "--create", "--use")
    laptop.must(*NOTE, input="Tabs it is.\n")
    laptop.must("state", "write", "PLAN.md", input="# Plan\n")
    laptop.must("checkpoint", "create")
    laptop.must("search", "tabs")
    shared = laptop.modes(laptop.home, laptop.project)
    assert any(path.endswith("PLAN.md") for path in shared)
    assert set(shared.values()) == set(SHARED[laptop.umask])
    kept = laptop.modes(laptop.project, vault)
    del kept["home"]
    assert {path: mode for path, mode in kept.items() if mode not in (PRIVATE_FOLDER, PRIVATE_FILE)} == {}


def test_a_note_that_is_replaced_keeps_its_mode(laptop: Laptop) -> None:
    laptop.must(*NOTE, input="Tabs it is.\n")
    [note] = laptop.home.rglob("use-tabs.md")
    note.chmod(0o640)
    laptop.must(*NOTE, "--update", input="Spaces after all.\n")
    assert note.stat().st_mode & 0o777 == 0o640


def test_a_configuration_that_somebody_made_readable_becomes_private(laptop: Laptop) -> None:
    laptop.must("config", "set", "state_mode", "local")
    file = laptop.home / ".config/agentm/.agentm-config.json"
    file.chmod(0o644)
    laptop.must("config", "set", "state_mode", "backend")
    assert file.stat().st_mode & 0o777 == 0o600


@needs_git
def test_nobody_else_can_enter_a_git_clone(laptop: Laptop) -> None:
    clone = laptop.home / "team"
    laptop.must("git", "init", str(clone), "--use")
    laptop.must(*NOTE, input="Tabs it is.\n")
    laptop.must("git", "sync")
    modes = laptop.modes(laptop.project)
    assert modes["home/team"] == PRIVATE_FOLDER, "what is in it has git's own modes"
    ours = {path: mode for path, mode in modes.items() if path.startswith("home/.")}
    assert ours
    assert set(ours.values()) == {PRIVATE_FOLDER, PRIVATE_FILE}


def test_what_a_storage_policy_keeps_is_private(laptop: Laptop) -> None:
    root = laptop.folder / "shared"
    root.mkdir()
    document = laptop.folder / "STORAGE.md"
    document.write_text(POLICY % root)
    os.chmod(document, 0o644)
    laptop.must("config", "set", "storage.policy", str(document))
    laptop.must("policy", "init")
    laptop.must(*NOTE, input="Tabs it is.\n")
    laptop.must("event", "session-end", input="{}")
    kept = laptop.modes(laptop.project, root, document)
    del kept["home"]
    assert kept
    assert {path: mode for path, mode in kept.items() if mode not in (PRIVATE_FOLDER, PRIVATE_FILE)} == {}


def test_the_folder_of_the_configuration_may_be_anywhere_and_is_private(laptop: Laptop) -> None:
    prefix = laptop.folder / "far" / "away"
    laptop.must("config", "set", "state_mode", "local", AGENTM_INSTALL_PREFIX=str(prefix))
    modes = laptop.modes(laptop.home, laptop.project)
    assert json.loads((prefix / ".agentm-config.json").read_text()) == {"state_mode": "local"}
    assert modes == {
        "far": PRIVATE_FOLDER,
        "far/away": PRIVATE_FOLDER,
        "far/away/.agentm-config.json": PRIVATE_FILE,
    }
