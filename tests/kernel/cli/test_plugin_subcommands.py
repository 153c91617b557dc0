"""Subcommands that plugins add to the kernel's groups: `"plugins check"` in the group `agentm.commands`."""

from __future__ import annotations

import subprocess
import sys

import click
import pytest

from agentm_kernel.cli.app import own_command
from agentm_kernel.cli.command_table import KERNEL_COMMANDS, kernel_subcommands

COMMAND = """
import atexit, click

@click.command()
@click.argument("name")
def go(name):
    "Go there."
    atexit.register(print, "the end")
    print("went to", name)
"""

ENTRIES = "[agentm.commands]\nplugins walk = plugin_walker:go\n"


@pytest.fixture
def walker(machine):
    machine.install("walker", COMMAND, ENTRIES)
    return machine


def test_a_subcommand_of_a_plugin_runs(walker):
    assert walker.execute("plugins", "walk", "Rome") == (0, "went to Rome\nthe end\n", "")


def test_what_click_says_of_a_failure_in_it_is_one_line(machine):
    failing = "import click\n@click.command()\ndef go(): raise click.FileError('a.md', 'no such file')\n"
    machine.install("walker", failing, ENTRIES)
    assert machine.execute("plugins", "walk") == (1, "", "error: Could not open file 'a.md': no such file\n")


def test_the_subcommands_of_the_kernel_stay(walker):
    assert walker.execute("plugins", "list").code == 0
    assert "walk" not in walker.execute("--help").out


def test_its_own_help_is_that_of_a_subcommand(walker):
    shown = walker.execute("plugins", "walk", "--help").out

    assert shown.startswith("Usage: agentm plugins walk [OPTIONS] NAME\n\n  Go there.\n")


@pytest.mark.parametrize("group", ["plugins", "state", "config"])
def test_the_help_of_a_group_lists_it_without_importing_it(machine, group):
    machine.install(
        "walker", "raise SystemExit('imported')", f"[agentm.commands]\n{group} walk = m:go\n{group} run = m:go\n"
    )
    with (machine.site / "walker-1.0.dist-info" / "METADATA").open("a") as metadata:
        metadata.write("Summary: Legs\x1b[2J for agents\n\n")

    done = machine.execute(group, "--help")
    own, _, theirs = done.out.partition("Commands of plugins:\n")

    assert (done.code, done.err) == (0, "")
    assert "\nCommands:\n" in own
    assert " ".join(theirs.split()) == "run, walk Legs\\x1b[2J for agents (walker 1.0)"
    assert "walk" not in machine.execute("--help").out


def test_without_one_a_group_has_no_section_for_them(machine):
    assert "plugins:\n" not in machine.execute("plugins", "--help").out


@pytest.mark.parametrize("name", ["plugins list", "config get", "state read"])
def test_a_subcommand_of_the_kernel_cannot_be_taken(machine, name):
    machine.install("walker", "raise SystemExit('imported')", f"[agentm.commands]\n{name} = m:go\n")

    line = machine.execute("plugins", "list").out

    assert "conflict" in line
    assert "the kernel has a command of that name" in line
    assert machine.execute(*name.split(), "--help").code == 0
    assert "of plugins" not in machine.execute(name.split()[0], "--help").out


@pytest.mark.parametrize("name", ["migrate walk", "nothing walk", "plugins walk far", "vault init"])
def test_a_group_that_the_kernel_does_not_have_is_not_extended(machine, name):
    machine.install("walker", "raise SystemExit('imported')", f"[agentm.commands]\n{name} = m:go\n")

    line = machine.execute("plugins", "list").out

    assert "unknown" in line
    assert f"the kernel has no group of commands '{name.rpartition(' ')[0]}'" in line
    assert "of plugins" not in machine.execute("--help").out


def test_two_that_claim_one_subcommand_are_a_conflict(walker):
    walker.install("runner", "raise SystemExit('imported')", "[agentm.commands]\nplugins walk = m:go\n")

    done = walker.execute("plugins", "walk", "Rome")

    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("error: the command 'plugins walk' is claimed by ")
    assert walker.execute("plugins", "list").out.count("another distribution claims the name, too") == 2


def test_what_the_policy_keeps_out_does_not_run(walker):
    walker.configure(plugin_policy={"disabled": ["walker"]})

    done = walker.execute("plugins", "walk", "Rome")

    assert (done.code, done.out) == (1, "")
    assert "plugin_policy.disabled names it" in done.err


def test_what_is_no_command_is_refused_with_its_name(machine):
    machine.install("walker", "go = 1", ENTRIES)

    done = machine.execute("plugins", "walk")

    assert done.code == 1
    assert done.err.startswith("error: the command 'plugins walk' of walker 1.0 is not a click command")


@pytest.mark.parametrize("name", ["check", "new"])
def test_a_subcommand_that_is_not_installed_says_what_to_install(machine, name):
    done = machine.execute("plugins", name, "my-store")

    assert (done.code, done.out) == (2, "")
    assert done.err.splitlines() == [
        f"error: the command 'plugins {name}' is of a plugin that is not installed",
        "hint: run `pip install agentm-devkit`",
    ]


def test_one_that_nobody_has_leads_to_the_help_of_the_group(machine):
    done = machine.execute("plugins", "chek")

    assert (done.code, done.out) == (2, "")
    assert done.err.splitlines()[1] == "hint: run `agentm plugins --help`"


@pytest.mark.parametrize("name", sorted(KERNEL_COMMANDS))
def test_the_names_below_each_group_are_known_without_click(name):
    command = own_command(name)

    assert kernel_subcommands(name) == ({*command.commands} if isinstance(command, click.Group) else set())


def test_a_look_at_subcommands_of_plugins_does_not_import_click(walker):
    """`doctor` has to be quick on the device of a plugin's author, too."""
    look = (
        "from agentm_kernel.cli.plugin_inventory import take_inventory; from agentm_kernel.plugin import Device; "
        "take_inventory(Device({}))"
    )
    program = f"import sys; {look}; print('click' in sys.modules)"

    done = subprocess.run([sys.executable, "-P", "-S", "-c", program], env=walker.environ, capture_output=True)

    assert done.stdout == b"False\n", done.stderr
