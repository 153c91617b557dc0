"""A process without standard streams: the first descriptor that it opens is number zero."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

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
