"""The folder of one run: a home, a configuration and a store of its own for each trial, and nothing of the user's.

It is removed however the run ends. A small process waits for that end (`cleaner`), so even `kill -9` leaves nothing;
what a power cut leaves is swept by the next run: the folder of a run that still goes on is locked.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from typing import TYPE_CHECKING, Self

from agentm_prove.place import PREFIX
from agentm_prove.trial import NotTried
from agentm_prove.worker_handle import Refused, Worker

try:
    from fcntl import LOCK_EX, LOCK_NB, flock

    _CAN_LOCK = True
except ImportError:  # on Windows: then only the cleaner removes what a killed run left
    _CAN_LOCK = False

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from types import TracebackType

    from agentm_prove.place import Place

PLACEHOLDER = "{scratch}"
_DEFAULT = "device-local"
_KEPT = ("PATH", "PYTHONPATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "SYSTEMROOT", "AGENTM_DEBUG", "VIRTUAL_ENV")
"""What trials inherit of the environment. Not HOME, and no setting of agentm: they must not find the user's store."""


class Laboratory:
    """Made for one run. `fresh` gives each trial a home with an empty store."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.base = tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=place.parent)
        self._lock = _locked(self.base)
        self._cleaner = _start_cleaner(self.base)
        self._workers: list[Worker] = []
        self._homes = 0
        self.protocol = place.protocol
        self._options: dict[str, str] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end_workers()
        shutil.rmtree(self.base, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)
        assert self._cleaner.stdin is not None
        self._cleaner.stdin.close()
        self._cleaner.wait()

    def settle_protocol(self, options_of: Mapping[str, Mapping[str, str]]) -> tuple[str, ...]:
        """Settle which kind of store is tried: the user's, or the default one where that needs more than a folder.

        `options_of`: by protocol, the options that open a store in an empty folder. What has to be said about it.
        """
        remarks: list[str] = []
        for protocol in dict.fromkeys((self.place.protocol, _DEFAULT)):
            self.protocol, self._options = protocol, dict(options_of.get(protocol, {}))
            try:
                if self.fresh().opened().ask("facts")["device_files"]:
                    return tuple(remarks)
                remarks.append(
                    f"a '{protocol}' store in an empty folder is not files, so the default store was tried"
                )
            except Refused as refusal:
                remarks.append(f"a '{protocol}' store cannot be made in an empty folder: {refusal.message}")
            finally:
                self.end_workers()
        raise NotTried("; ".join(remarks))

    def fresh(self) -> Home:
        """A new home with an empty store."""
        self._homes += 1
        home = Home(self, os.path.join(self.base, str(self._homes)), self.protocol)
        home.configure(self._options)
        return home

    def start(self, home: Home, *, disk_of: int = 0) -> Worker:
        """A process with the store of `home`; `disk_of`: that store lies on a disk of so many bytes."""
        worker = Worker(home.environ, home.place, disk_of=disk_of)
        self._workers.append(worker)
        return worker

    def end_workers(self) -> None:
        while self._workers:
            self._workers.pop().kill()


class Home:
    """The home of a user who has just installed agentm."""

    def __init__(self, laboratory: Laboratory, folder: str, protocol: str) -> None:
        self._laboratory = laboratory
        self.folder = folder
        self.protocol = protocol
        self.place = os.path.join(folder, "disk")
        """What a trial may unmount, or fill: the store lies in it."""
        self.store_folder = os.path.join(self.place, "store")
        self.project = os.path.join(folder, "project")
        self.environ = {name: value for name in _KEPT if (value := os.environ.get(name)) is not None}
        self.environ |= {
            "HOME": folder,
            "USERPROFILE": folder,
            "AGENTM_INSTALL_PREFIX": os.path.join(folder, "config"),
            **{
                f"XDG_{name}_HOME": os.path.join(folder, name.lower())
                for name in ("STATE", "CACHE", "CONFIG", "DATA")
            },
            "TMPDIR": folder,
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        for made in (self.store_folder, self.project, self.environ["AGENTM_INSTALL_PREFIX"]):
            os.makedirs(made)  # inside of a folder that only this user can enter

    def configure(self, options: dict[str, str]) -> None:
        filled = {name: value.replace(PLACEHOLDER, self.store_folder) for name, value in options.items()}
        settings = {"storage.backend": self.protocol, "plugins": {self.protocol: filled}}
        with open(os.path.join(self.environ["AGENTM_INSTALL_PREFIX"], ".agentm-config.json"), "w") as file:
            json.dump(settings, file)

    def opened(self, *, disk_of: int = 0) -> Worker:
        """A worker whose store is open and has its identity. It is marked by whoever comes first."""
        worker = self._laboratory.start(self, disk_of=disk_of)
        worker.ask("open", limit=30)
        return worker

    def start(self) -> Worker:
        """A worker that has not opened the store yet."""
        return self._laboratory.start(self)


# ------------------------------------------------------------------------------------------------ removing


def _locked(folder: str) -> int | None:
    if not _CAN_LOCK:
        return None
    descriptor = os.open(folder, os.O_RDONLY)
    flock(descriptor, LOCK_EX | LOCK_NB)
    return descriptor


def _start_cleaner(folder: str) -> subprocess.Popen[bytes]:
    """Removes the folder once this process is gone. In a session of its own: Ctrl-C is not meant for it."""
    return subprocess.Popen(  # noqa: S603 - our own interpreter, our own module
        [sys.executable, "-P", "-m", "agentm_prove.cleaner", folder],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )


def sweep(folders: Iterable[str]) -> int:
    """Remove what killed runs left. How many folders that were."""
    if not _CAN_LOCK:
        return 0
    swept = 0
    for folder in folders:
        try:
            names = [name for name in os.listdir(folder) if name.startswith(PREFIX)]
        except OSError:
            continue
        swept += sum(_sweep_one(os.path.join(folder, name)) for name in names)
    return swept


def _sweep_one(path: str) -> bool:
    try:
        if os.lstat(path).st_uid != os.geteuid():
            return False
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        flock(descriptor, LOCK_EX | LOCK_NB)
        shutil.rmtree(path, ignore_errors=True)
    except OSError:
        return False  # somebody is at work there
    finally:
        os.close(descriptor)
    return True
