"""SQLite as the index uses it: the module in C, without the modules in Python that it would bring along.

`sqlite3` loads `datetime` and more, to turn values into types that no index holds. The module in C loads `functools`
for one name of it, `lru_cache`, which keeps the statements that a connection has prepared, and `functools` loads six
more: at each prompt, a quarter of what a bare interpreter takes. So where nobody has loaded `functools` yet, a
module with that one name stands in for it while the module in C is loaded. What keeps the statements is the same.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["sqlite"]


def _lru_cache(most: int) -> Callable[[object], object]:
    """`functools.lru_cache` for what is called with one argument, and not asked how well the cache does."""
    return lambda connection: _functools._lru_cache_wrapper(connection, most, False, tuple)  # noqa: SLF001


_stand_in = type(sys)("functools")
_stand_in.lru_cache = _lru_cache  # type: ignore[attr-defined]
_known = sys.modules.setdefault("functools", _stand_in)
try:
    try:
        import _functools  # type: ignore[import-not-found]
        import _sqlite3 as sqlite
    finally:
        if _known is _stand_in:
            del sys.modules["functools"]
except ImportError:  # another Python than CPython
    import sqlite3 as sqlite  # type: ignore[no-redef]
