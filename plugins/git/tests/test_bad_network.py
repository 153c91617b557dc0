"""An origin that hangs, breaks off or loses its answer: a typed error in time, and everything goes on afterwards."""

from __future__ import annotations

import os
import threading
import time
from dataclasses import replace

import pytest
from bad_network import BadNetwork
from clones import AUTHORS, OCCASION, open_clone
from git_servers import fill, fsck, git, serving

from agentm_kernel import Locator
from agentm_kernel.errors import AgentmError, StorageIOError

NOTE = Locator("note.md")


@pytest.fixture(params=["daemon", "http"])
def origin(request, tmp_path):
    with serving(request.param, str(tmp_path)) as served:
        fill(served, {"note.md": b"begin\n"})
        yield served


@pytest.fixture
def network(origin):
    with BadNetwork(origin.url) as between:
        yield between


def committed(store, text):
    store.write(NOTE, text)
    store.commit(text.strip(), AUTHORS, OCCASION)


def test_an_origin_that_never_answers_is_given_up_in_time_and_nobody_who_writes_waits(tmp_path, origin, network):
    store = open_clone(replace(origin, url=network.url), str(tmp_path / "clone"))
    committed(store, "mine\n")
    network.is_silent = True
    hasty = open_clone(replace(origin, url=network.url), str(tmp_path / "clone"), deadline=3.0)
    failures = []

    def push():
        with pytest.raises(StorageIOError) as given_up:
            hasty.push(OCCASION)
        failures.append(given_up.value)

    began = time.monotonic()
    pushing = threading.Thread(target=push)
    pushing.start()
    time.sleep(0.5)
    while_it_hung = 0
    while pushing.is_alive():
        committed(store, f"while it hangs {while_it_hung}\n")
        while_it_hung += pushing.is_alive()
    assert while_it_hung, "the writes came through while the push was waiting"
    committed(store, "the last\n")
    assert time.monotonic() - began < 30
    assert failures
    assert failures[0].hint or failures[0].message
    network.is_silent = False
    store.push(OCCASION)
    assert origin.files()["note.md"] == b"the last\n"


@pytest.mark.parametrize("allowance", [0, 1, 40, 200, 400])
def test_an_answer_that_breaks_off_breaks_nothing_here(tmp_path, origin, network, allowance):
    clone = str(tmp_path / "clone")
    store = open_clone(replace(origin, url=network.url), clone)
    fill(origin, {"theirs.md": os.urandom(2000).hex().encode()})
    committed(store, "mine\n")
    network.allowance = allowance
    for step in (store.pull, store.push):
        with pytest.raises(AgentmError):
            step(OCCASION)
    assert store.read(NOTE) == "mine\n"
    assert fsck(clone) == ""
    network.allowance = None
    store.pull(OCCASION)
    store.push(OCCASION)
    assert {"theirs.md", "note.md"} <= set(origin.files())
    assert origin.files()["note.md"] == b"mine\n"
    assert origin.forced() == []


def test_a_push_that_arrived_without_an_answer_is_not_made_twice(tmp_path, origin):
    """The origin has the commit, and the clone does not know it: the next push finds out."""
    clone = str(tmp_path / "clone")
    store = open_clone(origin, clone)
    committed(store, "mine\n")
    git(clone, "push", "-q", origin.url, "HEAD:main")
    arrived = origin.tip()
    store.push(OCCASION)
    assert origin.tip() == arrived
    assert git(clone, "rev-parse", "main").decode().strip() == arrived
    committed(store, "more\n")
    store.push(OCCASION)
    assert origin.files()["note.md"] == b"more\n"
