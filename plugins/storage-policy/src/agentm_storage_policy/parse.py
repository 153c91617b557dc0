"""From the bytes of a document to checked values, or to everything that is wrong with it.

Nothing is looked up: no reference is followed, no provider imported, no credential resolved, no file opened. What a
document is, is seen from its fields: a storage block, a manifest that embeds one, a policy, an inventory of secrets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from agentm_kernel.plugin import find_secrets
from agentm_storage_policy import rules
from agentm_storage_policy.errors import Finding, refusal
from agentm_storage_policy.notes import Notes, dotted
from agentm_storage_policy.providers import MODES
from agentm_storage_policy.reading.credentials import credentials_in
from agentm_storage_policy.reading.front_matter import decode, front_matter
from agentm_storage_policy.reading.yaml_text import UnreadableYaml, read_yaml

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

STORAGE = "storage"
REFERENCE = "reference"
WORKSPACE = "workspace"
MANIFEST = "manifest"
POLICY = "policy"
SECRETS = "secrets"
IDENTITY = "identity"

STORAGE_KINDS = (STORAGE, REFERENCE, WORKSPACE, MANIFEST)
"""What leads to a storage block."""

_NAMES = {POLICY: "a POLICY.md", SECRETS: "a SECRETS.md", WORKSPACE: "a WORKSPACE.md", IDENTITY: "an identity"}
_SCHEMAS = {"storage/v1": STORAGE, "workspace/v1": WORKSPACE, "policy/v1": POLICY}
_FORMS = ("inline", "ref", "file")
_REMEDY = "name it in a SECRETS.md, refer to that by auth.ref, and replace the secret: it has been written down"
_HINTS = {
    "sync.mode": "each provider has one mode: " + ", ".join(f"{name} {mode}" for name, mode in MODES.items()),
    "policy": "a policy stands directly under policy:, with schema: policy/v1, or is {ref: …} or {file: …}",
    "policy.schema": "a policy that stands here begins with schema: policy/v1",
    "policy.inline": "a policy stands directly under policy:, with schema: policy/v1",
}


class Parsed(NamedTuple):
    """A document that breaks no rule."""

    kind: str
    data: dict[str, Any]
    """The values as they stand in the document."""
    marks: dict[str, tuple[int, int]]
    """Line and column by dotted key."""
    warnings: tuple[Finding, ...]


def parse_bytes(
    data: bytes, file: str, *, expected: Sequence[str] = STORAGE_KINDS, providers: Collection[str] | None = None
) -> Parsed:
    """A document as it is stored; `StoragePolicyError` with everything that is wrong with it.

    `providers` are those that are known beside the seven; if it is not given, that is for later to find out.
    """
    parsed, findings = examine_bytes(data, file, expected=expected, providers=providers)
    if parsed is None:
        raise refusal(findings)
    return parsed


def parse_values(values: object, name: str, *, providers: Collection[str] | None = None) -> Parsed:
    """A storage block that a program made."""
    notes = Notes(name)
    for path, why in credentials_in(values):
        notes.error(path, why, hint=_REMEDY)
    parsed = _examine(values, notes, STORAGE_KINDS, providers)
    if parsed is None:
        raise refusal(notes.findings)
    return parsed


def examine_bytes(
    data: bytes, file: str, *, expected: Sequence[str] | None = None, providers: Collection[str] | None = None
) -> tuple[Parsed | None, list[Finding]]:
    """The document, `None` if it is refused, and every finding in the order of the file.

    `expected` are the kinds that it may be of; any kind will do if it is not given.
    """
    notes = Notes(file)
    try:
        text = decode(data)
        _note_tokens(text, notes)
        block = front_matter(text, is_plain_yaml=file.endswith((".yaml", ".yml")))
        document = read_yaml(block.text, first_line=block.first_line)
    except UnreadableYaml as error:
        notes.error_at(*error.mark, error.reason)
        return None, _in_order(notes)
    notes.document = document
    for path, why in credentials_in(document.value, by_shape=False):
        notes.error(path, why, hint=_REMEDY, on_key=True)
    parsed = _examine(document.value, notes, expected, providers)
    return parsed, _in_order(notes)


def _in_order(notes: Notes) -> list[Finding]:
    return sorted(notes.findings, key=lambda finding: (not finding.is_error, finding.line, finding.column))


def _note_tokens(text: str, notes: Notes) -> None:
    for found in find_secrets(text):
        notes.error_at(found.line, found.column, f"this {found.likeness}", hint=_REMEDY)


def _examine(
    value: object, notes: Notes, expected: Sequence[str] | None, providers: Collection[str] | None
) -> Parsed | None:
    if not isinstance(value, dict):
        notes.error((), "has to be a mapping of fields")
        return None
    kind = _kind_of(value) or (expected[0] if expected else STORAGE)
    if expected is not None and kind not in expected:
        wanted = _NAMES.get(expected[0], "a storage policy")
        notes.error((), f"this is {_NAMES.get(kind, 'a storage policy')}, and {wanted} is wanted here")
        return None
    if kind == SECRETS:
        rules.check_no_values(value["secrets"], notes)
    _check_shape(kind, value, notes)
    if not notes.has_errors:
        _check_rules(kind, value, notes, providers)
    if notes.has_errors:
        return None
    return Parsed(kind, value, notes.marks(), tuple(notes.findings))


def _kind_of(value: dict[str, Any]) -> str | None:
    schema = value.get("schema")
    if isinstance(schema, str) and schema in _SCHEMAS:
        return _SCHEMAS[schema]
    if "provider" in value:
        return STORAGE
    if "storage" in value:
        return MANIFEST
    if "secrets" in value:
        return SECRETS
    return REFERENCE if any(form in value for form in _FORMS) else None


def _check_shape(kind: str, value: dict[str, Any], notes: Notes) -> None:
    from pydantic import ValidationError

    from agentm_storage_policy.models.kinds import adapter_for
    from agentm_storage_policy.models.words import problems

    try:
        adapter_for(kind).validate_python(value)
    except ValidationError as error:
        refused = {finding.key for finding in notes.findings}
        for problem in problems(error, value):
            key = dotted(problem.path)
            if key not in refused:  # a credential in a field that does not exist is said once
                notes.error(problem.path, problem.message, on_key=problem.on_key, hint=problem.hint or _hint(key))


def _hint(key: str) -> str | None:
    return next((hint for ending, hint in _HINTS.items() if key.endswith(ending)), None)


def _check_rules(kind: str, value: dict[str, Any], notes: Notes, providers: Collection[str] | None) -> None:
    if kind == STORAGE:
        rules.check_block(value, (), notes, providers, is_embedded=False)
    elif kind == REFERENCE:
        rules.check_embedded(value, (), notes, providers)
    elif kind == WORKSPACE:
        rules.check_workspace(value, notes, providers)
    elif kind == MANIFEST:
        rules.check_embedded(value["storage"], ("storage",), notes, providers)
        rules.check_policies(value.get("policy"), ("policy",), notes)
    elif kind == POLICY:
        rules.check_policy(value, (), notes)
    elif kind == SECRETS:
        rules.check_secrets(value, notes)
