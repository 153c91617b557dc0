"""A program that keeps a note, as a work drives it: `add` and `read`, each done or refused with words."""

from __future__ import annotations

import json
import subprocess
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

DESKS = Path(__file__).with_name("desks")
LIMIT = 90.0
"""Seconds for one answer; a program that takes longer is taken for one that hangs."""


class Refused(Exception):
    """The program said that it could not, or ended."""


class Program:
    """A process that is asked one thing at a time over its standard input and output."""

    def __init__(self, command: Sequence[str], environ: Mapping[str, str], folder: str) -> None:
        self._process = subprocess.Popen(
            command,
            env=dict(environ),
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
        )

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            try:
                if stream is not None:
                    stream.close()
            except OSError:
                pass  # what it was still to be told

    def _send(self, message: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(message) + "\n")
            self._process.stdin.flush()
        except (OSError, ValueError):
            raise Refused("the program has ended") from None

    def _hear(self) -> dict[str, Any]:
        """The next line. A watchdog ends a program that says nothing, and the line with it."""
        assert self._process.stdout is not None
        watchdog = threading.Timer(LIMIT, self._process.kill)
        watchdog.start()
        try:
            line = self._process.stdout.readline()
        except ValueError:
            line = ""
        finally:
            watchdog.cancel()
        if not line:
            raise Refused("the program has ended")
        heard: dict[str, Any] = json.loads(line)
        return heard


class Desk(Program):
    """One of the programs in `desks`."""

    def __init__(self, python: str, name: str, arguments: Sequence[str], environ: Mapping[str, str], folder: str):
        super().__init__([python, "-B", str(DESKS / f"{name}.py"), *arguments], environ, folder)
        self._hear()

    def ask(self, verb: str, **arguments: Any) -> Any:
        self._send({"verb": verb, **arguments})
        answer = self._hear()
        if "refused" in answer:
            raise Refused(answer["refused"])
        return answer["done"]

    def add(self, line: str) -> None:
        self.ask("add", line=line)

    def read(self) -> str:
        text: str = self.ask("read")
        return text


class Tools(Program):
    """A server of tools (MCP) on standard input and output, started as an agent host starts one: one each."""

    def __init__(self, command: Sequence[str], environ: Mapping[str, str], folder: str) -> None:
        super().__init__(command, environ, folder)
        self._number = 0
        client = {"name": "rivals", "version": "1"}
        self._ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client})
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def call(self, tool: str, **arguments: Any) -> str:
        """The text of the answer."""
        answer = self._ask("tools/call", {"name": tool, "arguments": arguments})
        said = "\n".join(part.get("text", "") for part in answer.get("content", []))
        if answer.get("isError"):
            raise Refused(said[:300])
        return said

    def _ask(self, method: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
        self._number += 1
        self._send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": parameters})
        while (answer := self._hear()).get("id") != self._number:
            pass
        if "error" in answer:
            raise Refused(str(answer["error"])[:300])
        result: dict[str, Any] = answer["result"]
        return result
