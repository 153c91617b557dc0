"""Whose name a project's name is: two repositories of one name never share a plan."""

from __future__ import annotations

import json
import multiprocessing
from typing import TYPE_CHECKING

import pytest

from agentm_kernel import AgentmError, Locator
from agentm_kernel.plugin import ABSENT, ConfigError, FileStore, InvalidContentError, StorageIOError
from agentm_kernel.projects.in_store import place_in_store
from agentm_kernel.projects.ownership import adopt, check_ownership, claim_ownership, owners
from agentm_kernel.projects.slug import identify_project
from agentm_kernel.seam.layer import BackendLayer

if TYPE_CHECKING:
    from pathlib import Path

    from tests.kernel.projects.conftest import Git

MINE, THEIRS = "github.com/ada/widgets", "github.com/bob/widgets"
RECORD = Locator("projects/widgets/_project.json")


def test_a_name_that_nobody_has_is_open_to_readers_and_stays_so(store: FileStore) -> None:
    check_ownership(store, "widgets", MINE)
    assert owners(store, "widgets") == ()
    assert not store.exists(RECORD)


def test_the_first_writer_gets_the_name(store: FileStore) -> None:
    claim_ownership(store, "widgets", MINE)
    assert json.loads(store.read(RECORD)) == {"version": 1, "remote": MINE}
    assert store.read(RECORD).endswith("}\n")
    check_ownership(store, "widgets", MINE)


def test_claiming_again_writes_nothing(store: FileStore) -> None:
    claim_ownership(store, "widgets", MINE)
    before = store.info(RECORD)
    claim_ownership(store, "widgets", MINE)
    assert store.info(RECORD) == before


@pytest.mark.parametrize("ask", [check_ownership, claim_ownership])
@pytest.mark.parametrize("stranger", [THEIRS, None])
def test_another_repository_is_refused_with_both_ways_out(
    store: FileStore, ask: object, stranger: str | None
) -> None:
    claim_ownership(store, "widgets", MINE)
    with pytest.raises(ConfigError, match=f"belongs to {MINE}") as caught:
        ask(store, "widgets", stranger)  # type: ignore[operator]
    assert "--slug NAME" in (caught.value.hint or "")
    assert "--adopt" in (caught.value.hint or "")
    assert owners(store, "widgets") == (MINE,)


def test_who_has_no_identity_claims_nothing(store: FileStore) -> None:
    claim_ownership(store, "widgets", None)
    assert not store.exists(RECORD)


def test_an_adopted_repository_is_let_in_beside_the_first(store: FileStore) -> None:
    claim_ownership(store, "widgets", MINE)
    for _ in range(2):
        adopt(store, "widgets", THEIRS)
    assert json.loads(store.read(RECORD)) == {"version": 1, "remote": MINE, "aliases": [THEIRS]}
    check_ownership(store, "widgets", THEIRS)
    check_ownership(store, "widgets", MINE)
    with pytest.raises(ConfigError):
        check_ownership(store, "widgets", "github.com/eve/widgets")


def test_adopting_a_name_that_nobody_has_claims_it(store: FileStore) -> None:
    adopt(store, "widgets", MINE)
    assert owners(store, "widgets") == (MINE,)


def test_fields_that_this_version_does_not_know_stay(store: FileStore) -> None:
    store.write(RECORD, '{"note": "kept", "remote": "github.com/ada/widgets"}')
    adopt(store, "widgets", THEIRS)
    assert json.loads(store.read(RECORD)) == {"note": "kept", "remote": MINE, "aliases": [THEIRS]}


def test_a_record_without_an_owner_takes_the_first_that_comes(store: FileStore) -> None:
    store.write(RECORD, '{"version": 1}')
    check_ownership(store, "widgets", THEIRS)
    claim_ownership(store, "widgets", MINE)
    assert owners(store, "widgets") == (MINE,)


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", '{"version": 2}', '{"remote": 5}', '{"remote": ""}', '{"remote": "a", "aliases": "b"}']
    + ['{"remote": "a", "aliases": [1]}', '{"aliases": ["b"]}', '{"remote": "a", "remote": "b"}'],
)
def test_a_record_that_cannot_be_understood_lets_nobody_in_and_is_left_as_it_is(store: FileStore, text: str) -> None:
    store.write(RECORD, text)
    for ask in (check_ownership, claim_ownership, adopt):
        with pytest.raises(InvalidContentError, match=r"projects/widgets/_project\.json"):
            ask(store, "widgets", "a")
    assert store.read(RECORD) == text


def test_a_record_that_cannot_be_read_is_an_error_and_not_a_free_name(store: FileStore) -> None:
    class Broken(BackendLayer):
        def read(self, locator: Locator) -> str:
            raise StorageIOError(f"cannot read '{locator}'")

    for ask in (check_ownership, claim_ownership):
        with pytest.raises(StorageIOError):
            ask(Broken(store), "widgets", MINE)
    assert not store.exists(RECORD)


def test_a_claim_does_not_hide_what_lies_in_the_older_layout(store: FileStore) -> None:
    store.write(Locator("personal-projects/widgets/_harness/PLAN.md"), "the plan\n")
    claim_ownership(store, "widgets", MINE)
    assert place_in_store(store, "widgets") == ("legacy", Locator("personal-projects/widgets"))
    with pytest.raises(ConfigError):
        check_ownership(store, "widgets", THEIRS)


def test_the_newer_layout_is_asked_first(store: FileStore) -> None:
    store.write(Locator("personal-projects/widgets/_project.json"), json.dumps({"remote": THEIRS}))
    store.write(RECORD, json.dumps({"remote": MINE}))
    check_ownership(store, "widgets", MINE)


# ------------------------------------------------------------------------------------------------ races, checkouts


def claim_or_say(root: str, remote: str) -> str:
    store = FileStore(root, create_root=True)
    try:
        claim_ownership(store, "widgets", remote)
    except AgentmError as error:
        return type(error).__name__
    return remote


def test_of_many_repositories_that_claim_at_once_exactly_one_wins(tmp_path: Path) -> None:
    root = str(tmp_path / "store")
    remotes = [f"example.com/{number}/widgets" for number in range(4)] * 3
    with multiprocessing.get_context("spawn").Pool(6) as pool:
        answers = pool.starmap(claim_or_say, [(root, remote) for remote in remotes])
    (winner,) = owners(FileStore(root), "widgets")
    assert [answer == winner for answer in answers] == [remote == winner for remote in remotes]
    assert {answer for answer in answers if answer != winner} == {"ConfigError"}


def test_a_claim_that_comes_between_looking_and_writing_is_respected(store: FileStore) -> None:
    class Overtaken(BackendLayer):
        """Another repository claims the name at the very moment of our write."""

        def write(self, locator: Locator, content: str, **condition: object) -> Locator:
            if not self.inner.exists(locator):
                self.inner.write(locator, json.dumps({"version": 1, "remote": THEIRS}), if_match=ABSENT)
            return self.inner.write(locator, content, **condition)  # type: ignore[arg-type]

    with pytest.raises(ConfigError, match=f"belongs to {THEIRS}"):
        claim_ownership(Overtaken(store), "widgets", MINE)
    assert owners(store, "widgets") == (THEIRS,)


def test_every_checkout_of_one_repository_is_let_in_and_no_other(git: Git, store: FileStore, tmp_path: Path) -> None:
    root = git.init(tmp_path / "widgets", remote="https://github.com/ada/widgets.git")
    git(root, "worktree", "add", "--quiet", str(tmp_path / "tree"))
    second = git.init(tmp_path / "renamed", remote="git@github.com:ada/widgets.git")
    other = git.init(tmp_path / "fork" / "widgets", remote="git@github.com:bob/widgets.git")
    local = git.init(tmp_path / "local" / "widgets")
    projects = {path: identify_project(str(path)) for path in (root, tmp_path / "tree", second, other, local)}
    assert {project.slug for project in projects.values()} == {"widgets"}

    for path in (root, tmp_path / "tree", second):
        claim_ownership(store, projects[path].slug, projects[path].remote)
    for path in (other, local):
        with pytest.raises(ConfigError, match=f"belongs to {MINE}"):
            check_ownership(store, projects[path].slug, projects[path].remote)
