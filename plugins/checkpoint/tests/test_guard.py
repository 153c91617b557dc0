"""Guarded notes: every change from outside is caught on the next read, and no write through agentm ever locks."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading

import pytest

from agentm_checkpoint.guard import IntegrityGuard, below_guard, describe, find_guard, wrap
from agentm_checkpoint.guarded import guarded_keys, survey_guarded
from agentm_checkpoint.known_good import KnownGood, Record
from agentm_checkpoint.tree import leaf_of
from agentm_kernel import Locator, update
from agentm_kernel.errors import (
    ConcurrentModificationError,
    ConfigError,
    IntegrityError,
    NotFoundError,
    StorageIOError,
    StorageSelectionError,
)
from agentm_kernel.plugin import ABSENT, BackendLayer, FileStore, Opening, Unguarded, content_hash

SKILL = "# Deploy\n\n```bash\nmake deploy\n```\n\n## After\n\nRest.\n"
DEPLOY = Locator("skills/deploy.md")
TRIALS = 150


@pytest.fixture
def alerts():
    return []


@pytest.fixture
def guard(store, context, alerts):
    made = IntegrityGuard(store, None, *context, tell=lambda _, key, what: alerts.append((key, what)))
    made.write(DEPLOY, SKILL)
    return made


@pytest.fixture
def reader(store, context, alerts):
    """The same store and device, opened by a hook that may only read."""
    device, opening = context
    read_only = Opening(read_only=True, state_dir=opening.state_dir)
    return IntegrityGuard(store, None, device, read_only, tell=lambda _, key, what: alerts.append((key, what)))


def refused(guard, locator=DEPLOY):
    with pytest.raises(IntegrityError) as refusal:
        guard.read(locator)
    return refusal.value


# ------------------------------------------------------------------------------------------------ reading and writing


def test_what_was_written_through_it_is_read(guard, store):
    assert guard.read(DEPLOY) == SKILL
    assert store.read(DEPLOY) == SKILL


def test_what_is_not_under_guard_is_none_of_its_business(guard, store, alerts):
    guard.write(Locator("notes/a.md"), "one")
    store.write(Locator("notes/a.md"), "two")

    assert guard.read(Locator("notes/a.md")) == "two"
    assert alerts == []


def test_a_guarded_note_that_nobody_wrote_is_not_found(guard, alerts):
    with pytest.raises(NotFoundError):
        guard.read(Locator("skills/none.md"))
    assert alerts == []


def test_writing_on_condition_works_as_ever(guard):
    guard.write(DEPLOY, "two", if_match=content_hash(SKILL))
    guard.write(Locator("skills/new.md"), "new", if_match=ABSENT)

    for condition in (ABSENT, content_hash("other")):
        with pytest.raises(ConcurrentModificationError):
            guard.write(DEPLOY, "three", if_match=condition)
    assert guard.read(DEPLOY) == "two"
    assert guard.read(Locator("skills/new.md")) == "new"


def test_deleting_works_as_ever(guard):
    with pytest.raises(ConcurrentModificationError):
        guard.delete(DEPLOY, if_match=content_hash("other"))
    guard.delete(DEPLOY)

    with pytest.raises(NotFoundError):
        guard.read(DEPLOY)
    with pytest.raises(NotFoundError):
        guard.delete(DEPLOY)
    guard.write(DEPLOY, "again")
    assert guard.read(DEPLOY) == "again"


def test_a_long_note_is_guarded_too(guard, store):
    long = "a long line\n" * 200_000
    guard.write(DEPLOY, long)
    assert guard.read(DEPLOY) == long

    store.write(DEPLOY, long[:-2] + "!\n")
    refused(guard)


def test_a_store_that_nobody_has_written_to_has_nothing_to_guard(tmp_path, context):
    class Fresh(BackendLayer):
        def mkdir(self, locator):
            self.inner.write(Locator("_meta/store.json"), '{"id": "fresh", "layout": 1}')
            return self.inner.mkdir(locator)

    guard = IntegrityGuard(Fresh(FileStore(tmp_path / "fresh", create_root=True)), None, *context)

    with pytest.raises(NotFoundError):
        guard.read(DEPLOY)
    guard.write(DEPLOY, SKILL)
    assert guard.read(DEPLOY) == SKILL


def test_a_write_that_is_refused_leaves_no_folder_behind(guard, store, context):
    newly_opened = IntegrityGuard(store, None, *context)

    with pytest.raises(ConcurrentModificationError):
        newly_opened.write(Locator("skills/new/deploy.md"), SKILL, if_match=content_hash("other"))

    assert not store.exists(Locator("skills/new"))


# ------------------------------------------------------------------------------------------------ tampering


def test_a_change_from_outside_locks_the_note_and_names_the_section(guard, store, alerts):
    store.write(DEPLOY, SKILL.replace("make deploy", "rm -rf /"))

    error = refused(guard)

    assert "code block 1 (bash) under 'Deploy' was changed" in error.message
    assert "accept skills/deploy.md" in error.hint
    assert [key for key, _ in alerts] == ["skills/deploy.md"]


def test_a_locked_note_is_not_written_nor_deleted(guard, store):
    store.write(DEPLOY, "evil")
    refused(guard)

    for change in (lambda: guard.write(DEPLOY, "x"), lambda: guard.delete(DEPLOY)):
        with pytest.raises(IntegrityError, match="locked"):
            change()
    with pytest.raises(IntegrityError):
        update(guard, DEPLOY, lambda _: "x")
    assert store.read(DEPLOY) == "evil"


def test_a_change_that_nobody_has_read_yet_is_not_overwritten_either(guard, store, alerts):
    store.write(DEPLOY, "evil")

    with pytest.raises(IntegrityError):
        guard.write(DEPLOY, "x")
    assert store.read(DEPLOY) == "evil"
    assert len(alerts) == 1


def test_a_lock_outlasts_the_change_that_set_it(guard, store):
    store.write(DEPLOY, "evil")
    refused(guard)
    store.write(DEPLOY, SKILL)

    assert "locked" in refused(guard).message


def test_the_alert_is_raised_once_however_often_and_by_whomever_it_is_read(guard, store, context, alerts):
    store.write(DEPLOY, "evil")
    for _ in range(3):
        refused(guard)
    other = IntegrityGuard(store, None, *context, tell=lambda _, key, what: alerts.append((key, what)))
    refused(other)

    assert len(alerts) == 1


def test_other_guarded_notes_stay_open(guard, store):
    guard.write(Locator("skills/other.md"), "fine")
    store.write(DEPLOY, "evil")
    refused(guard)

    assert guard.read(Locator("skills/other.md")) == "fine"


@pytest.mark.parametrize("how", ["removed", "added", "swapped", "replaced by a folder"])
def test_files_that_come_go_or_change_places_are_caught(guard, store, tmp_path, how):
    other = Locator("skills/other.md")
    guard.write(other, "# Other\n")
    files = tmp_path / "store" / "skills"
    suspect = DEPLOY
    if how == "removed":
        (files / "deploy.md").unlink()
    elif how == "added":
        suspect = Locator("skills/added.md")
        (files / "added.md").write_text("evil")
    elif how == "swapped":
        os.rename(files / "deploy.md", files / "aside")
        os.rename(files / "other.md", files / "deploy.md")
        os.rename(files / "aside", files / "other.md")
        refused(guard, other)
    else:
        (files / "deploy.md").unlink()
        (files / "deploy.md").mkdir()

    refused(guard, suspect)


def test_a_file_that_is_no_text_any_more_is_an_error_all_the_same(guard, tmp_path):
    from agentm_kernel.errors import InvalidContentError

    (tmp_path / "store" / "skills" / "deploy.md").write_bytes(b"\xff\xfe")

    with pytest.raises(InvalidContentError):
        guard.read(DEPLOY)


def test_any_change_whatever_is_caught_on_the_next_read(store, context, tmp_path):
    generator = random.Random(6)
    caught = 0
    for trial in range(TRIALS):
        guard = IntegrityGuard(store, None, *context, tell=lambda *_: None)
        key = Locator(f"skills/{trial}.md")
        text = "".join(generator.choice("ab# \n`é") for _ in range(generator.randint(1, 300)))
        guard.write(key, text)
        assert guard.read(key) == text
        data = bytearray(text.encode())
        file = tmp_path / "store" / "skills" / f"{trial}.md"
        data[generator.randrange(len(data))] ^= 1 << generator.randrange(7)
        status = file.stat()
        file.write_bytes(bytes(data))
        os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))  # an intruder who covers the traces
        with pytest.raises((IntegrityError, ValueError)):
            guard.read(key)
        caught += 1
    assert caught == TRIALS


def test_whoever_can_only_write_the_store_cannot_bless_a_change(guard, store, context):
    store.write(DEPLOY, "evil")
    refused(guard)
    for key in [info.locator for info in store.walk(Locator("_meta"))]:
        if key.name != "store.json":
            store.delete(key)

    refused(IntegrityGuard(store, None, *context, tell=lambda *_: None))


def test_what_was_there_before_the_guard_has_to_be_accepted(store, context):
    store.write(DEPLOY, SKILL)
    guard = IntegrityGuard(store, None, *context, tell=lambda *_: None)

    assert "nobody has accepted it" in refused(guard).message
    guard.accept(DEPLOY, leaf_of(SKILL.encode()))
    assert guard.read(DEPLOY) == SKILL


# ------------------------------------------------------------------------------------------------ who only reads


def test_a_reader_refuses_and_writes_nothing(guard, reader, store, tmp_path, alerts):
    store.write(DEPLOY, "evil")
    before = {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*")}

    refused(reader)
    refused(reader)

    assert {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*")} == before
    assert len(alerts) == 1


def test_a_reader_heeds_a_lock(guard, reader, store):
    store.write(DEPLOY, "evil")
    refused(guard)
    store.write(DEPLOY, SKILL)

    assert "locked" in refused(reader).message


# ------------------------------------------------------------------------------------------------ the operator


def test_accepting_makes_the_note_good_and_unlocks_it(guard, store):
    store.write(DEPLOY, "better")
    refused(guard)

    guard.accept(DEPLOY, guard.stored(DEPLOY))

    assert guard.read(DEPLOY) == "better"
    guard.write(DEPLOY, "and on")


def test_only_what_was_shown_is_accepted(guard, store):
    store.write(DEPLOY, "better")
    shown = guard.stored(DEPLOY)
    store.write(DEPLOY, "evil")

    with pytest.raises(ConcurrentModificationError):
        guard.accept(DEPLOY, shown)
    refused(guard)


def test_accepting_that_a_note_is_gone(guard, store):
    store.delete(DEPLOY)
    refused(guard)

    guard.accept(DEPLOY, None)

    with pytest.raises(NotFoundError):
        guard.read(DEPLOY)


def test_the_operator_writes_over_a_locked_note_and_unlocks_it(guard, store):
    store.write(DEPLOY, "evil")
    refused(guard)

    with guard.operator():
        guard.write(DEPLOY, SKILL, if_match=content_hash("evil"))

    assert guard.read(DEPLOY) == SKILL
    store.write(DEPLOY, "evil")
    with pytest.raises(IntegrityError):
        guard.write(DEPLOY, "x")


# ------------------------------------------------------------------------------------------------ races and crashes

WRITER = """
import random, sys
from agentm_checkpoint.guard import IntegrityGuard
from agentm_kernel.plugin import Device, FileStore, Locator, Opening, update
root, state, seed = sys.argv[1:]
guard = IntegrityGuard(FileStore(root), None, Device({}), Opening(state_dir=state), tell=lambda *_: print("ALERT"))
for number in range(25):
    update(guard, Locator("skills/shared.md"), lambda text: (text or "") + seed)
    guard.write(Locator(f"skills/{seed}.md"), str(number))
    assert guard.read(Locator(f"skills/{seed}.md")) == str(number)
    guard.read(Locator("skills/shared.md"))
    guard.delete(Locator(f"skills/{seed}.md"))
"""


def test_writers_and_readers_at_once_never_lock(store, context, guard, reader, alerts):
    command = [sys.executable, "-c", WRITER, store.describe(), context[1].state_dir]
    writers = [subprocess.Popen([*command, seed], stdout=subprocess.PIPE, text=True) for seed in "ab"]
    done = threading.Event()
    failures = []

    def read_on():
        while not done.is_set():
            try:
                reader.read(Locator("skills/shared.md"))
            except NotFoundError:
                pass
            except Exception as error:
                failures.append(error)
                return

    thread = threading.Thread(target=read_on)
    thread.start()
    said = [writer.communicate(timeout=120)[0] for writer in writers]
    done.set()
    thread.join()

    assert (said, [writer.returncode for writer in writers]) == (["", ""], [0, 0])
    assert failures == []
    assert alerts == []
    assert sorted(guard.read(Locator("skills/shared.md"))) == ["a"] * 25 + ["b"] * 25


@pytest.mark.parametrize("moment", ["before the write", "after the write"])
def test_a_writer_that_dies_on_the_way_locks_nothing(guard, store, context, moment):
    class Dies(BackendLayer):
        def write(self, locator, content, *, if_match=None):
            if moment == "after the write":
                self.inner.write(locator, content, if_match=if_match)
            os._exit(9)

    child = os.fork()
    if child == 0:
        IntegrityGuard(Dies(store), None, *context).write(DEPLOY, "new")
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9

    assert guard.read(DEPLOY) == ("new" if moment == "after the write" else SKILL)
    guard.write(DEPLOY, "newer")
    assert guard.read(DEPLOY) == "newer"


@pytest.mark.parametrize("moment", ["before the write", "after the write"])
def test_what_a_dead_writer_left_is_settled_by_the_next_one(guard, store, context, moment):
    """Until then both versions are good; from then on, the one that is there."""
    with guard.record.edit() as edit:
        edit.expect(DEPLOY.key, leaf_of(b"new"))
    if moment == "after the write":
        store.write(DEPLOY, "new")

    guard.write(Locator("skills/other.md"), "other")

    store.write(DEPLOY, SKILL if moment == "after the write" else "new")
    refused(guard)


def test_a_note_that_is_good_at_the_last_look_is_not_locked(guard, store, context, alerts):
    """A reader that saw each write of another process at the worst moment."""

    class Late(BackendLayer):
        stale = 3

        def read(self, locator):
            self.stale -= 1
            return "not written yet" if self.stale >= 0 and locator == DEPLOY else self.inner.read(locator)

    late = IntegrityGuard(Late(store), None, *context, tell=lambda _, key, what: alerts.append(key))

    assert late.read(DEPLOY) == SKILL
    assert (alerts, guard.record.read().locks()) == ([], {})


def test_a_write_that_fails_leaves_what_was_known(guard, store, context):
    class Fails(BackendLayer):
        def write(self, locator, content, *, if_match=None):
            raise StorageIOError("the disk is full")

    with pytest.raises(StorageIOError):
        IntegrityGuard(Fails(store), None, *context).write(DEPLOY, "new")

    assert guard.read(DEPLOY) == SKILL
    store.write(DEPLOY, "new")
    refused(guard)


def test_an_intruder_between_the_look_and_the_write_is_caught(guard, store, context):
    class Intruded(BackendLayer):
        def write(self, locator, content, *, if_match=None):
            self.inner.write(locator, "evil")
            return self.inner.write(locator, content, if_match=if_match)

    with pytest.raises(IntegrityError):
        IntegrityGuard(Intruded(store), None, *context, tell=lambda *_: None).write(DEPLOY, "new")
    assert store.read(DEPLOY) == "evil"


# ------------------------------------------------------------------------------------------------ the record


@pytest.mark.parametrize("damage", [b"", b"nonsense", b"\0" * 200])
def test_a_damaged_record_lets_nothing_through(guard, store, context, damage):
    with open(guard.record.path, "wb") as file:
        file.write(damage)

    with pytest.raises(IntegrityError, match="damaged"):
        IntegrityGuard(store, None, *context).read(DEPLOY)


def test_a_record_that_cannot_be_read_lets_nothing_through(guard, store, context):
    os.unlink(guard.record.path)
    os.mkdir(guard.record.path)

    with pytest.raises(StorageIOError):
        IntegrityGuard(store, None, *context).read(DEPLOY)


def test_another_process_is_believed_at_once(guard, store, context):
    other = IntegrityGuard(store, None, *context)
    for number in range(20):
        other.write(DEPLOY, f"version {number % 3}")
        assert guard.read(DEPLOY) == f"version {number % 3}"


def test_what_is_known_has_a_root_of_its_own(guard):
    before = guard.record.read().root()
    guard.write(DEPLOY, "new")

    assert guard.record.read().root() != before
    assert before.startswith("bafyrei")


def test_an_empty_record_knows_nothing(tmp_path):
    assert Record(str(tmp_path / "none")).current().leaves() == {}
    assert KnownGood().accepts("skills/a.md", None)


# ------------------------------------------------------------------------------------------------ all of them


def test_all_guarded_notes_are_surveyed_and_nothing_is_changed(guard, store, alerts):
    guard.write(Locator("skills/good.md"), "good")
    guard.write(Locator("skills/gone.md"), "gone")
    store.delete(Locator("skills/gone.md"))
    store.write(DEPLOY, "evil")
    store.write(Locator("skills/deep/added.md"), "new")

    survey = survey_guarded(guard)

    assert sorted(survey.problems) == ["skills/deep/added.md", "skills/deploy.md", "skills/gone.md"]
    assert (survey.checked, survey.total) == (4, 4)
    assert (alerts, guard.record.read().locks()) == ([], {})


def test_a_survey_ends_when_its_time_is_over(guard):
    survey = survey_guarded(guard, seconds=-1)

    assert (survey.checked, survey.total) == (0, 1)


def test_a_single_note_can_be_under_guard(store, context):
    guard = IntegrityGuard(store, ["AGENTS.md", "x/*/y.md"], *context)
    guard.write(Locator("AGENTS.md"), "a")
    guard.write(Locator("x/1/y.md"), "y")
    guard.write(Locator("other.md"), "o")

    assert guarded_keys(guard) == ["AGENTS.md", "x/1/y.md"]


def test_a_single_note_that_the_guard_has_never_seen_is_looked_at_too(store, context):
    store.write(Locator("AGENTS.md"), "somebody else's")
    assert guarded_keys(IntegrityGuard(store, ["AGENTS.md"], *context)) == ["AGENTS.md"]


@pytest.mark.parametrize(
    ("pattern", "key", "guarded"),
    [
        ("skills/**", "skills/a.md", True),
        ("skills/**", "skills/a/b/c.md", True),
        ("skills/**", "skills", False),
        ("skills/**", "other/skills/a.md", False),
        ("skills/**", "skills2/a.md", False),
        ("/skills/**", "skills/a.md", True),
        ("**", "anything/at/all.md", True),
        ("**/SKILL.md", "SKILL.md", True),
        ("**/SKILL.md", "a/b/SKILL.md", True),
        ("**/SKILL.md", "a/SKILL.md.bak", False),
        ("skills/*.md", "skills/a.md", True),
        ("skills/*.md", "skills/a/b.md", False),
        ("s*l*s/x", "skills/x", True),
        ("s*l*s/x", "sils/x", True),
        ("s*l*s/x", "siss/x", False),
        ("*", "a.md", True),
        ("a*a", "a", False),
    ],
)
def test_patterns_mean_what_they_say(store, context, pattern, key, guarded):
    assert IntegrityGuard(store, [pattern], *context).is_guarded(key) is guarded


@pytest.mark.parametrize("patterns", ["skills/**", [1], [""], ["/"], {"a": 1}, 5])
def test_patterns_that_are_none_are_refused(store, context, patterns):
    with pytest.raises(ConfigError, match="patterns"):
        wrap(store, {"guard": patterns}, *context)


def test_an_option_that_does_not_exist_is_refused(store, context):
    with pytest.raises(StorageSelectionError, match="gaurd"):
        wrap(store, {"gaurd": ["skills/**"]}, *context)


def test_the_guard_is_found_among_other_layers(guard, store):
    class Outer(BackendLayer):
        passes = (Unguarded,)

    outer = Outer(guard)

    assert find_guard(outer) is guard
    assert below_guard(outer) is store
    assert find_guard(store) is None
    assert below_guard(store) is store


def test_a_layer_that_does_not_know_the_guard_does_not_lead_below_it(guard):
    outer = BackendLayer(guard)

    assert find_guard(outer) is None
    assert below_guard(outer) is outer


def test_what_cannot_be_named_is_still_described():
    assert "removed" in describe("skills/a.md", None, _known("skills/a.md", "text"))


def _known(key, text):
    from agentm_checkpoint.sections import marks_of

    size, cid = leaf_of(text.encode())
    marks = [[*mark] for mark in marks_of(text.encode())]
    return KnownGood({"good": {key: [size, cid, marks]}, "locked": {}, "pending": {}})
