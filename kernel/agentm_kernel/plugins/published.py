"""Which distribution brings what, for hints to whoever has not installed it yet.

A plugin that is not there has no metadata to ask. A test holds this table equal to what the plugins that are released
with the kernel say of themselves.
"""

from __future__ import annotations

import os
import sys

from agentm_kernel.device.installed import BACKENDS, COMMANDS, NOTES, VERIFIERS, WRAPPERS

_BROUGHT: dict[str, dict[str, tuple[str, ...]]] = {
    "agentm-bucket": {BACKENDS: ("bucket",), COMMANDS: ("bucket",)},
    "agentm-checkpoint": {COMMANDS: ("checkpoint",), WRAPPERS: ("integrity",)},
    "agentm-device-local": {BACKENDS: ("device-local",)},
    "agentm-devkit": {COMMANDS: ("plugins check", "plugins new"), VERIFIERS: ("plugins",)},
    "agentm-encryption": {COMMANDS: ("encryption",), WRAPPERS: ("encryption",)},
    "agentm-git": {BACKENDS: ("git",), COMMANDS: ("git",)},
    "agentm-hosts": {COMMANDS: ("connect", "disconnect", "hosts", "log", "setup")},
    "agentm-import": {
        COMMANDS: ("export", "import", "migrate", "project merge", "project rename", "project use-store")
    },
    "agentm-mcp": {COMMANDS: ("mcp",)},
    "agentm-obsidian-vault": {BACKENDS: ("vault",), COMMANDS: ("personal", "vault")},
    "agentm-prove": {COMMANDS: ("prove",)},
    "agentm-recall": {
        COMMANDS: ("documenter-context", "forget", "inbox", "notes", "reindex", "save", "search"),
        NOTES: ("notes",),
    },
    "agentm-storage-policy": {BACKENDS: ("policy",), COMMANDS: ("policy",), WRAPPERS: ("policy",)},
    "agentm-view": {COMMANDS: ("view",)},
}

PUBLISHED: dict[str, dict[str, str]] = {}  # by entry-point group and name, the distribution that brings it
for _distribution, _groups in _BROUGHT.items():
    for _group, _names in _groups.items():
        PUBLISHED.setdefault(_group, {}).update(dict.fromkeys(_names, _distribution))


def how_to_install(group: str, name: str) -> str | None:
    """What to run to have the plugin `name` of `group`, if it is one of ours."""
    distribution = PUBLISHED.get(group, {}).get(name)
    return f"run `{install_command(distribution)}`" if distribution else None


def install_command(distribution: str, prefix: str = sys.prefix) -> str:
    """The command that adds a distribution to the environment that runs now: of uv, of pipx, or any other.

    Both keep a note in the environments that they made. uv forgets what was added before unless it is named again.
    """
    try:
        if os.path.exists(receipt := os.path.join(prefix, "uv-receipt.toml")):
            import tomllib

            with open(receipt, "rb") as file:
                tool, *added = (str(one["name"]) for one in tomllib.load(file)["tool"]["requirements"])
            further = (f"--with {name}" for name in dict.fromkeys([*added, distribution]))
            return " ".join(["uv tool install", tool, *further])
        if os.path.exists(metadata := os.path.join(prefix, "pipx_metadata.json")):
            import json

            with open(metadata, encoding="utf-8") as text:
                return f"pipx inject {json.load(text)['main_package']['package']} {distribution}"
    except (OSError, ValueError, KeyError, TypeError):
        pass  # a note that cannot be understood tells nothing
    return f"pip install {distribution}"
