"""`Frozen`: values that are declared like dataclasses, without what dataclasses cost."""

from __future__ import annotations

import pickle

import pytest

from agentm_kernel.seam import Frozen


class Pair(Frozen):
    left: str
    right: int = 7
    """What stands on the right."""


def test_fields_are_given_in_order_or_by_name_and_defaults_fill_the_rest() -> None:
    assert Pair("a") == Pair("a", 7) == Pair(right=7, left="a") != Pair("a", 8)
    assert (Pair("a").left, Pair("a").right, repr(Pair("a"))) == ("a", 7, "Pair(left='a', right=7)")
    assert pickle.loads(pickle.dumps(Pair("a", 3))) == Pair("a", 3)
    assert len({Pair("a"), Pair("a", 7)}) == 1


@pytest.mark.parametrize(
    ("given", "named"),
    [((), {}), ((), {"right": 1}), (("a", 1, 2), {}), (("a",), {"left": "b"}), (("a",), {"middle": 1})],
    ids=["nothing", "one is missing", "too many", "twice", "unknown"],
)
def test_anything_else_is_refused(given: tuple[object, ...], named: dict[str, object]) -> None:
    with pytest.raises(TypeError, match="Pair takes left, right"):
        Pair(*given, **named)  # type: ignore[arg-type]


def test_nothing_can_be_changed_or_added() -> None:
    pair = Pair("a")

    for name in ("left", "other"):
        with pytest.raises(AttributeError):
            setattr(pair, name, "b")
    assert not hasattr(pair, "__dict__")
