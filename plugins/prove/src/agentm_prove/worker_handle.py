"""The near end of a worker: a process that has a store and does with it what it is asked."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

from agentm_prove.trial import Broken

if TYPE_CHECKING:
    from collections.abc import Mapping

LIMIT = 12.0
"""Seconds for an answer. A lock is waited for no longer than ten."""


class Refused(Exception):
    """The store, or the worker, refused: an error of agentm with its class, or any other."""

    def __init__(self, kind: str, kinds: tuple[str, ...], message: str) -> None:
        super().__init__(f"{kind}: {message}")
        self.kind = kind
        self.kinds = kinds
        """The names of the class and of those that it derives from."""
        self.message = message


class Worker:
    """One process. `ask` is `send` and `answer` in one."""

    def __init__(self, environ: Mapping[str, str], place: str, *, disk_of: int = 0) -> None:
        self._process = subprocess.Popen(  # noqa: S603 - our own interpreter, our own module
            [sys.executable, "-P", "-m", "agentm_prove.worker", place, str(disk_of)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=dict(environ),
            cwd=environ["HOME"],
        )
        self._heard: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            try:
                self._heard.put(json.loads(line))
            except ValueError:
                break  # it was killed in the middle of a line
        self._heard.put(None)

    def send(self, verb: str, **arguments: object) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps({"verb": verb, **arguments}).encode() + b"\n")
            self._process.stdin.flush()
        except OSError:
            pass  # it is dead: whoever waits for the answer hears of it

    def hear(self, limit: float = LIMIT) -> dict[str, Any]:
        """The next thing that the worker says: `{"said": …}`, `{"done": …}` or `{"raised": …}`."""
        try:
            message = self._heard.get(timeout=limit)
        except queue.Empty:
            raise Broken(f"a process did not answer within {limit:g} s") from None
        if message is None:
            raise Broken(f"a process ended by itself, with status {self._process.wait()}")
        return message

    def answer(self, limit: float = LIMIT) -> Any:
        while True:
            message = self.hear(limit)
            if "done" in message:
                return message["done"]
            if "raised" in message:
                raise Refused(message["raised"], tuple(message["kinds"]), message["message"])

    def is_silent_for(self, seconds: float) -> bool:
        """Whether it says nothing in that time. What it says is kept for `answer`."""
        try:
            message = self._heard.get(timeout=seconds)
        except queue.Empty:
            return True
        self._heard.put(message)
        return False

    def said_so_far(self) -> list[Any]:
        """What it has said until now, once it is dead."""
        said = []
        while (message := self._heard.get(timeout=LIMIT)) is not None:
            if "said" in message:
                said.append(message["said"])
        return said

    def ask(self, verb: str, *, limit: float = LIMIT, **arguments: object) -> Any:
        self.send(verb, **arguments)
        return self.answer(limit)

    def pause(self) -> None:
        os.kill(self._process.pid, signal.SIGSTOP)

    def go_on(self) -> None:
        os.kill(self._process.pid, signal.SIGCONT)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except OSError:
                    pass
