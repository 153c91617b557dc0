"""An agent host for tests: a home with a project in it, and `agentm mcp` in a process of its own."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, Self

VERSION = "2026-07-28"
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": VERSION,
    "io.modelcontextprotocol/clientInfo": {"name": "test-host", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
COMMAND = [sys.executable, "-c", "import sys; from agentm_kernel.cli.main import main; sys.exit(main())", "mcp"]


class Home:
    """A home with one project, and the default store, which is not there yet."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.project = self.make_project("widgets")
        self.root = path / ".agentm" / "memory"
        self.environ = {"HOME": str(path), "PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"}

    def make_project(self, name: str) -> Path:
        project = self.path / name
        (project / ".git").mkdir(parents=True)
        (project / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        (project / ".git" / "config").write_text(f'[remote "origin"]\n\turl = git@example.com:ana/{name}.git\n')
        return project

    def agentm(self, *arguments: str, input: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*COMMAND[:-1], *arguments],
            input=input,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            cwd=self.project,
            env=self.environ,
        )

    def plugin(self, name: str, code: str, **tools: str) -> None:
        """Install a distribution with tools in it, as far as metadata goes."""
        site = self.path / "site"
        info = site / f"{name}-1.0.dist-info"
        info.mkdir(parents=True)
        (site / f"{name}.py").write_text(code)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        entries = "".join(f"{tool} = {name}:{attribute}\n" for tool, attribute in tools.items())
        (info / "entry_points.txt").write_text(f"[agentm.tools]\n{entries}")
        self.environ["PYTHONPATH"] = str(site)


class Host:
    """One server and what it says. Every line on its standard output has to be a message, or `read` fails."""

    def __init__(self, home: Home, *, cwd: Path | None = None, **environ: str) -> None:
        self.errors: list[str] = []
        self.asked: list[dict[str, Any]] = []
        """Requests and notifications of the server."""
        self._answers: queue.Queue[str | None] = queue.Queue()
        self._kept: dict[Any, dict[str, Any]] = {}
        self._last = 0
        self.process = subprocess.Popen(
            COMMAND,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd or home.project,
            env={**home.environ, **environ},
        )
        self._pumps = [threading.Thread(target=pump, daemon=True) for pump in (self._pump, self._pump_errors)]
        for pump in self._pumps:
            pump.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> int:
        assert self.process.stdin is not None
        if not self.process.stdin.closed:
            try:
                self.process.stdin.close()
            except BrokenPipeError:
                pass
        try:
            return self.process.wait(timeout=20)
        finally:
            self.process.kill()
            self.process.wait()
            for pump in self._pumps:
                pump.join(timeout=5)
            for stream in (self.process.stdout, self.process.stderr):
                assert stream is not None
                stream.close()

    def _pump(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._answers.put(line.decode())
        self._answers.put(None)

    def _pump_errors(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.errors.append(line.decode())

    # -- messages ---------------------------------------------------------------------------------------------

    def send_raw(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message: object) -> None:
        self.send_raw(json.dumps(message).encode() + b"\n")

    def read(self, seconds: float = 20.0) -> dict[str, Any] | None:
        """The next message; `None` once the server has closed its end."""
        line = self._answers.get(timeout=seconds)
        if line is None:
            return None
        message = json.loads(line)
        assert isinstance(message, dict), line
        assert message["jsonrpc"] == "2.0", line
        return message

    def answer_to(self, key: object, seconds: float = 20.0) -> dict[str, Any]:
        while key not in self._kept:
            message = self.read(seconds)
            assert message is not None, f"the server ended: {''.join(self.errors)}"
            if "method" in message:
                self.asked.append(message)
            else:
                self._kept[message["id"]] = message
        return self._kept.pop(key)

    def request(self, method: str, _key: object = None, _modern: bool = False, **params: Any) -> dict[str, Any]:
        self._last += 1
        key = self._last if _key is None else _key
        if _modern:
            params = {**params, "_meta": {**ENVELOPE, **params.get("_meta", {})}}
        self.send({"jsonrpc": "2.0", "id": key, "method": method, "params": params})
        return self.answer_to(key)

    def notify(self, method: str, **params: Any) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def initialize(self, version: str = "2025-11-25", **capabilities: Any) -> dict[str, Any]:
        info = {"name": "test-host", "version": "1"}
        answer = self.request("initialize", protocolVersion=version, capabilities=capabilities, clientInfo=info)
        self.notify("notifications/initialized")
        return answer["result"]

    def call(self, name: str, **arguments: Any) -> str:
        """The text of a tool's answer; it has to have worked."""
        result = self.result(name, **arguments)
        assert not result.get("isError"), result
        return result["content"][0]["text"]

    def failure(self, name: str, **arguments: Any) -> str:
        """The text of a tool's error."""
        result = self.result(name, **arguments)
        assert result.get("isError") is True, result
        return result["content"][0]["text"]

    def fields(self, name: str, **arguments: Any) -> dict[str, Any]:
        """The structured answer of a tool."""
        result = self.result(name, **arguments)
        assert not result.get("isError"), result
        return result["structuredContent"]

    def result(self, name: str, **arguments: Any) -> dict[str, Any]:
        answer = self.request("tools/call", name=name, arguments=arguments)
        assert "result" in answer, answer
        return answer["result"]


def field_of(text: str, name: str) -> str:
    """A field of an answer in text."""
    return next(line.partition(": ")[2] for line in text.splitlines() if line.startswith(f"{name}: "))
