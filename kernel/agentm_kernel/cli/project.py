"""`agentm project`: what the project here is called, whose name that is in the store, and the registry."""

from __future__ import annotations

from shlex import quote
from typing import Any

import click

from agentm_kernel.cli.output import Answer, KernelGroup, store_device
from agentm_kernel.errors import AgentmError, ConfigError, NotFoundError
from agentm_kernel.projects import find_project_root
from agentm_kernel.projects.checkout import identify_project, path_as_text, plain_slug
from agentm_kernel.projects.claiming import claim_as, declare_slug
from agentm_kernel.projects.lookup import find_record, read_record, records
from agentm_kernel.projects.remote import parse_remote
from agentm_kernel.projects.repo_registry import list_repos, register_repo, unregister_repo
from agentm_kernel.seam.backend import StorageBackend
from agentm_kernel.seam.layout import PROJECT_TREES
from agentm_kernel.seam.locator import Locator
from agentm_kernel.state import Device
from agentm_kernel.state.routing import Resolution, in_store, is_local

command = KernelGroup("project", help="Show and register projects.")


@command.answering("show")
def show(device: Device, cwd: str | None, answer: Answer) -> None:
    """Show what the project here is called, why, and what the store knows about it.

    Exit 1, after showing the rest, if the store cannot be had or does not say which project this is.
    """
    root, problem = find_project_root(cwd), None
    project = identify_project(root)
    answer.update(slug=project.slug, named_by=path_as_text(project.source), root=path_as_text(root))
    try:
        answer["remote"] = project.remote
        if not is_local(device, root):
            answer.update(_in_store(in_store(device, root, read_only=True).in_the_store()))
    except AgentmError as error:
        problem = error
    answer.show(("", ""), [(name.replace("_", " "), _shown(value)) for name, value in answer.items()])
    answer["problem"] = problem and problem.message
    if problem:
        raise problem


def _in_store(here: Resolution) -> dict[str, Any]:
    here.refuse_no_project()
    store, place = here.backend, here.place
    assert store is not None
    assert place is not None
    return {
        "slug": here.slug,
        "store": store.describe(),
        "place": place.folder.key,
        "layout": here.layout,
        "claimed": here.is_claimed,
        "owners": list(place.record.remotes) if place.record else [],
        "also": _other_names(store, here),
        "registered": any(repo["slug"] == here.slug for repo in list_repos(store)),
        "notice": here.notice,
    }


def _other_names(store: StorageBackend, here: Resolution) -> str | None:
    """What the project is called too, as far as it can be told: the record of another one may be unreadable."""
    is_whole = store.capabilities.device_files or store.capabilities.encryption  # else, all claim names in one store
    known = records(store) if is_whole else ()
    try:
        others = [each.slug for each in known if here.identity.remote in each.remotes and each.slug != here.slug]
    except AgentmError as error:
        return f"not known: {error.message}"
    return ", ".join(others) or None


def _shown(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(value) or "no remote yet"
    return str(value) if isinstance(value, str) else "none" if value is None else "yes" if value else "no"


@command.answering("register")
@click.option("--slug", metavar="NAME", help="Name the project, in its .harness/project.json.")
@click.option("--adopt", is_flag=True, help="It is the project that has the name, under another remote.")
@click.option("--wiki-path", metavar="DIR", help="Where the project's wiki is.")
def register(
    device: Device, slug: str | None, adopt: bool, wiki_path: str | None, cwd: str | None, answer: Answer
) -> None:
    """Enter the project here into the store's registry and claim its name there; prints the name.

    Notes that lie under the name and belong to nobody become this project's.
    """
    here = device.memory(cwd, read_only=False)
    here.refuse_no_project()
    folder = _claimed(here, None if slug is None else plain_slug(slug), adopt=adopt)
    assert here.backend is not None
    if slug is not None and folder.name != here.identity.slug:
        declare_slug(here.root, folder.name)
    register_repo(here.backend, folder.name, here.root, remote=here.identity.origin, wiki_path=wiki_path)
    answer.tell(folder.name, slug=folder.name, place=folder.key)


def _claimed(here: Resolution, slug: str | None, *, adopt: bool) -> Locator:
    """The folder of the project, which is this project's from now on."""
    assert here.backend is not None
    project, checkouts = here.identity, here.checkouts(here.backend)
    record = find_record(here.backend, project, checkouts)
    if record is not None and not adopt and slug is not None and slug != record.slug:
        hint = f"`agentm project rename {quote(record.slug)} {quote(slug)}` gives it another name"
        raise ConfigError(f"this project is '{record.slug}' in the store already", hint=hint)
    name = slug or (project.slug if record is None else record.slug)
    if slug is None and not adopt and (record is not None or read_record(here.backend, name) is not None):
        return here.claim()
    return claim_as(here.backend, project, checkouts, name, adopting=adopt).folder


@command.answering("check")
def check(device: Device, cwd: str | None, answer: Answer) -> int:
    """Compare the project's name with that of its remote.

    Exit 0 if they are the same, 1 if they are not (the answer says why, where that is known), 3 without a remote.
    """
    here = device.memory(cwd)
    here.refuse_no_project()
    name = parse_remote(here.identity.origin or "").name or None
    answer.update(slug=here.slug, remote=name, same=here.slug == name, notice=here.notice)
    if name is None:
        click.echo(f"{here.slug}: no remote `origin`")
        return 3
    click.echo(f"{here.slug}: the remote `origin` is called {name}")
    if here.notice:
        click.echo(here.notice)
    return int(here.slug != name)


@command.answering("unregister")
@click.argument("slug", required=False)
def unregister(device: Device, slug: str | None, cwd: str | None, answer: Answer) -> None:
    """Take SLUG, or the project here, out of the registry. Its notes and its plan stay where they are."""
    name = slug or device.memory(cwd).slug
    if not unregister_repo(store_device(cwd=cwd).store(read_only=False), name):
        raise NotFoundError(f"'{name}' is not registered", hint="`agentm project list` shows what is")
    answer.tell(f"removed {name} from the registry", slug=name)


@command.answering("list")
def list_projects(_device: Device, answer: Answer) -> None:
    """List the projects of the store, and the folder and remote of those that its registry has."""
    store = store_device().store(read_only=True)
    repos = list_repos(store)
    known = {str(repo.get("slug")) for repo in repos}
    for folder in [folder for tree in PROJECT_TREES for folder in store.list(Locator(tree))]:
        record = None if folder.name in known else read_record(store, folder.name)
        if folder.name not in known and (record is None or record.unread_in(folder) is None):
            repos.append({"slug": folder.name, "remote": record.remotes[0] if record and record.remotes else ""})
    rows = [[str(repo.get(column, "")) for column in ("slug", "root_path", "remote")] for repo in repos]
    answer["repos"] = repos
    answer.show(("slug", "folder", "remote"), rows, nothing="no project yet")
