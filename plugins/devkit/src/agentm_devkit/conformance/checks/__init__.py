"""The checks, one module for each group of verbs or faults.

A new check is a function with the decorator in one of these modules; a new module is a name in `_MODULES`.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module

from agentm_devkit.conformance.checking import Check

_MODULES = (
    "declaring",
    "keys",
    "reading",
    "writing",
    "directories",
    "listing",
    "lookalikes",
    "conditions",
    "spelling",
    "content",
    "deleting",
    "history",
    "errors",
    "opening",
    "device_files",
    "foreign_entries",
    "disk",
    "faults",
    "damage",
    "layering",
    "importing",
    "routing",
    "racing",
    "crashing",
)


@cache
def all_checks() -> tuple[Check, ...]:
    """Every check of the kit, cheap ones first."""
    modules = [import_module(f"{__name__}.{name}") for name in _MODULES]
    return tuple(found for module in modules for found in vars(module).values() if isinstance(found, Check))
