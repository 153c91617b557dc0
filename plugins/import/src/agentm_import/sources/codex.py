"""Codex: what it consolidated about past work, the summaries of sessions, and notes that were added by hand.

`~/.codex/memories_v2/` (in older versions `memories/`) has `MEMORY.md` (one block per group of tasks),
`rollout_summaries/` (one file per session) and `extensions/ad_hoc/notes/`. The database beside it has what was not
consolidated yet.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from agentm_import.items import Found, Item, Skipped
from agentm_import.source_database import private_copy, quick_count
from agentm_import.source_files import count_files
from agentm_import.sources._common import folder_of, markdown_files, moment, need_folder, whole_file

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentm_kernel.plugin import Device

_GROUP = re.compile(r"^# Task Group:[ \t]*(.*)$", re.MULTILINE)
_CWD = re.compile(r"^applies_to:.*?\bcwd=([^;\n]+)", re.MULTILINE)
_HEAD = re.compile(r"^(thread_id|updated_at|rollout_path|cwd|git_branch):[ \t]*(.*)$")
_DERIVED = {
    "memory_summary.md": "a summary of MEMORY.md",
    "raw_memories.md": "what MEMORY.md and the summaries are made of",
    "phase2_workspace_diff.md": "what Codex had changed last",
    "extensions/ad_hoc/instructions.md": "Codex's own instructions for its notes",
}
_FOLDERS = ("memories_v2", "memories")
_DATABASES = ("memories_v2_1.sqlite", "memories_1.sqlite")
"""The newer first: what both have, as after an upgrade, is taken from there."""


class Codex:
    label = "Codex"

    def detect(self, device: Device) -> list[Found]:
        root = folder_of(device, "", "CODEX_HOME", "~/.codex")
        count = sum(count_files(folder) for name in _FOLDERS if os.path.isdir(folder := os.path.join(root, name)))
        count = max(count, *(quick_count(os.path.join(root, name), "stage1_outputs") for name in _DATABASES))
        return [Found(root, count, "memories and summaries of sessions")] if count else []

    def read(self, path: str, device: Device) -> Iterator[Item | Skipped]:
        root = folder_of(device, path, "CODEX_HOME", "~/.codex")
        need_folder(root, "Codex keeps its memory in ~/.codex")
        if os.path.isfile(os.path.join(root, "AGENTS.md")):
            yield whole_file(root, "AGENTS.md", slug="codex-agents-md", title="AGENTS.md of the user")
        inner = [name for name in _FOLDERS if os.path.isdir(os.path.join(root, name))]
        if not inner and os.path.basename(root) in _FOLDERS:
            inner = [""]
        threads: set[str] = set()
        for folder in inner:
            for found in _files(root, folder):
                if isinstance(found, Item) and "thread" in found.extra:
                    threads.add(str(found.extra["thread"]))
                yield found
        for name in _DATABASES:
            if os.path.isfile(os.path.join(root, name)):
                yield from _stage1(root, name, threads, device)


def _files(root: str, inner: str) -> Iterator[Item | Skipped]:
    for found in markdown_files(root, inner):
        if isinstance(found, Skipped):
            yield found
            continue
        path, file = found
        local = path.removeprefix(f"{inner}/") if inner else path
        if local in _DERIVED:
            yield Skipped(path, f"derived: {_DERIVED[local]}", is_problem=False)
        elif local == "MEMORY.md":
            yield from _task_groups(path, file.text, file.changed)
        elif local.startswith("rollout_summaries/"):
            yield _summary(path, file.text, file.changed)
        elif local.startswith("extensions/ad_hoc/notes/"):
            name = local.rpartition("/")[2].removesuffix(".md")
            slug = re.sub(r"^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-", "", name)
            yield Item(
                path,
                file.body,
                kind="fact",
                project="",
                slug=slug,
                created=_time_in(name),
                tags=("codex",),
                line=file.line,
            )
        elif local.startswith("skills/"):
            yield Skipped(path, "a skill, which is a program for Codex and no memory", is_problem=False)
        else:
            yield Item(
                path, file.body, kind="reference", project="", updated=file.changed, tags=("codex",), line=file.line
            )


def _task_groups(path: str, text: str, changed: str) -> Iterator[Item | Skipped]:
    """One note per task group; what stands before the first is one too."""
    starts = [(match.start(), match.group(1).strip()) for match in _GROUP.finditer(text)]
    first = starts[0][0] if starts else len(text)
    if text[:first].strip():
        yield Item(
            f"{path}#", text[:first].strip(), title="Codex memory", project="", kind="reference", updated=changed
        )
    seen: dict[str, int] = {}
    for number, (start, title) in enumerate(starts):
        end = starts[number + 1][0] if number + 1 < len(starts) else len(text)
        block = text[start:end].rstrip() + "\n"
        seen[title] = seen.get(title, 0) + 1
        mark = f"{title}~{seen[title]}" if seen[title] > 1 or not title else title
        cwd = _CWD.search(block)
        yield Item(
            f"{path}#{mark}",
            block,
            title=title or "Codex task group",
            kind="reference",
            project=cwd.group(1).strip() if cwd else "",
            tags=("codex",),
            updated=changed,
            line=text.count("\n", 0, start) + 1,
        )


def _summary(path: str, text: str, changed: str) -> Item:
    """Lines with `name: value`, an empty line, the summary."""
    head: dict[str, str] = {}
    lines = text.split("\n")
    used = 0
    for line in lines:
        match = _HEAD.match(line.rstrip("\r"))
        if not match:
            break
        head[match.group(1)] = match.group(2).strip()
        used += 1
    body = "\n".join(lines[used:]).lstrip("\n")
    name = path.rpartition("/")[2].removesuffix(".md")
    extra = {"thread": head["thread_id"]} if head.get("thread_id") else {}
    if head.get("git_branch"):
        extra["git_branch"] = head["git_branch"]
    return Item(
        path,
        body,
        kind="reference",
        project=head.get("cwd", ""),
        slug=f"codex-{name}",
        tags=("codex", "session-summary"),
        updated=moment(head.get("updated_at")) or changed,
        extra=extra,
        line=used + 1,
    )


def _time_in(name: str) -> str:
    match = re.match(r"(\d{4}-\d\d-\d\d)T(\d\d)-(\d\d)-(\d\d)", name)
    return f"{match.group(1)}T{match.group(2)}:{match.group(3)}:{match.group(4)}+00:00" if match else ""


def _stage1(root: str, name: str, threads: set[str], device: Device) -> Iterator[Item | Skipped]:
    """Sessions that Codex has summarised and not consolidated yet; `threads` are those that came already."""
    with private_copy(os.path.join(root, name), device) as database:
        if not database.has("stage1_outputs"):
            yield Skipped(name, database.problem_with("stage1_outputs") or "", is_problem=False)
            return
        columns = ("thread_id", "source_updated_at", "raw_memory", "rollout_summary", "rollout_slug", "generated_at")
        for row in database.rows("stage1_outputs", columns):
            if isinstance(row, Skipped):
                yield row
                continue
            thread = str(row["thread_id"])
            if thread in threads:
                known = "its summary came already, from a file or the newer database"
                yield Skipped(f"{name}/{thread}", known, is_problem=False)
                continue
            threads.add(thread)
            text = row["rollout_summary"] or row["raw_memory"]
            cwd = re.search(r"^cwd:[ \t]*(/.*)$", str(row["raw_memory"]), re.MULTILINE)
            yield Item(
                f"stage1_outputs/{thread}",
                str(text or ""),
                kind="reference",
                project=cwd.group(1).strip() if cwd else "",
                slug=f"codex-{row['rollout_slug'] or thread}",
                tags=("codex", "session-summary"),
                updated=moment(row["source_updated_at"]),
                extra={"thread": thread},
            )


IMPORTER = Codex()
