"""`agentm hosts check`: the installed program, started once in a scratch home, with a note that only memory knows."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from agentm_hosts.check.scratch import runner_of
from agentm_hosts.connecting import launcher
from agentm_kernel.plugin import AgentmError

if TYPE_CHECKING:
    from agentm_hosts.adapter import HostAdapter
    from agentm_kernel.plugin import Device

_LIMIT = 150
_ALONE = ("unshare", "--user", "--map-root-user", "--net", "--")


@dataclass(frozen=True)
class CheckResult:
    """What reached the model."""

    host: str
    program: str
    is_alone: bool
    """The program had no network but loopback."""
    places: tuple[str, ...] = ()
    """In which messages the canary was."""
    receipt: str = ""
    seconds: float = 0.0
    status: str = ""
    """What the transcript then said."""
    cannot: str = ""
    """Why nothing can be said."""

    @property
    def has_arrived(self) -> bool:
        return bool(self.places)

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "has_arrived": self.has_arrived}

    def lines(self) -> list[str]:
        if self.cannot:
            found = [f"{self.host}: cannot check: {self.cannot}"]
        elif self.places:
            where = ", ".join(self.places)
            found = [f"{self.host}: the note reached the model in {where}, after {self.seconds:.1f} s"]
            found.append(f"its transcript says: {self.status}")
        else:
            found = [f"{self.host}: the model was asked, and the note was not there"]
        if not self.is_alone:
            found.append("the network was not prevented: this system lets no program be without one")
        found.append("not part of this proof: your own trust in hooks and folders, and managed settings")
        return found


def check_host(device: Device, adapter: HostAdapter, *, program: str | None = None) -> CheckResult:
    """Run the check in a process of its own, without a network where the system allows that."""
    runner_of(adapter.name)
    found = program or shutil.which(adapter.programs[0], path=device.environ.get("PATH"))
    if found is None or not os.access(found, os.X_OK):
        raise AgentmError(
            f"there is no command {program or adapter.programs[0]}",
            hint=f"install {adapter.title}, or name its program with --program",
        )
    is_alone = _can_be_alone()
    with tempfile.TemporaryDirectory(prefix="agentm-check-", ignore_cleanup_errors=True) as folder:
        task = {
            "host": adapter.name,
            "program": os.path.abspath(found),
            "launcher": launcher(device),
            "folder": folder,
        }
        command = [sys.executable, "-P", "-m", "agentm_hosts.check.inside", json.dumps(task)]
        try:
            done = subprocess.run(  # noqa: S603 - programs that the user has installed
                [*(_ALONE if is_alone else ()), *command], capture_output=True, check=False, timeout=_LIMIT
            )
        except subprocess.TimeoutExpired:
            return CheckResult(adapter.name, found, is_alone, cannot=f"it did not end within {_LIMIT} s")
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        return CheckResult(adapter.name, found, is_alone, cannot=said[-1] if said else "it ended without a word")
    return CheckResult(adapter.name, found, is_alone, **{**answer, "places": tuple(answer["places"])})


def _can_be_alone() -> bool:
    if shutil.which(_ALONE[0]) is None:
        return False
    return subprocess.run([*_ALONE, "true"], capture_output=True, check=False, timeout=10).returncode == 0  # noqa: S603
