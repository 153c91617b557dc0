"""The table of our own plugins, against what they say of themselves."""

from __future__ import annotations

import tomllib
from pathlib import Path

from agentm_kernel.plugins.published import PUBLISHED

PLUGINS = Path(__file__).parents[2] / "plugins"


def declared(group: str) -> dict[str, str]:
    """Every entry of `group` in the plugins of this repository, with its distribution."""
    projects = [tomllib.loads(file.read_text())["project"] for file in PLUGINS.glob("*/pyproject.toml")]
    return {name: project["name"] for project in projects for name in project.get("entry-points", {}).get(group, {})}


def test_the_table_has_what_the_plugins_declare() -> None:
    assert {group: declared(group) for group in PUBLISHED} == PUBLISHED
