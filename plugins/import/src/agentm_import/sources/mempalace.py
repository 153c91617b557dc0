"""MemPalace: drawers with verbatim text in Chroma's SQLite file or its own, and the triples of its knowledge graph.

Chroma's file is read as the plain database it is; neither chromadb nor a pickle is needed.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from agentm_import.items import Found, Item, Skipped
from agentm_import.source_database import private_copy, quick_count
from agentm_import.source_files import no_source, read_optional
from agentm_import.sources._common import bullets, moment, parsed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentm_import.source_database import Database
    from agentm_kernel.plugin import Device

_CHROMA = "chroma.sqlite3"
_EXACT = ("sqlite_exact.sqlite3", "palace.sqlite3")
_GRAPH = "knowledge_graph.sqlite3"


class MemPalace:
    label = "MemPalace"

    def detect(self, device: Device) -> list[Found]:
        found = []
        for palace in dict.fromkeys(_palaces(device)):
            path = os.path.join(palace, _CHROMA)
            count = quick_count(path, "embeddings")
            if count:
                found.append(Found(palace, count, "drawers"))
        return found

    def read(self, path: str, device: Device) -> Iterator[Item | Skipped]:
        places = [device.expand(path)] if path else list(dict.fromkeys(_palaces(device)))
        palace = next((place for place in places if os.path.isdir(place)), None)
        if palace is None:
            raise no_source(places[0], "there is no palace", "give the folder that holds chroma.sqlite3")
        found = False
        for name in (_CHROMA, *_EXACT):
            file = os.path.join(palace, name)
            if os.path.isfile(file):
                found = True
                with private_copy(file, device) as database:
                    yield from _chroma(database) if name == _CHROMA else _exact(database)
        for folder in (palace, os.path.dirname(palace)):
            file = os.path.join(folder, _GRAPH)
            if os.path.isfile(file):
                found = True
                with private_copy(file, device) as database:
                    yield from _triples(database)
                break
        if not found:
            raise no_source(palace, "it holds no palace", "give the folder that holds chroma.sqlite3")


def _palaces(device: Device) -> Iterator[str]:
    environ = device.environ
    folders = [
        environ.get("MEMPALACE_CONFIG_DIR"),
        "~/.mempalace",
        os.path.join(environ.get("XDG_CONFIG_HOME") or "~/.config", "mempalace"),
    ]
    if environ.get("MEMPALACE_PALACE_PATH"):
        yield device.expand(environ["MEMPALACE_PALACE_PATH"])
    for folder in folders:
        if not folder:
            continue
        place = device.expand(folder)
        config = parsed(read_optional(os.path.join(place, "config.json")) or "")
        named = config.get("palace_path") if isinstance(config, dict) else None
        if isinstance(named, str) and named.isprintable():
            yield device.expand(named)
        yield os.path.join(place, "palace")


def _drawer(origin: str, text: str, metadata: dict[str, str]) -> Item:
    room, source_file = metadata.get("room", ""), metadata.get("source_file", "")
    extra: dict[str, str | tuple[str, ...]] = {}
    if source_file:
        extra["source_file"] = source_file
    return Item(
        origin,
        text,
        kind="reference",
        project=metadata.get("wing", ""),
        tags=tuple(filter(None, (room, metadata.get("hall", "")))),
        created=moment(metadata.get("filed_at")),
        extra=extra,
    )


def _chroma(database: Database) -> Iterator[Item | Skipped]:
    collections = _mempalace_segments(database)
    drawers: dict[int, str] = {}
    for row in database.rows("embeddings", ("id", "segment_id", "embedding_id")):
        if isinstance(row, Skipped):
            yield row
        elif not collections or row["segment_id"] in collections:
            drawers[int(row["id"] or 0)] = str(row["embedding_id"])
    metadata: dict[int, dict[str, str]] = {}
    for row in database.rows("embedding_metadata", ("id", "key", "string_value")):
        if isinstance(row, Skipped):
            yield row
        elif isinstance(row["id"], int) and row["string_value"] is not None:
            metadata.setdefault(row["id"], {})[str(row["key"])] = str(row["string_value"])
    for number, drawer in drawers.items():
        fields = metadata.get(number, {})
        text = fields.pop("chroma:document", "")
        if text:
            yield _drawer(f"drawers/{drawer}", text, fields)
        else:
            yield Skipped(f"drawers/{drawer}", "it has no text")


def _mempalace_segments(database: Database) -> set[str]:
    """The segments of the collections that hold drawers; nothing if the file does not tell."""
    if not (database.has("collections") and database.has("segments")):
        return set()
    names = {
        str(row["id"])
        for row in database.rows("collections", ("id", "name"))
        if isinstance(row, dict) and str(row["name"]) == "mempalace_drawers"
    }
    return {
        str(row["id"])
        for row in database.rows("segments", ("id", "collection"))
        if isinstance(row, dict) and row["collection"] in names
    }


def _exact(database: Database) -> Iterator[Item | Skipped]:
    for row in database.rows("documents", ("collection_id", "id", "document", "metadata_json", "created_at")):
        if isinstance(row, Skipped):
            yield row
            continue
        fields = parsed(str(row["metadata_json"] or ""))
        plain = {str(key): str(value) for key, value in fields.items()} if isinstance(fields, dict) else {}
        yield _drawer(f"drawers/{row['id']}", str(row["document"] or ""), plain)


def _triples(database: Database) -> Iterator[Item | Skipped]:
    """What the graph says, one note per subject, each triple a line with a link."""
    names = {
        str(row["id"]): str(row["name"] or row["id"])
        for row in database.rows("entities", ("id", "name"))
        if isinstance(row, dict)
    }
    said: dict[str, list[str]] = {}
    for row in database.rows("triples", ("subject", "predicate", "object", "valid_from", "valid_to")):
        if isinstance(row, Skipped):
            yield row
            continue
        subject, thing = str(row["subject"]), str(row["object"])
        since = f" (from {row['valid_from']})" if row["valid_from"] else ""
        until = f" (until {row['valid_to']})" if row["valid_to"] else ""
        said.setdefault(subject, []).append(f"{row['predicate']} [[{names.get(thing, thing)}]]{since}{until}")
    for subject, lines in said.items():
        name = names.get(subject, subject)
        yield Item(f"triples/{subject}", bullets(name, lines), title=name, project="", tags=("knowledge-graph",))


IMPORTER = MemPalace()
