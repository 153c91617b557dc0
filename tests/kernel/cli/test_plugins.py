"""`agentm plugins`, run as people run it, over distributions that are really there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.kernel.conftest import Site

STORE = """
from agentm_kernel.plugin import FileStore
class Store(FileStore):
    scratch_options = {"root": "{scratch}"}
"""

HOOK = "from agentm_kernel.plugin import hookimpl\n@hookimpl\ndef agentm_alert(alert): pass\n"


def listed(site: Site, *arguments: str, code: int = 0) -> dict[str, dict[str, Any]]:
    """The plugins of the site by name; what the environment of this test run has besides is left out."""
    plugins = site.answer("plugins", "list", *arguments, code=code)["plugins"]
    return {plugin["name"]: plugin for plugin in plugins if plugin["location"].startswith(str(site.path))}


@pytest.fixture
def rogues(site: Site) -> Site:
    """Every way in which a plugin has been seen to go wrong, and one good store among them."""
    site.install_plugin("good", STORE)
    site.install_plugin("raises", "raise RuntimeError('no luck')")
    site.install_plugin("exits", "import sys; sys.exit(3)")
    site.install_plugin("hangs", "import time; time.sleep(600)")
    site.install_plugin("prints", STORE + "print('{\"schema\": 9}')")
    site.install_plugin(
        "abstract", "from agentm_kernel.plugin import StorageBackend\nclass Store(StorageBackend): pass"
    )
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


def test_list_has_one_line_for_each_plugin(site: Site) -> None:
    groups = "[agentm.backends]\nmem = m:Store\n[agentm.commands]\nmem = m:c\n[agentm.tools]\na = m:a\nb = m:b\n"
    site.install("agentm-mem", "1.2", entry_points=groups)

    lines = site.agentm("plugins", "list").stdout.splitlines()

    assert [line.split() for line in lines if line.startswith("agentm-mem")] == [
        ["agentm-mem", "1.2", "available", "backend", "mem,", "command", "mem,", "2", "tools"]
    ]
    assert any("selected   device-local chosen by the default" in line for line in lines)


@pytest.mark.parametrize(("count", "shown"), [(1, "command c0"), (2, "command c0, c1"), (3, "3 commands")])
def test_list_names_a_few_commands_and_counts_more(site: Site, count: int, shown: str) -> None:
    commands = "".join(f"c{number} = m:c\n" for number in range(count))
    site.install("agentm-mem", "1.2", entry_points=f"[agentm.commands]\n{commands}")

    (line,) = (line for line in site.agentm("plugins", "list").stdout.splitlines() if line.startswith("agentm-mem"))

    assert line.endswith(shown)


def test_list_has_a_line_more_for_what_is_in_conflict(rogues: Site) -> None:
    shown = rogues.agentm("plugins", "list").stdout
    assert "another distribution claims the name, too" in shown


def test_list_shows_the_default_store_as_selected_and_why(site: Site) -> None:
    result = site.agentm("plugins", "list", "--entries")

    assert (result.returncode, result.stderr) == (0, "")
    row = next(line for line in result.stdout.splitlines() if " device-local " in line)
    assert "backend" in row
    assert "agentm-device-local" in row
    assert "selected" in row
    assert "chosen by the default" in row


def test_list_shows_what_the_configuration_selects_and_where_it_says_so(site: Site) -> None:
    site.install_plugin("mem", STORE)
    site.install_plugin("guard", "def wrap(): ...", group="agentm.wrappers", attribute="wrap")
    config = site.configure(**{"storage.backend": "mem", "wrappers": ["guard"]})

    found = listed(site)

    assert {name: (plugin["selected"], plugin["why"]) for name, plugin in found.items()} == {
        "mem": (True, f"chosen by storage.backend in {config}"),
        "guard": (True, f"chosen by wrappers in {config}"),
    }


def test_list_says_that_the_selected_store_is_not_installed(site: Site) -> None:
    site.configure(**{"storage.backend": "elsewhere"})

    result = site.agentm("plugins", "list")

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


def test_list_says_which_hook_a_plugin_hears(site: Site) -> None:
    groups = "[agentm.plugins.alert]\near = m:one\n[agentm.plugins.event]\near = m:two\n[agentm.plugins]\near = m\n"
    site.install("agentm-ear", entry_points=groups)

    lines = [
        line.split("  ")
        for line in site.agentm("plugins", "list", "--entries").stdout.splitlines()
        if " agentm-ear " in line
    ]

    assert sorted(words[0] for words in lines) == ["hook alert", "hook event", "hook plugin"]


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
    assert rogues.home_files() == []


def test_list_shows_every_conflict_with_both_owners_and_a_way_out(rogues: Site) -> None:
    (conflict,) = rogues.answer("plugins", "list")["conflicts"]
    shown = rogues.agentm("plugins", "list")

    assert (conflict["group"], conflict["name"]) == ("agentm.backends", "twice")
    assert conflict["claimed_by"] == [
        {"distribution": "one", "version": "1.0"},
        {"distribution": "two", "version": "0.2"},
    ]
    assert f"conflict: {conflict['message']}\nhint: {conflict['hint']}\n" in shown.stderr


def test_the_hint_about_a_conflict_settles_it(rogues: Site) -> None:
    hint = rogues.answer("plugins", "list")["conflicts"][0]["hint"]
    command = hint.split("`")[1].split()
    assert command[0] == "agentm"

    before = rogues.agentm("doctor").stdout
    assert rogues.agentm(*command[1:]).returncode == 0
    after = rogues.agentm("doctor").stdout

    assert rogues.answer("plugins", "list")["conflicts"] == []
    assert ("is claimed by" in before, "is claimed by" in after) == (True, False)


def test_a_plugin_that_the_policy_keeps_out_is_listed_as_such(site: Site) -> None:
    site.install_plugin("mem", STORE)
    site.configure(plugin_policy={"allowed": ["device-local"]})

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
    assert site.agentm("doctor").returncode == 0


def test_a_command_that_the_policy_keeps_out_is_not_run(site: Site) -> None:
    source = "import click\n@click.command()\ndef command(): click.echo('hello')\n"
    site.install_plugin("greet", source, group="agentm.commands", attribute="command")
    assert site.agentm("greet").stdout == "hello\n"
    site.configure(plugin_policy={"disabled": ["agentm-greet"]})

    result = site.agentm("greet")

    assert (result.returncode, result.stdout) == (1, "")
    assert "the command 'greet' of agentm-greet 1.0 is not loaded: plugin_policy.disabled names it" in result.stderr


def test_a_broken_configuration_does_not_keep_the_list_from_being_shown(site: Site) -> None:
    site.install_plugin("mem", STORE)
    site.configure().write_text("{")

    result = site.agentm("plugins", "list", "--entries")

    assert result.returncode == 0
    assert " mem " in result.stdout
    assert "note: what is selected is unknown: the configuration " in result.stderr


def test_metadata_that_cannot_be_read_is_mentioned(site: Site) -> None:
    (site.install("agentm-locked") / "entry_points.txt").mkdir()

    assert any("metadata cannot be read: " in note for note in site.answer("plugins", "list")["notes"])


def test_names_from_metadata_cannot_steer_the_terminal(site: Site) -> None:
    site.install("agentm-mem", entry_points="[agentm.backends]\n\x1b[2Jmem = m:Store\n")

    result = site.agentm("plugins", "list")

    assert "\x1b" not in result.stdout + result.stderr
    assert "\\x1b[2Jmem" in result.stdout


def test_commands_that_need_no_plugin_work_whatever_is_installed(rogues: Site) -> None:
    for command in (["--version"], ["--help"], ["plugins", "--help"], ["config", "list"], ["completion", "bash"]):
        result = rogues.agentm(*command)

        assert (result.returncode, result.stderr) == (0, ""), command


# ------------------------------------------------------------------------------------------------ list --verify


def test_verify_is_of_the_devkit(site: Site) -> None:
    result = site.agentm("plugins", "list", "--verify")

    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == (
        "error: no installed plugin provides the verifier 'plugins'; installed: none\n"
        "hint: run `pip install agentm-devkit`\n"
    )


# ------------------------------------------------------------------------------------------------ show


def test_show_tells_what_the_distribution_says_about_itself(site: Site) -> None:
    info = site.install(
        "agentm-mem",
        entry_points="[agentm.backends]\nmem = m:Store\n",
        metadata="Metadata-Version: 2.1\nName: agentm-mem\nSummary: Notes\nRequires-Dist: agentm-kernel>=0.1\n",
    )
    (info / "direct_url.json").write_text('{"url": "file:///src/mem", "dir_info": {"editable": true}}')

    (plugin,) = site.answer("plugins", "show", "Agentm_Mem")["plugins"]

    assert (plugin["name"], plugin["summary"]) == ("mem", "Notes")
    assert (plugin["requires"], plugin["editable_from"]) == (["agentm-kernel>=0.1"], "file:///src/mem")
    assert "summary        Notes\n" in site.agentm("plugins", "show", "mem").stdout


def test_show_tells_what_the_options_of_a_plugin_are(site: Site) -> None:
    declared = "Option('root', 'path', 'Where notes are.', 'at home'), Option('loud', 'flag', 'Say more.')"
    source = f"from agentm_kernel.plugin import Option\nOPTIONS = ({declared},)\n"
    site.install_plugin("mem", source, group="agentm.options", attribute="OPTIONS")
    (plugin,) = site.answer("plugins", "show", "mem")["plugins"]
    assert plugin["options"] == [
        "plugins.mem.root (path): Where notes are. (default: at home)",
        "plugins.mem.loud (flag): Say more.",
    ]


def test_show_says_what_a_plugin_is_once_and_then_all_that_it_brings(site: Site) -> None:
    shown = site.agentm("plugins", "show", "agentm-device-local").stdout.splitlines()
    labels = [line.split("  ")[0] for line in shown if line and not line.startswith(" ")]
    assert labels[:2] == ["distribution", "version"]
    assert len(labels) == len(set(labels))
    brought = [line.strip() for line in shown[labels.index("brings") :]]
    assert any("backend device-local: agentm_device_local" in line for line in brought)
    assert len(brought) > 1
    assert "" not in shown


def test_show_shows_every_claimant_of_a_name(rogues: Site) -> None:
    shown = rogues.agentm("plugins", "show", "twice").stdout

    assert "distribution  one\n" in shown
    assert "distribution  two\n" in shown


def test_show_of_something_that_is_not_installed_names_what_was_meant(site: Site) -> None:
    result = site.agentm("plugins", "show", "device-locale")

    assert result.returncode == 1
    assert result.stderr.startswith("error: no installed plugin is called 'device-locale'\n")
    assert "did you mean device-local?" in result.stderr
