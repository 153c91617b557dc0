"""Bring memories in from other tools, and leave with everything: importers and exporters."""

__version__ = "0.2.0"
