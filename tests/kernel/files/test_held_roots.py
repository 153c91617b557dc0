"""The folders around what programs hold: the state folder, links in the place of the root."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from tests.kernel.files.shared_store import NOTE

from agentm_kernel import Locator
from agentm_kernel.files import displaced
from agentm_kernel.files.mutex import StoreMutex
from agentm_kernel.plugin import (
    FileStore,
    StorageIOError,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

OTHER = Locator("notes/b.md")
GRACES = (displaced.LEASED_GRACE, displaced.UNLEASED_GRACE)
"""As users have them: every test has another one of the first."""


def test_the_state_folder_is_the_device_s(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from agentm_kernel.state import Device

    monkeypatch.setenv("HOME", str(tmp_path))
    for place in (str(tmp_path / "x"), "relative", ""):
        monkeypatch.setenv("XDG_STATE_HOME", place)
        store = FileStore(tmp_path / f"store-{len(place)}", create_root=True)
        store.write(NOTE, "one\n")
        store.append(NOTE, "two\n")
        records = os.path.join(Device.now().state_dir, "appends")
        assert any(f"-{os.stat(store.root).st_ino:x}-" in name for name in os.listdir(records))


def test_a_root_that_is_a_link_is_followed_only_where_it_may(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    FileStore(tmp_path / "link").write(NOTE, "x")
    refusing = FileStore(tmp_path / "link", follow_root_link=False, create_root=True)
    for verb in (
        lambda: refusing.read(NOTE),
        lambda: refusing.write(NOTE, "y"),
        lambda: refusing.append(NOTE, "y"),
        lambda: refusing.delete(NOTE),
        lambda: refusing.list(Locator()),
        lambda: refusing.stamp_text(),
    ):
        with pytest.raises(StorageIOError, match="symbolic link") as caught:
            verb()
        assert caught.value.errno == errno.ELOOP
    assert (tmp_path / "real" / "notes" / "a.md").read_text() == "x"
    FileStore(tmp_path / "real", follow_root_link=False).write(NOTE, "y")


@pytest.mark.skipif(os.name == "nt", reason="needs symbolic links")
@pytest.mark.parametrize("verb", ["write", "append", "delete", "mkdir"])
def test_a_link_that_is_there_only_while_the_root_is_locked_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    """Somebody may exchange the two as fast as the system can: a look before or after tells nothing."""
    root, theirs = tmp_path / "root", tmp_path / "theirs"
    for folder in (root, theirs):
        (folder / "notes").mkdir(parents=True)
        (folder / "notes" / "a.md").write_text(f"{folder.name}\n")
    (tmp_path / "link").symlink_to(theirs)
    lock = StoreMutex.__enter__

    def lock_through_the_link(mutex: StoreMutex) -> StoreMutex:
        root.rename(tmp_path / "aside")
        (tmp_path / "link").rename(root)
        try:
            return lock(mutex)
        finally:
            root.rename(tmp_path / "link")
            (tmp_path / "aside").rename(root)

    monkeypatch.setattr(StoreMutex, "__enter__", lock_through_the_link)
    store = FileStore(root, follow_root_link=False)
    verbs: dict[str, Callable[[], object]] = {
        "write": lambda: store.write(NOTE, "x\n"),
        "append": lambda: store.append(NOTE, "x\n"),
        "delete": lambda: store.delete(NOTE),
        "mkdir": lambda: store.mkdir(Locator("notes/more")),
    }
    with pytest.raises(StorageIOError, match="cannot lock"):
        verbs[verb]()
    for folder in (root, theirs):
        assert [path.name for path in (folder / "notes").iterdir()] == ["a.md"]
        assert (folder / "notes" / "a.md").read_text() == f"{folder.name}\n"


_FORKING = """
import os, signal, sys, threading
from agentm_kernel.plugin import FileStore, Locator

def write(number):
    FileStore(sys.argv[1], create_root=True).write(Locator(f"notes/{number}.md"), "x")

thread = threading.Thread(target=write, args=(0,))
thread.start()
children = []
for number in range(1, 9):
    child = os.fork()
    if not child:
        signal.alarm(10)
        write(number)
        os._exit(0)
    children.append(child)
thread.join()
sys.exit(sum(os.waitpid(child, 0)[1] != 0 for child in children))
"""


def test_a_fork_beside_a_thread_that_imports_the_write_path_hangs_nobody(root: Path) -> None:
    for _ in range(3):
        done = subprocess.run([sys.executable, "-W", "ignore", "-c", _FORKING, str(root)], check=False, timeout=60)
        assert done.returncode == 0
    assert len(list((root / "notes").glob("*.md"))) == 9
