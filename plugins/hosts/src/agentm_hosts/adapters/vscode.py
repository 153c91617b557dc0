"""VS Code: through a plugin folder that its chat reads."""

from __future__ import annotations

import os
import sys

from agentm_hosts.adapter import UNPROVEN, HostAdapter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentm_hosts.place import Change, Place


class VSCode(HostAdapter):
    name = "vscode"
    title = "VS Code"
    proof = UNPROVEN
    hooks: Mapping[str, str] = {
        "session-start": "SessionStart",
        "prompt": "UserPromptSubmit",
        "pre-compact": "PreCompact",
        "turn-end": "Stop",
    }
    programs = ("code",)

    def folder(self, place: Place) -> str:
        if sys.platform == "darwin":
            return os.path.join(place.home, "Library", "Application Support", "Code", "User")
        return os.path.join(place.home, ".config", "Code", "User")

    def changes(self, place: Place) -> list[Change]:
        """The folder is ours and for the user; a project has nothing of it."""
        if place.project is not None:
            return []
        from agentm_hosts.folder import plugin_files
        from agentm_hosts.place import SET, Change, Entry

        folder = os.path.join(place.state_dir, "vscode-plugin")
        files = plugin_files(place.launcher, self.name, hooks=place.with_hooks, mcp=place.with_mcp)
        found = [Change(os.path.join(folder, name), "text", text=text) for name, text in files.items()]
        settings = os.path.join(self.folder(place), "settings.json")
        found.append(Change(settings, "jsonc", (Entry(("chat.pluginLocations", folder), True, SET),)))
        return found


ADAPTER = VSCode()
