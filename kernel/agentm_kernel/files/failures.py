"""Operating-system errors, turned into typed ones in one place, and the refusal that many places share."""

from __future__ import annotations

import errno

from agentm_kernel import errors
from agentm_kernel.errors import AgentmError, NotFoundError, StorageIOError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_kernel.seam.locator import Locator

_HINTS = {
    errno.ENOSPC: "the disk is full: free some space and try again; the stored note is unchanged",
    errno.EDQUOT: "the disk quota is used up: free some space and try again; the stored note is unchanged",
    errno.EROFS: "the file system is mounted read-only",
    errno.EACCES: "check who owns the store and its permissions",
    errno.EPERM: "check who owns the store and its permissions",
    errno.EIO: "the disk or the mount reports a failure: check it before trusting it with more",
}


class TooLarge(OSError):
    """A file exceeds the limit of the read; `size` is what it has, as far as it was read."""

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(errno.EFBIG, f"it has more than {limit:,} bytes")
        self.size = size


class Failures:
    """Around one verb: what it meets from the operating system leaves as `StorageIOError` (or absence, when seen)."""

    __slots__ = ("_doing", "_locator", "_reading")

    def __init__(self, doing: str, locator: Locator, *, reading: bool = False) -> None:
        self._doing, self._locator, self._reading = doing, locator, reading

    def __enter__(self) -> None:
        return None

    def __exit__(self, _kind: object, value: BaseException | None, _trace: object) -> None:
        if not isinstance(value, OSError) or isinstance(value, AgentmError):
            return
        where = f"'{self._locator}'" if self._locator.key else "the store's root"
        if self._reading and isinstance(value, FileNotFoundError):
            raise NotFoundError(f"{where} does not exist") from value
        raise StorageIOError(
            f"cannot {self._doing} {where}: {value.strerror or value}",
            errno=value.errno,
            hint=_HINTS.get(value.errno or 0),
        ) from value


def changed(locator: Locator, why: str) -> errors.ConcurrentModificationError:
    """The condition of a write did not hold."""
    return errors.ConcurrentModificationError(
        f"'{locator}' was not written: {why}",
        hint="read it again, redo the change, and write with the new hash",
    )
