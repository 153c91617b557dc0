"""AIP-19: credentials for a provider, out of the environment, by way of an inventory that says who may have them.

The inventory is read when a store is opened. A value is looked up only when the provider asks for it: access is
checked, the reveal is recorded, the value is handed over, and nothing of it is kept.
"""

from __future__ import annotations

from collections.abc import Mapping  # a base class here, and loaded already by every backend

from agentm_storage_policy import audit
from agentm_storage_policy.errors import AUTH_UNRESOLVABLE, StorageAuthUnresolvableError, refusal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from agentm_storage_policy.definition import Data
    from agentm_storage_policy.host import Host
    from agentm_storage_policy.resolving import Place

TOOL = "agentm"
"""As which tool agentm asks: an entry `{tool: agentm}` lets it in."""
_VAULT = "vault://env/"


class Inventory:
    """The secrets that one or several SECRETS.md declare."""

    def __init__(self, places: Sequence[Place]) -> None:
        self._entries: list[tuple[Data, Place]] = []
        for place in places:
            secrets: Any = place.document.data["secrets"]
            for number, entry in enumerate(secrets):
                if any(entry["slug"] == other["slug"] for other, _ in self._entries):
                    message = "another inventory of this workspace has this slug"
                    raise refusal([place.document.finding(AUTH_UNRESOLVABLE, f"secrets.{number}.slug", message)])
                self._entries.append((entry, place))

    def by_variable(self, name: str) -> Data | None:
        """The secret that an environment variable stands for: by its bindings, or else by its name."""
        for entry, _ in self._entries:
            if name in bindings(entry):
                return entry
        plain = name.lower().replace("_", "-")
        for entry, _ in self._entries:
            if not bindings(entry) and entry["slug"].replace("/", "-") == plain:
                return entry
        return None

    def by_slug(self, slug: str) -> Data | None:
        return next((entry for entry, _ in self._entries if entry["slug"] == slug), None)

    def variables(self) -> list[str]:
        """Every environment variable that the inventory stands for."""
        return [name for entry, _ in self._entries for name in variables_of(entry)]


def bindings(entry: Data) -> tuple[str, ...]:
    """The environment variables that an entry names itself."""
    bound: Any = entry.get("metadata", {}).get("bindings", {})
    names = bound.get("env", []) if isinstance(bound, dict) else []
    exposed = [e["name"] for e in entry.get("exposures", ()) if isinstance(e, dict) and e.get("kind") == "env"]
    return tuple(name for name in (*names, *exposed) if isinstance(name, str))


def variables_of(entry: Data) -> tuple[str, ...]:
    """The environment variables that an entry stands for: `acme/s3-rw` → `ACME_S3_RW` if it says nothing else."""
    return bindings(entry) or (entry["slug"].replace("/", "_").replace("-", "_").upper(),)


class Credentials(Mapping[str, str]):
    """What a provider is given: names of environment variables, and behind each a value for the asking."""

    def __init__(self, inventory: Inventory, names: Sequence[str], host: Host, purpose: str) -> None:
        self._inventory = inventory
        self._names = tuple(dict.fromkeys(names))
        self._host = host
        self._purpose = purpose

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __repr__(self) -> str:
        return f"Credentials({', '.join(self._names)})"

    def __getitem__(self, name: str) -> str:
        """Reveal one value. Each time counts and is recorded."""
        if name not in self._names:
            raise KeyError(name)
        entry, granted_by = self._granted(name)
        value = self._host.device.environ[self._variable(entry, name)]
        self._record("secret.reveal", entry, granted_by=granted_by)
        return value

    def check(self) -> None:
        """Make sure that every value could be had, without looking at one."""
        for name in self._names:
            self._granted(name)

    def _granted(self, name: str) -> tuple[Data, Data]:
        entry = self._inventory.by_variable(name)
        if entry is None:
            raise _unresolvable(f"the inventory has no secret for {name}", hint="add an entry with its slug")
        granted_by = self._grant(entry)
        if granted_by is None:
            self._record("secret.reveal.denied", entry, reason="no entry of access.bind or access.reveal matched")
            raise _unresolvable(
                f"the inventory does not let this user have the secret '{entry['slug']}'",
                hint=f"add `- tool: {TOOL}` to its access.bind, or a role that plugins.policy.roles has",
            )
        variable = self._variable(entry, name)
        if not self._host.device.environ.get(variable):
            raise _unresolvable(
                f"the environment variable {variable} is not set", hint=f"set it before running agentm: {variable}=…"
            )
        return entry, granted_by

    def _grant(self, entry: Data) -> Data | None:
        """The entry of the access lists that lets this process in. Unknown kinds are passed over."""
        actor = self._host.actor
        access = entry.get("access", {})
        for grant in (*access.get("bind", ()), *access.get("reveal", ())):
            if grant.get("tool") == TOOL or grant.get("userId") == actor.user or grant.get("role") in actor.roles:
                granted: Data = grant
                return granted
        return None

    def _variable(self, entry: Data, name: str) -> str:
        backend = entry.get("backend")
        if backend is None:
            return name
        if not backend.startswith(_VAULT):
            raise _unresolvable(
                f"the secret '{entry['slug']}' is in a vault that agentm cannot ask",
                hint=f"bring it into the environment, and drop the backend or make it {_VAULT}NAME",
            )
        variable: str = backend.removeprefix(_VAULT)
        return variable

    def _record(self, event: str, entry: Data, **fields: object) -> None:
        actor = self._host.actor
        audited = entry.get("audit", {})
        about = {
            "slug": entry["slug"],
            "actor": {"user": actor.user, "roles": actor.roles, "operator": actor.operator},
            "purpose": self._purpose,
            "context": {"tool": TOOL},
            **{name: audited[name] for name in ("retention", "pii", "classification") if name in audited},
            **fields,
        }
        audit.record(self._host.opening, event, about, always=True)


def _unresolvable(message: str, *, hint: str) -> StorageAuthUnresolvableError:
    return StorageAuthUnresolvableError(message, hint=hint)
