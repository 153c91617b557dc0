"""Credentials: named by the options, looked up when the first request needs them, and written nowhere.

Only what the operator named is used. The client library would also look at profiles, at the environment and at the
metadata service of the machine; it is given a finished answer, so it never does.
"""

from __future__ import annotations

from agentm_kernel.plugin import AgentmError, StorageSelectionError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

_VARIABLES = {
    "s3": {
        "access_key_env": "AWS_ACCESS_KEY_ID",
        "secret_key_env": "AWS_SECRET_ACCESS_KEY",
        "session_token_env": "AWS_SESSION_TOKEN",
    },
    "azure": {"account_key_env": "AZURE_STORAGE_ACCOUNT_KEY", "sas_token_env": "AZURE_STORAGE_SAS_TOKEN"},
    "gcs": {"service_account_env": "GOOGLE_SERVICE_ACCOUNT_KEY"},
}
"""Option → the variable that is asked when the option does not say otherwise."""

_ENOUGH = {
    "s3": (("access_key_env", "secret_key_env"),),
    "azure": (("account_key_env",), ("sas_token_env",)),
    "gcs": (("service_account_env",),),
}


class Credentials:
    """The secrets of one place. `repr`, errors and pickles show the names of variables, never a value."""

    def __init__(self, kind: str, names: Mapping[str, str], values: Mapping[str, str]) -> None:
        usual = _VARIABLES[kind]
        if unknown := sorted(set(names) - set(usual)):
            raise StorageSelectionError(
                f"plugins.bucket has no option {', '.join(unknown)} for {kind}",
                hint=f"credentials are named by {', '.join(usual)}; their values never stand in the configuration",
            )
        self._kind = kind
        self._names = {**usual, **names}
        self._values = values
        self.problem: AgentmError | None = None
        """Why the client library did not get what it asked for: it says only that it got nothing."""

    def __repr__(self) -> str:
        return f"Credentials({self._kind!r}, {self._names!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("credentials are not pickled: the other process looks them up itself")

    def check_present(self) -> None:
        """Raise `StorageSelectionError` unless enough variables are set."""
        if not any(all(self._has(option) for option in options) for options in _ENOUGH[self._kind]):
            wanted = " or ".join(
                " and ".join(f"${self._names[option]}" for option in options) for options in _ENOUGH[self._kind]
            )
            raise StorageSelectionError(
                f"there are no credentials for the bucket: {wanted} must be set",
                hint="export them where agentm runs; they are kept in no file",
            )

    @property
    def advice(self) -> str:
        """What to look at when the values are no good."""
        form = ": the whole JSON of a service account's key" if self._kind == "gcs" else ""
        return f"look at {' and '.join(f'${name}' for name in self._names.values())}{form}"

    def for_client(self) -> dict[str, Any]:
        """The arguments that make an obstore store use these credentials and no others."""
        self.check_present()
        if self._kind == "gcs":
            return {"service_account_key": self._value("service_account_env")}
        return {"credential_provider": self._provide}

    def _provide(self) -> dict[str, Any]:
        self.problem = None
        try:
            return self._s3() if self._kind == "s3" else self.azure()
        except AgentmError as error:
            self.problem = error
            raise

    def _s3(self) -> dict[str, Any]:
        return {
            "access_key_id": self._key("access_key_env"),
            "secret_access_key": self._key("secret_key_env"),
            "token": self._key("session_token_env", may_be_empty=True) or None,
            "expires_at": None,
        }

    def azure(self) -> dict[str, Any]:
        if self._has("account_key_env"):
            return {"access_key": self._key("account_key_env"), "expires_at": None}
        return {"sas_token": self._key("sas_token_env").lstrip("?"), "expires_at": None}

    def _key(self, option: str, *, may_be_empty: bool = False) -> str:
        """A value that goes into a header: one that was exported with a line break would end the process there."""
        if may_be_empty and not self._has(option):
            return ""
        value = self._value(option)
        if not (value or may_be_empty) or not value.isascii() or not value.isprintable():
            raise StorageSelectionError(
                f"${self._names[option]} is empty, or holds a line break or another sign that no key has",
                hint="export it again, without quotes and line breaks",
            )
        return value

    def _has(self, option: str) -> bool:
        return self._names[option] in self._values

    def _value(self, option: str) -> str:
        return self._values[self._names[option]]


def variables_among(kind: str, names: Iterable[str]) -> dict[str, str]:
    """Which of the variables that a policy names is meant by which option: told by how they end."""
    names = tuple(names)
    chosen = {}
    for option, usual in _VARIABLES[kind].items():
        ending = usual.partition("_")[2]
        fitting = [name for name in names if name == usual] or [name for name in names if name.endswith(ending)]
        if fitting:
            chosen[option] = fitting[0]
    return chosen
