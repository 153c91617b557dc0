"""`agentm policy`: check documents, explain what one means here, print the schema, set the store up."""

from __future__ import annotations

import json
import os
import shlex
import sys
from typing import TYPE_CHECKING, Any

import click

from agentm_kernel.command import answering, current_device, echo_json, json_option
from agentm_kernel.plugin import STAMP_KEY, Locator, Opening, StorageSelectionError, adopt_store, refuse_nested
from agentm_storage_policy.composing import compose
from agentm_storage_policy.errors import CONFIG_INVALID, Finding, StoragePolicyError
from agentm_storage_policy.files import Unreadable, read_document
from agentm_storage_policy.handle import StorageHandle, check_auth, check_provider, load_storage
from agentm_storage_policy.host import Host
from agentm_storage_policy.parse import STORAGE_KINDS, examine_bytes
from agentm_storage_policy.resolving import Resolver
from agentm_storage_policy.store import policy_store

if TYPE_CHECKING:
    from collections.abc import Sequence

_KINDS = ("storage", "workspace", "policy", "secrets")


@click.group("policy")
def command() -> None:
    """Check, explain and use storage policies (STORAGE.md, AIP-35)."""


@command.command("check")
@click.argument("files", nargs=-1, required=True, metavar="FILE…", type=click.Path())
@json_option
def check(files: Sequence[str], as_json: bool) -> int:
    """Check STORAGE.md, WORKSPACE.md, POLICY.md and SECRETS.md files. Opens nothing and follows no reference.

    Exits 1 if any of them is refused; warnings do not count.
    """
    found = {file: _findings(file) for file in files}
    if as_json:
        echo_json(files=[_as_json(file, findings) for file, findings in found.items()])
    else:
        for file, findings in found.items():
            for finding in findings:
                _show(finding)
            if not any(finding.is_error for finding in findings):
                click.echo(f"{file}: ok")
    return int(any(finding.is_error for findings in found.values() for finding in findings))


def _findings(file: str) -> list[Finding]:
    try:
        data = read_document(file)
    except Unreadable as error:
        return [Finding(CONFIG_INVALID, "", str(error), "check the path", file)]
    parsed, findings = examine_bytes(data, file)
    if parsed is not None and parsed.kind in STORAGE_KINDS:
        from agentm_storage_policy.compiled import Document

        document = Document.of(parsed, file)
        try:
            check_provider(StorageHandle(document))
            check_auth(document)
        except StoragePolicyError as error:
            findings = [*error.findings, *findings]
    return findings


def _show(finding: Finding) -> None:
    label = f"error [{finding.code}]" if finding.is_error else "warning"
    click.echo(f"{finding}: {label}")
    if finding.hint:
        click.echo(f"  hint: {finding.hint}")


def _as_json(file: str, findings: list[Finding]) -> dict[str, Any]:
    return {
        "file": file,
        "ok": not any(finding.is_error for finding in findings),
        "findings": [
            {
                "severity": "error" if finding.is_error else "warning",
                "code": finding.code or None,
                "key": finding.key,
                "message": finding.message,
                "hint": finding.hint,
                "line": finding.line,
                "column": finding.column,
            }
            for finding in findings
        ],
    }


@command.command("explain")
@click.argument("file", type=click.Path())
@json_option
def explain(file: str, as_json: bool) -> None:
    """Say in sentences what FILE means on this device. Follows references; opens and reveals nothing."""
    from agentm_storage_policy.explain import sentences

    host = _host()
    resolver = Resolver(host)
    resolved = load_storage(file).resolve(host.device, host.options)
    grants = compose(resolved, host, resolver) if resolved.policies else None
    lines = list(sentences(resolved, host, grants))
    if as_json:
        echo_json(file=file, provider=resolved.definition.provider, sentences=lines)
        return
    for line in lines:
        click.echo(line)


@command.command("schema")
@click.option("--kind", type=click.Choice(_KINDS), default="storage", show_default=True, help="Which document.")
def schema(kind: str) -> None:
    """Print the JSON Schema of a document, for editors and other programs."""
    from agentm_storage_policy.models.kinds import schema_for

    click.echo(json.dumps(schema_for(kind), indent=2))


@command.command("init")
@click.argument("place", required=False)
@click.option("--adopt", is_flag=True, help="Accept a store that has notes already.")
@answering
def init(place: str | None, adopt: bool, answer: dict[str, str]) -> None:
    """Set up the store of the configured policy: mark it as agentm's, so that writing is allowed.

    PLACE, if given, has to be where the policy's store is. A store that is marked already is left as it is.
    """
    device = current_device()
    selected = device.store(read_only=False)
    store = policy_store(selected)
    if store is None:
        raise StorageSelectionError(
            "no storage policy is configured", hint="run `agentm config set storage.policy PATH`"
        )
    where = store.describe()
    if place is not None and os.path.abspath(place) != where and place != where:
        raise StorageSelectionError(
            f"the store of the configured policy is at {where}, not at {place}",
            hint="check storage.policy: `agentm config get storage.policy`",
        )
    store.rules.require_write(Locator(STAMP_KEY))
    if store.stamp_text() is None and not adopt and store.inner.list(Locator()):
        again = f"agentm policy init {shlex.quote(where)} --adopt"
        raise StorageSelectionError(f"{where} has notes already", hint=f"if it is the right place, run `{again}`")
    if store.stamp_text() is None and os.path.isdir(where):
        refuse_nested(where)
    answer.update(store=adopt_store(device, store, "policy"), place=where)
    click.echo(f"the store {answer['store']} is at {where}")


def _host() -> Host:
    device = current_device()
    interactive = sys.stdin.isatty() and sys.stderr.isatty()
    opening = Opening(read_only=not interactive, state_dir=device.state_dir)
    return Host(device.config.options("policy"), device, opening)
