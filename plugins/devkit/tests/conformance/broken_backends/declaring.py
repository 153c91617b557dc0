"""Backends that say the wrong thing about themselves."""

from __future__ import annotations

import os

from broken_backends.table import Memory, broken

from agentm_kernel.seam.locator import Locator
from agentm_kernel.seam.values import Capabilities, Info


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
