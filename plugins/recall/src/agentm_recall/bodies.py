"""A body that brings front matter of its own, as `agentm notes show` prints it: the fields apart, the text apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentm_kernel.plugin import InvalidContentError
from agentm_recall.front_matter import find_block, read_fields

if TYPE_CHECKING:
    from agentm_recall.front_matter import Fields


class Body:
    """`text` without front matter, the `fields` that stood above it, and the `whole` as it was given."""

    def __init__(self, whole: str) -> None:
        block = find_block(whole)
        fields: Fields = {}
        if block is not None:
            fields, problem = read_fields(whole[block.start : block.end])
            if problem and _looks_like_fields(whole[block.start : block.end]):
                raise InvalidContentError(
                    f"the text brings front matter that cannot be used: {problem}",
                    hint="repair it, or give the text without it",
                )
        has_fields = block is not None and (bool(fields) or not whole[block.start : block.end].strip())
        self.whole = whole
        self.fields = fields
        self.has_block = has_fields
        self.text = whole[block.body :] if block is not None and has_fields else whole.removeprefix("\ufeff")

    def changes(self, stored: Fields) -> Fields:
        """The fields that say something else than the `stored` ones; place and times are the store's to say."""
        return {
            name: value
            for name, value in self.fields.items()
            if name not in _DECIDED and value not in ("", []) and value != stored.get(name)
        }


_DECIDED = frozenset(("kind", "project", "created", "updated"))
"""What the place and the moment of saving decide, whatever the body says."""


def _looks_like_fields(yaml: str) -> bool:
    """Whether somebody meant front matter: between two rules there may be plain text as well."""
    first = yaml.lstrip().partition("\n")[0]
    key, colon, _ = first.partition(":")
    return bool(colon) and key.replace("_", "").replace("-", "").isalnum()
