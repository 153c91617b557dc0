"""The names of the kernel's commands, known without importing one of them, or click."""

from __future__ import annotations

from agentm_kernel.cli.command_table import COMMANDS

# name -> (module with a click object called `command`, one line for the list of commands)
GROUPS = {
    "completion": ("completion", "Print the completion script of a shell."),
    "config": ("config", "Read and change the configuration."),
    "migrate": ("migrate", "Move the whole store to another backend."),
    "plan": ("plan", "List plans and choose the active one."),
    "plugins": ("plugins", "List, check and create plugins."),
    "project": ("project", "Show and register projects."),
    "state": ("state", "Read and write a project's plan and progress."),
    "store": ("store", "Show the selected store, or make this device forget it."),
}


KERNEL_COMMANDS = frozenset({*GROUPS, *(command.path[0] for command in COMMANDS)})
"""The names that no plugin can take."""

LIMITED = frozenset(
    {("store", "show"), ("project", "list"), ("project", "show"), ("state", "list"), ("state", "path")}
)
"""Commands that only look something up: they end with an error rather than wait for a store that hangs."""
