"""One folder that agent hosts install as a plugin: Agent Plugins 1.0, and beside it what each host wants of its own.

It is meant for a repository, so it names `agentm` bare: whoever installs it has it on the search path.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from agentm_hosts import __version__
from agentm_kernel.plugin import AgentmError, atomic_write

if TYPE_CHECKING:
    from collections.abc import Mapping

_NAME = "agentm"
_ABOUT = "A memory for coding agents that does not lose or misplace a note"
_SCHEMA = "https://agent-plugins.org/schema/1.0/plugin.json"

_SKILL = """\
---
name: memory
description: Save decisions, facts and known problems of this project so that later sessions have them, and look up \
what earlier sessions learned. Use when something was decided, found out or asked that the code does not show.
---

# Memory

**Save** when a decision is taken and why, when a cause was found that took long, when the user states a preference or
a rule, when a question stays open. One fact for each note, in one or two sentences, with the reason.

    agentm save --kind decision --slug short-name      # the text on standard input

Kinds: decision, known-issue, open-question, convention, fact, reference.

**Look up** before you decide something that may have been decided, and when you meet an error that may be known.

    agentm search WORDS

Where the tools `memory_save` and `memory_search` are offered, use them instead of the commands. Never save a password
or a key: it is refused. Never save what the code or the history of the repository says anyway.
"""

_README = """\
# agentm

Connects an agent to agentm (the distribution `agentm-memory`), a memory that does not lose
or misplace a note.

1. `uv tool install agentm-memory` (or `pipx install agentm-memory`), so that `agentm` is on the search path.
2. Install this folder:

| host | command |
|---|---|
| Claude Code | `claude plugin marketplace add DIR`, then `claude plugin install agentm@agentm` |
| Codex | `codex plugin marketplace add DIR`, then `codex plugin add agentm@agentm`, then trust the hooks |
| Copilot CLI | `copilot plugin marketplace add DIR`, then `copilot plugin install agentm@agentm` |
| Qwen Code | `qwen extensions install DIR/plugins/agentm --consent` |
| Gemini CLI | `gemini extensions link --consent DIR/gemini` |

What it does: when a session starts, and at each prompt, the agent is told what this project's memory holds; at the
end of a turn what it saved is sent to a store elsewhere, if there is one. `agentm connect` does the same without a
plugin.
"""

_LICENSE = """\
Apache License, Version 2.0

Licensed under the Apache License, Version 2.0 (the "License"); you may not use these files except in compliance with
the License. You may obtain a copy of the License at https://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software distributed under the License is distributed on an
"AS IS" BASIS, WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the
specific language governing permissions and limitations under the License.
"""


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _manifest() -> dict[str, Any]:
    return {
        "name": _NAME,
        "version": __version__,
        "description": _ABOUT,
        "author": {"name": "agentm"},
        "license": "Apache-2.0",
        "keywords": ["memory", "notes"],
    }


def _hooks(events: Mapping[str, str], host: str, launcher: str) -> str:
    """No time limit is in it: one host counts seconds, the next milliseconds."""
    return _json(
        {
            "hooks": {
                native: [{"hooks": [{"type": "command", "command": f"{launcher} hook {event} --host {host}"}]}]
                for event, native in events.items()
            }
        }
    )


def _files_of_others() -> dict[str, str]:
    """The hooks of hosts that look elsewhere than Claude Code: each speaks for itself, or it would be answered in an
    envelope that it does not read. Codex's manifest names its file; Copilot CLI takes the one at the top first.
    """
    from agentm_hosts.adapters.codex import ADAPTER as CODEX
    from agentm_hosts.adapters.copilot import ADAPTER as COPILOT

    return {
        "hooks/codex.json": _hooks(CODEX.hooks, CODEX.name, _NAME),
        "hooks.json": COPILOT.hooks_text(_NAME),
    }


def plugin_files(launcher: str, host: str, *, hooks: bool = True, mcp: bool = True) -> dict[str, str]:
    """The files of the plugin itself, by their paths in it."""
    from agentm_hosts.adapters.claude_code import ADAPTER

    server = {"command": launcher, "args": ["mcp"]}
    files = {
        "plugin.json": _json({"$schema": _SCHEMA, **_manifest()}),
        ".claude-plugin/plugin.json": _json(_manifest()),
        ".codex-plugin/plugin.json": _json({**_manifest(), "skills": "./skills/", "hooks": "./hooks/codex.json"}),
        "skills/memory/SKILL.md": _SKILL,
        "README.md": _README,
        "LICENSE": _LICENSE,
    }
    if hooks:
        files["hooks/hooks.json"] = _hooks(ADAPTER.hooks, host, launcher)
    if mcp:
        files["mcp.json"] = _json({"mcpServers": {_NAME: {"type": "stdio", **server, "env": {}}}})
        files[".mcp.json"] = _json({"mcpServers": {_NAME: server}})
    return files


def _gemini_files(*, mcp: bool) -> dict[str, str]:
    from agentm_hosts.adapters.gemini import ADAPTER
    from agentm_hosts.place import Place

    place = Place("", {}, _NAME, "", project="")
    manifest: dict[str, Any] = {"name": _NAME, "version": __version__, "description": _ABOUT}
    if mcp:
        manifest["mcpServers"] = {_NAME: {"command": _NAME, "args": ["mcp"]}}
    commands = {
        native: [{"hooks": [{"type": "command", "command": ADAPTER.hook_command(place, event)}]}]
        for event, native in ADAPTER.hooks.items()
    }
    return {
        "gemini-extension.json": _json({**manifest, "contextFileName": "GEMINI.md"}),
        "GEMINI.md": _SKILL.partition("---\n\n")[2],
        "hooks/hooks.json": _json({"hooks": commands}),
        "skills/memory/SKILL.md": _SKILL,
        "LICENSE": _LICENSE,
    }


def write_folder(directory: str, *, mcp: bool = True) -> list[str]:
    """Write everything below `directory`, which is new or empty, or has an older one of ours in it."""
    if os.path.isdir(directory) and os.listdir(directory) and not _is_ours(directory):
        raise AgentmError(f"{directory} is not empty", hint="nothing was written; name a new folder")
    inside = "plugins/agentm"
    plugin = plugin_files(_NAME, "claude-code", mcp=mcp) | _files_of_others()
    files = {f"{inside}/{name}": text for name, text in plugin.items()}
    files |= {f"gemini/{name}": text for name, text in _gemini_files(mcp=mcp).items()}
    files[".claude-plugin/marketplace.json"] = _json(
        {
            "name": _NAME,
            "owner": {"name": "agentm"},
            "metadata": {"description": _ABOUT},
            "plugins": [{"name": _NAME, "source": f"./{inside}", "description": _ABOUT}],
        }
    )
    files[".agents/plugins/marketplace.json"] = _json(
        {
            "name": _NAME,
            "interface": {"displayName": _NAME},
            "plugins": [
                {
                    "name": _NAME,
                    "source": {"source": "local", "path": f"./{inside}"},
                    "policy": {"installation": "AVAILABLE", "authentication": "ON_INSTALL"},
                    "category": "Productivity",
                }
            ],
        }
    )
    files["README.md"], files["LICENSE"] = _README, _LICENSE
    return [atomic_write(os.path.join(directory, *name.split("/")), text) for name, text in sorted(files.items())]


def _is_ours(directory: str) -> bool:
    return os.path.isfile(os.path.join(directory, "plugins", "agentm", "plugin.json"))
