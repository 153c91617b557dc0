"""A project that the store does not know yet is shown nobody else's notes; the operator's own it is."""

from __future__ import annotations

import time
from types import SimpleNamespace

import pytest
from secret_samples import planted
from widgets import STAMP

from agentm_kernel import Locator
from agentm_kernel.plugin import AgentmError, Device, FileStore, ToolCall
from agentm_recall.index.maintenance import RecallIndex
from agentm_recall.provider import recall
from agentm_recall.tool_writing import append, feedback, save

THEIRS = "projects/widgets/facts/theirs.md"


@pytest.fixture
def store(tmp_path, monkeypatch):
    """A note of the project `widgets`, and one of the operator's own."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    store = FileStore(tmp_path / "store", create_root=True)
    store.write(Locator("_meta/store.json"), STAMP)
    store.write(Locator(THEIRS), "---\nkind: fact\n---\n\nTheir port is 8080.\n")
    store.write(Locator("personal/_always-load/mine.md"), "---\nkind: convention\n---\n\nI use tabs.\n")
    return store


def here(store, claimed):
    """A checkout that is, or would be, the project `widgets`."""
    place = Locator("projects/widgets")
    return SimpleNamespace(backend=store, project_locator=place, slug="widgets", is_claimed=claimed, store_name=None)


@pytest.mark.parametrize("claimed", [True, False])
@pytest.mark.parametrize("query", [None, "which port"])
def test_only_a_claimed_place_is_read(store, claimed, query):
    text = recall(here(store, claimed), phase="work", query=query)
    assert ("8080" in text) is claimed
    assert "I use tabs." in text


@pytest.mark.parametrize("claimed", [True, False])
@pytest.mark.parametrize("query", [None, "which port"])
def test_nor_is_what_the_index_knows_of_it(store, claimed, query):
    """A session starts from the copy of a store that is elsewhere, and the index may be newer than that."""
    time.sleep(0.15)  # the folders have come to rest: the index makes an outline of them
    RecallIndex(store).rebuild()
    text = recall(here(store, claimed), phase="work", query=query)
    assert ("8080" in text) is claimed
    assert "I use tabs." in text


@pytest.mark.parametrize("claimed", [True, False])
def test_why_says_the_same(store, claimed):
    RecallIndex(store).rebuild()
    said = recall.why(here(store, claimed), note=THEIRS, phase="work", query=None, limit=None)
    assert said.startswith(f"{THEIRS[:-3]}: {'shown' if claimed else 'not shown'}\n")
    assert ("does not say that 'widgets' is this project" in said) is not claimed


def test_a_save_that_names_the_project_of_this_directory_claims_it(home):
    saved = home.run(
        "save", "--kind", "decision", "--slug", "sqlite", "--project", "widgets", input="We use SQLite.\n"
    )
    assert saved.returncode == 0, saved.stderr
    assert "example.com/ana/widgets" in (home.root / "projects/widgets/_project.json").read_text()
    assert "We use SQLite." in home.run("recall-here").stdout


def test_a_save_for_another_project_claims_nothing(home):
    home.run(
        "save",
        "--kind",
        "decision",
        "--slug",
        "sqlite",
        "--project",
        "gadgets",
        "--new-project",
        input="We use SQLite.\n",
    )
    assert not (home.root / "projects/gadgets/_project.json").exists()
    assert not (home.root / "projects/widgets").exists()


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ((), " \n"),
        (("--supersedes", "use-pip"), "We use uv.\n"),
        ((), "---\nstatus: deleted\n---\n\nWe use uv.\n"),
    ],
)
def test_a_save_that_is_refused_claims_nothing(home, words, text):
    assert home.run("save", "--slug", "use-uv", *words, input=text).returncode == 1
    assert not (home.root / "projects").exists()
    assert not (home.root / "_meta" / "remotes").exists()


@pytest.mark.parametrize(
    "given",
    [
        {"body": planted()["GitHub token"]},
        {"body": "---\nstatus: deleted\n---\n\nWe use uv.\n"},
        {"body": "---\nsource: operator\n---\n\nWe use uv.\n"},
        {"body": "We use uv.", "note": "use-pip", "expect": "0" * 64},
    ],
)
def test_nor_does_a_tool_that_refuses(home, given):
    call = ToolCall(Device.now({"HOME": str(home.path)}), (str(home.project),), "codex", lambda *_: None)
    with pytest.raises(AgentmError):
        save(call, "Use uv", **given)
    for tool, words in ((append, "We use uv."), (feedback, "confirmed")):
        with pytest.raises(AgentmError):
            tool(call, "use-pip", words)
    assert not (home.root / "projects").exists()
