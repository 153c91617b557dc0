"""Claude Code: its auto memory, the memory of its subagents, and CLAUDE.md.

`~/.claude/projects/<mangled path>/memory/` has one file per memory and an index, `MEMORY.md`. Which folder that
name stands for is told by the transcripts beside it: each line has the session's `cwd`.
"""

from __future__ import annotations

import os
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from agentm_import.items import Found, Item, Skipped
from agentm_import.source_files import count_files, open_source
from agentm_import.sources._common import (
    folder_of,
    markdown_files,
    moment,
    need_folder,
    parsed,
    tagged,
    whole_file,
)
from agentm_import.yaml_text import one_text
from agentm_kernel.plugin import layout

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentm_import.sources._common import MarkdownFile
    from agentm_kernel.plugin import Device

_PROJECTS = layout.PROJECTS  # Claude Code calls its folder the same
_INDEX_LINE = re.compile(r"^\s*[-*]\s*\[[^\]]*\]\([^)]*\.md\)")
_KINDS = {"user": "fact", "feedback": "convention", "project": "fact", "reference": "reference"}
_TO_READ = 262_144
"""Bytes of a transcript in which its `cwd` is looked for."""


class ClaudeCode:
    label = "Claude Code"

    def detect(self, device: Device) -> list[Found]:
        root = folder_of(device, "", "CLAUDE_CONFIG_DIR", "~/.claude")
        folders = _memory_folders(root)
        count = sum(count_files(folder) for folder in folders) - sum(
            os.path.isfile(os.path.join(folder, "MEMORY.md")) for folder in folders
        )
        return [Found(root, count, f"memories of {len(folders)} project{'s' * (len(folders) > 1)}")] if count else []

    def read(self, path: str, device: Device) -> Iterator[Item | Skipped]:
        root = folder_of(device, path, "CLAUDE_CONFIG_DIR", "~/.claude")
        need_folder(
            root, "Claude Code keeps its memory in ~/.claude; what a project tells it lies in the project's folder"
        )
        if path and _is_checkout(root):
            yield from _instructions(os.path.abspath(root))
            return
        if os.path.isfile(os.path.join(root, "CLAUDE.md")):
            yield whole_file(root, "CLAUDE.md", slug="claude-md", title="CLAUDE.md of the user")
        if os.path.basename(root) == "memory":  # one project's folder, given by its path
            yield from _memories(root, "", _working_directory(os.path.dirname(root)))
            return
        base = os.path.join(root, _PROJECTS)
        for name in sorted(os.listdir(base)) if os.path.isdir(base) else ():
            folder = os.path.join(base, name)
            if os.path.islink(folder) or not os.path.isdir(folder):
                continue
            project = _working_directory(folder) or _guessed(name)
            if os.path.isdir(os.path.join(folder, "memory")):
                yield from _memories(root, f"{_PROJECTS}/{name}/memory", project)
            yield from _instructions(project)
        if os.path.isdir(os.path.join(root, "agent-memory")):
            yield from _memories(root, "agent-memory", None)


def _is_checkout(folder: str) -> bool:
    """Whether it is a project's folder and not Claude Code's own, which people keep in git as well."""
    is_their_own = os.path.basename(os.path.abspath(folder)) == ".claude"
    return not is_their_own and os.path.lexists(os.path.join(folder, ".git"))


def _memory_folders(root: str) -> list[str]:
    base = os.path.join(root, _PROJECTS)
    try:
        folders = [os.path.join(base, name, "memory") for name in sorted(os.listdir(base))]
    except OSError:
        return []
    return [folder for folder in folders if os.path.isdir(folder) and count_files(folder, limit=1)]


def _memories(root: str, under: str, project: str | None) -> Iterator[Item | Skipped]:
    for found in markdown_files(root, under):
        if isinstance(found, Skipped):
            yield found
            continue
        path, file = found
        if path.rpartition("/")[2] == "MEMORY.md":
            yield _index(path, file, project)
        else:
            yield _memory(path, file, project)


def _memory(path: str, file: MarkdownFile, project: str | None) -> Item:
    nested = file.fields.get("metadata")
    metadata = nested if isinstance(nested, dict) else {}
    word = str(metadata.get("type") or file.line_of("type"))
    parts = path.split("/")
    agent = parts[1] if parts[0] == "agent-memory" and len(parts) > 2 else ""
    description = file.line_of("description")
    told = {"description": description, "session": one_text(metadata.get("originSessionId"))}
    name = file.line_of("name") or parts[-1].rpartition(".")[0]
    return Item(
        path,
        file.body if file.body.strip() else description,
        title=file.line_of("title") or name,
        kind=_KINDS.get(word, "fact"),
        project=None if word == "user" else project,
        slug=name,
        tags=tuple(filter(None, (word, agent, *tagged(file)))),
        created=moment(file.line_of("created")),
        updated=moment(metadata.get("modified") or file.line_of("modified")) or file.changed,
        extra={name: value for name, value in told.items() if value},
        line=file.line,
    )


def _index(path: str, file: MarkdownFile, project: str | None) -> Item | Skipped:
    """The index is made of the memories; what older versions wrote into it beside the lines is a memory itself."""
    kept = [line for line in file.body.splitlines() if not _INDEX_LINE.match(line)]
    said = [line for line in kept if line.strip() and not line.lstrip().startswith("#")]
    if not said:
        return Skipped(path, "the index of the memories, which are imported themselves", is_problem=False)
    text = "\n".join(kept).strip() + "\n"
    return Item(
        path, text, title="MEMORY.md", project=project, slug="claude-memory", updated=file.changed, line=file.line
    )


def _instructions(project: str | None) -> Iterator[Item | Skipped]:
    """What the project itself tells Claude Code: instructions, rules, and what its subagents remember."""
    if project is None or not os.path.isabs(project) or not os.path.isdir(project):
        return
    for name, slug in (
        ("CLAUDE.md", "claude-md"),
        (".claude/CLAUDE.md", "claude-md-folder"),
        ("CLAUDE.local.md", "claude-local-md"),
    ):
        if os.path.lexists(os.path.join(project, *name.split("/"))):
            origin = f"{project}/{name}"
            yield whole_file(project, _beside(project, name), origin=origin, slug=slug, title=name, project=project)
    for found in _below(project, ".claude/rules"):
        if isinstance(found, Skipped):
            yield found
        else:
            path, file = found
            name = path.removeprefix(".claude/rules/").removesuffix(".md")
            yield Item(
                f"{project}/{path}",
                file.text,
                title=f"Rule {name}",
                kind="convention",
                project=project,
                slug=f"claude-rule-{name}",
                updated=file.changed,
            )
    for folder in (".claude/agent-memory", ".claude/agent-memory-local"):
        for found in _below(project, folder):
            yield found if isinstance(found, Skipped) else _of_agent(project, folder, *found)


def _below(project: str, folder: str) -> Iterator[tuple[str, MarkdownFile] | Skipped]:
    """The Markdown files of one folder of a project; nothing where it is a link that leads elsewhere."""
    place = os.path.join(project, *folder.split("/"))
    if not os.path.isdir(place) or os.path.realpath(place) != os.path.join(os.path.realpath(project), folder):
        return
    for found in markdown_files(project, folder):
        yield replace(found, origin=f"{project}/{found.origin}") if isinstance(found, Skipped) else found


def _of_agent(project: str, folder: str, path: str, file: MarkdownFile) -> Item:
    agent, _, name = path.removeprefix(f"{folder}/").rpartition("/")
    stem = name.removesuffix(".md")
    return Item(
        f"{project}/{path}",
        file.body,
        title=file.line_of("title") or f"{agent}: {stem}",
        project=project,
        slug=f"{agent}-{stem}",
        tags=tuple(filter(None, (agent, *tagged(file)))),
        updated=file.changed,
        line=file.line,
    )


def _beside(project: str, name: str) -> str:
    """The file that a link to one in the same folder means, as CLAUDE.md often is one to AGENTS.md."""
    try:
        target = os.readlink(os.path.join(project, *name.split("/")))
    except OSError:
        return name
    folder = name.rpartition("/")[0]
    is_plain = "/" not in target and "\\" not in target and target not in ("", ".", "..")
    return (f"{folder}/{target}" if folder else target) if is_plain else name


def _working_directory(folder: str) -> str | None:
    """The `cwd` that the newest transcript beside the memory names."""
    try:
        with os.scandir(folder) as scan:
            transcripts = sorted(
                (
                    (entry.stat(follow_symlinks=False).st_mtime, entry.path)
                    for entry in scan
                    if entry.name.endswith(".jsonl") and entry.is_file(follow_symlinks=False)
                ),
                reverse=True,
            )
    except OSError:
        return None
    for _, path in transcripts[:5]:
        found = _cwd_in(path)
        if found:
            return found
    return None


def _cwd_in(path: str) -> str | None:
    try:
        with os.fdopen(open_source(path), "rb") as file:
            data = file.read(_TO_READ)
    except OSError:
        return None
    for line in data.decode("utf-8", "replace").splitlines():
        entry = parsed(line) if '"cwd"' in line else None
        cwd = entry.get("cwd") if isinstance(entry, dict) else None
        if isinstance(cwd, str) and os.path.isabs(cwd) and cwd.isprintable():
            return cwd
    return None


def _guessed(mangled: str) -> str:
    """Without a transcript, the only folder on this device that has this mangled name, else the name itself."""
    candidate = "/"
    rest = mangled.lstrip("-")
    while rest:
        step = _next_folder(candidate, rest)
        if step is None:
            return mangled
        candidate, rest = step
    return candidate


def _next_folder(parent: str, rest: str) -> tuple[str, str] | None:
    try:
        names = sorted(os.listdir(parent), key=len, reverse=True)
    except OSError:
        return None
    for name in names:
        mangled = re.sub(r"[^A-Za-z0-9]", "-", name)
        if (rest == mangled or rest.startswith(f"{mangled}-")) and os.path.isdir(os.path.join(parent, name)):
            return os.path.join(parent, name), rest[len(mangled) :].removeprefix("-")
    return None


IMPORTER = ClaudeCode()
