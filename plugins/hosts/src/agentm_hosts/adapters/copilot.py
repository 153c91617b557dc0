"""GitHub Copilot CLI."""

from __future__ import annotations

import os

from agentm_hosts.adapter import BEST_EFFORT, HostAdapter, newest, quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from agentm_hosts.place import Change, Place

_SECONDS = 5
_TRANSCRIPT = "events.jsonl"
_REMINDER = "<system_reminder>"


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
    writes_down = ("prompt",)
    """Of what hooks say when a session starts it logs only that they said it."""
    starts_at_once = True

    def wrap(self, event: str, text: str) -> str:
        """It takes context at the top level only."""
        return f'{{"additionalContext": {quoted(text)}}}\n'

    def folder(self, place: Place) -> str:
        return place.path(".github") if place.project is not None else place.folder("COPILOT_HOME", ".copilot")

    def hooks_text(self, launcher: str) -> str:
        """A whole file of hooks."""
        import json

        lines = {
            native: [
                {"type": "command", "bash": f"{launcher} hook {event} --host {self.name}", "timeoutSec": _SECONDS}
            ]
            for event, native in self.hooks.items()
        }
        return json.dumps({"version": 1, "hooks": lines}, indent=2) + "\n"

    def changes(self, place: Place) -> list[Change]:
        from agentm_hosts.place import SET, Change, Entry

        found = []
        if place.with_hooks:
            text = self.hooks_text(place.quoted_launcher)
            found.append(Change(os.path.join(self.folder(place), "hooks", "agentm.json"), "text", text=text))
        if place.with_mcp and place.project is None:
            server = {"type": "local", "command": place.launcher, "args": ["mcp"], "tools": ["*"]}
            file = os.path.join(self.folder(place), "mcp-config.json")
            found.append(Change(file, "json", (Entry(("mcpServers", "agentm"), server, SET),)))
        return found

    def find_transcript(self, folder: str, session: str) -> str:
        if not session or session != os.path.basename(session):
            return ""
        return os.path.join(folder, "session-state", session, _TRANSCRIPT)

    def last_session(self, folder: str) -> float:
        return newest(os.path.join(folder, "session-state"), 1, _TRANSCRIPT)[0]

    def contexts(self, entry: Mapping[str, Any]) -> Iterator[str]:
        """A user's message as it went to the model, behind what the user said."""
        data = entry.get("data")
        if entry.get("type") != "user.message" or not isinstance(data, dict):
            return
        said, sent = data.get("content"), data.get("transformedContent")
        if isinstance(said, str) and isinstance(sent, str):
            yield sent.rpartition(said)[2].partition(_REMINDER)[2]

    def is_about_context(self, line: bytes) -> bool:
        return b"transformedContent" in line and super().is_about_context(line)


ADAPTER = Copilot()
