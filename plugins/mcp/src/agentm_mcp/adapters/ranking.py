"""Which items a search of a LangGraph store finds, and in what order."""

from __future__ import annotations

import math
import operator
import re
import sys
from array import array
from base64 import b64decode, b64encode
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_WORD = re.compile(r"\w+")
_SIGNS = {
    "$eq": operator.eq,
    "$ne": operator.ne,
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}


# ------------------------------------------------------------------------------------------------ filters


def passes(value: Mapping[str, Any], wanted: Mapping[str, Any] | None) -> bool:
    """Whether every field of `wanted` holds; a name with dots leads into what is nested."""
    return all(_fits(_field(value, name), condition) for name, condition in (wanted or {}).items())


def _field(value: Any, name: str) -> Any:
    if not isinstance(value, dict):
        return None
    if name in value or "." not in name:
        return value.get(name)
    first, _, rest = name.partition(".")
    return _field(value.get(first), rest)


def _fits(have: Any, want: Any) -> bool:
    if isinstance(want, dict):
        if any(name.startswith("$") for name in want):
            return all(_compared(have, sign, against) for sign, against in want.items())
        return isinstance(have, dict) and all(_fits(have.get(name), part) for name, part in want.items())
    if isinstance(want, (list, tuple)):
        return isinstance(have, (list, tuple)) and list(have) == list(want)
    return bool(have == want) and isinstance(have, bool) == isinstance(want, bool)


def _compared(have: Any, sign: str, against: Any) -> bool:
    if sign not in _SIGNS:
        raise ValueError(f"a filter knows {', '.join(_SIGNS)}, not {sign}")
    try:
        return bool(_SIGNS[sign](have, against))
    except TypeError:  # nothing there, or a text against a number
        return False


# ------------------------------------------------------------------------------------------------ words


def by_words(query: str, texts: Sequence[str]) -> list[float | None]:
    """For each text, how much of the query it holds, rare words counting for more; `None` for none of it."""
    wanted = set(_WORD.findall(query.casefold()))
    held = [_held(wanted, text.casefold()) for text in texts]
    weights = {word: math.log(1 + len(texts) / (1 + sum(word in each for each in held))) for word in wanted}
    whole = sum(weights.values()) or 1.0
    return [sum(weights[word] for word in each) / whole if each else None for each in held]


def _held(wanted: set[str], text: str) -> set[str]:
    """Words of scripts that are written without spaces are looked for anywhere."""
    words = set(_WORD.findall(text))
    return {word for word in wanted if word in words or (not word.isascii() and word in text)}


# ------------------------------------------------------------------------------------------------ meaning


def packed(vector: Sequence[float]) -> str:
    """A vector as text: 32-bit numbers, the low byte first, in base64."""
    return b64encode(_low_first(array("f", vector)).tobytes()).decode()


def unpacked(text: str) -> array[float]:
    numbers = array("f")
    numbers.frombytes(b64decode(text))
    return _low_first(numbers)


def _low_first(numbers: array[float]) -> array[float]:
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers


def by_meaning(wanted: Sequence[float], vectors: Iterable[Sequence[float]]) -> float | None:
    """The cosine with the nearest of an item's vectors; `None` if it has none of this length."""
    scores = [_cosine(wanted, vector) for vector in vectors if len(vector) == len(wanted)]
    return max(scores, default=None)


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    size = math.sqrt(_product(one, one) * _product(other, other))
    return _product(one, other) / size if size else 0.0


def _product(one: Sequence[float], other: Sequence[float]) -> float:
    total: float = sum(map(operator.mul, one, other))
    return total
