"""A folder that cannot be listed (another user's, in a vault that people share) costs what lies in it, no more."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from agentm_kernel.files import tree
from agentm_kernel.plugin import BackendLayer, Device, Identity, Info, Locator, StorageIOError
from agentm_recall import RecallIndex
from agentm_recall.index import maintenance
from agentm_recall.phases import recalled
from agentm_recall.searching import search_notes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from conftest import Home

    from agentm_kernel.plugin import StorageBackend
    from agentm_recall.searching import Answer

WHY = "some notes cannot be searched: cannot list 'projects/theirs': Permission denied"


@pytest.fixture
def store(home: Home) -> StorageBackend:
    home.stamp()
    for project in ("alpha", "theirs", "widgets"):
        home.note(f"projects/{project}/decisions/database.md", f"Use Postgres for {project}.\n")
        home.note(f"projects/{project}/decisions/deep/cache.md", f"Use Valkey for {project}.\n")
    home.note("personal/mine.md", "I like Postgres.\n")
    return Device.now({"HOME": str(home.path)}).store()


@pytest.fixture
def shut(home: Home, store: StorageBackend, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Lets nobody list a folder, as the system does it, whichever user runs the tests."""
    closed: set[tuple[int, int]] = set()

    def refusing(real: Callable[[tree.Directory], object]) -> Callable[[tree.Directory], object]:
        def look(directory: tree.Directory) -> object:
            if directory.identity in closed:
                raise PermissionError(13, "Permission denied")
            return real(directory)

        return look

    for name in ("statuses", "kinds", "names"):
        monkeypatch.setattr(tree.Directory, name, refusing(getattr(tree.Directory, name)))

    def close(key: str) -> None:
        path = os.path.join(store.describe(), key)
        closed.add(tree.identity_of(os.stat(path)))
        os.utime(path)

    return close


def ask(home: Home, store: StorageBackend, question: str = "Postgres") -> Answer:
    return search_notes(store, question, environ={"HOME": str(home.path)})


def keys(answer: Answer) -> list[str]:
    return sorted(one.hit.note.key for one in answer.found)


OTHERS = ["personal/mine.md", "projects/alpha/decisions/database.md", "projects/widgets/decisions/database.md"]


def test_a_search_finds_the_others_and_says_which_folder_it_could_not_look_into(
    home: Home, store: StorageBackend, shut: Callable[[str], None]
) -> None:
    shut("projects/theirs")
    for _ in range(2):  # the first one builds the index, the second one brings it up to date
        answer = ask(home, store)
        assert (keys(answer), answer.notices) == (OTHERS, (WHY,))


@pytest.mark.parametrize("at_once", [True, False], ids=["by a listing", "by the times of folders"])
def test_what_the_index_knew_of_the_folder_stays_and_what_is_new_elsewhere_is_found(
    home: Home,
    store: StorageBackend,
    shut: Callable[[str], None],
    monkeypatch: pytest.MonkeyPatch,
    at_once: bool,
) -> None:
    ask(home, store)
    if not at_once:
        monkeypatch.setattr(maintenance, "LISTED_AT_ONCE", 0)
        monkeypatch.setattr(RecallIndex, "keep_up", lambda *_: None)
    shut("projects/theirs")
    home.note("projects/widgets/decisions/again.md", "Postgres, again.\n")
    for _ in range(2):
        answer = ask(home, store)
        assert keys(answer) == sorted(
            [*OTHERS, "projects/theirs/decisions/database.md", "projects/widgets/decisions/again.md"]
        )
        assert answer.notices == (WHY,)


class ByNotes(BackendLayer):
    """Its walk knows no folders, as that of an encrypted store: until it is at its end, nothing is known of one."""

    passes = (Identity,)

    def walk(self, locator: Locator) -> Iterator[Info]:
        return iter(self.inner.walk(locator))


@pytest.mark.parametrize("at_once", [True, False], ids=["by a listing", "by the times of folders"])
def test_what_lies_beside_the_folder_is_found_whatever_kind_of_walk_the_store_has(
    home: Home,
    store: StorageBackend,
    shut: Callable[[str], None],
    monkeypatch: pytest.MonkeyPatch,
    at_once: bool,
) -> None:
    layered = ByNotes(store)
    ask(home, layered)
    if not at_once:
        monkeypatch.setattr(maintenance, "LISTED_AT_ONCE", 0)
        monkeypatch.setattr(RecallIndex, "keep_up", lambda *_: None)
    shut("projects/theirs/decisions/deep")
    why = "some notes cannot be searched: cannot list 'projects/theirs/decisions/deep': Permission denied"
    for _ in range(2):
        answer = ask(home, layered)
        assert (keys(answer), answer.notices) == (sorted([*OTHERS, "projects/theirs/decisions/database.md"]), (why,))


def test_a_store_that_cannot_be_listed_at_all_is_an_error(
    home: Home, store: StorageBackend, shut: Callable[[str], None]
) -> None:
    shut("")
    with pytest.raises(StorageIOError, match="Permission denied"):
        ask(home, store)


@pytest.mark.parametrize("query", [None, "Postgres"])
@pytest.mark.parametrize("is_new", [False, True], ids=["known before", "new"])
def test_a_recall_says_that_there_is_a_folder_which_it_could_not_look_into(
    home: Home, store: StorageBackend, shut: Callable[[str], None], is_new: bool, query: str | None
) -> None:
    folder = "projects/widgets/decisions/shut" if is_new else "projects/widgets/decisions/deep"
    if not is_new:
        ask(home, store)
    home.note(f"{folder}/new.md", "Postgres, behind a door.\n")
    shut(folder)
    if is_new:
        ask(home, store)
    environ = {"HOME": str(home.path)}
    text = recalled(store, "widgets", Locator("projects/widgets"), "work", query=query, environ=environ)
    assert "Use Postgres for widgets" in text
    assert f"cannot list '{folder}': Permission denied" in text


def test_a_search_that_looks_twice_says_as_much_as_one_that_looks_once(
    home: Home, store: StorageBackend, shut: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The index of a large store may trust a note that was changed inside its file."""
    ask(home, store)
    monkeypatch.setattr(maintenance, "LISTED_AT_ONCE", 0)
    monkeypatch.setattr(RecallIndex, "keep_up", lambda *_: None)
    shut("projects/theirs")
    with open(os.path.join(store.describe(), "projects/widgets/decisions/database.md"), "a") as file:
        file.write("Postgres 17, Postgres 18.\n")
    answer = ask(home, store)
    assert any("17" in one.snippet for one in answer.found)
    assert answer.notices == (WHY,)


def test_building_the_index_says_what_it_leaves_out(
    home: Home, store: StorageBackend, shut: Callable[[str], None]
) -> None:
    shut("projects/theirs/decisions/deep")
    index = RecallIndex(store, {"HOME": str(home.path)})
    changes = index.rebuild()
    assert changes.unlisted == ("cannot list 'projects/theirs/decisions/deep': Permission denied",)
    assert changes.indexed == 6
    assert store.exists(Locator("projects/theirs/decisions/deep"))


@pytest.mark.usefixtures("store")
def test_reindex_tells_programs(home: Home) -> None:
    assert json.loads(home.run("reindex", "--json").stdout)["unlisted"] == []
