"""`agentm mcp` for whoever asks for its help; without options the kernel starts the server before importing click."""

from __future__ import annotations

import click

from agentm_kernel.command import current_device
from agentm_mcp.server import serve


@click.command("mcp")
def command() -> int:
    """Serve the memory tools to an agent host: MCP on standard input and output.

    Agent hosts start this themselves once it is in their configuration; `agentm connect` writes it there. The project
    is the one of $CLAUDE_PROJECT_DIR, else of the folder that the host has open, else of this directory.
    """
    return serve(current_device())
