"""The rules of AIP-35 and its kin that no model says: across fields, about meaning, and what is only questionable."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from agentm_storage_policy import lifecycle
from agentm_storage_policy.actions import ASKED, problem_of
from agentm_storage_policy.definition import TOKENS, entries
from agentm_storage_policy.errors import PROVIDER_UNKNOWN, REF_UNRESOLVABLE
from agentm_storage_policy.models.secrets import FORBIDDEN, SLUG_PATTERN
from agentm_storage_policy.providers import CANONICAL, MODES
from agentm_storage_policy.ref_forms import FORMS, form_of, is_bare_path

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from agentm_storage_policy.notes import Notes
    from agentm_storage_policy.reading.yaml_text import Path

    Data = Mapping[str, Any]

_SLUG = re.compile(SLUG_PATTERN)
_TOKEN = re.compile(r"\{\{([^{}]*)\}\}")
_METADATA_HOSTS = ("169.254.169.254", "metadata.google.internal", "100.100.100.200", "[fd00:ec2::254]")
"""Where clouds hand out credentials to whoever asks. No store is there."""


def check_block(block: Data, at: Path, notes: Notes, providers: Collection[str] | None, *, is_embedded: bool) -> None:
    """Everything about one storage block."""
    _check_header(block, at, notes, is_embedded=is_embedded)
    _check_provider(block["provider"], at, notes, providers)
    _CONFIG_CHECKS.get(block["provider"], _no_check)(block["config"], (*at, "config"), notes)
    _check_sync(block, at, notes)
    _check_template(block.get("sync", {}), (*at, "sync", "commit", "message_template"), notes)
    _check_auth(block.get("auth", {}), (*at, "auth"), notes)
    _check_excludes(block.get("exclude", ()), (*at, "exclude"), notes)
    check_policies(block.get("policy"), (*at, "policy"), notes)


def check_reference(reference: Data, at: Path, notes: Notes) -> None:
    """`{ref}` or `{file}` to a storage block."""
    if "ref" in reference and form_of(reference["ref"]) is None:
        notes.error((*at, "ref"), f"a reference is {FORMS}", code=REF_UNRESOLVABLE)
    if "file" in reference:
        _check_file(reference["file"], (*at, "file"), notes)


def check_workspace(manifest: Data, notes: Notes, providers: Collection[str] | None) -> None:
    owner = manifest["owner"]["slug"]
    if manifest["id"].partition("/")[0] != f"@{owner}":
        notes.error(("owner", "slug"), "must be the owner part of the id", hint="for @acme/notes it is acme")
    check_embedded(manifest["storage"], ("storage",), notes, providers)
    check_policies(manifest.get("policy"), ("policy",), notes)
    mounts = manifest.get("sandbox", {}).get("inline", {}).get("mounts", ())
    for number, mount in enumerate(mounts):
        at: Path = ("sandbox", "inline", "mounts", number, "source")
        source = mount["source"]
        if isinstance(source, str):
            if source != "workspace":
                notes.error(at, "must be workspace, an inline storage block, or a ref")
        else:
            check_embedded(source, at, notes, providers)


def check_embedded(storage: Data, at: Path, notes: Notes, providers: Collection[str] | None) -> None:
    """A storage block as another manifest embeds it."""
    if "inline" in storage:
        check_block(storage["inline"], (*at, "inline"), notes, providers, is_embedded=True)
    else:
        check_reference(storage, at, notes)


def check_policies(policies: Any, at: Path, notes: Notes) -> None:
    for number, policy in enumerate(entries(policies)):
        here = (*at, number) if isinstance(policies, list) else at
        if "ref" in policy or "file" in policy:
            check_reference(policy, here, notes)
        else:
            check_policy(policy, here, notes)


def check_policy(policy: Data, at: Path, notes: Notes) -> None:
    if policy.get("default") == "allow":
        notes.warn(
            (*at, "default"), "what no grant mentions is allowed to everybody", hint="deny is the safe default"
        )
    elif not policy.get("grants"):
        notes.warn(at, "nothing is granted to anybody, so everything is denied")
    for number, grant in enumerate(policy.get("grants", ())):
        if "ttl_seconds" in grant and "granted_at" not in grant:
            notes.warn((*at, "grants", number), "a grant with ttl_seconds and no granted_at has expired already")
        for place, entry in enumerate(grant["actions"]):
            _check_action(entry["action"], (*at, "grants", number, "actions", place, "action"), notes)
    for block in ("limits", "requirements"):
        for number, entry in enumerate(policy.get(block, ())):
            for place, action in enumerate(entry.get("applies_to", ())):
                _check_action(action, (*at, block, number, "applies_to", place), notes)


def _check_action(action: str, at: Path, notes: Notes) -> None:
    problem = problem_of(action)
    if problem is None:
        return
    is_refused, why = problem
    if is_refused:
        notes.error(at, why, hint=f"there are {', '.join(ASKED)}, and storage:* for all of them")
    else:
        notes.warn(at, why)


def check_no_values(secrets: object, notes: Notes) -> None:
    """An inventory that could hold a secret is refused for that, whatever else is wrong with it."""
    for number, entry in enumerate(secrets if isinstance(secrets, list) else ()):
        for field in FORBIDDEN if isinstance(entry, dict) else ():
            if field in entry:
                message = "an inventory names secrets and never holds one"
                notes.error(("secrets", number, field), message, hint="remove the field", on_key=True)


def check_secrets(inventory: Data, notes: Notes) -> None:
    seen = set()
    for number, entry in enumerate(inventory["secrets"]):
        at: Path = ("secrets", number, "slug")
        if entry["slug"] in seen:
            notes.error(at, "another entry has this slug")
        seen.add(entry["slug"])
        if "--" in entry["slug"]:
            notes.error(at, "must not have two dashes in a row")
        if "backend" in entry:
            notes.warn(("secrets", number, "backend"), "says where secrets are kept to everybody who reads this")
        access = entry.get("access", {})
        if not access.get("bind") and not access.get("reveal"):
            notes.warn(("secrets", number), "nobody may have this secret: access lists no one")


# ------------------------------------------------------------------------------------------------ parts of a block


def _check_header(block: Data, at: Path, notes: Notes, *, is_embedded: bool) -> None:
    given = [key for key in ("schema", "id", "version") if key in block]
    if is_embedded and given:
        notes.warn((*at, given[0]), "belongs to a file of its own and means nothing in an embedded block")
    if not is_embedded and "schema" in block and len(given) < 3:
        missing = ", ".join(key for key in ("id", "version") if key not in block)
        notes.warn((*at, "schema"), f"a file of its own should have {missing} too, or nobody can refer to it")


def _check_provider(provider: str, at: Path, notes: Notes, providers: Collection[str] | None) -> None:
    if providers is not None and provider not in MODES and provider not in providers:
        known = ", ".join([*MODES, *sorted(providers)])
        notes.error((*at, "provider"), "no such provider is known", code=PROVIDER_UNKNOWN, hint=f"there are {known}")


def _check_sync(block: Data, at: Path, notes: Notes) -> None:
    sync = block.get("sync", {})
    mode = sync.get("mode") or MODES.get(block["provider"], CANONICAL)
    for step in ("pull", "commit", "push"):
        if step not in sync:
            continue
        here = (*at, "sync", step)
        if mode != "pull-push":
            notes.warn(here, f"is ignored: in mode {mode} there is nothing to {step}")
        elif "on" in sync[step] and not lifecycle.is_known(sync[step]["on"]):
            notes.warn(
                (*here, "on"),
                "is no event, so it never happens",
                hint=f"there are {', '.join(lifecycle.all_names())}",
            )


def _check_template(sync: Data, at: Path, notes: Notes) -> None:
    template = sync.get("commit", {}).get("message_template", "")
    unknown = [name for name in _TOKEN.findall(template) if name.strip() not in TOKENS or name != name.strip()]
    if unknown:
        shown = ", ".join(f"{{{{{name}}}}}" for name in TOKENS)
        notes.error(at, "has a {{token}} that nothing is filled in for", hint=f"there are {shown}")


def _check_auth(auth: Data, at: Path, notes: Notes) -> None:
    ref = auth.get("ref")
    if ref is None:
        if "state" in auth:
            notes.warn((*at, "state"), "names secrets, but there is no ref to the inventory that has them")
    elif form_of(ref) is None:
        if is_bare_path(ref):
            notes.warn((*at, "ref"), "is read as a path in the workspace", hint="begin it with ./")
        else:
            notes.error((*at, "ref"), f"a reference is {FORMS}", code=REF_UNRESOLVABLE)


def _check_excludes(patterns: Collection[str], at: Path, notes: Notes) -> None:
    from pathspec import GitIgnoreSpec

    for number, pattern in enumerate(patterns):
        try:
            GitIgnoreSpec.from_lines([pattern])
        except ValueError:
            notes.error((*at, number), "is not a pattern of gitignore")


def _check_file(path: str, at: Path, notes: Notes) -> None:
    if form_of(path if path.startswith("./") else f"./{path}") is None:
        notes.error(at, "a file is a path inside the workspace, such as ./name.md", code=REF_UNRESOLVABLE)


# ------------------------------------------------------------------------------------------------ config


def _no_check(_config: Data, _at: Path, _notes: Notes) -> None:
    return None


def _check_folder(config: Data, at: Path, notes: Notes, key: str, hint: str | None = None) -> None:
    if key in config and "path" in config:
        notes.error((*at, "path"), f"is another spelling of {key}: give one of them")
        return
    given = key if key in config else "path" if "path" in config else None
    if given is None:
        notes.error(at, f"{key} is missing", hint=hint)
        return
    if given == "path":
        notes.warn((*at, "path"), f"is read as {key}", hint=f"write {key}, as the specification does")
    parts = [part for part in re.split(r"[\\/]", config[given]) if part not in ("", ".")]
    if ".." in parts:
        notes.error((*at, given), "must not lead upwards")
    elif not parts or (len(parts) == 1 and parts[0].endswith(":")):
        notes.error((*at, given), "must not be the root of a file system")


def _check_dev_local(config: Data, at: Path, notes: Notes) -> None:
    _check_folder(config, at, notes, "root")


def _check_local_fs(config: Data, at: Path, notes: Notes) -> None:
    hint = "agent_id names a program that agentm cannot ask where its folder is" if "agent_id" in config else None
    _check_folder(config, at, notes, "mount_path", hint)


def _check_github(config: Data, at: Path, notes: Notes) -> None:
    owner, slash, name = config["repo"].partition("/")
    if "owner" in config:
        if slash:
            notes.error((*at, "repo"), "must be the name alone where owner is given")
    elif not (owner and slash and name) or "/" in name:
        notes.error((*at, "repo"), "must be owner/name where owner is not given")


def _check_self_bucket(config: Data, at: Path, notes: Notes) -> None:
    _check_endpoint(config, at, notes)
    slug = config.get("credentials_ref")
    if slug is None:
        return
    if slug.count("/") == 2 and _SLUG.match(slug.partition("/")[2]):
        notes.warn((*at, "credentials_ref"), "has one part too many for AIP-19; the last two are used")
    elif not _SLUG.match(slug) or "--" in slug:
        notes.error((*at, "credentials_ref"), "must be the slug of a secret, such as acme/s3-rw")


def _check_endpoint(config: Data, at: Path, notes: Notes) -> None:
    endpoint = config.get("endpoint", "").lower()
    host = endpoint.partition("://")[2].partition("/")[0]
    if any(host == bad or host.startswith(f"{bad}:") for bad in _METADATA_HOSTS):
        notes.error((*at, "endpoint"), "is the metadata service of a cloud, not a store")


_CONFIG_CHECKS = {
    "dev-local": _check_dev_local,
    "local-fs": _check_local_fs,
    "github": _check_github,
    "self-bucket": _check_self_bucket,
    "mastra-s3": _check_endpoint,
    "mastra-azure": _check_endpoint,
}
