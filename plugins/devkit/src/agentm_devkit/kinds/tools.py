"""A tool that agents may call (group `agentm.tools`): what a model reads of it, and that it fails politely."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from agentm_devkit.conformance.expect import Violation, shown
from agentm_devkit.kinds.checking import plugin_check

if TYPE_CHECKING:
    from agentm_devkit.kinds.checking import Specimen

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_TYPES = {"string", "number", "integer", "boolean", "array", "object", "null"}


def _tool(specimen: Specimen) -> Any:
    tool = specimen.plugin
    missing = [
        name for name in ("name", "description", "function", "parameters", "required") if not hasattr(tool, name)
    ]
    if missing:
        raise Violation(f"{specimen.record.value} has no {', '.join(missing)}")
    return tool


@plugin_check("tools")
def check_tool_has_its_name(specimen: Specimen) -> None:
    """A tool is called what its entry point is called, in letters that every agent host takes."""
    name = _tool(specimen).name
    if name != specimen.record.name or not _NAME.fullmatch(str(name)):
        raise Violation(f"it is called {shown(name)}, and its entry point {shown(specimen.record.name)}")


@plugin_check("tools")
def check_tool_says_what_it_does(specimen: Specimen) -> None:
    """A tool's description tells a model in one to five sentences when to call it."""
    description = _tool(specimen).description
    if not isinstance(description, str) or not 20 <= len(description.strip()) <= 1_000:
        raise Violation(f"it says {shown(description)}")


@plugin_check("tools")
def check_tool_declares_its_arguments(specimen: Specimen) -> None:
    """Each argument has a JSON Schema with a type, and each required one is declared."""
    tool = _tool(specimen)
    json.dumps(dict(tool.parameters))
    for name, schema in tool.parameters.items():
        types = schema.get("type") if isinstance(schema, dict) else None
        given = types if isinstance(types, list) else [types]
        if "enum" not in schema and not set(given) <= _TYPES:
            raise Violation(f"the argument {shown(name)} has the schema {shown(schema)}")
    if unknown := set(tool.required) - set(tool.parameters):
        raise Violation(f"{', '.join(sorted(unknown))} is required and not declared")


@plugin_check("tools")
def check_tool_takes_its_arguments(specimen: Specimen) -> None:
    """The function takes the call and each declared argument by its name; what is not required may be left out."""
    import inspect

    tool = _tool(specimen)
    signature = inspect.signature(tool.function)
    for names in (tuple(tool.parameters), tuple(tool.required)):
        try:
            signature.bind(object(), **dict.fromkeys(names))
        except TypeError as error:
            raise Violation(f"it cannot be called with {', '.join(names) or 'no arguments'}: {error}") from error
