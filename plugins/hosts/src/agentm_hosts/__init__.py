"""Agent hosts: connected by one command, and seen to receive what they are told."""

__version__ = "0.2.0"
