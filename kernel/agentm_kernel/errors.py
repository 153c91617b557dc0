"""Every error that agentm raises, in one tree.

An error says what happened (`message`) and, where there is one, what to do about it (`hint`). The command line
prints both, one line each, and exits with the class's `exit_code`. The builtin that fits is a base as well, so
callers who have never heard of agentm can still write `except FileNotFoundError`.
"""

from __future__ import annotations

TYPE_CHECKING = False  # mypy reads this name as true; importing `typing` for it costs more than this whole module
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any


class AgentmError(Exception):
    """The root of the tree: an expected failure, shown to people as one line and a hint."""

    exit_code = 1
    code: str | None = None
    """A stable machine name, where a specification fixes one."""
    details: Mapping[str, object] = {}
    """What was done before it failed, for programs: JSON answers carry it beside the error."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        """What happened and what to run: all that a caller who only prints the error will ever see."""
        return self.message if self.hint is None else f"{self.message} (hint: {self.hint})"

    def __reduce__(self) -> tuple[Any, ...]:
        # OSError's own pickling drops attributes, and keyword arguments need a helper in any case.
        return _rebuild, (type(self), self.message, dict(self.__dict__))


def _rebuild(cls: type[AgentmError], message: str, state: dict[str, Any]) -> AgentmError:
    error = cls.__new__(cls, message)
    error.args = (message,)
    for name, value in state.items():
        setattr(error, name, value)  # not into __dict__: OSError keeps errno elsewhere
    return error


def one_line(text: str) -> str:
    """A message for a screen: names in it come from outside, so no line break or terminal control may get there."""
    return "".join(c if c.isprintable() else " " if c.isspace() else ascii(c)[1:-1] for c in text)


class StorageError(AgentmError):
    """Something about the content of a store."""


class NotFoundError(StorageError, FileNotFoundError):
    """Nothing is stored at the locator. Raised only when absence was seen, never when looking failed."""


class StorageIOError(StorageError, OSError):
    """The store's medium failed or refused: every operating-system error that a backend meets."""

    def __init__(self, message: str, *, hint: str | None = None, errno: int | None = None) -> None:
        super().__init__(message, hint=hint)
        self.errno = errno

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.message, {**self.__dict__, "errno": self.errno})


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


class ProtocolError(AgentmError, ValueError):
    """A backend was registered badly."""


class StorageSelectionError(AgentmError, RuntimeError):
    """The store that was asked for cannot be had. There is never a second choice."""


class CapabilityMismatchError(StorageSelectionError):
    """The selected backend lacks capabilities that the caller requires."""

    def __init__(self, protocol: str, unsatisfied: Iterable[str], *, hint: str | None = None) -> None:
        self.protocol = protocol
        self.unsatisfied = tuple(unsatisfied)
        missing = ", ".join(self.unsatisfied)
        super().__init__(f"backend '{protocol}' does not satisfy required capabilities: {missing}", hint=hint)


class BackendNotInstalledError(StorageSelectionError):
    """No installed distribution provides the backend."""


class StoreIdentityError(StorageSelectionError):
    """The place holds another store than the one this device knows there, or none at all."""


class ConfigError(AgentmError):
    """The configuration cannot be read or may not be written that way."""


class ActivePlanError(AgentmError, RuntimeError):
    """The active-plan marker is there but does not lead to a plan."""


class PluginError(AgentmError):
    """A plugin cannot be loaded or does not keep its contract."""
