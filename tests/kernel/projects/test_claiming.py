"""Whose name a project's name is, as the store says it: records, pointers, and claims that race."""

from __future__ import annotations

import json
import multiprocessing
import os
import time
from typing import TYPE_CHECKING

import pytest

from agentm_kernel import Locator
from agentm_kernel.plugin import (
    ABSENT,
    ConcurrentModificationError,
    ConfigError,
    ConflictCopies,
    ConflictCopy,
    FileStore,
    InvalidContentError,
    StorageIOError,
    claim_name,
    read_record,
    record_move,
)
from agentm_kernel.projects.checkout import Checkout
from agentm_kernel.projects.claiming import add_remote, claim, claim_as, point
from agentm_kernel.projects.lookup import Checkouts, pointer_locator, read_pointer
from agentm_kernel.seam.backend import BackendLayer

if TYPE_CHECKING:
    from pathlib import Path

MINE, THEIRS = "github.com/ada/widgets", "github.com/bob/widgets"
RECORD = Locator("projects/widgets/_project.json")
NAMES = ["widgets", "bob-widgets", "widgets-2"]


def claimed(store: FileStore, remote: str | None) -> str:
    record = claim_name(store, remote, NAMES)
    assert record is not None
    return record.slug


def test_the_first_writer_gets_the_name_and_a_pointer_leads_there(store: FileStore) -> None:
    assert claimed(store, MINE) == "widgets"
    record = json.loads(store.read(RECORD))
    assert record == {"version": 1, "id": record["id"], "remotes": [MINE]}
    assert store.read(RECORD).endswith("}\n")
    assert json.loads(store.read(pointer_locator(MINE))) == {MINE: "widgets"}


def test_claiming_again_writes_nothing(store: FileStore) -> None:
    claimed(store, MINE)
    before = [store.info(locator) for locator in (RECORD, pointer_locator(MINE))]
    assert claimed(store, MINE) == "widgets"
    assert [store.info(locator) for locator in (RECORD, pointer_locator(MINE))] == before


def test_another_repository_takes_the_next_name(store: FileStore) -> None:
    claimed(store, MINE)
    assert claimed(store, THEIRS) == "bob-widgets"
    assert claimed(store, None) == "widgets-2"
    assert read_pointer(store, THEIRS) == "bob-widgets"


def test_a_record_of_the_older_form_is_not_taken_for_that_of_a_project_which_has_none_any_more(
    store: FileStore, tmp_path: Path
) -> None:
    """All of them that have no remote have one id."""
    for name in ("gadgets", "widgets"):
        store.write(Locator(f"projects/{name}/_project.json"), '{"remote": null, "aliases": []}')
    (tmp_path / "widgets").mkdir()
    here, checkouts = Checkout(str(tmp_path / "widgets")), Checkouts(str(tmp_path / "state"), store)
    claim_as(store, here, checkouts, "gadgets", adopting=True)
    store.delete(Locator("projects/gadgets/_project.json"))
    assert claim(store, here, checkouts).slug == "widgets-2"


def test_remotes_of_one_checksum_share_a_pointer_file(store: FileStore) -> None:
    locator = pointer_locator(MINE)
    store.write(locator, json.dumps({"example.com/of/the/same/checksum": "other"}))
    claimed(store, MINE)
    assert json.loads(store.read(locator)) == {"example.com/of/the/same/checksum": "other", MINE: "widgets"}


def test_a_pointer_is_left_to_another_only_where_somebody_says_what_they_saw(store: FileStore) -> None:
    assert point(store, MINE, "widgets") == "widgets"
    assert point(store, MINE, "gadgets") == "gadgets", "who saw nothing and asks for nothing decides"
    assert point(store, MINE, "mine", unless_changed_from="widgets") == "gadgets"
    assert point(store, MINE, "mine", unless_changed_from=None) == "gadgets"
    assert point(store, MINE, "mine", unless_changed_from="gadgets") == "mine" == read_pointer(store, MINE)


def test_a_claim_that_was_cut_off_after_the_pointer_goes_on(store: FileStore) -> None:
    store.write(pointer_locator(MINE), json.dumps({MINE: "gadgets"}))
    assert claimed(store, MINE) == "gadgets"


def test_a_pointer_is_nothing_without_the_record(store: FileStore) -> None:
    claimed(store, THEIRS)
    store.write(pointer_locator(MINE), json.dumps({MINE: "widgets"}))
    assert claimed(store, MINE) == "bob-widgets"


def test_notes_that_nobody_has_claimed_are_not_claimed_by_a_write(store: FileStore) -> None:
    store.write(Locator("projects/widgets/facts/old.md"), "whose?\n")
    with pytest.raises(ConfigError, match="nothing says which repository") as caught:
        claim_name(store, MINE, NAMES)
    assert "agentm project register" in (caught.value.hint or "")
    assert not store.exists(RECORD)


def test_folders_without_a_note_keep_nobody_from_the_name(store: FileStore, tmp_path: Path) -> None:
    (tmp_path / "store/projects/widgets/facts").mkdir(parents=True)
    assert claimed(store, MINE) == "widgets"


@pytest.mark.skipif(os.name == "nt", reason="no file has such a name there")
def test_a_note_that_no_key_can_spell_is_somebody_s(store: FileStore, tmp_path: Path) -> None:
    (tmp_path / "store/projects/widgets/facts").mkdir(parents=True)
    (tmp_path / "store/projects/widgets/facts/why: because.md").write_text("whose?\n")
    with pytest.raises(ConfigError, match="nothing says which repository"):
        claim_name(store, MINE, NAMES)


def test_a_note_that_only_conflict_copies_are_left_of_is_somebody_s(store: FileStore, tmp_path: Path) -> None:
    class InConflict(FileStore, ConflictCopies):
        def conflict_copies(self, below: Locator) -> list[ConflictCopy]:
            if below != Locator("projects/widgets"):
                return []
            copy = Locator("projects/widgets/facts/old..path1.md")
            return [ConflictCopy(Locator("projects/widgets/facts/old.md"), copy, "rclone", 7, 0.0)]

        def read_copy(self, copy: Locator) -> str:
            return "whose?\n"

    (tmp_path / "store/projects/widgets/facts").mkdir(parents=True)
    with pytest.raises(ConfigError, match="nothing says which repository"):
        claim_name(InConflict(tmp_path / "store"), MINE, NAMES)


def test_a_record_of_the_older_form_is_read_and_renewed(store: FileStore) -> None:
    store.write(RECORD, json.dumps({"note": "kept", "remote": MINE, "aliases": ["github.com/old/widgets"]}))
    assert claimed(store, "github.com/old/widgets") == "widgets"
    record = read_record(store, "widgets")
    assert record is not None
    add_remote(store, record, THEIRS)
    assert json.loads(store.read(RECORD)) == {
        "note": "kept",
        "id": MINE,
        "remotes": [MINE, "github.com/old/widgets", THEIRS],
    }


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", '{"version": 2}', '{"remote": 5}', '{"remote": ""}', '{"remote": "a", "aliases": "b"}']
    + ['{"remote": "a", "aliases": [1]}', '{"remote": "a", "remote": "b"}', '{"id": "", "remotes": []}']
    + ['{"id": 5, "remotes": []}', '{"id": "a", "remotes": "b"}', '{"remotes": ["a"]}'],
)
def test_a_record_that_cannot_be_understood_lets_nobody_in_and_is_left_as_it_is(store: FileStore, text: str) -> None:
    store.write(RECORD, text)
    with pytest.raises(InvalidContentError, match=r"projects/widgets/_project\.json"):
        claim_name(store, "a", NAMES)
    assert store.read(RECORD) == text


@pytest.mark.parametrize("slug", ["../other", "a/b", "", 5])
def test_a_pointer_that_leads_out_is_refused(store: FileStore, slug: object) -> None:
    store.write(pointer_locator(MINE), json.dumps({MINE: slug}))
    with pytest.raises(InvalidContentError, match="_meta/remotes/"):
        claim_name(store, MINE, NAMES)


def test_a_record_that_cannot_be_read_is_an_error_and_not_a_free_name(store: FileStore) -> None:
    class Broken(BackendLayer):
        def read(self, locator: Locator) -> str:
            raise StorageIOError(f"cannot read '{locator}'")

    with pytest.raises(StorageIOError):
        claim_name(Broken(store), MINE, NAMES)
    assert not store.exists(RECORD)


def test_a_name_in_another_spelling_is_taken(store: FileStore) -> None:
    store.write(Locator("projects/Widgets/_project.json"), json.dumps({"id": "1", "remotes": [THEIRS]}))
    assert claimed(store, MINE) == "bob-widgets"


# ------------------------------------------------------------------------------------------------ races


def claim_in_process(root: str, remote: str) -> tuple[str, str]:
    return remote, claimed(FileStore(root, create_root=True), remote)


def test_of_many_repositories_that_claim_at_once_each_gets_one_name_of_its_own(tmp_path: Path) -> None:
    root = str(tmp_path / "store")
    remotes = [f"example.com/{number}/widgets" for number in range(3)] * 4
    with multiprocessing.get_context("spawn").Pool(6) as pool:
        answers = pool.starmap(claim_in_process, [(root, remote) for remote in remotes])
    assert len({*answers}) == len({slug for _, slug in answers}) == 3
    for remote, slug in answers:
        record = read_record(FileStore(root), slug)
        assert record is not None
        assert record.remotes == (remote,)


def test_a_claim_that_comes_between_looking_and_writing_is_respected(store: FileStore) -> None:
    class Overtaken(BackendLayer):
        """Another repository claims the name at the very moment of our write."""

        def write(self, locator: Locator, content: str, **condition: object) -> Locator:
            if locator == RECORD and not self.inner.exists(locator):
                self.inner.write(locator, json.dumps({"id": "1", "remotes": [THEIRS]}), if_match=ABSENT)
            return self.inner.write(locator, content, **condition)  # type: ignore[arg-type]

    record = claim_name(Overtaken(store), MINE, NAMES)
    assert record is not None
    assert record.slug == "bob-widgets"
    assert read_pointer(store, MINE) == "bob-widgets"


def test_the_name_that_another_device_has_just_chosen_for_the_same_repository_is_taken(store: FileStore) -> None:
    class Overtaken(BackendLayer):
        """It has led the remote to a name, and not made the record yet, at the very moment of our write."""

        def write(self, locator: Locator, content: str, **condition: object) -> Locator:
            if locator == pointer_locator(MINE) and not self.inner.exists(locator):
                point(self.inner, MINE, "ours")
            return self.inner.write(locator, content, **condition)  # type: ignore[arg-type]

    record = claim_name(Overtaken(store), MINE, NAMES)
    assert record is not None
    assert record.slug == "ours" == read_pointer(store, MINE)


def test_word_of_a_move_does_not_replace_word_of_another(store: FileStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both get one name only if they happen in the same moment and chance gives them the same digits."""
    moves = [(Locator("projects/a"), Locator("projects/b")), (Locator("projects/c"), Locator("projects/d"))]
    record_move(store, moves[0][0], store, moves[0][1], 1)
    (word,) = (info.locator for info in store.walk(Locator("_meta")) if info.locator.name.startswith("1-"))
    monkeypatch.setattr("os.urandom", lambda size: bytes.fromhex(word.name[2:10])[:size] + bytes(max(0, size - 4)))
    with pytest.raises(ConcurrentModificationError):
        record_move(store, moves[1][0], store, moves[1][1], 1)
    assert json.loads(store.read(word))["from"] == "projects/a"


def test_word_of_a_move_says_when_it_was_in_milliseconds(store: FileStore) -> None:
    """Who keeps what notes were compares it with the times of commits."""
    begun = time.time()
    record_move(store, Locator("projects/a"), store, Locator("projects/b"))
    (word,) = (json.loads(store.read(info.locator)) for info in store.walk(Locator("_meta/moves")))
    assert begun * 1000 - 1 <= word["time"] <= time.time() * 1000
