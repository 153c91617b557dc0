"""What `plugins.hosts` may hold."""

from __future__ import annotations

from agentm_kernel.plugin import Option

OPTIONS = (
    Option("prompt", "flag", "whether an agent is told what answers a prompt, when the prompt is sent", "true"),
    Option("read_transcripts", "flag", "whether transcripts of agent hosts are read to see what arrived", "true"),
    Option("remind", "flag", "whether an agent is asked once per session to save what it decided", "false"),
)
