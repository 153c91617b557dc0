"""File stores that take a failing medium for an empty one."""

from __future__ import annotations

import errno
import os

from broken_backends.table import Files, broken

from agentm_kernel.errors import StorageIOError
from agentm_kernel.files.store import FileStore
from agentm_kernel.seam.backend import BackendLayer, DeviceFiles
from agentm_kernel.seam.locator import Locator


@broken("root_vanishes", saying="whether there is a folder again gave True")
class MakesItsRootAgain(Files):
    def write(self, locator, content, *, if_match=None):
        if not os.path.exists(self.scratch) and os.access(os.path.dirname(self.scratch), os.W_OK, effective_ids=True):
            os.mkdir(self.scratch)
        return super().write(locator, content, if_match=if_match)


@broken("root_vanishes", saying="list('') returned []", also=("permission_denied",))
class MissingRootIsEmpty(Files):
    def list(self, locator):
        return super().list(locator) if os.path.isdir(self.scratch) else []


@broken("root_replaced", saying="read('dir/note.md') reported absence")
class TakesAnyFolder(BackendLayer):
    """Opens its folder anew for each verb, and does not ask whether it is the same one."""

    passes = (DeviceFiles,)

    def __init__(self, scratch):
        self.scratch = scratch

    @property
    def inner(self):
        return FileStore(self.scratch)


@broken("no_space", saying="the directory on disk gave ['note.md', 'note.md~']")
class LeavesLitter(Files):
    def write(self, locator, content, *, if_match=None):
        try:
            return super().write(locator, content, if_match=if_match)
        except StorageIOError as error:
            if error.errno == errno.EFBIG and locator == Locator("dir/note.md"):
                with open(self.device_path(locator) + "~", "wb"):
                    pass
            raise


@broken("no_space", saying="raised the untyped OSError")
class FullDiskIsARawError(Files):
    def write(self, locator, content, *, if_match=None):
        try:
            return super().write(locator, content, if_match=if_match)
        except StorageIOError as error:
            if error.errno == errno.EFBIG:
                raise OSError(error.errno, os.strerror(error.errno)) from None
            raise


class _DoesNotExist(Files):
    """Answers "no" where it could not look."""

    errno = 0

    def exists(self, locator):
        try:
            return super().exists(locator)
        except StorageIOError as error:
            if error.errno == self.errno:
                return False
            raise


@broken("no_descriptors", saying="exists('dir/note.md') gave False")
class WithoutDescriptorsNothingExists(_DoesNotExist):
    errno = errno.EMFILE


@broken("permission_denied", saying="exists('dir/note.md') gave False")
class WithoutPermissionNothingExists(_DoesNotExist):
    errno = errno.EACCES
