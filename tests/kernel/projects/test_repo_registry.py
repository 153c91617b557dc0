"""The registry of repositories rides on whichever store is selected, and loses no entry to another writer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from agentm_kernel import Locator
from agentm_kernel.plugin import FileStore, InvalidContentError, InvalidLocatorError
from agentm_kernel.projects.repo_registry import (
    list_repos,
    read_registry,
    register_repo,
    registry_locator,
    unregister_repo,
)

if TYPE_CHECKING:
    from pathlib import Path

REGISTRY = Locator("_meta/repos.json")


def test_it_lies_in_the_stores_own_folder(store: FileStore) -> None:
    assert registry_locator(store) == REGISTRY


def test_a_store_without_one_has_an_empty_one_and_reading_creates_nothing(store: FileStore, tmp_path: Path) -> None:
    assert read_registry(store) == {"version": 1, "repos": []}
    assert list_repos(store) == []
    assert not (tmp_path / "store").exists()


def test_a_registered_repository_is_listed_with_what_is_known_about_it(store: FileStore) -> None:
    registry = register_repo(store, "widgets", "/src/widgets", remote="git@github.com:o/w.git", wiki_path="/src/wiki")
    entry = {"slug": "widgets", "root_path": "/src/widgets", "remote": "github.com/o/w", "wiki_path": "/src/wiki"}
    assert registry == read_registry(store) == {"version": 1, "repos": [entry]}


def test_what_is_not_known_is_left_out(store: FileStore, tmp_path: Path) -> None:
    register_repo(store, "widgets", tmp_path)
    assert list_repos(store) == [{"slug": "widgets", "root_path": tmp_path.as_posix()}]


def test_the_file_is_readable_by_people_and_ends_with_a_newline(store: FileStore) -> None:
    register_repo(store, "wïdgets", "/src")
    assert store.read(REGISTRY).splitlines(keepends=True) == [
        "{\n",
        '  "version": 1,\n',
        '  "repos": [\n',
        "    {\n",
        '      "slug": "wïdgets",\n',
        '      "root_path": "/src"\n',
        "    }\n",
        "  ]\n",
        "}\n",
    ]


def test_no_password_reaches_the_store(store: FileStore) -> None:
    register_repo(store, "widgets", "/src", remote="https://ada:s3cret@github.com/o/w.git")
    assert "s3cret" not in store.read(REGISTRY)


def test_registering_again_renews_the_entry_in_its_place_and_keeps_the_rest(store: FileStore) -> None:
    store.write(
        REGISTRY,
        json.dumps(
            {
                "owner": "ada",
                "repos": [
                    {"slug": "widgets", "root_path": "/old", "wiki_path": "/wiki", "colour": "red"},
                    {"slug": "other", "root_path": "/other"},
                ],
            }
        ),
    )
    register_repo(store, "widgets", "/new")
    assert read_registry(store) == {
        "owner": "ada",
        "repos": [
            {"slug": "widgets", "root_path": "/new", "wiki_path": "/wiki", "colour": "red"},
            {"slug": "other", "root_path": "/other"},
        ],
    }


def test_registering_what_is_registered_already_writes_nothing(store: FileStore) -> None:
    register_repo(store, "widgets", "/src")
    before = store.info(REGISTRY)
    register_repo(store, "widgets", "/src")
    assert store.info(REGISTRY) == before


def test_unregistering_takes_the_entry_out_and_says_whether_there_was_one(store: FileStore) -> None:
    register_repo(store, "one", "/one")
    register_repo(store, "two", "/two")
    assert unregister_repo(store, "one") is True
    assert [repo["slug"] for repo in list_repos(store)] == ["two"]
    before = store.info(REGISTRY)
    assert unregister_repo(store, "one") is False
    assert store.info(REGISTRY) == before


def test_unregistering_from_a_store_without_a_registry_creates_none(store: FileStore, tmp_path: Path) -> None:
    assert unregister_repo(store, "widgets") is False
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize("slug", ["", " ", "a/b", "..", "con"])
def test_a_slug_that_is_no_plain_name_is_refused_before_anything_is_written(
    store: FileStore, tmp_path: Path, slug: str
) -> None:
    for change in (lambda: register_repo(store, slug, "/src"), lambda: unregister_repo(store, slug)):
        with pytest.raises(InvalidLocatorError) as caught:
            change()
        assert isinstance(caught.value, ValueError)
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "{}", '{"repos": {}}', '{"repos": [5]}', '{"repos": [{}]}', '{"repos": [{"slug": 5}]}']
    + ['{"version": 2, "repos": []}', '{"repos": [], "repos": []}'],
)
def test_a_registry_that_cannot_be_understood_is_an_error_and_never_written_over(store: FileStore, text: str) -> None:
    store.write(REGISTRY, text)
    for use in (
        lambda: list_repos(store),
        lambda: register_repo(store, "widgets", "/src"),
        lambda: unregister_repo(store, "widgets"),
    ):
        with pytest.raises(InvalidContentError, match=r"_meta/repos\.json"):
            use()
    assert store.read(REGISTRY) == text


@pytest.mark.skipif(os.name == "nt", reason="Windows has other names")
def test_the_entry_that_cannot_be_understood_is_counted_as_people_count(store: FileStore) -> None:
    store.write(REGISTRY, '{"version": 1, "repos": [{"slug": "a"}, {}]}')
    with pytest.raises(InvalidContentError, match="without a slug, number 2"):
        read_registry(store)


def test_a_folder_whose_name_is_not_text_can_be_registered(store: FileStore) -> None:
    register_repo(store, "widgets", os.fsdecode(b"/src/caf\xe9"))
    assert list_repos(store) == [{"slug": "widgets", "root_path": "/src/caf\\xe9"}]


def test_registrations_from_many_processes_at_once_are_all_kept(tmp_path: Path) -> None:
    script = (
        "import sys; from agentm_kernel.plugin import FileStore\n"
        "from agentm_kernel.projects.repo_registry import register_repo\n"
        "store = FileStore(sys.argv[1], create_root=True)\n"
        "sys.stdin.read()  # all start together\n"
        "for number in range(20): register_repo(store, f'{sys.argv[2]}-{number}', '/src')"
    )
    root = str(tmp_path / "store")
    writers = [
        subprocess.Popen([sys.executable, "-c", script, root, str(writer)], stdin=subprocess.PIPE)
        for writer in range(6)
    ]
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.close()
    assert [writer.wait(timeout=120) for writer in writers] == [0] * 6
    slugs = [repo["slug"] for repo in list_repos(FileStore(root))]
    assert sorted(slugs) == sorted(f"{writer}-{number}" for writer in range(6) for number in range(20))
