"""A backend on a store that is thrown away, as the conformance kit opens it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentm_kernel.plugin import (
    Device,
    FileStore,
    Locator,
    Opening,
    PluginError,
    StdoutToStderr,
    StorageBackend,
    load,
    load_backend,
    reason_of,
    unusable,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentm_kernel.plugin import PluginRecord

PLACEHOLDER = "{scratch}"
"""Stands in the options for the folder that the store is made in."""


def _filled(options: Mapping[str, object], scratch: str) -> dict[str, object]:
    return {
        name: value.replace(PLACEHOLDER, scratch) if isinstance(value, str) else value
        for name, value in options.items()
    }


class ScratchStore:
    """Opens the backend of `record` in a folder. A class, so that other processes can be given one.

    The folder is the home, and the environment is empty but for what is passed on: whatever the configuration and the
    environment of this process say, the real store is not what gets opened.
    """

    def __init__(self, record: PluginRecord, options: Mapping[str, object], environ: Mapping[str, str]) -> None:
        self._record = record
        self._options = dict(options)
        self._environ = dict(environ)

    def __call__(self, scratch: str) -> StorageBackend:
        backend = load_backend(self._record)
        options = {**backend.scratch_options, **self._options}
        device = Device({**self._environ, "HOME": scratch, "XDG_STATE_HOME": f"{scratch}-state"})
        filled = _filled(options, scratch)
        with StdoutToStderr():
            return backend.create(filled, device, Opening(state_dir=f"{scratch}-state"))

    def check_opens(self, scratch: str) -> None:
        """Raise `PluginError` unless this opens an empty store: what the kit is let loose on must hold nothing."""
        try:
            stored = self(scratch).list(Locator())
        except PluginError:
            raise
        except Exception as error:
            raise unusable(
                self._record,
                f"cannot open a store in an empty folder: {reason_of(error)}",
                hint=f"give what it needs: --option NAME=VALUE ({PLACEHOLDER} is the folder) and --env VARIABLE",
            ) from error
        if stored:
            raise unusable(
                self._record,
                f"opened a store that is not empty: it holds '{stored[0]}'",
                hint=f"the checks write and delete; name another place with --option NAME={PLACEHOLDER}",
            )


class ScratchLayer:
    """The wrapper of `record` around a sound store of files, or around any other (`wrap`). The same rules hold."""

    def __init__(self, record: PluginRecord, options: Mapping[str, object], environ: Mapping[str, str]) -> None:
        self._record = record
        self._options = dict(options)
        self._environ = dict(environ)

    def __call__(self, scratch: str) -> StorageBackend:
        return self.wrap(FileStore(scratch), scratch)

    def wrap(self, inner: StorageBackend, scratch: str) -> StorageBackend:
        """The layer around `inner`, with `scratch` as its home."""
        make: Any = load(self._record)
        device = Device({**self._environ, "HOME": scratch, "XDG_STATE_HOME": f"{scratch}-state"})
        filled = _filled(self._options, scratch)
        with StdoutToStderr():
            made: object = make(inner, filled, device, Opening(state_dir=f"{scratch}-state"))
        if not isinstance(made, StorageBackend):
            raise unusable(self._record, f"made {type(made).__name__}, which is no store")
        return made

    def check_opens(self, scratch: str) -> tuple[str, ...]:
        """Raise `PluginError` unless this can be had; the capabilities that the layer says it changes."""
        try:
            return tuple(getattr(self(scratch), "changes", ()))
        except PluginError:
            raise
        except Exception as error:
            raise unusable(
                self._record,
                f"cannot be put around a store in an empty folder: {reason_of(error)}",
                hint=f"give what it needs: --option NAME=VALUE ({PLACEHOLDER} is the folder) and --env VARIABLE",
            ) from error
