"""Readers of other tools' memories, one module each; the entry points of `agentm.importers` name them."""
