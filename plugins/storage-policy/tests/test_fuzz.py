"""Documents that nobody wrote: always an answer, never an accident, and schema and models of one mind."""

from __future__ import annotations

import copy
from pathlib import Path

from hypothesis import HealthCheck, given, settings, strategies as st
from jsonschema import Draft202012Validator
from pydantic import ValidationError

from agentm_storage_policy.errors import CODES, StoragePolicyError
from agentm_storage_policy.models.kinds import adapter_for, schema_for
from agentm_storage_policy.parse import examine_bytes, parse_values
from agentm_storage_policy.reading.front_matter import front_matter
from agentm_storage_policy.reading.yaml_text import read_yaml

FILES = sorted(Path(__file__).with_name("documents").glob("*.md"))
KINDS = ("storage", "reference", "workspace", "manifest", "policy", "secrets")
ACCEPTED = [read_yaml(front_matter(file.read_text()).text).value for file in FILES if "-accepted-" in file.name]
VALIDATORS = {kind: Draft202012Validator(schema_for(kind)) for kind in KINDS}

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.sampled_from([0.5, 60.0, -1.0]),
    st.sampled_from(["", "x", "@acme/x", "./x", "watch", "canonical", "/srv", "storage/v1", "2026-05-03T00:00:00Z"]),
    st.text(max_size=5),
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
keys = st.sampled_from(
    ["schema", "provider", "config", "sync", "mode", "ref", "file", "inline", "identity", "policy", "on", "name", "x"]
)


def places(value: object, path: tuple[object, ...] = ()):
    yield path
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in inside:
        yield from places(inner, (*path, key))


@st.composite
def documents(draw):
    """An accepted document with a few changes."""
    document = copy.deepcopy(draw(st.sampled_from(ACCEPTED)))
    for _ in range(draw(st.integers(0, 3))):
        *above, last = draw(st.sampled_from([path for path in places(document) if path] or [("x",)]))
        holder = document
        for key in above:
            holder = holder[key]
        change = draw(st.sampled_from(["replace", "remove", "add"]))
        if change == "remove" and isinstance(holder, dict):
            holder.pop(last, None)
        elif change == "add" and isinstance(holder, dict):
            holder[draw(keys)] = draw(values)
        else:
            holder[last] = draw(values)
    return document


def is_valid(kind, value):
    try:
        adapter_for(kind).validate_python(value)
    except ValidationError:
        return False
    return True


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
@given(documents())
def test_schema_and_models_agree_on_documents_with_changes(document):
    for kind in KINDS:
        assert VALIDATORS[kind].is_valid(document) == is_valid(kind, document), kind


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
@given(documents())
def test_every_document_is_accepted_or_refused_with_a_code(document):
    refused = None
    try:
        parse_values(document, "made")
    except StoragePolicyError as error:
        refused = error
    assert refused is None or (refused.code in CODES and refused.findings)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.sampled_from(FILES), st.data())
def test_damaged_files_are_answered_too(file, data):
    content = bytearray(file.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content) - 1))
        content[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    parsed, findings = examine_bytes(bytes(content), "STORAGE.md")
    assert (parsed is None) == any(finding.is_error for finding in findings)
    for finding in findings:
        assert finding.line >= 1
        assert finding.column >= 1
        assert "\n" not in str(finding)
