"""Atomic, durable replacement of one file: the old content or the new, whatever happens."""

from __future__ import annotations

import os
import stat
import time

from agentm_kernel.errors import AgentmError, LocatorConflictError, StorageIOError
from agentm_kernel.files.tree import Directory, make_private_folder, open_root

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from agentm_kernel.files.writing import StoreWriter
    from agentm_kernel.seam.locator import Locator

    Publish = Callable[[Directory, str, str], None]
    """Gives the finished temp file, second argument, the name of the third, and leaves no temp file behind."""


def atomic_write(path: str | os.PathLike[str], content: str | bytes) -> str:
    """Replace the file at `path`: temp file beside it, fsync, rename, fsync of the directory. Returns its full path.

    The mode of an existing file is kept; a new one in a private directory is private, in a shared one shared. Folders
    that are missing are made, for this user alone. Inside a store, hold its mutex. A target that is a link, a
    directory, a FIFO or a device is refused.
    """
    whole = os.path.abspath(path)
    parent, name = os.path.split(whole)
    data = content.encode() if isinstance(content, str) else content
    try:
        make_private_folder(parent)
        with open_root(parent) as directory:
            replace_file(directory, name, data, directory.status(name))
    except OSError as error:
        raise StorageIOError(
            f"cannot write {os.fspath(path)}: {error.strerror}", errno=error.errno, hint="nothing was changed"
        ) from error
    return whole


def publish_new(directory: Directory, temp: str, name: str) -> None:
    """Give the temp file its name unless it is taken: `FileExistsError`.

    One rename where the system has such a rename; else a link, which fails where a plain rename would not.
    """
    if directory.rename_to_free(temp, name):
        return
    try:
        directory.link(temp, name)
    except OSError as error:
        if not directory.has_twice(temp, name):  # or it is linked, and only the reply was lost
            if isinstance(error, FileExistsError) or directory.has(name):
                raise FileExistsError(name) from error
            directory.replace(temp, name)  # no hard links either, on FAT and some network mounts
            return
    directory.unlink(temp)


def replace_file(
    directory: Directory,
    name: str,
    data: bytes,
    status: os.stat_result | None,
    publish: Publish | None = None,
    draft: Draft | None = None,
    *,
    is_synced_later: bool = False,
) -> None:
    """Give `name` the content `data`; `status` is what is there now, `publish` how to take over the name, if not by a
    plain rename.
    """
    if status is not None and not stat.S_ISREG(status.st_mode):
        raise LocatorConflictError(f"{name!r} is not a regular file, so it is not replaced")
    finished = draft.take(directory, status) if draft is not None else None
    temp = finished or directory.new_temp_name()
    try:
        if not finished:
            write_temp(directory, temp, data, status)
        if publish is None:
            directory.replace(temp, name)
        else:
            publish(directory, temp, name)
    except BaseException:
        discard(directory, temp)
        raise
    if not is_synced_later:
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
        elif not private:
            directory.share(descriptor)
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
    for owner in (status.st_uid, -1) if (made.st_uid, made.st_gid) != (status.st_uid, status.st_gid) else ():
        try:
            os.fchown(descriptor, owner, status.st_gid)
            break
        except OSError:
            pass  # only the superuser may give it away, and nobody to whom a container has no name: then to the group
    if stat.S_IMODE(made.st_mode) != stat.S_IMODE(status.st_mode):
        os.fchmod(descriptor, stat.S_IMODE(status.st_mode))


_CROWDED = 0.1  # seconds after meeting another writer for which more are expected


class Draft:
    """A new version of a note, made durable before its writer has the store's mutex, if others want that too.

    Making a file durable takes as long as all the rest of a write, and needs no mutex; but only the holder of the
    mutex can tell what it has to be like. So this is a draft. Its file is taken if it is still there, in the very
    directory of the note, with the owner and mode that the note has then; otherwise the version is written once more.
    Whoever sweeps the directory may therefore remove a draft like the temp file of a killed writer.
    """

    _directory: Directory | None = None
    _temp = ""

    def __init__(self, writer: StoreWriter, locator: Locator, data: bytes) -> None:
        self._writer, self._locator, self._data = writer, locator, data

    def meet_others(self) -> None:
        self._writer.crowded_until = time.monotonic() + _CROWDED
        self.make()

    def make(self) -> None:
        """Write it if that can be. Whatever is in the way, the holder of the mutex will meet it too, and say so."""
        if self._directory is not None:
            return
        try:
            self._directory = own = self._writer.reader.open_parent(self._locator)
            if own.identity in self._writer.displaced.swept:
                self._replaced = own.status(self._locator.name)
                self._temp = own.new_temp_name()
                write_temp(own, self._temp, self._data, self._replaced)
                self._made = own.status(self._temp)
        except (OSError, AgentmError):
            self.drop()

    def take(self, parent: Directory, status: os.stat_result | None) -> str | None:
        """The name of the finished file in `parent`, if it can replace what has this status there."""
        own, temp = self._directory, self._temp
        if own is None or not temp or _likeness(status) != _likeness(self._replaced):
            return None
        if (own.identity, own.is_private) != (parent.identity, parent.is_private):
            return None
        found = parent.status(temp)
        if found is None or self._made is None or not os.path.samestat(found, self._made):
            return None
        self._temp = ""
        return temp

    def drop(self) -> None:
        own, self._directory = self._directory, None
        if own is not None:
            with own:
                if self._temp:
                    discard(own, self._temp)


def _likeness(status: os.stat_result | None) -> tuple[int, int, int] | None:
    return None if status is None else (status.st_mode, status.st_uid, status.st_gid)
