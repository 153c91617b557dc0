"""`agentm project`: what the project here is called, whose name that is in the store, and the registry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from agentm_kernel.cli.output import current_device, echo_json, echo_table, json_option
from agentm_kernel.cli.state import cwd_option
from agentm_kernel.errors import AgentmError, NotFoundError
from agentm_kernel.projects.checkout import path_as_text
from agentm_kernel.projects.declare import declare_slug
from agentm_kernel.projects.in_store import place_in_store
from agentm_kernel.projects.ownership import adopt as adopt_repository, check_ownership, claim_ownership, owners
from agentm_kernel.projects.repo_registry import list_repos, register_repo, unregister_repo
from agentm_kernel.projects.root import find_project_root
from agentm_kernel.projects.slug import identify_project, plain_slug
from agentm_kernel.state.routing import is_local

if TYPE_CHECKING:
    from agentm_kernel.seam.backend import StorageBackend


@click.group("project")
def command() -> None:
    """Show and register projects."""


@command.command("show")
@json_option
@cwd_option
def show(as_json: bool, cwd: str | None) -> None:
    """Show what the project here is called, why, and what the store knows about it.

    Exit 1, after showing the rest, if the store cannot be had or the name belongs to another repository.
    """
    root = find_project_root(cwd)
    project = identify_project(root)
    fields: dict[str, Any] = {
        "slug": project.slug,
        "named_by": path_as_text(project.source),
        "root": path_as_text(root),
    }
    problem = None
    try:
        fields["remote"] = project.remote
        device = current_device()
        if not is_local(device, root):
            backend = device.store(read_only=True)
            fields.update(_in_store(backend, project.slug))
            check_ownership(backend, project.slug, project.remote)
    except AgentmError as error:
        problem = error
    if as_json and problem:
        problem.details = {**fields, "problem": problem.message}  # the error's answer carries them: one object
    elif as_json:
        echo_json(**fields, problem=None)
    else:
        echo_table(("", ""), [(name.replace("_", " "), _shown(value)) for name, value in fields.items()])
    if problem:
        raise problem


def _in_store(backend: StorageBackend, slug: str) -> dict[str, Any]:
    layout, locator = place_in_store(backend, slug)
    return {
        "store": backend.describe(),
        "place": locator.key,
        "layout": layout,
        "owners": list(owners(backend, slug)),
        "registered": any(repo["slug"] == slug for repo in list_repos(backend)),
    }


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(value) or "nobody yet" if isinstance(value, list) else str(value)


@command.command("register")
@click.option("--slug", metavar="NAME", help="Name the project, in its .harness/project.json.")
@click.option("--adopt", is_flag=True, help="It is the project that has the name, from another remote or folder.")
@click.option("--wiki-path", metavar="DIR", help="Where the project's wiki is.")
@cwd_option
def register(slug: str | None, adopt: bool, wiki_path: str | None, cwd: str | None) -> None:
    """Enter the project here into the store's registry and claim its name there; prints the name."""
    root = find_project_root(cwd)
    project = identify_project(root)
    name = project.slug if slug is None else plain_slug(slug)
    backend = current_device().store(read_only=False)
    if adopt:
        adopt_repository(backend, name, project.remote)
    else:
        claim_ownership(backend, name, project.remote)
    if name != project.slug:
        declare_slug(root, name)
    register_repo(backend, name, root, remote=project.origin, wiki_path=wiki_path)
    click.echo(name)


@command.command("unregister")
@click.argument("slug", required=False)
@cwd_option
def unregister(slug: str | None, cwd: str | None) -> None:
    """Take SLUG, or the project here, out of the registry. Its notes and its plan stay where they are."""
    name = slug or identify_project(find_project_root(cwd)).slug
    if not unregister_repo(current_device().store(read_only=False), name):
        raise NotFoundError(f"'{name}' is not registered", hint="`agentm project list` shows what is")
    click.echo(f"removed {name} from the registry")


@command.command("list")
@json_option
def list_registered(as_json: bool) -> None:
    """List the repositories that the store's registry has."""
    repos = list_repos(current_device().store(read_only=True))
    if as_json:
        echo_json(repos=repos)
    else:
        columns = ("slug", "root_path", "remote")
        echo_table(
            ("slug", "folder", "remote"), [tuple(str(repo.get(column, "")) for column in columns) for repo in repos]
        )
