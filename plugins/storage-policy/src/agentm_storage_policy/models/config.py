"""The `config` of each provider. AIP-35 does not say which keys are required: those without which nothing opens."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema

from agentm_storage_policy.models.base import NOT_GIVEN, Block, Text, pattern

_ENDPOINT = r"^(https://[^/?#@\s]+|http://(localhost|127\.0\.0\.1|\[::1\])(:[0-9]+)?)(/[^?#\s]*)?$"
_ABSOLUTE = r"^(/|[A-Za-z]:[\\/])"

Endpoint = Annotated[
    str,
    pattern(_ENDPOINT, "must be an https URL without a user, a query or a fragment (http for this host alone)"),
]
NumberOrText = Annotated[
    Text,
    BeforeValidator(lambda value: str(value) if type(value) is int else value),
    WithJsonSchema({"anyOf": [{"type": "string", "minLength": 1}, {"type": "integer"}]}),
]
"""An identifier that is a number, whichever way it is written."""
AbsolutePath = Annotated[str, pattern(_ABSOLUTE, "must be an absolute path")]


class CloudBucketConfig(Block):
    bucket: Text
    prefix: str = ""
    region: Text = NOT_GIVEN


class SelfBucketConfig(Block):
    kind: Literal["s3", "azure", "gcs"]
    endpoint: Endpoint
    bucket: Text
    region: Text = NOT_GIVEN
    prefix: str = ""
    credentials_ref: Text = NOT_GIVEN


class GithubConfig(Block):
    """`repo` alone may be `owner/name`."""

    repo: Text
    owner: Text = NOT_GIVEN
    branch: Text = "main"
    installation_id: NumberOrText = NOT_GIVEN
    default_commit_email: Text = NOT_GIVEN
    sparse_checkout: list[Text] = NOT_GIVEN


class LocalFsConfig(Block):
    """`path` is another spelling of `mount_path`."""

    agent_id: Text = NOT_GIVEN
    mount_path: AbsolutePath = NOT_GIVEN
    path: AbsolutePath = NOT_GIVEN


class DevLocalConfig(Block):
    """`path` is another spelling of `root`."""

    root: AbsolutePath = NOT_GIVEN
    path: AbsolutePath = NOT_GIVEN


class MastraS3Config(Block):
    """What of the constructor of `@mastra/s3` is no credential."""

    bucket: Text
    region: Text = NOT_GIVEN
    endpoint: Endpoint = NOT_GIVEN
    prefix: str = ""
    force_path_style: Annotated[bool, Field(alias="forcePathStyle")] = NOT_GIVEN


class MastraAzureConfig(Block):
    """What of the constructor of `@mastra/azure/blob` is no credential."""

    container: Text
    account_name: Annotated[Text, Field(alias="accountName")] = NOT_GIVEN
    endpoint: Endpoint = NOT_GIVEN
    prefix: str = ""
