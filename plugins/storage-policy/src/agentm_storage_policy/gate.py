"""The rules of a policy in front of a backend: what they forbid never reaches it."""

from __future__ import annotations

from agentm_kernel.plugin import (
    STAMP_KEY,
    BackendLayer,
    DeviceCopy,
    DeviceFiles,
    Identity,
    Locator,
    PersonalSpace,
    Rules,
    Sealed,
    StorageReadOnlyError,
    Unguarded,
    WatchedStore,
    WorkingCopy,
)
from agentm_storage_policy import audit
from agentm_storage_policy.errors import StorageDeniedError
from agentm_storage_policy.grants import COMMIT, DELETE_FILES, PUSH, READ, SWAP_PROVIDER, WRITE

TYPE_CHECKING = False
if TYPE_CHECKING:
    import builtins
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from agentm_kernel.plugin import Absent, Info, Opening, StorageBackend
    from agentm_storage_policy.grants import Grants

_REMEDIES = {
    "requirement-failed": "agentm cannot fulfil the requirement; do it where that is possible, or change the policy",
    "limit-exceeded": "wait, or raise the limit in the policy",
    "ttl-expired": "ask whoever grants it to renew the grant",
    "explicit-revoke": "the grant was revoked: ask whoever did it",
}
_WHO = "who you are is said by plugins.policy.user, operator, roles and groups: `agentm config list`"


class AccessRules:
    """What may be done to the store of one policy."""

    def __init__(self, name: str, read_only: bool, grants: Grants | None, opening: Opening) -> None:
        self.name = name
        self.read_only = read_only
        self._grants = grants
        self._opening = opening

    def require_read(self, locator: Locator) -> None:
        self.require(READ, locator)

    def require_write(self, locator: Locator, *, counted: bool = True) -> None:
        self._require_writable(f"'{locator}' was not written")
        self.require(WRITE, locator, counted=counted)

    def require_delete(self, locator: Locator, *, counted: bool = True) -> None:
        """A grant to delete is enough, and so is one to write."""
        self._require_writable(f"'{locator}' was not deleted")
        decision = self._grants.decide(DELETE_FILES, locator.key, counted=False) if self._grants else None
        may_delete = decision is not None and decision.reason == "matched-grant"
        self.require(DELETE_FILES if may_delete else WRITE, locator, counted=counted)

    def require_step(self, action: str) -> None:
        """Something that no verb shows: to record or send what was written, or to take it to another store."""
        if action in (COMMIT, PUSH):
            self._require_writable("nothing was sent")
        self.require(action)

    def _require_writable(self, outcome: str) -> None:
        if self.read_only:
            raise StorageReadOnlyError(
                f"{outcome}: the policy {self.name} declares the store read-only",
                hint="writing needs read_only: false in the policy",
            )

    def require(self, action: str, locator: Locator | None = None, *, counted: bool = True) -> None:
        """Raise unless the action is granted. A denial is recorded, and so are the steps that others can see.

        `counted` is whether this is the act itself: whoever only asks whether it would be allowed uses up no limit.
        """
        if self._grants is None:
            if action == SWAP_PROVIDER:
                self._record({"allowed": True, "reason": "no-policy", "action": action}, always=True)
            return
        decision = self._grants.decide(action, None if locator is None else locator.key, counted=counted)
        if not decision.allowed or action in (COMMIT, PUSH, SWAP_PROVIDER):
            self._record(decision.fields(), always=action == SWAP_PROVIDER)
        if not decision.allowed:
            about = f" '{locator}'" if locator is not None else ""
            raise StorageDeniedError(
                f"the policy {self.name} does not grant {action}{about}: {decision.reason}",
                hint=_REMEDIES.get(decision.reason, _WHO),
                decision=decision,
            )

    def _record(self, fields: Mapping[str, object], *, always: bool) -> None:
        audit.record(self._opening, "storage.decision", {"storage": self.name, **fields}, always=always)


class PolicyGate(BackendLayer):
    """Asks the rules before every verb. `counts` is whether limits are counted here, or at another gate below."""

    passes = (DeviceFiles, DeviceCopy, PersonalSpace, Identity, Rules, Unguarded, Sealed, WorkingCopy, WatchedStore)

    def __init__(self, inner: StorageBackend, rules: AccessRules, *, counts: bool) -> None:
        super().__init__(inner)
        self.rules = rules
        self._counts = counts

    def _require_write(self, locator: Locator) -> None:
        self.rules.require_write(locator, counted=self._counts)

    def _require_delete(self, locator: Locator) -> None:
        self.rules.require_delete(locator, counted=self._counts)

    def read(self, locator: Locator) -> str:
        self.rules.require_read(locator)
        return self.inner.read(locator)

    def list(self, locator: Locator) -> builtins.list[Locator]:
        self.rules.require_read(locator)
        return self.inner.list(locator)

    def exists(self, locator: Locator) -> bool:
        self.rules.require_read(locator)
        return self.inner.exists(locator)

    def info(self, locator: Locator) -> Info:
        self.rules.require_read(locator)
        return self.inner.info(locator)

    def walk(self, locator: Locator) -> Iterator[Info]:
        self.rules.require_read(locator)
        return self.inner.walk(locator)

    def foreign_entries(self, locator: Locator) -> Iterator[str]:
        self.rules.require_read(locator)
        return self.inner.foreign_entries(locator)

    def write(self, locator: Locator, content: str, *, if_match: str | Absent | None = None) -> Locator:
        self._require_write(locator)
        return self.inner.write(locator, content, if_match=if_match)

    def mkdir(self, locator: Locator) -> Locator:
        self._require_write(locator)
        return self.inner.mkdir(locator)

    def make_place(self) -> None:
        self._require_write(Locator(STAMP_KEY))
        self.inner.make_place()

    def check_allowed(self, action: str) -> None:
        if self._counts:  # the gate inside is asked; two of them would record everything twice
            self.rules.require_step(action)
        self.inner.check_allowed(action)

    def delete(self, locator: Locator, *, if_match: str | None = None) -> None:
        self._require_delete(locator)
        self.inner.delete(locator, if_match=if_match)

    def wrap_facet(self, kind: type[Any], found: Any) -> Any:
        """What reads or writes notes by another way than the verbs asks the rules first, too."""
        if kind is DeviceFiles:
            return _ReadableFiles(found, self.rules.require_read)
        return _WritablePersonalSpace(found, self._require_write) if kind is PersonalSpace else found


class _ReadableFiles(DeviceFiles):
    """Paths of what may be read."""

    def __init__(self, files: DeviceFiles, require_read: Callable[[Locator], None]) -> None:
        self._files = files
        self._require_read = require_read

    def device_path(self, locator: Locator) -> str:
        self._require_read(locator)
        return self._files.device_path(locator)


class _WritablePersonalSpace(PersonalSpace):
    """Personal notes, which the policy allows or forbids as it does those of the store."""

    def __init__(self, space: PersonalSpace, require_write: Callable[[Locator], None]) -> None:
        self._space = space
        self._require_write = require_write

    def personal_path(self, locator: Locator) -> str:
        return self._space.personal_path(locator)

    def write_personal(
        self,
        locator: Locator,
        content: str,
        *,
        authorization: object,
        if_match: str | Absent | None = None,
    ) -> Locator:
        self._require_write(locator)
        return self._space.write_personal(locator, content, authorization=authorization, if_match=if_match)
