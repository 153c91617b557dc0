"""`agentm plugins new`: what it writes installs, passes the kit, and is selected by its name."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.kernel.conftest import Site


KINDS = ("wrapper", "hooks", "command", "host", "importer", "tool")
"""Of plugins that are no store: those have tests of their own below."""


@pytest.fixture
def scaffolded(site: Site) -> Site:
    """`plugins new my-store`, installed."""
    return made(site, "my-store")


def made(site: Site, name: str, *arguments: str) -> Site:
    """A new plugin, installed the way that an editable install does it."""
    result = site.agentm("plugins", "new", name, *arguments, "--dir", str(site.home / "work"))
    assert (result.returncode, result.stderr) == (0, "")
    project = tomllib.loads((site.home / "work" / f"agentm-{name}" / "pyproject.toml").read_text())["project"]
    entry_points = "".join(
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in entries.items())
        for group, entries in project["entry-points"].items()
    )
    site.install(project["name"], project["version"], entry_points=entry_points)
    package = f"agentm_{name.replace('-', '_')}"
    (site.path / package).symlink_to(site.home / "work" / f"agentm-{name}" / "src" / package)
    return site


def listed(site: Site) -> dict[str, Any]:
    """The new plugin as `plugins list` shows it."""
    plugins = site.answer("plugins", "list")["plugins"]
    return next(plugin for plugin in plugins if plugin["name"] == "my-store")


def test_a_new_plugin_passes_the_conformance_kit(scaffolded: Site) -> None:
    result = scaffolded.answer("plugins", "check", "my-store")

    assert result["ok"]
    assert sum(check["outcome"] == "passed" for check in result["results"]) > 100


def test_the_tests_of_a_new_plugin_pass(scaffolded: Site) -> None:
    """Its own, and a few of those that its test module makes of the kit: the test above runs the whole kit."""
    project = str(scaffolded.home / "work" / "agentm-my-store")
    some = ["-k", "test_backend or declaring"]

    result = scaffolded.run_beside_others("-m", "pytest", "-v", "-p", "no:cacheprovider", *some, project)

    assert result.returncode == 0, result.stdout
    assert "test_backend.py::test_reading_creates_nothing PASSED" in result.stdout
    assert "test_conformance.py::test_conformance[declaring-describe] PASSED" in result.stdout


@pytest.mark.timeout(240)
@pytest.mark.parametrize("kind", KINDS)
def test_a_new_plugin_of_each_kind_passes_its_checks_and_its_own_tests(site: Site, kind: str) -> None:
    if kind == "host":
        pytest.importorskip("agentm_hosts", reason="adapters derive from a class of agentm-hosts")
    made(site, "my-demo", "--kind", kind)
    entry = "my_demo" if kind == "tool" else "my-demo"
    groups = ("layering", "conditions", "device_files", "foreign_entries") if kind == "wrapper" else ()
    only = [word for group in groups for word in ("--only", group)]
    agentm = ("-m", "agentm_kernel.cli.main")

    checked = site.run_beside_others(*agentm, "plugins", "check", entry, "--kind", kind, *only)
    some = ["-k", "not conformance or declaring or layering or device_files"]
    tested = site.run_beside_others(
        "-m", "pytest", "-q", "-p", "no:cacheprovider", *some, str(site.home / "work" / "agentm-my-demo")
    )

    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert " 0 failed" in checked.stdout
    assert tested.returncode == 0, tested.stdout + tested.stderr


def test_a_new_plugin_is_selected_by_its_name_and_keeps_notes(scaffolded: Site) -> None:
    assert scaffolded.agentm("config", "set", "storage.backend", "my-store").returncode == 0
    code = (
        "from agentm_kernel import Locator, select_backend\n"
        "select_backend().write(Locator('a/b.md'), 'kept\\n')\n"
        "print(select_backend(read_only=True).read(Locator('a/b.md')), end='')"
    )

    written = scaffolded.run("-c", code)

    assert (written.stdout, written.stderr) == ("kept\n", "")
    assert listed(scaffolded)["selected"]
    assert (scaffolded.home / ".agentm" / "my-store.db").is_file()


def test_a_new_plugin_declares_the_kernel_and_the_api_it_was_made_for(scaffolded: Site) -> None:
    from agentm_kernel import __version__
    from agentm_kernel.plugin import API_VERSION

    project = tomllib.loads((scaffolded.home / "work" / "agentm-my-store" / "pyproject.toml").read_text())["project"]

    (requirement,) = project["dependencies"]
    assert requirement.startswith(f"agentm-kernel>={__version__.rpartition('.')[0]},<")
    assert listed(scaffolded)["api"] == [str(API_VERSION)]


def test_new_plugins_are_clean_by_the_standards_of_this_project(scaffolded: Site) -> None:
    for kind in KINDS:
        made(scaffolded, f"my-{kind}", "--kind", kind)
    project = scaffolded.home / "work"
    settings = Path(__file__).parents[3] / "pyproject.toml"
    ruff = Path(sys.executable).with_name("ruff")

    result = subprocess.run(
        [ruff, "check", "--no-cache", "--config", settings, "--ignore", "I001,INP001,ARG", project],
        check=False,
        capture_output=True,
        text=True,
    )

    assert result.returncode == 0, result.stdout


def test_new_says_what_to_do_next(site: Site) -> None:
    result = site.agentm("plugins", "new", "my-store")

    assert result.stdout.splitlines() == [
        f"wrote .{os.sep}agentm-my-store; next:",
        f'  pip install -e ".{os.sep}agentm-my-store[test]"',
        f"  pytest .{os.sep}agentm-my-store",
        "  agentm config set storage.backend my-store",
    ]


def test_new_never_overwrites(site: Site) -> None:
    (site.home / "agentm-my-store").mkdir()
    (site.home / "agentm-my-store" / "work.py").write_text("mine")

    result = site.agentm("plugins", "new", "my-store")

    assert result.returncode == 1
    assert "exists already; nothing was written" in result.stderr
    assert site.home_files() == ["agentm-my-store", "agentm-my-store/work.py"]


def test_new_refuses_a_name_that_an_installed_store_has(site: Site) -> None:
    result = site.agentm("plugins", "new", "device-local")

    assert result.returncode == 1
    assert "the store 'device-local' exists already: it is the backend 'device-local' of" in result.stderr
    assert site.home_files() == []


@pytest.mark.parametrize("name", ["My-Store", "my_store", "-x", "x-", "2x", "../x", "a b", "ü", ""])
def test_new_refuses_a_name_that_cannot_be_a_package(site: Site, name: str) -> None:
    result = site.agentm("plugins", "new", "--", name)

    assert result.returncode == 2
    assert result.stderr.startswith("error: ")
    assert site.home_files() == []
