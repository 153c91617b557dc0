"""How a check says what a backend did: one sentence, with the values cut to a readable length.

A check's docstring is what the contract wants. These helpers only add what was seen, as a `Violation`; the check
turns both into one `ConformanceFailure`.
"""

from __future__ import annotations

import re
import reprlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from agentm_kernel.plugin import AgentmError, InvalidContentError, Locator, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from agentm_kernel.plugin import StorageBackend

E = TypeVar("E", bound=BaseException)

_short = reprlib.Repr()
_short.maxstring = _short.maxother = 90
_short.maxlist = _short.maxtuple = _short.maxset = _short.maxdict = 12


class ConformanceFailure(AssertionError):
    """A backend does not keep its contract: which check says so, what is wanted, and what the backend did."""

    def __init__(self, check: str, detail: str, where: str = "", cause: str = "") -> None:
        super().__init__(check, detail, where, cause)
        self.check = check
        self.detail = detail
        self.where = where
        """File and line: of the check, and of the plugin's code where that raised."""
        self.cause = cause or detail
        """The same for checks that fail for the same reason: the plugin's line, and what it raised there."""

    def __str__(self) -> str:
        return f"{self.check}: {self.detail}"


class Violation(Exception):
    """Inside a check: what the backend did, as the second half of a sentence."""


class NotApplicable(Exception):
    """This check has nothing to say about this backend, or cannot run on this machine; the text is the reason."""


class Warned(Exception):
    """Nothing is broken, but the author will want to know; the text says what, and what to do about it."""


def shown(value: object) -> str:
    """`value` as a reader wants it in a sentence."""
    return f"'{value}'" if isinstance(value, Locator) else _short.repr(value)


def same(what: str, got: object, wanted: object) -> None:
    """`got` equals `wanted` and is of its very type: a `str` subclass or a `Path` has no place in the seam."""
    if got != wanted or type(got) is not type(wanted):
        raise Violation(f"{what} gave {_difference(got, wanted)}")


def _difference(got: object, wanted: object) -> str:
    if got == wanted:
        return f"{shown(got)} as {type(got).__name__} and not as {type(wanted).__name__}"
    if isinstance(got, str) and isinstance(wanted, str) and shown(got) == shown(wanted):
        at = next(
            (i for i, (a, b) in enumerate(zip(got, wanted, strict=False)) if a != b), min(len(got), len(wanted))
        )
        return f"{len(got)} characters for {len(wanted)}, different from character {at} on"
    return f"{shown(got)} and not {shown(wanted)}"


def refused(kind: type[E], verb: Callable[..., object], *arguments: Any, **options: Any) -> E:
    """Call `verb` and return the `kind` of error that it has to raise."""
    call = _call(verb, arguments, options)
    try:
        result = verb(*arguments, **options)
    except kind as error:
        return error
    except Exception as error:
        raise Violation(f"{call} raised {_named(error)}") from error
    raise Violation(f"{call} returned {shown(result)}")


def refused_loudly(verb: Callable[..., object], *arguments: Any, **options: Any) -> None:
    """Call `verb`, which has to raise a typed error other than `NotFoundError`: what failed is not absent."""
    error = refused(AgentmError, verb, *arguments, **options)
    if isinstance(error, NotFoundError):
        raise Violation(f"{_call(verb, arguments, options)} reported absence: {error}")


def right_or_refused(answers: Iterable[tuple[str, Callable[[], object], object]], when: str = "") -> None:
    """Each verb gives what is wanted or a typed error other than `NotFoundError`: what failed is not absent."""
    for what, ask, wanted in answers:
        try:
            got = ask()
        except NotFoundError as error:
            raise Violation(f"{when}{what} reported absence: {error}") from error
        except AgentmError:
            continue
        same(f"{when}{what}", got, wanted)


def _call(verb: Callable[..., object], arguments: tuple[Any, ...], options: dict[str, Any]) -> str:
    given = [shown(argument) for argument in arguments]
    given += [f"{name}={shown(value)}" for name, value in options.items()]
    return f"{getattr(verb, '__name__', 'the call')}({', '.join(given)})"


def _named(error: BaseException) -> str:
    kind = type(error).__name__ if isinstance(error, AgentmError) else f"the untyped {type(error).__name__}"
    text = str(error)
    return f"{kind}: {text[:200]}" if text else kind


def surprise(error: BaseException) -> str:
    """What to say about an error that no check expected."""
    return f"the backend raised {_named(error)}"


def without_names(text: str) -> str:
    """`text` without what stands in quotes: the same for one error about several notes."""
    return re.sub(r"'[^']*'", "…", text)


# ------------------------------------------------------------------------------------------------ the whole store


def contents(store: StorageBackend, locator: Locator | None = None) -> dict[str, str | None]:
    """Every key below `locator` with its text; `None` for a directory. Needs no verb but `list` and `read`."""
    found: dict[str, str | None] = {}
    for child in store.list(locator or Locator()):
        try:
            found[child.key] = store.read(child)
        except NotFoundError:
            found[child.key] = None
            found.update(contents(store, child))
        except InvalidContentError:
            found[child.key] = "(not text)"
    return found


@contextmanager
def unchanged(store: StorageBackend) -> Iterator[None]:
    """Whatever happens inside, the store holds the same afterwards."""
    before = contents(store)
    yield
    after = contents(store)
    if before != after:
        changed = sorted(key for key in before.keys() | after.keys() if before.get(key, 0) != after.get(key, 0))
        raise Violation(f"the store was changed all the same: {', '.join(map(shown, changed))}")
