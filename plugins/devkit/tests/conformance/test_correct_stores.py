"""Correct stores on a server, written from the authors' guide alone: the kit finds nothing wrong with them.

With AGENTM_WHOLE_KIT the whole kit runs, as `make e2e` has it; without, what depends on the medium and is quick.
"""

from __future__ import annotations

import os

import pytest
from correct_stores import servers
from correct_stores.elsewhere import ElsewhereStore
from correct_stores.postgres_store import PostgresStore
from correct_stores.redis_store import RedisStore

from agentm_devkit.conformance import run
from agentm_devkit.conformance.pytest_suite import conformance_tests


def _started(server, kind):
    if os.environ.get("AGENTM_WITHOUT_SERVERS"):
        pytest.skip("AGENTM_WITHOUT_SERVERS leaves out what needs a server")
    try:
        with server() as running:
            yield servers.subject(running, kind)
    except servers.ServerMissingError as reason:
        if os.environ.get("AGENTM_REQUIRE_SERVERS"):
            pytest.fail(str(reason))
        pytest.skip(str(reason))


@pytest.fixture(scope="module")
def on_redis():
    yield from _started(servers.redis, RedisStore)


@pytest.fixture(scope="module")
def on_postgres():
    yield from _started(servers.postgres, PostgresStore)


_QUICK = (
    *("declaring", "reading", "writing", "listing", "lookalikes", "conditions", "deleting", "errors", "opening"),
    *("threads", "update_race", "delete_race", "broken_medium", "broken_medium_when_opened"),
)
_ONLY = None if os.environ.get("AGENTM_WHOLE_KIT") else _QUICK

test_redis = conformance_tests("on_redis", only=_ONLY)
test_postgres = conformance_tests("on_postgres", only=_ONLY)


def test_files_of_a_store_that_are_no_notes_may_be_replaced():
    (result,) = run(ElsewhereStore, only=["replaced_files"]).results
    assert (result.outcome, result.detail) == (
        "skipped",
        "the store does not keep notes in files of its scratch folder",
    )
