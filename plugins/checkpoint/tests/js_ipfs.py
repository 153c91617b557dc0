"""A real IPFS daemon for the tests: js-ipfs from npm, installed once into the user's cache directory.

`python plugins/checkpoint/tests/js_ipfs.py` installs it, which takes some minutes. It listens on loopback only.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from filelock import FileLock

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))  # for what the tests of all plugins share

import tests.node

VERSION = "0.66.1"
REQUIRE = "AGENTM_REQUIRE_SERVERS"
"""With this variable set to 1, a daemon that cannot be had is a failure, and one that is missing is installed."""
WITHOUT = "AGENTM_WITHOUT_SERVERS"
"""With this one, there is none, installed or not."""

_CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "agentm-tests" / f"js-ipfs-{VERSION}"
_DONE = _CACHE / "installed"

# One of its dependencies wants a function that Node has from version 22 on.
_POLYFILL = """\
Promise.withResolvers ??= function () {
  let resolve, reject
  const promise = new this((one, other) => { resolve = one; reject = other })
  return { promise, resolve, reject }
}
"""


class Unavailable(Exception):
    """Why there is no daemon."""


def require() -> bool:
    return os.environ.get(REQUIRE) == "1"


def install() -> None:
    """Put js-ipfs into the cache, unless it is there."""
    npm = tests.node.npm()
    if npm is None:
        raise Unavailable("there is no npm: `python -m tests.node` installs one")
    _CACHE.mkdir(parents=True, exist_ok=True)
    with FileLock(_CACHE / "lock"):
        if _DONE.exists():
            return
        (_CACHE / "package.json").write_text('{"name": "agentm-tests", "private": true}\n')
        command = [*npm, "install", "--no-audit", "--no-fund", "--loglevel=error", f"ipfs@{VERSION}"]
        environ = tests.node.environ_for_npm()
        done = subprocess.run(command, cwd=_CACHE, env=environ, capture_output=True, text=True, check=False)
        if done.returncode:
            raise Unavailable(f"npm cannot install ipfs@{VERSION}: {done.stderr.strip()[-300:]}")
        (_CACHE / "polyfill.cjs").write_text(_POLYFILL)
        _DONE.touch()


def check_installed() -> None:
    if os.environ.get(WITHOUT) == "1":
        raise Unavailable("the servers were left out: js-ipfs")
    if tests.node.node() is None:
        raise Unavailable("js-ipfs needs Node, which is not installed: run `make servers`")
    if not _DONE.exists():
        raise Unavailable("js-ipfs is not installed: run `make servers`")


class JsIpfs:
    """One daemon with a repository of its own: `start`, then `api`, then `stop` or `kill`."""

    def __init__(self) -> None:
        self._repository = tempfile.mkdtemp(prefix="agentm-ipfs-")
        self._process: subprocess.Popen[str] | None = None
        self.api = ""
        self._run("init", "--empty-repo")
        self._configure()

    def _command(self, *arguments: str) -> list[str]:
        program = _CACHE / "node_modules" / ".bin" / "jsipfs"
        return [str(tests.node.node()), "--require", str(_CACHE / "polyfill.cjs"), str(program), *arguments]

    @property
    def _environ(self) -> dict[str, str]:
        return {"PATH": os.environ["PATH"], "HOME": self._repository, "IPFS_PATH": f"{self._repository}/repo"}

    def _run(self, *arguments: str) -> None:
        done = subprocess.run(
            self._command(*arguments), env=self._environ, capture_output=True, text=True, check=False, timeout=120
        )
        if done.returncode:
            raise Unavailable(f"js-ipfs cannot make a repository: {done.stderr[-300:]}")

    def _configure(self) -> None:
        """Keep it to itself: no swarm, no peers, no discovery; ports that the system chooses."""
        file = Path(self._repository) / "repo" / "config"
        config = json.loads(file.read_text())
        local = "/ip4/127.0.0.1/tcp/0"
        config["Addresses"].update(Swarm=[], Delegates=[], API=local, Gateway=local, RPC=local)
        config["Bootstrap"] = []
        config["Routing"] = {"Type": "none"}
        config["Discovery"] = {"MDNS": {"Enabled": False}, "webRTCStar": {"Enabled": False}}
        config["Pubsub"] = {"Enabled": False}
        file.write_text(json.dumps(config))

    def start(self) -> None:
        self.api = ""
        for left in ("repo.lock", "api"):  # by one that was killed
            path = Path(self._repository) / "repo" / left
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        self._process = subprocess.Popen(
            self._command("daemon", "--offline"),
            env=self._environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        said = ""
        deadline = time.monotonic() + 60
        assert self._process.stdout is not None
        for line in self._process.stdout:
            said += line
            if found := re.search(r"HTTP API listening on /ip4/127\.0\.0\.1/tcp/(\d+)", line):
                self.api = f"http://127.0.0.1:{found[1]}"
            if "Daemon is ready" in line or time.monotonic() > deadline:
                break
        if not self.api or self._process.poll() is not None:
            self.stop()
            raise Unavailable(f"js-ipfs does not start: {said[-300:]}")
        threading.Thread(target=self._process.stdout.read, daemon=True).start()

    def kill(self) -> None:
        """As a crash would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            if self._process.stdout is not None:
                self._process.stdout.close()
            self._process = None

    def stop(self) -> None:
        """Nothing of it is needed any more, so there is nothing that it has to put in order."""
        self.kill()
        shutil.rmtree(self._repository, ignore_errors=True)


if __name__ == "__main__":
    install()
    print(_CACHE)
