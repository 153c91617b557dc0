"""Importing one plugin, so that whatever it does wrong is a `PluginError` that names it."""

from __future__ import annotations

import os
import sys
from _thread import allocate_lock

from agentm_kernel.errors import PluginError
from agentm_kernel.seam.backend import API_VERSION, StorageBackend

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import TextIO

    from agentm_kernel.device.installed import PluginRecord

OLDEST_API_VERSION = 1
"""How far back this kernel goes: plugins built for the versions from here to `API_VERSION` are accepted."""


def load(record: PluginRecord) -> object:
    """Import what the entry point names, and nothing else.

    An exception or `sys.exit` at import, a missing attribute, a malformed value, and an API version that the
    distribution declares and this kernel does not speak are a `PluginError`. Ctrl-C is not the plugin's doing.
    """
    check_declared_api(record)
    module, attributes = _reference(record)
    try:
        with StdoutToStderr():
            __import__(module)
            found: object = sys.modules[module]
            for name in attributes:
                found = getattr(found, name)
    except (Exception, SystemExit) as error:
        raise unusable(record, f"cannot be loaded: {reason_of(error)}") from error
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
    _check_api(record, found.api_version)
    return found


# ------------------------------------------------------------------------------------------------ API versions


def check_declared_api(record: PluginRecord) -> None:
    """Refuse, before importing it, what could only fail in the import with a reason that would mislead.

    A distribution declares the versions as names in the entry-point group `agentm.api`; it need not.
    """
    if record.api and not any(_is_spoken(version) for version in record.api):
        raise _wrong_api(record, " or ".join(record.api))


def _check_api(record: PluginRecord, version: object) -> None:
    if type(version) is not int or not _is_spoken(str(version)):
        raise _wrong_api(record, repr(version))


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


def reason_of(error: BaseException) -> str:
    """What a plugin's exception says; even its text is the plugin's code, and may fail."""
    if isinstance(error, SystemExit):
        return f"it called sys.exit({error.code!r})"
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - the type still names what happened
        text = "(no text)"
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _reference(record: PluginRecord) -> tuple[str, list[str]]:
    """Module and attributes of `module:attribute [extras]`."""
    reference = record.value.partition("[")[0]
    module, _, attribute = (part.strip() for part in reference.partition(":"))
    attributes = attribute.split(".") if attribute else []
    if not all(name.isidentifier() for name in (*module.split("."), *attributes)):
        raise unusable(record, f"cannot be loaded: its value {record.value!r} is not of the form module:attribute")
    return module, attributes


# ------------------------------------------------------------------------------------------------ stdout

_lock = allocate_lock()
_depth = 0
_stream: TextIO | None = None
_descriptor: int | None = None


class StdoutToStderr:
    """While a plugin's code runs, standard output belongs to the answer of the command or server that runs it.

    `state-path` is read by shell scripts and an MCP server speaks its protocol there, so one stray line of a plugin
    that greets its user, or of a program that it starts, would break either. May be nested, and entered by several
    threads: the last to leave restores.
    """

    __slots__ = ()

    def __enter__(self) -> None:
        global _depth, _stream, _descriptor
        with _lock:
            if _depth == 0:
                _flush(sys.stdout)
                _stream, sys.stdout = sys.stdout, sys.stderr
                _descriptor = _divert() if _is_only_thread() else None
            _depth += 1

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        global _depth, _stream, _descriptor
        with _lock:
            _depth -= 1
            if _depth == 0:
                try:
                    _flush(_stream)  # a plugin may have kept the stream, and what it wrote is still in there
                finally:
                    sys.stdout, _stream = _stream, None
                    _restore(_descriptor)
                    _descriptor = None


def _flush(stream: TextIO | None) -> None:
    if stream is not None and not stream.closed:
        stream.flush()


def _is_only_thread() -> bool:
    """Another thread may be writing its answer to the descriptor at this moment: then only the stream is diverted."""
    return len(sys._current_frames()) == 1  # noqa: SLF001 - `threading` would have to be imported to say the same


def _divert() -> int | None:
    """Point the descriptor of stdout at stderr; the copy to restore it from, `None` if either is closed."""
    try:
        saved = os.dup(1)
    except OSError:
        return None
    try:
        os.dup2(2, 1)
    except OSError:
        os.close(saved)
        return None
    return saved


def _restore(saved: int | None) -> None:
    if saved is not None:
        os.dup2(saved, 1)
        os.close(saved)
