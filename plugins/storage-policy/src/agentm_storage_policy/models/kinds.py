"""Which model a kind of document has."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter

if TYPE_CHECKING:
    from collections.abc import Callable


def _storage() -> Any:
    from agentm_storage_policy.models.storage import AnyStorage

    return AnyStorage


def _reference() -> Any:
    from agentm_storage_policy.models.storage import StorageReference

    return StorageReference


def _workspace() -> Any:
    from agentm_storage_policy.models.workspace import WorkspaceBlock

    return WorkspaceBlock


def _manifest() -> Any:
    from agentm_storage_policy.models.workspace import ManifestBlock

    return ManifestBlock


def _policy() -> Any:
    from agentm_storage_policy.models.access import PolicyBlock

    return PolicyBlock


def _secrets() -> Any:
    from agentm_storage_policy.models.secrets import SecretsBlock

    return SecretsBlock


def _identity() -> Any:
    from agentm_storage_policy.models.identity import InlineIdentity

    return InlineIdentity


_MODELS: dict[str, Callable[[], Any]] = {
    "storage": _storage,
    "reference": _reference,
    "workspace": _workspace,
    "manifest": _manifest,
    "policy": _policy,
    "secrets": _secrets,
    "identity": _identity,
}


@cache
def adapter_for(kind: str) -> TypeAdapter[Any]:
    """The validator of one kind, built when it is first used: each takes longer to build than a document to check."""
    return TypeAdapter(_MODELS[kind]())


def schema_for(kind: str) -> dict[str, Any]:
    """The JSON Schema of one kind."""
    from agentm_storage_policy.models.base import PlainSchema

    schema = adapter_for(kind).json_schema(schema_generator=PlainSchema, by_alias=True)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:agentm:storage-policy:{kind}",
        **schema,
    }
