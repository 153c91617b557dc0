"""What this device keeps in one file for all its processes loses nothing when many write at once.

Every case fails without the lock that it is about: the commands meet within milliseconds, some hundred times.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.pins.laptop import Laptop, posix_only

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [posix_only, pytest.mark.timeout(600)]

RUNNERS, ROUNDS = 4, 20


@pytest.fixture
def laptop(tmp_path: Path) -> Laptop:
    return Laptop(tmp_path)


def test_no_setting_is_lost(laptop: Laptop) -> None:
    def commands(runner: int) -> list[list[str]]:
        return [["config", "set", f"plugins.race.option-{runner}-{number}", "1"] for number in range(ROUNDS)]

    laptop.must("config", "set", "state_mode", "local")
    laptop.race(*(commands(runner) for runner in range(RUNNERS)))
    listed = laptop.must("config", "list")
    missing = [
        (runner, number)
        for runner in range(RUNNERS)
        for number in range(ROUNDS)
        if f"plugins.race.option-{runner}-{number}" not in listed
    ]
    assert missing == []


def test_no_store_that_this_device_has_seen_is_forgotten(laptop: Laptop) -> None:
    """Each command writes to a store of its own, which is recorded in the one record of the device."""
    everyone = []
    for runner in range(RUNNERS):
        commands = []
        for number in range(ROUNDS):
            prefix = laptop.folder / f"config-{runner}-{number}"
            prefix.mkdir()
            root = laptop.folder / f"store-{runner}-{number}"
            (prefix / ".agentm-config.json").write_text(json.dumps({"plugins.device-local.root": str(root)}))
            commands.append([f"$AGENTM_INSTALL_PREFIX={prefix}", "project", "register"])
        everyone.append(commands)
    laptop.race(*everyone)
    marks = [json.loads(file.read_text())["id"] for file in laptop.folder.glob("store-*/_meta/store.json")]
    assert len(marks) == RUNNERS * ROUNDS
    record = (laptop.home / ".local/state/agentm/stores.json").read_text()
    assert [mark for mark in marks if mark not in record] == []


def test_no_registered_repository_is_lost(laptop: Laptop) -> None:
    everyone = []
    for runner in range(RUNNERS):
        commands = []
        for number in range(ROUNDS // 2):
            checkout = laptop.folder / f"repo-{runner}-{number}"
            (checkout / ".git").mkdir(parents=True)
            (checkout / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
            commands.append(["project", "register", "--cwd", str(checkout)])
        everyone.append(commands)
    laptop.race(*everyone)
    listed = laptop.must("project", "list")
    wanted = [f"repo-{runner}-{number}" for runner in range(RUNNERS) for number in range(ROUNDS // 2)]
    assert [name for name in wanted if name not in listed] == []


def test_no_checkpoint_is_lost_and_the_image_stays_whole(laptop: Laptop) -> None:
    body = laptop.folder / "body.md"
    body.write_text("A fact.\n")

    def commands(runner: int) -> list[list[str]]:
        save = ["save", "--kind", "fact", "--body-file", str(body), "--slug"]
        return [
            step
            for number in range(ROUNDS // 4)
            for step in ([*save, f"fact-{runner}-{number}"], ["checkpoint", "create"])
        ]

    laptop.must("save", "--kind", "fact", "--slug", "first", input="The store gets its identity.\n")
    laptop.race(*(commands(runner) for runner in range(RUNNERS)))
    laptop.must("checkpoint", "create")
    laptop.must("checkpoint", "verify")
    shown = laptop.must("checkpoint", "show")
    assert f"{RUNNERS * (ROUNDS // 4) + 1} notes" in shown or "21" in shown


def test_no_line_of_progress_is_lost(laptop: Laptop) -> None:
    body = laptop.folder / "body.md"
    body.write_text("- a step\n")
    append = ["state", "append", "progress.md", "--body-file", str(body)]
    laptop.race(*([append] * (ROUNDS // 2) for _ in range(RUNNERS)))
    assert laptop.must("state", "read", "progress.md") == "- a step\n" * (RUNNERS * (ROUNDS // 2))
