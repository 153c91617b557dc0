"""R20: whatever a host sends to the MCP server, each request is answered once, and nothing else is on its output.

Malformed, oversized, interleaved, cancelled and unknown messages, with a plugin that prints in every way that there
is.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcp_host import COMMAND, ENVELOPE, Home

from tests.faults.harness import Outcome, scratch

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

    from tests.faults.harness import Intensity

_NOISY = """
import os, sys, time
from agentm_kernel.plugin import Tool

def noisy(call, seconds="0"):
    print("a line of a plugin")
    os.write(1, b"another\\n")
    call.progress(1, 2, "half")
    time.sleep(float(seconds))
    return {"status": "done"}

NOISY = Tool("noisy", "prints", noisy, {"seconds": {"type": "string"}})
"""
_BROKEN = {
    "a server that leaves standard output to plugins": "from agentm_mcp.channel import Channel\n"
    "Channel.of_process = classmethod(lambda cls: cls(0, 1))\n",
    "a server that answers no malformed message": "from agentm_mcp.session import ProtocolFault, Session\n"
    "ProtocolFault.message = lambda self: {'jsonrpc': '2.0', 'method': 'notifications/nothing'}\n",
}
_PATIENCE = 5.0
_METHODS = (
    *("ping", "tools/list", "tools/call", "resources/list", "resources/read", "resources/templates/list"),
    *(
        "server/discover",
        "initialize",
        "prompts/list",
        "logging/setLevel",
        "subscriptions/listen",
        "no/such",
        "x" * 999,
    ),
)
_VALUES: tuple[Any, ...] = (None, True, 0, -1, 1.5, "", "x", "\ud800", "a" * 5000, [], [[]], {}, {"a": {"b": []}})
_ARGUMENTS = ("query", "note", "title", "body", "kind", "text", "offset", "limit", "project", "no_such")


def campaign(intensity: Intensity) -> Outcome:
    outcome = Outcome("messages of an unruly host")
    _run(outcome, intensity, intensity.pick(short=1500, full=100_000))
    for name, code in _BROKEN.items():
        broken = Outcome("messages")
        _run(broken, intensity, 120, code)
        outcome.control(name, broken)
    return outcome


def _run(outcome: Outcome, intensity: Intensity, count: int, broken: str = "") -> None:
    chance = intensity.random("messages")
    with scratch(in_memory=True) as folder:
        home = Home(Path(folder))
        home.plugin("noisytools", _NOISY, noisy="NOISY")
        if broken:
            program = f"import sys\n{broken}from agentm_kernel.cli.main import main; sys.exit(main())"
            command = [sys.executable, "-c", program, "mcp"]
        else:
            command = COMMAND
        _Round(outcome, home, chance, command).run(count)


class _Round:
    """One server, what it owes, and what it paid."""

    def __init__(self, outcome: Outcome, home: Home, chance: random.Random, command: list[str]) -> None:
        self._outcome, self._chance = outcome, chance
        self._owed: Counter[str] = Counter()
        self._excused: set[str] = set()
        self._paid: Counter[str] = Counter()
        self._to_cancel: list[str] = []
        self._lock = threading.Condition()
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=home.project,
            env=home.environ,
        )

    def run(self, count: int) -> None:
        reader = threading.Thread(target=self._read, daemon=True)
        reader.start()
        assert self._process.stdin is not None
        try:
            for number in range(count):
                self._process.stdin.write(b"".join(self._message(number)))
                if number % 50 == 0:
                    self._process.stdin.flush()
                    self._catch_up(60)
                self._outcome.count += 1
            self._process.stdin.close()
        except BrokenPipeError:
            self._outcome.violation("ended", f"the server ended after {number:,} messages")
        try:
            code = self._process.wait(timeout=120)
            if code != 0:
                self._outcome.violation("ended", f"exit code {code}")
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            self._outcome.violation("stuck", "the server did not end with its host")
        reader.join(30)
        self._settle()

    def _catch_up(self, most: int) -> None:
        """Wait until the server is not too far behind; one that never catches up shows in the account."""
        with self._lock:
            self._lock.wait_for(lambda: self._open() < most, timeout=_PATIENCE)

    def _open(self) -> int:
        return sum((self._owed - self._paid).values()) - len(self._excused)

    def _settle(self) -> None:
        for key in self._owed.keys() | self._paid.keys():
            owed, paid = self._owed[key], self._paid[key]
            if paid != owed and not (key in self._excused and paid < owed):
                self._outcome.violation("unanswered" if paid < owed else "unasked", f"{key[:80]}: {paid} for {owed}")

    # -- what the server says ---------------------------------------------------------------------------------

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            try:
                message = json.loads(line)
                is_sound = message["jsonrpc"] == "2.0" and _is_sound(message)
            except (ValueError, KeyError, TypeError):
                is_sound = False
            if not is_sound:
                self._outcome.violation("noise", repr(line[:120]))
            elif "method" not in message:
                with self._lock:
                    self._paid[json.dumps(message["id"])] += 1
                    self._lock.notify_all()
        self._process.stdout.close()

    # -- what the host says -----------------------------------------------------------------------------------

    def _message(self, number: int) -> Iterator[bytes]:
        yield from self._cancellations()
        kind = self._chance.random()
        if kind < 0.25:
            yield self._malformed()
        elif kind < 0.30:
            yield self._unasked()
        elif kind < 0.301:
            yield self._oversized()
        elif kind < 0.36:
            yield self._cancelled(number)
        elif kind < 0.42:
            yield self._request(self._id(number), "tools/call", {"name": "noisy", "arguments": {"seconds": "0.001"}})
        else:
            yield self._request(self._id(number), self._chance.choice(_METHODS))

    def _id(self, number: int) -> str | int:
        number += 2  # apart from the values with which others' requests are cancelled
        return self._chance.choice((number, f"r{number}", f"\u00e9{number}", -number))

    def _request(self, key: str | int, method: str, params: object = None) -> bytes:
        with self._lock:
            self._owed[json.dumps(key)] += 1
        body: dict[str, object] = {"jsonrpc": "2.0", "id": key, "method": method}
        body["params"] = self._params(method) if params is None else params
        if self._chance.random() < 0.02:
            del body["params"]
        return json.dumps(body).encode() + b"\n"

    def _params(self, method: str) -> object:
        chance = self._chance
        if chance.random() < 0.05:
            return chance.choice(_VALUES)
        params: dict[str, object] = {}
        if method == "tools/call":
            names = ("memory_search", "memory_read", "memory_save", "plan_read", "noisy", "no_such")
            params["name"] = chance.choice((*names, *_VALUES)) if chance.random() < 0.2 else chance.choice(names)
            chosen = chance.sample(_ARGUMENTS, chance.randint(0, 4))
            params["arguments"] = {name: chance.choice((*_VALUES, "a few words")) for name in chosen}
        if chance.random() < 0.3:
            params["_meta"] = chance.choice((ENVELOPE, {"progressToken": 7}, {"progressToken": []}, *_VALUES))
        for name in ("uri", "cursor", "protocolVersion", "capabilities", "clientInfo"):
            if chance.random() < 0.2:
                params[name] = chance.choice((*_VALUES, "agentm://personal/facts/x.md", {"roots": {}}))
        return params

    def _cancelled(self, number: int) -> bytes:
        """A call that will be cancelled a few messages later: while it waits, while it runs, or once it is done."""
        key = f"c{number}"
        with self._lock:
            self._excused.add(json.dumps(key))
        self._to_cancel.append(key)
        return self._request(key, "tools/call", {"name": "noisy", "arguments": {"seconds": "0.005"}})

    def _cancellations(self) -> Iterator[bytes]:
        while self._to_cancel and self._chance.random() < 0.5:
            params = {"requestId": self._to_cancel.pop(0)}
            cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
            yield json.dumps(cancel).encode() + b"\n"

    def _malformed(self) -> bytes:
        chance = self._chance
        with self._lock:
            self._owed["null"] += 1
        if chance.random() < 0.5:
            whole = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"a": ["b"]}}).encode()
            return whole[: chance.randrange(1, len(whole) - 1)] + b"\n"
        broken = (b"{", b"]", b"nul", b'"text"', b"[]", b"[1,2]", b"17", b"\xff\xfe", b"\x00", b"[" * 5000, b"{}")
        wrong = (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', b'{"jsonrpc":"2.0","id":null,"method":"ping"}')
        return chance.choice((*broken, *wrong)) + b"\n"

    def _oversized(self) -> bytes:
        with self._lock:
            self._owed["null"] += 1
        return b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"' + b"a" * 9_000_000 + b'"}}\n'

    def _unasked(self) -> bytes:
        value = self._chance.choice(_VALUES)
        messages: tuple[object, ...] = (
            {"jsonrpc": "2.0", "method": "notifications/of/something", "params": {"x": value}},
            {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": value}},
            {"jsonrpc": "2.0", "method": "notifications/initialized"},
            {"jsonrpc": "2.0", "id": "agentm-roots-1", "result": {"roots": value}},
            {"jsonrpc": "2.0", "id": 10**9, "error": {"code": 1, "message": "no"}},
        )
        return json.dumps(self._chance.choice(messages)).encode() + b"\n"


def _is_sound(message: dict[str, Any]) -> bool:
    """Whether it is an answer with a result or an error, or one of the things that the server says by itself."""
    if "method" in message:
        return message["method"] in ("notifications/progress", "roots/list")
    if "error" in message:
        error = message["error"]
        return "result" not in message and isinstance(error["code"], int) and isinstance(error["message"], str)
    return isinstance(message["result"], dict) and message["id"] is not None
