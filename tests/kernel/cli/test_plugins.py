"""`agentm plugins`, run as people run it, over distributions that are really there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.kernel.conftest import Site

STORE = """
from agentm_kernel import FileStore
class Store(FileStore):
    scratch_options = {"root": "{scratch}"}
"""

HOOK = "from agentm_kernel import hookimpl\n@hookimpl\ndef agentm_alert(alert): pass\n"


def agentm(site: Site, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return site.run("-m", "agentm_kernel.cli.main", *arguments, **environ)


def answer(site: Site, *arguments: str, code: int = 0, **environ: str) -> dict[str, Any]:
    """The JSON answer, which is valid whatever plugins do, and has a schema number."""
    result = agentm(site, *arguments, "--json", **environ)
    assert result.returncode == code, result.stderr
    fields = json.loads(result.stdout)
    assert fields["schema"] == 1
    return dict(fields)


def listed(site: Site, *arguments: str, code: int = 0) -> dict[str, dict[str, Any]]:
    """The plugins of the site by name; what the environment of this test run has besides is left out."""
    plugins = answer(site, "plugins", "list", *arguments, code=code)["plugins"]
    return {plugin["name"]: plugin for plugin in plugins if plugin["location"].startswith(str(site.path))}


def configure(site: Site, **settings: object) -> None:
    folder = site.home / ".config" / "agentm"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ".agentm-config.json").write_text(json.dumps(settings))


def files_below(folder: Path) -> list[str]:
    return sorted(str(file.relative_to(folder)) for file in folder.rglob("*"))


@pytest.fixture
def rogues(site: Site) -> Site:
    """Every way in which a plugin has been seen to go wrong, and one good store among them."""
    site.install_plugin("good", STORE)
    site.install_plugin("raises", "raise RuntimeError('no luck')")
    site.install_plugin("exits", "import sys; sys.exit(3)")
    site.install_plugin("hangs", "import time; time.sleep(600)")
    site.install_plugin("prints", STORE + "print('{\"schema\": 9}')")
    site.install_plugin("abstract", "from agentm_kernel import StorageBackend\nclass Store(StorageBackend): pass")
    site.install_plugin("newer", STORE + "    api_version = 99")
    site.install_plugin("untyped", STORE + "    capabilities = {'sync': True}")
    site.install_plugin("typo", HOOK.replace("alert(", "alart("), group="agentm.plugins", attribute="")
    site.install_plugin("fine", HOOK, group="agentm.plugins", attribute="")
    site.install(
        "agentm-future",
        entry_points="[agentm.backends]\nfuture = nothing:Store\n[agentm.api]\n99 = nothing\n",
    )
    site.install("one", entry_points="[agentm.backends]\ntwice = plugin_good:Store\n")
    site.install("two", "0.2", entry_points="[agentm.backends]\ntwice = plugin_good:Store\n")
    return site


# ------------------------------------------------------------------------------------------------ list


def test_list_shows_the_default_store_as_selected_and_why(site: Site) -> None:
    result = agentm(site, "plugins", "list")

    assert (result.returncode, result.stderr) == (0, "")
    row = next(line for line in result.stdout.splitlines() if " device-local " in line)
    assert "backend" in row
    assert "agentm-device-local" in row
    assert "selected" in row
    assert "chosen by the default" in row


def test_list_shows_what_the_configuration_selects_and_where_it_says_so(site: Site) -> None:
    site.install_plugin("mem", STORE)
    site.install_plugin("guard", "def wrap(): ...", group="agentm.wrappers", attribute="wrap")
    configure(site, **{"storage.backend": "mem", "wrappers": ["guard"]})

    found = listed(site)

    config = str(site.home / ".config" / "agentm" / ".agentm-config.json")
    assert {name: (plugin["selected"], plugin["why"]) for name, plugin in found.items()} == {
        "mem": (True, f"chosen by storage.backend in {config}"),
        "guard": (True, f"chosen by wrappers in {config}"),
    }


def test_list_says_that_the_selected_store_is_not_installed(site: Site) -> None:
    configure(site, **{"storage.backend": "elsewhere"})

    result = agentm(site, "plugins", "list")

    assert result.returncode == 0
    assert "note: the backend 'elsewhere' is chosen by storage.backend in" in result.stderr
    assert "but no installed plugin provides it" in result.stderr


def test_list_describes_each_plugin(site: Site) -> None:
    info = site.install("agentm-mem", "1.2", entry_points="[agentm.backends]\nmem = m:Store\n[agentm.api]\n1 = m\n")

    assert listed(site) == {
        "mem": {
            "name": "mem",
            "kind": "backend",
            "group": "agentm.backends",
            "value": "m:Store",
            "distribution": "agentm-mem",
            "version": "1.2",
            "location": str(info),
            "api": ["1"],
            "state": "available",
            "selected": False,
            "why": None,
        }
    }


def test_list_works_and_imports_nothing_whatever_is_installed(rogues: Site) -> None:
    found = listed(rogues)

    assert {name: plugin["state"] for name, plugin in found.items()} == {
        "abstract": "available",
        "exits": "available",
        "fine": "available",
        "future": "incompatible",
        "good": "available",
        "hangs": "available",
        "newer": "available",
        "prints": "available",
        "raises": "available",
        "twice": "conflict",
        "typo": "available",
        "untyped": "available",
    }
    assert files_below(rogues.home) == []


def test_list_shows_every_conflict_with_both_owners_and_a_way_out(rogues: Site) -> None:
    (conflict,) = answer(rogues, "plugins", "list")["conflicts"]
    shown = agentm(rogues, "plugins", "list")

    assert (conflict["group"], conflict["name"]) == ("agentm.backends", "twice")
    assert conflict["claimed_by"] == [
        {"distribution": "one", "version": "1.0"},
        {"distribution": "two", "version": "0.2"},
    ]
    assert f"conflict: {conflict['message']}\nhint: {conflict['hint']}\n" in shown.stderr


def test_the_hint_about_a_conflict_settles_it(rogues: Site) -> None:
    hint = answer(rogues, "plugins", "list")["conflicts"][0]["hint"]
    command = hint.split("`")[1].split()
    assert command[0] == "agentm"

    before = agentm(rogues, "doctor").stdout
    assert agentm(rogues, *command[1:]).returncode == 0
    after = agentm(rogues, "doctor").stdout

    assert answer(rogues, "plugins", "list")["conflicts"] == []
    assert ("is claimed by" in before, "is claimed by" in after) == (True, False)


def test_a_plugin_that_the_policy_keeps_out_is_listed_as_such(site: Site) -> None:
    site.install_plugin("mem", STORE)
    configure(site, plugin_policy={"allowed": ["device-local"]})

    plugin = listed(site)["mem"]

    assert (plugin["state"], plugin["why"]) == ("disabled", "plugin_policy.allowed does not name it")


def test_a_plugin_of_a_misspelt_group_is_listed_as_such(site: Site) -> None:
    site.install_plugin("mem", STORE, group="agentm.backend")

    plugin = listed(site)["mem"]

    assert (plugin["state"], plugin["why"]) == ("unknown", "no part of this kernel uses the group agentm.backend")


def test_a_command_cannot_take_a_name_of_the_kernels(site: Site) -> None:
    site.install_plugin("doctor", "raise SystemExit('imported')", group="agentm.commands", attribute="command")

    plugin = listed(site)["doctor"]

    assert (plugin["state"], plugin["why"]) == ("conflict", "the kernel has a command of that name")
    assert agentm(site, "doctor").returncode == 0


def test_a_command_that_the_policy_keeps_out_is_not_run(site: Site) -> None:
    source = "import click\n@click.command()\ndef command(): click.echo('hello')\n"
    site.install_plugin("greet", source, group="agentm.commands", attribute="command")
    assert agentm(site, "greet").stdout == "hello\n"
    configure(site, plugin_policy={"disabled": ["agentm-greet"]})

    result = agentm(site, "greet")

    assert (result.returncode, result.stdout) == (1, "")
    assert "the command 'greet' of agentm-greet 1.0 is not loaded: plugin_policy.disabled names it" in result.stderr


def test_a_broken_configuration_does_not_keep_the_list_from_being_shown(site: Site) -> None:
    site.install_plugin("mem", STORE)
    configure(site)
    (site.home / ".config" / "agentm" / ".agentm-config.json").write_text("{")

    result = agentm(site, "plugins", "list")

    assert result.returncode == 0
    assert " mem " in result.stdout
    assert "note: what is selected is unknown: the configuration " in result.stderr


def test_metadata_that_cannot_be_read_is_mentioned(site: Site) -> None:
    (site.install("agentm-locked") / "entry_points.txt").mkdir()

    assert any("metadata cannot be read: " in note for note in answer(site, "plugins", "list")["notes"])


def test_names_from_metadata_cannot_steer_the_terminal(site: Site) -> None:
    site.install("agentm-mem", entry_points="[agentm.backends]\n\x1b[2Jmem = m:Store\n")

    result = agentm(site, "plugins", "list")

    assert "\x1b" not in result.stdout + result.stderr
    assert "\\x1b[2Jmem" in result.stdout


def test_commands_that_need_no_plugin_work_whatever_is_installed(rogues: Site) -> None:
    for command in (["--version"], ["--help"], ["plugins", "--help"], ["config", "list"], ["completion", "bash"]):
        result = agentm(rogues, *command)

        assert (result.returncode, result.stderr) == (0, ""), command


# ------------------------------------------------------------------------------------------------ list --verify


def test_verify_names_each_culprit_and_its_reason(rogues: Site) -> None:
    found = {name: plugin["verified"] for name, plugin in listed(rogues, "--verify", code=1).items()}

    assert {name: verified["state"] for name, verified in found.items()} == {
        "abstract": "broken",
        "exits": "broken",
        "fine": "ok",
        "future": "broken",
        "good": "ok",
        "hangs": "timeout",
        "newer": "broken",
        "prints": "ok",
        "raises": "broken",
        "twice": "ok",
        "typo": "broken",
        "untyped": "broken",
    }
    assert found["good"] == {
        "state": "ok",
        "reason": None,
        "capabilities": ["concurrent_writers", "host_files", "delete"],
    }
    for name, reason in {
        "abstract": "is abstract: plugin_abstract:Store lacks capabilities",
        "exits": "it called sys.exit(3)",
        "future": "was built for version 99 of the kernel's API; this kernel speaks 1",
        "hangs": "was stopped: it was not loaded after 5 s",
        "newer": "was built for version 99 of the kernel's API; this kernel speaks 1",
        "prints": "writes to the terminal while it is loaded",
        "raises": "RuntimeError: no luck",
        "typo": "unknown hook 'agentm_alart'",
        "untyped": "its capabilities are of type dict",
    }.items():
        assert reason in found[name]["reason"]
        assert f"'{name}' of agentm-{name} 1.0" in found[name]["reason"]


def test_verify_shows_reasons_beside_the_table(site: Site) -> None:
    site.install_plugin("raises", "raise RuntimeError('no luck')")

    result = agentm(site, "plugins", "list", "--verify")

    assert result.returncode == 1
    assert (
        "broken: the backend 'raises' of agentm-raises 1.0 cannot be loaded: RuntimeError: no luck\n" in result.stderr
    )
    assert "ok: concurrent_writers, host_files, delete" in result.stdout


def test_verify_does_not_load_what_the_policy_keeps_out(site: Site) -> None:
    trace = site.home / "trace"
    site.install_plugin("mem", f"open({str(trace)!r}, 'w')")
    configure(site, plugin_policy={"disabled": ["mem"]})

    assert "verified" not in listed(site, "--verify")["mem"]
    assert not trace.exists()


# ------------------------------------------------------------------------------------------------ show


def test_show_tells_what_the_distribution_says_about_itself(site: Site) -> None:
    info = site.install(
        "agentm-mem",
        entry_points="[agentm.backends]\nmem = m:Store\n",
        metadata="Metadata-Version: 2.1\nName: agentm-mem\nSummary: Notes\nRequires-Dist: agentm-kernel>=0.1\n",
    )
    (info / "direct_url.json").write_text('{"url": "file:///src/mem", "dir_info": {"editable": true}}')

    (plugin,) = answer(site, "plugins", "show", "Agentm_Mem")["plugins"]

    assert (plugin["name"], plugin["summary"]) == ("mem", "Notes")
    assert (plugin["requires"], plugin["editable_from"]) == (["agentm-kernel>=0.1"], "file:///src/mem")
    assert "summary        Notes\n" in agentm(site, "plugins", "show", "mem").stdout


def test_show_shows_every_claimant_of_a_name(rogues: Site) -> None:
    shown = agentm(rogues, "plugins", "show", "twice").stdout

    assert "distribution  one\n" in shown
    assert "distribution  two\n" in shown


def test_show_of_something_that_is_not_installed_says_what_is(site: Site) -> None:
    result = agentm(site, "plugins", "show", "nothing")

    assert result.returncode == 1
    assert result.stderr.startswith("error: no installed plugin is called 'nothing'; installed: ")
    assert "device-local" in result.stderr


# ------------------------------------------------------------------------------------------------ check


def test_check_runs_the_conformance_kit_on_a_scratch_store(site: Site) -> None:
    site.install_plugin("mem", STORE)

    result = agentm(site, "plugins", "check", "mem", "--only", "declaring", "--only", "reading")

    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.splitlines()[-1].startswith("mem: ")
    assert " 0 failed" in result.stdout
    assert files_below(site.home) == []


def test_check_fails_with_what_the_contract_wants_and_what_was_seen(site: Site) -> None:
    site.install_plugin("mem", STORE + "    def exists(self, locator): return True\n")

    failed = answer(site, "plugins", "check", "mem", "--only", "exists_of_nothing", code=1)
    shown = agentm(site, "plugins", "check", "mem", "--only", "exists_of_nothing")

    (result,) = failed["results"]
    assert (failed["ok"], result["outcome"]) == (False, "failed")
    assert "`exists` is false for nothing" in result["detail"]
    assert f"FAIL  reading/exists_of_nothing: {result['detail']}" in shown.stdout


def test_check_never_opens_the_real_store(site: Site) -> None:
    """The variable that names it beats every option, so the variable must not get through."""
    real = site.home / "real"
    real.mkdir()
    (real / "note.md").write_text("precious")

    result = agentm(
        site,
        *("plugins", "check", "device-local", "--only", "writing", "--only", "deleting"),
        AGENTM_DEVICE_LOCAL_ROOT=str(real),
    )

    assert result.returncode == 0, result.stderr
    assert files_below(site.home) == ["real", "real/note.md"]


def test_check_refuses_a_store_that_holds_something(site: Site) -> None:
    site.install_plugin("mem", STORE)
    (site.home / "note.md").write_text("precious")

    result = agentm(site, "plugins", "check", "mem", "--option", f"root={site.home}")

    assert result.returncode == 1
    assert "opened a store that is not empty: it holds 'note.md'" in result.stderr
    assert files_below(site.home) == ["note.md"]


def test_check_says_which_options_are_missing(site: Site) -> None:
    source = "    def __init__(self, folder): super().__init__(folder, create_root=True)\n"
    site.install_plugin("mem", STORE.replace("scratch_options", "unused") + source)

    result = agentm(site, "plugins", "check", "mem")
    fixed = agentm(site, "plugins", "check", "mem", "--only", "declaring", "--option", "folder={scratch}/notes")

    assert result.returncode == 1
    assert "cannot open a store in an empty folder: TypeError: " in result.stderr
    assert "--option NAME=VALUE" in result.stderr
    assert fixed.returncode == 0, fixed.stderr


def test_check_passes_on_only_the_variables_it_is_told_to(site: Site) -> None:
    create = "    @classmethod\n    def create(cls, options, context): raise ValueError(sorted(context.environ))\n"
    site.install_plugin("mem", STORE + create)

    told = agentm(site, "plugins", "check", "mem", "--env", "TOKEN", TOKEN="t", OTHER="o")
    missing = agentm(site, "plugins", "check", "mem", "--env", "TOKEN")

    assert "ValueError: ['TOKEN']" in told.stderr
    assert (missing.returncode, missing.stderr.splitlines()[0]) == (2, "error: not set in this environment: TOKEN")


@pytest.mark.parametrize(("name", "reason"), [("exits", "sys.exit(3)"), ("twice", "is claimed by one 1.0")])
def test_check_refuses_a_broken_plugin_with_its_reason(rogues: Site, name: str, reason: str) -> None:
    result = agentm(rogues, "plugins", "check", name)

    assert (result.returncode, result.stdout) == (1, "")
    assert reason in result.stderr.splitlines()[0]
    assert result.stderr.splitlines()[1].startswith("hint: ")


@pytest.mark.parametrize(
    "arguments", [["--only", "nonsense"], ["--option", "root"], ["--option", "=x"]], ids=" ".join
)
def test_check_refuses_arguments_it_cannot_understand(site: Site, arguments: list[str]) -> None:
    site.install_plugin("mem", STORE)

    assert agentm(site, "plugins", "check", "mem", *arguments).returncode == 2


# ------------------------------------------------------------------------------------------------ new


@pytest.fixture
def scaffolded(site: Site) -> Site:
    """`plugins new my-store`, installed the way that an editable install does it."""
    result = agentm(site, "plugins", "new", "my-store", "--dir", str(site.home / "work"))
    assert (result.returncode, result.stderr) == (0, "")
    project = tomllib.loads((site.home / "work" / "agentm-my-store" / "pyproject.toml").read_text())["project"]
    entry_points = "".join(
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in entries.items())
        for group, entries in project["entry-points"].items()
    )
    site.install(project["name"], project["version"], entry_points=entry_points)
    sources = site.home / "work" / "agentm-my-store" / "src" / "agentm_my_store"
    (site.path / "agentm_my_store").symlink_to(sources)
    return site


def test_a_new_plugin_passes_the_conformance_kit(scaffolded: Site) -> None:
    result = answer(scaffolded, "plugins", "check", "my-store")

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


def test_a_new_plugin_is_selected_by_its_name_and_keeps_notes(scaffolded: Site) -> None:
    assert agentm(scaffolded, "config", "set", "storage.backend", "my-store").returncode == 0
    code = (
        "from agentm_kernel import Locator, select_backend\n"
        "select_backend().write(Locator('a/b.md'), 'kept\\n')\n"
        "print(select_backend(read_only=True).read(Locator('a/b.md')), end='')"
    )

    written = scaffolded.run("-c", code)

    assert (written.stdout, written.stderr) == ("kept\n", "")
    assert listed(scaffolded)["my-store"]["selected"]
    assert (scaffolded.home / ".agentm" / "my-store.db").is_file()


def test_a_new_plugin_declares_the_kernel_and_the_api_it_was_made_for(scaffolded: Site) -> None:
    from agentm_kernel import API_VERSION, __version__

    project = tomllib.loads((scaffolded.home / "work" / "agentm-my-store" / "pyproject.toml").read_text())["project"]

    (requirement,) = project["dependencies"]
    assert requirement.startswith(f"agentm-kernel>={__version__.rpartition('.')[0]},<")
    assert listed(scaffolded)["my-store"]["api"] == [str(API_VERSION)]


def test_a_new_plugin_is_clean_by_the_standards_of_this_project(scaffolded: Site) -> None:
    project = scaffolded.home / "work" / "agentm-my-store"
    settings = Path(__file__).parents[3] / "pyproject.toml"
    ruff = Path(sys.executable).with_name("ruff")

    result = subprocess.run(
        [ruff, "check", "--no-cache", "--config", settings, "--ignore", "I001,INP001", project],
        check=False,
        capture_output=True,
        text=True,
    )

    assert result.returncode == 0, result.stdout


def test_new_says_what_to_do_next(site: Site) -> None:
    result = agentm(site, "plugins", "new", "my-store")

    assert result.stdout.splitlines() == [
        f"wrote .{os.sep}agentm-my-store; next:",
        f'  pip install -e ".{os.sep}agentm-my-store[test]"',
        f"  pytest .{os.sep}agentm-my-store",
        "  agentm config set storage.backend my-store",
    ]


def test_new_never_overwrites(site: Site) -> None:
    (site.home / "agentm-my-store").mkdir()
    (site.home / "agentm-my-store" / "work.py").write_text("mine")

    result = agentm(site, "plugins", "new", "my-store")

    assert result.returncode == 1
    assert "exists already; nothing was written" in result.stderr
    assert files_below(site.home) == ["agentm-my-store", "agentm-my-store/work.py"]


def test_new_refuses_a_name_that_an_installed_store_has(site: Site) -> None:
    result = agentm(site, "plugins", "new", "device-local")

    assert result.returncode == 1
    assert "the store 'device-local' exists already: it is the backend 'device-local' of" in result.stderr
    assert files_below(site.home) == []


@pytest.mark.parametrize("name", ["My-Store", "my_store", "-x", "x-", "2x", "../x", "a b", "ü", ""])
def test_new_refuses_a_name_that_cannot_be_a_package(site: Site, name: str) -> None:
    result = agentm(site, "plugins", "new", "--", name)

    assert result.returncode == 2
    assert result.stderr.startswith("error: ")
    assert files_below(site.home) == []
