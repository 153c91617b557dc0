"""What a person wants to do, and which command does it: the groups of `agentm --help`, and words that people guess.

Commands of plugins that are released with the kernel have their line here, so that help imports none of them; a test
holds every line to a command that exists. Others are listed by what their distribution says of itself.
"""

from __future__ import annotations

GROUPS = {
    "Begin": {
        "setup": "Connect the agents of this machine, make the store, offer to import what is there.",
        "doctor": "Check this installation: configuration, stores, plugins, agents.",
        "prove": "Show on this machine that nothing is lost.",
        "view": "Open the page: notes, plans, what agents were told, conflicts, versions.",
    },
    "Notes": {
        "save": "Save one fact as a note of this project, or for every project.",
        "search": "Find notes by their words.",
        "notes": "List, show, edit and undo notes.",
        "forget": "Take a note out of memory; its file stays.",
        "inbox": "Accept or reject what agents propose.",
        "recall-here": "Print what memory holds for this project and phase.",
        "log": "Show what agents were told, and whether it arrived.",
        "import": "Bring in the memories of other tools.",
        "export": "Write all notes in the format of another tool.",
        "documenter-context": "Print what somebody needs who documents the project.",
        "reindex": "Build the search index anew.",
    },
    "Plans": {
        "plan": "List plans and choose the active one.",
        "state": "Read and write a project's plan and progress.",
        "state-path": "Print where the active plan or its progress file lives.",
        "project": "Show, name, merge and move projects.",
    },
    "Stores": {
        "store": "Show, add and remove the stores of this device.",
        "vault": "Keep the memory in an Obsidian vault, or any folder that a sync tool replicates.",
        "git": "Keep it in a git repository: a team's memory, with history.",
        "bucket": "Keep it in an object store: one memory on many machines.",
        "policy": "Keep it where a reviewed STORAGE.md says.",
        "encryption": "Encrypt a store.",
        "personal": "Write to your own space of a vault, after asking you.",
        "checkpoint": "Take snapshots, compare, restore; guard notes against tampering.",
        "migrate": "Move the whole store to another backend.",
    },
    "Agents": {
        "connect": "Connect an agent: its hooks and its tools.",
        "disconnect": "Take our entries out of an agent's settings.",
        "hosts": "List agents and whether memory reaches them; check one.",
        "hook": "Answer the hooks of agents.",
        "event": "Tell plugins that something happened in the agent's life.",
        "mcp": "Serve memory as tools, on standard input and output.",
        "offer-save-here": "Print, as JSON, what could be saved and where.",
    },
    "Settings": {
        "config": "Read and change the configuration.",
        "plugins": "Show which plugins are installed, and whether they work.",
        "completion": "Print the completion script of a shell.",
    },
}

GUESSES = {
    "add": "save",
    "remember": "save",
    "list": "notes list",
    "ls": "notes list",
    "show": "notes show",
    "edit": "notes edit",
    "undo": "notes undo",
    "history": "notes history",
    "delete": "forget",
    "remove": "forget",
    "rm": "forget",
    "find": "search",
    "recall": "recall-here",
    "status": "doctor",
    "init": "setup",
    "install": "setup",
    "sync": "event turn-end",
    "backup": "checkpoint create",
    "restore": "checkpoint restore",
    "open": "view",
    "ui": "view",
    "stores": "store list",
    "rename": "project rename",
    "uninstall": "disconnect",
    "version": "--version",
}
"""Words that are no commands, and what people mean by them."""

GUESSES_WITH = {("git", "sync"): "git sync"}
"""What they mean by a word where the store of this device is of that protocol."""


def group_of(name: str) -> tuple[str, str] | None:
    """The group of a command and its line; `None` for one that nobody has described here."""
    return next(((group, lines[name]) for group, lines in GROUPS.items() if name in lines), None)
