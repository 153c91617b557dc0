"""Short sequences of verbs on two keys, and what may be found after each: what `crash_states` runs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import product
from typing import TYPE_CHECKING

from agentm_kernel.seam.backend import ABSENT
from agentm_kernel.seam.content import content_hash
from agentm_kernel.seam.locator import Locator

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agentm_kernel.seam.backend import StorageBackend
    from tests.faults.crash_model import Tree

FOLDER = "folder"
KEYS = ("note.md", f"{FOLDER}/note.md")
_ENDING = "and its end\n"


def content_of(verb: int | str) -> str:
    """What a verb writes: different for each, and recognisable as whole."""
    return f"what verb {verb} wrote, {_ENDING}"


def is_whole(content: str) -> bool:
    return content.startswith("what verb") and content.endswith(_ENDING)


@dataclass(frozen=True)
class Verb:
    """One step of a workload."""

    name: str
    key: str

    def run(self, store: StorageBackend, content: str, now: str | None) -> None:
        """Do it; `now` is what the key holds."""
        locator = Locator(self.key)
        match self.name:
            case "write":
                store.write(locator, content)
            case "create":
                store.write(locator, content, if_match=ABSENT)
            case "replace":
                store.write(locator, content, if_match=content_hash(now or ""))
            case "delete":
                store.delete(locator)
            case "mkdir":
                store.mkdir(locator)

    def __str__(self) -> str:
        return f"{self.name} {self.key}"


VERBS = (
    *(Verb(name, key) for key in KEYS for name in ("write", "create", "replace", "delete")),
    Verb("mkdir", FOLDER),
)
PLAIN_WRITES = tuple(Verb("write", key) for key in KEYS)


@dataclass(frozen=True)
class Expected:
    """What may be found: the contents that each key may have (`None`: nothing), and folders that must be there."""

    contents: dict[str, frozenset[str | None]] = field(
        default_factory=lambda: {key: frozenset((None,)) for key in KEYS}
    )
    folders: frozenset[str] = frozenset()

    def during(self, verb: Verb, content: str) -> Expected:
        """A verb that has begun may have happened or not."""
        if verb.key not in self.contents:
            return self
        return self._with(verb.key, self.contents[verb.key] | _result(verb, content))

    def after(self, verb: Verb, content: str) -> Expected:
        """A verb that has returned has happened."""
        if verb.key not in self.contents:
            return replace(self, folders=self.folders | {verb.key})
        return self._with(verb.key, _result(verb, content))

    def seen(self, key: str, content: str | None) -> Expected:
        """After a crash and a look, one content is left."""
        return self._with(key, frozenset((content,)))

    def only(self, key: str) -> str | None:
        """The content of `key` where one alone is possible."""
        allowed = self.contents.get(key, frozenset())
        return next(iter(allowed)) if len(allowed) == 1 else None

    def as_key(self) -> object:
        return frozenset(self.contents.items()), self.folders

    def _with(self, key: str, allowed: frozenset[str | None]) -> Expected:
        return replace(self, contents={**self.contents, key: allowed})


def _result(verb: Verb, content: str) -> frozenset[str | None]:
    return frozenset((None if verb.name == "delete" else content,))


@dataclass(frozen=True)
class Start:
    """The disk at the beginning, and what is known to be on it."""

    tree: Tree = (("neighbour", b"a home is never empty"),)
    expected: Expected = field(default_factory=Expected)


@dataclass(frozen=True)
class Workload:
    """Verbs that were acknowledged, perhaps one that was killed half-way, and one in which the power goes."""

    acknowledged: tuple[Verb, ...]
    last: Verb
    killed: Verb | None = None
    killed_after: int = 0
    """How many changes the killed verb had made to the disk."""
    start: Start = field(default_factory=Start)
    story: str = ""
    """What happened before the start."""

    def __str__(self) -> str:
        steps = [self.story] if self.story else []
        steps += [str(verb) for verb in self.acknowledged]
        if self.killed:
            steps.append(f"{self.killed} (killed after {self.killed_after} changes)")
        return " → ".join([*steps, f"{self.last} (power cut)"])


def plain_workloads(longest: int) -> Iterator[Workload]:
    """Every sequence of up to `longest` verbs."""
    for steps in _sequences(longest):
        yield Workload(steps[:-1], steps[-1])


def killed_workloads(longest: int) -> Iterator[Workload]:
    """Every sequence of up to `longest` verbs whose last but one is killed."""
    for steps in _sequences(longest - 1):
        for last in PLAIN_WRITES:
            yield Workload(steps[:-1], last, killed=steps[-1])


def _sequences(longest: int) -> Iterator[tuple[Verb, ...]]:
    for length in range(1, longest + 1):
        yield from filter(_is_possible, product(VERBS, repeat=length))


def _is_possible(steps: Sequence[Verb]) -> bool:
    """Whether each verb does something: a refusal leaves no state that is not reached without it."""
    there: set[str] = set()
    for verb in steps:
        is_there = verb.key in there
        if (verb.name == "create" and is_there) or (verb.name in ("replace", "delete") and not is_there):
            return False
        there = there - {verb.key} if verb.name == "delete" else there | {verb.key}
    return True
