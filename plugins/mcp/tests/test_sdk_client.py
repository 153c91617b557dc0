"""The official SDK's client as the judge: it validates every answer against the protocol's own models."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest
from mcp import Client, StdioServerParameters, stdio_client
from mcp_host import COMMAND, Home, field_of

SECRET = "gh" + "p_" + "Q7w2Zk9" * 5 + "x"


def _client(home: Home, mode: str) -> Client:
    server = StdioServerParameters(command=COMMAND[0], args=COMMAND[1:], env=home.environ, cwd=str(home.project))
    return Client(stdio_client(server), mode=mode)


@pytest.mark.parametrize("mode", ["auto", "legacy", "2026-07-28"])
def test_a_round_of_everything(home: Home, mode: str) -> None:
    """List, search, save, read back, conflict, refusal of a secret, resources."""

    async def conversation() -> None:
        async with _client(home, mode) as client:
            listed = await client.list_tools()
            assert len(listed.tools) == 10
            saved = await client.call_tool("memory_save", {"title": "Use uv", "body": "It is fast."})
            assert not saved.is_error
            assert saved.structured_content["status"] == "saved"
            key = saved.structured_content["key"]
            found = await client.call_tool("memory_search", {"query": "fast"})
            assert key in found.content[0].text
            read = await client.call_tool("memory_read", {"note": key})
            assert field_of(read.content[0].text, "hash") == saved.structured_content["hash"]
            conflict = await client.call_tool("memory_save", {"title": "Use uv", "body": "No."})
            assert conflict.is_error
            assert "merge your text" in conflict.content[0].text
            refused = await client.call_tool("memory_save", {"title": "Token", "body": SECRET})
            assert refused.is_error
            assert "secret" in refused.content[0].text
            resources = await client.list_resources()
            contents = await client.read_resource(resources.resources[0].uri)
            assert contents.contents[0].text == (home.root / key).read_text()
            assert (await client.list_resource_templates()).resource_templates

    anyio.run(conversation)


def test_the_client_settles_on_the_later_era_by_itself(home: Home) -> None:
    async def conversation() -> None:
        async with _client(home, "auto") as client:
            assert client.protocol_version == "2026-07-28"
            assert "memory_search" in (client.instructions or "")

    anyio.run(conversation)


def test_a_call_that_the_client_gives_up_is_cancelled(home: Home, tmp_path: Path) -> None:
    mark = tmp_path / "stopped"
    home.plugin(
        "slowtools",
        "import time, pathlib\nfrom agentm_kernel.plugin import Tool\n"
        "def slow(call):\n"
        "    try:\n"
        "        for step in range(200):\n"
        "            call.progress(step, 200, 'working')\n"
        "            time.sleep(0.05)\n"
        "    except BaseException:\n"
        f"        pathlib.Path({str(mark)!r}).write_text('stopped')\n"
        "        raise\n"
        "    return {'status': 'done'}\n"
        "SLOW = Tool('slow', 'slow', slow)\n",
        slow="SLOW",
    )

    async def conversation() -> None:
        async with _client(home, "auto") as client:
            with anyio.move_on_after(0.6):
                await client.call_tool("slow", {})
            assert not (await client.call_tool("memory_recall", {})).is_error
            assert mark.read_text() == "stopped"

    anyio.run(conversation)
