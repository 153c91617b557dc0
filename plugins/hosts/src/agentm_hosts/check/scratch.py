"""How each program is run without a person, in a home of its own, with the model stub for a model.

What a user would grant by hand (Codex's trust in hooks, Gemini's in a folder) is granted here, in the scratch home.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentm_hosts.codex_trust import trust_entry
from agentm_kernel.plugin import AgentmError

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentm_hosts.place import Place

_KEPT = ("PATH", "LANG", "LC_ALL", "TERM", "TMPDIR", "SYSTEMROOT", "LD_LIBRARY_PATH", "NODE_EXTRA_CA_CERTS")
_KEY = "no-real-key"
SECONDS = 60.0


@dataclass(frozen=True)
class Scratch:
    """A home and a project in it, for one program."""

    home: str
    project: str
    stub: str
    """The address of the model stub."""

    def write(self, path: str, text: str) -> None:
        whole = os.path.join(self.home, *path.split("/"))
        os.makedirs(os.path.dirname(whole), exist_ok=True)
        with open(whole, "w", encoding="utf-8") as file:
            file.write(text)

    def environ(self, **more: str) -> dict[str, str]:
        """No variable of a provider, no credential, and nothing that leads out of this home."""
        kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
        return {**kept, "HOME": self.home, "NO_COLOR": "1", "CI": "1", **more}


@dataclass(frozen=True)
class Ran:
    """How a program ended."""

    code: int | None
    """`None`: it had to be ended."""
    output: str
    seconds: float


@dataclass(frozen=True)
class Runner:
    """How one program is prepared and started."""

    prepare: Callable[[Scratch], None]
    command: Callable[[str, str], list[str]]
    environ: Callable[[Scratch], dict[str, str]]
    trust: Callable[[Scratch, Place], None] | None = None
    """What a user would grant by hand."""

    def grant(self, scratch: Scratch, place: Place) -> None:
        if self.trust is not None:
            self.trust(scratch, place)


def run(runner: Runner, program: str, scratch: Scratch, prompt: str, *extra: str, seconds: float = SECONDS) -> Ran:
    """Start the program with one prompt, and wait for its end, so many seconds at most."""
    started = time.monotonic()
    process = subprocess.Popen(  # noqa: S603 - programs that the user has installed
        [*runner.command(program, prompt), *extra],
        cwd=scratch.project,
        env=runner.environ(scratch),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=seconds)
        code: int | None = process.returncode
    except subprocess.TimeoutExpired:
        _end_group(process)
        output, _ = process.communicate()
        code = None
    return Ran(code, output.decode("utf-8", "replace"), time.monotonic() - started)


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """The program and what it has started: they are a group of their own."""
    import signal

    try:
        os.killpg(process.pid, signal.SIGKILL)
    except OSError:
        process.kill()


def runner_of(host: str) -> Runner:
    """The runner of a host, or an error that says which have one."""
    if host not in RUNNERS:
        raise AgentmError(
            f"{host} cannot be checked: nobody knows how to run it without a person",
            hint=f"these can: {', '.join(sorted(RUNNERS))}",
        )
    return RUNNERS[host]


# ------------------------------------------------------------------------------------------------ each program


def _prepare_claude(scratch: Scratch) -> None:
    scratch.write(".claude.json", json.dumps({"hasCompletedOnboarding": True}) + "\n")


def _claude_environ(scratch: Scratch) -> dict[str, str]:
    return scratch.environ(
        ANTHROPIC_BASE_URL=scratch.stub,
        ANTHROPIC_API_KEY=_KEY,
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
        DISABLE_AUTOUPDATER="1",
    )


def _prepare_codex(scratch: Scratch) -> None:
    scratch.write(
        ".codex/config.toml",
        'model = "stub"\nmodel_provider = "stub"\n\n[model_providers.stub]\nname = "stub"\n'
        f'base_url = "{scratch.stub}/v1"\nwire_api = "responses"\nenv_key = "STUB_KEY"\n\n'
        f'[projects."{scratch.project}"]\ntrust_level = "trusted"\n',
    )


def _trust_codex(scratch: Scratch, place: Place) -> None:
    from agentm_hosts.adapters.codex import ADAPTER

    lines = ""
    for event in ADAPTER.hooks:
        key, digest = trust_entry(ADAPTER, place, event)
        lines += f'\n[hooks.state."{key}"]\ntrusted_hash = "{digest}"\n'
    with open(os.path.join(scratch.home, ".codex", "config.toml"), "a", encoding="utf-8") as file:
        file.write(lines)


def _prepare_gemini(scratch: Scratch) -> None:
    scratch.write(".gemini/settings.json", json.dumps({"security": {"auth": {"selectedType": "gemini-api-key"}}}))


def _trust_gemini(scratch: Scratch, _place: Place) -> None:
    scratch.write(".gemini/trustedFolders.json", json.dumps({os.path.realpath(scratch.project): "TRUST_FOLDER"}))


def _gemini_environ(scratch: Scratch) -> dict[str, str]:
    return scratch.environ(GOOGLE_GEMINI_BASE_URL=scratch.stub, GEMINI_API_KEY=_KEY, GEMINI_TELEMETRY_ENABLED="false")


def _prepare_copilot(scratch: Scratch) -> None:
    scratch.write(".copilot/config.json", json.dumps({"trusted_folders": [scratch.project]}))


def _copilot_environ(scratch: Scratch) -> dict[str, str]:
    return scratch.environ(
        COPILOT_OFFLINE="true",
        COPILOT_PROVIDER_TYPE="openai",
        COPILOT_PROVIDER_BASE_URL=f"{scratch.stub}/v1",
        COPILOT_PROVIDER_API_KEY=_KEY,
        COPILOT_MODEL="stub",
    )


RUNNERS = {
    "claude-code": Runner(_prepare_claude, lambda program, prompt: [program, "-p", prompt], _claude_environ),
    "codex": Runner(
        _prepare_codex,
        lambda program, prompt: [program, "exec", "--skip-git-repo-check", prompt],
        lambda scratch: scratch.environ(STUB_KEY=_KEY),
        _trust_codex,
    ),
    "gemini": Runner(
        _prepare_gemini,
        lambda program, prompt: [program, "-m", "gemini-2.5-flash", "-p", prompt],
        _gemini_environ,
        _trust_gemini,
    ),
    "copilot": Runner(
        _prepare_copilot,
        lambda program, prompt: [program, "--allow-all-tools", "-p", prompt],
        _copilot_environ,
    ),
}
