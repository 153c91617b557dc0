"""What a project is called: the name, or slug, under which every store keeps it."""

from __future__ import annotations

import os

from agentm_kernel.device.json_text import MalformedJson, parse_object
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


class ProjectIdentity(Checkout):
    """A checkout, and what its project is called. Git's files are not read before somebody asks for what they say."""

    __slots__ = ("_found", "declared", "source_of_declared")

    def __init__(self, root: str, declared: str, source_of_declared: str) -> None:
        super().__init__(root)
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

    def names(self) -> Iterator[str]:
        """The names that it may have in a store, best first: what other projects have is left to them."""
        found = self._find()[0]
        longer = [_made_safe(f"{found}-{part.replace('/', '-')}") for part in (self.part[1:],) if part]
        address = parse_remote(self.origin or "")
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
            origin = self.origin
            name = parse_remote(origin).name if origin else ""
            if name:
                self._found = _made_safe(name), "the remote `origin`"
            else:
                directory = parse_remote(os.path.realpath(self.home))  # a bare `widgets.git` is `widgets`
                self._found = _made_safe(directory.name), "the directory's name"
        return self._found


def identify_project(root: str) -> ProjectIdentity:
    """The project at `root`: named by `.harness/project.json`, else by its remote, else by its directory."""
    path = project_file(root)
    slug, key = _declared_slug(path)
    return ProjectIdentity(root, slug, f"`{key}` in {path}" if slug else "")


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


def parse_project_file(data: bytes | None, path: str) -> dict[str, object]:
    """The object in a `project.json`, empty where there is no such file; anything else is a `ConfigError`."""
    try:
        return {} if data is None else parse_object(data)
    except MalformedJson as error:
        raise _unfit(path, f"is not valid JSON: {error}") from error


def _declared_slug(path: str) -> tuple[str, str]:
    """The name that a `project.json` gives, and its key there; two empty texts if it gives none."""
    document = parse_project_file(read_checkout_file(path), path)
    key = "vault_project"
    slug = given = _text(document.get("vault_project"), key, path)
    if not given:
        github = document.get("github") or {}
        if not isinstance(github, dict):
            raise _unfit(path, "has a `github` that is not an object in braces")
        key = "github.repo"
        given = _text(github.get("repo"), key, path)
        slug = parse_remote(given).name if given else ""
    if not given:
        return "", ""
    try:
        return plain_slug(slug), key
    except InvalidLocatorError as error:
        raise ConfigError(
            f"`{key}` in {path} cannot name a project: {error}",
            hint="set `vault_project` in that file to a plain name such as `my-project`",
        ) from error


def _text(value: object, key: str, path: str) -> str:
    if value is not None and not isinstance(value, str):
        raise _unfit(path, f"has a `{key}` that is not text")
    return (value or "").strip()


def _unfit(path: str, why: str) -> ConfigError:
    return ConfigError(f"{path} {why}", hint="correct that file; it says what the project is called")


def _made_safe(name: str) -> str:
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
    except InvalidLocatorError:
        return ""
