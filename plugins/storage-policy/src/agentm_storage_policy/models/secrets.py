"""AIP-19: SECRETS.md, the inventory of secrets. It names them and says who may have them; it never holds one."""

from typing import Annotated, Any, Literal, Self

from pydantic import ConfigDict, Field, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from agentm_storage_policy.models.base import NOT_GIVEN, Block, Open, OpenBlock, Text, pattern

SLUG_PATTERN = r"^([a-z][a-z0-9-]*[a-z0-9]/)?[a-z][a-z0-9-]*[a-z0-9]$"
FORBIDDEN = ("value", "plaintext", "ciphertext", "secret", "data", "key", "token")

_ACCESS_KINDS = ("role", "userId", "cap", "tool", "workflow")
_RETENTION = r"^(P[0-9]+[YMWD]|[0-9]+(y|m|w|d|h))$"


class AccessEntry(OpenBlock):
    """Whom it lets in. Kinds that are not known here are passed over when access is checked."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"oneOf": [{"required": [kind]} for kind in _ACCESS_KINDS]}
    )
    role: Text = NOT_GIVEN
    user_id: Annotated[Text, Field(alias="userId")] = NOT_GIVEN
    cap: Annotated[str, pattern(r"^cap://", "must begin with cap://")] = NOT_GIVEN
    tool: Text = NOT_GIVEN
    workflow: Text = NOT_GIVEN

    @model_validator(mode="after")
    def _has_one_kind(self) -> Self:
        if len(self.model_fields_set) != 1:
            raise PydanticCustomError("one_kind", f"use exactly one of {', '.join(_ACCESS_KINDS)}")
        return self


class Access(Block):
    reveal: list[AccessEntry] = NOT_GIVEN
    bind: list[AccessEntry] = NOT_GIVEN
    rotate: list[AccessEntry] = NOT_GIVEN


class Audit(Block):
    retention: Annotated[str, pattern(_RETENTION, "must be a duration such as P7Y or 90d")] = NOT_GIVEN
    pii: bool = False
    classification: list[Text] = NOT_GIVEN


class SecretEntry(Block):
    slug: Annotated[
        str,
        StringConstraints(min_length=2, max_length=80),
        pattern(SLUG_PATTERN, "must be lower case, digits and dashes, with one namespace at most: crm/api-key"),
    ]
    name: Annotated[str, StringConstraints(min_length=1, max_length=80)]
    description: Annotated[str, StringConstraints(min_length=1, max_length=2000)]
    kind: Literal["opaque", "oauth", "keypair", "json"] = "opaque"
    backend: Annotated[str, pattern(r"^[a-z][a-z0-9-]*://", "must be a URI such as vault://env/NAME")] = NOT_GIVEN
    access: Access = NOT_GIVEN
    audit: Audit = NOT_GIVEN
    tags: list[Annotated[str, pattern(r"^[a-z][a-z0-9-]*$", "must be lower case with dashes")]] = NOT_GIVEN
    metadata: Open = NOT_GIVEN
    exposures: list[Any] = NOT_GIVEN


class SecretsBlock(Block):
    secrets: Annotated[list[SecretEntry], Field(min_length=1)]
