"""A policy in sentences: what will happen on this device when it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentm_storage_policy.actions import DELETE_FILES, READ, WRITE
from agentm_storage_policy.endpoints import is_allowed
from agentm_storage_policy.grants import COMMIT, PUSH, SWAP_PROVIDER
from agentm_storage_policy.lifecycle import MANUAL, WRITE as WRITE_EVENT
from agentm_storage_policy.providers import DISTRIBUTIONS, PULL_PUSH, WATCH
from agentm_storage_policy.store import is_read_only

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentm_storage_policy.definition import SyncPlan
    from agentm_storage_policy.grants import Grants
    from agentm_storage_policy.host import Host
    from agentm_storage_policy.resolving import Resolved

_PLACES = {
    "cloud-bucket": "the bucket {bucket}",
    "self-bucket": "the {kind} bucket {bucket} at {endpoint}",
    "github": "a clone of the GitHub repository {owner}/{repo}, branch {branch}",
    "local-fs": "the folder {mount_path}, which other programs may edit",
    "dev-local": "the folder {root}, for development",
    "mastra-s3": "the bucket {bucket}",
    "mastra-azure": "the container {container}",
}
_CONFLICTS = {
    "rebase": "the changes made here are put on top of those of the origin",
    "merge": "the two are merged",
    "abort": "nothing is changed, and the error storage_conflict says so",
    "manual": "both versions are kept, and you settle it by hand",
    "last-writer-wins": "the later one stands, and the other is kept out of the way",
    "split-conflicts": "both stand, the other one beside the note",
}
_DOING = {
    READ: "read",
    WRITE: "write",
    DELETE_FILES: "delete",
    COMMIT: "commit",
    PUSH: "push",
    SWAP_PROVIDER: "take the notes to another store",
}


def sentences(resolved: Resolved, host: Host, grants: Grants | None) -> Iterator[str]:
    """What will happen, the most important first."""
    definition = resolved.definition
    if len(resolved.trail) > 1:
        yield f"The storage block is in {resolved.place.document.file}."
    yield f"Notes lie in {_place(resolved)}{_below(resolved)}."
    if definition.provider in DISTRIBUTIONS:
        yield f"The provider {definition.provider} comes with {DISTRIBUTIONS[definition.provider]}."
    else:
        yield f"The provider {definition.provider} is this host's own and checks its config when it is opened."
    if is_read_only(resolved, grants):
        yield "The store is read-only: every write fails with storage_read_only before it reaches the store."
    yield from _endpoint(resolved, host)
    yield from _secrets(resolved)
    yield from _sync(definition.sync)
    if definition.exclude and definition.sync.mode != "canonical":
        yield f"Not mirrored: {', '.join(definition.exclude)} (patterns as in .gitignore)."
    yield from _rights(host, grants)


def _place(resolved: Resolved) -> str:
    template = _PLACES.get(resolved.definition.provider, "wherever its plugin puts them")
    return template.format_map(resolved.definition.config)


def _below(resolved: Resolved) -> str:
    prefix = resolved.definition.config.get("prefix")
    return f", below {prefix}" if prefix else ""


def _endpoint(resolved: Resolved, host: Host) -> Iterator[str]:
    endpoint = resolved.definition.config.get("endpoint")
    if isinstance(endpoint, str) and not is_allowed(endpoint, host.endpoints):
        yield "This device does not allow that endpoint yet (plugins.policy.endpoints), so opening is refused."


def _secrets(resolved: Resolved) -> Iterator[str]:
    definition = resolved.definition
    slug = definition.config.get("credentials_ref")
    if definition.auth_ref is None and slug is None:
        yield "No credentials are used."
        return
    where = definition.auth_ref or ".secrets/SECRETS.md"
    what = ", ".join(definition.auth_env or ()) or (f"the secret {slug}" if slug else "what the provider asks for")
    yield f"Credentials come from the environment ({what}), if {where} allows it; each use is recorded."


def _sync(plan: SyncPlan) -> Iterator[str]:
    if plan.mode == WATCH:
        yield f"When another program changed a note meanwhile: {_CONFLICTS[plan.conflict_policy]}."
        yield "Changes of others are noticed at every event (`agentm event …`), or at once by a host that watches."
    elif plan.mode == PULL_PUSH:
        ttl = f", unless that was done in the last {plan.pull_ttl} s" if plan.pull_ttl else ""
        yield f"Pulled {_when(plan.pull_on)}{ttl}; never over changes that are not committed."
        yield f"Committed {_when(plan.commit_on, plan.commit_window)}."
        yield f"Pushed {_when(plan.push_on)}, to {_branch(plan)}."
        yield f"When the origin has moved on: {_CONFLICTS[plan.conflict_policy]}. Never a force push."
    else:
        yield "There is one copy: reads and writes go straight to it, and no event pulls, commits or pushes anything."


def _when(event: str | None, window: float = 0) -> str:
    if event == MANUAL:
        return "only when you say so (`agentm event manual`)"
    if event == WRITE_EVENT:
        return f"after writes, gathered for {window:g} s" if window else "after every write"
    return f"at {event}"


def _branch(plan: SyncPlan) -> str:
    branch = "its branch" if plan.branch_policy == "main" else f"a branch {plan.branch_policy}"
    requests = {
        "none": "",
        "auto": ", with a pull request",
        "manual": ", and you are told how to open a pull request",
    }
    return branch + requests[plan.pr_policy]


def _rights(host: Host, grants: Grants | None) -> Iterator[str]:
    if grants is None:
        yield "No access policy applies: whoever can open the store on this device may use it."
        return
    decisions = {action: grants.decide(action, counted=False) for action in _DOING}
    if decisions[WRITE].allowed:  # whoever may write may delete
        decisions[DELETE_FILES] = decisions[WRITE]
    allowed = [_DOING[action] for action, decision in decisions.items() if decision.allowed]
    denied = [f"{_DOING[action]} ({d.reason})" for action, d in decisions.items() if not d.allowed]
    yield f"As {host.actor.user} you may {', '.join(allowed) or 'do nothing'}."
    if denied:
        yield f"You may not {', '.join(denied)}."
