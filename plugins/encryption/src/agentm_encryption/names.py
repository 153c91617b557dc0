"""Sealed names: each part of a key as AES-SIV makes it, with the folder above it as associated data (extra `names`).

The same part in the same folder always becomes the same name, or the store's own versions and conflict copies would
come apart. The names key stays when epochs change: whoever could read names before they left still can.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from agentm_encryption.places import KEYS, is_plain
from agentm_kernel.plugin import (
    AgentmError,
    BackendLayer,
    ConflictCopies,
    ConflictCopy,
    History,
    Identity,
    Info,
    InvalidLocatorError,
    Locator,
    LocatorConflictError,
    NotFoundError,
    Rules,
    StorageBackend,
    StorageSelectionError,
    WorkingCopy,
)

if TYPE_CHECKING:
    import builtins
    from collections.abc import Iterator

    from agentm_encryption.key_source import KeySource
    from agentm_kernel.plugin import Absent, Version

LONGEST = 100
"""Bytes that one part of a key may have: sealed and in base32 it then has 186 characters."""
_META = KEYS.parent


class SealedNames(BackendLayer):
    """Every verb of `inner`, under names that tell nothing."""

    passes = (Identity, Rules, WorkingCopy, History, ConflictCopies)

    def __init__(self, inner: StorageBackend, source: KeySource) -> None:
        super().__init__(inner)
        self._source = source
        self._lazy_cipher: Any = None

    @property
    def _cipher(self) -> Any:
        if self._lazy_cipher is None:
            self._lazy_cipher = cipher_of(self._source.keys.names_key)
        return self._lazy_cipher

    # -- names ------------------------------------------------------------------------------------------------

    def sealed(self, locator: Locator) -> Locator:
        """The locator under which `inner` has it."""
        if is_plain(locator):
            return locator
        parts = []
        above = ""
        for part in locator.parts:
            parts.append(seal_part(self._cipher, above, part))
            above = f"{above}/{part}" if above else part
        return Locator("/".join(parts))

    def opened(self, stored: Locator) -> Locator | None:
        """The locator that a name of `inner` stands for; `None` if it is none of ours."""
        above = ""
        for name in stored.parts:
            part = open_part(self._cipher, above, name)
            if part is None:
                return None
            above = f"{above}/{part}" if above else part
        return Locator(above)

    def _check_room(self, locator: Locator) -> None:
        """Raise if a part of a new key differs from one that is there only in case: `inner` cannot tell."""
        here = Locator()
        for part in locator.parts:
            there = here.child(part)
            if not self.exists(there):
                folded = part.casefold()
                for other in self.list(here):
                    if other.name.casefold() == folded:
                        raise LocatorConflictError(
                            f"'{there}' differs from '{other}' only in case", hint="use the spelling that is there"
                        )
                return
            here = there

    def _naming(self, locator: Locator) -> _Naming:
        return _Naming(locator.key, self.sealed(locator).key)

    # -- verbs ------------------------------------------------------------------------------------------------

    def read(self, locator: Locator) -> str:
        with self._naming(locator):
            return self.inner.read(self.sealed(locator))

    def write(self, locator: Locator, content: str, *, if_match: str | Absent | None = None) -> Locator:
        if not is_plain(locator):
            self._check_room(locator)
        with self._naming(locator):
            self.inner.write(self.sealed(locator), content, if_match=if_match)
        return locator

    def list(self, locator: Locator) -> builtins.list[Locator]:
        if locator == KEYS:
            return self.inner.list(KEYS)
        found = {self.opened(stored) for stored in self.inner.list(self.sealed(locator))}
        if locator == _META:
            found |= {stored for stored in self.inner.list(_META) if is_plain(stored)}
        elif not locator.parts and self.inner.exists(_META):
            found.add(_META)
        return sorted(child for child in found if child is not None)

    def exists(self, locator: Locator) -> bool:
        if locator == _META and self.inner.exists(_META):
            return True
        return self.inner.exists(self.sealed(locator))

    def info(self, locator: Locator) -> Info:
        try:
            with self._naming(locator):
                info = self.inner.info(self.sealed(locator))
        except NotFoundError:
            if locator != _META:
                raise
            info = self.inner.info(_META)
        return Info(locator, info.is_dir, info.size, info.mtime, info.version)

    def mkdir(self, locator: Locator) -> Locator:
        self._check_room(locator)
        with self._naming(locator):
            self.inner.mkdir(self.sealed(locator))
        return locator

    def delete(self, locator: Locator, *, if_match: str | None = None) -> None:
        with self._naming(locator):
            self.inner.delete(self.sealed(locator), if_match=if_match)

    def walk(self, locator: Locator) -> Iterator[Info]:
        return StorageBackend.walk(self, locator)

    def foreign_entries(self, locator: Locator) -> Iterator[str]:
        """What `inner` cannot express, and what is in it under a name that is none of ours."""
        yield from self.inner.foreign_entries(self.sealed(locator))
        for stored in self.inner.walk(self.sealed(locator)):
            if self.opened(stored.locator) is None and stored.locator != _META and not is_plain(stored.locator):
                yield stored.locator.key

    def wrap_facet(self, kind: type[Any], found: Any) -> Any:
        if kind is History:
            return _NamedHistory(self, found)
        return _NamedCopies(self, found) if kind is ConflictCopies else found


class _Naming:
    """Errors of `inner` speak of the name that it knows; they leave with the one that the caller knows."""

    def __init__(self, key: str, stored: str) -> None:
        self._key, self._stored = key, stored

    def __enter__(self) -> None:
        return None

    def __exit__(self, _kind: object, error: object, _trace: object) -> None:
        if isinstance(error, AgentmError):
            key, stored = self._key, self._stored
            while stored:  # it may speak of a folder above
                error.message = error.message.replace(stored, key)
                key, stored = key.rpartition("/")[0], stored.rpartition("/")[0]
            error.args = (error.message,)


class _NamedHistory(History):
    def __init__(self, names: SealedNames, inner: History) -> None:
        self._names, self._inner = names, inner

    def versions(self, locator: Locator) -> builtins.list[Version]:
        return self._inner.versions(self._names.sealed(locator))

    def read_version(self, locator: Locator, version_id: str) -> str:
        return self._inner.read_version(self._names.sealed(locator), version_id)


class _NamedCopies(ConflictCopies):
    """A copy keeps the name that its maker gave it: it is no note, and only this facet reads it."""

    def __init__(self, names: SealedNames, inner: ConflictCopies) -> None:
        self._names, self._inner = names, inner

    def conflict_copies(self, below: Locator) -> builtins.list[ConflictCopy]:
        found = []
        for copy in self._inner.conflict_copies(self._names.sealed(below)):
            note = self._names.opened(copy.note)
            if note is not None:
                found.append(ConflictCopy(note, copy.copy, copy.origin, copy.size, copy.mtime))
        return found

    def read_copy(self, copy: Locator) -> str:
        return self._inner.read_copy(copy)


# ------------------------------------------------------------------------------------------------ one part of a key


def cipher_of(key: bytes | None) -> Any:
    if key is None:
        raise StorageSelectionError("the keys of this store have no key for names")
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESSIV
    except ImportError:
        raise StorageSelectionError(
            "the names of this store are sealed, which needs the package cryptography",
            hint="run `pip install 'agentm-encryption[names]'`",
        ) from None
    return AESSIV(key)


def seal_part(cipher: Any, above: str, part: str) -> str:
    data = part.encode()
    if len(data) > LONGEST:
        raise InvalidLocatorError(
            f"'{part}' has {len(data)} bytes; where names are sealed, a part of a key has at most {LONGEST}",
            hint="choose a shorter name",
        )
    return base64.b32encode(cipher.encrypt(data, [above.encode()])).decode("ascii").rstrip("=").lower()


def open_part(cipher: Any, above: str, name: str) -> str | None:
    from cryptography.exceptions import InvalidTag

    try:
        sealed = base64.b32decode(name.upper() + "=" * (-len(name) % 8))
        return str(cipher.decrypt(sealed, [above.encode()]).decode())
    except (ValueError, InvalidTag):
        return None
