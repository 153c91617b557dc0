"""Gemini CLI."""

from __future__ import annotations

import os

from agentm_hosts.adapter import PROMISED, TOLD, HostAdapter, newest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from agentm_hosts.place import Change, Place

_MILLISECONDS = 5_000
_OPENING, _CLOSING = "<hook_context>", "</hook_context>"


class Gemini(HostAdapter):
    name = "gemini"
    title = "Gemini CLI"
    proof = PROMISED
    writes_down = TOLD
    hooks: Mapping[str, str] = {
        "session-start": "SessionStart",
        "prompt": "BeforeAgent",
        "turn-end": "AfterAgent",
        "session-end": "SessionEnd",
    }
    programs = ("gemini",)
    tool_name = "mcp_agentm_{tool}"

    def prompt(self, payload: Mapping[str, Any]) -> str:
        """Its prompt begins with what hooks said when the session started: that is no question."""
        text = super().prompt(payload)
        while _OPENING in text:
            before, _, rest = text.partition(_OPENING)
            text = before + rest.partition(_CLOSING)[2]
        return text

    def passes_on(self, event: str) -> bool:
        return event in ("session-start", "prompt", "turn-end")

    def wrap(self, event: str, text: str) -> str:
        if event == "turn-end":
            from agentm_hosts.adapter import quoted

            return f'{{"decision": "block", "reason": {quoted(text)}}}\n'
        return super().wrap(event, text)

    def folder(self, place: Place) -> str:
        return place.path(".gemini")

    def hook_command(self, place: Place, event: str) -> str:
        """A program that is missing would block every prompt there: the line looks first."""
        program = place.quoted_launcher
        there = f"test -x {program}" if os.path.isabs(place.launcher) else f"command -v {program} >/dev/null"
        return f"{there} && {super().hook_command(place, event)} || exit 0"

    def changes(self, place: Place) -> list[Change]:
        from agentm_hosts.place import SET, Change, Entry

        entries = []
        if place.with_hooks:
            entries += [
                Entry(
                    ("hooks", native),
                    {
                        "hooks": [
                            {"type": "command", "command": self.hook_command(place, event), "timeout": _MILLISECONDS}
                        ]
                    },
                )
                for event, native in self.hooks.items()
            ]
        if place.with_mcp:
            server = {"command": place.launcher, "args": ["mcp"], "trust": True}
            entries.append(Entry(("mcpServers", "agentm"), server, SET))
        file = os.path.join(self.folder(place), "settings.json")
        return [Change(file, "jsonc", tuple(entries))] if entries else []

    def open_steps(self, place: Place) -> list[str]:
        from agentm_hosts.files.reading import read_settings

        trusted = read_settings(os.path.join(place.home, ".gemini", "trustedFolders.json"))
        root = place.project or os.getcwd()
        if not any(level != "DO_NOT_TRUST" and _is_below(root, folder) for folder, level in trusted.items()):
            return [f"it runs nothing in a folder that you have not trusted: start `gemini` in {root} and trust it"]
        return []

    def last_session(self, folder: str) -> float:
        try:
            projects = os.listdir(os.path.join(folder, "tmp"))
        except OSError:
            return 0.0
        return max((newest(os.path.join(folder, "tmp", name, "chats"), 0)[0] for name in projects), default=0.0)

    def contexts(self, entry: Mapping[str, Any]) -> Iterator[str]:
        """In the user's own message, before what the user said."""
        if entry.get("type") != "user":
            return
        content = entry.get("content")
        parts = [content] if isinstance(content, str) else content if isinstance(content, list) else []
        for part in parts:
            text = part.get("text") if isinstance(part, dict) else part
            if isinstance(text, str) and text.startswith(_OPENING):
                yield text.partition(_OPENING)[2].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")

    def is_about_context(self, line: bytes) -> bool:
        return b"hook_context" in line and super().is_about_context(line)


def _is_below(path: str, folder: str) -> bool:
    return os.path.realpath(path) == os.path.realpath(folder) or os.path.realpath(path).startswith(
        os.path.join(os.path.realpath(folder), "")
    )


ADAPTER = Gemini()
