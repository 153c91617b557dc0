"""The error codes of AIP-35 as types. Those that providers raise as well live in the kernel."""

from __future__ import annotations

from agentm_kernel.plugin import (
    AuthorizationError,
    Frozen,
    StorageConflictError,
    StorageError,
    StorageReadOnlyError,
    StorageRefUnresolvableError,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentm_storage_policy.grants import Decision

__all__ = [
    "CODES",
    "Finding",
    "RefUnresolvableError",
    "StorageAuthUnresolvableError",
    "StorageCommitFailedError",
    "StorageConfigInvalidError",
    "StorageConflictError",
    "StorageDeniedError",
    "StoragePolicyError",
    "StorageProviderUnknownError",
    "StoragePullFailedError",
    "StoragePushFailedError",
    "StorageReadOnlyError",
    "refusal",
]

PROVIDER_UNKNOWN = "storage_provider_unknown"
CONFIG_INVALID = "storage_config_invalid"
AUTH_UNRESOLVABLE = "storage_auth_unresolvable"
REF_UNRESOLVABLE = "storage_ref_unresolvable"


class Finding(Frozen):
    """One thing that is wrong with a document, or only questionable (`code` is then empty), and where it stands.

    Neither text repeats a value of the document: it might be a secret.
    """

    __slots__ = ("code", "key", "message", "hint", "file", "line", "column")
    code: str
    key: str
    """The dotted path of the field; empty for the document as a whole."""
    message: str
    hint: str | None
    file: str
    line: int
    column: int

    def __init__(
        self,
        code: str,
        key: str,
        message: str,
        hint: str | None = None,
        file: str = "",
        line: int = 1,
        column: int = 1,
    ) -> None:
        self._set(code=code, key=key, message=message, hint=hint, file=file, line=line, column=column)

    @property
    def is_error(self) -> bool:
        return bool(self.code)

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}:{self.column}"
        return f"{place}: {self.key}: {self.message}" if self.key else f"{place}: {self.message}"


class StoragePolicyError(StorageError):
    """A document is refused. `findings` has everything that is wrong with it, the first one also in the message."""

    def __init__(self, message: str, *, hint: str | None = None, findings: Sequence[Finding] = ()) -> None:
        super().__init__(message, hint=hint)
        self.findings = tuple(findings)


class StorageProviderUnknownError(StoragePolicyError):
    """No installed plugin opens what the policy names, or one opens it that must not."""

    code = PROVIDER_UNKNOWN


class StorageConfigInvalidError(StoragePolicyError):
    """The policy breaks a rule of its specification, or one of this device."""

    code = CONFIG_INVALID


class StorageAuthUnresolvableError(StoragePolicyError):
    """The credentials cannot be had: no inventory, no access, or no value."""

    code = AUTH_UNRESOLVABLE


class RefUnresolvableError(StoragePolicyError, StorageRefUnresolvableError):
    """A reference leads nowhere, or where it may not lead. Nothing else takes its place."""

    code = REF_UNRESOLVABLE


# ------------------------------------------------------------------------------------------------ while in use


class StoragePullFailedError(StorageError):
    """What the origin has could not be brought in."""

    code = "storage_pull_failed"


class StorageCommitFailedError(StorageError):
    """What was written could not be recorded."""

    code = "storage_commit_failed"


class StoragePushFailedError(StorageError):
    """What was recorded could not be sent to the origin."""

    code = "storage_push_failed"


class StorageDeniedError(AuthorizationError):
    """The policy does not grant this action to whoever asks. The backend was not reached."""

    def __init__(self, message: str, *, hint: str | None = None, decision: Decision | None = None) -> None:
        super().__init__(message, hint=hint)
        self.decision = decision


_OF_DOCUMENTS = (
    StorageProviderUnknownError,
    StorageConfigInvalidError,
    StorageAuthUnresolvableError,
    RefUnresolvableError,
)
CODES: dict[str, type[StorageError]] = {
    kind.code: kind
    for kind in (
        *_OF_DOCUMENTS,
        StoragePullFailedError,
        StorageCommitFailedError,
        StoragePushFailedError,
        StorageConflictError,
        StorageReadOnlyError,
    )
    if kind.code
}
"""The nine codes that the specification fixes."""


def refusal(findings: Sequence[Finding]) -> StoragePolicyError:
    """The error for a document with these findings, at least one of them an error."""
    errors = [finding for finding in findings if finding.is_error]
    first = errors[0]
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    kind = next(kind for kind in _OF_DOCUMENTS if kind.code == first.code)
    hint = first.hint or f"run `agentm policy check {_quoted(first.file)}` to see everything that is wrong"
    return kind(f"{first}{more}", hint=hint, findings=findings)


def _quoted(path: str) -> str:
    """For a shell. Parsing imports nothing, so not by `shlex`."""
    is_plain = path != "" and all(c.isalnum() or c in "/._-+@%=:," for c in path) and path.isascii()
    return path if is_plain else "'" + path.replace("'", "'\"'\"'") + "'"
