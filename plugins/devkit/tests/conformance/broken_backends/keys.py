"""Backends with their own idea of keys."""

from __future__ import annotations

import errno
import os
import unicodedata

from broken_backends.table import Memory, broken

from agentm_kernel.errors import InvalidLocatorError
from agentm_kernel.seam.locator import _trusted


def _lets_through(check, is_let_through, *, also=()):
    """A backend whose own `resolve` accepts some of the keys that a `Locator` refuses."""

    def resolve(self, *parts):
        try:
            return Memory.resolve(self, *parts)
        except InvalidLocatorError:
            if is_let_through(parts[0]):
                return _trusted(str(parts[0]))
            raise

    name = "LetsThrough" + check.title().replace("_", "")
    backend = type(name, (Memory,), {"resolve": resolve, "__module__": __name__})
    return broken(check, saying="returned '", also=also)(backend)


def _is_text(key, characters):
    return isinstance(key, str) and any(character in characters for character in key)


LetsParentsThrough = _lets_through("parent_segments", lambda key: isinstance(key, str) and ".." in key.split("/"))
LetsBackslashThrough = _lets_through("separators_and_nul", lambda key: _is_text(key, "\\"))
LetsControlsThrough = _lets_through("control_characters", lambda key: _is_text(key, "\x1b\n\r\t\x7f"))
LetsInvisibleThrough = _lets_through("invisible_characters", lambda key: _is_text(key, "\u202e\u2066"))
LetsDevicesThrough = _lets_through("device_names", lambda key: key == "nul.md")
LetsStreamsThrough = _lets_through("windows_characters", lambda key: _is_text(key, ":"))
LetsLongKeysThrough = _lets_through("long_keys", lambda key: isinstance(key, str) and len(key) > 200)
LetsSurrogatesThrough = _lets_through("surrogates_in_keys", lambda key: _is_text(key, "\ud800"))
LetsObjectsThrough = _lets_through("keys_that_are_not_text", lambda key: not isinstance(key, str))
LetsGitThrough = _lets_through("control_directories", lambda key: key == "git~1/config")


@broken("absolute_keys", saying="resolve('/etc/passwd') gave '/etc/passwd'")
class KeepsTheLeadingSlash(Memory):
    def resolve(self, *parts):
        return _trusted(parts[0]) if parts and parts[0] == "/etc/passwd" else super().resolve(*parts)


@broken("composed_keys", saying="list('') gave ['cafe\u0301.md'] and not ['caf\u00e9.md']")
class ListsDecomposedNames(Memory):
    """As a backend over a file system that stores NFD would, if it passed on what it sees."""

    def list(self, locator):
        return [
            _trusted(unicodedata.normalize("NFD", child.key)) if child.key.startswith("caf") else child
            for child in super().list(locator)
        ]


@broken("accepted_keys", saying="after write('100%.md'), list('') gave")
class LosesPercentSigns(Memory):
    def list(self, locator):
        return [child for child in super().list(locator) if "%" not in child.name]


@broken("longest_keys", saying="raised the untyped OSError: [Errno 36] File name too long")
class HasNoRoomForLongNames(Memory):
    """As a backend whose temp files have the note's name and a suffix."""

    def write(self, locator, content, *, if_match=None):
        if any(
            len(part.encode()) + len(".tmp-12345678901234567890-1234567890123456789012345678") > 250
            for part in locator.parts
        ):
            raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG))
        return super().write(locator, content, if_match=if_match)


@broken("deepest_keys", saying="the last entry of walk('') gave")
class WalksOnlySoDeep(Memory):
    def walk(self, locator):
        return (info for info in super().walk(locator) if len(info.locator.parts) < 100)


@broken("deepest_keys", saying="raised the untyped RecursionError")
class RecursesPerLevel(Memory):
    def write(self, locator, content, *, if_match=None):
        self._descend(locator)
        return super().write(locator, content, if_match=if_match)

    def _descend(self, locator, level=0):
        return self._descend(locator, level + 1) + 1 if level < 4 * len(locator.parts) else 0
