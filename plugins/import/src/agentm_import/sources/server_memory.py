"""The MCP reference memory server: entities and relations as lines of JSON in one file."""

from __future__ import annotations

import glob
import os
from typing import TYPE_CHECKING

from agentm_import.items import Found, Item, Skipped
from agentm_import.source_files import Unreadable, changed_at, no_source, read_bytes, read_lines
from agentm_import.sources._common import kind_of, parsed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from agentm_kernel.plugin import Device

_PACKED = "node_modules/@modelcontextprotocol/server-memory/dist"


class ServerMemory:
    label = "the MCP reference memory server"

    def detect(self, device: Device) -> list[Found]:
        found = []
        for path in _places(device):
            try:
                lines = read_bytes(path, 64 * 1024 * 1024)
            except Unreadable:
                continue
            count = lines.count(b'"type":"entity"')
            if count:
                found.append(Found(path, count, "entities"))
        return found

    def read(self, path: str, device: Device) -> Iterator[Item | Skipped]:
        places = [device.expand(path)] if path else _places(device)
        if not places:
            raise no_source(
                "server-memory",
                "no file was found",
                "give its path: it is what MEMORY_FILE_PATH says in your agent host",
            )
        file = os.path.join(places[0], "memory.jsonl") if os.path.isdir(places[0]) else places[0]
        try:
            yield from _graph(read_lines(file), changed_at(file))
        except Unreadable as error:
            raise no_source(file, str(error), "give the path of the server's file") from None


def _places(device: Device) -> list[str]:
    """The file that the variable names, else those inside the package, where the server puts it by default."""
    named = device.environ.get("MEMORY_FILE_PATH")
    if named:
        return [device.expand(named)]
    cache = device.environ.get("npm_config_cache") or os.path.join(device.home, ".npm")
    patterns = [os.path.join(glob.escape(cache), "_npx", "*", _PACKED, f"memory.{end}") for end in ("jsonl", "json")]
    return sorted(path for pattern in patterns for path in glob.glob(pattern) if not os.path.islink(path))


def _graph(lines: Iterable[tuple[int, bytes | None]], changed: str) -> Iterator[Item | Skipped]:
    entities: list[dict[str, object]] = []
    relations: dict[str, list[str]] = {}
    for number, raw in lines:
        if raw is None:
            yield Skipped(f"line {number}", "larger than a note may be")
            continue
        if not raw.strip():
            continue
        try:
            line = raw.decode()
        except UnicodeDecodeError:
            yield Skipped(f"line {number}", "not UTF-8")
            continue
        entry = parsed(line)
        if not isinstance(entry, dict):
            yield Skipped(f"line {number}", "not JSON")
        elif entry.get("type") == "entity" and isinstance(entry.get("name"), str):
            entities.append(entry)
        elif entry.get("type") == "relation":
            said = f"{entry.get('relationType', 'relates to')} [[{entry.get('to', '')}]]"
            relations.setdefault(str(entry.get("from")), []).append(said)
        else:
            yield Skipped(f"line {number}", "neither an entity nor a relation")
    known = {str(entity["name"]) for entity in entities}
    for entity in entities:
        yield _entity(entity, relations.get(str(entity["name"]), []), changed)
    for name in sorted(set(relations) - known):
        body = "\n".join(f"- {line}" for line in relations[name])
        yield Item(f"relations of {name}", body, title=name, project="", updated=changed, tags=("relations",))


def _entity(entity: dict[str, object], relations: list[str], changed: str) -> Item:
    observations = entity.get("observations")
    said = [str(line) for line in observations] if isinstance(observations, list) else []
    lines = [f"- {' '.join(line.split())}" for line in said] + [f"- {line}" for line in relations]
    word = str(entity.get("entityType") or "")
    name = str(entity["name"])
    return Item(
        f"entity {name}",
        "\n".join(lines) or name,
        title=name,
        kind=kind_of(word),
        project="",
        tags=(word,) if word else (),
        updated=changed,
        extra={"aliases": (name,)},
    )


IMPORTER = ServerMemory()
