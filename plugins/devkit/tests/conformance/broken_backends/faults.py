"""Backends that take a failure for absence."""

from __future__ import annotations

import os
from contextlib import contextmanager

from broken_backends.table import Files, Memory, broken

from agentm_kernel.errors import AgentmError, NotFoundError, StorageIOError


@contextmanager
def cut_off(scratch):
    """The medium of these stores works unless there is this file."""
    mark = scratch + ".cut-off"
    open(mark, "wb").close()
    try:
        yield
    finally:
        os.unlink(mark)


class _Remote(Memory):
    """Sound: every verb asks whether the medium is there."""

    def check_medium(self):
        if os.path.exists(self.scratch + ".cut-off"):
            raise StorageIOError("the server cannot be reached")

    def read(self, locator):
        self.check_medium()
        return super().read(locator)

    def list(self, locator):
        self.check_medium()
        return super().list(locator)

    def exists(self, locator):
        self.check_medium()
        return super().exists(locator)

    def info(self, locator):
        self.check_medium()
        return super().info(locator)

    def write(self, locator, content, *, if_match=None):
        self.check_medium()
        return super().write(locator, content, if_match=if_match)

    def mkdir(self, locator):
        self.check_medium()
        return super().mkdir(locator)

    def delete(self, locator, *, if_match=None):
        self.check_medium()
        super().delete(locator, if_match=if_match)


@broken(
    "broken_medium", "broken_medium_when_opened", saying="read('dir/note.md') reported absence", break_medium=cut_off
)
class AbsentWhenUnreachable(_Remote):
    def read(self, locator):
        try:
            return super().read(locator)
        except StorageIOError as error:
            raise NotFoundError(f"'{locator}' does not exist") from error


@broken("broken_medium", "broken_medium_when_opened", saying="returned []", break_medium=cut_off)
class EmptyWhenUnreachable(_Remote):
    def list(self, locator):
        try:
            return super().list(locator)
        except StorageIOError:
            return []


@broken(
    "broken_medium", "broken_medium_when_opened", saying="exists('dir/note.md') returned False", break_medium=cut_off
)
class FalseWhenUnreachable(_Remote):
    def exists(self, locator):
        try:
            return super().exists(locator)
        except StorageIOError:
            return False


@broken(
    "broken_medium",
    "broken_medium_when_opened",
    saying="write('dir/note.md', 'two\\n') returned",
    break_medium=cut_off,
)
class WritesIntoAQueue(_Remote):
    """Says that it has stored what only waits to be sent."""

    def write(self, locator, content, *, if_match=None):
        try:
            return super().write(locator, content, if_match=if_match)
        except StorageIOError:
            return locator


@broken("broken_medium", "broken_medium_when_opened", saying="the untyped TimeoutError", break_medium=cut_off)
class RaisesItsClientsErrors(_Remote):
    def check_medium(self):
        try:
            super().check_medium()
        except StorageIOError:
            raise TimeoutError("no answer") from None


@broken("broken_medium_when_opened", saying="opening it reported absence", break_medium=cut_off)
class AbsentWhenOpened(_Remote):
    def __init__(self, scratch):
        super().__init__(scratch)
        if os.path.exists(self.scratch + ".cut-off"):
            raise NotFoundError("there is no such store")


_DISK = ("disk", "failing_calls", "foreign_entries", "device_files", "crashing")


@broken("failing_calls", saying="list('') gave []", also=_DISK)
class ListsNothingOnAnError(Files):
    def list(self, locator):
        try:
            return super().list(locator)
        except AgentmError:
            return []


@broken("failing_calls", saying="exists gave False", also=_DISK)
class ExistsNotOnAnError(Files):
    def exists(self, locator):
        try:
            return super().exists(locator)
        except AgentmError:
            return False


@broken("failing_calls", saying="read reported absence", also=_DISK)
class ReadsAbsenceOnAnError(Files):
    def read(self, locator):
        try:
            return super().read(locator)
        except StorageIOError as error:
            raise NotFoundError(f"'{locator}' does not exist") from error
