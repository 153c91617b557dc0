"""Cursor: from what others ship for it; its own program could not be tried."""

from __future__ import annotations

import os

from agentm_hosts.adapter import UNPROVEN, HostAdapter, quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from agentm_hosts.place import Change, Place

_SECONDS = 5


class Cursor(HostAdapter):
    name = "cursor"
    title = "Cursor"
    proof = UNPROVEN
    hooks: Mapping[str, str] = {
        "session-start": "sessionStart",
        "pre-compact": "preCompact",
        "turn-end": "stop",
        "session-end": "sessionEnd",
    }
    programs = ("cursor", "cursor-agent")
    tool_name = "{tool}"

    def session(self, payload: Mapping[str, Any]) -> str:
        return str(payload.get("conversation_id") or super().session(payload))

    def passes_on(self, event: str) -> bool:
        return event in ("session-start", "turn-end")

    def wrap(self, event: str, text: str) -> str:
        key = "followup_message" if event == "turn-end" else "additional_context"
        return f'{{"{key}": {quoted(text)}}}\n'

    def folder(self, place: Place) -> str:
        return place.path(".cursor")

    def changes(self, place: Place) -> list[Change]:
        from agentm_hosts.place import SET, Change, Entry

        found = []
        if place.with_hooks:
            hooks = [
                Entry(("hooks", native), {"command": self.hook_command(place, event), "timeout": _SECONDS})
                for event, native in self.hooks.items()
            ]
            entries = (Entry(("version",), 1, SET), *hooks)
            found.append(Change(os.path.join(self.folder(place), "hooks.json"), "json", entries))
        if place.with_mcp:
            server = {"command": place.launcher, "args": ["mcp"]}
            file = os.path.join(self.folder(place), "mcp.json")
            found.append(Change(file, "json", (Entry(("mcpServers", "agentm"), server, SET),)))
        return found


ADAPTER = Cursor()
