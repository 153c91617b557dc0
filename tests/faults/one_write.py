"""`python -m tests.faults.one_write STORE ROOT KEY`: one write in a process of its own, its outcome as JSON."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from agentm_kernel.errors import StorageIOError
from agentm_kernel.seam.locator import Locator
from tests.faults.harness import store_under_test
from tests.faults.scenarios import NEW

if TYPE_CHECKING:
    from tests.faults.harness import StoreUnderTest

Said = tuple[str, int | None]
"""The name of the error, or `written`; and the errno."""


def attempt(store: StoreUnderTest, root: str, key: str) -> Said:
    try:
        store.open(root).write(Locator(key), NEW)
    except StorageIOError as error:
        return "StorageIOError", error.errno
    except Exception as error:  # whoever asked judges it
        return repr(error), None
    return "written", None


if __name__ == "__main__":
    name, root, key = sys.argv[1:]
    print(json.dumps(attempt(store_under_test(name), root, key)))
