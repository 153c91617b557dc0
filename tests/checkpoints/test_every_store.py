"""History and coming back, through the commands that people use, on each kind of store."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import uuid
from typing import TYPE_CHECKING

import pytest

import tests.faults  # noqa: F401 - finds the servers, which lie beside the plugins' own tests
from tests.checkpoints.device import Device

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from bucket_servers import Server

STORES: dict[str, list[str]] = {
    "device-local": [],
    "vault": ["vault", "init", "{home}/vault", "--create", "--use"],
    "git": ["git", "init", "{home}/clone", "--use"],
    "bucket": ["bucket", "init", "{bucket}", "--endpoint", "{endpoint}", "--prefix", "{prefix}", "--use"],
}


@pytest.fixture(scope="module")
def bucket_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    from bucket_servers import ServerMissingError, running

    try:
        with running("moto", str(tmp_path_factory.mktemp("moto"))) as started:
            yield started.server
    except ServerMissingError as reason:
        if os.environ.get("AGENTM_REQUIRE_SERVERS"):
            pytest.fail(str(reason))
        pytest.skip(str(reason))


@pytest.fixture(params=sorted(STORES))
def device(request: pytest.FixtureRequest, tmp_path: Path) -> Device:
    made = Device(tmp_path)
    words = {"home": str(tmp_path)}
    if request.param == "bucket":
        from bucket_servers import BUCKET

        server: Server = request.getfixturevalue("bucket_server")
        made.environ = dict(server.environ)
        words |= {"bucket": BUCKET, "endpoint": server.endpoint, "prefix": f"test/{uuid.uuid4().hex[:12]}"}
    if STORES[request.param]:
        made.agentm(*(part.format(**words) for part in STORES[request.param]))
    return made


def save(device: Device, *options: str, body: str) -> None:
    arguments = ("save", "--slug", "use-sqlite", "--kind", "decision", "--body-file", "-", *options)
    device.agentm(*arguments, stdin=body)


def test_every_save_update_and_forget_is_in_the_history(device: Device) -> None:
    save(device, body="Because it is there.\n")
    save(device, "--update", body="Because it is fast.\n")
    device.agentm("forget", "use-sqlite")

    answer = json.loads(device.agentm("checkpoint", "history", "use-sqlite", "--json"))

    assert [change["what"] for change in answer["changes"]] == ["created", "changed", "changed"]
    first = answer["changes"][1]["version"]
    assert "Because it is there." in device.agentm("checkpoint", "history", "use-sqlite", "--show", first)
    device.agentm("checkpoint", "undo", "use-sqlite")
    assert "Because it is fast." in device.agentm("notes", "show", "use-sqlite")
    device.agentm("checkpoint", "undo", "use-sqlite", first)
    assert "Because it is there." in device.agentm("notes", "show", "use-sqlite")
    assert "the history is whole: 6 changes" in device.agentm("checkpoint", "verify")


def test_a_store_that_was_removed_comes_back(device: Device) -> None:
    save(device, body="Because it is there.\n")
    device.agentm("checkpoint", "create")
    shown = json.loads(device.agentm("store", "show", "--json"))
    _remove(device, shown["place"])
    for command in (("notes", "list"), ("checkpoint", "create"), ("save", "--slug", "another", "more")):
        device.refused(*command)
    assert "restore latest --into-new" in device.agentm("doctor", code=1)

    device.agentm("checkpoint", "restore", "latest", "--into-new", "--yes")

    assert "Because it is there." in device.agentm("notes", "show", "use-sqlite")
    assert "FAIL" not in device.agentm("doctor")
    save(device, "--update", body="It goes on.\n")
    device.agentm("event", "turn-end")
    if shown["protocol"] == "git":
        assert "projects/widgets/decisions/use-sqlite.md" in _committed(shown["place"])


def test_a_clone_that_was_removed_comes_back_from_its_origin_and_not_from_an_older_checkpoint(tmp_path: Path) -> None:
    device, clone, origin = Device(tmp_path), str(tmp_path / "clone"), str(tmp_path / "origin.git")
    subprocess.run(["git", "init", "-q", "--bare", origin], check=True)
    device.agentm("git", "init", clone, origin, "--use")
    save(device, body="Because it is there.\n")
    device.agentm("checkpoint", "create")
    save(device, "--update", body="Because it is fast.\n")
    device.agentm("event", "turn-end")
    shutil.rmtree(clone)

    refusal = device.refused("checkpoint", "restore", "latest", "--into-new", "--yes")

    assert "there is a store" in refusal
    assert "Because it is fast." in device.agentm("notes", "show", "use-sqlite")


@pytest.mark.parametrize("is_there", [False, True], ids=["removed", "emptied"])
def test_a_clone_that_was_removed_is_cloned_again_by_the_command_that_made_it(tmp_path: Path, is_there: bool) -> None:
    device, clone, origin = Device(tmp_path), str(tmp_path / "clone"), str(tmp_path / "origin.git")
    subprocess.run(["git", "init", "-q", "--bare", origin], check=True)
    device.agentm("git", "init", clone, origin, "--use")
    save(device, body="Because it is there.\n")
    device.agentm("event", "turn-end")
    shutil.rmtree(clone)
    if is_there:
        os.mkdir(clone)

    device.agentm("git", "init", clone, origin)

    assert "Because it is there." in device.agentm("notes", "show", "use-sqlite")


def test_where_the_origin_cannot_be_reached_either_it_is_said_what_to_do(tmp_path: Path) -> None:
    device, clone, origin = Device(tmp_path), str(tmp_path / "clone"), str(tmp_path / "origin.git")
    subprocess.run(["git", "init", "-q", "--bare", origin], check=True)
    device.agentm("git", "init", clone, origin, "--use")
    save(device, body="Because it is there.\n")
    device.agentm("checkpoint", "create")
    shutil.rmtree(clone)
    shutil.rmtree(origin)

    refusal = device.refused("checkpoint", "restore", "latest", "--into-new", "--yes")

    assert "agentm config unset plugins.git.remote" in refusal
    assert not os.path.exists(clone)
    device.agentm("config", "unset", "plugins.git.remote")
    device.agentm("checkpoint", "restore", "latest", "--into-new", "--yes")
    assert "Because it is there." in device.agentm("notes", "show", "use-sqlite")


def test_a_restored_folder_without_its_repository_gets_one_by_the_command_that_is_said(tmp_path: Path) -> None:
    device, clone = Device(tmp_path), str(tmp_path / "clone")
    device.agentm("git", "init", clone, "--use")
    save(device, body="Because it is there.\n")
    shutil.rmtree(os.path.join(clone, ".git"))
    assert f"`agentm git init {clone}`" in device.refused("event", "turn-end")
    device.agentm("git", "init", clone)
    device.agentm("event", "turn-end")
    assert "projects/widgets/decisions/use-sqlite.md" in _committed(clone)


def _remove(device: Device, place: str) -> None:
    if os.path.isdir(place):
        shutil.rmtree(place)
        return
    import boto3

    bucket, _, rest = place.removeprefix("s3://").partition("/")
    prefix, _, endpoint = rest.partition(" at ")
    keys = {name.lower(): device.environ[name] for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")}
    client = boto3.client("s3", endpoint_url=endpoint, region_name="us-east-1", **keys)
    for found in client.list_objects_v2(Bucket=bucket, Prefix=prefix)["Contents"]:
        client.delete_object(Bucket=bucket, Key=found["Key"])


def _committed(clone: str) -> str:
    command = ["git", "-C", clone, "ls-tree", "-r", "--name-only", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout
