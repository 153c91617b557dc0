"""The specification's own examples, given by path: each loads, or is refused for a documented reason."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from install_specification import specification

from agentm_storage_policy.parse import examine_bytes

SPECIFICATION = specification()
pytestmark = pytest.mark.skipif(SPECIFICATION is None, reason="the AIP specification is not here: run `make servers`")
ROOT = SPECIFICATION or Path()
FENCE = re.compile(r"^```+(?:md|yaml|markdown)\n(.*?)^```+", re.MULTILINE | re.DOTALL)


def examples(path: str) -> list[str]:
    """The fenced examples of a page, each as a document with front matter."""
    found = []
    for block in FENCE.findall((ROOT / path).read_text()):
        text = re.sub(r"^\s*#.*\n", "", block) if block.lstrip().startswith("#") else block
        found.append(text if text.startswith("---\n") else f"---\n{text}---\n")
    return found


def only(path: str, *words: str) -> str:
    """The one example that holds all the words."""
    (example,) = [example for example in examples(path) if all(word in example for word in words)]
    return example


def outcome(text: str, name: str = "STORAGE.md"):
    parsed, findings = examine_bytes(text.encode(), name, providers=())
    return parsed, [str(finding).partition(": ")[2] for finding in findings]


def test_the_standalone_example_loads_with_a_warning_about_its_slug():
    parsed, said = outcome(only("aip-35.mdx", "shared-s3-policy", "endpoint:", "## Description"))
    assert parsed is not None
    assert [line.partition(":")[0] for line in said] == ["config.credentials_ref"]


def test_the_manifest_of_the_adapter_guide_loads_with_warnings():
    parsed, said = outcome(only("resources/aip-35/draft/ADAPTER.md", "main-workspace", "pull-push"))
    assert parsed is not None
    assert parsed.data["sync"]["pull"] == {"on": "workspace-open"}, "`on` is a key like any other"
    assert {line.partition(":")[0] for line in said} == {"schema", "auth.ref"}


def test_the_codespace_of_aip_34_loads():
    parsed, said = outcome(only("aip-34.mdx", "marketing-bot", "mastra-e2b"), "WORKSPACE.md")
    assert parsed is not None, said
    assert parsed.data["storage"]["inline"]["sync"]["push"]["on"] == "per-conversation"


def test_the_workspace_of_aip_34_loads_with_its_timestamp_as_text():
    parsed, said = outcome(only("aip-34.mdx", "marketing-ops", "created_at", "## Maintainers"), "WORKSPACE.md")
    assert parsed is not None, said
    assert parsed.data["created_at"] == "2026-05-02T10:00:00Z"


@pytest.mark.parametrize("number", [39, 41, 42])
def test_the_library_workspaces_load(number):
    path = ROOT / f"resources/aip-{number}/draft/library/standard/WORKSPACE.md"
    parsed, said = outcome(path.read_text(), "WORKSPACE.md")
    assert parsed is not None, said


def test_every_inventory_of_aip_19_loads():
    inventories = [text for text in examples("resources/aip-19/draft/EXAMPLES.md") if "secrets:" in text]
    assert len(inventories) == 7
    for text in inventories:
        parsed, said = outcome(text, "SECRETS.md")
        assert parsed is not None, said


def test_the_policy_of_aip_38_is_refused_for_an_id_that_its_own_schema_refuses():
    text = only("aip-38.mdx", "@acme/policies/marketing-team", "max-egress-bytes-per-day", "version: 1.2.0")
    parsed, said = outcome(text, "POLICY.md")
    assert parsed is None
    assert [line.partition(":")[0] for line in said] == ["id"]
    parsed, said = outcome(text.replace("@acme/policies/marketing-team", "@acme/marketing-team"), "POLICY.md")
    assert parsed is not None, said
