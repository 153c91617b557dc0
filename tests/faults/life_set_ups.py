"""What two devices do before a life begins, so that they have the stores of its set-up."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from tests.faults.life_members import let_in, recovery
from tests.faults.life_world import APPROVED, DEVICES

if TYPE_CHECKING:
    from tests.faults.life_world import World

SET_UPS = (
    "local",
    "vault",
    "git",
    "further vault",
    "further git",
    "moving",
    "encrypted vault",
    "encrypted git",
    "further encrypted vault",
    "bucket",
    "further bucket",
)


def set_up(world: World) -> None:
    if world.set_up.endswith("git"):
        bare = ["git", "init", "-q", "--bare", world.path("team.git")]
        subprocess.run(bare, check=True, env=world.environ("ana"))
    for device in DEVICES:
        for command in _commands(world, device):
            world.done(device, *command)
        world.done(device, "config", "set", "capture.approve", APPROVED)
        world.default[device] = device if "further" in world.set_up else _default(world, device)
    if world.is_sealed:
        ana, ben = DEVICES
        world.done(ana, *world.of_team, "encryption", "init", *recovery(world), "--name", ana, "--yes")
        let_in(world, ana, ben, world.synced)


def _default(world: World, device: str) -> str:
    return device if world.set_up in ("local", "moving") else world.team(device)


def _commands(world: World, device: str) -> list[tuple[str, ...]]:
    """For each, beside `--use`, what makes it a further store: that is the last."""
    vault, remote = world.path("vault"), f"file://{world.path('team.git')}"
    clone = world.folder_of(f"{device}/team")
    kind = world.set_up.rpartition(" ")[2]
    use = () if "further" in world.set_up else ("--use",)
    made: dict[str, list[tuple[str, ...]]] = {
        "local": [],
        "vault": [("vault", "init", vault, "--create", *use)],
        "git": [("git", "init", clone, remote, *use)],
        "bucket": [("bucket", "init", "notes", *use)],
        "moving": [
            ("vault", "init", vault, "--create"),
            ("config", "set", "storage.backend", "device-local"),
            ("config", "set", "plugins.vault.vault_path", vault),
        ],
    }
    added: dict[str, tuple[str, ...]] = {
        "vault": ("store", "add", "team", "vault", f"vault_path={vault}"),
        "git": ("store", "add", "team", "git", f"root={clone}", f"remote={remote}"),
        "bucket": ("store", "add", "team", "bucket", "bucket=notes", "kind=s3"),
    }
    return [*made[kind], *(() if use else (added[kind],))]
