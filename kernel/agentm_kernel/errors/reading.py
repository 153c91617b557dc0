"""What looking something up can end with, in the configuration or in a store."""

from __future__ import annotations

from agentm_kernel.errors import AgentmError


class StorageError(AgentmError):
    """Something about the content of a store."""


class NotFoundError(StorageError, FileNotFoundError):
    """Nothing is stored at the locator. Raised only when absence was seen, never when looking failed."""


class StorageIOError(StorageError, OSError):
    """The store's medium failed or refused: every operating-system error that a backend meets."""

    def __init__(self, message: str, *, hint: str | None = None, errno: int | None = None) -> None:
        super().__init__(message, hint=hint)
        self.errno = errno


class InvalidLocatorError(AgentmError, ValueError, TypeError):
    """A key that no backend may hold."""


class StorageSelectionError(AgentmError, RuntimeError):
    """The store that was asked for cannot be had. There is never a second choice."""


class ConfigError(AgentmError):
    """The configuration cannot be read or may not be written that way."""
