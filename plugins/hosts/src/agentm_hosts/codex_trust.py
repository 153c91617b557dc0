"""Whether Codex trusts our hooks. Codex itself is asked where it is installed; else its file is read."""

from __future__ import annotations

import hashlib
import json
import os
import select
import subprocess
import time
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from agentm_hosts.files.reading import read_toml

if TYPE_CHECKING:
    from agentm_hosts.adapters.codex import Codex
    from agentm_hosts.place import Place


def untrusted_hooks(adapter: Codex, place: Place) -> list[str]:
    """The events whose hooks Codex does not run, because nobody has trusted them."""
    program = adapter.program(place)
    asked = None if program is None or place.patience <= 0 else _ask(program, place)
    if asked is not None:
        return asked
    settings = os.path.join(adapter.folder(replace(place, project=None)), "config.toml")
    state = read_toml(settings).get("hooks", {})
    trusted = state.get("state", {}) if isinstance(state, dict) else {}
    return [event for event in adapter.hooks if not _is_recorded(adapter, place, event, trusted)]


def trust_entry(adapter: Codex, place: Place, event: str, *, group: int = 0) -> tuple[str, str]:
    """The key and the hash by which Codex remembers that a user trusts a hook."""
    name = event_name(adapter, event)
    handler = {
        "async": False,
        "command": adapter.hook_command(place, event),
        "timeout": adapter.seconds(event),
        "type": "command",
    }
    text = json.dumps({"event_name": name, "hooks": [handler]}, sort_keys=True, separators=(",", ":"))
    key = f"{adapter.hooks_file(place)}:{name}:{group}:0"
    return key, f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def event_name(adapter: Codex, event: str) -> str:
    """What Codex calls an event in its own records."""
    native = adapter.hooks[event]
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in native).lstrip("_")


def _is_recorded(adapter: Codex, place: Place, event: str, trusted: Any) -> bool:
    _, wanted = trust_entry(adapter, place, event)
    entries = trusted.values() if isinstance(trusted, dict) else ()
    return any(isinstance(entry, dict) and entry.get("trusted_hash") == wanted for entry in entries)


def _ask(program: str, place: Place) -> list[str] | None:
    """What `codex app-server` says about our hooks; `None` if it does not say anything that we understand."""
    requests: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": {"clientInfo": {"name": "agentm", "version": "0"}}},
        {"method": "initialized"},
        {"id": 2, "method": "hooks/list", "params": {"cwds": [place.project or place.home]}},
    ]
    try:
        process = subprocess.Popen(  # noqa: S603 - programs that the user has installed
            [program, "app-server"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=dict(place.environ),
        )
    except OSError:
        return None
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write("".join(json.dumps({"jsonrpc": "2.0", **r}) + "\n" for r in requests).encode())
        process.stdin.flush()
        answer = _answer(process, 2, place.patience)
    except OSError:
        return None
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            with suppress(OSError):  # what is left in it goes nowhere
                pipe.close()
    return None if answer is None else _not_trusted(answer)


def _answer(process: subprocess.Popen[bytes], wanted: int, seconds: float) -> Any:
    deadline = time.monotonic() + seconds
    assert process.stdout is not None
    data = b""
    while (left := deadline - time.monotonic()) > 0 and select.select([process.stdout], [], [], left)[0]:
        chunk = os.read(process.stdout.fileno(), 1 << 16)
        if not chunk:
            return None
        data += chunk
        *lines, data = data.split(b"\n")
        for line in lines:
            try:
                message = json.loads(line)
            except ValueError:
                continue
            if isinstance(message, dict) and message.get("id") == wanted:
                return message.get("result")
    return None


def _not_trusted(result: Any) -> list[str] | None:
    """The hooks of ours in the answer that are not trusted."""
    hooks = [hook for hook in _dicts(result) if " hook " in str(hook.get("command", "")) and "trustStatus" in hook]
    ours = [hook for hook in hooks if "--host codex" in str(hook["command"])]
    if not ours:
        return None
    return [str(hook.get("eventName", "")) for hook in ours if hook["trustStatus"] != "trusted"]


def _dicts(value: Any) -> list[dict[str, Any]]:
    if isinstance(value, dict):
        return [value, *(found for inner in value.values() for found in _dicts(inner))]
    return [found for inner in value for found in _dicts(inner)] if isinstance(value, list) else []
