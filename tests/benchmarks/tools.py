"""How soon an agent host has our tools, and what the server costs while it waits: hosts do not wait long for it."""

from __future__ import annotations

import json
import statistics
import subprocess
import time
from typing import TYPE_CHECKING

from tests.benchmarks.installed import Installed
from tests.benchmarks.tables import Table

if TYPE_CHECKING:
    from tests.benchmarks.measure import Setting
    from tests.benchmarks.tables import Row

DISTRIBUTIONS = ("agentm-device-local", "agentm-recall", "agentm-checkpoint", "agentm-mcp")
INFO = {"name": "bench", "version": "1"}
ERAS = {
    "initialize, then tools/list": (
        {"method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": INFO}},
        {"method": "tools/list", "params": {}},
    ),
    "tools/list at once (2026-07-28)": (
        {
            "method": "tools/list",
            "params": {
                "_meta": {
                    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                    "io.modelcontextprotocol/clientInfo": INFO,
                    "io.modelcontextprotocol/clientCapabilities": {},
                }
            },
        },
    ),
}


def run(setting: Setting) -> Table:
    installed = Installed(setting.scratch, DISTRIBUTIONS)
    environ = installed.home("tools")
    bare = installed.starting("python -c pass", environ)
    rows: list[Row] = []
    for count in (10, 100, 300):
        installed.fill(count)
        for name, messages in ERAS.items():
            _listed(installed, environ, messages)  # what is read for the first time belongs to nobody's figure
            pairs = [(_seconds(bare), _listed(installed, environ, messages)) for _ in range(setting.rounds(30, 5))]
            rows.append(
                {
                    "what": name,
                    "distributions": str(count),
                    "from the start (ms)": statistics.median(took for _, (took, _, _) in pairs) * 1e3,
                    "against python -c pass (×)": statistics.median(took / other for other, (took, _, _) in pairs),
                    "resident (MB)": max(resident for _, (_, resident, _) in pairs),
                    "answer (bytes)": str(max(size for _, (_, _, size) in pairs)),
                }
            )
    note = (
        "From starting the process to the whole answer of `tools/list`, against a bare interpreter that was started "
        "just before. Codex asks its model without the tools of a server that takes more than about half a second."
    )
    return Table("tools", "Offering tools to an agent host", note, rows)


def _seconds(work: object) -> float:
    start = time.perf_counter()
    work()  # type: ignore[operator]
    return time.perf_counter() - start


def _listed(
    installed: Installed, environ: dict[str, str], messages: tuple[dict[str, object], ...]
) -> tuple[float, float, int]:
    """Seconds to the answer of the last message, megabytes in memory then, and bytes of the answer."""
    start = time.perf_counter()
    process = subprocess.Popen(
        [installed.agentm, "mcp"],
        cwd=installed.project,
        env=environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    answer = b""
    for number, message in enumerate(messages):
        process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, **message}).encode() + b"\n")
        process.stdin.flush()
        answer = process.stdout.readline()
    took = time.perf_counter() - start
    assert len(json.loads(answer)["result"]["tools"]) == 10
    resident = _resident(process.pid)
    process.communicate()
    return took, resident, len(answer)


def _resident(process: int) -> float:
    """Megabytes; 0 where the system does not say."""
    try:
        with open(f"/proc/{process}/status", encoding="utf-8") as file:
            return next(int(line.split()[1]) / 1024 for line in file if line.startswith("VmRSS"))
    except OSError:
        return 0.0
