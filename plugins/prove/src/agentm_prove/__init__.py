"""`agentm prove`: try on this device what agentm promises, and say what came of it."""

__version__ = "0.2.0"
