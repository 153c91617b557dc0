"""AIP-39: the actions that a policy can grant, and which of them agentm asks for."""

from __future__ import annotations

from agentm_kernel.plugin import COMMIT, PUSH, SWAP_PROVIDER

READ = "storage:read"
WRITE = "storage:write"
DELETE_FILES = "storage:delete-files"
SWAP_BRANCH = "storage:swap-branch"

ASKED = (READ, WRITE, COMMIT, PUSH, SWAP_PROVIDER, DELETE_FILES)
"""What agentm asks for. `storage:write` covers deleting too; `storage:delete-files` alone covers only that."""
_UNUSED = (SWAP_BRANCH,)
"""Of the specification, and never asked for here: the branch stands in the policy itself."""
_NAMESPACE = "storage"
_STANDARD_LIBRARIES = ("@agentik/actions-standard/", "@agentik/actions/standard/")


def plain_action(pattern: str) -> str:
    """An action by its short name, also where a grant names it by its place in the standard library."""
    for library in _STANDARD_LIBRARIES:
        if pattern.startswith(library):
            return pattern.removeprefix(library).replace("-", ":", 1)
    return pattern


def problem_of(pattern: str) -> tuple[bool, str] | None:
    """What is wrong with an action in a policy: whether it is refused, and why; `None` for one that is asked for.

    An action that nobody asks for would look like a rule and be none. Those of other programs are theirs to know.
    """
    action = plain_action(pattern)
    if action.endswith("*"):
        prefix = action[:-1]
        if any(known.startswith(prefix) for known in ASKED):
            return None
        if prefix.startswith(f"{_NAMESPACE}:") or (":" not in prefix and not prefix.startswith(("@", "./", "../"))):
            return True, "no action begins like that"
        return False, "agentm asks for no such action: it is another program's"
    if action in ASKED:
        return None
    if action in _UNUSED:
        return False, "agentm never asks for it: the branch stands in the policy itself"
    namespace, colon, _ = action.partition(":")
    if namespace == _NAMESPACE or not (colon or action.startswith(("@", "./", "../"))):
        return True, "there is no such action"
    return False, "agentm asks for no such action: it is another program's"
