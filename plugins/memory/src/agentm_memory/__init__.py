"""No code: this distribution only requires the others, and exposes the command `agentm`."""

__version__ = "0.2.0"
