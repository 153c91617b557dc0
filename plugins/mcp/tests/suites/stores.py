"""The store that a suite runs on, chosen by the test that started it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from agentm_device_local import DeviceLocalBackend
from agentm_devkit.conformance.memory import MemoryBackend

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentm_kernel.plugin import StorageBackend

ON_DISK = os.environ.get("AGENTM_SUITE_STORE") == "device-local"


def open_store(root: str) -> StorageBackend:
    """A new store: in the folder `root`, or in memory."""
    return DeviceLocalBackend(root) if ON_DISK else MemoryBackend()


def skip(items: list[pytest.Item], reasons: Mapping[str, str]) -> None:
    """Skip the tests whose name contains one of the words, each with its reason."""
    for item in items:
        for word, reason in reasons.items():
            if word in item.nodeid:
                item.add_marker(pytest.mark.skip(reason=reason))
