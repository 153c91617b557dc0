"""What a project is called: the name, or slug, under which every store keeps it."""

from __future__ import annotations

import os

from agentm_kernel.device.json_text import MalformedJson, parse_bytes
from agentm_kernel.errors import ConfigError, InvalidLocatorError
from agentm_kernel.projects import HARNESS_DIR, read_checkout_file
from agentm_kernel.projects.checkout import Checkout
from agentm_kernel.projects.remote import parse_remote
from agentm_kernel.seam.locator import MAX_SEGMENT_BYTES, normalize_key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

PROJECT_FILE = "project.json"
_NAMELESS = "project"
_MOST_OF_ONE_NAME = 1000


class ProjectIdentity:
    """A project's name, where the name comes from, and, when asked for, which repository it is."""

    __slots__ = ("_found", "checkout", "declared", "source_of_declared")

    def __init__(self, checkout: Checkout, declared: str, source_of_declared: str) -> None:
        self.checkout = checkout
        self.declared = declared
        """The name that `.harness/project.json` gives; empty if it gives none."""
        self.source_of_declared = source_of_declared
        self._found: tuple[str, str] | None = None

    @property
    def slug(self) -> str:
        """The name that it would like to have: whether it has it, the store says."""
        return self.declared or self._find()[0]

    @property
    def source(self) -> str:
        """In words that follow "the name comes from"."""
        return self.source_of_declared if self.declared else self._find()[1]

    @property
    def remote(self) -> str | None:
        """Which repository this is; git's files are not read for it before somebody asks."""
        return self.checkout.remote

    @property
    def origin(self) -> str | None:
        """The address of `origin` as it is written; it may hold a password."""
        return self.checkout.origin

    def names(self) -> Iterator[str]:
        """The names that it may have in a store, best first: what other projects have is left to them."""
        found = self._find()[0]
        longer = [_made_safe(f"{found}-{part.replace('/', '-')}") for part in (self.checkout.part[1:],) if part]
        address = parse_remote(self.checkout.origin or "")
        owner = address.path.rpartition("/")[0].rpartition("/")[2]
        if owner and not address.is_local:
            longer.append(_made_safe(f"{owner}-{found}"))
        first = [self.declared] if self.declared else []
        yield from dict.fromkeys((*first, found, *longer))
        for number in range(2, _MOST_OF_ONE_NAME):
            yield f"{found}-{number}"

    def _find(self) -> tuple[str, str]:
        """The name that its remote or else its directory gives, and which of them."""
        if self._found is None:
            origin = self.checkout.origin
            name = parse_remote(origin).name if origin else ""
            if name:
                self._found = _made_safe(name), "the remote `origin`"
            else:
                directory = parse_remote(os.path.realpath(self.checkout.home))  # a bare `widgets.git` is `widgets`
                self._found = _made_safe(directory.name), "the directory's name"
        return self._found


def identify_project(root: str) -> ProjectIdentity:
    """The project at `root`: named by `.harness/project.json`, else by its remote, else by its directory."""
    path = project_file(root)
    slug, key = _declared_slug(path)
    return ProjectIdentity(Checkout(root), slug, f"`{key}` in {path}" if slug else "")


def project_file(root: str) -> str:
    """The file of a checkout that says what its project is called."""
    return os.path.join(root, HARNESS_DIR, PROJECT_FILE)


def plain_slug(slug: str) -> str:
    """`slug` as stores spell it; `InvalidLocatorError` for one that is not a single plain name."""
    key = normalize_key(slug)
    if not key or "/" in slug:
        raise InvalidLocatorError(
            f"{ascii(slug)} is not the name of a project", hint="choose a plain name such as `my-project`"
        )
    return key


# ------------------------------------------------------------------------------------------------ declared names


def parse_project_file(data: bytes | None, path: str) -> dict[str, object]:
    """The object in a `project.json`, empty where there is no such file; anything else is a `ConfigError`."""
    if data is None:
        return {}
    try:
        document = parse_bytes(data)
    except MalformedJson as error:
        raise _unfit(path, f"is not valid JSON: {error}") from error
    if not isinstance(document, dict):
        raise _unfit(path, "is not an object in braces")
    return document


def _declared_slug(path: str) -> tuple[str, str]:
    """The name that a `project.json` gives, and its key there; two empty texts if it gives none."""
    document = parse_project_file(read_checkout_file(path), path)
    declared = _text(document, "vault_project", path, "vault_project")
    if declared:
        return _checked(declared, "vault_project", path), "vault_project"
    github = document.get("github") or {}
    if not isinstance(github, dict):
        raise _unfit(path, "has a `github` that is not an object in braces")
    repo = _text(github, "repo", path, "github.repo")
    if repo:
        return _checked(parse_remote(repo).name, "github.repo", path), "github.repo"
    return "", ""


def _checked(slug: str, key: str, path: str) -> str:
    try:
        return plain_slug(slug)
    except InvalidLocatorError as error:
        raise ConfigError(
            f"`{key}` in {path} cannot name a project: {error}",
            hint="set `vault_project` in that file to a plain name such as `my-project`",
        ) from error


def _text(table: dict[str, object], key: str, path: str, name: str) -> str:
    value = table.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise _unfit(path, f"has a `{name}` that is not text")
    return value.strip()


def _unfit(path: str, why: str) -> ConfigError:
    return ConfigError(f"{path} {why}", hint="correct that file; it says what the project is called")


# ------------------------------------------------------------------------------------------------ found names


def _made_safe(name: str) -> str:
    """A name that somebody chose without us in mind, made one that stores can hold; for one name always the same one.

    What cannot stand in a key becomes a dash; a name that belongs to another program or system loses its leading dots
    or gets a word before it.
    """
    try:
        if key := normalize_key(name):
            return key
    except InvalidLocatorError:
        pass
    dashed = _dashed(name)
    if not dashed:
        return _NAMELESS
    try:
        return normalize_key(dashed)
    except InvalidLocatorError:
        return f"{_NAMELESS}-{dashed}"


def _dashed(name: str) -> str:
    import unicodedata

    composed = unicodedata.normalize("NFC", name)
    safe = "".join(character if _is_safe(character) else "-" for character in composed).lstrip(". ")
    room = MAX_SEGMENT_BYTES - len(f"{_NAMELESS}-")
    while safe and (safe[-1] == "." or safe[-1].isspace() or len(safe.encode()) > room):
        safe = safe[:-1]
    return safe


def _is_safe(character: str) -> bool:
    try:
        return normalize_key(f"a{character}a") == f"a{character}a" and character != "/"
    except InvalidLocatorError:
        return False
