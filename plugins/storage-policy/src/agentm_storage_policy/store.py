"""What `storage.policy` selects: the policy's provider as backend `policy`, and the wrapper that keeps its rules.

The rules stand twice in the way. The wrapper is the outermost layer, so that what is forbidden touches nothing below,
not even the store's identity; the backend itself keeps them too, for whoever reaches it without the wrapper.
"""

from __future__ import annotations

import os

from agentm_kernel.plugin import Rules, StorageSelectionError, WatchedStore, WorkingCopy
from agentm_storage_policy.gate import AccessRules, PolicyGate
from agentm_storage_policy.host import Host
from agentm_storage_policy.lifecycle import DELETE, WRITE
from agentm_storage_policy.opening import open_provider
from agentm_storage_policy.resolving import Resolver

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Self

    from agentm_kernel.plugin import Absent, Device, Locator, Opening, StorageBackend
    from agentm_storage_policy.errors import Finding
    from agentm_storage_policy.grants import Grants
    from agentm_storage_policy.resolving import Resolved
    from agentm_storage_policy.sync import Report, SyncDriver


class PolicyStore(PolicyGate, Rules):
    """The store that a policy describes. Option `path`: the STORAGE.md; the rest is `Host`'s."""

    def __init__(
        self,
        inner: StorageBackend,
        rules: AccessRules,
        driver: SyncDriver | None = None,
        warnings: tuple[Finding, ...] = (),
    ) -> None:
        super().__init__(inner, rules, counts=True)
        self.driver = driver
        self.warnings = warnings
        """What is allowed and questionable about the document."""

    own_wrappers = ("policy",)

    @classmethod
    def create(cls, options: Mapping[str, Any], device: Device, opening: Opening) -> Self:
        path = options.get("path")
        if not isinstance(path, str) or not path:
            raise StorageSelectionError(
                "the backend 'policy' is selected, but no policy is named",
                hint="run `agentm config set storage.policy PATH`",
            )
        host = Host(options, device, opening)
        resolver = Resolver(host)
        resolved = resolver.follow(resolver.open_file(os.path.abspath(device.expand(path))))
        return cls.of(resolved, host, resolver)

    @classmethod
    def of(cls, resolved: Resolved, host: Host, resolver: Resolver) -> Self:
        """Open what a block describes, under its rules."""
        backend = open_provider(resolved, host, resolver)
        grants = _grants(resolved, host, resolver)
        rules = AccessRules(resolved.name, is_read_only(resolved, grants), grants, host.opening)
        driver = None
        copy = backend.facet(WorkingCopy)
        if copy is not None:
            driver = _driver(copy, backend.describe(), resolved, rules, host, resolver)
        return cls(backend, rules, driver, resolved.place.document.warnings)

    # -- the rules, for whoever asks --------------------------------------------------------------------------

    @property
    def read_only(self) -> bool:
        return self.rules.read_only

    def require(self, action: str, locator: Locator | None = None) -> None:
        self.rules.require(action, locator)

    # -- verbs that others have to hear of --------------------------------------------------------------------

    def write(self, locator: Locator, content: str, *, if_match: str | Absent | None = None) -> Locator:
        self._require_write(locator)
        self._before()
        self.inner.write(locator, content, if_match=if_match)
        self._after(WRITE, locator)
        return locator

    def delete(self, locator: Locator, *, if_match: str | None = None) -> None:
        self._require_delete(locator)
        self._before()
        self.inner.delete(locator, if_match=if_match)
        self._after(DELETE, locator)

    def _before(self) -> None:
        if self.driver is not None:
            self.driver.before_write()

    def _after(self, event: str, locator: Locator) -> None:
        if self.driver is not None:
            self.driver.after_write(event, locator.key)

    # -- events -----------------------------------------------------------------------------------------------

    def handle(self, event: str, payload: Mapping[str, object]) -> Report:
        """Do what the policy wants done at this event, and say what was done."""
        if self.driver is not None:
            return self.driver.handle(event, payload)
        from agentm_storage_policy.sync import Report

        report = Report()
        watched = self.inner.facet(WatchedStore)
        if watched is not None:
            report.lines += _told(watched)
        return report

    def flush(self) -> Report:
        """Commit what waits, and push it where the policy pushes by hand or after every commit."""
        return self.handle("manual", {})


def wrap(backend: StorageBackend, _options: Mapping[str, Any], _device: Device, _opening: Opening) -> PolicyGate:
    """The wrapper `policy`: the same rules, outermost."""
    store = policy_store(backend)
    if store is None:
        raise StorageSelectionError(
            "the wrapper 'policy' belongs to a store that storage.policy selects, and this is another one",
            hint="take 'policy' out of `wrappers`; `agentm config set storage.policy PATH` puts it there by itself",
        )
    return PolicyGate(backend, store.rules, counts=False)


def policy_store(backend: StorageBackend) -> PolicyStore | None:
    """The policy's store inside of the layers around it."""
    found = backend.facet(Rules)
    return found if isinstance(found, PolicyStore) else None


def is_read_only(resolved: Resolved, grants: Grants | None) -> bool:
    """What the block says, or else the manifest around it, or else the defaults of the access policies."""
    if resolved.read_only is not None:
        return resolved.read_only
    return grants is not None and grants.defaults_to_read_only


def _told(store: WatchedStore) -> list[str]:
    shown = 5
    changes = store.scan()
    if not changes:
        return []
    names = ", ".join(f"{change.locator} ({change.event})" for change in changes[:shown])
    more = f" and {len(changes) - shown} more" if len(changes) > shown else ""
    return [f"changed by others: {names}{more}"]


def _grants(resolved: Resolved, host: Host, resolver: Resolver) -> Grants | None:
    if not resolved.policies:
        return None
    from agentm_storage_policy.composing import compose

    return compose(resolved, host, resolver)


def _driver(
    copy: WorkingCopy, place: str, resolved: Resolved, rules: AccessRules, host: Host, resolver: Resolver
) -> SyncDriver:
    from agentm_storage_policy.identity import authors
    from agentm_storage_policy.sync import SyncDriver
    from agentm_storage_policy.sync_state import SyncState

    state = SyncState(host.opening.state_dir, place, may_write=not host.opening.read_only)
    return SyncDriver(
        copy,
        resolved.definition.sync,
        rules,
        state,
        lambda: authors(resolved.identity, host, resolver, copy.operator),
    )
