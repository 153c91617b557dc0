"""What an importer yields: things that become notes, and things that do not, each with the reason.

An importer of another distribution cannot import this module (plugins do not import each other). It yields mappings
with the same names instead, and `as_item` makes items of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import NamedTuple

from agentm_kernel.plugin import PluginError, content_hash


class Found(NamedTuple):
    """A source that is on this device: what `detect` answers with. A plain tuple of the three will do."""

    path: str
    memories: int
    """About how many memories it holds."""
    what: str
    """A few words for people: `memories of 4 projects`."""


@dataclass(frozen=True)
class Item:
    """One memory as its source has it."""

    origin: str
    """What it is called in the source, the same in every run: a path below the source, or a table and an id."""
    body: str
    """Its text; with `verbatim` the whole file, front matter included."""
    title: str = ""
    kind: str = "fact"
    project: str | None = None
    """The project's name in the source, or the absolute path of its folder; `None` for a memory of no project, an
    empty text where the source knows no projects: `--project` may say one then."""
    slug: str = ""
    """The name that the note should have; made of the title if it is not given."""
    tags: tuple[str, ...] = ()
    created: str = ""
    updated: str = ""
    status: str = "active"
    supersedes: tuple[str, ...] = ()
    """The origins of items that this one replaces; they come before it."""
    extra: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict)
    """Further fields for the front matter."""
    line: int = 1
    """The line of the source on which the body begins: secrets are reported by the source's lines."""
    verbatim: bool = False
    """The body is a Markdown file: its own front matter and every other byte stay."""
    path: str = ""
    """With `verbatim`: its path below the folder of its kind, which is kept."""
    key: str = ""
    """The exact key, for a note that comes home; its bytes are taken as they are."""

    @property
    def identity(self) -> str:
        """The origin in the length that the record of imports can afford."""
        return content_hash(self.origin)[:16]


@dataclass(frozen=True)
class Skipped:
    """Something in the source that does not become a note."""

    origin: str
    reason: str
    is_problem: bool = True
    """Whether a memory stays behind; what a source only derives or caches is none."""
    count: int = 1
    """How many such things the line stands for."""
    secrets: tuple[str, ...] = ()
    """For a refused secret: each line and what it looks like, never the secret itself."""


_NAMES = {entry.name for entry in fields(Item)}
_LISTS = ("tags", "supersedes")
_OTHERS: dict[str, tuple[tuple[type, ...], str]] = {
    **dict.fromkeys(_LISTS, ((list, tuple, set, frozenset), "a list of texts")),
    "extra": ((Mapping,), "a mapping"),
    "line": ((int,), "a number"),
    "verbatim": ((bool,), "true or false"),
}


def as_item(given: object, importer: str) -> Item | Skipped:
    """What an importer yielded, as an item; `PluginError` if it does not keep the contract."""
    if isinstance(given, Item | Skipped):
        return given
    if not isinstance(given, dict):
        raise _broken(importer, f"it yielded a {type(given).__name__}, not a mapping")
    unknown = sorted(str(name) for name in given if name not in _NAMES | {"reason"})
    if unknown:
        raise _broken(importer, f"there is no field {unknown[0]!r}")
    for name, value in {"origin": None, **given}.items():
        types, wanted = _OTHERS.get(name, ((str,), "a text"))
        if not isinstance(value, types) and (name, value) != ("project", None):
            raise _broken(importer, f"{name!r} is not {wanted}")
    for name, value in given.get("extra", {}).items():
        listed = value if isinstance(value, list | tuple) else (value,)
        if not all(isinstance(text, str) for text in (name, *listed)):
            raise _broken(importer, f"{name!r} in 'extra' is neither a text nor a tuple of texts")
    if "reason" in given:
        return Skipped(given["origin"], given["reason"])
    if "body" not in given:
        raise _broken(importer, "an item has neither a body nor a reason")
    lists = {name: tuple(map(str, given[name])) for name in _LISTS if name in given}
    return Item(**{**given, **lists})


def _broken(importer: str, why: str) -> PluginError:
    return PluginError(
        f"the importer '{importer}' does not keep its contract: {why}", hint="nothing of it was imported"
    )
