"""`make demo`: what agentm does, shown in under a minute, in a folder that is thrown away afterwards."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.demo import floor, story
from tests.demo.stage import say


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="agentm-demo-") as scratch:
        floor.show(Path(scratch))
        story.show(Path(scratch))
    say("\n   That is all; everything above happened in a scratch folder, which is gone again.")


if __name__ == "__main__":
    main()
