"""Credentials that stand in a document as they are: found by the names of its fields and by the kernel's rules.

A policy is reviewed, committed and shared, so it may name secrets and never hold one. What was found is described and
never repeated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentm_kernel.plugin import find_secrets, is_bare_secret, names_a_secret

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentm_storage_policy.reading.yaml_text import Path


def credentials_in(value: object, path: Path = (), *, by_shape: bool = True) -> Iterator[tuple[Path, str]]:
    """The paths of fields that hold a credential, each with the reason.

    `by_shape` is for values that never were a text: in the text of a document `find_secrets` finds them itself.
    """
    if isinstance(value, dict):
        for key, inner in value.items():
            if isinstance(key, str) and names_a_secret(key) and _holds_something(inner):
                yield (*path, key), "a field of this name would hold a credential"
            else:
                yield from credentials_in(inner, (*path, key), by_shape=by_shape)
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from credentials_in(inner, (*path, number), by_shape=by_shape)
    elif isinstance(value, str) and (is_bare_secret(value) or (by_shape and find_secrets(value))):
        yield path, "this looks like a credential"


def _holds_something(value: object) -> bool:
    return value not in (None, "", [], {}) and not isinstance(value, bool)
