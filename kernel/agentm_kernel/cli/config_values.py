"""Settings as people and scripts see them."""

from __future__ import annotations

MASK = "********"


def as_text(value: object) -> str:
    """A text as it is, so that a shell can use it; everything else as JSON."""
    if isinstance(value, str):
        return value
    import json

    return json.dumps(value, ensure_ascii=False)


def masked(key: str, value: object) -> object:
    """`value` without what is a secret by its key, by a key inside it, or by itself."""
    from agentm_kernel.seam.secrets import is_secret_field, names_a_secret

    if value is not None and names_a_secret(key, anywhere=True):
        return MASK
    if isinstance(value, dict):
        return {name: masked(name, inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [masked("", inner) for inner in value]
    return MASK if isinstance(value, str) and is_secret_field(key, value) else value
