"""The fault campaign: each module breaks something on purpose, many times, and counts what the store lost.

Run it with `python -m tests.faults`. Every campaign has a negative control, a store built wrongly in exactly the way
that the campaign is there to notice: a campaign whose control passes proves nothing, and fails.
"""

import sys
from pathlib import Path

# What campaigns on a plugin's store need to start one lies beside that plugin's own tests.
sys.path.extend(
    str(Path(__file__).resolve().parents[2] / "plugins" / name / "tests")
    for name in ("bucket", "mcp", "obsidian-vault")
)
