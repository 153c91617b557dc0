"""What `agentm plugins new` writes and says for each kind, without installing any of it."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import pytest
from click.testing import CliRunner

from agentm_devkit.plugins_new import STARTS, command
from agentm_kernel import __version__
from agentm_kernel.plugin import Device, PluginError

if TYPE_CHECKING:
    from collections.abc import Callable

    from click.testing import Result as Done
    from tests.kernel.conftest import Site


@pytest.fixture
def new(site: Site, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Done]:
    monkeypatch.syspath_prepend(site.path)
    monkeypatch.chdir(site.home)

    def run(*arguments: str) -> Done:
        return CliRunner().invoke(command, arguments, obj=Device({"HOME": str(site.home)}), standalone_mode=False)

    return run


def project(folder: str) -> Any:
    return tomllib.loads(Path(folder, "pyproject.toml").read_text())["project"]


FILES = {
    "backend": ["backend", "options", "test_conformance", "test_backend"],
    "wrapper": ["layer", "options", "test_layer"],
    "hooks": ["hooks", "test_hooks"],
    "command": ["command", "test_command"],
    "host": ["adapter", "test_adapter"],
    "importer": ["importer", "test_importer"],
    "tool": ["tool", "test_tool"],
}


@pytest.mark.parametrize("kind", STARTS)
def test_a_new_plugin_of_each_kind_has_its_files_and_no_others(new: Callable[..., Done], kind: str) -> None:
    assert new("my-demo", "--kind", kind).exception is None
    root = Path("agentm-my-demo")
    package = "src/agentm_my_demo"
    places = [
        f"tests/{name}.py" if name.startswith("test_") else f"{package}/{name}.py"
        for name in ("__init__", *FILES[kind])
    ]
    written = [file.relative_to(root).as_posix() for file in root.rglob("*") if file.is_file()]
    assert sorted(written) == sorted(["README.md", "pyproject.toml", f"{package}/py.typed", *places])
    assert (root / package / "py.typed").read_text() == ""
    assert not any("$" in (root / file).read_text().replace("$HOME", "") for file in written), (
        "every word is filled in"
    )


def test_a_new_plugin_needs_this_kernel_and_what_its_kind_builds_on(new: Callable[..., Done]) -> None:
    major, minor, *_ = __version__.split(".")
    versions = f">={major}.{minor},<{major}.{int(minor) + 1}"
    for kind, more in (("tool", []), ("host", ["agentm-hosts"]), ("importer", ["agentm-import"])):
        new(f"a-{kind}", "--kind", kind)
        wanted = [f"{name}{versions}" for name in ("agentm-kernel", *more)]
        assert project(f"agentm-a-{kind}")["dependencies"] == wanted


@pytest.mark.parametrize("kind", STARTS)
def test_stores_and_wrappers_declare_their_options(new: Callable[..., Done], kind: str) -> None:
    new("my-demo", "--kind", kind)
    declared = project("agentm-my-demo")["entry-points"].get("agentm.options")
    wanted = {"my-demo": "agentm_my_demo.options:OPTIONS"}
    assert declared == (wanted if kind in ("backend", "wrapper") else None)


def test_a_program_is_told_the_folder_the_kind_and_the_next_steps(new: Callable[..., Done]) -> None:
    answer = json.loads(new("my-demo", "--kind", "tool", "--dir", "work", "--json").stdout)
    assert (answer["folder"], answer["kind"]) == ("work/agentm-my-demo", "tool")
    assert answer["next"] == [
        'pip install -e "work/agentm-my-demo[test]"',
        "pytest work/agentm-my-demo",
        "agentm mcp --help",
    ]


def test_a_name_that_says_whose_it_is_is_not_made_longer(new: Callable[..., Done]) -> None:
    assert new("agentm-demo").stdout.startswith("wrote ./agentm-demo; next:\n")
    assert project("agentm-demo")["name"] == "agentm-demo"
    assert project("agentm-demo")["entry-points"]["agentm.backends"] == {
        "agentm-demo": "agentm_demo.backend:AgentmDemoBackend"
    }


def test_agents_call_a_tool_by_a_name_without_hyphens(new: Callable[..., Done], site: Site) -> None:
    new("my-demo", "--kind", "tool")
    assert project("agentm-my-demo")["entry-points"]["agentm.tools"] == {"my_demo": "agentm_my_demo.tool:TOOL"}
    site.install("taken", entry_points="[agentm.tools]\nmy_tool = m:TOOL\n")
    refused = new("my-tool", "--kind", "tool").exception
    assert isinstance(refused, PluginError)
    assert refused.message.startswith("the tool 'my-tool' exists already: it is the ")
    assert refused.hint == "choose another name"
    assert new("my-tool", "--kind", "command").exception is None, "another kind may have the name"


def test_a_folder_that_is_there_and_one_that_cannot_be_made_are_refused_with_a_way_out(
    new: Callable[..., Done],
) -> None:
    Path("agentm-demo").mkdir()
    taken = new("demo").exception
    assert isinstance(taken, PluginError)
    assert taken.message == "./agentm-demo exists already; nothing was written"
    assert taken.hint == "choose another name, or another place with --dir"
    Path("file").write_text("")
    nowhere = new("demo", "--dir", "file").exception
    assert isinstance(nowhere, PluginError)
    assert nowhere.message == "cannot write file/agentm-demo: Not a directory"
    assert nowhere.hint == "name another folder with --dir"


def test_a_name_that_cannot_be_one_is_refused_in_the_words_of_its_kind(new: Callable[..., Done]) -> None:
    refused = new("My_Demo", "--kind", "wrapper").exception
    assert isinstance(refused, click.UsageError)
    assert refused.message == (
        "'My_Demo' cannot name a wrapper: use small letters, digits and hyphens, as in my-store"
    )
