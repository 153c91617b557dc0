"""What `plugins.git` may hold."""

from __future__ import annotations

from agentm_kernel.plugin import Option

OPTIONS = (
    Option("root", "path", "the clone; begins with / or ~"),
    Option("remote", "text", "the origin, without a password", "none"),
    Option("branch", "text", "the branch that notes are kept on", "main"),
    Option(
        "conflict",
        "text",
        "when both sides changed a note: rebase, merge, abort, manual, last-writer-wins, split-conflicts",
        "rebase",
    ),
    Option("commit", "text", "commit at events (event), or that one note after every write (write)", "event"),
    Option("name", "text", "who commits", "what git knows"),
    Option("email", "text", "who commits", "what git knows"),
    Option("token_env", "text", "the variable that holds the token for an https origin", "none"),
    Option("credential_command", "list", "a command that prints the token instead", "none"),
    Option("username", "text", "what goes with the token", "x-access-token"),
    Option("branch_policy", "text", "where pushes go: main, per-turn, per-conversation", "main"),
    Option("pr_policy", "text", "pull requests for other branches: none, manual, auto", "none"),
    Option("pr_command", "list", "a command that opens a pull request and prints its address", "none"),
    Option("deadline", "number", "seconds for a whole pull or push", "60"),
    Option("pull_ttl", "number", "events ask the origin no more often than that, in seconds", "60"),
    Option("size_limit", "number", "how large a note may be, in bytes", "16 MB"),
)
