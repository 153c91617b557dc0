"""Real object stores for the tests: found where the set-up put them, started on loopback, stopped by process id.

Nothing is installed here: `make servers` does that. A server that is missing skips its tests with that reason, and
fails them where AGENTM_REQUIRE_SERVERS is set; AGENTM_WITHOUT_SERVERS leaves all of them out.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import json
import os
import random
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from tests.node import node

from agentm_bucket.backend import BucketBackend
from agentm_kernel.plugin import Device, Opening

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "agentm-tests" / "object-stores"
"""Where `install_servers.py` puts what npm has."""

BUCKET = "agentm-test"
KEY_ID, SECRET = "test-key-id", "test-secret-do-not-log"
AZURE_ACCOUNT = "devstoreaccount1"
AZURE_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""Not a secret: the key that every azurite has."""

_START_LIMIT = 60.0


class ServerMissingError(Exception):
    """A server is not installed on this machine."""


class NotStartedError(Exception):
    """A server ended, or did not listen in time."""


@dataclass(frozen=True)
class Server:
    """Where a server listens and how it is spoken to. Crosses process borders."""

    name: str
    kind: str
    endpoint: str
    folder: str
    """Its data, and the state directory of the device that the tests play."""
    environ: dict[str, str] = field(repr=False)
    options: dict[str, str] = field(default_factory=dict)

    def open(self, prefix: str, *, device: str = "device", **options: object) -> BucketBackend:
        """The store below `prefix`, as a device opens it."""
        given = {"kind": self.kind, "bucket": BUCKET, "prefix": prefix, "endpoint": self.endpoint, **self.options}
        state = os.path.join(self.folder, "state", device)
        return BucketBackend.create(
            {**given, **options}, Device({**self.environ, "HOME": self.folder}), Opening(state_dir=state)
        )

    def at(self, endpoint: str) -> Server:
        """The same server by another address."""
        return replace(self, endpoint=endpoint)


@dataclass(frozen=True)
class OpenScratch:
    """Opens the store of a scratch directory, for the conformance kit and its processes."""

    server: Server

    def __call__(self, scratch: str) -> BucketBackend:
        return self.server.open("kit/" + hashlib.sha256(scratch.encode()).hexdigest()[:16])


class Running:
    """A server process, which can be killed and started again on the same data."""

    def __init__(
        self,
        server: Server,
        command: Sequence[str],
        ports: Sequence[int],
        env: dict[str, str],
        litter: Sequence[str] = (),
    ) -> None:
        self.server = server
        self._litter = litter
        self._command, self._ports, self._env = list(command), list(ports), env
        self.start()

    def start(self) -> None:
        with open(os.path.join(self.server.folder, "server.log"), "ab") as log:
            self._process = subprocess.Popen(
                self._command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, env={**os.environ, **self._env}
            )
        for port in self._ports:
            self._wait_for(port)

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()
        for path in self._litter:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)

    def shut_down(self) -> None:
        """Ask it to end: azurite keeps what it acknowledged in memory for a while, and would lose it."""
        self._process.terminate()
        try:
            self._process.wait(timeout=_START_LIMIT)
        except subprocess.TimeoutExpired:
            self.stop()

    def _wait_for(self, port: int) -> None:
        end = time.monotonic() + _START_LIMIT
        while time.monotonic() < end and self._process.poll() is None:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                return
            time.sleep(0.05)
        self.stop()
        log = Path(self.server.folder, "server.log").read_text(errors="replace")
        raise NotStartedError(f"{self.server.name} did not start: {log[-500:]}")


# ------------------------------------------------------------------------------------------------ the servers


def start_moto(folder: str) -> Running:
    (port,) = _free_ports(1)
    command = [_beside_python("moto_server"), "-H", "127.0.0.1", "-p", str(port)]
    running = Running(_s3("moto", port, folder), command, [port], {})
    make_bucket(running.server)
    return running


def start_seaweed(folder: str) -> Running:
    """Its S3 gateway, filer, volume server and master in one process."""
    weed = _beside_python("weed")
    s3, master, volume, filer = ports = _free_ports(4)
    grpc = _free_ports(4)
    config = os.path.join(folder, "s3.json")
    identity = {
        "name": "test",
        "credentials": [{"accessKey": KEY_ID, "secretKey": SECRET}],
        "actions": ["Admin", "Read", "Write", "List", "Tagging"],
    }
    Path(config).write_text(json.dumps({"identities": [identity]}))
    os.makedirs(os.path.join(folder, "data"), exist_ok=True)
    command = [
        *(
            weed,
            "server",
            "-ip=127.0.0.1",
            "-ip.bind=127.0.0.1",
            f"-dir={folder}/data",
            "-s3",
            f"-s3.config={config}",
        ),
        *(f"-s3.port={s3}", f"-master.port={master}", f"-volume.port={volume}", f"-filer.port={filer}"),
        *(f"-s3.port.grpc={grpc[0]}", f"-master.port.grpc={grpc[1]}", f"-volume.port.grpc={grpc[2]}"),
        *(f"-filer.port.grpc={grpc[3]}", "-volume.max=500", "-master.volumeSizeLimitMB=64"),
        *(
            "-s3.port.iceberg=0",
            "-s3.port.lance=0",
            f"-s3.localSocket={folder}/s3.sock",
            f"-filer.localSocket={folder}/f.sock",
        ),
    ]
    parts = zip(("s3", "master", "volume", "filer"), grpc, strict=True)
    sockets = [f"/tmp/seaweedfs-{part}-grpc-{port}.sock" for part, port in parts]  # it cannot be told another place
    environ = {"WEED_MASTER_VOLUME_GROWTH_COPY_1": "1", "TMPDIR": folder}
    running = Running(_s3("seaweedfs", s3, folder), command, ports, environ, sockets)
    make_bucket(running.server)
    return running


def start_s3rver(folder: str) -> Running:
    """A server that takes conditions and ignores them."""
    (port,) = _free_ports(1)
    script = _from_npm("s3rver", "bin/s3rver.js")
    command = [*script, "-d", folder, "-a", "127.0.0.1", "-p", str(port), "--configure-bucket", BUCKET]
    server = replace(_s3("s3rver", port, folder), environ={"AWS_ACCESS_KEY_ID": "S3RVER"})
    server.environ["AWS_SECRET_ACCESS_KEY"] = "S3RVER"
    return Running(server, command, [port], {})


def start_azurite(folder: str) -> Running:
    (port,) = _free_ports(1)
    script = _from_npm("azurite", "dist/src/blob/main.js")
    command = [*script, "--blobHost", "127.0.0.1", "--blobPort", str(port), "--location", folder, "--silent"]
    command += ["--skipApiVersionCheck", "--disableTelemetry"]
    endpoint = f"http://127.0.0.1:{port}/{AZURE_ACCOUNT}"
    server = Server(
        "azurite",
        "azure",
        endpoint,
        folder,
        {"AZURE_STORAGE_ACCOUNT_KEY": AZURE_KEY},
        {"account": AZURE_ACCOUNT},
    )
    running = Running(server, command, [port], {})
    _make_container(endpoint)
    return running


STARTERS = {"moto": start_moto, "seaweedfs": start_seaweed, "azurite": start_azurite, "s3rver": start_s3rver}


@contextlib.contextmanager
def running(name: str, folder: str) -> Iterator[Running]:
    """A server for as long as the block lasts."""
    if os.environ.get("AGENTM_WITHOUT_SERVERS"):
        raise ServerMissingError(f"the servers were left out: {name}")
    started = _started(name, folder)
    try:
        yield started
    finally:
        started.stop()
        shutil.rmtree(folder, ignore_errors=True)


def _started(name: str, folder: str) -> Running:
    """Once more, if need be: somebody else may have taken a port that was free a moment ago."""
    for _ in range(2):
        os.makedirs(folder, exist_ok=True)
        with contextlib.suppress(NotStartedError):
            return STARTERS[name](folder)
        shutil.rmtree(folder)
    os.makedirs(folder)
    return STARTERS[name](folder)


# ------------------------------------------------------------------------------------------------ pieces


def _s3(name: str, port: int, folder: str) -> Server:
    environ = {"AWS_ACCESS_KEY_ID": KEY_ID, "AWS_SECRET_ACCESS_KEY": SECRET}
    return Server(name, "s3", f"http://127.0.0.1:{port}", folder, environ)


def _beside_python(name: str) -> str:
    path = os.path.join(os.path.dirname(sys.executable), name)
    if not os.path.exists(path):
        raise ServerMissingError(f"{name} is not installed: run `make servers`")
    return path


def _from_npm(package: str, script: str) -> list[str]:
    path = CACHE / "node_modules" / package / script
    program = node()
    if program is None:
        raise ServerMissingError(f"{package} needs Node, which is not installed: run `make servers`")
    if not path.exists():
        raise ServerMissingError(f"{package} is not installed: run `make servers`")
    return [program, str(path)]


def _free_ports(count: int) -> list[int]:
    """Ports that nobody listens on. Low enough that nothing is given them for an outgoing connection meanwhile."""
    found: list[int] = []
    while len(found) < count:
        port = random.randint(12000, 32000)
        with socket.socket() as probe:
            if port not in found and probe.connect_ex(("127.0.0.1", port)) != 0:
                found.append(port)
    return found


def make_bucket(server: Server) -> None:
    import boto3
    from botocore.config import Config

    client = boto3.client(
        "s3",
        endpoint_url=server.endpoint,
        aws_access_key_id=KEY_ID,
        aws_secret_access_key=SECRET,
        region_name="us-east-1",
        config=Config(retries={"max_attempts": 10, "mode": "standard"}),
    )
    with contextlib.suppress(client.exceptions.BucketAlreadyOwnedByYou, client.exceptions.BucketAlreadyExists):
        client.create_bucket(Bucket=BUCKET)


def _make_container(endpoint: str) -> None:
    now = datetime.now(UTC).strftime("%a, %d %b %Y %H:%M:%S GMT")
    headers = {"x-ms-date": now, "x-ms-version": "2021-12-02"}
    named = "".join(f"{name}:{value}\n" for name, value in sorted(headers.items()))
    resource = f"/{AZURE_ACCOUNT}/{AZURE_ACCOUNT}/{BUCKET}\nrestype:container"
    text = "PUT\n" + "\n" * 11 + named + resource
    signature = base64.b64encode(hmac.new(base64.b64decode(AZURE_KEY), text.encode(), hashlib.sha256).digest())
    headers["Authorization"] = f"SharedKey {AZURE_ACCOUNT}:{signature.decode()}"
    request = urllib.request.Request(f"{endpoint}/{BUCKET}?restype=container", method="PUT", headers=headers)
    with urllib.request.urlopen(request, timeout=10):
        pass
