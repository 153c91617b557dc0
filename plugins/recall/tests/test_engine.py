"""SQLite without `functools`: as good as with it, and nobody else notices."""

from __future__ import annotations

import functools
import subprocess
import sys

import pytest

from agentm_recall.index.engine import _lru_cache

IN_A_PROCESS = """
import sys

for name in ("functools", "_sqlite3", "sqlite3"):
    sys.modules.pop(name, None)  # what an environment loads for itself at the start
from agentm_recall.index.engine import sqlite
assert sqlite.__name__ == "_sqlite3" and "functools" not in sys.modules
connection = sqlite.connect(":memory:")
found = [connection.execute(f"SELECT {number % 200}").fetchone()[0] for number in range(600)]
assert found == [number % 200 for number in range(600)]
assert sqlite.connect(":memory:", cached_statements=0).execute("SELECT 1").fetchone() == (1,)

import functools, sqlite3
assert functools.partial(int, "7")() == 7 and functools.lru_cache(functools.reduce).cache_info().hits == 0
assert sqlite3.connect(":memory:").execute("SELECT 1").fetchone() == (1,)
print("good")
"""

WITH_FUNCTOOLS = """
import functools, sys
from agentm_recall.index.engine import sqlite
assert sys.modules["functools"] is functools and functools.partial
print(sqlite.connect(":memory:").execute("SELECT 'good'").fetchone()[0])
"""

WITHOUT_THE_MODULE_IN_C = """
import sys

sys.modules.pop("functools", None)
sys.modules["_functools"] = None  # as on a Python that has no such module
from agentm_recall.index.engine import sqlite
assert sys.modules["functools"].partial
print(sqlite.__name__, "good" if sqlite.connect(":memory:").execute("SELECT 1").fetchone() == (1,) else "bad")
"""


@pytest.mark.parametrize("code", [IN_A_PROCESS, WITH_FUNCTOOLS, WITHOUT_THE_MODULE_IN_C])
def test_an_index_can_be_asked_and_functools_is_whole(code):
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)

    assert (result.stdout.split()[-1:], result.stderr) == (["good"], "")


@pytest.mark.parametrize("most", [0, 1, 3, 128])
def test_the_statements_that_are_kept_are_those_that_functools_would_keep(most):
    prepared: list[list[int]] = [[], []]
    ours = _lru_cache(most)(lambda sql: prepared[0].append(sql) or -sql)
    theirs = functools.lru_cache(most)(lambda sql: prepared[1].append(sql) or -sql)
    asked = [1, 2, 1, 3, 4, 1, 2, 4, 4, 5, 1, 3]

    assert [ours(sql) for sql in asked] == [theirs(sql) for sql in asked] == [-sql for sql in asked]
    assert prepared[0] == prepared[1]
