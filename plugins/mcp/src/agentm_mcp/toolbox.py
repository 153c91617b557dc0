"""The tools that installed plugins bring: found by metadata, imported to be listed, called with checked arguments."""

from __future__ import annotations

import sys

from agentm_kernel.plugin import (
    TOOLS,
    AgentmError,
    Call,
    InvalidContentError,
    PluginError,
    Tool,
    in_time,
    load,
    permitted,
)
from agentm_mcp.shown import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentm_kernel.plugin import Device, PluginRecord, ToolCall

MOST_TEXT = 1_000_000
"""Characters of one argument, where its schema does not say less."""
_PATIENCE = 1.5
"""Seconds that the module of a tool has to be imported: the host waits for the others meanwhile."""
_UNSAID = ("minLength", "maxLength", "minimum")
_TYPES: dict[str, type] = {"string": str, "integer": int, "boolean": bool}


def listed(device: Device) -> list[dict[str, object]]:
    """The tools as `tools/list` shows them. One that cannot be had is left out, and said on standard error."""
    tools = []
    for record in permitted(device, TOOLS):
        try:
            tools.append(_described(_load(record)))
        except AgentmError as error:
            sys.stderr.write(f"agentm mcp: {error}\n")
    return tools


def find_tool(device: Device, name: str) -> tuple[PluginRecord, Tool] | None:
    """The tool of that name; `None` if no plugin brings one, `PluginError` if it cannot be had."""
    claims = [record for record in permitted(device, TOOLS) if record.name == name]
    if len(claims) > 1:
        owners = " and ".join(sorted(record.distribution for record in claims))
        raise PluginError(f"the tool '{name}' is claimed by {owners}", hint="uninstall one of them")
    return (claims[0], _load(claims[0])) if claims else None


def call_tool(record: PluginRecord, tool: Tool, call: ToolCall, arguments: Mapping[str, object]) -> dict[str, object]:
    """What the tool answers, as a result of `tools/call`. Whatever goes wrong is a result too: the model can act on
    what it reads, and never sees a protocol error.
    """
    try:
        _check(tool, arguments)
        with Call(str(record), "a call"):
            answer = dict(tool.function(call, **arguments))
    except AgentmError as error:
        return failure(error.message, error.hint, error.details)
    text = answer.pop("text", None)
    result: dict[str, object] = {"content": [{"type": "text", "text": _rendered(answer, text)}]}
    if text is None:
        result["structuredContent"] = answer  # short fields only: hosts that show both would show a text twice
    return result


def failure(message: str, hint: str | None = None, details: Mapping[str, object] | None = None) -> dict[str, object]:
    """A call that did not work, as the model reads it."""
    fields = dict(details or {})
    text = fields.pop("text", None)
    head = shown(f"error: {message}" + (f"\nhint: {hint}" if hint else ""))
    body = _rendered(fields, text)
    content = {"type": "text", "text": f"{head}\n{body}" if body else head}
    return {"content": [content], "isError": True}


def _load(record: PluginRecord) -> Tool:
    found = in_time(lambda: load(record), _PATIENCE)
    if not isinstance(found, Tool) or found.name != record.name:
        raise PluginError(f"the {record} does not name a Tool called '{record.name}'")
    return found


def _described(tool: Tool) -> dict[str, object]:
    properties = {name: _shown(schema) for name, schema in tool.parameters.items()}
    schema: dict[str, object] = {"type": "object", "properties": properties}
    if tool.required:
        schema["required"] = list(tool.required)
    # Without the last two a host takes a writing tool for one that destroys, and for one that talks to the world.
    hints = {"readOnlyHint": True} if tool.only_reads else {"destructiveHint": False, "openWorldHint": False}
    return {
        "name": tool.name,
        "description": tool.description,
        "inputSchema": schema,
        "annotations": hints,
    }


def _shown(schema: Mapping[str, object]) -> dict[str, object]:
    """Without the limits that are checked but no model would think of breaking: every agent pays for each word."""
    return {name: value for name, value in schema.items() if name not in _UNSAID}


def _rendered(fields: Mapping[str, object], text: object) -> str:
    lines = [f"{name}: {_value(value)}" for name, value in fields.items() if value not in (None, "", [])]
    if text:
        lines += ["", str(text)] if lines else [str(text)]
    return shown("\n".join(lines))


def _value(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


# ------------------------------------------------------------------------------------------------ arguments


def _check(tool: Tool, arguments: Mapping[str, object]) -> None:
    unknown = sorted(set(arguments) - set(tool.parameters))
    if unknown:
        known = ", ".join(tool.parameters) or "none"
        raise InvalidContentError(f"{tool.name} has no argument '{unknown[0][:60]}'", hint=f"it takes: {known}")
    missing = [name for name in tool.required if name not in arguments]
    if missing:
        raise InvalidContentError(f"{tool.name} needs the argument '{missing[0]}'")
    for name, value in arguments.items():
        wrong = _wrong(tool.parameters[name], value)
        if wrong:
            raise InvalidContentError(f"the argument '{name}' of {tool.name} {wrong}")


def _wrong(schema: Mapping[str, object], value: object) -> str | None:
    kind = schema.get("type")
    wanted = _TYPES.get(str(kind))
    if wanted is not None and (not isinstance(value, wanted) or (isinstance(value, bool) and wanted is not bool)):
        return f"is a {kind}"
    choices = schema.get("enum")
    if isinstance(choices, (list, tuple)) and value not in choices:
        return f"is one of: {', '.join(map(str, choices))}"
    if isinstance(value, str):
        most = schema.get("maxLength")
        most = most if isinstance(most, int) else MOST_TEXT
        if len(value) > most:
            return f"has at most {most:,} characters, not {len(value):,}"
        if not _is_unicode(value):
            return "is not valid Unicode"
        if not value.strip() and schema.get("minLength"):
            return "is empty"
    if isinstance(value, int) and not isinstance(value, bool):
        least, largest = schema.get("minimum"), schema.get("maximum")
        if isinstance(least, int) and value < least:
            return f"is at least {least}"
        if isinstance(largest, int) and value > largest:
            return f"is at most {largest}"
    return None


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
