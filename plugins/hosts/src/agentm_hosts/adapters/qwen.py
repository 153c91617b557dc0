"""Qwen Code. Without a terminal it starts no session-start hook; the one for prompts works."""

from __future__ import annotations

import os

from agentm_hosts.adapter import BEST_EFFORT, HostAdapter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentm_hosts.place import Change, Place


class Qwen(HostAdapter):
    name = "qwen"
    title = "Qwen Code"
    proof = BEST_EFFORT
    hooks: Mapping[str, str] = {
        "session-start": "SessionStart",
        "prompt": "UserPromptSubmit",
        "turn-end": "Stop",
        "session-end": "SessionEnd",
    }
    programs = ("qwen",)
    tool_name = "mcp__agentm__{tool}"

    def folder(self, place: Place) -> str:
        return place.path(".qwen")

    def changes(self, place: Place) -> list[Change]:
        from agentm_hosts.place import SET, Change, Entry

        entries = []
        if place.with_hooks:
            entries += [
                Entry(("hooks", native), {"hooks": [{"type": "command", "command": self.hook_command(place, event)}]})
                for event, native in self.hooks.items()
            ]
        if place.with_mcp:
            server = {"command": place.launcher, "args": ["mcp"], "trust": True}
            entries.append(Entry(("mcpServers", "agentm"), server, SET))
        file = os.path.join(self.folder(place), "settings.json")
        return [Change(file, "jsonc", tuple(entries))] if entries else []


ADAPTER = Qwen()
