"""A partition as networks have it: the client is in a namespace of its own, and its packets vanish."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from cut_link import BOTH_WAYS, NO_REPLIES, NoNamespacesError, linked
from laptops import Laptop
from stopwatch import Stopwatch, every_verb

from agentm_kernel import Locator

OPTIONS = {"allow_http": True, "deadline": 2.4, "attempt": 0.6}
EITHER_WAY = pytest.mark.parametrize("way", [BOTH_WAYS, NO_REPLIES], ids=["both-ways", "no-replies"])
KNOWN = Locator("known.md")


@pytest.fixture
def link(seaweedfs):
    try:
        with linked(seaweedfs.server.endpoint) as made:
            yield made
    except NoNamespacesError as reason:
        pytest.skip(str(reason))


# ------------------------------------------------------------------------------------------------ verbs

_CLIENT = """
import json, pickle, sys
sys.path[:] = {path!r}
from test_partition import answer
server, prefix, options = pickle.loads(bytes.fromhex(sys.stdin.readline()))
answer(server.open(prefix, device=prefix, **options), options["deadline"])
"""


def answer(store, deadline):
    """In the client's namespace: for each line on standard input, every verb, and what each came to.

    While nothing comes through they all wait, and at once; afterwards they build on each other.
    """
    for _ in range(20):  # a busy machine may need longer for the first connection than a verb has
        if _outcome(lambda: store.write(KNOWN, "the server has proven itself, and a connection is open\n")) == "done":
            break
    print(json.dumps("ready"), flush=True)
    for line in sys.stdin:
        timed = Stopwatch(store, deadline)
        came_to = [_outcome(partial(timed.write, KNOWN, line))]
        with ThreadPoolExecutor(1 if came_to == ["done"] else 9) as pool:
            came_to += pool.map(_outcome, every_verb(timed))
        print(json.dumps({"came to": came_to, "late": timed.late}), flush=True)


def _outcome(verb):
    try:
        verb()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "done"


@contextmanager
def client_inside(link, server, prefix):
    """Asks the client for its answers; the first one is that it is ready."""
    script = _CLIENT.format(path=[os.path.dirname(__file__), *sys.path])
    with subprocess.Popen(
        [*link.inside, sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:

        def ask(line):
            process.stdin.write(f"{line}\n")
            process.stdin.flush()
            return json.loads(process.stdout.readline())

        try:
            yield ask, pickle.dumps((server.at(link.endpoint), prefix, OPTIONS)).hex()
        finally:
            process.kill()


@EITHER_WAY
def test_every_verb_gives_the_typed_error_within_its_deadline_and_works_again_afterwards(
    link, seaweedfs, prefix, way
):
    with client_inside(link, seaweedfs.server, prefix) as (ask, hello):
        assert ask(hello) == "ready"
        with link.cut(way):
            cut = ask("during the cut")
            stored = seaweedfs.server.open(prefix).read(KNOWN)
        again = ask("afterwards")
    first, *rest = cut["came to"]
    assert first.startswith("StorageIOError: ")
    assert "whether it was stored is not known" in first
    assert (stored == "during the cut\n") == (way is NO_REPLIES)  # then it was: only the reply did not come through
    assert [said for said in rest if not said.startswith("StorageIOError: ")] == []
    assert all("cannot be reached" in said or "no answer" in said for said in rest)
    assert cut["late"] == []

    assert again == {"came to": ["done"] * 10, "late": []}
    assert seaweedfs.server.open(prefix).read(KNOWN) == "afterwards\n"


# ------------------------------------------------------------------------------------------------ hooks


@pytest.fixture
def laptop(tmp_path, link, seaweedfs, prefix):
    """It has its whole life in the namespace."""
    made = Laptop(tmp_path / "inside", seaweedfs.server.environ, link.inside)
    for name, value in OPTIONS.items():
        made.run("config", "set", f"plugins.bucket.{name}", str(value).lower())
    return made.join(seaweedfs.server, prefix, link.endpoint)


@pytest.fixture
def outside(tmp_path, seaweedfs, prefix):
    """Another one, which no partition concerns."""
    return Laptop(tmp_path / "outside", seaweedfs.server.environ).join(seaweedfs.server, prefix)


@EITHER_WAY
def test_hooks_answer_from_the_copy_and_what_was_edited_there_is_sent_when_the_link_is_back(
    laptop, outside, link, way
):
    laptop.write_plan("the plan\n")
    before = _hooks(laptop)
    with link.cut(way):
        assert _hooks(laptop) == before
        plan = Path(before["state-path"])
        plan.write_text("edited by an agent during the cut\n")
        refused = laptop.write_plan("x\n", ok=False)
        assert refused.returncode == 1
        assert refused.stderr.startswith("error: ")
        assert "cannot be reached" in refused.stderr
        assert "keeps what was written" in laptop.run("event", "turn-end").stderr
        assert plan.read_text() == "edited by an agent during the cut\n"
    assert "1 sent" in laptop.run("event", "turn-end").stderr
    assert outside.run("state", "read", "PLAN.md").stdout == "edited by an agent during the cut\n"
    laptop.write_plan("and commands work again\n")
    assert outside.run("state", "read", "PLAN.md").stdout == "and commands work again\n"


def _hooks(laptop):
    shown = laptop.session_start()
    assert "a copy of it, 0 min old" in shown
    return {
        "state-path": laptop.run("state-path", "plan").stdout.strip(),
        "harness_state_dir": laptop.python("from agentm_kernel import harness_state_dir; print(harness_state_dir())"),
        "session-start": shown,
    }
