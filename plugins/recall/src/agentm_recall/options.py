"""What `plugins.recall` may hold."""

from __future__ import annotations

from agentm_kernel.plugin import Option

OPTIONS = (
    Option(
        "share_personal",
        "flag",
        "personal notes may go to a default store that lies at a remote: nobody else has it",
        "false",
    ),
)
