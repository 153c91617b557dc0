"""R13: two devices share a store and edit the same notes; what was acknowledged is in a note or a listed copy of it.

One script, `edit_script`, on every store that devices can share: vaults with a sync tool between them, one that is
worse than any real one and the real Syncthing, and buckets on real servers.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from unittest import mock

from syncthing import Syncthing, is_installed
from two_laptops import run_script
from two_vaults import TwoVaults

from agentm_kernel.files.swap import SwapPublisher
from agentm_kernel.state.mirror import Mirror
from tests.faults.edit_script import Script
from tests.faults.harness import Outcome, scratch
from tests.faults.object_stores import each_server

if TYPE_CHECKING:
    from collections.abc import Callable

    from bucket_servers import Server

    from tests.faults.edit_script import Verdict
    from tests.faults.harness import Intensity

    Broken = tuple[type, str, Callable[..., object]]


def campaign(intensity: Intensity) -> Outcome:
    outcome = Outcome("edits of shared notes on two devices")
    edits = intensity.pick(short=60, full=1000)
    _check(outcome, "vaults", _on_vaults(intensity, edits))
    _control(outcome, "a vault that just renames", _RENAMING, lambda chance: _on_vaults(intensity, 100, chance))
    if is_installed():
        _check(outcome, "vaults with Syncthing", _with_syncthing(intensity, edits))
        losing = Outcome("a Syncthing that keeps no copy")
        for number in range(_CHANCES):
            _check(losing, losing.injected, _with_syncthing(intensity, 40, number, most_copies=0))
            if losing.violations:
                break
        outcome.control(losing.injected, losing)
    else:
        outcome.skips.append("syncthing is not installed")
    for server in each_server(intensity, outcome):
        _check(outcome, server.server.name, _on_bucket(intensity, server.server, edits))
        if not _BROKEN_COPIES.keys() & outcome.controls.keys():
            for name, broken in _BROKEN_COPIES.items():
                _control(
                    outcome, name, broken, lambda chance, on=server.server: _on_bucket(intensity, on, 100, chance)
                )
    return outcome


# ------------------------------------------------------------------------------------------------ stores


def _on_vaults(intensity: Intensity, edits: int, number: int = 0) -> Verdict:
    chance = intensity.random(f"vaults {number}")
    with scratch() as folder:
        script = Script(TwoVaults(Path(folder), chance), chance)
        script.run(edits)
        return script.verdict()


def _with_syncthing(intensity: Intensity, edits: int, number: int = 0, *, most_copies: int = -1) -> Verdict:
    chance = intensity.random(f"syncthing {number}")
    with scratch() as folder:
        pair = TwoVaults(Path(folder), chance, partial(Syncthing, most_copies=most_copies))
        try:
            script = Script(pair, chance)
            script.run(edits)
            return script.verdict()
        finally:
            pair.tool.close()


def _on_bucket(intensity: Intensity, server: Server, edits: int, number: int = 0) -> Verdict:
    with scratch() as folder:
        return run_script(server, Path(folder), intensity.random(f"buckets {number}"), edits).verdict()


# ------------------------------------------------------------------------------------------------ verdicts


def _check(outcome: Outcome, where: str, verdict: Verdict) -> None:
    outcome.count += verdict.acknowledged
    for edit in verdict.lost:
        outcome.violation("lost", f"{where}, {edit}")
    outcome.measured[f"conflict copies on {where}"] = verdict.copies


def _control(outcome: Outcome, name: str, broken: Broken, run: Callable[[int], Verdict]) -> None:
    """Run the script until the broken store has lost something; it takes an edit in the wrong moment."""
    found = Outcome(name)
    with mock.patch.object(*broken):
        for number in range(_CHANCES):
            _check(found, name, run(number))
            if found.violations:
                break
    outcome.control(name, found)


_CHANCES = 30
_RENAMING: Broken = (SwapPublisher, "__call__", lambda _, directory, temp, name: directory.replace(temp, name))
_BROKEN_COPIES: dict[str, Broken] = {
    "a copy that just renames": _RENAMING,
    "a copy that keeps no loser": (Mirror, "_keep_aside", lambda self, locator: locator),
}
