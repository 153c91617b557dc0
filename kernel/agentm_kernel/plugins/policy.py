"""Which plugins the operator lets in. Asked before anything is imported."""

from __future__ import annotations

from agentm_kernel.device.installed import canonical_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentm_kernel.device.installed import PluginRecord


def refusal(record: PluginRecord, disabled: Iterable[str] = (), allowed: Iterable[str] | None = None) -> str | None:
    """Why the policy keeps `record` out; `None` if it does not.

    Both lists hold names of entry points or of distributions (in any spelling). `allowed` given means that nothing
    else is let in, so an empty list lets nothing in; `disabled` beats it.
    """
    if _names(record, disabled):
        return "plugin_policy.disabled names it"
    if allowed is not None and not _names(record, allowed):
        return "plugin_policy.allowed does not name it"
    return None


def _names(record: PluginRecord, listed: Iterable[str]) -> bool:
    return any(name == record.name or canonical_name(name) == record.distribution for name in listed)
