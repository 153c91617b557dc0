"""The openers of group `agentm.providers` for object stores: what a storage policy says, as a bucket.

`mastra-s3` and `mastra-azure` name JavaScript packages; here the same buckets are opened directly.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from agentm_bucket.backend import BucketBackend
from agentm_bucket.credentials import Credentials, variables_among
from agentm_bucket.place import parse_options
from agentm_kernel.plugin import StorageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from agentm_kernel.plugin import ProviderContext

CLOUD_ENDPOINT_VARIABLE = "AGENTM_CLOUD_BUCKET_ENDPOINT"
"""The host's own object store. A policy with `cloud-bucket` cannot name one: the bucket is the host's to place."""


def open_cloud_bucket(
    config: Mapping[str, Any], credentials: Mapping[str, str], context: ProviderContext
) -> BucketBackend:
    """A bucket that the host manages: on the endpoint that its environment names, else on AWS."""
    endpoint = context.device.environ.get(CLOUD_ENDPOINT_VARIABLE, "")
    return _opened({**_some(config, "bucket", "prefix", "region"), "endpoint": endpoint}, credentials, context)


def open_self_bucket(
    config: Mapping[str, Any], credentials: Mapping[str, str], context: ProviderContext
) -> BucketBackend:
    """The operator's own bucket, of any of the three kinds."""
    options = _some(config, "kind", "bucket", "prefix", "region", "endpoint")
    if options.get("kind") == "azure":
        options["account"] = _account_in(options["endpoint"])
    return _opened(options, credentials, context)


def open_mastra_s3(
    config: Mapping[str, Any], credentials: Mapping[str, str], context: ProviderContext
) -> BucketBackend:
    """`forcePathStyle` changes nothing: paths are what is always used here."""
    return _opened(_some(config, "bucket", "prefix", "region", "endpoint"), credentials, context)


def open_mastra_azure(
    config: Mapping[str, Any], credentials: Mapping[str, str], context: ProviderContext
) -> BucketBackend:
    """`container` is the bucket; the account is `accountName`, or what the endpoint names."""
    options = {"kind": "azure", "bucket": config["container"], **_some(config, "prefix", "endpoint")}
    account = config.get("accountName") or config.get("account_name")
    options["account"] = account or _account_in(options.get("endpoint", ""))
    return _opened(options, credentials, context)


def _opened(options: Mapping[str, Any], credentials: Mapping[str, str], context: ProviderContext) -> BucketBackend:
    place, timing, *_ = parse_options({name: value for name, value in options.items() if value})
    named = Credentials(place.kind, variables_among(place.kind, credentials), credentials)
    return BucketBackend(place, timing, named, context.opening)


def _some(config: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: config[name] for name in names if config.get(name)}


def _account_in(endpoint: str) -> str:
    """`https://ACCOUNT.blob.core.windows.net`, or `http://HOST/ACCOUNT` as emulators and private clouds have it."""
    parts = urlsplit(endpoint)
    account = parts.path.strip("/") or (parts.hostname or "").partition(".")[0]
    if not account:
        raise StorageError(
            "the policy does not say which Azure account the container is in", hint="give accountName, or an endpoint"
        )
    return account
