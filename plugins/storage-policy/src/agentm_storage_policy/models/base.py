"""What the models of all blocks share: closed, strict, and silent about the values that they refuse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, StringConstraints, Tag
from pydantic.json_schema import GenerateJsonSchema

if TYPE_CHECKING:
    from pydantic_core import core_schema

NOT_GIVEN: Any = None
"""The default of what may be left out. It is no value: `null` in a document is refused."""

ID_PATTERN = r"^@[a-z0-9][a-z0-9-]*/[a-z0-9][a-z0-9-]*$"
VERSION_PATTERN = r"^[0-9]+\.[0-9]+\.[0-9]+([-+][A-Za-z0-9_.-]+)?$"
TIME_PATTERN = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?([Zz]|[+-][0-9]{2}:[0-9]{2})$"

PATTERN_WORDS = {
    ID_PATTERN: "must have the form @owner/name, in lower case",
    VERSION_PATTERN: "must be a version such as 1.0.0",
    TIME_PATTERN: "must be a time such as 2026-05-03T00:00:00Z",
}
"""What a pattern asks for, in words. Models add theirs."""


def pattern(expression: str, words: str) -> StringConstraints:
    """A constraint on text that can say in words what it wants."""
    PATTERN_WORDS[expression] = words
    return StringConstraints(pattern=expression)


def _whole(value: object) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() else value


Text = Annotated[str, StringConstraints(min_length=1)]
Id = Annotated[str, StringConstraints(pattern=ID_PATTERN)]
Version = Annotated[str, StringConstraints(pattern=VERSION_PATTERN)]
Time = Annotated[str, StringConstraints(pattern=TIME_PATTERN)]
WholeFrom0: Any = Annotated[int, Field(ge=0), BeforeValidator(_whole)]
WholeFrom1: Any = Annotated[int, Field(ge=1), BeforeValidator(_whole)]
"""A whole number, also where it is written as 60.0: JSON knows no difference."""
Open = dict[str, Any]


class Block(BaseModel):
    """A closed object."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, hide_input_in_errors=True)


class OpenBlock(Block):
    """An object that may carry more than is said here."""

    model_config = ConfigDict(extra="allow")


class ByRef(Block):
    """`{ref: …}`: a path or a registry slug."""

    ref: Text


class ByFile(Block):
    """`{file: …}`: a path inside the workspace."""

    file: Text


def tagged(kind: Any, tag: str) -> Any:
    """A member of a union. Tags have brackets, so that in the path of an error they cannot be taken for keys."""
    return Annotated[kind, Tag(f"<{tag}>")]


def _form_of(value: object) -> str:
    if isinstance(value, dict):
        if "ref" in value:
            return "<ref>"
        if "file" in value:
            return "<file>"
    return "<inline>"


def here_or_elsewhere(block: Any) -> Any:
    """A block that stands here itself, or `{ref}`, or `{file}`."""
    return Annotated[tagged(block, "inline") | tagged(ByRef, "ref") | tagged(ByFile, "file"), Discriminator(_form_of)]


def inline_ref_or_file(inline: Any) -> Any:
    """`{inline}`, `{ref}` or `{file}`: exactly one of them."""
    return Annotated[
        tagged(inline, "inline") | tagged(ByRef, "ref") | tagged(ByFile, "file"),
        Discriminator(
            _only_form, custom_error_type="one_form", custom_error_message="use exactly one of inline, ref, file"
        ),
    ]


def _only_form(value: object) -> str | None:
    if not isinstance(value, dict):
        return "<inline>"
    forms = [form for form in ("inline", "ref", "file") if form in value]
    return f"<{forms[0]}>" if len(forms) == 1 else None


def one_or_many(entry: Any) -> Any:
    """An entry, or a list of at least one."""
    many = Annotated[list[entry], Field(min_length=1)]
    return Annotated[
        tagged(entry, "one") | tagged(many, "many"),
        Discriminator(lambda value: "<many>" if isinstance(value, list) else "<one>"),
    ]


class PlainSchema(GenerateJsonSchema):
    """JSON Schema as an author reads it: what may be left out has no default `null`, and titles repeat no names."""

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> dict[str, Any]:
        if schema.get("default", ...) is None:
            return self.generate_inner(schema["schema"])
        return super().default_schema(schema)

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False
