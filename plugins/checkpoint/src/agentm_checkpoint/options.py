"""What `plugins.checkpoint` and `plugins.integrity` may hold."""

from __future__ import annotations

from agentm_kernel.plugin import Option

OPTIONS = (
    Option("author", "text", "who is named as the author", "the user's name"),
    Option(
        "heartbeat_minutes", "number", "the least time between two looks on the events heartbeat and turn-end", "10"
    ),
    Option("history_days", "number", "of how many days with a change the history holds what was replaced", "90"),
    Option(
        "history_megabytes", "number", "how large the history of one store may become; the oldest goes first", "64"
    ),
    Option("image_folder", "path", "where images are kept; has to be there already", "the state directory"),
    Option("ipfs_allow_remote", "flag", "whether the daemon may be on another machine", "false"),
    Option("ipfs_api", "text", "the RPC API of the IPFS daemon", "http://127.0.0.1:5001"),
    Option("ipfs_timeout", "number", "seconds for one push or pull", "300"),
)

GUARD_OPTIONS = (
    Option("guard", "list", "what is under guard: * within a name, ** for any folders; [] for nothing", "skills/**"),
    Option("alert_command", "list", "a program and its arguments, run for each alert", "none"),
)
