"""Whether the origin is the store that the folder is, asked before anything of it comes in."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from agentm_git.stamps import check_stamps
from agentm_kernel.errors import StoreIdentityError

ONE, OTHER = b'{"id": "one"}', b'{"id": "other"}'


def checked(folder: bytes | None, head: bytes | None, upstream: bytes, *, has_head: bool = True) -> None:
    """With what the folder, the branch here and the origin carry as their identity."""
    carried = {"here:_meta/store.json": head or b"", "there:_meta/store.json": upstream}
    git: Any = SimpleNamespace(run=lambda *words, good: carried[words[-1]])
    place: Any = SimpleNamespace(content=lambda _: folder, root="/notes")
    check_stamps(git, place, "here" if has_head else None, "there")


@pytest.mark.parametrize(
    ("folder", "head", "upstream"),
    [
        (ONE, ONE, ONE),
        (ONE, None, b'{"id": "one", "spelled": "otherwise"}'),
        (ONE, ONE, b""),
        (None, None, OTHER),
        (b"no JSON", None, OTHER),
        (b"[]", None, OTHER),
        (b'{"id": 7}', None, OTHER),
        (ONE, OTHER, OTHER),
    ],
)
def test_the_same_store_and_one_that_has_no_identity_yet_may_meet(
    folder: bytes | None, head: bytes | None, upstream: bytes
) -> None:
    checked(folder, head, upstream)
    if head is None:
        checked(folder, head, upstream, has_head=False)


@pytest.mark.parametrize(("head", "has_head"), [(ONE, True), (None, True), (None, False)])
def test_another_store_is_refused_with_both_names(head: bytes | None, has_head: bool) -> None:
    said = "the origin holds store other, and the folder /notes is store one"
    with pytest.raises(StoreIdentityError, match=said) as caught:
        checked(ONE, head, OTHER, has_head=has_head)
    assert "agentm migrate" in (caught.value.hint or "")
