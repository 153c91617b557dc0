"""Objects in memory behind the client's requests, and devices whose commands run in this process against them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from click.testing import CliRunner

from agentm_bucket.client import Entry, Folder, Version
from agentm_bucket.events import agentm_event
from agentm_bucket.failures import Failure, RequestFailed
from agentm_bucket.history import History
from agentm_bucket.waiting import Deadline
from agentm_kernel.cli.app import app
from agentm_kernel.plugin import Device, DeviceFiles, HookContext

if TYPE_CHECKING:
    from click.testing import Result

    from agentm_bucket.credentials import Credentials
    from agentm_bucket.place import Place, Timing
    from agentm_kernel.plugin import Locator, StorageBackend

KEYS = {"AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "secret"}


class Objects(dict[str, tuple[Version, bytes]]):
    """Those of the bucket `notes`; each other one has its own. `trouble` is what becomes of every request, if any."""

    def __init__(self) -> None:
        super().__init__()
        self.trouble: RequestFailed | None = None
        self.count = 0
        self._others: dict[str, Objects] = {}

    def client(self, place: Place, credentials: Credentials, timing: Timing) -> MemoryClient:
        is_ours = place.bucket == "notes"
        return MemoryClient(self if is_ours else self._others.setdefault(place.bucket, Objects()), place, timing)


class MemoryClient:
    """The client, for one place of the server. Conditions are honoured."""

    def __init__(self, objects: Objects, place: Place, timing: Timing) -> None:
        self.place = place
        self.timing = timing
        self._objects = objects

    def deadline(self) -> Deadline:
        return Deadline(self.timing)

    def _found(self, path: str) -> tuple[Version, bytes]:
        if self._objects.trouble is not None:
            raise self._objects.trouble
        if path not in self._objects:
            raise RequestFailed(Failure.MISSING, "there is no such object")
        return self._objects[path]

    def _entry(self, path: str) -> Entry:
        version, data = self._found(path)
        return Entry(path, len(data), 0.0, (version.etag or "").strip('"'))

    def get(self, path: str, deadline: Deadline, *, limit: int) -> tuple[Entry, Version, bytes | None]:
        version, data = self._found(path)
        return self._entry(path), version, data if len(data) <= limit else None

    def head(self, path: str, deadline: Deadline) -> tuple[Entry, Version]:
        return self._entry(path), self._found(path)[0]

    def below(self, path: str, deadline: Deadline) -> list[Entry]:
        start = f"{path}/" if path else ""
        return [self._entry(one) for one in sorted(self._objects) if one.startswith(start)]

    def folder(self, path: str, deadline: Deadline) -> Folder:
        start = len(path) + 1 if path else 0
        rests = [(entry, entry.path[start:]) for entry in self.below(path, deadline)]
        files = tuple(entry for entry, rest in rests if "/" not in rest)
        names = {entry.path[:start] + rest.partition("/")[0] for entry, rest in rests if "/" in rest}
        return Folder(files, tuple(sorted(names)))

    def holds_anything(self, path: str, deadline: Deadline) -> bool:
        return bool(self.below(path, deadline))

    def put(self, path: str, data: bytes, base: Version | None, history: History, deadline: Deadline) -> Version:
        self._check(path, base)
        self._objects.count += 1
        self._objects[path] = (Version(f'"{self._objects.count}"', None, history), data)
        return self._objects[path][0]

    def delete(self, path: str, deadline: Deadline) -> None:
        self._objects.pop(path, None)

    def delete_on_condition(self, path: str, version: Version, deadline: Deadline) -> None:
        self._check(path, version)
        del self._objects[path]

    def _check(self, path: str, base: Version | None) -> None:
        if self._objects.trouble is not None:
            raise self._objects.trouble
        now = self._objects[path][0] if path in self._objects else None
        if (now and now.etag) != (base and base.etag):
            raise RequestFailed(Failure.REFUSED, "the condition did not hold")


class Desk:
    """A device with keys for the server."""

    def __init__(self, home: Path) -> None:
        self.home = home
        home.mkdir(parents=True)
        self.environ = {"HOME": str(home), "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", **KEYS}

    def run(self, *arguments: str, text: str | None = None) -> Result:
        before = dict(os.environ)
        os.environ.clear()
        try:
            os.environ.update(self.environ)
            return CliRunner().invoke(app, arguments, input=text)
        finally:
            os.environ.clear()
            os.environ.update(before)

    def done(self, *arguments: str, text: str | None = None) -> str:
        result = self.run(*arguments, text=text)
        assert result.exit_code == 0, (arguments, result.output, result.exception)
        return result.output

    def answer(self, *arguments: str) -> dict[str, Any]:
        answered: dict[str, Any] = json.loads(self.done(*arguments, "--json"))
        return answered

    def refused(self, *arguments: str) -> str:
        """What the error says, with its hint."""
        result = self.run(*arguments)
        assert result.exit_code != 0, (arguments, result.output)
        return f"{result.output}\n{result.exception}\n{getattr(result.exception, 'hint', '')}"

    @property
    def device(self) -> Device:
        return Device.now(self.environ)

    def store(self) -> StorageBackend:
        return self.device.store(read_only=False)

    def event(self, name: str) -> str | None:
        """What the bucket says of an event."""
        said: str | None = agentm_event(name, HookContext(self.device, str(self.home)))
        return said

    def copy(self, locator: Locator) -> Path:
        """The file of this device that agents read and edit."""
        files = self.store().facet(DeviceFiles)
        assert files is not None
        return Path(files.device_path(locator))
