"""Backends that say the wrong thing about themselves."""

from __future__ import annotations

import os

from broken_backends.table import Memory, broken

from agentm_kernel.errors import NotFoundError
from agentm_kernel.files.store import FileStore
from agentm_kernel.seam import Capabilities, Info
from agentm_kernel.seam.locator import Locator
from agentm_kernel.state.mirrored import MirroredState


@broken("capabilities_type", saying="it is {'delete': True}", also=("delete_refused",))
class CapabilitiesAsDictionary(Memory):
    @property
    def capabilities(self):
        return {"delete": True}


@broken("capabilities_constant", saying="asking again after a write gave")
class DiscoversSyncLater(Memory):
    @property
    def capabilities(self):
        return Capabilities(sync=bool(self._notes), delete=True)


@broken("capabilities_cheap", saying="asking for it called stat")
class LooksAtTheDiskForCapabilities(Memory):
    @property
    def capabilities(self):
        return Capabilities(sync=os.path.exists(self.scratch), delete=True)


class Elsewhere(FileStore):
    capabilities = Capabilities(concurrent_writers=True, delete=True)


@broken("copied_store_is_synced", saying="it has the facet DeviceCopy and no `sync`")
class KeepsACopyForNobody(MirroredState):
    def __init__(self, scratch):
        super().__init__(Elsewhere(os.path.join(scratch, "store"), create_root=True), os.path.join(scratch, "mirror"))


@broken("api_version", saying="api_version gave 99 and not 1")
class FromTheFuture(Memory):
    api_version = 99


@broken("describe", saying=r"it gave 'a store\nsomewhere'")
class DescribesInTwoLines(Memory):
    def describe(self):
        return "a store\nsomewhere"


@broken("tier_layout", saying="it is None")
class HasNoTiers(Memory):
    tier_layout = None


@broken("new_store_is_empty", saying="list('') gave [Locator('README.md')]")
class WelcomesWithAReadme(Memory):
    def list(self, locator):
        if not locator.key and self._directories == {Locator()} and not self._notes:
            return [Locator("README.md")]
        return super().list(locator)


@broken("root_is_a_directory", saying="exists('') gave False")
class HasNoRootUntilWritten(Memory):
    def exists(self, locator):
        return super().exists(locator) and (bool(self._notes) or bool(locator.key))


@broken("root_is_a_directory", saying="info('').is_dir gave False")
class RootIsNoDirectory(Memory):
    def info(self, locator):
        return super().info(locator) if locator.key else Info(locator, False, 0, 0.0, "")


@broken("resolve", saying="resolve() gave None")
class ResolvesNothingToNone(Memory):
    def resolve(self, *parts):
        return super().resolve(*parts) if parts else None


@broken("resolve", saying="resolve('a', 'b/c.md') gave 'a/b/c.md'", also=("absolute_keys",))
class ResolvesToText(Memory):
    def resolve(self, *parts):
        locator = super().resolve(*parts)
        return locator if len(parts) < 2 else locator.key


@broken("describe_is_the_same", saying="another opening's describe() gave", also=("routing",))
class DescribesThisOpening(Memory):
    def describe(self):
        return f"opened as {id(self)}"


@broken("no_secret_is_told", saying="describe() has what looks like one")
class ShowsThePasswordOfItsAddress(Memory):
    def describe(self):
        return "redis://ana:correct-horse-9@db.example:6379/0"


@broken("no_secret_is_told", saying="an error has one that the store was opened with", secrets=("s3cr3t-t0ken",))
class ShowsItsTokenInErrors(Memory):
    def read(self, locator):
        try:
            return super().read(locator)
        except NotFoundError as error:
            raise NotFoundError(f"GET /{locator}?token=s3cr3t-t0ken: {error}") from None


@broken("no_secret_is_told", saying="repr() has one that the store was opened with", secrets=("s3cr3t-t0ken",))
class ShowsItsTokenInItsRepr(Memory):
    def __repr__(self):
        return "Store(token='s3cr3t-t0ken')"
