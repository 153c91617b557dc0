"""`exclude`: what is not mirrored, in the patterns of gitignore."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def excluder(patterns: Sequence[str]) -> Callable[[str], bool]:
    """Whether a key is excluded. The library is loaded by the first question."""
    if not patterns:
        return lambda _key: False
    spec = None

    def is_excluded(key: str) -> bool:
        nonlocal spec
        if spec is None:
            from pathspec import GitIgnoreSpec

            spec = GitIgnoreSpec.from_lines(patterns)
        return spec.match_file(key)

    return is_excluded
