"""For authors of agentm plugins: the conformance kit, the architecture gates, and `agentm plugins check|new`."""

__version__ = "0.2.0"
