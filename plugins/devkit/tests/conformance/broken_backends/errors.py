"""Backends whose errors do not reach the reader."""

from __future__ import annotations

from broken_backends.table import Memory, broken

from agentm_kernel.errors import NotFoundError


def _local_error():
    class Missing(NotFoundError):
        """A class that nobody can import."""

    return Missing


@broken("errors_pickle", saying="Missing does not: AttributeError: Can't ")
class RaisesAnErrorOfItsOwn(Memory):
    _error = _local_error()

    def read(self, locator):
        try:
            return super().read(locator)
        except NotFoundError as error:
            raise self._error(str(error)) from None


@broken("errors_name_the_key", saying="NotFoundError says 'not found'")
class SaysOnlyNotFound(Memory):
    def read(self, locator):
        try:
            return super().read(locator)
        except NotFoundError:
            raise NotFoundError("not found") from None
