"""What takes longer than a person or a hook waits: a process of its own lists the store and checks what notes name.

It is started by commands and by the end of a turn, does nothing if another one is at it, and ends by itself.
"""

from __future__ import annotations

import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentm_kernel.plugin import StorageBackend

_LOCK = "upkeep.lock"
_ABANDONED = 300.0
"""Seconds after which the lock of a process belongs to nobody."""


def start(index: str, environ: Mapping[str, str] | None = None, cwd: str | None = None) -> None:
    """Start it for the index at that path, without waiting. Failing is no loss: the next one does the work."""
    import subprocess

    from agentm_kernel.plugin import current_directory

    if is_running(index):
        return
    words = [sys.executable, "-P", "-m", "agentm_recall.upkeep", index, cwd or current_directory()]
    try:
        subprocess.Popen(  # noqa: S603 - our own interpreter, our own module
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=None if environ is None else dict(environ),
            start_new_session=True,
        )
    except OSError:
        return


def is_running(index: str) -> bool:
    try:
        return time.time() - os.stat(_lock(index)).st_mtime < _ABANDONED
    except OSError:
        return False


def main(index: str, cwd: str) -> None:
    try:
        held = _take(_lock(index))
    except OSError:
        return
    if not held:
        return
    try:
        _work(index, cwd)
    finally:
        os.unlink(_lock(index))


def _work(index: str, cwd: str) -> None:
    from agentm_kernel.plugin import AgentmError, Device
    from agentm_recall.index.database import IndexUnavailable
    from agentm_recall.index.maintenance import RecallIndex

    device = Device.now()
    here = device.memory(cwd, read_only=True).in_the_store()
    for store in {id(store): store for store in (here.backend, device.store(read_only=True)) if store}.values():
        place = _index_of(store)
        if place != index:
            continue
        try:
            RecallIndex(store).update(wait=5.0)
        except (IndexUnavailable, AgentmError):
            return
        if store is here.backend and here.project_locator is not None:
            from agentm_recall.staleness import check_project

            check_project(place, here.slug, here.root)
        return


def _index_of(store: StorageBackend) -> str:
    from agentm_recall.index.place import NoPlace, index_path

    try:
        return index_path(store)
    except NoPlace:
        return ""


def _take(path: str) -> bool:
    """Whether the lock is ours now."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        if time.time() - os.stat(path).st_mtime < _ABANDONED:
            return False
        os.utime(path)
    return True


def _lock(index: str) -> str:
    return os.path.join(os.path.dirname(index), _LOCK)


if __name__ == "__main__":
    main(*sys.argv[1:3])
