"""The policies that apply to a store, gathered from its block and from every manifest around it."""

from __future__ import annotations

from agentm_storage_policy.grants import Grants, Policy
from agentm_storage_policy.identity import email_in_file
from agentm_storage_policy.limits import RateLimits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_storage_policy.definition import Data
    from agentm_storage_policy.host import Host
    from agentm_storage_policy.resolving import Place, Resolved, Resolver


def compose(resolved: Resolved, host: Host, resolver: Resolver) -> Grants:
    """Every policy read; one that cannot be had is an error, because a guard is never skipped."""
    policies: list[Policy] = []
    places: dict[str, Place] = {}
    for number, (entry, place) in enumerate(resolved.policies):
        data, home = _read(entry, place, resolver)
        source = str(data.get("id") or f"{home.document.file}#{number}")
        policies.append(Policy(source, data))
        places[source] = home
    return Grants(
        policies,
        host.actor,
        email_in_file=lambda path, source: email_in_file(path, places[source], resolver),
        is_within_limit=RateLimits(host.opening).is_within,
    )


def _read(entry: Data, place: Place, resolver: Resolver) -> tuple[Data, Place]:
    """The policy that stands here, or the one that is referred to."""
    for form in ("ref", "file"):
        if form in entry:
            home = resolver.fetch(place, f"policy.{form}", entry[form], ("policy",))
            return home.document.data, home
    return entry, place
