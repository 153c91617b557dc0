"""What pydantic found, in sentences that say what is expected and never what was given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from agentm_storage_policy.models.base import PATTERN_WORDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import ValidationError

    from agentm_storage_policy.reading.yaml_text import Path

_TYPES = {
    "bool_type": "must be true or false",
    "dict_type": "must be a mapping",
    "float_type": "must be a number",
    "int_type": "must be a whole number",
    "list_type": "must be a list",
    "model_attributes_type": "must be a mapping",
    "model_type": "must be a mapping",
    "string_type": "must be text",
}


_OLD_FIELDS = {
    "commitMode": "commit.on",
    "pullMode": "pull.on",
    "pushMode": "push.on",
    "commitOn": "commit.on",
    "pullOn": "pull.on",
    "pushOn": "push.on",
    "conflictPolicy": "conflict.policy",
}
"""Of an older draft, where `sync` was flat."""


class Problem(NamedTuple):
    """One violation of a model."""

    path: Path
    on_key: bool
    """Whether the key itself is the problem, rather than its value."""
    message: str
    hint: str | None


def problems(error: ValidationError, data: object) -> Iterator[Problem]:
    """The violations, in the order of the fields, one for each place."""
    seen = set()
    for item in error.errors(include_url=False, include_input=False):
        path = _path(item["loc"], data)
        if path not in seen:
            seen.add(path)
            is_extra = item["type"] == "extra_forbidden"
            hint = _spelling(path[-1]) if is_extra and path else None
            yield Problem(path, is_extra, _sentence(item["type"], item), hint)


def _spelling(field: str | int) -> str | None:
    """How a field is spelled that somebody wrote the JavaScript way: the specification's own packages use both."""
    name = str(field)
    if name in _OLD_FIELDS:
        return f"it is written {_OLD_FIELDS[name]}"
    snake = "".join(f"_{c.lower()}" if c.isupper() else c for c in name)
    return f"fields are written with underscores: {snake}" if snake != name and name.isalnum() else None


def _path(loc: tuple[int | str, ...], data: object) -> Path:
    """The location without the tags of unions. The name of a missing field stays: it says what is missing."""
    path: list[str | int] = []
    for part in loc:
        if isinstance(part, str) and part.startswith("<"):
            continue
        path.append(part)
        if isinstance(data, dict) and isinstance(part, str):
            data = data.get(part)
        elif isinstance(data, list) and isinstance(part, int) and part < len(data):
            data = data[part]
    return tuple(path)


def _sentence(kind: str, item: Any) -> str:
    context = item.get("ctx", {})
    if kind in _TYPES:
        return _TYPES[kind]
    if kind == "missing":
        return "is missing"
    if kind == "extra_forbidden":
        return "there is no such field here"
    if kind in ("literal_error", "enum"):
        return f"must be {_alternatives(context['expected'])}"
    if kind == "string_pattern_mismatch":
        return PATTERN_WORDS[context["pattern"]]
    if kind == "string_too_short":
        least = context["min_length"]
        return "must not be empty" if least == 1 else f"must have at least {least} characters"
    if kind == "string_too_long":
        return f"must not be longer than {context['max_length']} characters"
    if kind == "greater_than_equal":
        return f"must be at least {context['ge']:g}"
    if kind == "too_short":
        return "must have at least one entry"
    return str(item["msg"])  # words of our own


def _alternatives(expected: str) -> str:
    return expected.replace("'", "")
