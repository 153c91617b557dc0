"""What a vault adds to a person's page: its conflicts, both texts side by side, to be settled there."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from agentm_kernel.plugin import (
    AgentmError,
    AuthorizationError,
    ConcurrentModificationError,
    ConflictCopies,
    Panel,
    content_hash,
    hookimpl,
    refuse_secrets,
    store_mutex,
)
from agentm_obsidian_vault.backend import VaultBackend

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentm_kernel.plugin import Device, HookContext, StorageBackend
    from agentm_obsidian_vault.survey import Conflict

    Query = Mapping[str, str]

_MOST = 20
_CHOICES = {
    "mine": "Keep the note",
    "theirs": "Take the other version",
    "both": "Keep both as notes",
    "union": "Lines of both",
}


@hookimpl
def agentm_page_panels(context: HookContext) -> list[Panel] | None:
    """Nothing, where no vault is selected."""
    vault = None if context.store is None else context.store.facet(ConflictCopies)
    if not isinstance(vault, VaultBackend):
        return None
    actions = {choice: partial(_settle, context.device, choice) for choice in _CHOICES}
    actions["merge"] = partial(_settle, context.device, "merge")
    return [Panel("conflicts", "Conflicts", "decide", partial(_show, vault), actions)]


def _show(vault: VaultBackend, _query: Query) -> list[Mapping[str, Any]]:
    from agentm_obsidian_vault.merge import is_append_only
    from agentm_obsidian_vault.resolve import read_versions
    from agentm_obsidian_vault.survey import find_conflicts

    found = [conflict for conflict in find_conflicts(vault) if not conflict.is_suspect]
    blocks: list[Mapping[str, Any]] = []
    for conflict in found[:_MOST]:
        versions = read_versions(vault, conflict)
        mine = versions.mine or ""
        fields = {
            "copy": conflict.copy.locator.key,
            "mine": content_hash(mine) if versions.mine is not None else "absent",
            "theirs": content_hash(versions.theirs),
        }
        choices = ["mine", "theirs", "both"]
        if is_append_only(conflict.base.name) and not conflict.is_plan:
            choices.append("union")
        actions: list[dict[str, Any]] = [
            {"action": name, "label": _CHOICES[name], "fields": fields} for name in choices
        ]
        ask = [{"name": "text", "label": "Or put together what should stay", "text": mine, "long": True}]
        actions.append({"action": "merge", "label": "Save what is written here", "fields": fields, "ask": ask})
        blocks.append(
            {
                "type": "sides",
                "title": conflict.base.key,
                "note": conflict.base.key if versions.mine is not None else "",
                "text": f"Another version came from {conflict.tool}. Whatever you choose, the other one is kept.",
                "left": {"title": "The note", "text": mine},
                "right": {"title": conflict.copy.locator.name, "text": versions.theirs},
                "actions": actions,
            }
        )
    if len(found) > _MOST:
        blocks.append({"type": "text", "text": f"{len(found) - _MOST} more are shown when these are settled."})
    return blocks


def _settle(device: Device, choice: str, fields: Query) -> str:
    """Do what was chosen, if both texts are still those that the page showed."""
    from agentm_obsidian_vault.commands import _is_guarded
    from agentm_obsidian_vault.resolve import read_versions, settle

    store = device.store(read_only=False)
    vault = store.facet(ConflictCopies)
    if not isinstance(vault, VaultBackend):
        raise AgentmError("the selected store is no vault any more", hint="reload the page")
    with store_mutex(vault.describe()):
        conflict = _find(vault, fields.get("copy", ""))
        versions = read_versions(vault, conflict)
        now = "absent" if versions.mine is None else content_hash(versions.mine)
        if (now, content_hash(versions.theirs)) != (fields.get("mine"), fields.get("theirs")):
            raise ConcurrentModificationError(
                f"'{conflict.base}' or its other version was changed meanwhile; nothing was settled",
                hint="look at both again",
            )
        if _is_guarded(store, conflict.base.key) and choice != "mine":
            raise AuthorizationError(
                f"'{conflict.base}' is under guard: only somebody at a terminal lets another version take its place",
                hint="run `agentm vault resolve` in a terminal and compare the two",
            )
        if choice == "merge":
            return _merge(store, vault, conflict, fields.get("text", ""))
        return settle(store, vault, conflict, choice)


def _merge(store: StorageBackend, vault: VaultBackend, conflict: Conflict, text: str) -> str:
    """The person's own text becomes the note; both versions that it came from are kept."""
    from agentm_kernel.plugin import ABSENT
    from agentm_obsidian_vault.resolve import _keep, read_versions
    from agentm_obsidian_vault.survey import raw_files

    refuse_secrets("the note", text)
    versions = read_versions(vault, conflict)
    for version in (versions.mine, versions.theirs):
        if version is not None and version != text:
            _keep(store, conflict.base, version)
    condition = ABSENT if versions.mine is None else content_hash(versions.mine)
    store.write(conflict.base, text, if_match=condition)
    raw_files(vault).delete(conflict.copy.locator, if_match=content_hash(versions.theirs))
    return f"'{conflict.base}' is what you put together; both versions are kept."


def _find(vault: VaultBackend, copy: str) -> Conflict:
    from agentm_obsidian_vault.survey import find_conflicts

    for conflict in find_conflicts(vault):
        if conflict.copy.locator.key == copy and not conflict.is_suspect:
            return conflict
    raise ConcurrentModificationError(f"'{copy}' is settled already, or gone", hint="reload the page")
