"""What `plugins.encryption` may hold."""

from __future__ import annotations

from agentm_kernel.plugin import Option

OPTIONS = (
    Option(
        "passphrase_command",
        "any",
        "a program whose output unlocks this device's identity, where that has a passphrase",
        "asked for on the terminal",
    ),
)
