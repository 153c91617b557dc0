"""The adapters under the suites of the packages that they serve, run from the package or its source distribution."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from install_suites import is_there, source_of
from upstream import HERE, STORES, Result, joined, run_suite, told

pytestmark = pytest.mark.timeout(600)

OPENAI = (
    *("memory/test_session.py", "memory/test_session_limit.py", "memory/test_compaction_model_visibility.py"),
    *("memory/test_openai_responses_compaction_session.py", "extensions/memory/test_encrypt_session.py"),
    *("test_tool_batch_failure_history.py", "test_native_tool_failure_history.py", "test_tool_failure_boundaries.py"),
)
"""The files in which a session is the thing under test."""


def needs(name: str) -> Path:
    if os.environ.get("AGENTM_WITHOUT_SERVERS") or not is_there(name):
        pytest.skip(f"the source distribution of {name} is not here: run `make servers`")
    return source_of(name)


def check(result: Result, at_least: int, store: str) -> None:
    """Nothing failed, nothing went missing, and few were skipped; each of those has a reason in its plugin."""
    assert not result.failed, told(result)
    assert result.total >= at_least
    if store == "device-local":
        assert len(result.skipped) <= result.total / 10, result.skipped


@pytest.mark.parametrize("store", STORES)
def test_anthropics_memory_tool(store: str, tmp_path: Path) -> None:
    suite = needs("anthropic") / "tests" / "lib" / "tools" / "memory_tools" / "test_filesystem.py"
    check(run_suite("anthropic_memory", store, tmp_path, suite), 83, store)


@pytest.mark.parametrize("store", STORES)
def test_fsspecs_abstract_file_system(store: str, tmp_path: Path) -> None:
    result = run_suite("fsspec_files", store, tmp_path, HERE / "suites" / "fsspec_files.py")
    check(result, 137, store)
    assert not result.skipped


@pytest.mark.parametrize("store", STORES)
def test_pydantic_ais_workspaces(store: str, tmp_path: Path) -> None:
    """Half of the suite is about running commands, and skips itself: a store of notes runs none.

    How many those are is upstream's to say, and grows with its releases.
    """
    result = run_suite("pydantic_files", store, tmp_path, HERE / "suites" / "pydantic_files.py")
    assert not result.failed, told(result)
    assert result.passed >= 20
    assert {why.rpartition(": ")[2] for why in result.skipped.values()} <= {
        "backend does not implement SupportsCommands",
        "backend cannot observe the direct command exit independently of inherited output pipes",
    }


@pytest.mark.parametrize("store", STORES)
def test_langgraphs_stores(store: str, tmp_path: Path) -> None:
    in_memory, sqlite = needs("langgraph-checkpoint"), needs("langgraph-checkpoint-sqlite")
    results = []
    for number, (source, suite) in enumerate(
        ((in_memory, "test_store.py"), (sqlite, "test_store.py"), (sqlite, "test_async_store.py"))
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        results.append(run_suite("langgraph_items", store, folder, source / "tests" / suite, source=source))
    check(joined(results), 250, store)


@pytest.mark.parametrize("store", STORES)
def test_openais_sessions(store: str, tmp_path: Path) -> None:
    source = needs("openai-agents")
    suites = [source / "tests" / name for name in OPENAI]
    check(run_suite("openai_session", store, tmp_path, *suites, source=source), 450, store)
