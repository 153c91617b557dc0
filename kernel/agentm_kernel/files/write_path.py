"""Everything that a write may need, imported at once and before it takes a lock (`FileStore`).

A process can be forked at any time. If another thread is importing at that moment, the child inherits an import that
never ends, and waits for it for ever as soon as it imports the same module: perhaps while it holds the store's mutex.
"""

from __future__ import annotations

import hashlib

from agentm_kernel.files import bytes_tree, exchange
from agentm_kernel.files.writing import StoreWriter
from agentm_kernel.seam import update

__all__ = ["StoreWriter", "bytes_tree", "exchange", "hashlib", "update"]
