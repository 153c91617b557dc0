from __future__ import annotations

import copy
import json

import pytest
from hypothesis import given, settings, strategies as st

from agentm_kernel.device.config import settings_in
from agentm_kernel.device.config_writer import put, take_out

PUT = {
    "into an empty document: as it is typed": ({}, "storage.backend", {"storage.backend": 1}),
    "beside dotted keys: dotted": (
        {"storage.backend": 0, "x": {}},
        "plugins.v.path",
        {"storage.backend": 0, "x": {}, "plugins.v.path": 1},
    ),
    "beside nested groups: nested": (
        {"storage": {"backend": 0}},
        "plugins.v.path",
        {"storage": {"backend": 0}, "plugins": {"v": {"path": 1}}},
    ),
    "over a dotted key: dotted": (
        {"a": 0, "storage.backend": 0, "z": 0},
        "storage.backend",
        {"a": 0, "storage.backend": 1, "z": 0},
    ),
    "over a nested key: nested": (
        {"storage": {"backend": 0, "policy": 0}, "z": 0},
        "storage.backend",
        {"storage": {"backend": 1, "policy": 0}, "z": 0},
    ),
    "over a half dotted key: half dotted": ({"plugins": {"v.path": 0}}, "plugins.v.path", {"plugins": {"v.path": 1}}),
    "into the group that is there": (
        {"storage": {"policy": 0}, "plugins.v.path": 0},
        "storage.backend",
        {"storage": {"policy": 0, "backend": 1}, "plugins.v.path": 0},
    ),
    "into the half dotted group that is there": (
        {"plugins.v": {"path": 0}},
        "plugins.v.other",
        {"plugins.v": {"path": 0, "other": 1}},
    ),
    "into a plugin's own object": (
        {"plugins": {"v": {"spaces": {"a": 0}}}},
        "plugins.v.spaces.b",
        {"plugins": {"v": {"spaces": {"a": 0, "b": 1}}}},
    ),
    "into somebody's object": ({"clones": {"a": 0}}, "clones.b", {"clones": {"a": 0, "b": 1}}),
    "into a nested group beside dotted keys: nested there": (
        {"plugins": {"w": {}}, "storage.backend": 0},
        "plugins.v.path",
        {"plugins": {"w": {}, "v": {"path": 1}}, "storage.backend": 0},
    ),
    "below a plugin's option: no deeper than options go": (
        {"plugins": {"v": {}}},
        "plugins.v.spaces.b",
        {"plugins": {"v": {"spaces.b": 1}}},
    ),
    "beside a value where the group should be: dotted, and the value stays": (
        {"plugins": {}, "storage": 0},
        "storage.backend",
        {"plugins": {}, "storage": 0, "storage.backend": 1},
    ),
    "below somebody's key in a nested document: dotted": (
        {"plugins": {}},
        "theirs.key",
        {"plugins": {}, "theirs.key": 1},
    ),
    "a group as a whole, beside nested groups": ({"storage": {}}, "plugins", {"storage": {}, "plugins": 1}),
    "a top-level key": ({"storage": {}}, "state_mode", {"storage": {}, "state_mode": 1}),
}


@pytest.mark.parametrize(("document", "key", "expected"), PUT.values(), ids=PUT)
def test_a_value_is_put(document, key, expected):
    put(document, key, 1)
    assert json.dumps(document) == json.dumps(expected)  # the order of the file is kept too


def test_putting_ends_a_quarrel_between_two_spellings():
    document = {"storage": {"backend": 0}, "storage.backend": 2}
    put(document, "storage.backend", 1)
    assert document == {"storage": {"backend": 1}}


TAKEN = {
    "dotted": ({"storage.backend": 0, "x": 0}, "storage.backend", {"x": 0}),
    "nested, and the object left empty": ({"storage": {"backend": 0}, "x": 0}, "storage.backend", {"x": 0}),
    "nested, and the object kept": (
        {"storage": {"backend": 0, "policy": 0}},
        "storage.backend",
        {"storage": {"policy": 0}},
    ),
    "both spellings": ({"storage": {"backend": 0}, "storage.backend": 0}, "storage.backend", {}),
    "a whole group": (
        {"plugins": {"v": {"a": 0}, "w": {"b": 0}}, "plugins.v.c": 0, "plugins.vv.c": 0},
        "plugins.v",
        {"plugins": {"w": {"b": 0}}, "plugins.vv.c": 0},
    ),
    "inside somebody's object": ({"x": {"a.b": 0, "c": 0}}, "x.a.b", {"x": {"c": 0}}),
    "empty objects of others stay": ({"y": {}, "x": 0}, "x", {"y": {}}),
}


@pytest.mark.parametrize(("document", "key", "expected"), TAKEN.values(), ids=TAKEN)
def test_a_setting_is_taken_out(document, key, expected):
    assert take_out(document, key)
    assert document == expected


@pytest.mark.parametrize("key", ["storage.policy", "stor", "storage.backend.x", "x.y", "backend"])
def test_what_is_not_there_is_not_taken_out(key):
    document = {"storage": {"backend": 0}, "x": 0, "y": {}}
    before = copy.deepcopy(document)
    assert not take_out(document, key)
    assert document == before


KEYS = st.sampled_from(
    ["storage.backend", "storage.policy", "plugins.v.a", "plugins.v.b", "plugins.w.a", "state_mode"]
)
LEAVES = {"state_mode": "local"}


@settings(deadline=None)
@given(st.lists(KEYS, unique=True), st.lists(st.tuples(st.booleans(), KEYS), max_size=8), st.booleans())
def test_after_any_edits_the_document_says_what_was_put_and_not_taken_out(start, edits, nested):
    document: dict[str, object] = {"storage": {}} if nested else {"other.key": 0}
    expected: dict[str, object] = {} if nested else {"other.key": 0}
    for is_put, key in [(True, key) for key in start] + edits:
        if is_put:
            put(document, key, LEAVES.get(key, key))
            expected[key] = LEAVES.get(key, key)
        else:
            assert take_out(document, key) == (key in expected)
            expected.pop(key, None)
    assert settings_in(document, "the file") == expected
