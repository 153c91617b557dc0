"""One set of notes, one root; and every note comes back out of it."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings, strategies as st

from agentm_checkpoint.reading import follow, reachable, read_note, read_tree
from agentm_checkpoint.tree import MAX_ENTRIES, MAX_PART, build_tree, leaf_of, note_blocks

NAMES = st.text("abcü", min_size=1, max_size=3)
KEYS = st.lists(NAMES, min_size=1, max_size=4).map("/".join)


def is_a_store(keys) -> bool:
    """No key is both a note and a folder."""
    return not any(f"{other}/".startswith(f"{key}/") for key in keys for other in keys if key != other)


STORES = st.dictionaries(KEYS, st.binary(max_size=20), max_size=12).filter(is_a_store)


def tree_of(notes):
    leaves, blocks = {}, {}
    for key, data in notes.items():
        leaves[key], found = note_blocks(data)
        blocks |= found
    root, nodes = build_tree(leaves)
    return root, blocks | nodes


def notes_of(root, blocks):
    leaves = read_tree(root, blocks.__getitem__, from_stranger=True)
    return {key: read_note(leaf, blocks.__getitem__) for key, leaf in leaves.items()}


@given(STORES)
@settings(max_examples=200, deadline=None)
def test_every_note_comes_back(notes):
    assert notes_of(*tree_of(notes)) == notes


@given(STORES, STORES)
@settings(max_examples=200, deadline=None)
def test_two_stores_have_one_root_only_if_they_are_the_same(one, other):
    assert (tree_of(one)[0].cid == tree_of(other)[0].cid) == (one == other)


@given(STORES, st.randoms())
@settings(max_examples=50, deadline=None)
def test_the_order_in_which_notes_are_found_does_not_matter(notes, generator: random.Random):
    shuffled = list(notes.items())
    generator.shuffle(shuffled)

    assert tree_of(notes)[0].cid == tree_of(dict(shuffled))[0].cid


def test_totals_count_everything_below():
    root, _ = tree_of({"a/b/c.md": b"123", "a/d.md": b"4", "e.md": b""})

    assert (root.notes, root.size) == (3, 4)


def test_an_empty_store_has_a_root_too():
    root, blocks = tree_of({})

    assert notes_of(root, blocks) == {}


def test_unchanged_folders_are_shared():
    before = {f"{folder}/{number}.md": b"text" for folder in "abcdefgh" for number in range(5)}
    _, old = tree_of(before)
    _, new = tree_of({**before, "a/0.md": b"changed"})

    assert len(new.keys() - old.keys()) == 3  # the note, its folder, the root


@pytest.mark.parametrize("size", [0, 1, MAX_PART - 1, MAX_PART, MAX_PART + 1, 2 * MAX_PART, 2 * MAX_PART + 5])
def test_a_note_of_any_length_comes_back(size):
    data = bytes(number % 251 for number in range(size % MAX_PART)).rjust(size, b"x")

    root, blocks = tree_of({"note.md": data})

    assert notes_of(root, blocks) == {"note.md": data}
    assert leaf_of(data) == note_blocks(data)[0]
    assert max(map(len, blocks.values())) <= MAX_PART


@pytest.mark.parametrize("count", [MAX_ENTRIES, MAX_ENTRIES + 1, 5000])
def test_a_folder_with_any_number_of_notes_is_kept_in_blocks_of_bounded_size(count):
    notes = {f"{'long name ' * 10}{number}.md": b"" for number in range(count)}

    root, blocks = tree_of(notes)

    assert notes_of(root, blocks) == notes
    assert max(map(len, blocks.values())) < 1 << 20


def test_a_change_in_a_large_folder_does_not_rewrite_all_of_it():
    notes = {f"note-{number}.md": b"text" for number in range(5000)}
    _, old = tree_of(notes)
    _, new = tree_of({**notes, "note-77.md": b"changed"})

    added = new.keys() - old.keys()
    assert sum(len(new[cid]) for cid in added) < 50_000


def test_everything_below_a_root_is_reached_once():
    root, blocks = tree_of({"a/x.md": b"same", "b/x.md": b"same", "long.md": b"x" * (MAX_PART + 1)})

    reached = list(reachable(root.cid, blocks.__getitem__))

    assert len(reached) == len(set(reached))
    assert set(reached) == set(blocks)


def test_what_is_known_to_be_whole_is_not_followed_again_and_what_is_shared_only_once():
    leaf, found = note_blocks(b"text")
    root, nodes = build_tree({"one/a.md": leaf, "two/a.md": leaf, "c.md": leaf})
    blocks, fetched = found | nodes, []

    def fetch(cid):
        fetched.append(cid)
        return blocks[cid]

    whole = set()
    assert follow(root.cid, fetch, blocks.__contains__, whole) is None
    assert len(fetched) == 2  # the folders `one` and `two` are one block
    assert whole == {*blocks}
    assert follow(root.cid, fetch, blocks.__contains__, whole) is None
    assert len(fetched) == 2


def test_what_is_missing_below_a_root_is_named_and_nothing_is_taken_for_whole():
    leaf, found = note_blocks(b"text")
    root, nodes = build_tree({"one/a.md": leaf, "c.md": note_blocks(b"other")[0]})
    whole = set()

    assert follow(root.cid, nodes.__getitem__, (nodes | found).__contains__, whole) == "c.md"
    assert follow(root.cid, nodes.__getitem__, nodes.__contains__, whole) in ("c.md", "one/a.md")
    assert follow(root.cid, nodes.__getitem__, {}.__contains__, whole) == ""
    assert whole == set()
