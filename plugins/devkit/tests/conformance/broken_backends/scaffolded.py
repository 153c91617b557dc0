"""The store that `agentm plugins new` writes, made from its templates: sound, on SQLite, and here to be broken."""

from __future__ import annotations

import os
import sys
from importlib.resources import files
from string import Template
from types import ModuleType

_WORDS = {"name": "scaffolded", "package": "broken_backends.of_scaffold", "class_name": "ScaffoldedStore"}


def _made(module: str) -> ModuleType:
    """A module of the scaffold, under the name by which its own imports know it."""
    text = files("agentm_devkit").joinpath("scaffold", "backend", f"{module}.py.template").read_text(encoding="utf-8")
    made = ModuleType(f"{_WORDS['package']}.{module}")
    sys.modules[made.__name__] = made
    exec(compile(Template(text).substitute(_WORDS), f"{module}.py.template", "exec"), made.__dict__)
    return made


sys.modules[_WORDS["package"]] = ModuleType(_WORDS["package"])
_made("options")


class Scaffolded(_made("backend").ScaffoldedStore):  # type: ignore[misc] # a class that is made at run time
    """In one file of the scratch folder."""

    def __init__(self, scratch: str) -> None:
        super().__init__(os.path.join(scratch, "notes.db"))
