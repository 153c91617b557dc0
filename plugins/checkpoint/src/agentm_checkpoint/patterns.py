"""Which keys are under guard: `*` stands for anything within a name, `**` for any number of names."""

from __future__ import annotations

from agentm_kernel.plugin import ConfigError

DEFAULT = ("skills/**",)


class Patterns:
    """The keys under guard.

    Not pathspec, which policies use for `exclude`: importing it takes 47 ms where a bare interpreter takes 15, and
    hooks ask the guard at every read. And not `re`, for the same reason. Two wildcards are all that is needed.
    """

    __slots__ = ("_split", "given", "roots")

    def __init__(self, given: object) -> None:
        patterns = DEFAULT if given is None else given
        if not isinstance(patterns, (list, tuple)) or not all(map(_is_pattern, patterns)):
            raise ConfigError(
                "plugins.integrity.guard is not a list of patterns",
                hint="""for example: agentm config set plugins.integrity.guard '["skills/**"]'""",
            )
        self.given = [*patterns]
        self._split = [pattern.strip("/").split("/") for pattern in patterns]
        self.roots = sorted({_literal_part(names) for names in self._split})
        """Where to look for guarded notes: below one of these, or at it."""

    def match(self, key: str) -> bool:
        names = key.split("/")
        return any(_matches(pattern, names) for pattern in self._split)


def _is_pattern(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip("/"))


def _literal_part(names: list[str]) -> str:
    literal = []
    for name in names:
        if "*" in name:
            break
        literal.append(name)
    return "/".join(literal)


def _matches(pattern: list[str], names: list[str]) -> bool:
    if not pattern:
        return not names
    if pattern[0] == "**":
        if len(pattern) == 1:
            return bool(names)
        return any(_matches(pattern[1:], names[skip:]) for skip in range(len(names)))
    return bool(names) and _name_matches(pattern[0], names[0]) and _matches(pattern[1:], names[1:])


def _name_matches(pattern: str, name: str) -> bool:
    first, *middle = pattern.split("*")
    if not middle:
        return pattern == name
    last = middle.pop()
    if len(name) < len(first) + len(last) or not name.startswith(first) or not name.endswith(last):
        return False
    at, end = len(first), len(name) - len(last)
    for piece in middle:
        at = name.find(piece, at, end)
        if at < 0:
            return False
        at += len(piece)
    return True
