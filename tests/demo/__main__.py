"""`make demo`: what agentm does, shown in under a minute, in a folder that is thrown away afterwards."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.demo import sessions, vault, writers
from tests.demo.stage import say


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="agentm-demo-") as scratch:
        sessions.show(Path(scratch))
        writers.show(Path(scratch))
        vault.show(Path(scratch))
        sessions.show_the_page(Path(scratch))
    say("\n   That is all; everything above happened in a scratch folder, which is gone again.")
    say("Yours: `uv tool install agentm-memory`, then `agentm setup`.")


if __name__ == "__main__":
    main()
