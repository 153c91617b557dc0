"""File stores that a killed writer leaves in disorder."""

from __future__ import annotations

import os
import time

from broken_backends.table import Files, broken, is_large

from agentm_kernel.errors import NotFoundError


class _Slow(Files):
    """Leaves a trace in the directory while it writes something large."""

    def trace(self, locator):
        raise NotImplementedError

    def write(self, locator, content, *, if_match=None):
        if not is_large(content):
            return super().write(locator, content, if_match=if_match)
        self.mkdir(locator.parent)
        with open(self.trace(locator), "wb"):
            time.sleep(0.02)
        os.unlink(self.trace(locator))
        return super().write(locator, content, if_match=if_match)


@broken("killed_writer_leaves_no_entry", saying="the set of keys gave", also=("leftovers_are_swept",))
class ShowsItsTempFiles(_Slow):
    def trace(self, locator):
        return self.device_path(locator) + ".tmp"


@broken("leftovers_are_swept", saying="the directory on disk gave")
class NeverSweeps(_Slow):
    def trace(self, locator):
        return os.path.join(self.device_path(locator.parent), f".agentm-{os.getpid()}.part")


@broken("killed_writer_tears_nothing", saying="acknowledged, the note holds")
class AcknowledgesEarly(Files):
    """Keeps the latest large note in memory, and writes it when the next one comes."""

    def __init__(self, scratch):
        super().__init__(scratch)
        self._pending = {}

    def write(self, locator, content, *, if_match=None):
        if not is_large(content):
            return super().write(locator, content, if_match=if_match)
        if locator in self._pending:
            super().write(locator, self._pending[locator])
        self._pending[locator] = content
        return locator

    def read(self, locator):
        return self._pending[locator] if locator in self._pending else super().read(locator)

    def info(self, locator):
        try:
            return super().info(locator)
        except NotFoundError:
            if locator not in self._pending:
                raise
            super().write(locator, self._pending.pop(locator))
            return super().info(locator)
