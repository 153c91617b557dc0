"""The first thing that a newcomer types: `agentm`, `agentm help`, and words that are no commands."""

from __future__ import annotations

import pytest

from agentm_kernel.cli.command_table import KERNEL_COMMANDS
from agentm_kernel.cli.guide import BELOW, DESCRIBED, GROUPS, GUESSES, GUESSES_WITH
from agentm_kernel.device.installed import BACKENDS, COMMANDS
from agentm_kernel.plugins.published import PUBLISHED


def test_every_command_of_ours_stands_in_one_group():
    described = [name for lines in GROUPS.values() for name in lines]
    assert len(described) == len(set(described))
    ours = {*KERNEL_COMMANDS, *(name for name in PUBLISHED[COMMANDS] if " " not in name)}
    assert ours <= set(described)


def test_every_subcommand_of_our_plugins_has_a_line_of_its_own():
    assert set(BELOW) == {name for name in PUBLISHED[COMMANDS] if " " in name}


def test_the_help_of_a_group_says_what_each_of_them_does(machine):
    machine.install("mover", "raise SystemExit('imported')", "[agentm.commands]\nproject rename = m:go\n")
    shown = machine.execute("project", "--help").out
    assert f"  rename      {BELOW['project rename']}\n" in shown
    assert "use-store" not in shown, "what is not installed is not listed"
    assert "Commands of plugins" not in shown


def test_what_people_guess_leads_to_a_command_of_ours():
    for word, command in GUESSES.items():
        assert word not in KERNEL_COMMANDS
        assert command == "--version" or command.split()[0] in DESCRIBED, command
    for (store, word), command in GUESSES_WITH.items():
        assert store in PUBLISHED[BACKENDS]
        assert word in GUESSES
        assert command.split()[0] in DESCRIBED, command


def test_alone_it_shows_what_memory_holds_and_what_to_try(machine):
    done = machine.execute()
    assert done.code == 0
    assert done.out.startswith("Project ")
    assert "agentm doctor" in done.out


NOTES_SERVICE = """
class Service:
    def __init__(self, device):
        pass

    def count(self, store, project):
        return 7, 0
"""


def test_alone_it_counts_the_notes_of_a_project_that_is_known_to_the_store(synced):
    synced.install("notes", NOTES_SERVICE, "[agentm.notes]\nnotes = plugin_notes:Service\n")
    line = "Project widgets: {} notes in {}"
    assert synced.execute().out.splitlines()[0] == line.format(0, synced.store), "perhaps they are somebody else's"
    assert synced.execute("state", "write", "PLAN.md", input="# Plan\n").code == 0
    assert synced.execute().out.splitlines()[0] == line.format(7, synced.store)


def test_alone_it_says_why_there_is_no_store(machine):
    machine.execute("config", "set", "storage.backend", "nothing-like-it")
    done = machine.execute()
    assert done.code == 1
    assert "no installed plugin provides it" in done.err
    assert "agentm doctor" in done.out


@pytest.mark.parametrize(
    ("word", "command"),
    [
        ("list", "notes list"),
        ("delete", "forget"),
        ("status", "doctor"),
        ("version", "--version"),
        ("uninstall", "disconnect"),
        ("sync", "event turn-end"),
    ],
)
def test_a_guess_is_answered_with_the_command(machine, word, command):
    done = machine.execute(word)
    assert done.code == 2
    assert f"`agentm {command}`" in done.err


@pytest.mark.parametrize(
    ("words", "command"),
    [
        ("config show", "config list"),
        ("config rm", "config unset"),
        ("state rm", "state write --allow-empty"),
        ("state cat", "state read"),
        ("project delete", "project unregister"),
        ("store rm", "store remove"),
    ],
)
def test_a_guess_below_a_group_is_answered_with_the_command(machine, words, command):
    done = machine.execute(*words.split())
    assert done.code == 2
    assert f"did you mean `agentm {command}`?" in done.err
    assert f"`agentm {words.split()[0]} --help`" in done.err


def test_an_option_without_its_value_leads_to_the_help_of_its_command(machine):
    assert "run `agentm state write --help`" in machine.execute("state", "write", "--body-file").err
    assert "run `agentm doctor --help`" in machine.execute("doctor", "--requires").err


def test_help_is_help(machine):
    assert machine.execute("help").out == machine.execute("--help").out


def test_where_the_store_is_git_its_own_sync_is_meant(machine):
    machine.configure(**{"storage.backend": "git"})

    assert "`agentm git sync`" in machine.execute("sync").err


@pytest.mark.parametrize("command", ["doctor", "state", "state write", "state read"])
def test_help_of_a_command_is_its_help(machine, command):
    asked = machine.execute("help", *command.split())

    assert (asked.code, asked.err) == (0, "")
    assert asked.out == machine.execute(*command.split(), "--help").out


def test_help_of_a_guess_is_answered_like_the_guess(machine):
    assert "`agentm forget`" in machine.execute("help", "delete").err
