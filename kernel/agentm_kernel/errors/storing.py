"""What a store answers to a write that it refuses, and to keys and texts that no store may hold."""

from __future__ import annotations

from agentm_kernel.errors import AgentmError, StorageError


class LocatorConflictError(StorageError):
    """What is stored already leaves no room for this key: a directory, a file above it, another spelling."""


class StorageReadOnlyError(StorageError):
    """A policy declares the store read-only; the backend was not reached."""

    code = "storage_read_only"


class AuthorizationError(StorageError):
    """The operator has not allowed this write to the personal space."""


class DeclinedError(AuthorizationError):
    """The person who was asked said no. Nothing was changed, and nothing went wrong."""


class StorageConflictError(StorageError):
    """Two versions of something diverged, and the policy forbids to settle it. Neither was lost."""

    code = "storage_conflict"


class StorageRefUnresolvableError(StorageError):
    """A storage reference leads nowhere, and nothing else may take its place."""

    code = "storage_ref_unresolvable"


class IntegrityError(StorageError):
    """What is stored is not what was known to be good."""


class ConcurrentModificationError(AgentmError, RuntimeError):
    """The condition of a write did not hold: somebody else was there first. Nothing was written."""

    exit_code = 3


class LockTimeout(AgentmError, RuntimeError):
    """The store stayed locked by another holder for the whole time allowed. Nothing was written."""

    exit_code = 4


class InvalidLocatorError(AgentmError, ValueError, TypeError):
    """A key that no backend may hold."""


class InvalidContentError(AgentmError, ValueError):
    """Text that cannot be stored, or stored bytes that are not text."""
