"""A condition reaches the store: through every layer, by every command, and what does not meet it changes nothing.

Each case says what somebody else wrote meanwhile, and that it is still there.
"""

from __future__ import annotations

import os
import pty
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agentm_import.moving.stores import copy_notes, plan_migration, settle
from agentm_kernel import Locator, select_backend
from agentm_kernel.plugin import ABSENT, ConcurrentModificationError, FileStore, content_hash
from tests.pins.laptop import CONFLICT, Laptop, needs_git, posix_only

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from agentm_kernel.plugin import StorageBackend

pytestmark = posix_only

MINE, THEIRS = "mine\n", "theirs\n"
POLICY = "---\nprovider: %s\nconfig: {%s: %s}\n---\n"


# ------------------------------------------------------------------------------------------------ layers


def _default(laptop: Laptop) -> None:
    laptop.must("save", "--kind", "fact", "--slug", "first", input="The store gets its identity.\n")


def _integrity(laptop: Laptop) -> None:
    _default(laptop)
    laptop.must("config", "set", "wrappers", '["integrity"]')


def _vault(laptop: Laptop) -> None:
    laptop.must("vault", "init", str(laptop.folder / "vault"), "--create", "--use")


def _guarded_vault(laptop: Laptop) -> None:
    _vault(laptop)
    laptop.must("config", "set", "wrappers", '["integrity"]')


def _git(laptop: Laptop) -> None:
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    laptop.must("git", "init", str(laptop.home / "team"), "--use")


def _policy(laptop: Laptop) -> None:
    _with_policy(laptop, "dev-local", "root")


def _watched_policy(laptop: Laptop) -> None:
    _with_policy(laptop, "local-fs", "mount_path")


def _with_policy(laptop: Laptop, provider: str, option: str) -> None:
    root = laptop.folder / "shared"
    root.mkdir()
    document = laptop.folder / "STORAGE.md"
    document.write_text(POLICY % (provider, option, root))
    laptop.must("config", "set", "storage.policy", str(document))
    laptop.must("policy", "init")


STORES: dict[str, Callable[[Laptop], None]] = {
    "device-local": _default,
    "integrity": _integrity,
    "vault": _vault,
    "guarded vault": _guarded_vault,
    "git": _git,
    "policy": _policy,
    "watched policy": _watched_policy,
}
KEYS = ("projects/widgets/notes/a.md", "skills/deploy/SKILL.md")
"""An ordinary note, and one of those that the integrity layer guards."""


@pytest.fixture
def laptop(tmp_path: Path) -> Laptop:
    return Laptop(tmp_path)


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, laptop: Laptop, monkeypatch: pytest.MonkeyPatch) -> StorageBackend:
    """The store with all its layers, as a caller in Python gets it."""
    STORES[request.param](laptop)
    for name in [*os.environ]:
        monkeypatch.delenv(name)
    for name, value in laptop.environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(laptop.project)
    return select_backend()


@pytest.mark.parametrize("key", KEYS)
def test_every_layer_hands_the_condition_of_a_write_on(store: StorageBackend, key: str) -> None:
    note = Locator(key)
    store.write(note, THEIRS, if_match=ABSENT)
    for condition in (ABSENT, content_hash("what was there before\n")):
        with pytest.raises(ConcurrentModificationError):
            store.write(note, MINE, if_match=condition)
        assert store.read(note) == THEIRS
    store.write(note, MINE, if_match=content_hash(THEIRS))
    assert store.read(note) == MINE


@pytest.mark.parametrize("key", KEYS)
def test_every_layer_hands_the_condition_of_a_delete_on(store: StorageBackend, key: str) -> None:
    note = Locator(key)
    store.write(note, THEIRS)
    with pytest.raises(ConcurrentModificationError):
        store.delete(note, if_match=content_hash(MINE))
    assert store.read(note) == THEIRS
    store.delete(note, if_match=content_hash(THEIRS))
    assert not store.exists(note)


# ------------------------------------------------------------------------------------------------ commands


@pytest.mark.parametrize("place", [_default, _vault], ids=["checkout", "vault"])
def test_state_write_replaces_only_what_the_caller_has_read(laptop: Laptop, place: Callable[[Laptop], None]) -> None:
    place(laptop)
    laptop.must("state", "write", "PLAN.md", input=THEIRS)
    for condition in ("absent", content_hash("older\n")):
        said = laptop.run("state", "write", "PLAN.md", "--if-match", condition, input=MINE)
        assert said.code == CONFLICT
        assert laptop.must("state", "read", "PLAN.md") == THEIRS
    laptop.must("state", "write", "PLAN.md", "--if-match", content_hash(THEIRS), input=MINE)
    assert laptop.must("state", "read", "PLAN.md") == MINE
    laptop.must("state", "write", "PLAN-next.md", "--if-match", "absent", input=MINE)
    assert laptop.must("state", "read", "PLAN-next.md") == MINE


def test_personal_write_replaces_only_what_the_operator_has_read(laptop: Laptop) -> None:
    _vault(laptop)
    own = laptop.folder / "own"
    own.mkdir()
    laptop.must("config", "set", "plugins.vault.personal_root", str(own))
    note = own / "diary.md"
    note.write_text(THEIRS)
    for condition in ("absent", content_hash("older\n")):
        code, said = at_a_terminal(laptop, "personal", "write", "diary.md", "--if-match", condition)
        assert code == CONFLICT, said
        assert note.read_text() == THEIRS
    code, said = at_a_terminal(laptop, "personal", "write", "diary.md", "--if-match", content_hash(THEIRS))
    assert code == 0, said
    assert note.read_text() == MINE
    code, said = at_a_terminal(laptop, "personal", "write", "new.md", "--if-match", "absent")
    assert code == 0, said
    assert (own / "new.md").read_text() == MINE


def at_a_terminal(laptop: Laptop, *arguments: str) -> tuple[int, str]:
    """The command with `MINE` in a file as its text, and an operator who says yes."""
    body = laptop.folder / "body.md"
    body.write_text(MINE)
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(laptop.project)
        command = [sys.executable, "-m", "agentm_kernel.cli.main", *arguments, "--body-file", str(body)]
        os.execve(sys.executable, command, laptop.environ)
    os.write(terminal, b"yes\n")
    said = b""
    while True:
        try:
            said += os.read(terminal, 4096)
        except OSError:  # the other end is closed
            break
    _, status = os.waitpid(process, 0)
    os.close(terminal)
    return os.waitstatus_to_exitcode(status), said.decode()


def test_of_many_who_save_the_same_name_one_wins_and_the_others_are_told(laptop: Laptop) -> None:
    _default(laptop)
    running = [laptop.start("save", "--kind", "fact", "--slug", "port") for _ in range(4)]
    ends = []
    for number, process in enumerate(running):
        assert process.stdin is not None
        process.stdin.write(f"The port is 808{number}.\n")
        process.stdin.close()
        process.stdin = None
    for process in running:
        with process:
            process.communicate(timeout=60)
        ends.append(process.returncode)
    assert sorted(ends) == [0, 1, 1, 1]
    [winner] = [number for number, code in enumerate(ends) if code == 0]
    assert f"The port is 808{winner}." in laptop.must("notes", "show", "port")


# ------------------------------------------------------------------------------------------------ migration


class Meddled(FileStore):
    """A store beside which somebody else writes: `meddle(locator)` is called before each read."""

    meddle: Callable[[Locator], object] = staticmethod(lambda _: None)

    def read(self, locator: Locator) -> str:
        self.meddle(locator)
        return super().read(locator)


def quietly(label: str, items: Iterable[Locator]) -> Iterable[Locator]:
    return items


@pytest.fixture
def source(tmp_path: Path) -> Meddled:
    store = Meddled(tmp_path / "source", create_root=True)
    store.write(Locator("a.md"), MINE)
    return store


@pytest.fixture
def target(tmp_path: Path) -> FileStore:
    (tmp_path / "target").mkdir()
    return FileStore(tmp_path / "target")


def test_a_migration_never_replaces_what_came_into_the_target_meanwhile(source: Meddled, target: FileStore) -> None:
    plan = plan_migration(source, target, quietly)
    source.meddle = lambda locator: target.write(locator, THEIRS)
    with pytest.raises(ConcurrentModificationError):
        copy_notes(source, target, plan, quietly)
    assert target.read(Locator("a.md")) == THEIRS


def test_a_migration_carries_over_no_change_onto_somebody_else_s(source: Meddled, target: FileStore) -> None:
    plan = plan_migration(source, target, quietly)
    copy_notes(source, target, plan, quietly)
    source.write(Locator("a.md"), "changed at the source\n")
    target.write(Locator("a.md"), THEIRS)
    with pytest.raises(ConcurrentModificationError):
        settle(source, target, plan, quietly)
    assert target.read(Locator("a.md")) == THEIRS


def test_a_migration_deletes_no_copy_that_somebody_else_changed(source: Meddled, target: FileStore) -> None:
    plan = plan_migration(source, target, quietly)
    copy_notes(source, target, plan, quietly)
    source.delete(Locator("a.md"))
    target.write(Locator("a.md"), THEIRS)
    with pytest.raises(ConcurrentModificationError):
        settle(source, target, plan, quietly)
    assert target.read(Locator("a.md")) == THEIRS


# ------------------------------------------------------------------------------------------------ versions that lost


def test_a_version_that_was_kept_is_never_replaced(laptop: Laptop) -> None:
    """The same version loses again while the operator works on what was kept, and both get the same name."""
    _vault(laptop)
    vault = laptop.folder / "vault"
    note = vault / "projects/widgets/notes/a.md"
    note.parent.mkdir(parents=True)
    standing_clock = "import time; moment = time.gmtime(0); time.gmtime = lambda *_: moment"
    for is_first in (True, False):
        note.write_text(MINE)
        (note.parent / "a (conflicted copy 2026-01-02 030405).md").write_text(THEIRS)
        said = laptop.run("vault", "resolve", "--take", "mine", "a.md", before=standing_clock)
        found = [path for path in vault.rglob("*.md") if path.is_file() and path != note]
        if is_first:
            assert said.code == 0, said.err
            assert [path.read_text() for path in found] == [THEIRS]
            found[0].write_text("annotated by the operator\n")
    assert said.code == CONFLICT
    assert sorted(path.read_text() for path in found) == ["annotated by the operator\n", THEIRS]
    assert note.read_text() == MINE


@needs_git
def test_undo_brings_back_the_version_before_and_nothing_else(laptop: Laptop) -> None:
    clone = laptop.home / "team"
    laptop.must("git", "init", str(clone), "--use")
    for text in (THEIRS, MINE):
        laptop.must("state", "write", "PLAN.md", input=text)
        laptop.must("git", "sync")
    [plan] = clone.rglob("PLAN.md")
    laptop.must("git", "undo", str(plan.relative_to(clone)))
    assert plan.read_text() == THEIRS
