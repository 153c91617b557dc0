"""The contract of the seam, on real servers: one that speaks S3, one that speaks Azure, and an emulator.

The emulator is the slowest when many processes come at once, and proves the least then: races and kills are left to
the two real servers. AGENTM_REQUIRE_SERVERS, which asks for everything, runs them on the emulator too.
"""

from __future__ import annotations

import os

from agentm_kernel.conformance.pytest_suite import conformance_tests
from agentm_kernel.conformance.worker import is_child


def quick_groups():
    from agentm_kernel.conformance import all_checks

    return {check.group for check in all_checks()} - {"racing", "crashing", "routing", "importing"}


everything = is_child() or os.environ.get("AGENTM_REQUIRE_SERVERS")

test_moto = conformance_tests("on_moto", only=None if everything else quick_groups())
test_seaweedfs = conformance_tests("on_seaweedfs")
test_azurite = conformance_tests("on_azurite")
