"""Atomic, durable replacement of one file: the old content or the new, whatever happens."""

from __future__ import annotations

import os
import stat

from agentm_kernel.errors import LocatorConflictError, StorageIOError
from agentm_kernel.files.root import make_private_folder, open_root

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from agentm_kernel.files.draft import Draft
    from agentm_kernel.files.tree import Directory

    Publish = Callable[[Directory, str, str], None]
    """Gives the finished temp file, second argument, the name of the third, and leaves no temp file behind."""


def atomic_write(path: str | os.PathLike[str], content: str | bytes) -> str:
    """Replace the file at `path`: temp file beside it, fsync, rename, fsync of the directory. Returns its full path.

    The mode of an existing file is kept; a new one in a private directory is private. Folders that are missing are
    made, for this user alone. Inside a store, hold its mutex. A target that is a link, a directory, a FIFO or a
    device is refused.
    """
    whole = os.path.abspath(path)
    parent, name = os.path.split(whole)
    data = content.encode() if isinstance(content, str) else content
    try:
        make_private_folder(parent)
        with open_root(parent) as directory:
            replace_file(directory, name, data, directory.status(name))
    except StorageIOError:
        raise
    except OSError as error:
        raise StorageIOError(
            f"cannot write {os.fspath(path)}: {error.strerror}", errno=error.errno, hint="nothing was changed"
        ) from error
    return whole


def publish_over(directory: Directory, temp: str, name: str) -> None:
    """Give the temp file its name, whatever had it."""
    directory.replace(temp, name)


def publish_new(directory: Directory, temp: str, name: str) -> None:
    """Give the temp file its name unless it is taken: `FileExistsError`.

    One rename where the system has such a rename; else a link, which fails where a plain rename would not.
    """
    if directory.rename_to_free(temp, name):
        return
    try:
        directory.link(temp, name)
    except OSError as error:
        if not directory.has_twice(temp, name):
            if isinstance(error, FileExistsError):
                raise
            _rename_after_another_look(directory, temp, name)
            return
    directory.unlink(temp)  # linked, or so it turned out: a medium may lose its reply


def _rename_after_another_look(directory: Directory, temp: str, name: str) -> None:
    """Where there are no hard links and no such renames either: FAT, some network mounts."""
    if directory.status(name) is not None:
        raise FileExistsError(name)
    directory.replace(temp, name)


def replace_file(
    directory: Directory,
    name: str,
    data: bytes,
    status: os.stat_result | None,
    *,
    publish: Publish = publish_over,
    draft: Draft | None = None,
) -> None:
    """Give `name` the content `data`; `status` is what is there now, `publish` how the name is taken over."""
    if status is not None and not stat.S_ISREG(status.st_mode):
        raise LocatorConflictError(f"{name!r} is not a regular file, so it is not replaced")
    finished = draft.take(directory, status) if draft is not None else None
    temp = finished or directory.new_temp_name()
    try:
        if not finished:
            write_temp(directory, temp, data, status)
        publish(directory, temp, name)
    except BaseException:
        discard(directory, temp)
        raise
    directory.sync()


def discard(directory: Directory, temp: str) -> None:
    """Remove a temp file as well as it goes."""
    try:
        directory.unlink(temp)
    except OSError:
        pass  # gone already, or the disk is failing: the next writer sweeps it


def write_temp(directory: Directory, temp: str, data: bytes, status: os.stat_result | None) -> None:
    """Make the file `temp` with that content, durable, with the owner and mode of what it will replace."""
    private = status is not None or directory.is_private
    descriptor = directory.create_file(temp, 0o600 if private else 0o666)
    try:
        if status is not None:
            _keep_owner_and_mode(descriptor, status)
        write_all(descriptor, data)
        # A failed fsync is never retried: the kernel has already dropped the dirty pages it could not write.
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_all(descriptor: int, data: bytes) -> None:
    """Write every byte, however many calls that takes."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _keep_owner_and_mode(descriptor: int, status: os.stat_result) -> None:
    if os.name == "nt":
        return
    made = os.fstat(descriptor)  # asked, not guessed: a directory may pass on its group, the umask take bits away
    if (made.st_uid, made.st_gid) != (status.st_uid, status.st_gid):
        try:
            os.fchown(descriptor, status.st_uid, status.st_gid)
        except PermissionError:
            pass  # only the superuser may give a file away; the content matters more
    if stat.S_IMODE(made.st_mode) != stat.S_IMODE(status.st_mode):
        os.fchmod(descriptor, stat.S_IMODE(status.st_mode))
