"""The `git` command, for the few configurations that its files alone do not settle (conditional includes)."""

from __future__ import annotations

import os
import subprocess

from agentm_kernel.errors import ConfigError

_LIMIT_SECONDS = 1.0
_OF_THE_REPOSITORY = ("local", "worktree")
# Of git's own variables only those that say which configuration to trust: the others could redirect it elsewhere.
_KEPT = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_SYSTEM", "GIT_EXEC_PATH")


def origin_urls(work_tree: str) -> list[str]:
    """Every address of `origin` in the repository's own configuration, in git's order."""
    answer = _run(work_tree, "config", "--null", "--show-scope", "--includes", "--get-all", "remote.origin.url")
    fields = answer.split("\0")[:-1]
    return [url for scope, url in zip(fields[::2], fields[1::2], strict=True) if scope in _OF_THE_REPOSITORY and url]


def _run(work_tree: str, *arguments: str) -> str:
    command = ["git", "--no-pager", "-C", work_tree, *arguments]
    environ = {name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name in _KEPT}
    try:
        done = subprocess.run(  # noqa: S603 - a fixed command, and no shell
            command, check=False, capture_output=True, stdin=subprocess.DEVNULL, env=environ, timeout=_LIMIT_SECONDS
        )
    except FileNotFoundError:
        raise _refusal(work_tree, "the `git` command is not installed") from None
    except subprocess.TimeoutExpired:
        raise _refusal(work_tree, f"git did not answer within {_LIMIT_SECONDS:g} s") from None
    except OSError as error:
        raise _refusal(work_tree, f"git cannot be started: {error.strerror}") from error
    if done.returncode == 1:
        return ""  # git's way to say that there is no such setting
    if done.returncode:
        reason = done.stderr.decode(errors="replace").strip().partition("\n")[0]
        raise _refusal(work_tree, reason or f"git ended with {done.returncode}")
    try:
        return done.stdout.decode()
    except UnicodeDecodeError:
        raise _refusal(work_tree, "it is not UTF-8 text") from None


def _refusal(work_tree: str, reason: str) -> ConfigError:
    return ConfigError(
        f"the remote of {work_tree} cannot be found out: {reason}",
        hint="its git configuration includes files on a condition, so git has to be asked; "
        "or name the project with `vault_project` in .harness/project.json",
    )
