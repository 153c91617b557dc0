"""Codex."""

from __future__ import annotations

import os

from agentm_hosts.adapter import PROMISED, TOLD, HostAdapter, newest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from agentm_hosts.place import Change, Place

_SECONDS = 5


class Codex(HostAdapter):
    name = "codex"
    title = "Codex"
    proof = PROMISED
    writes_down = TOLD
    limit = 9_000
    """It passes 2,500 tokens on and puts more into a file."""
    hooks: Mapping[str, str] = {
        "session-start": "SessionStart",
        "prompt": "UserPromptSubmit",
        "pre-compact": "PreCompact",
        "turn-end": "Stop",
        "session-end": "SessionEnd",
    }
    programs = ("codex",)
    tool_name = "mcp__agentm.{tool}"

    def passes_on(self, event: str) -> bool:
        return event in ("session-start", "prompt", "turn-end")

    def wrap(self, event: str, text: str) -> str:
        if event == "turn-end":
            from agentm_hosts.adapter import quoted

            return f'{{"decision": "block", "reason": {quoted(text)}}}\n'
        return super().wrap(event, text)

    def folder(self, place: Place) -> str:
        return place.folder("CODEX_HOME", ".codex")

    def hooks_file(self, place: Place) -> str:
        return os.path.join(self.folder(place), "hooks.json")

    def seconds(self, event: str) -> int:
        """Codex allows no more than three at the end of a session."""
        return 3 if event == "session-end" else _SECONDS

    def changes(self, place: Place) -> list[Change]:
        from agentm_hosts.place import SET, Change, Entry

        found = []
        if place.with_hooks:
            hooks = [
                Entry(
                    ("hooks", native),
                    {
                        "hooks": [
                            {
                                "type": "command",
                                "command": self.hook_command(place, event),
                                "timeout": self.seconds(event),
                            }
                        ]
                    },
                )
                for event, native in self.hooks.items()
            ]
            found.append(Change(self.hooks_file(place), "json", tuple(hooks)))
        if place.with_mcp:
            server = {"command": place.launcher, "args": ["mcp"]}
            file = os.path.join(self.folder(place), "config.toml")
            found.append(Change(file, "toml", (Entry(("mcp_servers", "agentm"), server, SET),)))
        return found

    def open_steps(self, place: Place) -> list[str]:
        from agentm_hosts.codex_trust import untrusted_hooks

        steps = []
        if place.with_hooks and untrusted_hooks(self, place):
            steps.append(
                "it skips our hooks until you trust them: start `codex`, open /hooks and trust the agentm lines"
            )
        if place.project is not None:
            steps.append("its shell may not find a bare `agentm`; connect it for all projects if it does not")
        elif not place.with_mcp and not self._can_write(place):
            steps.append(
                "its sandbox keeps `agentm save` from writing; to allow it, in config.toml: "
                f'[sandbox_workspace_write] writable_roots = ["{os.path.join(place.home, ".agentm")}"]'
            )
        return steps

    def _can_write(self, place: Place) -> bool:
        from agentm_hosts.files.reading import read_toml

        sandbox = read_toml(os.path.join(self.folder(place), "config.toml")).get("sandbox_workspace_write")
        roots = sandbox.get("writable_roots") if isinstance(sandbox, dict) else None
        return isinstance(roots, list) and any(
            str(root).startswith(os.path.join(place.home, ".agentm")) for root in roots
        )

    def find_transcript(self, folder: str, session: str) -> str:
        return newest(os.path.join(folder, "sessions"), 3, f"{session}.jsonl")[1] if session else ""

    def last_session(self, folder: str) -> float:
        return newest(os.path.join(folder, "sessions"), 3)[0]

    def contexts(self, entry: Mapping[str, Any]) -> Iterator[str]:
        payload = entry.get("payload")
        if (
            entry.get("type") != "response_item"
            or not isinstance(payload, dict)
            or payload.get("role") != "developer"
        ):
            return
        content = payload.get("content")
        for part in content if isinstance(content, list) else ():
            if isinstance(part, dict) and isinstance(part.get("text"), str):
                yield part["text"]

    def is_about_context(self, line: bytes) -> bool:
        return b'"developer"' in line and super().is_about_context(line)


ADAPTER = Codex()
