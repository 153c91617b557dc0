"""The names of the kernel's commands, known without importing one of them, or click."""

from __future__ import annotations

from agentm_kernel.cli.command_table import COMMANDS

GROUPS = ("completion", "config", "plan", "plugins", "project", "state", "store")
"""Each is a module of this package with a click object called `command`."""

# What these groups hold besides declared commands; a test holds it equal to the groups themselves.
_SUBCOMMANDS = {
    "config": ("list", "path", "set", "unset"),
    "plan": ("clear", "list", "use"),
    "plugins": ("list", "show"),
    "project": ("check", "list", "register", "show", "unregister", "use-store"),
    "state": ("append", "list", "path", "write"),
    "store": ("add", "forget", "list", "remove", "show"),
}


KERNEL_COMMANDS = frozenset({*GROUPS, *(command.path[0] for command in COMMANDS)})
"""The names that no plugin can take."""


def kernel_subcommands(group: str) -> frozenset[str]:
    """The same below `group`; nothing if that is no group of the kernel."""
    declared = (command.path[1] for command in COMMANDS if command.path[0] == group and len(command.path) > 1)
    return frozenset({*_SUBCOMMANDS.get(group, ()), *declared})


def misplaced(name: str) -> tuple[str, str] | None:
    """Why no command of a plugin can have this name, as state and reason; `None` if it can."""
    group, _, last = name.rpartition(" ")
    own = kernel_subcommands(group) if group else KERNEL_COMMANDS
    if not own:
        return "unknown", f"the kernel has no group of commands '{group}'"
    return ("conflict", "the kernel has a command of that name") if last in own else None


LIMITED = frozenset(
    {
        ("store", "list"),
        ("store", "show"),
        ("project", "list"),
        ("project", "show"),
        ("state", "list"),
        ("state", "path"),
    }
)
"""Commands that only look something up: they end with an error rather than wait for a store that hangs."""
