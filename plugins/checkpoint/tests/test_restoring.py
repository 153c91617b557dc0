"""Back to a checkpoint: planned first, on condition, and never over somebody else's change."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from agentm_checkpoint.capture import take
from agentm_checkpoint.restoring import apply_restore, check_contents, plan_restore
from agentm_checkpoint.tree import note_blocks
from agentm_checkpoint.verifying import verified_leaves
from agentm_devkit.conformance.memory import MemoryBackend
from agentm_kernel import Capabilities, Locator
from agentm_kernel.errors import (
    ConcurrentModificationError,
    IntegrityError,
    LocatorConflictError,
    NotFoundError,
    StorageError,
)


@pytest.fixture(params=["store", "memory"])
def backend(request):
    """Two backends that have nothing in common but the seam."""
    return request.getfixturevalue(request.param)


class Time:
    """Checkpoints of one store, and the way back to them."""

    def __init__(self, backend, open_image):
        self.backend = backend
        self._open_image = open_image

    def mark(self):
        image = self._open_image()
        return verified_leaves(image, take(self.backend, image, author="a", reason="mark").snapshot)

    def plan(self, wanted, **options):
        return plan_restore(self.backend, wanted, self.mark(), **options)

    def back_to(self, wanted, **options):
        steps = self.plan(wanted, **options)
        fetch = self._open_image().fetch
        check_contents(steps, fetch)
        apply_restore(self.backend, steps, fetch)
        return steps


@pytest.fixture
def past(backend, open_image):
    return Time(backend, open_image)


def test_a_store_comes_back_byte_for_byte(past, backend, make_notes, write_notes, notes_in):
    write_notes(backend, make_notes(150))
    wanted = past.mark()
    before = notes_in(backend)
    generator = random.Random(5)
    for key in generator.sample(sorted(wanted), 60):
        if generator.random() < 0.5:
            backend.delete(Locator(key))
        else:
            backend.write(Locator(key), "spoilt")
    write_notes(backend, {f"new/{number}.md": "new" for number in range(20)})

    past.back_to(wanted)

    assert notes_in(backend) == before


def test_only_what_differs_is_written(past, backend):
    for name in "abc":
        backend.write(Locator(f"{name}.md"), name)
    wanted = past.mark()
    backend.write(Locator("b.md"), "changed")
    backend.delete(Locator("c.md"))
    backend.write(Locator("d.md"), "new")

    steps = past.plan(wanted)

    assert [(step.verb, step.key) for step in steps] == [("delete", "d.md"), ("replace", "b.md"), ("create", "c.md")]


def test_a_plan_changes_nothing(past, backend, notes_in):
    backend.write(Locator("a.md"), "one")
    wanted = past.mark()
    backend.write(Locator("a.md"), "two")
    before = notes_in(backend)

    past.plan(wanted)

    assert notes_in(backend) == before


def test_a_part_comes_back_alone(past, backend, notes_in):
    backend.write(Locator("skills/a.md"), "a")
    backend.write(Locator("notes/b.md"), "b")
    wanted = past.mark()
    backend.write(Locator("skills/a.md"), "x")
    backend.write(Locator("skills/new.md"), "x")
    backend.write(Locator("notes/b.md"), "x")

    past.back_to(wanted, paths=["skills"])

    held = notes_in(backend)
    assert (held["skills/a.md"], held["notes/b.md"]) == ("a", "x")
    assert "skills/new.md" not in held


def test_a_path_that_is_nowhere_is_refused(past, backend):
    wanted = past.mark()

    with pytest.raises(NotFoundError):
        past.plan(wanted, paths=["nowhere"])


@pytest.mark.parametrize("said", [{"moved_to": "gadgets"}, {"moved_to_store": "another"}])
@pytest.mark.parametrize("path", ["projects/widgets/facts/tea.md", "projects/widgets"])
def test_no_part_comes_back_to_a_name_that_only_says_where_its_project_went(past, backend, notes_in, path, said):
    record = {"version": 1, "id": "1", "remotes": []}
    backend.write(Locator("projects/widgets/_project.json"), json.dumps(record))
    backend.write(Locator("projects/widgets/facts/tea.md"), "We drink tea.\n")
    wanted = past.mark()
    backend.delete(Locator("projects/widgets/facts/tea.md"))
    backend.write(Locator("projects/gadgets/_project.json"), json.dumps(record))
    backend.write(Locator("projects/widgets/_project.json"), json.dumps({**record, **said}))
    before = notes_in(backend)

    with pytest.raises(LocatorConflictError, match=r"are in 'projects/gadgets' now|in another store"):
        past.plan(wanted, paths=[path])

    assert notes_in(backend) == before
    assert past.back_to(wanted)


def test_notes_that_came_later_can_be_kept(past, backend, notes_in):
    wanted = past.mark()
    backend.write(Locator("later.md"), "later")

    past.back_to(wanted, keep_extra=True)

    assert notes_in(backend)["later.md"] == "later"


@pytest.mark.parametrize("meanwhile", ["other", None])
def test_a_note_that_somebody_changes_meanwhile_is_left_alone(past, backend, open_image, meanwhile, notes_in):
    for name in "abc":
        backend.write(Locator(f"{name}.md"), name)
    wanted = past.mark()
    for name in "abc":
        backend.write(Locator(f"{name}.md"), "spoilt")
    steps = past.plan(wanted)
    if meanwhile is None:
        backend.delete(Locator("b.md"))
    else:
        backend.write(Locator("b.md"), meanwhile)

    with pytest.raises(ConcurrentModificationError, match="1 of 3"):
        apply_restore(backend, steps, open_image().fetch)

    assert notes_in(backend).get("b.md") == meanwhile
    past.back_to(wanted)
    assert notes_in(backend)["b.md"] == "b"


def test_a_note_that_somebody_creates_meanwhile_is_left_alone(past, backend, open_image, notes_in):
    backend.write(Locator("a.md"), "a")
    wanted = past.mark()
    backend.delete(Locator("a.md"))
    steps = past.plan(wanted)
    backend.write(Locator("a.md"), "theirs")

    with pytest.raises(ConcurrentModificationError):
        apply_restore(backend, steps, open_image().fetch)
    assert notes_in(backend)["a.md"] == "theirs"


def test_a_note_that_is_edited_before_a_restore_would_delete_it_stays(past, backend, open_image, notes_in):
    wanted = past.mark()
    backend.write(Locator("a.md"), "mine")
    steps = past.plan(wanted)
    backend.write(Locator("a.md"), "theirs")

    with pytest.raises(ConcurrentModificationError):
        apply_restore(backend, steps, open_image().fetch)
    assert notes_in(backend)["a.md"] == "theirs"


def test_a_store_that_cannot_delete_says_so_before_anything_is_written(open_image, notes_in):
    class ConflictKeeper(MemoryBackend):
        @property
        def capabilities(self):
            return Capabilities()

    backend = ConflictKeeper()
    backend.write(Locator("_meta/store.json"), '{"id": "x", "layout": 1}')
    past = Time(backend, open_image)
    backend.write(Locator("a.md"), "a")
    wanted = past.mark()
    backend.write(Locator("a.md"), "b")
    backend.write(Locator("extra.md"), "x")

    with pytest.raises(StorageError, match="cannot delete"):
        past.plan(wanted)
    past.back_to(wanted, keep_extra=True)
    assert notes_in(backend)["a.md"] == "a"


def test_a_folder_that_took_the_place_of_a_note_is_refused_in_the_plan(past, backend):
    backend.write(Locator("a"), "note")
    wanted = past.mark()
    backend.delete(Locator("a"))
    backend.write(Locator("a/b.md"), "below")

    with pytest.raises(LocatorConflictError):
        past.plan(wanted, keep_extra=True)


def test_what_is_no_text_in_the_place_of_a_note_is_refused_in_the_plan_and_left_where_it_is(store, open_image):
    past = Time(store, open_image)
    for name in ("a.md", "b.md"):
        store.write(Locator(name), "as it was")
    wanted = past.mark()
    file = Path(store.root, "a.md")
    file.write_bytes(b"saved as Latin-1: \xfc")
    store.write(Locator("b.md"), "changed")
    with pytest.raises(LocatorConflictError, match=r"'a\.md' is no text") as refused:
        past.plan(wanted)
    assert "move what is in the way" in refused.value.hint
    file.rename(file.with_suffix(".old"))
    past.back_to(wanted)
    assert [store.read(Locator(name)) for name in ("a.md", "b.md")] == ["as it was", "as it was"]


def test_names_that_differ_only_in_case_are_refused_in_the_plan(past, backend):
    backend.write(Locator("Plan.md"), "one")
    wanted = past.mark()
    backend.delete(Locator("Plan.md"))
    backend.write(Locator("plan.md"), "two")

    with pytest.raises(LocatorConflictError, match="case"):
        past.plan(wanted, keep_extra=True)


def test_a_damaged_checkpoint_is_refused_before_anything_is_written(past, backend, open_image, image_file, notes_in):
    backend.write(Locator("a.md"), "precious text")
    backend.write(Locator("b.md"), "b")
    wanted = past.mark()
    backend.write(Locator("a.md"), "x")
    backend.write(Locator("b.md"), "x")
    steps = past.plan(wanted)
    image_file.write_bytes(image_file.read_bytes().replace(b"precious text", b"poisoned text"))
    before = notes_in(backend)

    with pytest.raises(IntegrityError):
        check_contents(steps, open_image().fetch)
    assert notes_in(backend) == before


def test_a_checkpoint_with_a_note_that_is_no_text_is_refused_before_anything_is_written(past, backend, notes_in):
    leaf, blocks = note_blocks(b"\xff\xfe no text")
    steps = past.plan({"a.md": leaf})
    before = notes_in(backend)

    with pytest.raises(IntegrityError, match=r"'a\.md' is not text"):
        check_contents(steps, blocks.__getitem__)
    with pytest.raises(IntegrityError, match=r"'a\.md' is not text"):
        apply_restore(backend, steps, blocks.__getitem__)
    assert notes_in(backend) == before


def test_the_log_of_alerts_survives_going_back(past, backend, notes_in):
    wanted = past.mark()
    backend.write(Locator("_meta/alerts.md"), "what happened")

    past.back_to(wanted)

    assert notes_in(backend)["_meta/alerts.md"] == "what happened"
