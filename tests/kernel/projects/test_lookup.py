"""Which project of a store a checkout is: what is believed, in which order, and what the record has to confirm."""

from __future__ import annotations

import json
import os
import shutil
import threading
from typing import TYPE_CHECKING

import pytest

from agentm_kernel import Locator
from agentm_kernel.plugin import (
    ConcurrentModificationError,
    ConfigError,
    ConflictCopies,
    FileStore,
    InvalidContentError,
    StorageIOError,
    read_record,
    stamp_store,
)
from agentm_kernel.projects import lookup
from agentm_kernel.projects.checkout import Checkout, notice_about
from agentm_kernel.projects.claiming import (
    add_remote,
    change_record,
    claim,
    claim_as,
    create_record,
    make_checkout_id,
)
from agentm_kernel.projects.lookup import Checkouts, Place, ProjectRecord, find_place, find_record
from agentm_kernel.seam.backend import BackendLayer
from agentm_kernel.seam.facets import ConflictCopy

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path

    from tests.kernel.projects.conftest import Git

MINE, THEIRS = "github.com/ada/widgets", "github.com/bob/widgets"
CREATE = "agentm_kernel.projects.claiming.create_record"
AFTER_CREATE = f"{CREATE} afterwards"


@pytest.fixture
def checkouts(store: FileStore, tmp_path: Path) -> Checkouts:
    return Checkouts(str(tmp_path / "state"), store)


def project(git: Git, path: Path, remote: str | None = MINE) -> Checkout:
    return Checkout(str(git.init(path, remote=remote and f"https://{remote}")))


def owned(store: FileStore, slug: str, *remotes: str, **fields: object) -> ProjectRecord:
    document = {"id": slug, "remotes": list(remotes), **fields}
    folder = Locator(f"projects/{slug}")
    store.write(folder.child("_project.json"), json.dumps(document))
    return lookup.record_in(document, folder)


# ------------------------------------------------------------------------------------------------ copies of a record


class Copied(FileStore, ConflictCopies):
    """A store in which sync tools left copies of one record."""

    texts: tuple[str, ...] = ()

    def conflict_copies(self, below: Locator) -> list[ConflictCopy]:
        return [ConflictCopy(below, Locator(str(number)), "a tool", 0, 0.0) for number in range(len(self.texts))]

    def read_copy(self, copy: Locator) -> str:
        return self.texts[int(copy.key)]


def test_a_record_is_united_with_its_copies_and_each_remote_is_named_once(tmp_path: Path) -> None:
    store = Copied(tmp_path / "store", create_root=True)
    record = owned(store, "widgets", MINE)
    copies: list[dict[str, object]] = [{"id": "a", "remotes": [MINE, THEIRS]}, {"id": "b", "remotes": [THEIRS]}]
    store.texts = ("{", *map(json.dumps, copies))
    united = lookup.unite_copies(store, record)
    assert united.remotes == (MINE, THEIRS)
    assert united.ids == ("widgets", "a", "b"), "what nobody can read says nothing"


# ------------------------------------------------------------------------------------------------ names that moved


def test_a_name_leads_over_former_names_to_the_project_that_it_is_now(store: FileStore) -> None:
    for number in range(9):
        owned(store, f"n{number}", moved_to=f"n{number + 1}")
    owned(store, "n9", MINE)
    record = read_record(store, "n0")
    assert record is not None
    assert (record.slug, record.former) == ("n9", tuple(f"n{number}" for number in range(9)))


def test_a_name_that_devices_shared_leads_on_for_each_of_them(store: FileStore) -> None:
    owned(store, "widgets", ids=["a", "b"], moved_to="gadgets")
    owned(store, "gadgets", MINE)
    record = read_record(store, "widgets")
    assert record is not None
    assert set(record.former) == {"widgets", "a", "b"}


@pytest.mark.parametrize("length", [1, 2, 10])
def test_names_that_lead_to_each_other_are_an_error_and_not_a_free_name(store: FileStore, length: int) -> None:
    for number in range(length):
        text = json.dumps({"id": str(number), "remotes": [], "moved_to": f"n{(number + 1) % length}"})
        store.write(Locator(f"projects/n{number}/_project.json"), text)
    with pytest.raises(InvalidContentError, match="lead to each other"):
        read_record(store, "n0")


def test_a_record_may_have_further_ids_and_another_store(store: FileStore) -> None:
    record = owned(store, "widgets", MINE, ids=["a", 5, "b"], moved_to_store="S")
    assert (record.ids, record.id, record.elsewhere) == (("widgets", "a", "b"), "a", "S")


def test_a_device_without_the_keys_of_an_encrypted_store_is_not_told_to_correct_a_record(store: FileStore) -> None:
    store.write(Locator("projects/widgets/_project.json"), "-----BEGIN AGE ENCRYPTED FILE-----\nYWdl\n")
    with pytest.raises(InvalidContentError, match="is encrypted, and this device reads") as refused:
        read_record(store, "widgets")
    assert "`agentm encryption join`" in str(refused.value.hint)


def test_the_pointer_of_a_remote_has_a_name_of_eight_digits() -> None:
    names = {lookup.pointer_locator(str(number)).name for number in range(99)}
    assert {len(name) for name in names} == {len("01234567.json")}


# ------------------------------------------------------------------------------------------------ what is believed


def test_a_project_without_a_record_lies_under_its_first_free_name(git: Git, store: FileStore, checkouts, tmp_path):
    here = project(git, tmp_path / "widgets")
    assert find_place(store, here, checkouts) == Place(Locator("projects/widgets"), None)
    owned(store, "widgets", THEIRS)
    assert find_place(store, here, checkouts).slug == "ada-widgets"
    owned(store, "ada-widgets", THEIRS)
    assert find_place(store, here, checkouts).slug == "widgets-2"
    record = owned(store, "widgets-2", MINE)
    assert find_place(store, here, checkouts) == Place(record.folder, record), "its own, although nothing leads there"


def test_the_checkouts_own_word_comes_before_the_pointer_of_its_remote(git: Git, store, checkouts, tmp_path):
    here = project(git, tmp_path / "widgets")
    checkout_id = make_checkout_id(here)
    assert checkout_id is not None
    remembered, pointed = owned(store, "remembered", THEIRS), owned(store, "pointed", MINE)
    store.write(lookup.pointer_locator(MINE), json.dumps({MINE: "pointed"}))
    assert find_record(store, here, checkouts) == pointed
    checkouts.remember(checkout_id, remembered, here)
    assert find_record(store, here, checkouts) == remembered


def test_a_name_that_another_project_was_given_since_is_not_taken_for_this_one(git: Git, store, checkouts, tmp_path):
    here = project(git, tmp_path / "widgets", None)
    assert claim(store, here, checkouts).slug == "widgets"
    store.write(Locator("projects/widgets/_project.json"), json.dumps({"id": "another", "remotes": []}))
    assert find_record(store, here, checkouts) is None
    assert claim(store, here, checkouts).slug == "widgets-2"


def test_a_checkout_follows_its_project_to_a_new_name(git: Git, store: FileStore, checkouts, tmp_path: Path) -> None:
    here = project(git, tmp_path / "widgets", None)
    claim(store, here, checkouts)
    old = Locator("projects/widgets/_project.json")
    store.write(old, json.dumps({**json.loads(store.read(old)), "moved_to": "gadgets"}))
    owned(store, "gadgets")
    record = find_record(store, here, checkouts)
    assert record is not None
    assert record.slug == "gadgets"


def test_a_pointer_to_a_record_of_another_remote_is_not_believed(git: Git, store, checkouts, tmp_path) -> None:
    owned(store, "theirs", THEIRS)
    store.write(lookup.pointer_locator(MINE), json.dumps({MINE: "theirs"}))
    assert find_record(store, project(git, tmp_path / "widgets"), checkouts) is None


def test_an_id_of_a_folder_is_believed_only_where_this_device_gave_it_to_that_folder(
    git: Git, store, checkouts, tmp_path
):
    folder = tmp_path / "widgets"
    folder.mkdir()
    assert claim(store, Checkout(str(folder)), checkouts).slug == "widgets"
    git.init(folder)
    record = find_record(store, Checkout(str(folder)), checkouts)
    assert record is not None
    assert record.slug == "widgets"
    git(tmp_path, "clone", "--quiet", "--no-local", str(folder), "other")
    git(tmp_path / "other", "remote", "remove", "origin")
    (tmp_path / "other" / ".harness").mkdir()
    (tmp_path / "other/.harness/project.json").write_bytes((folder / ".harness/project.json").read_bytes())
    assert find_record(store, Checkout(str(tmp_path / "other")), checkouts) is None


# ------------------------------------------------------------------------------------------------ what is remembered


def tables(checkouts: Checkouts) -> list[str]:
    return sorted(os.listdir(os.path.join(checkouts.state_dir, "stores")))


@pytest.mark.parametrize(
    ("store_id", "is_plain"),
    [("a-b_1", True), ("x" * 100, True), ("x" * 101, False), ("../x", False), ("--", False), (None, False)],
)
def test_what_is_remembered_lies_in_a_folder_named_by_the_store_if_that_can_be(
    git: Git, store, checkouts, tmp_path, monkeypatch, store_id, is_plain
):
    monkeypatch.setattr(lookup, "read_stamp", lambda _: store_id)
    checkouts.remember("1" * 32, owned(store, "widgets"), project(git, tmp_path / "widgets"))
    (name,) = (name for name in tables(checkouts) if not name.startswith("."))
    assert (name == store_id) is is_plain
    assert is_plain or (name.startswith("at-") and len(name) == len("at-01234567"))
    assert checkouts.find("1" * 32) == ("widgets", "widgets")
    assert checkouts.find("2" * 32) is checkouts.find(None) is None


def test_a_table_that_cannot_be_read_is_an_error_that_names_it(git: Git, store, checkouts, tmp_path) -> None:
    checkouts.remember("1" * 32, owned(store, "widgets"), project(git, tmp_path / "widgets"))
    (file,) = (tmp_path / "state").rglob("checkouts.json")
    file.write_text("{")
    with pytest.raises(StorageIOError, match=r"checkouts\.json cannot be read") as refused:
        checkouts.find("1" * 32)
    assert "register --adopt" in (refused.value.hint or "")


def test_remembering_the_same_again_writes_nothing(git: Git, store: FileStore, checkouts, tmp_path: Path) -> None:
    record, here = owned(store, "widgets"), project(git, tmp_path / "widgets")
    checkouts.remember("1" * 32, record, here)
    (file,) = (tmp_path / "state").rglob("checkouts.json")
    before = file.stat()
    checkouts.remember("1" * 32, record, here)
    after = file.stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_a_checkout_goes_on_being_known_by_the_id_that_its_record_had_alone(git, store, checkouts, tmp_path) -> None:
    """A store that is brought back to what it was has no other."""
    here = project(git, tmp_path / "widgets")
    checkouts.remember("1" * 32, owned(store, "widgets"), here)
    united = lookup.record_in({"id": "a", "ids": ["a", "widgets"], "remotes": []}, Locator("projects/widgets"))
    checkouts.remember("1" * 32, united, here)
    assert checkouts.find("1" * 32) == ("widgets", "widgets")


def test_where_nothing_can_be_remembered_only_a_project_with_a_remote_is_claimed(git, store, tmp_path, monkeypatch):
    (tmp_path / "state").write_text("no folder")
    checkouts = Checkouts(str(tmp_path / "state"), store)
    monkeypatch.setattr(Checkouts, "find", lambda *_: None)
    assert claim(store, project(git, tmp_path / "with"), checkouts).slug == "widgets"
    with pytest.raises(StorageIOError):
        claim(store, project(git, tmp_path / "without", None), checkouts)
    assert not store.exists(Locator("projects/without"))


# ------------------------------------------------------------------------------------------------ claims


@pytest.mark.parametrize("step", ["agentm_kernel.projects.lookup.Checkouts.remember", CREATE, AFTER_CREATE])
@pytest.mark.parametrize("is_named", [False, True])
def test_a_first_write_without_a_remote_that_is_cut_off_takes_no_second_name_when_it_is_repeated(
    git: Git, store: FileStore, checkouts: Checkouts, tmp_path: Path, monkeypatch, step: str, is_named: bool
) -> None:
    here = project(git, tmp_path / "widgets", None)

    def claimed() -> str:
        if is_named:
            return claim_as(store, here, checkouts, "widgets", adopting=False).slug
        return claim(store, here, checkouts).slug

    def cut_off(*given: object) -> None:
        if step == AFTER_CREATE:
            create_record(*given)  # type: ignore[arg-type]
        raise StorageIOError("cut off")

    with monkeypatch.context() as patched:
        patched.setattr(step.removesuffix(" afterwards"), cut_off)
        with pytest.raises(StorageIOError, match="cut off"):
            claimed()
    assert store.exists(Locator("projects/widgets/_project.json")) is (step == AFTER_CREATE)
    assert claimed() == "widgets"
    assert not store.exists(Locator("projects/widgets-2"))


def test_the_first_write_in_a_new_store_that_is_cut_off_takes_no_second_name_when_it_is_repeated(
    git: Git, store: FileStore, checkouts: Checkouts, tmp_path: Path, monkeypatch
) -> None:
    """The store gets its mark with the record, and this device remembers projects by the marks of stores."""
    here = project(git, tmp_path / "widgets", None)

    def cut_off(*given: object) -> None:
        stamp_store(store)
        create_record(*given)  # type: ignore[arg-type]
        raise StorageIOError("cut off")

    with monkeypatch.context() as patched:
        patched.setattr(CREATE, cut_off)
        with pytest.raises(StorageIOError, match="cut off"):
            claim(store, here, checkouts)
    assert find_place(store, here, checkouts).slug == "widgets"
    assert claim(store, here, checkouts).slug == "widgets"
    assert find_record(store, here, checkouts) is not None


@pytest.mark.parametrize("step", ["lookup.Checkouts.remember", "claiming.make_checkout_id"])
@pytest.mark.parametrize("is_named", [False, True])
def test_a_first_write_that_is_cut_off_is_not_taken_for_that_of_a_project_that_was_forgotten(
    git: Git, store: FileStore, checkouts: Checkouts, tmp_path: Path, monkeypatch, step: str, is_named: bool
) -> None:
    """Its checkout would have an id that this device does not know, and its name is that of another project."""
    here = project(git, tmp_path / "widgets", None)
    owned(store, "widgets")

    def claimed() -> Place:
        if is_named:
            return claim_as(store, here, checkouts, "gadgets", adopting=False)
        return claim(store, here, checkouts)

    def cut_off(*_: object) -> None:
        raise RuntimeError("cut off")

    with monkeypatch.context() as patched:
        patched.setattr(f"agentm_kernel.projects.{step}", cut_off)
        with pytest.raises(RuntimeError, match="cut off"):
            claimed()
    assert claim(store, here, checkouts).slug == "widgets-2"


def test_a_checkout_stays_what_it_is_where_it_cannot_have_the_name_that_the_operator_gives(
    git: Git, store: FileStore, checkouts: Checkouts, tmp_path: Path, monkeypatch
) -> None:
    here = project(git, tmp_path / "widgets", None)
    claim(store, here, checkouts)

    def taken(*_: object) -> None:
        raise ConcurrentModificationError("somebody was faster")

    monkeypatch.setattr(CREATE, taken)
    with pytest.raises(ConfigError, match="has just taken the name 'gadgets'"):
        claim_as(store, here, checkouts, "gadgets", adopting=False)
    assert claim(store, here, checkouts).slug == "widgets"


def test_of_two_first_writes_of_a_project_without_a_remote_the_second_finds_the_first_ones_name(
    git: Git, store: FileStore, checkouts: Checkouts, tmp_path: Path
) -> None:
    here = project(git, tmp_path / "widgets", None)
    make_checkout_id(here)
    inside, go_on = threading.Event(), threading.Event()

    class Slow(BackendLayer):
        def write(self, locator: Locator, content: str, **condition: object) -> Locator:
            inside.set()
            go_on.wait(5)
            return self.inner.write(locator, content, **condition)  # type: ignore[arg-type]

    places: list[Place] = []
    first = threading.Thread(target=lambda: places.append(claim(Slow(store), Checkout(here.root), checkouts)))
    second = threading.Thread(target=lambda: places.append(claim(store, Checkout(here.root), checkouts)))
    first.start()
    assert inside.wait(10)
    second.start()
    second.join(0.5)
    go_on.set()
    first.join()
    second.join()
    assert [place.slug for place in places] == ["widgets", "widgets"]
    assert not store.exists(Locator("projects/widgets-2"))


def test_of_two_first_writes_at_once_neither_takes_the_checkout_for_one_that_was_forgotten(
    git: Git, store: FileStore, checkouts: Checkouts, tmp_path: Path, monkeypatch
) -> None:
    """The second one meets the id that the first one has just made, and that nothing remembers yet."""
    root = project(git, tmp_path / "widgets", None).root
    owned(store, "widgets")  # another project without a remote
    made, second_is_here = threading.Event(), threading.Event()
    places: list[Place] = []

    def make_and_wait(*given: Checkout) -> str | None:
        found = make_checkout_id(*given)
        if not made.is_set():
            made.set()
            second_is_here.wait(10)
        return found

    lock = Checkouts.lock

    def lock_and_tell(of: Checkouts) -> AbstractContextManager[object]:
        if made.is_set():
            second_is_here.set()
        return lock(of)

    def claim_second() -> None:
        try:
            places.append(claim(store, Checkout(root), checkouts))
        finally:
            second_is_here.set()

    monkeypatch.setattr("agentm_kernel.projects.claiming.make_checkout_id", make_and_wait)
    monkeypatch.setattr(Checkouts, "lock", lock_and_tell)
    first = threading.Thread(target=lambda: places.append(claim(store, Checkout(root), checkouts)))
    second = threading.Thread(target=claim_second)
    first.start()
    assert made.wait(10)
    second.start()
    first.join()
    second.join()
    assert [place.slug for place in places] == ["widgets-2", "widgets-2"]


def part_of(checkout: Checkout, name: str) -> Checkout:
    folder = os.path.join(checkout.root, name)
    os.makedirs(os.path.join(folder, ".harness"), exist_ok=True)
    return Checkout(folder)


def test_a_new_part_of_a_repository_is_not_taken_for_a_project_that_was_forgotten(git, store, checkouts, tmp_path):
    """It has the id of the repository, and somebody else of this device has the name that it would like to have."""
    whole = project(git, tmp_path / "widgets", None)
    claim(store, whole, checkouts)
    claim(store, project(git, tmp_path / "elsewhere/tools", None), checkouts)
    assert claim(store, part_of(whole, "tools"), checkouts).slug == "tools-tools"


def test_a_part_that_was_forgotten_is_asked_about_although_its_repository_is_known_again(
    git, store, checkouts, tmp_path
):
    whole = project(git, tmp_path / "widgets", None)
    claim(store, whole, checkouts)
    assert claim(store, part_of(whole, "tools"), checkouts).slug == "tools"
    shutil.rmtree(tmp_path / "state")
    claim_as(store, whole, checkouts, "widgets", adopting=True)
    with pytest.raises(ConfigError, match="this may be the project 'tools'"):
        claim(store, part_of(whole, "tools"), checkouts)


def test_what_lies_beside_the_tables_of_this_device_is_none_of_them(git: Git, store, checkouts, tmp_path) -> None:
    """A file manager leaves its own files wherever somebody looked."""
    here = project(git, tmp_path / "widgets", None)
    owned(store, "widgets")
    assert claim(store, here, checkouts).slug == "widgets-2"
    (tmp_path / "state/stores/.DS_Store").write_bytes(b"\0")
    copied = project(git, tmp_path / "elsewhere/widgets", None)
    (tmp_path / "elsewhere/widgets/.git/agentm-checkout").write_text(f"{'1' * 32}\n")
    with pytest.raises(ConfigError, match="this may be the project 'widgets'"):
        claim(store, copied, checkouts)


def test_a_project_that_gets_a_remote_later_keeps_its_name_and_is_found_by_it(
    git, store, checkouts, tmp_path
) -> None:
    here = project(git, tmp_path / "widgets", None)
    claim(store, here, checkouts)
    git(tmp_path / "widgets", "remote", "add", "origin", f"https://{MINE}")
    place = claim(store, Checkout(here.root), checkouts)
    assert place.record is not None
    assert (place.slug, place.record.remotes) == ("widgets", (MINE,))
    assert lookup.read_pointer(store, MINE) == "widgets"


def test_another_remote_is_not_let_in_by_a_write(git: Git, store: FileStore, checkouts, tmp_path: Path) -> None:
    here = project(git, tmp_path / "widgets")
    claim(store, here, checkouts)
    git(tmp_path / "widgets", "remote", "set-url", "origin", f"https://{THEIRS}")
    moved = Checkout(here.root)
    place = claim(store, moved, checkouts)
    assert place.record is not None
    assert (place.slug, place.record.remotes) == ("widgets", (MINE,))
    assert "the remote is github.com/bob/widgets now" in (notice_about(place, moved) or "")
    assert notice_about(place, here) is None


def test_an_operator_names_a_project_and_may_not_take_anothers(git: Git, store, checkouts, tmp_path) -> None:
    here = project(git, tmp_path / "widgets")
    owned(store, "theirs", THEIRS)
    with pytest.raises(ConfigError, match="belongs to github.com/bob/widgets; this is github.com/ada/widgets"):
        claim_as(store, here, checkouts, "theirs", adopting=False)
    assert claim_as(store, here, checkouts, "mine", adopting=False).slug == "mine"
    assert claim_as(store, here, checkouts, "mine", adopting=False).slug == "mine", "it is its own already"
    place = claim_as(store, here, checkouts, "theirs", adopting=True)
    assert place.record is not None
    assert place.record.remotes == (THEIRS, MINE)


def test_without_remotes_a_project_is_its_own_by_what_this_device_remembers(git, store, checkouts, tmp_path) -> None:
    here, other = (project(git, tmp_path / name, None) for name in ("here", "other"))
    claim_as(store, here, checkouts, "widgets", adopting=False)
    claim_as(store, here, checkouts, "widgets", adopting=False)
    with pytest.raises(
        ConfigError, match="belongs to another checkout, which has no remote; this is a checkout without"
    ):
        claim_as(store, other, checkouts, "widgets", adopting=False)
    claim_as(store, other, checkouts, "gadgets", adopting=False)
    with pytest.raises(ConfigError):
        claim_as(store, other, checkouts, "widgets", adopting=False)
    claim_as(store, other, checkouts, "widgets", adopting=True)
    claim_as(store, other, checkouts, "widgets", adopting=False)


def test_a_name_that_is_taken_in_another_spelling_is_said_to_be(git: Git, store, checkouts, tmp_path) -> None:
    owned(store, "Widgets", THEIRS)
    with pytest.raises(ConfigError, match="has just taken the name 'widgets', or has it in another spelling"):
        claim_as(store, project(git, tmp_path / "widgets"), checkouts, "widgets", adopting=False)


def test_notes_without_an_owner_are_taken_where_they_lie(git: Git, store, checkouts, tmp_path) -> None:
    store.write(Locator("personal-projects/widgets/old.md"), "x")
    here = project(git, tmp_path / "widgets")
    with pytest.raises(ConfigError, match="nothing says which repository"):
        find_place(store, here, checkouts)
    place = claim_as(store, here, checkouts, "widgets", adopting=False)
    assert (place.folder.key, place.layout) == ("personal-projects/widgets", "legacy")
    assert Place(Locator("projects/widgets"), None).layout == "new"


def test_nothing_to_know_a_project_by_is_said_before_anything_is_written(
    git, store, checkouts, tmp_path, monkeypatch
):
    monkeypatch.setattr("agentm_kernel.projects.claiming.make_checkout_id", lambda *_: None)
    with pytest.raises(ConfigError, match=r"no remote, and nothing can be written to .*\.git to know it by"):
        claim(store, project(git, tmp_path / "without", None), checkouts)
    assert not store.exists(Locator("projects"))
    assert claim(store, project(git, tmp_path / "widgets"), checkouts).slug == "widgets"


def test_a_project_every_name_of_which_is_taken_is_told_to_choose_one(git, store, checkouts, tmp_path, monkeypatch):
    here = project(git, tmp_path / "widgets")
    monkeypatch.setattr(Checkout, "names", lambda _: iter(["widgets"]))
    owned(store, "widgets", THEIRS)
    for attempt in (find_place, claim):
        with pytest.raises(ConfigError, match="every name that 'widgets' could have") as refused:
            attempt(store, here, checkouts)
        assert "--slug" in (refused.value.hint or "")


# ------------------------------------------------------------------------------------------------ records


def test_a_record_that_is_gone_is_not_made_anew_by_adding_a_remote(store: FileStore) -> None:
    record = owned(store, "widgets", MINE)
    store.delete(record.locator)
    with pytest.raises(ConfigError, match="is gone"):
        add_remote(store, record, THEIRS)
    assert not store.exists(record.locator)


def test_a_note_that_says_already_what_it_should_is_left_in_the_spelling_that_it_has(store: FileStore) -> None:
    text = f'{{"remotes":["{MINE}"],\n\n"id":"widgets"}}'
    record = owned(store, "widgets", MINE)
    store.write(record.locator, text)
    add_remote(store, record, MINE)
    change_record(store, record, {"moved_to": None})
    assert store.read(record.locator) == text


def test_fields_of_a_record_are_changed_taken_out_and_otherwise_kept(store: FileStore) -> None:
    record = owned(store, "widgets", MINE, other="kept", moved_to="x")
    change_record(store, record, {"moved_to": None, "moved_to_store": "S"})
    assert json.loads(store.read(record.locator)) == {
        "id": "widgets",
        "remotes": [MINE],
        "other": "kept",
        "moved_to_store": "S",
    }
    store.delete(record.locator)
    change_record(store, record, {"moved_to": "y"})
    assert json.loads(store.read(record.locator)) == {"version": 1, "id": "widgets", "moved_to": "y"}


def test_a_name_is_taken_by_one_record_only(store: FileStore) -> None:
    record = owned(store, "widgets", MINE)
    with pytest.raises(ConcurrentModificationError):
        create_record(store, record)


def test_a_declared_name_that_the_store_does_not_use_is_noticed(store: FileStore) -> None:
    record = owned(store, "widgets-2", MINE)
    declared = Checkout("/nowhere/here", "widgets", "`vault_project` in project.json")
    said = notice_about(Place(record.folder, record), declared)
    assert said is not None
    assert said.startswith("`vault_project` in project.json says 'widgets', but this project is 'widgets-2'")
    assert notice_about(Place(Locator("projects/widgets"), None), declared) is None


def test_a_folder_in_which_nothing_lies_keeps_nobody_from_the_name(git: Git, store, checkouts, tmp_path) -> None:
    store.mkdir(Locator("projects/widgets"))
    assert lookup.has_notes(store, "widgets") is None
    assert claim(store, project(git, tmp_path / "widgets"), checkouts).slug == "widgets"
