"""AIP-23: who acts. One form for each entry; which of several is the author is a matter of their order."""

from typing import Annotated, Any

from pydantic import ConfigDict, Discriminator

from agentm_storage_policy.models.base import NOT_GIVEN, Open, OpenBlock, Text, one_or_many, tagged

_FORMS = {"inline": ("name", "email"), "ref": ("ref",), "file": ("file",)}
MESSAGE = "use one form: name and email, or ref, or file"


def _without(form: str) -> dict[str, Any]:
    """What JSON Schema has to say so that an entry has this form and no other."""
    others = [key for other, keys in _FORMS.items() if other != form for key in keys]
    return {"not": {"anyOf": [{"required": [key]} for key in others]}}


class InlineIdentity(OpenBlock):
    model_config = ConfigDict(json_schema_extra=_without("inline"))
    name: Text
    email: Text
    avatar: str = NOT_GIVEN
    gpg_key: str = NOT_GIVEN
    role: str = NOT_GIVEN
    metadata: Open = NOT_GIVEN


class IdentityByRef(OpenBlock):
    model_config = ConfigDict(json_schema_extra=_without("ref"))
    ref: Text
    role: str = NOT_GIVEN


class IdentityByFile(OpenBlock):
    model_config = ConfigDict(json_schema_extra=_without("file"))
    file: Text
    role: str = NOT_GIVEN


def _form(value: object) -> str | None:
    if not isinstance(value, dict):
        return "<inline>"
    found = [form for form, keys in _FORMS.items() if any(key in value for key in keys)]
    return f"<{found[0]}>" if len(found) == 1 else None if found else "<inline>"


def _form_or_text(value: object) -> str | None:
    return "<text>" if isinstance(value, str) else _form(value)


def _choice(discriminator: Any) -> Discriminator:
    return Discriminator(discriminator, custom_error_type="one_form", custom_error_message=MESSAGE)


_ENTRY: Any = tagged(InlineIdentity, "inline") | tagged(IdentityByRef, "ref") | tagged(IdentityByFile, "file")
Identity: Any = Annotated[_ENTRY, _choice(_form)]
Identities: Any = one_or_many(Identity)
Principal: Any = Annotated[_ENTRY | tagged(Text, "text"), _choice(_form_or_text)]
"""In a grant a bare scheme such as `operator://bob` will do."""
