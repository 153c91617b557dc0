"""This device's side of a policy: who acts, which references and endpoints are allowed: `plugins.policy.*`."""

from __future__ import annotations

import os

from agentm_kernel.plugin import ConfigError, Frozen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from agentm_kernel.plugin import Device, Opening

OPTIONS = (
    "path",
    "registry",
    "shared",
    "endpoints",
    "user",
    "name",
    "email",
    "operator",
    "roles",
    "groups",
    "identities",
)


class Actor(Frozen):
    """Whoever uses the store on this device."""

    __slots__ = ("user", "operator", "roles", "groups", "name", "email")
    user: str
    operator: str | None
    """The agent persona that acts for the user, if the configuration names one."""
    roles: tuple[str, ...]
    groups: tuple[str, ...]
    name: str
    email: str | None

    def __init__(
        self,
        user: str,
        operator: str | None = None,
        roles: tuple[str, ...] = (),
        groups: tuple[str, ...] = (),
        name: str | None = None,
        email: str | None = None,
    ) -> None:
        self._set(user=user, operator=operator, roles=roles, groups=groups, name=name or user, email=email)


class Host:
    """The options of the configuration, checked, and the device on which the policy is opened."""

    def __init__(self, options: Mapping[str, Any], device: Device, opening: Opening) -> None:
        self.options = options
        self.device = device
        self.opening = opening
        if options.keys() - set(OPTIONS):
            from agentm_kernel.plugin import check_options

            check_options("policy", options, OPTIONS)

    @property
    def registry(self) -> dict[str, str]:
        """Slugs and the documents that they stand for."""
        table = self._table("registry")
        for slug, path in table.items():
            if not isinstance(path, str) or not os.path.isabs(self.device.expand(path)):
                raise _unfit("registry", f"the entry {slug!r} is not an absolute path")
        return {slug: self.device.expand(path) for slug, path in table.items()}

    @property
    def shared(self) -> tuple[str, ...]:
        """Other workspaces whose documents may be referred to."""
        return tuple(os.path.realpath(self.device.expand(path)) for path in self._names("shared"))

    @property
    def endpoints(self) -> tuple[str, ...]:
        """Where a bucket may be: host names, or patterns such as `*.amazonaws.com`."""
        return self._names("endpoints")

    @property
    def identities(self) -> dict[str, Mapping[str, Any]]:
        """Names and addresses by reference: `operator://bob` → `{"name": …, "email": …}`."""
        table = self._table("identities")
        for ref, identity in table.items():
            if not isinstance(identity, dict) or not all(isinstance(value, str) for value in identity.values()):
                raise _unfit("identities", f"the entry {ref!r} is not an object with name and email")
        return table

    @property
    def actor(self) -> Actor:
        return Actor(
            self._text("user") or _login(self.device),
            self._text("operator"),
            self._names("roles"),
            self._names("groups"),
            self._text("name"),
            self._text("email"),
        )

    def setting(self, name: str, value: object) -> str:
        """The command that gives an option this value, to be copied into a shell as it is."""
        import json
        import shlex

        quoted = shlex.quote(json.dumps(value, ensure_ascii=False))
        return f"`agentm config set plugins.policy.{name} {quoted}`"

    def _text(self, name: str) -> str | None:
        value = self.options.get(name)
        if value is not None and (not isinstance(value, str) or not value.strip()):
            raise _unfit(name, "it is not a text")
        return value

    def _names(self, name: str) -> tuple[str, ...]:
        value = self.options.get(name, [])
        if not isinstance(value, (list, tuple)) or not all(isinstance(item, str) and item for item in value):
            raise _unfit(name, "it is not a list of names")
        return tuple(value)

    def _table(self, name: str) -> dict[str, Any]:
        value = self.options.get(name, {})
        if not isinstance(value, dict):
            raise _unfit(name, "it is not an object")
        return value


def _unfit(name: str, why: str) -> ConfigError:
    return ConfigError(
        f"plugins.policy.{name} cannot be used: {why}", hint=f"run `agentm config set plugins.policy.{name} VALUE`"
    )


def _login(device: Device) -> str:
    for variable in ("USER", "LOGNAME", "USERNAME"):
        if name := device.environ.get(variable):
            return name
    return os.path.basename(device.home.rstrip("/\\")) or "user"
