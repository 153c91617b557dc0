"""AIP-35: the storage block, one model for each provider. The sync mode is part of it: each provider has one."""

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field

from agentm_storage_policy.models.access import Policies
from agentm_storage_policy.models.base import (
    NOT_GIVEN,
    Block,
    Id,
    Open,
    Text,
    Version,
    WholeFrom0,
    WholeFrom1,
    inline_ref_or_file,
    tagged,
)
from agentm_storage_policy.models.config import (
    CloudBucketConfig,
    DevLocalConfig,
    GithubConfig,
    LocalFsConfig,
    MastraAzureConfig,
    MastraS3Config,
    SelfBucketConfig,
)
from agentm_storage_policy.models.identity import Identities

ConflictPolicy = Literal["rebase", "merge", "abort", "manual", "last-writer-wins", "split-conflicts"]
FolderConflictPolicy = Literal["abort", "manual", "last-writer-wins", "split-conflicts"]


class Pull(Block):
    on: Text = NOT_GIVEN
    ttl_seconds: WholeFrom1 = NOT_GIVEN


class Commit(Block):
    on: Text = NOT_GIVEN
    batch_window_ms: WholeFrom0 = NOT_GIVEN
    message_template: str = NOT_GIVEN


class Push(Block):
    on: Text = NOT_GIVEN
    branch_policy: Literal["main", "per-conversation", "per-turn"] = NOT_GIVEN
    pr_policy: Literal["none", "auto", "manual"] = NOT_GIVEN


class Conflict(Block):
    policy: ConflictPolicy = NOT_GIVEN


class FolderConflict(Block):
    """A folder has no history, so there is nothing to merge or rebase with."""

    policy: FolderConflictPolicy = NOT_GIVEN


class Sync(Block):
    mode: Literal["canonical", "pull-push", "watch"] = NOT_GIVEN
    pull: Pull = NOT_GIVEN
    commit: Commit = NOT_GIVEN
    push: Push = NOT_GIVEN
    conflict: Conflict = NOT_GIVEN


class CanonicalSync(Sync):
    mode: Literal["canonical"] = NOT_GIVEN


class PullPushSync(Sync):
    mode: Literal["pull-push"] = NOT_GIVEN


class WatchSync(Sync):
    mode: Literal["watch"] = NOT_GIVEN
    conflict: FolderConflict = NOT_GIVEN  # type: ignore[assignment]


class AuthState(Block):
    env: list[str] = NOT_GIVEN


class Auth(Block):
    ref: Text = NOT_GIVEN
    state: AuthState = NOT_GIVEN


class StorageBlock(Block):
    """What the blocks of all providers have in common."""

    schema_: Annotated[Literal["storage/v1"], Field(alias="schema")] = NOT_GIVEN
    id: Id = NOT_GIVEN
    version: Version = NOT_GIVEN
    provider: Text
    config: Any
    sync: Sync = NOT_GIVEN
    auth: Auth = NOT_GIVEN
    identity: Identities = NOT_GIVEN
    policy: Policies = NOT_GIVEN
    exclude: list[str] = NOT_GIVEN
    read_only: bool = NOT_GIVEN
    metadata: Open = NOT_GIVEN


class CloudBucket(StorageBlock):
    provider: Literal["cloud-bucket"]
    config: CloudBucketConfig
    sync: CanonicalSync = NOT_GIVEN


class SelfBucket(StorageBlock):
    provider: Literal["self-bucket"]
    config: SelfBucketConfig
    sync: CanonicalSync = NOT_GIVEN


class Github(StorageBlock):
    provider: Literal["github"]
    config: GithubConfig
    sync: PullPushSync = NOT_GIVEN


class LocalFs(StorageBlock):
    provider: Literal["local-fs"]
    config: LocalFsConfig
    sync: WatchSync = NOT_GIVEN


class DevLocal(StorageBlock):
    provider: Literal["dev-local"]
    config: DevLocalConfig
    sync: CanonicalSync = NOT_GIVEN


class MastraS3(StorageBlock):
    provider: Literal["mastra-s3"]
    config: MastraS3Config
    sync: CanonicalSync = NOT_GIVEN


class MastraAzure(StorageBlock):
    provider: Literal["mastra-azure"]
    config: MastraAzureConfig
    sync: CanonicalSync = NOT_GIVEN


_ENUMERATED = (CloudBucket, SelfBucket, Github, LocalFs, DevLocal, MastraS3, MastraAzure)
_BY_NAME = {kind.model_fields["provider"].annotation.__args__[0]: kind for kind in _ENUMERATED}  # type: ignore[union-attr]


class HostStorage(StorageBlock):
    """A provider that a host added. It checks its own `config` when it opens the store."""

    provider: Annotated[Text, Field(json_schema_extra={"not": {"enum": sorted(_BY_NAME)}})]
    config: Open


def _provider(value: object) -> str:
    name = value.get("provider") if isinstance(value, dict) else None
    return f"<{name}>" if isinstance(name, str) and name in _BY_NAME else "<host>"


_MEMBERS: Any = tagged(HostStorage, "host")
for _name, _kind in reversed(_BY_NAME.items()):
    _MEMBERS = tagged(_kind, _name) | _MEMBERS

AnyStorage: Any = Annotated[_MEMBERS, Discriminator(_provider)]


class InlineStorage(Block):
    inline: AnyStorage


StorageReference: Any = inline_ref_or_file(InlineStorage)
"""How another manifest embeds a storage block: exactly one of `inline`, `ref`, `file`."""
