"""What `plugins.vault` may hold."""

from __future__ import annotations

from agentm_kernel.plugin import Option

OPTIONS = (
    Option("vault_path", "path", "the agent's folder; begins with / or ~; $MEMORY_VAULT_PATH beats it"),
    Option("personal_root", "path", "the operator's own notes, outside that folder", "no personal space"),
    Option("personal_confirm", "any", "a program that must agree to each write there too", "the terminal is enough"),
    Option("devices", "list", "computers whose names stand in conflict copies", "none"),
    Option("size_limit", "number", "how large a note may be, in bytes", "16 MB"),
    Option("memory_root", "text", "of older installs: the store's folder below vault_path", "vault_path itself"),
    Option("spaces", "table", "of older installs: names for parts of the store; read by nobody"),
)
