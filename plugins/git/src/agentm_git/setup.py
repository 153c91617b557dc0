"""Making a clone, and making it the agent's store: once for each device."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentm_git.backend import GitStore
from agentm_git.private_dir import PrivateDir
from agentm_git.runner import Git, make_repository
from agentm_git.settings import PROTOCOL, Settings
from agentm_kernel.plugin import (
    STAMP_KEY,
    TEMP_PREFIX,
    AgentmError,
    Locator,
    StorageIOError,
    StorageSelectionError,
    StoreIdentityError,
    SyncTrigger,
    make_private_folder,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


_MESSAGE = "agentm: set the store up"


@dataclass(frozen=True)
class SetUp:
    """What `set_up` did."""

    place: str
    store_id: str
    was_there: bool
    """The repository was a store already: this device joins it."""
    remote: str
    """The origin: the one that was given, or that the clone has already."""
    outer: str
    """The repository that a new one was made in, unless it ignores the folder; mostly empty."""


def make_clone(root: str, settings: Settings, environ: Mapping[str, str]) -> None:
    """An empty repository at `root` that knows its origin. Whoever pulls next fills it."""
    if os.path.isdir(os.path.join(root, ".git", "objects")):
        return
    place = root if os.path.isdir(root) and os.listdir(root) else f"{root}.{os.urandom(4).hex()}.new"
    try:
        make_private_folder(place)
    except OSError as error:
        raise StorageIOError(f"cannot make {root}: {error.strerror}", errno=error.errno) from error
    make_repository(place, settings.branch, environ)
    _hide_temporary_files(place)
    if settings.remote:
        _tell_origin(place, settings, environ)
    if place != root:
        _put_in_place(place, root)


def _hide_temporary_files(root: str) -> None:
    """Keep ours out of `git status` and `git add .`: a displaced version waits some seconds for its writers."""
    path = os.path.join(root, ".git", "info", "exclude")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "a", encoding="utf-8") as exclude:
        exclude.write(f"{TEMP_PREFIX}*\n")


def _put_in_place(made: str, root: str) -> None:
    """Give a repository its name in one step: of two processes that make one at once, one is too late."""
    try:
        os.rename(made, root)
    except OSError as error:
        shutil.rmtree(made, ignore_errors=True)
        if not os.path.isdir(os.path.join(root, ".git", "objects")):
            raise StorageIOError(f"cannot make {root}: {error.strerror}", errno=error.errno) from error


def _tell_origin(root: str, settings: Settings, environ: Mapping[str, str]) -> None:
    """Let the operator's git know the origin too. The address has no password in it."""
    public = os.path.join(root, ".git")
    git = Git(public, root, os.path.join(public, "objects"), environ)
    branch = settings.branch
    for key, value in (
        ("remote.origin.url", settings.remote),
        ("remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*"),
        (f"branch.{branch}.remote", "origin"),
        (f"branch.{branch}.merge", f"refs/heads/{branch}"),
    ):
        git.run("config", "--file", os.path.join(public, "config"), key, value)


def known_origin(root: str, environ: Mapping[str, str]) -> str:
    """The address that a clone of the operator's has. It is only read."""
    public = os.path.join(root, ".git")
    git = Git(public, root, os.path.join(public, "objects"), environ)
    config = os.path.join(public, "config")
    return git.text("config", "--file", config, "--no-includes", "remote.origin.url", good=(0, 1))


def set_up(
    path: str,
    url: str = "",
    *,
    adopt: bool = False,
    environ: Mapping[str, str] | None = None,
    options: Mapping[str, Any] | None = None,
) -> SetUp:
    """Make `path` a clone of `url`, or a repository of its own, and give it a store's identity unless it has one.

    `adopt` accepts a folder or an origin that has files already. `options` are those of `plugins.git`.
    """
    from agentm_kernel.plugin import Device, Opening, adopt_store, check_store, refuse_nested, stamp_store

    device = Device.now(environ)
    place = place_of(path, environ=environ)
    _check_parent(place)
    PrivateDir(place).check_own()
    is_clone = os.path.isdir(os.path.join(place, ".git"))
    url = url or (known_origin(place, device.environ) if is_clone else "")
    store = GitStore.create(
        {**(options or {}), "root": place, "remote": url}, device, Opening(state_dir=device.state_dir)
    )
    is_marked = os.path.isfile(os.path.join(place, *STAMP_KEY.split("/")))  # a store that lost its repository
    if not is_marked:
        refuse_nested(place)
    if not (is_clone or adopt or is_marked):
        _check_empty(place)
    make_clone(place, store.settings, device.environ)
    if url:
        fill(store, place, is_new=not is_clone, is_branch_named=bool((options or {}).get("branch")))
    if is_clone and not is_marked:  # else what git has never checked out would be deleted for everybody
        store.clone.bring_back()
    was_there = check_store(device, store, PROTOCOL) is not None
    if not was_there and not adopt and store.list(Locator()):
        raise StorageSelectionError(
            f"{url or place} has files already and is no store of agentm",
            hint="if they are the agent's notes, run "
            f"`agentm git init --adopt {shlex.join([path, url] if url else [path])}`",
        )
    stamp_store(store)
    try:
        store.sync(SyncTrigger("manual"), _MESSAGE)
    except StoreIdentityError:
        if was_there:
            raise
        _take_identity_of_origin(store)  # another device was faster
        was_there = True
    outer = "" if is_clone else _outer_repository(place, device.environ)
    return SetUp(place, adopt_store(device, store, PROTOCOL), was_there, url, outer)


def fill(store: GitStore, place: str, *, is_new: bool, is_branch_named: bool = True) -> None:
    """Bring in what the origin has. A new clone of an origin that cannot be had is not left lying about."""
    try:
        store.pull(SyncTrigger("manual"))
        if not is_branch_named and store.clone.public.head() is None:
            _check_branches(store, place)
    except AgentmError:
        if is_new and store.clone.public.head() is None:
            shutil.rmtree(os.path.join(place, ".git"), ignore_errors=True)
            with contextlib.suppress(OSError):
                os.rmdir(place)  # unless the operator has something in it
        raise


def _check_branches(store: GitStore, place: str) -> None:
    """Raise if the origin has other branches and not the usual one: its notes may be on one of them."""
    from agentm_git.branches import PREFIX
    from agentm_git.origin import Deadline

    wanted = store.settings.branch
    found = store.clone.origin.branches(Deadline(store.settings.deadline))
    there = [branch for branch in found if not branch.startswith(f"{PREFIX}/")]  # those wait to be merged into it
    if there and wanted not in there:
        words = shlex.join([place, store.settings.remote])
        raise StorageSelectionError(
            f"the origin has no branch {wanted}, and has {', '.join(there[:3])}",
            hint=f"run `agentm git init {words} --branch {shlex.quote(there[0])}` to join the notes on that one; "
            f"`--branch {wanted}` begins a store beside it",
        )


def place_of(path: str, *, environ: Mapping[str, str] | None = None) -> str:
    """The folder that somebody means with `path`."""
    from agentm_kernel.plugin import Device

    return os.path.abspath(Device.now(environ).expand(path))


def _take_identity_of_origin(store: GitStore) -> None:
    """Let an identity that nobody has seen yet give way to the one that the origin has got meanwhile."""
    from agentm_git.origin import tracking
    from agentm_git.stamps import stamp_of

    text = stamp_of(store.clone.git, store.clone.private.ref(tracking(store.settings.branch)) or "")
    store.write(Locator(STAMP_KEY), (text or b"").decode())
    store.sync(SyncTrigger("manual"), _MESSAGE)


def _outer_repository(place: str, environ: Mapping[str, str]) -> str:
    """The work tree that `place` lies in, empty if there is none or if it ignores the folder."""
    place = os.path.realpath(place)
    above = os.path.dirname(place)
    while not os.path.exists(public := os.path.join(above, ".git")):
        if os.path.dirname(above) == above:
            return ""
        above = os.path.dirname(above)
    git = Git(public, above, os.path.join(public, "objects"), environ)
    question = ("--no-literal-pathspecs", "check-ignore", "--no-index", "--", f"{place}/")
    return "" if git.run(*question, good=(0, 1, 128)) else above  # 128: git cannot read it, nobody knows


def _check_parent(place: str) -> None:
    parent = os.path.dirname(place)
    if not os.path.isdir(parent):
        raise StorageSelectionError(
            f"the folder {parent} does not exist",
            hint="mount the disk that has it, or make it; only the last folder of the path is made",
        )


def _check_empty(place: str) -> None:
    if os.path.lexists(place) and not os.path.isdir(place):
        raise StorageSelectionError(f"{place} is not a folder", hint="choose another path")
    if os.path.isdir(place) and (names := os.listdir(place)):
        raise StorageSelectionError(
            f"{place} is not empty: it has {ascii(min(names))}",
            hint="choose another folder, or run "
            f"`agentm git init --adopt {shlex.quote(place)}` if they are the agent's notes",
        )
