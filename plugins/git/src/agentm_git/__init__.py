"""A store of agentm in a git repository: a team's memory, with history."""

from agentm_git.backend import GitStore

__all__ = ["GitStore"]

__version__ = "0.2.0"
