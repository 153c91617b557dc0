"""The hostile corpus: every bad input and fault that a store meets, by number.

A check names the rows that it is a case of; a test of this repository asserts that each row has a case in the kit or
a named place elsewhere. The numbers are stable: a row that a later bug adds gets the next one.
"""

from __future__ import annotations

HAZARDS: dict[int, str] = {
    # keys and locators
    1: "'..' in a key",
    2: "an absolute key, a key of slashes, an empty key",
    3: "NUL and backslash in a key",
    4: "control characters in a key: they inject into logs and terminals",
    5: "invisible and bidirectional characters in a key",
    6: "composed and decomposed spellings of one key",
    7: "two keys that differ only in case",
    8: "names of Windows devices",
    9: "trailing dots and spaces, streams, characters that Windows forbids",
    10: "names and keys that are too long, or as long as they may be",
    11: "a lone surrogate in a key",
    12: "a key that is not text",
    13: "control directories of other programs, in any spelling: a note must not become code",
    14: "files in the store whose names no key can express",
    15: "links out of the store",
    16: "dangling links and loops of links",
    17: "a hard link to a file outside",
    18: "FIFOs, sockets, devices: what blocks or never ends",
    19: "a file where a directory is needed, a write onto a directory or the root",
    # content
    20: "line endings, BOM, NUL, missing final newline, large notes",
    21: "a lone surrogate in the content",
    22: "stored bytes that are not UTF-8: never the same as absent",
    23: "content over the size limit, or without end",
    24: "content that is not text",
    25: "the mode of an existing file",
    # concurrency
    32: "many writers, each with its own keys",
    33: "many read-modify-writes of one key",
    34: "threads instead of processes",
    35: "kill -9 inside a write",
    36: "waiters that find the lock of a dead holder",
    37: "a writer that is stopped and goes on later",
    38: "clocks that jump",
    39: "a fork while the lock is held",
    40: "signals while the lock is held",
    41: "a lock that cannot be removed",
    42: "a write inside the writer's own lock",
    43: "one store by several paths, homes and mounts",
    # disk
    44: "no space, no inodes, no quota",
    45: "I/O errors at any step of a write",
    46: "a read-only medium, permission denied, no descriptors left",
    47: "slow storage",
    48: "a power cut after the acknowledgement",
    49: "what killed writers leave behind",
    50: "a store that is not mounted, or no longer",
}
