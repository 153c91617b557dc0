"""What `plugins.policy` may hold."""

from __future__ import annotations

from agentm_kernel.plugin import Option

OPTIONS = (
    Option("path", "path", "the STORAGE.md, where storage.backend is policy; storage.policy says it in one"),
    Option("registry", "table", 'names of policies and their files: {"@acme/notes": "/path/to/STORAGE.md"}', "none"),
    Option("shared", "list", "folders of other workspaces whose documents may be referred to", "none"),
    Option("endpoints", "list", "where buckets may be: name, name:port, *.name", "the vendors' own"),
    Option("user", "text", "who you are", "the login name"),
    Option("name", "text", "your name in commits", "the login name"),
    Option("email", "text", "your address in commits", "none"),
    Option("operator", "text", "the agent persona that acts for you", "none"),
    Option("roles", "list", "roles that grants may name", "none"),
    Option("groups", "list", "groups that access lists may name", "none"),
    Option("identities", "table", "names and addresses of others, for commits", "none"),
)
