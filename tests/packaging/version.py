"""One version for every distribution here: `python -m tests.packaging.version 0.2.0` writes it wherever it stands.

The kernel's number is the one that counts; a test holds all others, and the ranges that distributions ask of each
other, equal to it. A build backend could read the kernel's file instead, but then no source distribution of a plugin
could be built by itself.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
_NUMBER = re.compile(r'^__version__ = "(?P<number>[^"]+)"$', re.MULTILINE)
_RANGE = re.compile(r"(?P<name>agentm-[a-z-]+(?:\[[a-z,-]+\])?)>=\d+\.\d+,<\d+\.\d+")


def modules() -> list[Path]:
    """The module of each distribution that says its version, the kernel's first."""
    plugins = sorted(REPOSITORY.glob("plugins/*/src/agentm_*/__init__.py"))
    return [REPOSITORY / "kernel" / "agentm_kernel" / "__init__.py", *plugins]


def texts_with_ranges() -> list[Path]:
    """What names a range of another distribution of ours: manifests, and the pages that tell authors to."""
    texts = [*REPOSITORY.glob("plugins/*/pyproject.toml"), *REPOSITORY.glob("docs/**/*.md")]
    return sorted(text for text in texts if _RANGE.search(text.read_text()))


def version_in(module: Path) -> str:
    found = _NUMBER.search(module.read_text())
    return found["number"] if found else ""


def compatible(version: str) -> str:
    """The range that a distribution of this version asks of its neighbours."""
    major, minor = map(int, version.split(".")[:2])
    return f">={major}.{minor},<{major}.{minor + 1}"


def ranges_in(text: Path) -> set[str]:
    return {found[0].removeprefix(found["name"]) for found in _RANGE.finditer(text.read_text())}


def write(version: str) -> None:
    for module in modules():
        module.write_text(_NUMBER.sub(f'__version__ = "{version}"', module.read_text()))
    for text in texts_with_ranges():
        text.write_text(_RANGE.sub(lambda found: found["name"] + compatible(version), text.read_text()))


if __name__ == "__main__":
    write(sys.argv[1])
