"""What this device keeps in one file for all its processes loses nothing when many write at once.

Every case fails without the lock that it is about: the commands meet within milliseconds, some hundred times.
"""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import pytest

from agentm_kernel.plugin import store_mutex
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
    shown = laptop.must("checkpoint", "show", "latest")
    wanted = [f"fact-{runner}-{number}" for runner in range(RUNNERS) for number in range(ROUNDS // 4)]
    assert [slug for slug in wanted if slug not in shown] == []


def test_no_line_of_progress_is_lost(laptop: Laptop) -> None:
    body = laptop.folder / "body.md"
    body.write_text("- a step\n")
    append = ["state", "append", "progress.md", "--body-file", str(body)]
    laptop.race(*([append] * (ROUNDS // 2) for _ in range(RUNNERS)))
    assert laptop.must("state", "read", "progress.md") == "- a step\n" * (RUNNERS * (ROUNDS // 2))


WRITES_A_SKILL = """
import os
from agentm_kernel import Locator, select_backend
select_backend().write(Locator("skills/deploy/SKILL.md"), "Deploy on Mondays." + chr(10))
os._exit(0)
"""


@pytest.mark.parametrize(
    ("command", "before"),
    [
        (("checkpoint", "create"), ""),
        (("checkpoint", "prune", "--keep", "1", "--yes"), ""),
        ((), WRITES_A_SKILL),
    ],
    ids=["create", "prune", "a guarded note"],
)
def test_image_and_known_versions_are_changed_by_one_at_a_time(
    laptop: Laptop, command: tuple[str, ...], before: str
) -> None:
    """The lock of their folder is part of the format: `docs/reference/checkpoint-format.md`."""
    laptop.must("config", "set", "wrappers", '["integrity"]')
    for slug in ("first", "second"):
        laptop.must("save", "--kind", "fact", "--slug", slug, input=f"The {slug} fact.\n")
        laptop.must("checkpoint", "create")
    laptop.must("save", "--kind", "fact", "--slug", "third", input="Something new.\n")
    [image] = laptop.home.rglob("image.car")
    data = image.read_bytes()
    with store_mutex(image.parent):
        process = laptop.start(*command, before=before)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=4)
        assert image.read_bytes() == data
    with process:
        _, complaint = process.communicate("", timeout=60)
    assert process.returncode == 0, complaint
    assert before or image.read_bytes() != data
