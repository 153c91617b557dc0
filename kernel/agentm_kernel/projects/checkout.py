"""A checkout: one project root, the repository it belongs to, what its project is called, and the id that it has.

The name, or slug, is the one that `.harness/project.json` gives, else the remote's, else the directory's. The id is
random, made at the first write, and never in a store. It lies in git's common directory, which no clone and no commit
carries, so what a repository holds cannot claim to be another checkout. A folder without git has it in its
`.harness/project.json`; when it becomes a repository, that one is believed where this device gave it to this folder.
Beside it stands where it lay then: a copy of a folder brings both, and is a checkout of its own as long as the one
that it was copied from is there.
"""

from __future__ import annotations

import os

from agentm_kernel import errors
from agentm_kernel.device.json_text import parse_object
from agentm_kernel.projects import PROJECT_FILE, harness_path, is_work_tree, read_checkout_file, read_rare_file
from agentm_kernel.projects.git_files import find_repository
from agentm_kernel.seam.locator import normalize_key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentm_kernel.projects.git_files import Repository
    from agentm_kernel.projects.lookup import Place

ID_FILE, ID_KEY, ID_LENGTH = "agentm-checkout", "checkout", 32
PLACE_KEY = "checkout_place"
_HEX = frozenset("0123456789abcdef")
_LONGEST_CHAIN = 5
_MOST_OF_ONE_NAME = 1000


class Checkout:
    """Git's files are read once, and only if something needs them. Addresses are taken apart only if there is more to
    find out than the id by which most hooks find a checkout.
    """

    __slots__ = ("_git", "_named", "_source", "declared", "root", "source_of_declared")

    def __init__(self, root: str, declared: str = "", source_of_declared: str = "") -> None:
        self.root, self.declared, self.source_of_declared = root, declared, source_of_declared
        self._git: tuple[Repository | None, str | None] | None = None
        self._source: tuple[Repository | None, str | None] | None = None
        self._named: tuple[str, str] | None = None

    @property
    def origin(self) -> str | None:
        """The address of `origin`, as git's configuration has it."""
        return self._read_git()[1]

    @property
    def home(self) -> str:
        """The directory whose name the project has where nothing else names it."""
        repository, _ = self._read_git()
        return repository.home if repository and repository.work_tree == self.root else self.root

    @property
    def remote(self) -> str | None:
        """The canonical address of `origin`, the same from every clone and worktree; `None` without one.

        A work tree on this device is no remote: a clone of one is the same project, and has the remote that it has. A
        project that lies inside a repository has its path there added, so that the parts of a monorepo are not taken
        for one another.
        """
        address = self._follow_origin()[1]
        if address is None:
            return None
        from agentm_kernel.projects.remote import canonical_remote

        return canonical_remote(address) + self.part

    @property
    def part(self) -> str:
        """`#` and the path of the project inside its repository; empty where the project is the repository."""
        repository, _ = self._read_git()
        if repository is None or self.root == repository.work_tree:
            return ""
        inside = os.path.relpath(self.root, repository.work_tree)
        return "#" + path_as_text(inside.replace(os.sep, "/"))

    @property
    def id_folder(self) -> str | None:
        """The git directory that keeps the checkout's id: worktrees and local clones share it; `None` without git."""
        repository = self._follow_origin()[0]
        return None if repository is None else repository.common_dir

    @property
    def slug(self) -> str:
        """The name that it would like to have: whether it has it, the store says."""
        return self.declared or self._name()[0]

    @property
    def source(self) -> str:
        """In words that follow "the name comes from"."""
        return self.source_of_declared if self.declared else self._name()[1]

    def names(self) -> Iterator[str]:
        """The names that it may have in a store, best first: what other projects have is left to them."""
        from agentm_kernel.projects.remote import parse_remote, safe_name

        found = self._name()[0]
        longer = [safe_name(f"{found}-{part.replace('/', '-')}") for part in (self.part[1:],) if part]
        address = parse_remote(self.origin or "")
        owner = address.path.rpartition("/")[0].rpartition("/")[2]
        if owner and not address.is_local:
            longer.append(safe_name(f"{owner}-{found}"))
        first = [self.declared] if self.declared else []
        yield from dict.fromkeys((*first, found, *longer))
        for number in range(2, _MOST_OF_ONE_NAME):
            yield f"{found}-{number}"

    def _name(self) -> tuple[str, str]:
        """The name that its remote or else its directory gives, and which of them."""
        if self._named is None:
            from agentm_kernel.projects.remote import parse_remote, safe_name

            if name := parse_remote(self.origin or "").name:
                self._named = safe_name(name), "the remote `origin`"
            else:
                directory = parse_remote(os.path.realpath(self.home))  # a bare `widgets.git` is `widgets`
                self._named = safe_name(directory.name), "the directory's name"
        return self._named

    def _read_git(self) -> tuple[Repository | None, str | None]:
        if self._git is None:
            repository = find_repository(self.root)
            self._git = repository, repository.origin_url() if repository else None
        return self._git

    def _follow_origin(self) -> tuple[Repository | None, str | None]:
        """The repository that this is a clone of, as far as it lies on this device, and the address it comes from."""
        if self._source is None:
            self._source = _source_of(*self._read_git())
        return self._source


def _source_of(repository: Repository | None, origin: str | None) -> tuple[Repository | None, str | None]:
    for _ in range(_LONGEST_CHAIN):
        if repository is None or origin is None:
            break
        host, colon, _ = origin.partition("/")[0].partition(":")
        if colon and len(host) > 1 and host.lower() != "file":
            return repository, origin  # elsewhere, and a project that is known by its id has no use for the rest
        from agentm_kernel.projects.remote import parse_remote

        address = parse_remote(origin)
        if not address.is_local:
            return repository, origin
        path = os.path.realpath(os.path.join(repository.home, address.path))
        if os.path.isdir(f"{path}.git") or not is_work_tree(path):
            return repository, path_as_text(path)
        source = find_repository(path)
        if source is None or source.common_dir == repository.common_dir:
            break
        repository, origin = source, source.origin_url()
    return repository, None


def path_as_text(path: str) -> str:
    """A path may hold bytes that are not text; what is stored may not."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


# ------------------------------------------------------------------------------------------------ what it is known by


def read_checkout_id(checkout: Checkout) -> str | None:
    """The id, `None` if the checkout has none yet; one that cannot be understood is an error."""
    found = read_placed_id(checkout)[0]
    return None if found is None else found + checkout.part


def read_placed_id(checkout: Checkout) -> tuple[str | None, bool]:
    """The id without the part of the repository, and whether it is said to lie where it lies; none in a copy."""
    folder = checkout.id_folder
    here = folder or checkout.root
    found, place = _id_at(here, in_git=folder is not None)
    if found is None or place == path_as_text(here):
        return found, found is not None
    return (None if place and _is_copy(found, place, here, in_git=folder is not None) else found), False


def _id_at(here: str, *, in_git: bool) -> tuple[str | None, str]:
    """The id that lies in a git directory or in a folder without git, and where it lay when it was written."""
    if not in_git:
        document = _read_project_file(here)
        found, place = document.get(ID_KEY), document.get(PLACE_KEY)
        path = harness_path(here, PROJECT_FILE)
    else:
        path = f"{here}{os.sep}{ID_FILE}"
        data = read_checkout_file(path)
        if data is None:
            return None, ""
        found, _, place = data.decode("utf-8", "replace").removesuffix("\n").partition("\n")
    return None if found is None else _checked_id(found, path), place if isinstance(place, str) else ""


def _is_copy(found: str, place: str, here: str, *, in_git: bool) -> bool:
    """Whether the id lies at `place` still, and that is not this very folder by another name."""
    try:
        return not os.path.samefile(place, here) and _id_at(place, in_git=in_git)[0] == found
    except (OSError, errors.AgentmError):
        return False  # it was moved here, or nobody can tell


def read_former_id(checkout: Checkout) -> str | None:
    """The id that a checkout without one had as a folder, before it became a repository. Anybody may have written it
    who wrote the repository: it is for `Checkouts.find` to believe.
    """
    is_none = checkout.id_folder is None or read_checkout_id(checkout) is not None
    return None if is_none else _id_at(checkout.root, in_git=False)[0]


def _checked_id(found: object, path: str) -> str:
    if not isinstance(found, str) or len(found) != ID_LENGTH or not _HEX.issuperset(found):
        hint = "remove what is there; `agentm project register --adopt` then says which project this is"
        raise errors.ConfigError(f"{path} holds no id of a checkout", hint=hint)
    return found


def binding_keys(checkout: Checkout) -> Iterator[str]:
    """What a project is, in one text: its remote, its checkout, what that was as a folder. It is bound by the first
    one that there is, and may have been bound by another before.
    """
    if checkout.remote is not None:
        yield checkout.remote
    for read in (read_checkout_id, read_former_id):
        if (key := read(checkout)) is not None:
            yield key


# ------------------------------------------------------------------------------------------------ what it is called


def identify_project(root: str) -> Checkout:
    """The project at `root`, with the name that `.harness/project.json` gives it, if it gives one."""
    document = _read_project_file(root)
    if not document:
        return Checkout(root)
    path, key = harness_path(root, PROJECT_FILE), "vault_project"
    slug = given = _text(document.get(key), key, path)
    if not given:
        github = document.get("github") or {}
        if not isinstance(github, dict):
            raise _unfit(path, "has a `github` that is not an object in braces")
        from agentm_kernel.projects.remote import parse_remote

        key = "github.repo"
        given = _text(github.get("repo"), key, path)
        if not given:
            return Checkout(root)
        slug = parse_remote(given).name
    try:
        return Checkout(root, plain_slug(slug), f"`{key}` in {path}")
    except errors.InvalidLocatorError as error:
        raise errors.ConfigError(
            f"`{key}` in {path} cannot name a project: {error}",
            hint="set `vault_project` in that file to a plain name such as `my-project`",
        ) from error


def plain_slug(slug: str) -> str:
    """`slug` as stores spell it; `InvalidLocatorError` for one that is not a single plain name."""
    key = normalize_key(slug)
    if not key or "/" in slug:
        raise errors.InvalidLocatorError(
            f"{ascii(slug)} is not the name of a project", hint="choose a plain name such as `my-project`"
        )
    return key


def _read_project_file(root: str) -> dict[str, object]:
    """The object in the `project.json` of a checkout, empty where there is none; anything else is a `ConfigError`."""
    path = harness_path(root, PROJECT_FILE)
    return parse_project_file(read_rare_file(path), path)


def parse_project_file(data: bytes | None, path: str) -> dict[str, object]:
    try:
        return {} if data is None else parse_object(data)
    except errors.MalformedJson as error:
        raise _unfit(path, f"is not valid JSON: {error}") from error


def _text(value: object, key: str, path: str) -> str:
    if value is not None and not isinstance(value, str):
        raise _unfit(path, f"has a `{key}` that is not text")
    return (value or "").strip()


def _unfit(path: str, why: str) -> errors.ConfigError:
    return errors.ConfigError(f"{path} {why}", hint="correct that file; it says what the project is called")


def notice_about(place: Place, project: Checkout) -> str | None:
    """The line, or `None` where the store and the checkout agree."""
    record, remote = place.record, project.remote
    if record is not None and remote is not None and record.remotes and remote not in record.remotes:
        return (
            f"the remote is {remote} now, and the store knows the project '{place.slug}' as {record.remotes[0]}: "
            "if it is the same project, run `agentm project register --adopt`"
        )
    if project.declared and project.declared != place.slug:
        return (
            f"{project.source_of_declared} says '{project.declared}', but this project is '{place.slug}' in the "
            "store: another repository has that name, or this one had another before"
        )
    return None
