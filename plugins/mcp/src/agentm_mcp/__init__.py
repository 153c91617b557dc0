"""Memory tools for agents: an MCP server on the standard library, and adapters for agent frameworks."""

__version__ = "0.2.0"
