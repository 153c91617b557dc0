"""Credentials: named by the options, looked up when the first request needs them, and written nowhere.

Only what the operator named is used. The client library would also look at profiles, at the environment and at the
metadata service of the machine; it is given a finished answer, so it never does.
"""

from __future__ import annotations

from agentm_kernel.errors import StorageSelectionError

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

    def for_client(self) -> dict[str, Any]:
        """The arguments that make an obstore store use these credentials and no others."""
        self.check_present()
        if self._kind == "gcs":
            return {"service_account_key": self._value("service_account_env")}
        return {"credential_provider": self._s3 if self._kind == "s3" else self._azure}

    def _s3(self) -> dict[str, Any]:
        return {
            "access_key_id": self._value("access_key_env"),
            "secret_access_key": self._value("secret_key_env"),
            "token": (self._has("session_token_env") and self._value("session_token_env")) or None,
            "expires_at": None,
        }

    def _azure(self) -> dict[str, Any]:
        if self._has("account_key_env"):
            return {"access_key": self._value("account_key_env"), "expires_at": None}
        return {"sas_token": self._value("sas_token_env").lstrip("?"), "expires_at": None}

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
