"""A store of agentm in a folder that a sync tool replicates: an Obsidian vault, say."""

from agentm_obsidian_vault.backend import VaultBackend

__all__ = ["VaultBackend"]

__version__ = "0.2.0"
