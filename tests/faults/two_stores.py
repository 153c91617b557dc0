"""Two devices, each with a private store and one that their team shares over git: every note is in the store of its
scope and in no other, byte for byte, and a session starts with the private ones whatever the remote does.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import socket
import subprocess
import sys
import time
import zlib
from typing import TYPE_CHECKING
from unittest import mock

from agentm_kernel.cli.app import run
from agentm_kernel.plugin import Device
from agentm_recall.commands import save
from tests.faults.harness import Intensity, Outcome, scratch

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

PERSONAL, TEAM = "personal", "team"
_LIMIT = 2.0


def campaign(intensity: Intensity) -> Outcome:
    saves = intensity.pick(short=16, full=500)
    outcome = Outcome("saves of two scopes on two devices")
    with scratch() as folder:
        devices = _devices(folder)
        _save(outcome, devices, saves, intensity.random("two-stores"))
        _search_all(outcome, folder, devices)
        _start_sessions(outcome, folder, devices[0])
    outcome.control("personal notes in the store of the project", _control(intensity.random("control")))
    return outcome


class _Device:
    """A home with a private store, a clone of the team's, and a checkout of the team's project."""

    def __init__(self, folder: str, name: str) -> None:
        self.name = name
        self.home = os.path.join(folder, name)
        self.clone = os.path.join(self.home, "clone")
        self.checkout = os.path.join(self.home, "widgets")
        self.environ = {"HOME": self.home, "PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1"}
        self.saved: dict[str, str] = {}
        """By token: the scope."""
        os.makedirs(os.path.join(self.checkout, ".git"))
        for file, text in (
            ("HEAD", "ref: refs/heads/main\n"),
            ("config", '[remote "origin"]\n\turl = git@example.com:acme/widgets.git\n'),
        ):
            with open(os.path.join(self.checkout, ".git", file), "w", encoding="ascii") as opened:
                opened.write(text)

    def agentm(self, *arguments: str, text: str = "") -> str:
        """The command in this process: five hundred interpreters would only take longer."""
        given = io.TextIOWrapper(io.BytesIO(text.encode()), encoding="utf-8")
        said = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
        environ = mock.patch.dict(os.environ, self.environ, clear=True)
        where = contextlib.chdir(self.checkout)
        with where, mock.patch.object(sys, "stdin", given), environ, contextlib.redirect_stdout(said):
            run(Device.now(), list(arguments))
        said.flush()
        return said.buffer.getvalue().decode()  # type: ignore[attr-defined]

    def event(self, name: str) -> None:
        """As an agent host raises it, in a process of its own."""
        command = [sys.executable, "-P", "-m", "agentm_kernel.cli.main", "event", name]
        environ = {**self.environ, "AGENTM_DEADLINE": "60"}
        subprocess.run(command, cwd=self.checkout, env=environ, check=False, capture_output=True, timeout=120)


def _devices(folder: str) -> list[_Device]:
    origin = os.path.join(folder, "team.git")
    devices = [_Device(folder, name) for name in ("ana", "ben")]
    subprocess.run(["git", "init", "-q", "--bare", origin], check=True, env=devices[0].environ)
    for device in devices:
        remote = f"file://{origin}"
        device.agentm("git", "init", device.clone, remote)
        device.agentm("store", "add", "team", "git", f"root={device.clone}", f"remote={remote}")
        device.agentm("project", "use-store", "team")
        device.event("turn-end")
    return devices


def _save(outcome: Outcome, devices: list[_Device], saves: int, rng: random.Random) -> None:
    each = [(device, scope) for device in devices for scope in (PERSONAL, TEAM)]
    for number in range(saves):
        if number % len(each) == 0:
            rng.shuffle(each)
        device, scope = each[number % len(each)]
        token = f"{scope}x{device.name}x{number}x{rng.getrandbits(60):x}"
        kind = rng.choice(("fact", "decision", "always-load") if scope == PERSONAL else ("fact", "decision"))
        words = ["save", "--kind", kind, "--slug", f"note-{device.name}-{number}"]
        if scope == PERSONAL and kind != "always-load":
            words.append("--personal")
        device.agentm(*words, text=f"What {token} says, in a few words.\n")
        device.saved[token] = scope
        outcome.count += 1
        if rng.random() < 12 / saves:
            device.event(rng.choice(("turn-end", "turn-start", "heartbeat")))
    for device in (*devices, *devices):
        device.agentm("--store", "team", "git", "sync")


# ------------------------------------------------------------------------------------------------ looking


def _search_all(outcome: Outcome, folder: str, devices: list[_Device]) -> None:
    everything = {token: scope for device in devices for token, scope in device.saved.items()}
    shared = {
        "the remote": _tokens(_git_objects(os.path.join(folder, "team.git"))) & everything.keys(),
    }
    for device in devices:
        held = _tokens(_git_objects(device.clone), _files(device.clone))
        shared[f"{device.name}'s clone"] = held & everything.keys()
    teams = {token for token, scope in everything.items() if scope == TEAM}
    for place, found in shared.items():
        _compare(outcome, place, teams, found)
    for device in devices:
        own = {token for token, scope in device.saved.items() if scope == PERSONAL}
        found = _tokens(_files(os.path.join(device.home, ".agentm"))) & everything.keys()
        _compare(outcome, f"{device.name}'s own store", own, set(found))
        _check_derived(outcome, device, own, everything)


def _compare(outcome: Outcome, place: str, wanted: set[str], found: set[str]) -> None:
    for token in wanted - found:
        outcome.violation("lost", f"{token} is not in {place}")
    for token in found - wanted:
        outcome.violation("misplaced", f"{token} is in {place}")


def _check_derived(outcome: Outcome, device: _Device, own: set[str], everything: dict[str, str]) -> None:
    """What the device keeps of each store, indexes and histories, is kept apart as well."""
    named = {"default": ".agentm/memory", "team": "clone"}
    for store, place in named.items():
        with open(os.path.join(device.home, place, "_meta", "store.json"), encoding="utf-8") as file:
            store_id = json.load(file)["id"]
        found: set[str] = set()
        for folder in (".cache", ".local/state"):
            for path, _, _ in os.walk(os.path.join(device.home, folder)):
                if os.path.basename(path) == store_id:
                    found |= _tokens(_files(path)) & everything.keys()
        for token in found:
            if (token in own) != (store == "default"):
                outcome.violation("misplaced", f"{token} is in what {device.name} keeps of the store {store}")
        if not found:
            outcome.violation("blind", f"nothing that {device.name} keeps of the store {store} was searched")


def _tokens(*texts: Iterator[bytes]) -> set[str]:
    found: set[str] = set()
    for data in (data for source in texts for data in source):
        for scope in (PERSONAL, TEAM):
            start = data.find(f"{scope}x".encode())
            while start >= 0:
                end = start
                while end < len(data) and (data[end : end + 1].isalnum()):
                    end += 1
                found.add(data[start:end].decode("ascii"))
                start = data.find(f"{scope}x".encode(), end)
    return found


def _files(folder: str) -> Iterator[bytes]:
    """Every file below a folder, as it is and, where it is compressed, as it was."""
    for path, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(path, name), "rb") as file:
                data = file.read()
            yield data
            with contextlib.suppress(zlib.error):
                yield zlib.decompress(data)


def _git_objects(folder: str) -> Iterator[bytes]:
    """Every object of a repository, of every commit that there ever was."""
    listing = ["git", "-C", folder, "cat-file", "--batch-all-objects", "--batch"]
    yield subprocess.run(listing, check=True, capture_output=True).stdout


# ------------------------------------------------------------------------------------------------ sessions


def _start_sessions(outcome: Outcome, folder: str, device: _Device) -> None:
    """With the remote as it is, with one that never answers, and with the clone gone."""
    with socket.create_server(("127.0.0.1", 0)) as silent:  # takes connections and says nothing
        port = silent.getsockname()[1]
        _start(outcome, device, "a remote that answers", says="in the store 'team'")
        subprocess.run(
            ["git", "-C", device.clone, "remote", "set-url", "origin", f"git://127.0.0.1:{port}/team"], check=True
        )
        device.agentm("config", "set", "stores.team.remote", f"git://127.0.0.1:{port}/team")
        _start(outcome, device, "a remote that never answers", says="in the store 'team'")
    os.rename(device.clone, f"{device.clone}-gone")
    _start(outcome, device, "no clone", says="the store 'team' cannot be had")


def _start(outcome: Outcome, device: _Device, situation: str, *, says: str) -> None:
    command = [sys.executable, "-P", "-m", "agentm_kernel.cli.main", "hook", "session-start", "--host", "claude-code"]
    event = json.dumps({"cwd": device.checkout, "session_id": situation, "source": "startup"})
    started = time.monotonic()
    done = subprocess.run(
        command, cwd=device.checkout, env=device.environ, input=event, capture_output=True, text=True, check=False
    )
    seconds = time.monotonic() - started
    outcome.measured[f"s to start a session with {situation}"] = round(seconds, 2)
    if "your own notes, in the default store" not in done.stdout or f"{PERSONAL}x{device.name}x" not in done.stdout:
        said = done.stdout[:300] + done.stderr[:300]
        outcome.violation("untold", f"the operator's own notes, with {situation}: {said}")
    if says not in done.stdout:
        outcome.violation("untold", f"which store is which, with {situation}: {done.stdout[:300]}")
    if seconds > _LIMIT + 1.0:  # the hook keeps to two seconds; a busy machine takes a while to start an interpreter
        outcome.violation("late", f"{seconds:.1f} s, with {situation}")


def _control(rng: random.Random) -> Outcome:
    """A build that saves everything in the store of the project: as it was while there was one store only."""
    broken = Outcome("control")
    team = lambda device: device.store("team", read_only=False)  # noqa: E731
    with scratch() as folder, mock.patch.object(save, "own_store", team):
        devices = _devices(folder)
        _save(broken, devices, 8, rng)
        _search_all(broken, folder, devices)
    return broken
