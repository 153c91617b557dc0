"""The Inspector's verdict on what the server says, in both eras; `make e2e` has it make 2,000 calls to each tool."""

from __future__ import annotations

import json
import os

import pytest
from inspector import ERAS, LOADED, inspect, is_there, load, prepare
from mcp_host import Home

pytestmark = [
    pytest.mark.skipif(
        not is_there() and not os.environ.get("AGENTM_REQUIRE_SERVERS"),
        reason="the Inspector is not installed: run `make servers`",
    ),
    pytest.mark.timeout(300),
]


@pytest.mark.parametrize("era", ERAS)
def test_the_list_of_tools_is_portable_and_the_tools_work(home: Home, era: str) -> None:
    listed = inspect(home, "tools/list", "--strict", era=era)
    assert listed.returncode == 0, listed.stderr
    assert len(json.loads(listed.stdout)["result"]["tools"]) == 10
    arguments = json.dumps({"title": "Widgets are red", "body": "All of them."})
    saved = inspect(home, "tools/call", "--tool-name", "memory_save", "--tool-args-json", arguments, era=era)
    assert saved.returncode == 0, saved.stderr
    assert json.loads(saved.stdout)["result"]["structuredContent"]["status"] == "saved"
    resources = inspect(home, "resources/list", era=era)
    assert "agentm://projects/widgets/facts/widgets-are-red.md" in resources.stdout


@pytest.mark.parametrize("tool", LOADED)
def test_many_calls_at_once_are_all_answered(home: Home, tool: str) -> None:
    prepare(home)
    counted = load(home, tool, 200, "modern")
    assert (counted["ok"], counted["errors"], counted["toolErrors"]) == (200, 0, 0), counted
    if tool == "memory_append":
        note = home.root / "projects" / "widgets" / "facts" / "widget-colour.md"
        assert note.read_text().count("Seen again.") == 200
