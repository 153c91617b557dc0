from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from agentm_devkit.gates.__main__ import main

CLEAN = {"src/agentm_example/work.py": "import agentm_kernel\n"}
DIRTY = {"src/agentm_example/work.py": "import agentm_other\n"}


@pytest.fixture
def run(judge, tmp_path, monkeypatch):
    def call(files, *arguments):
        judge(files)
        monkeypatch.chdir(tmp_path)
        return CliRunner().invoke(main, arguments)

    return call


def test_a_clean_tree_exits_with_0(run):
    result = run(CLEAN)

    assert result.exit_code == 0
    assert result.output == "2 modules, no findings\n"


def test_findings_exit_with_1_and_name_file_line_rule_and_reason(run):
    result = run(DIRTY)

    assert result.exit_code == 1
    assert result.output.startswith("src/agentm_example/work.py:1: plugin-imports-plugin: the plugin imports")


@pytest.mark.parametrize(
    ("files", "argument", "reason"),
    [
        (CLEAN, "nowhere", "nothing at this path"),
        (CLEAN | {"empty/notes.txt": ""}, "empty", "no Python package"),
        (CLEAN | {"src/agentm_example/broken.py": "def ("}, ".", "cannot be parsed"),
        (CLEAN | {"src/agentm_example/broken.py": "x = '\0'"}, ".", "cannot be parsed"),
        (CLEAN | {"pyproject.toml": "= nothing"}, ".", "cannot be parsed"),
    ],
)
def test_what_cannot_be_judged_exits_with_2(run, files, argument, reason):
    result = run(files, argument)

    assert result.exit_code == 2
    assert reason in result.output


def test_what_can_be_judged_is_judged_beside_it(run):
    result = run(DIRTY, ".", "nowhere")

    assert result.exit_code == 2
    assert "plugin-imports-plugin" in result.output


def test_json_carries_the_same(run):
    result = run(DIRTY, "--json")

    assert result.exit_code == 1
    report = json.loads(result.output)
    assert report["schema"] == 1
    assert report["modules"] == 2
    assert report["unreadable"] == []
    (finding,) = report["findings"]
    assert finding["file"] == "src/agentm_example/work.py"
    assert finding["line"] == 1
    assert finding["rule"] == "plugin-imports-plugin"
    assert finding["sentence"].startswith("the plugin imports")


@pytest.mark.parametrize("argument", ["src", "src/agentm_example", "src/agentm_example/work.py"])
def test_a_path_may_be_a_folder_a_package_or_a_file(run, argument):
    assert "plugin-imports-plugin" in run(DIRTY, argument).output


def test_tests_tools_and_environments_are_not_the_distribution(run):
    stray = {
        "tests/test_work.py": "import agentm_other\n",
        "noxfile.py": "import agentm_other\n",
        ".hidden/src/agentm_more/work.py": "import agentm_other\n",
        "env/pyvenv.cfg": "",
        "env/lib/agentm_more/work.py": "import agentm_other\n",
    }

    assert run(CLEAN | stray).exit_code == 0


def test_a_single_module_below_src_is_a_plugin(run):
    assert run({"src/stickies.py": "import agentm_other\n"}).exit_code == 1
