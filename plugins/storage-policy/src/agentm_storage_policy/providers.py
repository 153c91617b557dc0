"""The seven providers that AIP-35 enumerates: the sync mode of each, and the distribution that opens it here."""

from __future__ import annotations

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
