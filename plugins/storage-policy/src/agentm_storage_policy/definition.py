"""What a valid storage block means: aliases resolved, defaults applied, one shape whatever the document looked like.

This is what the rest of the plugin works with. It is made from plain values, so that a hook that finds its policy
compiled pays neither for YAML nor for the models.
"""

from __future__ import annotations

from agentm_kernel.plugin import Frozen
from agentm_storage_policy import lifecycle
from agentm_storage_policy.providers import CANONICAL, MODES, PULL_PUSH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    Data = Mapping[str, Any]

DEFAULT_WINDOW_MS = 5_000
TOKENS = ("operator", "summary", "event", "conversation", "turn")
"""What a message template can have filled in."""
DEFAULT_MESSAGE = "agentm: {{summary}}"
_FOLDER_KEYS = {"local-fs": "mount_path", "dev-local": "root"}


class SyncPlan(Frozen):
    """When to pull, commit and push. An event is `None` where the mode knows no such step."""

    __slots__ = (
        "mode",
        "pull_on",
        "pull_ttl",
        "commit_on",
        "commit_window",
        "message_template",
        "push_on",
        "branch_policy",
        "pr_policy",
        "conflict_policy",
    )
    mode: str
    pull_on: str | None
    pull_ttl: int | None
    """Seconds for which what was pulled is good enough."""
    commit_on: str | None
    commit_window: float
    """Seconds for which writes are gathered before they are committed."""
    message_template: str
    push_on: str | None
    branch_policy: str
    pr_policy: str
    conflict_policy: str

    def __init__(self, provider: str, sync: Data) -> None:
        mode = sync.get("mode") or MODES.get(provider, CANONICAL)
        pull, commit, push = sync.get("pull", {}), sync.get("commit", {}), sync.get("push", {})
        has_origin = mode == PULL_PUSH
        self._set(
            mode=mode,
            pull_on=_event(pull, lifecycle.WORKSPACE_OPEN) if has_origin else None,
            pull_ttl=int(pull["ttl_seconds"]) if "ttl_seconds" in pull else None,
            commit_on=_event(commit, lifecycle.TURN_END) if has_origin else None,
            commit_window=int(commit.get("batch_window_ms", DEFAULT_WINDOW_MS)) / 1000,
            message_template=commit.get("message_template", DEFAULT_MESSAGE),
            push_on=_event(push, lifecycle.CONVERSATION_END) if has_origin else None,
            branch_policy=push.get("branch_policy", "main"),
            pr_policy=push.get("pr_policy", "none"),
            conflict_policy=sync.get("conflict", {}).get("policy") or ("rebase" if has_origin else "abort"),
        )

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("a sync plan is made from its document")


class StorageDefinition(Frozen):
    """One storage block, checked."""

    __slots__ = (
        "id",
        "version",
        "provider",
        "config",
        "sync",
        "auth_ref",
        "auth_env",
        "identity",
        "policies",
        "exclude",
        "read_only",
        "metadata",
    )
    id: str | None
    version: str | None
    provider: str
    config: Data
    sync: SyncPlan
    auth_ref: str | None
    auth_env: tuple[str, ...] | None
    """The environment variables that may be revealed; `None` where the block does not say."""
    identity: tuple[Data, ...]
    policies: tuple[Data, ...]
    exclude: tuple[str, ...]
    read_only: bool | None
    """`None` where the block does not say, and what surrounds it decides."""
    metadata: Data

    def __init__(self, block: Data) -> None:
        auth = block.get("auth", {})
        env = auth.get("state", {}).get("env")
        self._set(
            id=block.get("id"),
            version=block.get("version"),
            provider=block["provider"],
            config=_config(block["provider"], block["config"]),
            sync=SyncPlan(block["provider"], block.get("sync", {})),
            auth_ref=auth.get("ref"),
            auth_env=None if env is None else tuple(env),
            identity=entries(block.get("identity")),
            policies=entries(block.get("policy")),
            exclude=tuple(block.get("exclude", ())),
            read_only=block.get("read_only"),
            metadata=dict(block.get("metadata", {})),
        )


def entries(block: Any) -> tuple[Data, ...]:
    """The entries of a block that is one entry, a list of them, or not there."""
    if block is None:
        return ()
    return tuple(block) if isinstance(block, list) else (block,)


def _event(trigger: Data, default: str) -> str:
    return lifecycle.canonical(trigger.get("on", default))


def _config(provider: str, config: Data) -> Data:
    """The provider's configuration with one spelling for everything."""
    known = dict(config)
    if provider in _FOLDER_KEYS and "path" in known:
        known[_FOLDER_KEYS[provider]] = known.pop("path")
    if provider == "github":
        known.setdefault("branch", "main")
        if "owner" not in known:
            known["owner"], _, known["repo"] = known["repo"].partition("/")
        if "installation_id" in known:
            known["installation_id"] = str(known["installation_id"])
    if provider in ("cloud-bucket", "self-bucket", "mastra-s3", "mastra-azure"):
        known.setdefault("prefix", "")
    return known
