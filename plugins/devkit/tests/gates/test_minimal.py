from __future__ import annotations

import pytest

KERNEL_FILE = "kernel/agentm_kernel/cli/work.py"
TIERS = {"kernel/agentm_kernel/seam/tiers.py": "class DerivedMaintenance: ...\n"}


@pytest.mark.parametrize("statement", ["import sqlite3", "from dbm import dumb", "def f():\n    import shelve"])
def test_the_kernel_imports_no_database(rules, statement):
    assert rules({KERNEL_FILE: f"{statement}\n"}) == ["database-import"]


@pytest.mark.parametrize(
    "statement", ["import yaml", "from requests import get", "__import__('numpy')", "import pytest"]
)
def test_the_kernel_imports_four_packages_and_no_more(rules, statement):
    assert rules({KERNEL_FILE: f"{statement}\n"}) == ["third-party-import"]


def test_the_four_packages_and_the_standard_library_are_allowed(rules):
    text = "from __future__ import annotations\nimport click, filelock, os, platformdirs, pluggy, _thread\n"

    assert rules({KERNEL_FILE: text}) == []


@pytest.mark.parametrize("statement", ["import sqlite3", "import yaml"])
def test_a_plugin_imports_what_it_likes(rules, statement):
    assert rules({"src/agentm_example/index.py": f"{statement}\n"}) == []


@pytest.mark.parametrize(
    "text",
    [
        "from agentm_kernel.seam.tiers import DerivedMaintenance\nclass Index(DerivedMaintenance): ...\n",
        "from agentm_kernel.seam import tiers\nclass Index(tiers.DerivedMaintenance): ...\n",
    ],
)
def test_the_kernel_maintains_no_derived_tier(rules, text):
    assert rules({KERNEL_FILE: text} | TIERS) == ["concrete-maintenance"]


def test_a_plugin_maintains_one(rules):
    text = "from agentm_kernel.plugin import DerivedMaintenance\nclass Index(DerivedMaintenance): ...\n"

    assert rules({"src/agentm_example/index.py": text} | TIERS) == []


@pytest.mark.parametrize(
    "requirement", ["agentm-vault", "agentm_vault>=0.1,<0.2", "AgentM.Recall ; python_version > '3'"]
)
def test_the_kernel_requires_no_plugin(judge, requirement):
    manifest = f'[project]\nname = "agentm-kernel"\ndependencies = [\n  "click",\n  "{requirement}",\n]\n'

    report = judge({"pyproject.toml": manifest, KERNEL_FILE: ""})

    (finding,) = report.findings
    assert (finding.rule, finding.line) == ("plugin-dependency", 5)


def test_a_plugin_requires_the_kernel(rules):
    manifest = '[project]\nname = "agentm-example"\ndependencies = ["agentm-kernel>=0.1,<0.2"]\n'

    assert rules({"pyproject.toml": manifest, "src/agentm_example/work.py": ""}) == []
