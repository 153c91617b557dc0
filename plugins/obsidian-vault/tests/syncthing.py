"""The real Syncthing between two vault folders: two processes on this machine that know only each other.

It is a package of the system; where it is not installed, `is_installed` says so. It has no account, no server and no
network but this machine's own.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator
    from pathlib import Path

    from two_vaults import Replica

_FOLDER = "vault"
_KEY = "for-tests-only"
_PATIENCE = 60.0
_CONFIG = """<configuration version="36">
  <folder id="{folder}" path="{root}" type="sendreceive" rescanIntervalS="0" fsWatcherDelayS="1">
    <device id="{mine}"/><device id="{other}"/>
    <maxConflicts>{most_copies}</maxConflicts><pullerPauseS>1</pullerPauseS>
    <minDiskFree unit="%">0</minDiskFree><markerName>.stfolder</markerName>
  </folder>
  <device id="{mine}" name="{name}"><address>dynamic</address></device>
  <device id="{other}" name="other"><address>tcp://127.0.0.1:{other_port}</address></device>
  <gui enabled="true" tls="false"><address>127.0.0.1:{page}</address><apikey>{key}</apikey></gui>
  <options>
    <listenAddress>tcp://127.0.0.1:{port}</listenAddress><reconnectionIntervalS>1</reconnectionIntervalS>
    <globalAnnounceEnabled>false</globalAnnounceEnabled><localAnnounceEnabled>false</localAnnounceEnabled>
    <relaysEnabled>false</relaysEnabled><natEnabled>false</natEnabled><urAccepted>-1</urAccepted>
    <crashReportingEnabled>false</crashReportingEnabled><autoUpgradeIntervalH>0</autoUpgradeIntervalH>
    <startBrowser>false</startBrowser><setLowPriority>false</setLowPriority>
  </options>
</configuration>
"""


def is_installed() -> bool:
    return shutil.which("syncthing") is not None


class Syncthing:
    """A sync tool as `TwoVaults` uses one. `most_copies` is its own setting: -1 keeps every conflict copy, its
    default is 10 for each file, 0 keeps none.
    """

    def __init__(self, replicas: list[Replica], chance: random.Random, *, most_copies: int = -1) -> None:
        self._chance = chance
        self._replicas = replicas
        homes = [replica.root.parent / "syncthing" for replica in replicas]
        self._ids = [_make_device(home) for home in homes]
        ports = _free_ports(4)
        self._pages = [f"http://127.0.0.1:{port}/rest" for port in ports[2:]]
        for side, (replica, home) in enumerate(zip(replicas, homes, strict=True)):
            (replica.root / ".stfolder").mkdir(parents=True)
            other = 1 - side
            config = _CONFIG.format(
                folder=_FOLDER,
                root=replica.root,
                mine=self._ids[side],
                other=self._ids[other],
                name=f"device-{side}",
                port=ports[side],
                other_port=ports[other],
                page=ports[2 + side],
                key=_KEY,
                most_copies=most_copies,
            )
            (home / "config.xml").write_text(config)
        self._processes = [_start(home) for home in homes]
        self._wait(lambda: all(self._is_connected(side) for side in (0, 1)), "the two to know each other")

    @property
    def made_copies(self) -> int:
        """How many versions lie beside the one that won."""
        return sum(".sync-conflict-" in path for path in self._replicas[0].paths())

    def step(self, replica: Replica) -> None:
        """Let one device look for changes, or cut it off, or connect it again; or just give both a moment."""
        side, luck = self._replicas.index(replica), self._chance.random()
        if luck < 0.1:
            self._ask(side, "POST", "system/pause", device=self._ids[1 - side])
        elif luck < 0.3:
            self._ask(side, "POST", "system/resume", device=self._ids[1 - side])
        elif luck < 0.8:
            self._scan(side)
        else:
            time.sleep(self._chance.choice((0.01, 0.05, 0.2)))

    def cut(self) -> None:
        """Neither device hears of the other until they settle."""
        for side in (0, 1):
            self._ask(side, "POST", "system/pause", device=self._ids[1 - side])

    def settle(self) -> None:
        """Until both folders are alike, and stay so."""
        for side in (0, 1):
            self._ask(side, "POST", "system/resume", device=self._ids[1 - side])
        self._wait(lambda: self._is_alike() and self._is_alike(), "both folders to be alike")

    def close(self) -> None:
        for process in self._processes:
            process.terminate()
        for process in self._processes:
            process.wait(30)

    def _is_alike(self) -> bool:
        for side in (0, 1):
            self._scan(side)
        states = [self._ask(side, "GET", "db/status", folder=_FOLDER) for side in (0, 1)]
        is_done = all(state["state"] == "idle" and state["needTotalItems"] == 0 for state in states)
        trees = [
            {path: replica.content(path) for path in replica.paths() if ".syncthing." not in path}  # half downloads
            for replica in self._replicas
        ]
        return is_done and all(self._is_connected(side) for side in (0, 1)) and trees[0] == trees[1]

    def _scan(self, side: int) -> None:
        """Let a device look for changes, but not in a second in which a copy was made.

        Syncthing names its copies by the second, so a further conflict of the same note within it replaces the copy.
        That is a loss of its own, which no store can prevent; people's conflicts are further apart.
        """
        while any(self._copies_of_this_second()):
            time.sleep(0.05)
        self._ask(side, "POST", "db/scan", folder=_FOLDER)

    def _copies_of_this_second(self) -> Iterator[str]:
        for replica in self._replicas:
            for path in [path for path in replica.paths() if ".sync-conflict-" in path]:
                with contextlib.suppress(FileNotFoundError):
                    if int((replica.root / path).stat().st_ctime) == int(time.time()):
                        yield path

    def _is_connected(self, side: int) -> bool:
        try:
            known = self._ask(side, "GET", "system/connections")["connections"]
        except OSError:
            return False  # it is not up yet
        return bool(known.get(self._ids[1 - side], {}).get("connected"))

    def _ask(self, side: int, method: str, what: str, **about: str) -> Any:
        address = f"{self._pages[side]}/{what}?{urlencode(about)}"
        request = urllib.request.Request(address, method=method, headers={"X-API-Key": _KEY})
        with urllib.request.urlopen(request, timeout=_PATIENCE) as answer:
            body = answer.read()
        return json.loads(body) if body else None

    def _wait(self, is_so: Any, what: str) -> None:
        end = time.monotonic() + _PATIENCE
        while not is_so():
            if time.monotonic() > end:
                raise TimeoutError(f"Syncthing took more than {_PATIENCE:g} s for {what}")
            time.sleep(0.1)


def _make_device(home: Path) -> str:
    """Keys and a certificate; the id is what they are known by."""
    home.mkdir(parents=True)
    command = ["syncthing", f"--home={home}"]
    subprocess.run(["syncthing", "generate", *command[1:]], check=True, capture_output=True, env=_environ(home))
    done = subprocess.run([*command, "--device-id"], check=True, capture_output=True, text=True, env=_environ(home))
    return done.stdout.strip()


def _start(home: Path) -> subprocess.Popen[bytes]:
    command = ["syncthing", "serve", f"--home={home}", "--no-browser", "--no-restart", "--no-upgrade"]
    with open(home / "log.txt", "wb") as log:
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=_environ(home))


def _environ(home: Path) -> dict[str, str]:
    return {"HOME": str(home), "PATH": os.environ["PATH"]}


def _free_ports(number: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(number)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports
