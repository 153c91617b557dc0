"""`agentm config get`: hooks and shell scripts ask for one value, so this is reached without click."""

from __future__ import annotations

import sys

from agentm_kernel.config.read import load
from agentm_kernel.config.show import as_text


def config_get(key: str, json: bool) -> int:
    """Print the value of `key`; 1 and, but for JSON, not a word if it is not set."""
    value = load().get(key)
    if json:
        from json import dumps

        _print(dumps({"schema": 1, "key": key, "value": value}, indent=2, ensure_ascii=False))
    elif value is not None:
        _print(as_text(value))
    return 0 if value is not None else 1


def _print(text: str) -> None:
    """One line as UTF-8: a locale that cannot express a path must not change it."""
    sys.stdout.flush()
    sys.stdout.buffer.write(f"{text}\n".encode("utf-8", "surrogateescape"))
    sys.stdout.buffer.flush()
