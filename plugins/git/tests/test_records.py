"""Two versions of a record of who is who become one that has both."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentm_git.records import united

RECORD = "projects/widgets/_project.json"
POINTER = "_meta/remotes/0a1b2c3d.json"
REPOS = "_meta/repos.json"


def both(path: str, origin: Any, here: Any) -> Any:
    whole = united(path, json.dumps(origin).encode(), json.dumps(here).encode())
    return None if whole is None else json.loads(whole)


def test_a_record_has_the_ids_of_both_and_the_smallest_is_its_own() -> None:
    found = both(RECORD, {"id": "b", "ids": ["b", "d"]}, {"id": "c", "ids": ["a", 7], "name": "w"})
    assert found == {"id": "a", "ids": ["a", "b", "c", "d"], "name": "w"}
    assert both(RECORD, {"id": 7}, {"id": 7, "name": "w"}) == {"id": 7, "name": "w"}


@pytest.mark.parametrize("where_to", ["moved_to", "moved_to_store"])
def test_of_two_projects_the_one_that_has_left_the_name_takes_nothing_of_the_other_along(where_to: str) -> None:
    left, stayed = {"id": "a", "remotes": [], where_to: "gadgets"}, {"id": "b", "remotes": ["example.com/ben/w"]}
    assert both(RECORD, left, stayed) == both(RECORD, stayed, left) == stayed
    both_left = {**stayed, where_to: "tools"}
    assert both(RECORD, left, both_left) == both(RECORD, both_left, left) == left


def test_a_project_that_has_left_a_name_leaves_it_to_the_one_that_shares_it_meanwhile() -> None:
    left = {"id": "a", "remotes": [], "moved_to": "gadgets"}
    shared = {"id": "a", "ids": ["a", "b"], "remotes": ["example.com/ana/w", "example.com/ben/w"]}
    stayed = {**shared, "id": "b", "ids": ["b"]}
    assert both(RECORD, left, shared) == both(RECORD, shared, left) == stayed


def test_a_project_that_was_renamed_in_one_clone_is_renamed_in_the_other() -> None:
    renamed, known = {"id": "a", "remotes": [], "moved_to": "gadgets"}, {"id": "a", "remotes": ["example.com/ana/w"]}
    assert both(RECORD, renamed, known)["moved_to"] == both(RECORD, known, renamed)["moved_to"] == "gadgets"


@pytest.mark.parametrize("path", [POINTER, REPOS])
def test_only_a_record_has_ids(path: str) -> None:
    assert both(path, {"id": "b"}, {"id": "a", "x": 1}) == {"id": "a", "x": 1}


def test_lists_follow_each_other_and_have_no_entry_twice() -> None:
    assert both(REPOS, {"repos": [1, 2]}, {"repos": [2, 3]}) == {"repos": [1, 2, 3]}


@pytest.mark.parametrize(
    ("origin", "here", "value"), [("b", "a", "a"), ("a", "b", "a"), (10, 9, 10), ([1], "x", [1])]
)
def test_of_two_values_the_smaller_stands_on_either_side(origin: object, here: object, value: object) -> None:
    assert both(POINTER, {"x": origin}, {"x": here}) == {"x": value}


def test_the_text_is_as_people_read_it() -> None:
    assert united(REPOS, b'{"a": "\xc3\xb6"}', b'{"b": 1}') == '{\n  "b": 1,\n  "a": "ö"\n}\n'.encode()


@pytest.mark.parametrize(
    "path",
    ["plan.md", "_meta/repos.json.md", "_meta/remotes.json", "_project.json", "projects/_project.json",
     "elsewhere/widgets/_project.json", "projects/widgets/a_project.json"],
)  # fmt: skip
def test_any_other_note_is_left_to_the_policy(path: str) -> None:
    assert both(path, {"a": 1}, {"b": 2}) is None


@pytest.mark.parametrize(
    ("origin", "here"),
    [({"version": 1}, {"version": 2}), ({"version": 1}, {}), ([], {}), ({}, "text"), (None, {})],
)
def test_what_is_not_understood_is_left_to_the_policy(origin: object, here: object) -> None:
    assert both(REPOS, origin, here) is None
    assert united(REPOS, b"{", b"{}") is None
    assert united(REPOS, b"{}", b"\xff") is None
