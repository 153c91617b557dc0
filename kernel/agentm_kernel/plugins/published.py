"""Which distribution brings what, for hints to whoever has not installed it yet.

A plugin that is not there has no metadata to ask. A test holds this table equal to what the plugins that are released
with the kernel say of themselves.
"""

from __future__ import annotations

import os
import sys

from agentm_kernel.device.installed import BACKENDS, COMMANDS, NOTES, VERIFIERS, WRAPPERS

PUBLISHED = {
    BACKENDS: {
        "bucket": "agentm-bucket",
        "device-local": "agentm-device-local",
        "git": "agentm-git",
        "policy": "agentm-storage-policy",
        "vault": "agentm-obsidian-vault",
    },
    COMMANDS: {
        "bucket": "agentm-bucket",
        "checkpoint": "agentm-checkpoint",
        "connect": "agentm-hosts",
        "disconnect": "agentm-hosts",
        "documenter-context": "agentm-recall",
        "encryption": "agentm-encryption",
        "export": "agentm-import",
        "forget": "agentm-recall",
        "git": "agentm-git",
        "import": "agentm-import",
        "hosts": "agentm-hosts",
        "inbox": "agentm-recall",
        "log": "agentm-hosts",
        "mcp": "agentm-mcp",
        "migrate": "agentm-import",
        "notes": "agentm-recall",
        "personal": "agentm-obsidian-vault",
        "plugins check": "agentm-devkit",
        "plugins new": "agentm-devkit",
        "policy": "agentm-storage-policy",
        "project merge": "agentm-import",
        "project rename": "agentm-import",
        "project use-store": "agentm-import",
        "prove": "agentm-prove",
        "reindex": "agentm-recall",
        "save": "agentm-recall",
        "search": "agentm-recall",
        "setup": "agentm-hosts",
        "vault": "agentm-obsidian-vault",
        "view": "agentm-view",
    },
    NOTES: {"notes": "agentm-recall"},
    VERIFIERS: {"plugins": "agentm-devkit"},
    WRAPPERS: {
        "encryption": "agentm-encryption",
        "integrity": "agentm-checkpoint",
        "policy": "agentm-storage-policy",
    },
}


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
            tool, *added = _named_in_receipt(receipt)
            return " ".join(
                ["uv tool install", tool, *(f"--with {name}" for name in dict.fromkeys([*added, distribution]))]
            )
        if os.path.exists(metadata := os.path.join(prefix, "pipx_metadata.json")):
            return f"pipx inject {_main_package(metadata)} {distribution}"
    except (OSError, ValueError, KeyError, TypeError):
        pass  # a note that cannot be understood tells nothing
    return f"pip install {distribution}"


def _named_in_receipt(path: str) -> list[str]:
    import tomllib

    with open(path, "rb") as file:
        return [str(requirement["name"]) for requirement in tomllib.load(file)["tool"]["requirements"]]


def _main_package(path: str) -> str:
    import json

    with open(path, encoding="utf-8") as file:
        return str(json.load(file)["main_package"]["package"])
