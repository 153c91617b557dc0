"""A process without standard streams: the first descriptor that it opens is number zero."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from tests.kernel.files.verbs import verbs

from agentm_kernel import Locator
from agentm_kernel.files import read_small_file
from agentm_kernel.plugin import AgentmError, FileStore, content_hash

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs descriptors of directories")

_WITHOUT_STREAMS = """
import os, sys, threading, time
from agentm_kernel import Locator
from agentm_kernel.plugin import DirectoryLock, FileStore, store_mutex

root = sys.argv[1]
store = FileStore(root)
held = threading.Event()

def enter():
    with store_mutex(root):
        pass

def enter_the_folder():
    with DirectoryLock(root, 1.0):
        pass

def hold():
    with store_mutex(root):
        held.set()
        time.sleep(0.3)

def wait_for_another():
    other.start()
    held.wait()
    os.close(0)
    enter()
    other.join()

def is_free():
    return os.open(os.devnull, os.O_RDONLY) == 0

for use in (
    enter,
    enter_the_folder,
    lambda: store.write(Locator("a/b.md"), "x"),
    lambda: store.info(Locator("a/b.md")),
    lambda: [*store.walk(Locator())],
):
    use()
    os.close(0)
    use()
    assert is_free(), use
other = threading.Thread(target=hold)
wait_for_another()
assert is_free()
"""


def test_where_a_descriptor_is_number_zero_it_is_one_like_any_other(root: Path) -> None:
    """As under a supervisor that starts its programs without standard streams."""
    subprocess.run([sys.executable, "-c", _WITHOUT_STREAMS, str(root)], stdin=subprocess.DEVNULL, check=True)


# ------------------------------------------------------------------------------------------------ none is left open


def open_descriptors() -> set[str]:
    """By number; the one that looks is among them every time."""
    return {*os.listdir("/dev/fd")}


needs_numbers = pytest.mark.skipif(not os.path.isdir("/dev/fd"), reason="the system does not list descriptors")


@needs_numbers
@pytest.mark.parametrize("key", ["folder/note.md", "absent.md", "absent/note.md", "folder", "link.md", "large.md"])
@pytest.mark.parametrize("verb", [*verbs(FileStore("/"), "x"), "append", "list", "walk", "delete if it is the same"])
def test_no_verb_leaves_a_descriptor_open_whether_it_succeeds_or_not(root: Path, verb: str, key: str) -> None:
    (root / "folder").mkdir()
    (root / "folder/note.md").write_text("secret")
    (root / "link.md").symlink_to("folder/note.md")
    with (root / "large.md").open("wb") as large:
        large.truncate(64 * 2**20)
    store = FileStore(root)
    note = Locator(key)
    do = {
        **verbs(store, key),
        "append": lambda: store.append(note, "more\n"),
        "list": lambda: store.list(note),
        "walk": lambda: [*store.walk(note)],
        "delete if it is the same": lambda: store.delete(note, if_match=content_hash("x")),
    }[verb]

    def attempt() -> None:
        try:
            do()
        except AgentmError:
            pass

    attempt()
    before = open_descriptors()
    for _ in range(3):
        attempt()
    assert open_descriptors() == before


@needs_numbers
@pytest.mark.parametrize("size", [0, 10, 11])
def test_reading_a_small_file_leaves_none_open_even_where_it_is_too_large(tmp_path: Path, size: int) -> None:
    (tmp_path / "file").write_bytes(b"x" * size)
    before = open_descriptors()
    for path in (tmp_path / "file", tmp_path, tmp_path / "absent"):
        try:
            assert read_small_file(str(path), 10) == b"x" * size
        except OSError:
            assert size > 10 or path.name != "file"
    assert open_descriptors() == before
