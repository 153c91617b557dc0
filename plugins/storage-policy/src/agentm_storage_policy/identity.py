"""AIP-23: from an identity block to names and addresses. Looked up when somebody is about to sign, never before."""

from __future__ import annotations

from agentm_kernel.plugin import Author

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from agentm_storage_policy.definition import Data
    from agentm_storage_policy.host import Actor, Host
    from agentm_storage_policy.resolving import Place, Resolver

_NOREPLY = "noreply.agentm.invalid"
"""The last part is reserved, so no mail to such an address ever arrives anywhere."""


def authors(
    identity: Sequence[tuple[Data, Place]],
    host: Host,
    resolver: Resolver,
    operator: Callable[[], Author | None] = lambda: None,
) -> list[Author]:
    """Everybody whose name a commit carries, the author first. Without an identity it is whoever acts: as the
    configuration calls them, or else as the store's own tool does (`operator`).
    """
    if not identity:
        return [_whoever_acts(host, operator)]
    found = [_resolve(entry, place, host, resolver) for entry, place in identity]
    return [_with_role(author, "author" if number == 0 else "co-author") for number, author in enumerate(found)]


def email_in_file(path: str, place: Place, resolver: Resolver) -> str | None:
    """The address in an identity file, for comparing it with the actor's."""
    email: Any = resolver.fetch(place, "file", path, ("identity",)).document.data.get("email")
    return email if isinstance(email, str) else None


def _resolve(entry: Data, place: Place, host: Host, resolver: Resolver) -> Author:
    role = entry.get("role", "")
    if "email" in entry:
        return Author(entry["name"], entry["email"], role)
    if "file" in entry:
        return _from_file(entry["file"], place, role, resolver)
    return _from_ref(entry["ref"], place, role, host, resolver)


def _from_file(path: str, place: Place, role: str, resolver: Resolver) -> Author:
    data: Any = resolver.fetch(place, "identity.file", path, ("identity",)).document.data
    return Author(data["name"], data["email"], role)


def _from_ref(ref: str, place: Place, role: str, host: Host, resolver: Resolver) -> Author:
    known = host.identities.get(ref)
    scheme, has_scheme, name = ref.partition("://")
    if known is not None:
        default = name or ref
        return Author(known.get("name", default), known.get("email", _noreply(scheme, default)), role)
    if not has_scheme:
        return _from_file(ref, place, role, resolver)
    if name == "current":
        actor = host.actor
        if scheme == "operator" and actor.operator is not None:
            return _from_ref(f"operator://{actor.operator}", place, role, host, resolver)
        return _with_role(_actor(actor), role)
    return Author(name, _noreply(scheme, name), role)


def _whoever_acts(host: Host, operator: Callable[[], Author | None]) -> Author:
    actor, known = _actor(host.actor), None
    if "name" not in host.options:
        known = operator()
    if known is None:
        return actor
    return Author(known.name, host.actor.email or known.email or actor.email)


def _actor(actor: Actor) -> Author:
    return Author(actor.name, actor.email or _noreply("user", actor.user))


def _noreply(scheme: str, name: str) -> str:
    """An address that says whom it stands for and reaches nobody."""
    local = "".join(c if c.isalnum() and c.isascii() else "-" for c in f"{scheme}-{name}").strip("-").lower()
    return f"{local or 'unknown'}@{_NOREPLY}"


def _with_role(author: Author, role: str) -> Author:
    return Author(author.name, author.email, author.role or role)
