"""The token is in no file, no list of processes, no log and no error, during everything that needs it."""

from __future__ import annotations

import base64
import os
import re
import subprocess

import pytest
from clones import AGENTM, AUTHORS, OCCASION, device, open_clone
from git_servers import fill, redirecting, serving
from watching import ProcessWatch, disguises, files_with

from agentm_kernel import Locator
from agentm_kernel.errors import AgentmError

pytestmark = pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="processes are looked at in /proc")

TOKEN = f"ghs_T0pSecret/of+the=team{os.getpid()}"  # its own in each process: a control of another one is no leak
VARIABLE = "TEAM_TOKEN"


@pytest.fixture
def guarded(tmp_path):
    with serving("http", str(tmp_path / "server"), token=TOKEN) as origin:
        fill(origin, {"readme.md": b"begin\n"})
        yield origin


class Laptop:
    """A home from which the commands are run, with everything that they said."""

    def __init__(self, folder, **variables):
        self.home = folder
        self.clone = folder / "notes"
        folder.mkdir()
        chatty = dict.fromkeys(("GIT_TRACE", "GIT_CURL_VERBOSE", "GIT_TRACE_CURL", "AGENTM_DEBUG"), "1")
        # Every process of the machine is looked at meanwhile: what is tried does not depend on how long that takes.
        self.environ = device(str(folder), **{VARIABLE: TOKEN}, AGENTM_PATIENCE="30", **chatty, **variables)
        self.said = ""

    def run(self, *arguments, stdin="", ok=True):
        done = subprocess.run(
            [AGENTM, *arguments],
            cwd=self.home,
            env=self.environ,
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
        )
        self.said += done.stdout + done.stderr
        assert not ok or done.returncode == 0, done.stderr
        return done

    def join(self, origin):
        self.run("git", "init", str(self.clone), origin.url, "--token-env", VARIABLE, "--adopt", "--use")


def assert_it_is_nowhere(tmp_path, watch, laptop):
    assert watch.found == []
    assert any(b"remote-http" in line for line in watch.seen), watch.seen
    assert files_with(TOKEN, [str(tmp_path)]) == []
    assert not any(part.decode() in laptop.said for part in disguises(TOKEN))


@pytest.mark.parametrize("source", ["token_env", "credential_command"])
def test_the_token_is_nowhere_while_the_commands_run(tmp_path, guarded, source):
    laptop = Laptop(tmp_path / "home")
    with ProcessWatch(TOKEN) as watch:
        laptop.join(guarded)
        if source == "credential_command":
            laptop.run("config", "set", "plugins.git.credential_command", f"printenv {VARIABLE}")
            laptop.run("config", "unset", "plugins.git.token_env")
        (laptop.clone / "note.md").write_text("one\n")
        laptop.run("git", "sync")
        fill(guarded, {"other.md": b"from elsewhere\n"})
        laptop.run("event", "session-end")
        laptop.run("git", "sync")
        laptop.run("git", "status", "--json")
        laptop.run("doctor", ok=False)
        laptop.run("config", "list")
    assert guarded.files()["note.md"] == b"one\n"
    assert (laptop.clone / "other.md").exists()
    assert_it_is_nowhere(tmp_path, watch, laptop)


POLICY = """\
---
schema: storage/v1
id: "@acme/handbook"
version: 1.0.0
provider: github
config: { owner: acme, repo: handbook }
sync:
  mode: pull-push
  pull: { on: workspace-open }
  commit: { on: turn-end }
  push: { on: turn-end }
auth: { ref: ./SECRETS.md, state: { env: [TEAM_TOKEN] } }
exclude: ["drafts/"]
---
"""
SECRETS = """\
---
secrets:
  - slug: team-token
    name: Token of the team
    description: May read and write the handbook.
    access: { bind: [{ tool: agentm }] }
---
"""


def test_the_token_of_a_policy_is_nowhere_either(tmp_path):
    pytest.importorskip("agentm_storage_policy")
    with serving("http", str(tmp_path / "server"), token=TOKEN, name="acme/handbook.git") as origin:
        fill(origin, {"theirs.md": b"begin\n"})
        laptop = Laptop(tmp_path / "home", AGENTM_GITHUB_URL=origin.url.removesuffix("/acme/handbook.git"))
        (laptop.home / "STORAGE.md").write_text(POLICY)
        (laptop.home / "SECRETS.md").write_text(SECRETS)
        laptop.run("config", "set", "storage.policy", str(laptop.home / "STORAGE.md"))
        with ProcessWatch(TOKEN) as watch:
            laptop.run("event", "workspace-open")
            clone = next(laptop.home.rglob("theirs.md")).parent
            (clone / "mine.md").write_text("mine\n")
            (clone / "drafts").mkdir()
            (clone / "drafts" / "secret.md").write_text("not for others\n")
            laptop.run("event", "turn-end")
            laptop.run("store", "show")
            laptop.run("doctor", ok=False)
        files = origin.files()
        assert files["mine.md"] == b"mine\n"
        assert not any(name.startswith("drafts") for name in files)
        assert_it_is_nowhere(tmp_path, watch, laptop)
        audit = "".join(path.read_text() for path in laptop.home.rglob("audit.jsonl"))
        assert "team-token" in audit, "each look at it is recorded"


def test_a_wrong_token_is_not_repeated_in_the_error(tmp_path, guarded):
    laptop = Laptop(tmp_path / "home")
    laptop.join(guarded)
    wrong = "ghs_AlsoSecret/and+wrong"
    laptop.environ[VARIABLE] = wrong
    laptop.said = ""
    (laptop.clone / "note.md").write_text("one\n")
    done = laptop.run("git", "sync", ok=False)
    assert done.returncode == 1
    assert re.search(r"^error: .+", done.stderr, re.MULTILINE)
    assert "hint:" in done.stderr
    assert not any(part.decode() in laptop.said for part in disguises(wrong))
    assert files_with(wrong, [str(tmp_path)]) == []


def test_errors_of_the_store_carry_no_token(tmp_path, guarded, caplog):
    environ = {**os.environ, VARIABLE: TOKEN}
    store = open_clone(guarded, str(tmp_path / "clone"), token_env=VARIABLE, environ=environ)
    store.write(Locator("note.md"), "one\n")
    store.commit("one", AUTHORS, OCCASION)
    guarded.git("config", "http.receivepack", "false")
    with pytest.raises(AgentmError) as refused:
        store.push(OCCASION)
    told = f"{refused.value!r} {refused.value.__dict__} {refused.value.__cause__!r} {caplog.text} {store!r}"
    assert not any(part.decode() in told for part in disguises(TOKEN))


def test_a_redirect_does_not_take_the_token_to_another_host(tmp_path, guarded):
    environ = device(str(tmp_path / "home"), **{VARIABLE: TOKEN})
    with redirecting(guarded) as (moved, given):
        with pytest.raises(AgentmError) as refused:
            open_clone(moved, str(tmp_path / "clone"), token_env=VARIABLE, environ=environ)
        assert [part for part in given if part] == []
    assert refused.value.hint


def test_the_watch_sees_what_it_looks_for(tmp_path):
    """The control: a process with the token among its arguments, and a file with it in disguise, are found."""
    wanted = "ghs_Another/and+no=secret"  # the other tests, which may run at the same time, look for theirs
    (tmp_path / "config").write_bytes(b"x" + base64.b64encode(f"x-access-token:{wanted}".encode()))
    with ProcessWatch(wanted) as watch:
        subprocess.run(["sleep", "0.3", f"--{wanted}"], check=False, capture_output=True)
        subprocess.run(["sh", "-c", "sleep 0.3", wanted], check=True)
    assert watch.found
    assert files_with(wanted, [str(tmp_path)]) == [str(tmp_path / "config")]
