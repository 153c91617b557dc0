"""The contract of the seam, on real servers: two that speak S3, one that speaks Azure."""

from __future__ import annotations

from agentm_kernel.conformance.pytest_suite import conformance_tests

test_moto = conformance_tests("on_moto")
test_seaweedfs = conformance_tests("on_seaweedfs")
test_azurite = conformance_tests("on_azurite")
