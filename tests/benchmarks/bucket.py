"""The bucket plugin against bare calls of its client library, and of boto3, for the same requests.

Starts SeaweedFS, which `plugins/bucket/tests/install_servers.py` installs; moto, an emulator, if that is missing.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentm_kernel import Locator, update
from agentm_kernel.plugin import ABSENT, content_hash
from tests.benchmarks.measure import interleave
from tests.benchmarks.tables import Table
from tests.benchmarks.writes import NOTE

if TYPE_CHECKING:
    from agentm_bucket.backend import BucketBackend
    from tests.benchmarks.measure import Setting
    from tests.benchmarks.tables import Row

sys.path.append(str(Path(__file__).resolve().parents[2] / "plugins" / "bucket" / "tests"))

_KEY = "bench/decision.md"
_DATA = NOTE.encode()


def run(setting: Setting) -> Table:
    from bucket_servers import ServerMissingError, running

    for name in ("seaweedfs", "moto"):
        try:
            with running(name, str(setting.scratch / name)) as started:
                return _measured(started.server, setting)
        except ServerMissingError:
            continue
    note = "Not measured: no server is installed. Run plugins/bucket/tests/install_servers.py."
    return Table("bucket", "Object store", note, [])


class Bare:
    """The same requests by hand, with obstore."""

    def __init__(self, server: Any) -> None:
        from bucket_servers import BUCKET, KEY_ID, SECRET
        from obstore.store import S3Store

        self._store = S3Store(
            BUCKET,
            endpoint=server.endpoint,
            region="us-east-1",
            access_key_id=KEY_ID,
            secret_access_key=SECRET,
            client_options={"allow_http": True},
        )
        self._tag: Any = None
        self._created = 0

    def read(self) -> str:
        import obstore

        found = obstore.get(self._store, _KEY)
        self._tag = found.meta["e_tag"]
        return bytes(found.bytes()).decode()

    def write(self) -> None:
        import obstore

        mode: Any = "overwrite" if self._tag is None else {"e_tag": self._tag}
        self._tag = obstore.put(self._store, _KEY, _DATA, mode=mode, use_multipart=False)["e_tag"]

    def update(self) -> None:
        self.read()
        self.write()

    def create(self) -> None:
        import obstore

        self._created += 1
        folder = f"bare-{self._created % 50}"
        obstore.list_with_delimiter(self._store, folder)
        obstore.put(self._store, f"{folder}/{self._created}.md", _DATA, mode="create", use_multipart=False)


class Boto:
    """The same requests with boto3."""

    def __init__(self, server: Any) -> None:
        import boto3
        from bucket_servers import BUCKET, KEY_ID, SECRET

        self._bucket = BUCKET
        self._client = boto3.client(
            "s3",
            endpoint_url=server.endpoint,
            aws_access_key_id=KEY_ID,
            aws_secret_access_key=SECRET,
            region_name="us-east-1",
        )
        self._tag = ""

    def read(self) -> str:
        found = self._client.get_object(Bucket=self._bucket, Key=_KEY)
        self._tag = found["ETag"]
        text: str = found["Body"].read().decode()
        return text

    def update(self) -> None:
        self.read()
        self._client.put_object(Bucket=self._bucket, Key=_KEY, Body=_DATA, IfMatch=self._tag)


def _measured(server: Any, setting: Setting) -> Table:
    store: BucketBackend = server.open("bench")
    own = Locator("decision.md")
    bare, boto = Bare(server), Boto(server)
    store.write(own, NOTE)
    for number in range(50):  # creating in folders that exist is what is usual, and what is compared
        store.mkdir(Locator(f"own-{number}"))
    bare.write()
    count = 0

    def create() -> None:
        nonlocal count
        count += 1
        store.write(Locator(f"own-{count % 50}/{count}.md"), NOTE, if_match=ABSENT)

    def edit(text: str | None) -> str:
        return NOTE if text != NOTE else NOTE + "\n"

    digest = content_hash(NOTE)
    pairs = {
        "read (1 GET)": (lambda: store.read(own), bare.read, boto.read),
        "write on condition (1 PUT)": (lambda: store.write(own, NOTE, if_match=digest), bare.write, None),
        "update (GET, PUT)": (lambda: update(store, own, edit), bare.update, boto.update),
        "create (LIST, PUT)": (create, bare.create, None),
    }
    rows: list[Row] = []
    for name, (through_us, by_hand, by_boto) in pairs.items():
        store.write(own, NOTE)
        work = {"own": through_us, "bare": by_hand, **({"boto": by_boto} if by_boto else {})}
        samples = interleave(work, rounds=setting.rounds(60, 10), batch=10)
        rows.append(
            {
                "work": name,
                "agentm (ms)": samples.seconds("own") * 1e3,
                "obstore (ms)": samples.seconds("bare") * 1e3,
                "cost (×)": samples.cost("own", "bare"),
                "boto3 (ms)": samples.seconds("boto") * 1e3 if by_boto else "",
            }
        )
    note = f"2 kB notes on {server.name} on this machine, one client. The requests are the same in every column."
    return Table("bucket", "Object store", note, rows)
