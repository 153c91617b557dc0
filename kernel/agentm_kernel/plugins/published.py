"""Which distribution brings what, for hints to whoever has not installed it yet.

A plugin that is not there has no metadata to ask. A test holds this table equal to what the plugins that are released
with the kernel say of themselves.
"""

from __future__ import annotations

from agentm_kernel.device.installed import BACKENDS, COMMANDS, VERIFIERS, WRAPPERS

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
        "documenter-context": "agentm-recall",
        "forget": "agentm-recall",
        "git": "agentm-git",
        "notes": "agentm-recall",
        "personal": "agentm-obsidian-vault",
        "plugins check": "agentm-devkit",
        "plugins new": "agentm-devkit",
        "policy": "agentm-storage-policy",
        "prove": "agentm-prove",
        "reindex": "agentm-recall",
        "save": "agentm-recall",
        "search": "agentm-recall",
        "vault": "agentm-obsidian-vault",
    },
    VERIFIERS: {"plugins": "agentm-devkit"},
    WRAPPERS: {"integrity": "agentm-checkpoint", "policy": "agentm-storage-policy"},
}


def how_to_install(group: str, name: str) -> str | None:
    """What to run to have the plugin `name` of `group`, if it is one of ours."""
    distribution = PUBLISHED.get(group, {}).get(name)
    return f"run `pip install {distribution}`" if distribution else None
