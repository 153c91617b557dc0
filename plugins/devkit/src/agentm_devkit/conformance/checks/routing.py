"""What the kernel keeps in a store for itself, on any backend: the registry of repositories, and who owns a name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentm_devkit.conformance.checking import check
from agentm_devkit.conformance.expect import refused, same, unchanged
from agentm_devkit.conformance.processes import together
from agentm_kernel.plugin import (
    ConfigError,
    InvalidContentError,
    check_ownership,
    claim_ownership,
    list_repos,
    read_registry,
    register_repo,
    registry_locator,
    unregister_repo,
)

if TYPE_CHECKING:
    from agentm_devkit.conformance.bench import Bench
    from agentm_devkit.conformance.worker import Child

_WRITERS, _EACH = 4, 10


@check("routing")
def check_routing_repo_registry(bench: Bench) -> None:
    """Repositories can be registered, renewed, listed and unregistered, and reading the registry creates nothing."""
    store = bench.store
    with unchanged(store):
        same("read_registry of a new store", read_registry(store), {"version": 1, "repos": []})
        same("unregister_repo of what is not there", unregister_repo(store, "one"), False)
    register_repo(store, "one", "/src/one")
    register_repo(store, "two", "/src/two", remote="git@example.com:o/two.git")
    register_repo(store, "one", "/moved/one")
    one = {"slug": "one", "root_path": "/moved/one"}
    two = {"slug": "two", "root_path": "/src/two", "remote": "example.com/o/two"}
    same("list_repos", list_repos(store), [one, two])
    same("unregister_repo", unregister_repo(store, "one"), True)
    same("list_repos after unregister_repo", list_repos(store), [two])


@check("routing")
def check_routing_broken_registry(bench: Bench) -> None:
    """A registry that is not what it should be raises `InvalidContentError` and is never written over."""
    store = bench.store
    store.write(registry_locator(store), '{"repos": [')
    with unchanged(store):
        refused(InvalidContentError, list_repos, store)
        refused(InvalidContentError, register_repo, store, "one", "/src/one")
        refused(InvalidContentError, unregister_repo, store, "one")


@check("routing")
def check_routing_ownership(bench: Bench) -> None:
    """The first repository that claims a project's name keeps it; another is refused and changes nothing."""
    store = bench.store
    with unchanged(store):
        check_ownership(store, "widgets", "example.com/a/widgets")
    claim_ownership(store, "widgets", "example.com/a/widgets")
    with unchanged(store):
        claim_ownership(store, "widgets", "example.com/a/widgets")
        refused(ConfigError, check_ownership, store, "widgets", "example.com/b/widgets")
        refused(ConfigError, claim_ownership, store, "widgets", "example.com/b/widgets")


@check("routing", needs=("concurrent_writers",), rows=(33,))
def check_routing_registry_race(bench: Bench) -> None:
    """Processes that register repositories at the same time lose none of them."""
    together([bench.start(_register_all, writer) for writer in range(_WRITERS)])
    registered = {repo["slug"] for repo in list_repos(bench.store)}
    same(
        "the set of slugs",
        registered,
        {f"{writer}-{number}" for writer in range(_WRITERS) for number in range(_EACH)},
    )


def _register_all(child: Child, writer: int) -> None:
    for number in range(_EACH):
        register_repo(child.store, f"{writer}-{number}", "/src")
