"""The opener of `github` for storage policies: what a policy says, as a clone on this device.

What a policy may not decide comes from this device's own configuration, `plugins.git`: where clones lie, and the
commands that get a token or open a pull request. A document must never name a program that is run.
"""

from __future__ import annotations

import os

from agentm_git.backend import GitStore
from agentm_git.settings import PROTOCOL, Settings, parse_options
from agentm_kernel.plugin import StorageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from agentm_kernel.plugin import Device, ProviderContext

HOST_VARIABLE = "AGENTM_GITHUB_URL"
"""Where GitHub is, for an Enterprise server."""

_HOST = "https://github.com"
_OF_THE_DEVICE = ("credential_command", "pr_command", "deadline", "pull_ttl", "username")


def open_github(config: Mapping[str, Any], credentials: Mapping[str, str], context: ProviderContext) -> GitStore:
    """A clone of `owner/repo`, below this device's state directory; the first pull makes it."""
    device, rules = context.device, context.rules
    owner, repo, branch = str(config["owner"]), str(config["repo"]), str(config.get("branch") or "main")
    for part in (owner, repo):
        _check_name(part)
    host = (device.environ.get(HOST_VARIABLE) or _HOST).rstrip("/")
    own = _own_settings(device)
    settings = Settings(
        **own,
        remote=f"{host}/{owner}/{repo}.git",
        branch=branch,
        conflict=rules.conflict_policy,
        branch_policy=rules.branch_policy,
        pr_policy=rules.pr_policy,
        email=str(config.get("default_commit_email") or ""),
        installation_id=str(config.get("installation_id") or ""),
        sparse=tuple(config.get("sparse_checkout") or ()),
    )
    root = os.path.join(
        context.opening.state_dir, PROTOCOL, owner.lower(), f"{repo.lower()}@{branch.replace('/', '-')}"
    )
    return GitStore(
        root,
        settings=settings,
        environ=device.environ,
        credentials=credentials,
        is_excluded=context.is_excluded,
        clones_itself=True,
        read_only=context.opening.read_only,
    )


def _own_settings(device: Device) -> dict[str, Any]:
    options = device.config.options(PROTOCOL)
    _, own, _ = parse_options({name: options[name] for name in _OF_THE_DEVICE if name in options})
    return {name: getattr(own, name) for name in _OF_THE_DEVICE}


def _check_name(part: str) -> None:
    if (
        not part.isascii()
        or not part.strip(".")
        or not all(c.isalnum() or c in "._-" for c in part)
        or part[0] == "-"
    ):
        raise StorageError(f"{ascii(part)} is no name of a GitHub owner or repository", hint="check config.repo")
