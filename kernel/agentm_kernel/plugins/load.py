"""Importing one plugin, so that whatever it does wrong is a `PluginError` that names it."""

from __future__ import annotations

import sys

from agentm_kernel.errors import AgentmError, PluginError
from agentm_kernel.plugins.calling import Call, StdoutToStderr, reason_of
from agentm_kernel.seam.backend import API_VERSION, StorageBackend

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_kernel.device.installed import PluginRecord

OLDEST_API_VERSION = 1
"""How far back this kernel goes: plugins built for the versions from here to `API_VERSION` are accepted."""


def load(record: PluginRecord) -> object:
    """Import what the entry point names, and nothing else.

    Whatever it raises at import (`sys.exit` and other `BaseException`s too), a missing attribute, a malformed value,
    and an API version that the distribution declares and this kernel does not speak are a `PluginError`. Ctrl-C is
    not the plugin's doing.
    """
    check_declared_api(record)
    module, attributes = _reference(record)
    try:
        with StdoutToStderr(), Call(str(record), "its import"):
            __import__(module)
            found: object = sys.modules[module]
            for name in attributes:
                found = getattr(found, name)
    except AgentmError as error:
        cause = error.__cause__ or error
        raise unusable(record, f"cannot be loaded: {reason_of(cause)}") from cause
    return found


def load_backend(record: PluginRecord) -> type[StorageBackend]:
    """The backend class that `record` names, checked against the contract as far as a class can be."""
    found = load(record)
    if not isinstance(found, type):
        raise unusable(record, f"is not a class: {record.value} is of type {type(found).__name__}")
    if not issubclass(found, StorageBackend) or found is StorageBackend:
        raise unusable(record, f"is not a backend: {record.value} does not derive from StorageBackend")
    if missing := sorted(getattr(found, "__abstractmethods__", ())):
        raise unusable(record, f"is abstract: {record.value} lacks {', '.join(missing)}")
    if type(found.api_version) is not int or not _is_spoken(str(found.api_version)):
        raise _wrong_api(record, repr(found.api_version))
    return found


# ------------------------------------------------------------------------------------------------ API versions


def check_declared_api(record: PluginRecord) -> None:
    """Refuse, before importing it, what could only fail in the import with a reason that would mislead.

    A distribution declares the versions as names in the entry-point group `agentm.api`; it need not.
    """
    if record.api and not any(_is_spoken(version) for version in record.api):
        raise _wrong_api(record, " or ".join(record.api))


def _is_spoken(version: str) -> bool:
    return version.isascii() and version.isdigit() and OLDEST_API_VERSION <= int(version) <= API_VERSION


def _wrong_api(record: PluginRecord, built_for: str) -> PluginError:
    window = str(API_VERSION) if OLDEST_API_VERSION == API_VERSION else f"{OLDEST_API_VERSION} to {API_VERSION}"
    return unusable(
        record,
        f"was built for version {built_for} of the kernel's API; this kernel speaks {window}",
        hint=f"run `pip install --upgrade agentm-kernel {record.distribution}`",
    )


# ------------------------------------------------------------------------------------------------ words


def unusable(record: PluginRecord, why: str, *, hint: str | None = None) -> PluginError:
    """The refusal to use a plugin, naming its entry point, distribution and version."""
    return PluginError(
        f"the {record} {why}",
        hint=hint
        or f"reinstall or upgrade {record.distribution}, or keep it out with "
        f"`agentm config set plugin_policy.disabled {record.distribution}`",
    )


def _reference(record: PluginRecord) -> tuple[str, list[str]]:
    """Module and attributes of `module:attribute [extras]`."""
    reference = record.value.partition("[")[0]
    module, _, attribute = (part.strip() for part in reference.partition(":"))
    attributes = attribute.split(".") if attribute else []
    if not all(name.isidentifier() for name in (*module.split("."), *attributes)):
        raise unusable(record, f"cannot be loaded: its value {record.value!r} is not of the form module:attribute")
    return module, attributes
