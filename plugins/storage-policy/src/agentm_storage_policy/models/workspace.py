"""AIP-34: WORKSPACE.md, the manifest that embeds a storage block; and the same for any other manifest."""

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, StringConstraints

from agentm_storage_policy.models.access import Policies
from agentm_storage_policy.models.base import (
    NOT_GIVEN,
    Block,
    ByRef,
    Id,
    Open,
    OpenBlock,
    Text,
    Time,
    Version,
    inline_ref_or_file,
    pattern,
    tagged,
)
from agentm_storage_policy.models.identity import Identities
from agentm_storage_policy.models.storage import InlineStorage, StorageReference

_OWNER_SLUG = r"^([a-z0-9][a-z0-9-]*[a-z0-9]|[a-z0-9])$"


class Owner(Block):
    type: Literal["guild", "user", "org"]
    id: Text
    slug: Annotated[str, pattern(_OWNER_SLUG, "must be lower case, digits and dashes")]


def _source(value: object) -> str:
    if isinstance(value, str):
        return "<name>"
    return "<inline>" if isinstance(value, dict) and "inline" in value else "<ref>"


MountSource: Any = Annotated[
    tagged(Text, "name") | tagged(InlineStorage, "inline") | tagged(ByRef, "ref"), Discriminator(_source)
]


class Mount(OpenBlock):
    """AIP-36: what a sandbox sees. A source may be a storage block of its own."""

    source: MountSource
    at: Text
    mode: Literal["read-write", "read-only"] = NOT_GIVEN


class Sandbox(OpenBlock):
    mounts: list[Mount] = NOT_GIVEN


class InlineSandbox(Block):
    inline: Sandbox


class InlineCode(Block):
    inline: Open


SandboxReference: Any = inline_ref_or_file(InlineSandbox)
CodeReference: Any = inline_ref_or_file(InlineCode)


class Defaults(OpenBlock):
    read_only: bool = NOT_GIVEN


class Publish(Block):
    template: bool = False
    registry: str = NOT_GIVEN
    visibility: Literal["private", "unlisted", "public"] = "private"


class WorkspaceBlock(Block):
    schema_: Annotated[Literal["workspace/v1"], Field(alias="schema")]
    id: Id
    version: Version
    name: Annotated[str, StringConstraints(min_length=1, max_length=80)]
    description: Annotated[str, StringConstraints(max_length=2000)] = NOT_GIVEN
    owner: Owner
    storage: StorageReference
    sandbox: SandboxReference = NOT_GIVEN
    code: CodeReference = NOT_GIVEN
    identity: Identities = NOT_GIVEN
    policy: Policies = NOT_GIVEN
    defaults: Defaults = NOT_GIVEN
    publish: Publish = NOT_GIVEN
    tags: list[str] = NOT_GIVEN
    created_at: Time = NOT_GIVEN
    metadata: Open = NOT_GIVEN


class ManifestBlock(OpenBlock):
    """Any other manifest: agentm reads the block that it embeds, and leaves the rest to others."""

    storage: StorageReference
    identity: Identities = NOT_GIVEN
    policy: Policies = NOT_GIVEN
