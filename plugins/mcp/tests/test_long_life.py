"""A server outlives much: an upgrade of what it runs, and the folder that it was started in."""

from __future__ import annotations

import shutil

from mcp_host import Home, Host

_TOOL = """
from agentm_kernel.plugin import Tool

def _greet(call):
    return {"said": "%s"}

GREET = Tool("greet", "Greet.", _greet)
"""


def test_a_server_under_which_a_plugin_was_upgraded_mixes_no_versions_and_says_what_to_restart(home: Home) -> None:
    home.plugin("acme_greetings", _TOOL % "hello", greet="GREET")
    module = home.path / "site" / "acme_greetings.py"
    with Host(home) as host:
        host.initialize()
        assert host.call("greet") == "said: hello"
        kept = home.path / "kept.py"
        shutil.copy2(module, kept)
        module.write_text(_TOOL % "good morning")
        for tool in ("greet", "plan_read"):
            said = host.failure(tool)
            assert "was upgraded or removed" in said
            assert "restart" in said
            assert "plugin_policy" not in said
        assert "restart" in host.request("tools/list")["error"]["message"]
        assert host.request("ping")["result"] == {}
        module.unlink()
        assert "was upgraded or removed" in host.failure("greet")
        shutil.move(kept, module)  # an installer that failed has put everything back
        assert host.call("greet") == "said: hello"


def test_a_plugin_that_is_installed_beside_a_server_stops_nothing(home: Home) -> None:
    home.plugin("acme_greetings", _TOOL % "hello", greet="GREET")
    with Host(home) as host:
        host.initialize()
        assert host.call("greet") == "said: hello"
        home.plugin("acme_farewells", _TOOL.replace("greet", "part") % "bye", part="GREET")
        assert host.call("part") == "said: bye"
        assert host.call("greet") == "said: hello"


def test_the_folder_of_a_server_that_was_removed_is_no_empty_memory(home: Home) -> None:
    with Host(home, cwd=home.project) as host:
        host.initialize()
        host.call("memory_save", title="Payments", body="Payments use SQLite.")
        shutil.rmtree(home.project)
        for tool, arguments in (("memory_search", {"query": "payments"}), ("memory_recall", {}), ("plan_read", {})):
            assert str(home.project) in host.failure(tool, **arguments)
        home.make_project("widgets")  # cloned again
        assert "Payments use SQLite" in host.call("memory_search", query="payments")
