"""Addresses of git remotes: one spelling per repository, to compare by, and a name that stores can hold.

The spelling has no user, no password, no scheme and no `.git`: an https clone and an ssh clone of one repository have
the same, and it can be stored and shown without giving a secret away.
"""

from __future__ import annotations

from agentm_kernel import errors
from agentm_kernel.seam import Frozen
from agentm_kernel.seam.locator import MAX_SEGMENT_BYTES, normalize_key

_DEFAULT_PORTS = {"ssh": "22", "git+ssh": "22", "ssh+git": "22", "git": "9418", "http": "80", "https": "443"}

# The second door of some forges, for networks that let nothing but port 443 out.
_OTHER_DOORS = {
    "ssh.github.com:443": "github.com",
    "altssh.gitlab.com:443": "gitlab.com",
    "altssh.bitbucket.org:443": "bitbucket.org",
}
# Forges that serve `Owner/Repo` and `owner/repo` as one repository.
_CASELESS = frozenset(("github.com", "gitlab.com", "bitbucket.org", "codeberg.org"))

_OPEN_ENDS = ("::", "://")  # of a place that is a helper's name rather than a host
_HEX = frozenset("0123456789abcdefABCDEF")
_NAMELESS = "project"


class Address(Frozen):
    """A remote's address in parts; its text is the canonical spelling. `path` has no empty parts and no `.git`."""

    place: str
    """The host; with its scheme where a port tells more than the name; empty for a directory on this machine."""
    path: str

    @property
    def is_local(self) -> bool:
        return not self.place

    @property
    def name(self) -> str:
        """The last part of the path; empty if there is none."""
        return self.path.rpartition("/")[2]

    def __str__(self) -> str:
        is_caseless = self.place in _CASELESS or (self.is_local and _is_windows_path(self.path))
        path = self.path.lower() if is_caseless else self.path
        is_host = self.place and not self.place.endswith(_OPEN_ENDS)
        return f"{self.place}/{path}" if is_host and path else f"{self.place}{path}"


def canonical_remote(url: str) -> str:
    """The one spelling of a remote's address: `github.com/owner/repo`, or the path of a local repository."""
    return str(parse_remote(url))


def parse_remote(url: str) -> Address:
    """Read every form that git accepts: URLs, `host:path`, local paths, and `helper::address`."""
    url = url.strip()
    if _is_windows_path(url):
        return _local(url)
    scheme, separator, rest = url.partition("://")
    if separator and "/" not in scheme:
        return _from_url(scheme.lower(), rest)
    host, colon, path = url.partition(":")
    in_brackets, closing, behind = url.partition("]:")
    if closing and "[" in in_brackets and "/" not in in_brackets:  # an IPv6 address
        host, path = f"{in_brackets}]", behind
    if not host or not colon or "/" in host:
        return _local(url)
    if path.startswith(":"):  # `helper::address`: only the helper knows what the address means
        return Address(f"{host}::", _without_git(path[1:]))
    return _hosted("ssh", host.rpartition("@")[2], path)


def _from_url(scheme: str, rest: str) -> Address:
    authority, slash, path = rest.partition("/")
    host = authority.rpartition("@")[2]
    path = _unquoted(slash + path)
    if scheme == "file" and host in ("", "localhost"):
        return _local(path[1:] if _is_windows_path(path[1:]) else path)
    if scheme not in _DEFAULT_PORTS:
        return Address(f"{scheme}://", _without_git(host + path))  # again a helper's: this may be no host
    bare, colon, port = host.rpartition(":")
    if colon and port in ("", _DEFAULT_PORTS[scheme]):
        host = bare
    return _hosted(scheme, host, path)


def _local(path: str) -> Address:
    if _is_windows_path(path):
        path = path.replace("\\", "/")
    return Address("", ("/" if path.startswith("/") else "") + _without_git(path))


def _hosted(scheme: str, host: str, path: str) -> Address:
    host = host.lower().rstrip(".")
    host = _OTHER_DOORS.get(host, host)
    return Address(f"{scheme}://{host}" if ":" in host else host, _without_git(path))


def _is_windows_path(url: str) -> bool:
    is_drive = url[1:2] == ":" and url[2:3] in ("/", "\\") and url[:1].isascii() and url[:1].isalpha()
    return is_drive or url.startswith("\\\\")


def _without_git(path: str) -> str:
    """`path` without empty parts and without `.git`, whether as an ending or as the folder inside a work tree."""
    parts = [part for part in path.split("/") if part not in ("", ".")]
    while parts and parts[-1].endswith(".git"):
        parts[-1] = parts[-1].removesuffix(".git")
        if not parts[-1]:
            parts.pop()
    return "/".join(parts)


def _unquoted(path: str) -> str:
    """`%20` and its like decoded; whatever does not spell UTF-8 stays as it is."""
    first, *others = path.split("%")
    decoded = first.encode()
    for other in others:
        is_code = len(other) > 1 and _HEX.issuperset(other[:2])
        decoded += bytes.fromhex(other[:2]) + other[2:].encode() if is_code else b"%" + other.encode()
    try:
        return decoded.decode()
    except UnicodeDecodeError:
        return path


def safe_name(name: str) -> str:
    """A name that somebody chose without us in mind, made one that stores can hold; for one name always the same one.

    What cannot stand in a key becomes a dash; a name that belongs to another program or system loses its leading dots
    or gets a word before it.
    """
    if key := _as_key(name):
        return key
    import unicodedata

    composed = unicodedata.normalize("NFC", name)
    is_safe = {character: _as_key(f"a{character}a") == f"a{character}a" for character in {*composed} - {"/"}}
    safe = "".join(character if is_safe.get(character) else "-" for character in composed).lstrip(". ")
    room = MAX_SEGMENT_BYTES - len(f"{_NAMELESS}-")
    while safe and (safe[-1] == "." or safe[-1].isspace() or len(safe.encode()) > room):
        safe = safe[:-1]
    return _as_key(safe) or (f"{_NAMELESS}-{safe}" if safe else _NAMELESS)


def _as_key(name: str) -> str:
    """`name` as stores spell it; empty if they cannot hold it."""
    try:
        return normalize_key(name)
    except errors.InvalidLocatorError:
        return ""
