"""The workbench of one check: a scratch directory, the store in it, and a place outside of that store."""

from __future__ import annotations

import os
import shutil
import tempfile
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from agentm_devkit.conformance.expect import NotApplicable, Violation
from agentm_devkit.conformance.processes import Process
from agentm_kernel.plugin import MAX_CONTENT_BYTES, Capabilities, DeviceFiles, Locator

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from agentm_devkit.conformance.subject import Subject
    from agentm_kernel.plugin import StorageBackend


class Bench:
    """Made for one check and thrown away after it, with everything that the check left and started."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self._base = os.path.realpath(tempfile.mkdtemp(prefix="agentm-conformance-"))
        self.scratch = self._made("scratch")
        self.outside = self._made("outside")
        """A directory that the store must never reach."""
        self._processes: list[Process] = []

    def _made(self, name: str) -> str:
        path = os.path.join(self._base, name)
        os.mkdir(path)
        return path

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in self._processes:
            process.close()
        shutil.rmtree(self._base, ignore_errors=True)

    # -- the store ------------------------------------------------------------------------------------------

    @cached_property
    def store(self) -> StorageBackend:
        return self.subject.open(self.scratch)

    @property
    def capabilities(self) -> Capabilities:
        """What the backend declares; nothing, where what it declares is not even a `Capabilities`."""
        declared = self.store.capabilities
        return declared if isinstance(declared, Capabilities) else Capabilities()

    @property
    def size_limit(self) -> int:
        """How many bytes a note may have: what the store's `size_limit` says, else what every store takes."""
        return int(getattr(self.store, "size_limit", MAX_CONTENT_BYTES))

    def lines(self, text: str, bytes_wanted: int) -> str:
        """Lines of `text`, about as many bytes of them as a check wants, and as the store takes."""
        return f"{text}\n" * (min(bytes_wanted, self.size_limit * 9 // 10) // (len(text.encode()) + 1))

    # -- the store's files ----------------------------------------------------------------------------------

    def device_files(self) -> DeviceFiles:
        """The facet that a store which declares `device_files` has."""
        files = self.store.facet(DeviceFiles)
        if files is None:
            raise Violation(
                f"{type(self.store).__name__} declares device_files and has no facet DeviceFiles (a layer that does "
                "not pass the facet declares device_files=False and names the flag in `changes`)"
            )
        return files

    def device_path(self, *names: str) -> str:
        """The path of names below the store's root on this host, whether or not a key could spell them."""
        return os.path.join(self.device_files().device_path(Locator()), *names)

    def plant(self, name: str | bytes, data: bytes = b"planted\n") -> str:
        """Put a file into the store's tree behind the backend's back, as a sync tool or an editor would."""
        path = self.device_path(os.fsdecode(name))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data)
        return path

    def link(self, target: str, name: str) -> str:
        """Put a symbolic link into the store's tree."""
        path = self.device_path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        try:
            os.symlink(target, path)
        except (OSError, NotImplementedError) as error:
            raise NotApplicable(f"symbolic links cannot be made here: {error}") from None
        return path

    # -- other processes ------------------------------------------------------------------------------------

    def start(
        self,
        task: Callable[..., object],
        *arguments: Any,
        scratch: str | None = None,
        environ: dict[str, str] | None = None,
        limit: float | None = None,
    ) -> Process:
        """Start `task(child, *arguments)` in a process of its own, which opens the store for itself."""
        log = os.path.join(self._base, f"process-{len(self._processes)}.log")
        process = Process(
            self.subject.open,
            scratch or self.scratch,
            task,
            arguments,
            log=log,
            limit=limit or self.subject.time_limit,
            environ=environ,
        )
        self._processes.append(process)
        return process

    def run(self, task: Callable[..., object], *arguments: Any, limit: float | None = None) -> Any:
        """What `task` returns in a process of its own, within `limit` seconds."""
        process = self.start(task, *arguments, limit=limit)
        process.go()
        return process.result()
