"""Settings files as people and programs leave them: odd indentation, comments, CRLF, byte order marks, hooks."""

from __future__ import annotations

import json
import random
from typing import Any

EVENTS = ("SessionStart", "UserPromptSubmit", "Stop", "SessionEnd", "BeforeAgent", "AfterAgent", "PreCompact")


def value(rng: random.Random, depth: int = 0) -> Any:
    kind = rng.randrange(7 if depth < 3 else 4)
    if kind == 0:
        return rng.choice(["", "héé", 'a "quoted" word', "tab\tand \\", "// no comment", "[agentm x]", "🙂", "/* */"])
    if kind == 1:
        return rng.choice([0, -1, 3.5, 1e20, 12345])
    if kind == 2:
        return rng.choice([True, False, None])
    if kind == 3:
        return rng.choice([[], {}])
    if kind == 4:
        return [value(rng, depth + 1) for _ in range(rng.randrange(4))]
    return {f"key{number}": value(rng, depth + 1) for number in range(rng.randrange(4))}


def settings(rng: random.Random) -> dict[str, Any]:
    found: dict[str, Any] = {f"unknown{number}": value(rng) for number in range(rng.randrange(4))}
    if rng.random() < 0.7:
        hooks: dict[str, Any] = {}
        for event in rng.sample(EVENTS, rng.randrange(4)):
            other = {"hooks": [{"type": "command", "command": rng.choice(["lint --all", "/opt/x/notify.sh 'a b'"])}]}
            hooks[event] = [other] * rng.randrange(3)
        found["hooks"] = hooks
    if rng.random() < 0.4:
        found["mcpServers"] = {"other": {"command": "x"}} if rng.random() < 0.7 else {}
    items = list(found.items())
    rng.shuffle(items)
    return dict(items)


def _json(rng: random.Random, document: Any, comments: bool) -> str:
    style = rng.choice([None, 1, 2, 3, 4, 8, "\t", " \t"])
    separators = rng.choice([(",", ":"), (", ", ": "), (" , ", " : ")])
    text = json.dumps(document, indent=style, separators=separators, ensure_ascii=rng.random() < 0.5)
    if comments:
        lines = text.split("\n")
        for number in range(len(lines)):
            last = lines[number + 1].lstrip()[:1] if number + 1 < len(lines) else ""
            if rng.random() < 0.3 and last and last in "]}" and lines[number][-1] not in "[{":
                lines[number] += ","
            if rng.random() < 0.15 and len(lines) > 1:
                lines[number] += rng.choice([" // why, { [", " /* a \n b */"])
        text = rng.choice(["", "// first\n", "/* x */ "]) + "\n".join(lines) + rng.choice(["", "\n// last"])
    return _odd(rng, text)


def _odd(rng: random.Random, text: str) -> str:
    if rng.random() < 0.3:
        text = text.replace("\n", "\r\n")
    text = rng.choice(["", "", "\n", "  "]) + text + rng.choice(["", "\n", "\n\n", " "])
    return rng.choice(["", "", "", "\ufeff"]) + text


def json_text(rng: random.Random) -> str:
    return rng.choice(["", "{}", "\n"]) if rng.random() < 0.05 else _json(rng, settings(rng), comments=False)


def jsonc_text(rng: random.Random) -> str:
    return rng.choice(["", "{}", "\n"]) if rng.random() < 0.05 else _json(rng, settings(rng), comments=True)


def toml_text(rng: random.Random) -> str:
    """Tables, dotted keys, inline tables, comments, odd spaces; a server of somebody else's."""
    lines = []
    for number in range(rng.randrange(4)):
        lines.append(f"top{number}{rng.choice([' = ', '=', '  =   '])}{rng.choice(['1', 'true', '[1, 2]'])}")
        if rng.random() < 0.4:
            lines[-1] += rng.choice(["  # why", "\t# [not.a.table]"])
    if rng.random() < 0.2:
        lines.append('mcp_servers = { other = { command = "x" } }')
    elif rng.random() < 0.5:
        lines += ["", "[mcp_servers.other]  # theirs", 'command = "x"', 'args = ["a",', "  'b', # c", "]"]
    for number in range(rng.randrange(3)):
        lines += rng.choice([[""], ["", "# about it"], []])
        lines += [f"[table{number}]", f"key = {rng.choice(['1.5', '2020-01-01', chr(39) + 'lit' + chr(39)])}"]
        if rng.random() < 0.3:
            lines += [f"[[array{number}]]", "x = 1", f"[[array{number}]]", "x = 2"]
    text = "\n".join(lines) + rng.choice(["", "\n", "\n\n"])
    if rng.random() < 0.3:
        text = text.replace("\n", "\r\n")
    return rng.choice(["", "", "\ufeff"]) + text
