"""The kernel stays minimal: four third-party packages, no database, no index of its own, no plugin it needs."""

from __future__ import annotations

import ast
import re
import sys
from typing import TYPE_CHECKING

from agentm_devkit.gates.findings import Finding
from agentm_devkit.gates.imports import imports_of
from agentm_devkit.gates.names import Names
from agentm_devkit.gates.sources import KERNEL, display

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentm_devkit.gates.sources import Sources

THIRD_PARTY = frozenset({"click", "filelock", "platformdirs", "pluggy"})

_DATABASES = frozenset({"_dbm", "_gdbm", "_sqlite3", "dbm", "shelve", "sqlite3"})
_DISTRIBUTION = "agentm-kernel"
_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)")


def check_kernel_imports(sources: Sources) -> Iterator[Finding]:
    """`database-import` and `third-party-import`."""
    names = Names(sources)
    for module in sources.kernel:
        for found in imports_of(module, names):
            package = found.package
            if package in _DATABASES:
                yield module.finding(
                    found.line,
                    "database-import",
                    f"the kernel imports the database `{package}`: an index is a plugin's",
                )
            elif found.complete and not _is_allowed(package):
                allowed = ", ".join(sorted(THIRD_PARTY))
                yield module.finding(
                    found.line, "third-party-import", f"the kernel imports `{package}`; it may use {allowed} only"
                )


def _is_allowed(package: str) -> bool:
    if package.startswith("agentm_"):
        return True  # the kernel, or a plugin: the import direction has its own rule and its own sentence
    return package in sys.stdlib_module_names or package in THIRD_PARTY


def check_no_maintenance(sources: Sources) -> Iterator[Finding]:
    """`concrete-maintenance`: what keeps a derived tier up to date lives in a plugin."""
    names = Names(sources)
    for module in sources.kernel:
        for node in module.nodes:
            if isinstance(node, ast.ClassDef) and any(
                name.startswith(f"{KERNEL}.") and name.endswith(".DerivedMaintenance")
                for name in names.ancestors(module, node)
            ):
                yield module.finding(
                    node.lineno,
                    "concrete-maintenance",
                    f"{node.name} implements DerivedMaintenance inside the kernel",
                )


def check_dependencies(sources: Sources) -> Iterator[Finding]:
    """`plugin-dependency`: a kernel that requires a plugin could not be installed without it, nor it without us."""
    for manifest, content in sources.manifests.items():
        project = content.get("project", {})
        if project.get("name") != _DISTRIBUTION:
            continue
        for requirement in project.get("dependencies", []):
            match = _REQUIREMENT.match(requirement)
            name = re.sub(r"[-_.]+", "-", match[1]).lower() if match else requirement
            if name.startswith("agentm-"):
                line = _line_of(manifest.read_text(encoding="utf-8"), requirement)
                sentence = f"the kernel requires the plugin `{name}`: plugins depend on the kernel, never the reverse"
                yield Finding(display(manifest), line, "plugin-dependency", sentence)


def _line_of(text: str, wanted: str) -> int:
    return next((number for number, line in enumerate(text.splitlines(), start=1) if wanted in line), 0)
