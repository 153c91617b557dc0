"""The architecture of agentm as checks: of this repository, and of a plugin in its author's hands.

`check(paths)` parses what it is given and imports none of it; `python -m agentm_devkit.gates` is its command line.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentm_devkit.gates.cycles import check_import_cycles
from agentm_devkit.gates.direction import check_import_direction
from agentm_devkit.gates.findings import Finding
from agentm_devkit.gates.layers import check_layer_order
from agentm_devkit.gates.leaks import check_path_leaks
from agentm_devkit.gates.minimal import check_dependencies, check_kernel_imports, check_no_maintenance
from agentm_devkit.gates.reach import check_device_path_callers, check_file_access
from agentm_devkit.gates.sources import collect

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

__all__ = ["GATES", "Finding", "Report", "check"]

GATES = (
    check_path_leaks,
    check_import_direction,
    check_layer_order,
    check_import_cycles,
    check_device_path_callers,
    check_file_access,
    check_kernel_imports,
    check_no_maintenance,
    check_dependencies,
)


@dataclass(frozen=True)
class Report:
    """What a run found. `unreadable` is what could not be judged at all: never taken for clean."""

    findings: tuple[Finding, ...]
    unreadable: tuple[Finding, ...]
    modules: int
    """How many files were judged."""

    @property
    def exit_code(self) -> int:
        return 2 if self.unreadable else int(bool(self.findings))


def check(paths: Iterable[str | os.PathLike[str]]) -> Report:
    """Run every gate over the packages at or below `paths`."""
    sources = collect(paths)
    findings = sorted({finding for gate in GATES for finding in gate(sources)})
    return Report(tuple(findings), tuple(sources.unreadable), len(sources.modules))
