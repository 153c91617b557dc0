"""Checkpoints of a store as Merkle trees, and a guard that compares what is read with what was known to be good."""

__version__ = "0.2.0"
