"""A person's page: what agents remember, what they were told, and what wants a decision."""

from __future__ import annotations

__version__ = "0.2.0"
