"""GitHub Copilot CLI."""

from __future__ import annotations

import os

from agentm_hosts.adapter import BEST_EFFORT, HostAdapter, quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentm_hosts.place import Change, Place

_SECONDS = 5


class Copilot(HostAdapter):
    name = "copilot"
    title = "GitHub Copilot CLI"
    proof = BEST_EFFORT
    hooks: Mapping[str, str] = {
        "session-start": "sessionStart",
        "prompt": "userPromptSubmitted",
        "turn-end": "agentStop",
        "session-end": "sessionEnd",
    }
    programs = ("copilot",)
    tool_name = "agentm-{tool}"

    def wrap(self, event: str, text: str) -> str:
        """It takes context at the top level only."""
        return f'{{"additionalContext": {quoted(text)}}}\n'

    def folder(self, place: Place) -> str:
        return place.path(".github") if place.project is not None else place.folder("COPILOT_HOME", ".copilot")

    def changes(self, place: Place) -> list[Change]:
        import json

        from agentm_hosts.place import SET, Change, Entry

        found = []
        if place.with_hooks:
            lines = {
                native: [{"type": "command", "bash": self.hook_command(place, event), "timeoutSec": _SECONDS}]
                for event, native in self.hooks.items()
            }
            text = json.dumps({"version": 1, "hooks": lines}, indent=2) + "\n"
            found.append(Change(os.path.join(self.folder(place), "hooks", "agentm.json"), "text", text=text))
        if place.with_mcp and place.project is None:
            server = {"type": "local", "command": place.launcher, "args": ["mcp"], "tools": ["*"]}
            file = os.path.join(self.folder(place), "mcp-config.json")
            found.append(Change(file, "json", (Entry(("mcpServers", "agentm"), server, SET),)))
        return found


ADAPTER = Copilot()
