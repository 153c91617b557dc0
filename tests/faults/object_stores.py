"""The real object stores that campaigns run on, which the bucket plugin's tests know how to start."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from bucket_servers import ServerMissingError, running

from tests.faults.harness import scratch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bucket_servers import Running

    from tests.faults.harness import Intensity, Outcome


def each_server(intensity: Intensity, outcome: Outcome) -> Iterator[Running]:
    """One after the other, started; those that are not installed are skipped, or missed where they are required."""
    for name in ("seaweedfs", "azurite") if intensity.full else ("azurite",):
        try:
            with scratch() as folder, running(name, os.path.join(folder, name)) as server:
                yield server
        except ServerMissingError as reason:
            outcome.skips.append(str(reason))
            if os.environ.get("AGENTM_REQUIRE_SERVERS"):
                outcome.violation("missing", str(reason))
