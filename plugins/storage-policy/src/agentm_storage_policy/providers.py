"""The seven providers that AIP-35 enumerates: the sync mode of each, and the distribution that opens it here."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

CANONICAL = "canonical"
PULL_PUSH = "pull-push"
WATCH = "watch"

MODES = {
    "cloud-bucket": CANONICAL,
    "self-bucket": CANONICAL,
    "github": PULL_PUSH,
    "local-fs": WATCH,
    "dev-local": CANONICAL,
    "mastra-s3": CANONICAL,
    "mastra-azure": CANONICAL,
}

_BUCKETS = ("cloud-bucket", "self-bucket", "mastra-s3", "mastra-azure")
NO_AUTH = "a bucket wants credentials, and a provider is given only those that auth.ref leads to"
AUTH_REMEDY = (
    "declare them in .secrets/SECRETS.md and add `auth: {ref: ./.secrets/SECRETS.md, state: {env: [VARIABLE, …]}}`"
)


def needs_auth(provider: str, config: Mapping[str, object]) -> bool:
    """Whether the store cannot be opened without an `auth` block: `credentials_ref` names a secret as well."""
    return provider in _BUCKETS and "credentials_ref" not in config


DISTRIBUTIONS = {
    "cloud-bucket": "agentm-bucket",
    "self-bucket": "agentm-bucket",
    "github": "agentm-git",
    "local-fs": "agentm-device-local",
    "dev-local": "agentm-device-local",
    "mastra-s3": "agentm-bucket",
    "mastra-azure": "agentm-bucket",
}
"""No other distribution may provide these names: a host's own provider must not collide with the enumerated set."""
