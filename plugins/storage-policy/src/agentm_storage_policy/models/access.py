"""AIP-38: POLICY.md, or the block that stands in a storage block."""

from typing import Annotated, Any, Literal

from pydantic import Field

from agentm_storage_policy.models.base import (
    NOT_GIVEN,
    Block,
    Id,
    Open,
    OpenBlock,
    Text,
    Time,
    Version,
    WholeFrom1,
    here_or_elsewhere,
    one_or_many,
)
from agentm_storage_policy.models.identity import Principal


class ActionGrant(Block):
    action: Text
    scope: str = NOT_GIVEN


class Condition(OpenBlock):
    kind: Text


class Grant(Block):
    principal: Principal
    actions: Annotated[list[ActionGrant], Field(min_length=1)]
    conditions: list[Condition] = NOT_GIVEN
    ttl_seconds: WholeFrom1 = NOT_GIVEN
    granted_at: Time = NOT_GIVEN
    granted_by: Principal = NOT_GIVEN
    revoked: bool = False


class Limit(OpenBlock):
    kind: Text
    value: Annotated[float, Field(ge=0, strict=False)]
    scope: str = NOT_GIVEN
    per: Literal["second", "minute", "hour", "day"] = NOT_GIVEN
    applies_to: list[str] = NOT_GIVEN


class Requirement(OpenBlock):
    kind: Text
    applies_to: list[str] = NOT_GIVEN


class PolicyBlock(Block):
    """Who may do what. What no grant allows is denied."""

    schema_: Annotated[Literal["policy/v1"], Field(alias="schema")]
    id: Id = NOT_GIVEN
    version: Version = NOT_GIVEN
    default: Literal["allow", "deny"] = "deny"
    grants: list[Grant] = NOT_GIVEN
    defaults: dict[str, Open] = NOT_GIVEN
    limits: list[Limit] = NOT_GIVEN
    requirements: list[Requirement] = NOT_GIVEN
    metadata: Open = NOT_GIVEN


PolicyEntry: Any = here_or_elsewhere(PolicyBlock)
Policies: Any = one_or_many(PolicyEntry)
