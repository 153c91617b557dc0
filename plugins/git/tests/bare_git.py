"""Git as everybody has it, for what the plugin must not do itself: play the operator, look behind its back."""

from __future__ import annotations

import os
import subprocess


def bare_environment() -> dict[str, str]:
    """What git is started with here: an identity, and nothing of this machine or of the caller."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    person = {f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER") for what, value in _PERSON.items()}
    return {
        **inherited,
        **person,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_TERMINAL_PROMPT": "0",
        "LC_ALL": "C",
    }


_PERSON = {"NAME": "Test", "EMAIL": "test@example.com"}


def git(folder: str, *arguments: str, check: bool = True, data: bytes | None = None) -> bytes:
    """What it prints; it must succeed, unless `check` is false."""
    done = subprocess.run(
        ["git", *arguments], cwd=folder, env=bare_environment(), input=data, capture_output=True, check=False
    )
    if check and done.returncode:
        raise AssertionError(f"git {' '.join(arguments)}: {done.stderr.decode(errors='replace')}")
    return done.stdout


def fsck(folder: str) -> str:
    """What `git fsck` complains about; empty if all is well."""
    done = subprocess.run(
        ["git", "fsck", "--strict", "--full", "--no-dangling", "--no-progress"],
        cwd=folder,
        env=bare_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    said = done.stdout.decode(errors="replace").strip()
    return said or (f"it ended with {done.returncode}" if done.returncode else "")
