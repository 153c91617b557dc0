"""What metadata says about one plugin, before anything of it is imported."""

from __future__ import annotations

from agentm_kernel.seam.values import Frozen

BACKENDS = "agentm.backends"
WRAPPERS = "agentm.wrappers"
PROVIDERS = "agentm.providers"
RECALL = "agentm.recall"
COMMANDS = "agentm.commands"
PLUGINS = "agentm.plugins"
HOOKS = ("doctor_checks", "session_start", "event", "alert")
"""The hooks of `hookspecs`, which pluggy would have to be imported to ask; a test holds the two equal."""

KINDS = {
    BACKENDS: "backend",
    WRAPPERS: "wrapper",
    PROVIDERS: "provider",
    RECALL: "recall provider",
    COMMANDS: "command",
    PLUGINS: "hook plugin",
    **dict.fromkeys((f"{PLUGINS}.{hook}" for hook in HOOKS), "hook plugin"),
}
"""The groups that the kernel knows, each with the word for one of its entries."""

API_GROUP = "agentm.api"
"""Not plugins: the names in this group are the API versions that the distribution was built for (see `load`)."""


class PluginRecord(Frozen):
    """One entry point of an installed distribution, as its metadata declares it."""

    __slots__ = ("group", "name", "value", "distribution", "version", "location", "api")
    group: str
    name: str
    value: str
    """Where the object is: `module:attribute`."""
    distribution: str
    """The canonical name, as `pip install` and `plugin_policy` know it."""
    version: str
    location: str
    """The folder of the distribution's metadata."""
    api: tuple[str, ...]
    """The kernel API versions that the distribution declares; empty if it declares none."""

    def __init__(
        self,
        group: str,
        name: str,
        value: str,
        distribution: str,
        version: str,
        location: str,
        api: tuple[str, ...] = (),
    ) -> None:
        self._set(
            group=group,
            name=name,
            value=value,
            distribution=distribution,
            version=version,
            location=location,
            api=api,
        )

    def __str__(self) -> str:
        return f"{kind_of(self.group)} '{self.name}' of {self.distribution} {self.version}"


def kind_of(group: str) -> str:
    """The word for an entry of `group`."""
    return KINDS.get(group, f"{group} entry")


def canonical_name(name: str) -> str:
    """A distribution's name in the one spelling that stands for all: `My.Store`, `my_store` → `my-store`."""
    plain = name.lower().replace("_", "-").replace(".", "-")
    while "--" in plain:
        plain = plain.replace("--", "-")
    return plain


def is_hook_plugin(record: PluginRecord) -> bool:
    """Whether it listens to hooks: to all of them, or to one by the group's name."""
    return kind_of(record.group) == KINDS[PLUGINS]


def listens_to(record: PluginRecord, hook: str) -> bool:
    """Whether a hook plugin has to be loaded when `hook` is told.

    Group `agentm.plugins` hears everything; group `agentm.plugins.doctor_checks` only that hook. A plugin that merely
    adds rows to doctor must not slow down the start of every session.
    """
    return record.group in (PLUGINS, f"{PLUGINS}.{hook.removeprefix('agentm_')}")
