"""One repository, two names: devices claimed them before they met. It is told, and a merge unites them."""

from __future__ import annotations

import json
import re
import shutil
from typing import TYPE_CHECKING

import pytest

from tests.projects.test_situations import ANA, BEN, Clones, Vault

if TYPE_CHECKING:
    from pathlib import Path

    from tests.projects.test_situations import Desk, Laptop

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


class SyncedFolder(Vault):
    """A vault of which each laptop has a copy of its own, until a sync tool brings them together."""

    def take_away(self) -> None:
        """What one laptop wrote, before the other has heard of it."""
        for name in ("projects", "_meta/remotes"):
            (self.store / name).rename(self.folder / name.replace("/", "-"))

    def bring_back(self) -> None:
        """What both wrote, as a sync tool puts it together: of two files of one name, one becomes a copy."""
        for name in ("projects", "_meta/remotes"):
            before = self.folder / name.replace("/", "-")
            for file in [file for file in before.rglob("*") if file.is_file()]:
                place = self.store / name / file.relative_to(before)
                place.parent.mkdir(parents=True, exist_ok=True)
                if place.exists():
                    place = place.with_name(f"{place.stem}.sync-conflict-20260101-120000-ABCDEFG{place.suffix}")
                file.rename(place)


class EncryptedClones(Clones):
    """Clones whose notes, records and pointers are encrypted; both laptops have the keys."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        one, two = self.one, self.two
        encrypt = ("encryption", "init", "--recovery-file", str(folder / "recovery.txt"), "--yes")
        assert one.agentm(folder, *encrypt).returncode == 0
        for laptop in (one, two):
            laptop.exchange()
        asked = two.agentm(folder, "encryption", "join").stderr
        admit = re.search(r"agentm (encryption admit age1\w+)", asked)
        assert admit, asked
        assert one.agentm(folder, *admit.group(1).split(), "two").returncode == 0
        status = json.loads(one.agentm(folder, "encryption", "status", "--json").stdout)
        for laptop in (one, two):
            laptop.exchange()
        joined = two.agentm(folder, "encryption", "join", "--fingerprint", status["fingerprint"])
        assert joined.returncode == 0, joined.stderr

    def _sync(self, laptop: Laptop) -> None:
        """The command, which unites the records: the merger cannot read them."""
        laptop.agentm(self.folder, "git", "sync")


@pytest.mark.parametrize("kind", [SyncedFolder, Clones, EncryptedClones])
def test_what_a_repository_has_under_two_names_is_told_and_brought_together(kind: type[Desk], tmp_path: Path) -> None:
    """Two devices worked in two repositories of one name before they met, each beginning with another one."""
    desk = kind(tmp_path)
    laptops, owners = (desk.one, desk.two), {"ana": ANA, "ben": BEN}
    roots = [{owner: desk.clone(f"{n}/{owner}/widgets", owners[owner]) for owner in owners} for n in range(2)]
    for n, laptop in enumerate(laptops):
        for owner in list(owners)[:: (1, -1)[n]]:
            laptop.save_alone(roots[n][owner], f"{owner}-{n}")
        if isinstance(desk, SyncedFolder):
            (desk.bring_back if n else desk.take_away)()
    for laptop in (*laptops, *laptops):
        laptop.exchange()

    commands = set()
    for n, laptop in enumerate(laptops):
        said = laptop.agentm(roots[n]["ana"], "doctor").stdout
        for owner in owners:
            assert f"{owner}-{n}" in laptop.notes(roots[n][owner])
            command = f"agentm project merge {owner}-widgets widgets"
            commands.add(command)
            assert f"/{owner}/widgets has notes under '{owner}-widgets' and under 'widgets'" in said
            assert command in said
            shown = json.loads(laptop.agentm(roots[n][owner], "project", "show", "--json").stdout)
            assert {shown["slug"], shown["also"]} == {"widgets", f"{owner}-widgets"}
    assert desk.one.notes(roots[0]["ben"]) == ["ben-0"]  # nobody has said that it may be shown more

    for command in sorted(commands):
        merged = desk.one.agentm(roots[0]["ana"], *command.split()[1:])
        assert merged.returncode == 0, merged.stderr
    for laptop in (*laptops, *laptops):
        laptop.exchange()
    for n, laptop in enumerate(laptops):
        for owner in owners:
            assert {f"{owner}-0", f"{owner}-1"} <= {*laptop.notes(roots[n][owner])}
            assert "has notes under" not in laptop.agentm(roots[n][owner], "doctor").stdout
