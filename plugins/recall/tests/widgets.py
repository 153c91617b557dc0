"""The project that the tests of this folder play in, and the mark of its store."""

from __future__ import annotations

from agentm_kernel import Locator

PROJECT = Locator("projects/widgets")
STAMP = '{"id": "4f1c0b52-test", "created": "2025-01-01T00:00:00+00:00", "layout": 1}\n'
