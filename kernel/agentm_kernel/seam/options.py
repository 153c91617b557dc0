"""Options that a plugin does not have. A misspelt one is not passed over: what was meant by it would not happen."""

from __future__ import annotations

from agentm_kernel.errors import StorageSelectionError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def check_options(name: str, given: Iterable[str], known: Sequence[str]) -> None:
    """Raise `StorageSelectionError` if the table `plugins.<name>` has an option that is not among the known ones."""
    unknown = sorted(set(given).difference(known))
    if unknown:
        raise StorageSelectionError(
            f"plugins.{name} has no option '{unknown[0]}'; there are {', '.join(known)}",
            hint=f"run `agentm config unset plugins.{name}.{unknown[0]}`",
        )
