"""AIP-38: is this action granted to whoever asks? What no grant allows is denied, and each answer has a reason.

Several policies compose: their grants add up, one of them that denies by default is enough to deny, and all of their
requirements and limits hold.
"""

from __future__ import annotations

from agentm_kernel.plugin import COMMIT, PUSH, SWAP_PROVIDER, Frozen
from agentm_storage_policy import audit
from agentm_storage_policy.actions import DELETE_FILES, READ, WRITE, plain_action

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from agentm_storage_policy.definition import Data
    from agentm_storage_policy.host import Actor

__all__ = ["COMMIT", "DELETE_FILES", "PUSH", "READ", "SWAP_PROVIDER", "WRITE", "Decision", "Grants", "Policy"]

_BETTER_REASONS = ("explicit-revoke", "ttl-expired", "condition-failed")
"""Why a grant that would have fitted does not count; the later ones say more."""


class Decision(Frozen):
    """The record of one answer."""

    __slots__ = ("allowed", "reason", "action", "principal", "grant", "policies")
    allowed: bool
    reason: str
    """One of AIP-38's: no-grant, condition-failed, requirement-failed, limit-exceeded, explicit-revoke, ttl-expired,
    matched-grant.
    """
    action: str
    principal: str
    grant: str | None
    """Which grant decided: `POLICY.md: grants.2`."""
    policies: tuple[str, ...]
    """Everything that had a say, in its order."""

    def __init__(
        self,
        allowed: bool,
        reason: str,
        action: str,
        principal: str,
        grant: str | None = None,
        policies: tuple[str, ...] = (),
    ) -> None:
        self._set(allowed=allowed, reason=reason, action=action, principal=principal, grant=grant, policies=policies)

    def fields(self) -> dict[str, object]:
        """For the audit log."""
        return {name: getattr(self, name) for name in self.__slots__}


class Policy(Frozen):
    """One policy and where it comes from."""

    __slots__ = ("source", "data")
    source: str
    data: Data

    def __init__(self, source: str, data: Data) -> None:
        self._set(source=source, data=data)


class Grants:
    """The composed policies of one store, for one actor. Without a policy everything is granted."""

    def __init__(
        self,
        policies: Sequence[Policy],
        actor: Actor,
        *,
        email_in_file: Callable[[str, str], str | None] = lambda _path, _source: None,
        is_within_limit: Callable[[str, float, str], bool] = lambda _limit, _value, _per: True,
        now: Callable[[], float] | None = None,
    ) -> None:
        from time import time

        self._policies = tuple(policies)
        self._actor = actor
        self._email_in_file = email_in_file
        self._is_within_limit = is_within_limit
        self._now = now or time
        self._warned: set[str] = set()

    def decide(self, action: str, key: str | None = None, *, counted: bool = True) -> Decision:
        """Whether the actor may do `action`, to the note `key` where it is about one.

        A limit counts each time it is asked; with `counted` false, only to know, it is passed over.
        """
        if not self._policies:
            return self._answer(True, "no-grant", action)
        granted, reason = None, "no-grant"
        for source, grant in self._fitting(action, key):
            obstacle = self._obstacle(grant)
            if obstacle is None:
                granted, reason = source, "matched-grant"
                break
            reason = max(reason, obstacle, key=_weight)
        if granted is None and (reason != "no-grant" or not self._allows_by_default()):
            return self._answer(False, reason, action)
        if self._fails_requirement(action):
            return self._answer(False, "requirement-failed", action, granted)
        if counted and self._exceeds_limit(action):
            return self._answer(False, "limit-exceeded", action, granted)
        return self._answer(True, reason, action, granted)

    @property
    def defaults_to_read_only(self) -> bool:
        """Whether a policy makes stores read-only that say nothing about it themselves."""
        return any(policy.data.get("defaults", {}).get("storage", {}).get("read_only") for policy in self._policies)

    def _answer(self, allowed: bool, reason: str, action: str, grant: str | None = None) -> Decision:
        sources = tuple(policy.source for policy in self._policies)
        return Decision(allowed, reason, action, f"user://{self._actor.user}", grant, sources)

    def _allows_by_default(self) -> bool:
        return all(policy.data.get("default", "deny") == "allow" for policy in self._policies)

    # -- grants ---------------------------------------------------------------------------------------------

    def _fitting(self, action: str, key: str | None) -> Iterator[tuple[str, Data]]:
        """The grants of this action to this actor, whether or not they hold now."""
        for policy in self._policies:
            for number, grant in enumerate(policy.data.get("grants", ())):
                fits = any(self._covers(entry, action, key) for entry in grant["actions"])
                if fits and self._is_principal(grant["principal"], policy.source):
                    yield f"{policy.source}: grants.{number}", grant

    def _is_principal(self, principal: Any, source: str) -> bool:
        actor = self._actor
        if isinstance(principal, dict):
            if "file" in principal:
                email = self._email_in_file(principal["file"], source)
                return email is not None and email == actor.email
            if "ref" not in principal:
                return actor.email is not None and principal["email"] == actor.email
            principal = principal["ref"]
        own = {"*", "user://current", f"user://{actor.user}", *actor.groups}
        own |= {f"role://{role}" for role in actor.roles} | {f"group://{group}" for group in actor.groups}
        if actor.operator is not None:
            own |= {"operator://current", f"operator://{actor.operator}"}
        return principal in own

    def _covers(self, entry: Data, action: str, key: str | None) -> bool:
        if not self._is_action(entry["action"], action):
            return False
        scope = entry.get("scope")
        if scope is None:
            return True
        prefix = scope.strip("/").removesuffix("/**").removesuffix("/*")
        return key is not None and (key == prefix or key.startswith(f"{prefix}/"))

    def _is_action(self, pattern: str, action: str) -> bool:
        if pattern.endswith("*"):
            return action.startswith(pattern[:-1])
        pattern = plain_action(pattern)
        if pattern.startswith(("@", "./", "../")):
            self._warn(f"the policy grants an action that is not in a library agentm knows: {pattern}")
        return pattern == action

    def _obstacle(self, grant: Data) -> str | None:
        if grant.get("revoked"):
            return "explicit-revoke"
        if "ttl_seconds" in grant and self._has_expired(grant):
            return "ttl-expired"
        if not all(self._holds(condition) for condition in grant.get("conditions", ())):
            return "condition-failed"
        return None

    def _has_expired(self, grant: Data) -> bool:
        if "granted_at" not in grant:
            return True
        from datetime import datetime

        granted = datetime.fromisoformat(grant["granted_at"].upper())
        return self._now() >= granted.timestamp() + float(grant["ttl_seconds"])

    # -- conditions, requirements, limits -------------------------------------------------------------------

    def _holds(self, condition: Data) -> bool:
        if condition["kind"] == "during-business-hours":
            from agentm_storage_policy.business_hours import is_open

            answer = is_open(condition, self._now())
            if answer is None:
                self._warn("a condition during-business-hours cannot be understood, so it does not hold")
            return bool(answer)
        self._warn(f"agentm cannot check the condition '{condition['kind']}', so it does not hold")
        return False

    def _fails_requirement(self, action: str) -> bool:
        """There is nobody to ask for a second factor, a signature or an approval, so each of them is unfulfilled."""
        for policy in self._policies:
            for requirement in policy.data.get("requirements", ()):
                if self._applies(requirement, action):
                    self._warn(f"agentm cannot fulfil the requirement '{requirement['kind']}' of {policy.source}")
                    return True
        return False

    def _exceeds_limit(self, action: str) -> bool:
        if action == READ:
            return False  # reading leaves no trace, so it cannot be counted
        for policy in self._policies:
            for number, limit in enumerate(policy.data.get("limits", ())):
                if not self._applies(limit, action):
                    continue
                if limit["kind"] != "rate-tool-calls" or "per" not in limit:
                    self._warn(f"the limit '{limit['kind']}' does not concern storage and is passed over")
                elif not self._is_within_limit(f"{policy.source}#{number}", limit["value"], limit["per"]):
                    return True
        return False

    def _applies(self, entry: Data, action: str) -> bool:
        actions = entry.get("applies_to")
        return not actions or any(self._is_action(pattern, action) for pattern in actions)

    def _warn(self, message: str) -> None:
        if message not in self._warned:
            self._warned.add(message)
            audit.warn(message)


def _weight(reason: str) -> int:
    return _BETTER_REASONS.index(reason) if reason in _BETTER_REASONS else -1
