"""Encryption for any store: each note is sealed on this device before the store sees it."""

__version__ = "0.2.0"
