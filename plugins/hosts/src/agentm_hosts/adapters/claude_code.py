"""Claude Code."""

from __future__ import annotations

import os

from agentm_hosts.adapter import PROMISED, TOLD, HostAdapter, newest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from agentm_hosts.place import Change, Place

_MANAGED = ("/etc/claude-code/managed-settings.json", "/Library/Application Support/ClaudeCode/managed-settings.json")
_SECONDS = 5


class ClaudeCode(HostAdapter):
    name = "claude-code"
    title = "Claude Code"
    proof = PROMISED
    writes_down = TOLD
    hooks: Mapping[str, str] = {
        "session-start": "SessionStart",
        "prompt": "UserPromptSubmit",
        "pre-compact": "PreCompact",
        "turn-end": "Stop",
        "session-end": "SessionEnd",
    }
    programs = ("claude",)
    tool_name = "mcp__agentm__{tool}"

    def passes_on(self, event: str) -> bool:
        return event in ("session-start", "prompt", "pre-compact", "turn-end")

    def wrap(self, event: str, text: str) -> str:
        if event == "pre-compact":
            return f"{text}\n"  # it goes to the summariser as it is, JSON too
        if event == "turn-end":
            from agentm_hosts.adapter import quoted

            return f'{{"decision": "block", "reason": {quoted(text)}}}\n'
        return super().wrap(event, text)

    def folder(self, place: Place) -> str:
        return place.folder("CLAUDE_CONFIG_DIR", ".claude")

    def changes(self, place: Place) -> list[Change]:
        from agentm_hosts.place import SET, Change, Entry

        found = []
        if place.with_hooks:
            hooks = [
                Entry(("hooks", native), {"hooks": [self._handler(place, event)]})
                for event, native in self.hooks.items()
            ]
            disables = "Claude Code reads no settings file with comments in it: all of its hooks are off"
            file = os.path.join(self.folder(place), "settings.json")
            found.append(Change(file, "json", tuple(hooks), comments_disable=disables))
        if place.with_mcp:
            server = {"type": "stdio", "command": place.launcher, "args": ["mcp"], "alwaysLoad": True}
            found.append(Change(self._servers(place), "json", (Entry(("mcpServers", "agentm"), server, SET),)))
        return found

    def _handler(self, place: Place, event: str) -> dict[str, Any]:
        """Started without a shell. Nothing is matched: it runs when a session starts, resumes or was compacted."""
        arguments = ["hook", event, "--host", self.name]
        return {"type": "command", "command": place.launcher, "args": arguments, "timeout": _SECONDS}

    def _servers(self, place: Place) -> str:
        if place.project is not None:
            return place.path(".mcp.json")
        moved = place.environ.get("CLAUDE_CONFIG_DIR", "")
        return os.path.join(moved if os.path.isabs(moved) else place.home, ".claude.json")

    def open_steps(self, place: Place) -> list[str]:
        from agentm_hosts.files.reading import read_settings

        settings = read_settings(os.path.join(self.folder(place), "settings.json"))
        is_off = settings.get("disableAllHooks") is True
        return ["its settings have disableAllHooks: no hook runs until you remove that"] if is_off else []

    def advice(self, place: Place) -> list[str]:
        from agentm_hosts.files.reading import read_settings

        managed = [path for path in _MANAGED if os.path.exists(path)]
        found = [f"{path} is your organisation's and may switch hooks or servers off" for path in managed]
        permissions = read_settings(os.path.join(self.folder(place), "settings.json")).get("permissions")
        allowed = permissions.get("allow") if isinstance(permissions, dict) else None
        is_allowed = any(str(rule).startswith("mcp__agentm") for rule in allowed or ())
        if place.with_mcp and not is_allowed:
            found.append(
                "it asks before it uses a memory tool, and refuses where nobody can be asked (`claude -p`); to allow "
                'them, in its settings.json: "permissions": {"allow": ["mcp__agentm"]}'
            )
        return found

    def last_session(self, folder: str) -> float:
        return newest(os.path.join(folder, "projects"), 1)[0]

    def contexts(self, entry: Mapping[str, Any]) -> Iterator[str]:
        """Its log also has `hook_success` for output that was never passed on: that does not count."""
        attachment = entry.get("attachment")
        if entry.get("type") != "attachment" or not isinstance(attachment, dict):
            return
        if attachment.get("type") == "hook_additional_context":
            content = attachment.get("content")
            yield from (part for part in content if isinstance(part, str)) if isinstance(content, list) else ()

    def is_about_context(self, line: bytes) -> bool:
        return b"hook_additional_context" in line and super().is_about_context(line)


ADAPTER = ClaudeCode()
