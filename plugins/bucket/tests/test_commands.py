"""Two laptops and a bucket, through the commands that people and hooks run."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from bucket_servers import BUCKET
from fault_proxy import FaultProxy
from laptops import Laptop

from agentm_kernel import Locator


@pytest.fixture
def proxy(moto):
    with FaultProxy(moto.server.endpoint, rate=0, hang=0) as started:
        yield started


@pytest.fixture
def laptop(tmp_path, moto, proxy, prefix):
    return Laptop(tmp_path / "one", moto.server.environ).join(moto.server, prefix, proxy.endpoint)


@pytest.fixture
def laptops(tmp_path, laptop, moto, proxy, prefix):
    return laptop, Laptop(tmp_path / "two", moto.server.environ).join(moto.server, prefix, proxy.endpoint)


def test_the_first_device_makes_the_store_and_the_second_joins_it(tmp_path, moto, prefix):
    one, two = (Laptop(tmp_path / name, moto.server.environ) for name in ("one", "two"))
    arguments = ("bucket", "init", BUCKET, "--prefix", prefix, "--endpoint", moto.server.endpoint)
    made = one.run(*arguments).stdout
    joined = two.run(*arguments).stdout
    assert made.startswith("made the store ")
    assert joined.startswith("joined the store ")
    assert made.split()[3] == joined.split()[3]


def test_the_notes_of_a_folder_move_to_the_bucket_and_back(tmp_path, moto, prefix):
    laptop = Laptop(tmp_path / "one", moto.server.environ)
    laptop.run("project", "register")
    arguments = ("bucket", "init", BUCKET, "--prefix", prefix, "--endpoint", moto.server.endpoint)
    assert "selected store: bucket" in laptop.run(*arguments, "--take-along").stdout
    assert "widgets" in moto.server.open(prefix).read(Locator("_meta/repos.json"))
    assert "selected store: device-local" in laptop.run("migrate", "--to", "device-local", "--yes").stdout


def test_a_place_with_other_objects_is_adopted_only_if_that_is_said(tmp_path, moto, prefix):
    moto.server.open(prefix).write(Locator("there.md"), "already\n")
    laptop = Laptop(tmp_path / "one", moto.server.environ)
    arguments = ("bucket", "init", BUCKET, "--prefix", prefix, "--endpoint", moto.server.endpoint)
    refused = laptop.run(*arguments, ok=False)
    assert refused.returncode == 1
    assert "--adopt" in refused.stderr
    laptop.run(*arguments, "--adopt")


def test_no_store_is_made_inside_another_one_or_around_it(tmp_path, moto, prefix):
    def init(where, *more, ok=False):
        laptop = Laptop(tmp_path / f"{len(list(tmp_path.iterdir()))}", moto.server.environ)
        arguments = ("bucket", "init", BUCKET, "--prefix", where, "--endpoint", moto.server.endpoint)
        return laptop.run(*arguments, *more, ok=ok).stderr

    init(f"{prefix}/team", ok=True)
    init(f"{prefix}/teams", ok=True)
    assert f"lies inside the store s3://{BUCKET}/{prefix}/team at" in init(f"{prefix}/team/ana/notes")
    assert "has another store in it, at team" in init(prefix, "--adopt")
    assert [entry.key for entry in moto.server.open(prefix).list(Locator())] == ["team", "teams"]
    init(f"{prefix}/team", ok=True)


def test_a_plan_of_one_device_is_shown_on_the_other_after_its_events(laptops):
    one, two = laptops
    one.write_plan("the plan\n")
    two.run("event", "session-start")
    shown = two.session_start()
    assert "a copy of it, 0 min old" in shown
    (path,) = [line.split(maxsplit=1)[1] for line in shown.splitlines() if line.strip().startswith("PLAN.md:")]
    assert Path(path).read_text() == "the plan\n"
    Path(path).write_text("edited by an agent as a file\n")
    assert "1 sent" in two.run("event", "turn-end").stderr
    assert one.run("state", "read", "PLAN.md").stdout == "edited by an agent as a file\n"


def test_in_a_partition_hooks_answer_and_commands_say_why_they_cannot(laptop, proxy):
    one = laptop
    one.write_plan("the plan\n")
    one.run("config", "set", "plugins.bucket.deadline", "1.5")
    proxy.partitioned = True
    assert "PLAN.md:" in one.session_start()
    refused = one.write_plan("x\n", ok=False)
    assert refused.returncode == 1
    assert "cannot be reached" in refused.stderr
    event = one.run("event", "turn-end")
    assert "keeps what was written" in event.stderr


@pytest.mark.skipif(shutil.which("unshare") is None, reason="this system has no unshare")
def test_hooks_answer_on_a_machine_without_any_network(laptop):
    wrapper = ("unshare", "--map-root-user", "--net")
    if subprocess.run([*wrapper, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this system lets nobody make a network namespace")
    one = laptop
    one.write_plan("the plan\n")
    shown = one.session_start(wrapper=wrapper)
    assert "PLAN.md:" in shown
    assert "a copy of it" in shown


def test_hooks_answer_without_credentials(laptop):
    one = laptop
    one.write_plan("the plan\n")
    bare = {name: value for name, value in one.environ.items() if not name.startswith("AWS_")}
    assert "PLAN.md:" in one.session_start(environ=bare)


def test_sync_says_what_it_did(laptops):
    one, two = laptops
    one.write_plan("the plan\n")
    assert two.run("bucket", "sync").stdout == "3 fetched, 0 sent\n"


def test_doctor_knows_the_bucket(laptop):
    said = laptop.run("doctor", ok=False).stdout
    assert "bucket keys" in said
    assert "bucket copy" in said
    assert "bucket conflicts" in said


def test_versions_that_lost_are_listed_until_they_are_discarded_on_every_device(laptops):
    one, two = laptops
    one.write_plan("begin\n")
    two.run("event", "session-start")
    plans = [Path(laptop.run("state-path", "plan").stdout.strip()) for laptop in laptops]
    for laptop, plan, text in zip(laptops, plans, ("of one\n", "of two\n"), strict=True):
        plan.write_text(text)
        laptop.run("event", "turn-end")
    one.run("event", "turn-start")
    for laptop in laptops:
        answer = json.loads(laptop.run("bucket", "conflicts", "--json").stdout)
        assert answer["store"] in laptop.run("store", "show").stdout
        (found,) = answer["conflicts"]
        assert found["file"] == "projects/widgets/_harness/PLAN.md"
        assert found["version"] in laptop.run("bucket", "conflicts").stdout
        assert "kept versions of projects/widgets/_harness/PLAN.md: 1" in laptop.run("doctor", ok=False).stdout
    assert "--yes" in one.run("bucket", "discard", found["version"], ok=False).stderr
    assert "no kept version" in one.run("bucket", "discard", found["file"], "--yes", ok=False).stderr
    one.run("bucket", "discard", found["version"], "--yes")
    two.run("event", "turn-start")
    for laptop, plan in zip(laptops, plans, strict=True):
        assert laptop.run("bucket", "conflicts").stdout == "no conflicts\n"
        names = [path.name for path in plan.parent.iterdir() if not path.name.startswith(".agentm-")]
        assert names == ["PLAN.md"]


def test_no_secret_is_in_any_file_of_the_device(laptop, moto):
    one = laptop
    one.write_plan("the plan\n")
    one.run("event", "turn-end")
    secrets = [value.encode() for value in moto.server.environ.values()]
    for path in one.home.rglob("*"):
        if path.is_file():
            assert not any(secret in path.read_bytes() for secret in secrets), path


# ------------------------------------------------------------------------------------------------ plugins check


def test_a_plan_that_was_changed_off_line_while_its_project_got_another_name_is_named_by_doctor(laptops):
    one, two = laptops
    one.write_plan("the plan\n")
    two.run("event", "session-start")
    plan = Path(two.run("state", "path", "PLAN.md").stdout.strip())
    plan.write_text("changed on the train\n")
    one.run("project", "rename", "widgets", "gadgets")
    two.run("event", "session-end")
    assert two.run("state", "read", "PLAN.md").stdout == "the plan\n"
    for laptop in laptops:
        laptop.run("event", "session-start")
        rows = json.loads(laptop.run("doctor", "--json").stdout)["rows"]
        [row] = [row for row in rows if row["check"] == "left behind"]
        assert row["message"].startswith("1 file under 'widgets', where nobody reads it")
        assert row["hint"].startswith("run `agentm project rename widgets gadgets`")
    two.run("project", "rename", "widgets", "gadgets")
    assert "PLAN-from-widgets.md" in two.run("state", "list").stdout


def test_the_kit_checks_a_bucket_that_the_operator_names(tmp_path, moto):
    laptop = Laptop(tmp_path, moto.server.environ)
    where = (
        "--option",
        f"bucket={BUCKET}",
        "--option",
        f"endpoint={moto.server.endpoint}",
        "--option",
        "prefix=below",
    )
    keys = [word for name in moto.server.environ for word in ("--env", name)]
    said = laptop.run("plugins", "check", "bucket", *where, *keys, "--only", "conditions", "--only", "listing").stdout
    assert " 0 failed" in said
    assert not said.startswith("bucket: 0 passed")
    below = moto.server.open("below").list(Locator())
    assert below
    assert all(re.fullmatch("agentm-[0-9a-f]{12}", locator.key) for locator in below)


@pytest.mark.parametrize(
    ("given", "missing"),
    [((), "names no bucket"), (("--option", "bucket=b"), "AWS_ACCESS_KEY_ID and $AWS_SECRET_ACCESS_KEY must be set")],
)
def test_a_check_without_a_bucket_or_its_keys_says_what_to_give(tmp_path, moto, given, missing):
    refused = Laptop(tmp_path, moto.server.environ).run("plugins", "check", "bucket", *given, ok=False)
    assert refused.returncode == 1
    assert missing in refused.stderr
    assert "--option NAME=VALUE" in refused.stderr
    assert "--env VARIABLE" in refused.stderr
