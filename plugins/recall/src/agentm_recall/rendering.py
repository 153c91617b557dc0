"""Writing front matter: values as YAML that reads back as the very same text."""

from __future__ import annotations

from agentm_recall.front_matter import read_fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Value = str | Sequence[str]


def new_text(fields: Mapping[str, Value], body: str) -> str:
    """A new note: front matter, an empty line, the body."""
    head = "".join(f"{key}: {rendered(value)}\n" for key, value in fields.items())
    return f"---\n{head}---\n\n{body}"


def rendered(value: Value, *, quote: str | None = None) -> str:
    if isinstance(value, str):
        return _scalar(value, quote)
    return f"[{', '.join(_scalar(item, None, in_list=True) for item in value)}]"


def _scalar(text: str, quote: str | None, *, in_list: bool = False) -> str:
    """As plain as it can be: a value that YAML would read as something else than this very text is quoted."""
    if quote == "'" and "\n" not in text:
        return "'" + text.replace("'", "''") + "'"
    if quote is None or quote not in ('"', "'"):
        line = f"x: [{text}]\n" if in_list else f"x: {text}\n"
        wanted = [text] if in_list else text
        if text and text == text.strip() and read_fields(line) == ({"x": wanted}, None) and is_text(text):
            return text
    import json

    return json.dumps(text, ensure_ascii=False)


def is_text(text: str) -> bool:
    """Whether other tools read it as a string too, and not as a truth value or nothing."""
    return text.lower() not in ("true", "false", "yes", "no", "on", "off", "null", "y", "n", "~")
