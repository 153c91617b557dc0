"""File stores that trust whatever lies in their tree."""

from __future__ import annotations

import errno
import os
import stat

from broken_backends.table import Files, broken

from agentm_kernel.errors import InvalidLocatorError, StorageIOError
from agentm_kernel.seam.locator import Locator


@broken("foreign_names", saying="raised InvalidLocatorError")
class ChokesOnForeignNames(Files):
    def list(self, locator):
        if not locator.key and os.path.exists(os.path.join(self.scratch, "a\\b.md")):
            raise InvalidLocatorError("invalid locator 'a\\\\b.md'")
        return super().list(locator)


@broken("decomposed_name", saying="raised NotFoundError: 'café.md' does not exist")
class ListsWhatItCannotRead(Files):
    def list(self, locator):
        composed = [Locator("caf\u00e9.md")] if os.path.lexists(os.path.join(self.scratch, "cafe\u0301.md")) else []
        return composed + super().list(locator)


@broken("link_to_directory", saying="read('link/secret.md') returned 'secret\\n'")
class FollowsLinkedDirectories(Files):
    def read(self, locator):
        if os.path.islink(self.device_path(locator.parent)) and os.path.isfile(self.device_path(locator)):
            with open(self.device_path(locator), encoding="utf-8") as file:
                return file.read()
        return super().read(locator)


@broken("link_to_directory", saying="list('link') gave [Locator('link/secret.md')]")
class ListsLinkedDirectories(Files):
    def list(self, locator):
        if locator.key and os.path.islink(self.device_path(locator)):
            return [locator.child(name) for name in os.listdir(self.device_path(locator))]
        return super().list(locator)


@broken(
    "link_to_file",
    saying="write('link.md', 'planted\\n') returned 'link.md'",
    also=("broken_links", "endless_device"),
)
class ReplacesLinks(Files):
    def write(self, locator, content, *, if_match=None):
        if os.path.islink(self.device_path(locator)):
            os.unlink(self.device_path(locator))
        return super().write(locator, content, if_match=if_match)


@broken("link_to_file", saying="info('link.md') returned Info(")
class LooksThroughLinks(Files):
    def info(self, locator):
        path = self.device_path(locator)
        if os.path.islink(path) and os.path.isfile(path):
            return super().info(Locator())
        return super().info(locator)


@broken("broken_links", saying="list('') gave [Locator('dangling.md')]")
class ListsDanglingLinks(Files):
    def list(self, locator):
        dangling = "dangling.md" if os.path.islink(self.device_path(Locator("dangling.md"))) else None
        return [Locator(dangling)] if dangling and not locator.key else super().list(locator)


class _ReadsAnything(Files):
    """Opens whatever has the right kind, without blocking, and reads what there is."""

    is_kind = staticmethod(stat.S_ISFIFO)

    def read(self, locator):
        path = self.device_path(locator)
        if not os.path.exists(path) or not self.is_kind(os.stat(path).st_mode):
            return super().read(locator)
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        try:
            return os.read(descriptor, 1000).decode()
        finally:
            os.close(descriptor)


@broken("fifo", saying="read('entry') returned ''")
class ReadsFifos(_ReadsAnything):
    pass


@broken("endless_device", saying="read('entry') returned '\\x00\\x00")
class ReadsDevices(_ReadsAnything):
    is_kind = staticmethod(stat.S_ISCHR)


@broken("socket", saying="raised the untyped OSError: [Errno 6] No such device or address")
class SocketsAreARawError(_ReadsAnything):
    is_kind = staticmethod(stat.S_ISSOCK)


@broken("endless_device", saying="raised the untyped MemoryError")
class ReadsForEver(Files):
    """Reads to the end, which a device does not have."""

    def read(self, locator):
        try:
            return super().read(locator)
        except StorageIOError as error:
            if error.errno == errno.ELOOP and os.path.exists(self.device_path(locator)) and locator.key == "entry":
                raise MemoryError from None
            raise
