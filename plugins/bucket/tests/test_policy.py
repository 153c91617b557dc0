"""Buckets of a storage policy, end to end: STORAGE.md and SECRETS.md on disk, real servers, the real command."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from bucket_servers import AZURE_ACCOUNT, BUCKET
from laptops import Laptop

from agentm_bucket.providers import CLOUD_ENDPOINT_VARIABLE
from agentm_kernel import Locator

pytest.importorskip("agentm_storage_policy", reason="the policies of STORAGE.md are a plugin of their own")

PLAN = Locator("projects/widgets/_harness/PLAN.md")


@dataclass(frozen=True)
class Case:
    """A provider, on a server that is one of its kind."""

    provider: str
    server: str
    config: dict[str, str] = field(default_factory=dict)
    has_endpoint: bool = True

    def __str__(self):
        return f"{self.provider}-on-{self.server}"

    def document(self, server, prefix):
        """The front matter of a STORAGE.md."""
        place = "container" if self.provider == "mastra-azure" else "bucket"
        config = {place: BUCKET, "prefix": f"{prefix}/", **self.config}
        if self.has_endpoint:
            config["endpoint"] = server.endpoint
        auth = {"ref": "./SECRETS.md", "state": {"env": sorted(server.environ)}}
        return {"schema": "storage/v1", "id": "@acme/shared", "version": "1.0.0"} | {
            "provider": self.provider,
            "config": config,
            "auth": auth,
        }


CASES = (
    Case("cloud-bucket", "seaweedfs", has_endpoint=False),
    Case("self-bucket", "seaweedfs", {"kind": "s3", "region": "us-east-1"}),
    Case("self-bucket", "azurite", {"kind": "azure"}),
    Case("mastra-s3", "seaweedfs", {"region": "us-east-1"}),
    Case("mastra-azure", "azurite", {"accountName": AZURE_ACCOUNT}),
)


@pytest.fixture(params=CASES, ids=str)
def case(request):
    return request.param


@pytest.fixture
def server(request, case):
    return request.getfixturevalue(case.server).server


@pytest.fixture
def laptop(tmp_path, case, server, prefix):
    return made(tmp_path / "one", case, server, prefix)


def made(folder, case, server, prefix):
    """A laptop with both documents in its home, and a key in its environment."""
    environ = {**server.environ, "USER": "ana"}
    if not case.has_endpoint:
        environ[CLOUD_ENDPOINT_VARIABLE] = server.endpoint
    laptop = Laptop(folder, environ)
    host = server.endpoint.partition("://")[2].partition("/")[0]
    laptop.run("config", "set", "plugins.policy.endpoints", json.dumps([host]))
    secrets = [
        {
            "slug": name.lower().replace("_", "-"),
            "name": name,
            "description": "Opens the bucket.",
            "access": {"bind": [{"tool": "agentm"}]},
        }
        for name in server.environ
    ]
    write(laptop, "SECRETS.md", {"secrets": secrets})
    write(laptop, "STORAGE.md", case.document(server, prefix))
    return laptop


def write(laptop, name, front):
    """JSON is YAML too."""
    lines = [f"{key}: {json.dumps(value)}" for key, value in front.items()]
    (laptop.home / name).write_text("\n".join(["---", *lines, "---", ""]))


def change(laptop, **more):
    lines = (laptop.home / "STORAGE.md").read_text().splitlines()[1:-1]
    front = {key: json.loads(value) for key, value in (line.split(": ", 1) for line in lines)}
    write(laptop, "STORAGE.md", {**front, **more})


def use(laptop, *options):
    laptop.run("policy", "check", str(laptop.home / "STORAGE.md"), str(laptop.home / "SECRETS.md"))
    laptop.run("config", "set", "storage.policy", str(laptop.home / "STORAGE.md"))
    laptop.run("policy", "init", *options)


def copy_of_the_plan(laptop):
    return Path(laptop.run("state-path", "plan").stdout.strip())


# ------------------------------------------------------------------------------------------------ in use


def test_two_laptops_share_the_bucket_of_a_policy(laptop, tmp_path, case, server, prefix):
    use(laptop)
    laptop.write_plan("the plan\n")
    assert server.open(prefix).read(PLAN) == "the plan\n"

    other = made(tmp_path / "two", case, server, prefix)
    use(other, "--adopt")
    other.run("event", "session-start")
    assert "a copy of it, 0 min old" in other.session_start()
    assert copy_of_the_plan(other).read_text() == "the plan\n"
    copy_of_the_plan(other).write_text("edited by an agent as a file\n")
    assert "1 sent" in other.run("event", "turn-end").stderr
    assert laptop.run("state", "read", "PLAN.md").stdout == "edited by an agent as a file\n"


def test_every_look_at_a_key_is_recorded_and_no_file_has_its_value(laptop, server):
    use(laptop)
    laptop.write_plan("the plan\n")
    laptop.run("event", "turn-end")
    files = [path for path in laptop.home.rglob("*") if path.is_file()]
    (audit,) = [path for path in files if path.name == "audit.jsonl"]
    revealed = [json.loads(line) for line in audit.read_text().splitlines()]
    slugs = {name.lower().replace("_", "-") for name in server.environ}
    assert {entry["slug"] for entry in revealed if entry["event"] == "secret.reveal"} == slugs
    values = [value.encode() for value in server.environ.values()]
    assert [path for path in files if any(value in path.read_bytes() for value in values)] == []


def test_a_key_that_the_inventory_does_not_grant_opens_nothing(laptop):
    inventory = laptop.home / "SECRETS.md"
    inventory.write_text(inventory.read_text().replace('"agentm"', '"another tool"'))
    laptop.run("config", "set", "storage.policy", str(laptop.home / "STORAGE.md"))
    refused = laptop.run("policy", "init", ok=False)
    assert refused.returncode == 1
    assert "does not let this user have the secret" in refused.stderr


# ------------------------------------------------------------------------------------------------ rules


def test_a_read_only_policy_is_read_and_never_written_not_even_by_an_event(laptop, server, prefix):
    use(laptop)
    laptop.write_plan("the plan\n")
    change(laptop, read_only=True)
    assert laptop.run("state", "read", "PLAN.md").stdout == "the plan\n"
    refused = laptop.write_plan("x\n", ok=False)
    assert refused.returncode == 1
    assert "read-only" in refused.stderr
    copy_of_the_plan(laptop).write_text("edited all the same\n")
    for step in (("event", "turn-end"), ("event", "turn-start")):
        laptop.run(*step)
    assert "read-only" in laptop.run("event", "turn-end").stderr
    assert "read-only" in laptop.run("bucket", "sync", ok=False).stderr
    assert copy_of_the_plan(laptop).read_text() == "edited all the same\n"
    assert server.open(prefix).read(PLAN) == "the plan\n"
    change(laptop, read_only=False)
    assert "1 sent" in laptop.run("event", "turn-end").stderr
    assert server.open(prefix).read(PLAN) == "edited all the same\n"


def test_exclude_keeps_nothing_out_of_a_store_that_is_canonical(laptop, server, prefix):
    """It says what is not mirrored, and the notes of a bucket are nowhere else; `explain` does not promise it."""
    change(laptop, exclude=["PLAN.md", "projects/"])
    use(laptop)
    laptop.write_plan("the plan\n")
    assert server.open(prefix).read(PLAN) == "the plan\n"
    assert "Not mirrored" not in laptop.run("policy", "explain", str(laptop.home / "STORAGE.md")).stdout


# ------------------------------------------------------------------------------------------------ moving


def test_notes_move_to_the_bucket_of_a_policy_and_back(laptop, server, prefix):
    laptop.run("project", "register")
    laptop.run("config", "set", "plugins.policy.path", str(laptop.home / "STORAGE.md"))
    change(laptop, read_only=True)
    assert "read-only" in laptop.run("migrate", "--to", "policy", "--yes", ok=False).stderr
    assert server.open(prefix).list(Locator()) == []
    change(laptop, read_only=False)
    assert "selected store: policy" in laptop.run("migrate", "--to", "policy", "--yes").stdout
    assert "widgets" in server.open(prefix).read(Locator("_meta/repos.json"))

    laptop.write_plan("the plan\n")
    copy_of_the_plan(laptop).write_text("edited by an agent as a file\n")
    assert "1 sent" in laptop.run("event", "turn-end").stderr
    assert "selected store: device-local" in laptop.run("migrate", "--to", "device-local", "--yes").stdout
    (plan,) = laptop.home.rglob("memory/projects/widgets/_harness/PLAN.md")
    assert plan.read_text() == "edited by an agent as a file\n"
