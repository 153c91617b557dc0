"""What one process has to know about the syncing of others: since when writes wait, when was pulled, what failed.

Three files in this device's state directory, for each store. Their times are the facts; they cost a hook nothing
and a write one system call.
"""

from __future__ import annotations

import os

from agentm_kernel.plugin import Frozen, content_hash, one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from agentm_kernel.plugin import AgentmError

_FOLDER = "sync"


class Failure(Frozen):
    """What went wrong, as an outcome of the policy: its code, the reason, and what to do."""

    __slots__ = ("code", "message", "hint")
    code: str
    message: str
    hint: str

    def __init__(self, code: str, message: str, hint: str) -> None:
        self._set(code=code, message=message, hint=hint)


class SyncState:
    """The state of the store at `place`. A process that may not write only reads it."""

    def __init__(
        self, state_dir: str, place: str, *, may_write: bool, now: Callable[[], float] | None = None
    ) -> None:
        from time import time

        self._folder = os.path.join(state_dir, _FOLDER, content_hash(place)[:32])
        self._may_write = may_write
        self.now = now or time

    def waiting_since(self) -> float | None:
        """When the oldest write was made that is not committed yet."""
        return self._time("waiting")

    def note_write(self) -> None:
        if self._may_write and self.waiting_since() is None:
            self._touch("waiting")

    def note_commit(self, waiting_since: float | None) -> None:
        """Everything written by now is committed; or put it back as it was."""
        if waiting_since is None:
            self._remove("waiting")
        else:
            self._touch("waiting", waiting_since)

    def pulled_at(self) -> float | None:
        return self._time("pulled")

    def note_pull(self) -> None:
        self._touch("pulled")

    def failure(self) -> Failure | None:
        """What went wrong last, until the same step succeeds."""
        try:
            with open(os.path.join(self._folder, "failed"), encoding="utf-8") as file:
                code, hint, message = file.read().split("\n", 2)
        except FileNotFoundError:
            return None
        except ValueError:  # not as it was written
            return Failure("", "the last sync failed, and the record of it is damaged", "")
        return Failure(code, message, hint)

    def note_failure(self, error: AgentmError) -> None:
        from agentm_kernel.plugin import atomic_write

        self._make_folder()
        parts = (error.code or "", one_line(error.hint or ""), error.message)
        atomic_write(os.path.join(self._folder, "failed"), "\n".join(parts))

    def clear_failure(self) -> None:
        self._remove("failed")

    def _time(self, name: str) -> float | None:
        try:
            return os.stat(os.path.join(self._folder, name)).st_mtime
        except FileNotFoundError:
            return None

    def _touch(self, name: str, at: float | None = None) -> None:
        self._make_folder()
        path = os.path.join(self._folder, name)
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
        moment = self.now() if at is None else at
        os.utime(path, (moment, moment))

    def _remove(self, name: str) -> None:
        try:
            os.unlink(os.path.join(self._folder, name))
        except FileNotFoundError:
            pass

    def _make_folder(self) -> None:
        from agentm_kernel.plugin import make_private_folder

        make_private_folder(self._folder)
