"""What `plugins.device-local` may hold."""

from __future__ import annotations

from agentm_kernel.plugin import Option

OPTIONS = (
    Option("root", "path", "the folder of the notes; $AGENTM_DEVICE_LOCAL_ROOT beats it", "~/.agentm/memory"),
    Option("size_limit", "number", "how large a note may be, in bytes", "16 MB"),
)
