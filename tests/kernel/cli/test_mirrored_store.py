"""A third party's synced store without files here: a database that devices share, with `MirroredState` around it."""

from __future__ import annotations

import json
import os
import shutil
import time

import pytest

# What a third party writes: the verbs over its medium, and around them five lines.
SQL_PLUGIN = """
import os
import sqlite3
import time

from agentm_kernel.plugin import (
    ABSENT, Capabilities, ConcurrentModificationError, Info, Locator, MirroredState, NotFoundError, StorageBackend,
    StorageIOError, content_hash,
)


class Table(StorageBackend):
    self_stamping = True
    capabilities = Capabilities(concurrent_writers=True, sync=True, delete=True)

    def __init__(self, path):
        self.path = path

    def ask(self, question, *values):
        if os.path.exists(self.path + ".offline"):
            raise StorageIOError("the database cannot be reached")
        with sqlite3.connect(self.path, timeout=10) as database:
            database.execute("CREATE TABLE IF NOT EXISTS note (key TEXT PRIMARY KEY, text TEXT, time REAL)")
            return database.execute(question, values).fetchall()

    def describe(self):
        return "table:" + self.path

    def read(self, locator):
        rows = self.ask("SELECT text FROM note WHERE key = ?", locator.key)
        if not rows:
            raise NotFoundError(f"'{locator}' does not exist")
        return rows[0][0]

    def write(self, locator, content, *, if_match=None):
        insert = "INSERT OR {} INTO note VALUES (?, ?, ?) RETURNING 1"
        if if_match in (ABSENT, None):
            how = "REPLACE" if if_match is None else "IGNORE"
            done = self.ask(insert.format(how), locator.key, content, time.time())
        else:
            seen = self.read(locator)
            done = content_hash(seen) == if_match and self.ask(
                "UPDATE note SET text = ?, time = ? WHERE key = ? AND text = ? RETURNING 1",
                content, time.time(), locator.key, seen,
            )
        if not done:
            raise ConcurrentModificationError(f"'{locator}' was not written")
        return locator

    def delete(self, locator, *, if_match=None):
        self.read(locator)
        self.ask("DELETE FROM note WHERE key = ?", locator.key)

    def keys(self, below):
        keys = sorted(key for key, in self.ask("SELECT key FROM note"))
        return [key.split("/") for key in keys if Locator(key).parts[:len(below.parts)] == below.parts]

    def list(self, locator):
        depth = len(locator.parts)
        return sorted({Locator("/".join(key[:depth + 1])) for key in self.keys(locator) if len(key) > depth})

    def exists(self, locator):
        return bool(self.keys(locator)) or not locator.key

    def info(self, locator):
        rows = self.ask("SELECT length(CAST(text AS BLOB)), time FROM note WHERE key = ?", locator.key)
        if rows:
            return Info(locator, False, rows[0][0], rows[0][1], str(rows[0][1]))
        if not self.exists(locator):
            raise NotFoundError(f"'{locator}' does not exist")
        return Info(locator, True, 0, 0.0)

    def mkdir(self, locator):
        return locator


class Store(MirroredState):
    @classmethod
    def create(cls, options, device, opening):
        return cls(Table(options["path"]), os.path.join(opening.state_dir, "table"), read_only=opening.read_only)
"""

# Where a device brings its copy up to date is for the plugin to say.
SYNC_PLUGIN = """
from agentm_kernel.plugin import DeviceCopy, hookimpl

@hookimpl
def agentm_event(name, context):
    store = context.device.store(read_only=False)
    done = store.facet(DeviceCopy).push(store)
    return f"table: {done.fetched} fetched, {done.sent} sent"
"""


class Laptop:
    """One of the devices that share the table."""

    def __init__(self, machine, name):
        self._machine = machine
        self.home = machine.folder / name
        self.home.mkdir()
        shutil.copytree(machine.home / ".config", self.home / ".config")
        self.environ = {**machine.environ, "HOME": str(self.home)}

    def __call__(self, *arguments, input=None):
        return self._machine.execute(*arguments, input=input, env=self.environ)

    def happens(self, event):
        done = self("event", event)
        assert (done.code, done.out) == (0, "")
        return done.err.strip()

    def session_start(self):
        done = self("hook", "session-start", input=json.dumps({"cwd": str(self._machine.project)}))
        assert done.code == 0, done.err
        return done.out

    @property
    def state(self):
        return self.home / ".local/state/agentm/table/copy/projects/widgets/_harness"


@pytest.fixture
def laptops(machine):
    machine.install("table", SQL_PLUGIN, "[agentm.backends]\ntable = plugin_table:Store\n")
    machine.install("sync", SYNC_PLUGIN, "[agentm.plugins.event]\nsync = plugin_sync\n")
    machine.configure(**{"storage.backend": "table", "plugins.table.path": str(machine.folder / "notes.db")})
    (machine.project / ".git" / "config").write_text('[remote "origin"]\n\turl = git@example.com:ana/widgets.git\n')
    return Laptop(machine, "one"), Laptop(machine, "two")


def test_state_is_written_to_the_store_and_shows_in_the_copy_that_hooks_read(laptops):
    one, _ = laptops
    done = one("state", "write", "PLAN.md", input="the plan\n")
    assert (done.code, done.err) == (0, "")
    assert done.out.strip() == str(one.state / "PLAN.md")
    assert (one.state / "PLAN.md").read_text() == "the plan\n"
    assert one("state-path", "plan").out.strip() == str(one.state / "PLAN.md")
    assert one("state", "read", "PLAN.md").out == "the plan\n"


def test_hooks_answer_while_the_store_cannot_be_reached_and_say_how_old_their_copy_is(laptops, machine):
    one, two = laptops
    one("state", "write", "PLAN.md", input="the plan\n")
    assert "never brought up to date" in one.session_start()
    assert two.happens("session-start") == "table: 3 fetched, 0 sent"  # and whose project it is
    (machine.folder / "notes.db.offline").touch()
    text = two.session_start()
    assert f"PLAN.md:     {two.state / 'PLAN.md'}" in text
    assert "a copy of it, 0 min old" in text
    (pulled,) = two.home.rglob("pulled")
    os.utime(pulled, (time.time() - 9000,) * 2)
    assert "a copy of it, 150 min old" in two.session_start()
    assert two("state-path", "plan").out.strip() == str(two.state / "PLAN.md")
    assert "cannot be reached" in two("state", "write", "PLAN.md", input="x").err
    assert (two.state / "PLAN.md").read_text() == "the plan\n"


def test_a_second_device_joins_the_store_and_an_edit_of_its_copy_travels_back(laptops):
    one, two = laptops
    one("state", "write", "PLAN.md", input="the plan\n")
    assert two("state", "write", "progress.md", input="begun\n").code == 0
    two.happens("session-start")
    (two.state / "PLAN.md").write_text("the plan, edited as a file\n")
    assert two.happens("turn-end") == "table: 0 fetched, 1 sent"
    assert one("state", "read", "PLAN.md").out == "the plan, edited as a file\n"
    stamps = {(laptop.state.parents[2] / "_meta/store.json").read_text() for laptop in laptops}
    assert len(stamps) == 1


WITHOUT_FORK = """
import os, sys

def none_left():
    raise BlockingIOError(11, "Resource temporarily unavailable")

if sys.argv[-1] == "by the system":
    del os.fork
else:
    os.fork = none_left
del sys.argv[-1]
sys.argv[0] = "agentm"
from agentm_kernel.cli.main import main
main()
"""


@pytest.mark.parametrize("why", ["by the system", "by a limit"])
def test_where_no_process_can_be_forked_the_agent_is_answered_first_and_plugins_are_told_then(laptops, machine, why):
    one, two = laptops
    machine.install(
        "host",
        "from agentm_kernel.cli.hook import PlainAdapter\nadapter = PlainAdapter()\n",
        "[agentm.hosts]\nemacs = plugin_host:adapter\n",
    )
    one("state", "write", "PLAN.md", input="the plan\n")
    two.happens("session-start")
    (script := machine.folder / "without_fork.py").write_text(WITHOUT_FORK)

    done = machine.execute(
        *("hook", "session-start", "--host", "emacs", why), program=str(script), input="{}", env=two.environ
    )

    assert (done.code, done.err) == (0, "table: 0 fetched, 0 sent\n")
    assert f"PLAN.md:     {two.state / 'PLAN.md'}" in done.out
    told = machine.execute("event", "turn-end", why, program=str(script), env=two.environ)
    assert told == (0, "", "table: 0 fetched, 0 sent\n")
