"""Repositories that want to run something or to reach out of their tree, and the wires that tell if they did.

What they hold is written object by object: git's own porcelain would refuse most of it. Each trap that could run a
program leads to the tripwire, with a name of its own, so a failing test says which door was open.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass

from git_servers import BRANCH, Origin, git

FILE, PROGRAM, LINK, FOLDER, MODULE = "100644", "100755", "120000", "40000", "160000"
_SOMEWHERE = "deadbeef" * 5


@dataclass(frozen=True)
class Entry:
    """One line of a tree; a folder has entries in place of content."""

    mode: str
    name: bytes
    content: bytes | tuple[Entry, ...]


def file(name: str | bytes, content: bytes = b"text\n", mode: str = FILE) -> Entry:
    return Entry(mode, name if isinstance(name, bytes) else name.encode(), content)


def link(name: str, target: str) -> Entry:
    return Entry(LINK, name.encode(), target.encode())


def folder(name: str | bytes, *entries: Entry) -> Entry:
    return Entry(FOLDER, name if isinstance(name, bytes) else name.encode(), entries)


def module(name: str) -> Entry:
    return Entry(MODULE, name.encode(), b"")


def commit_tree(origin: Origin, entries: Iterable[Entry], message: str = "hostile") -> str:
    """Put a commit of exactly these entries on the origin's branch, on top of what it has."""
    tree = _written(origin, tuple(entries))
    parents = origin.git("for-each-ref", "--format=%(objectname)", f"refs/heads/{BRANCH}").split()
    arguments = [part for parent in parents for part in ("-p", parent.decode())]
    made = origin.git("commit-tree", tree, *arguments, "-m", message).decode().strip()
    origin.git("update-ref", f"refs/heads/{BRANCH}", made)
    return made


def _written(origin: Origin, entries: tuple[Entry, ...]) -> str:
    lines = []
    for entry in sorted(entries, key=lambda entry: entry.name + (b"/" if entry.mode == FOLDER else b"")):
        if entry.mode == MODULE:
            written = _SOMEWHERE
        elif isinstance(entry.content, tuple):
            written = _written(origin, entry.content)
        else:
            written = origin.git("hash-object", "-w", "--stdin", data=entry.content).decode().strip()
        lines.append(entry.mode.encode() + b" " + entry.name + b"\0" + bytes.fromhex(written))
    written = origin.git("hash-object", "-t", "tree", "-w", "--literally", "--stdin", data=b"".join(lines))
    return written.decode().strip()


# ------------------------------------------------------------------------------------------------ tripwires


class Tripwire:
    """Programs that leave a trace when anything runs them, and a place outside of every store."""

    def __init__(self, base: str) -> None:
        self.base = base
        self._traces = os.path.join(base, "traces")
        self._programs = os.path.join(base, "programs")
        self.outside = os.path.join(base, "outside")
        for path in (self._traces, self._programs, self.outside):
            os.makedirs(path)
        with open(os.path.join(self.outside, "secret.md"), "w", encoding="utf-8") as secret:
            secret.write(SECRET)

    def command(self, label: str) -> str:
        """The path of a program of its own for each door: git takes some commands only without arguments."""
        path = os.path.join(self._programs, label)
        with open(path, "wb") as program:
            program.write(self.script(label))
        os.chmod(path, stat.S_IRWXU)
        return path

    def script(self, label: str) -> bytes:
        passes_on = "cat" if label.startswith("filter") else ":"
        return f'#!/bin/sh\n: > "{self._traces}/{label}"\n{passes_on}\n'.encode()

    def sprung(self) -> list[str]:
        """The names of the doors that were open."""
        return sorted(os.listdir(self._traces))

    def outside_is_untouched(self) -> bool:
        with open(os.path.join(self.outside, "secret.md"), encoding="utf-8") as secret:
            return os.listdir(self.outside) == ["secret.md"] and secret.read() == SECRET


SECRET = "what lies outside\n"
HOOKS = (
    "applypatch-msg", "pre-applypatch", "post-applypatch", "pre-commit", "pre-merge-commit", "prepare-commit-msg",
    "commit-msg", "post-commit", "pre-rebase", "post-checkout", "post-merge", "pre-push", "pre-auto-gc",
    "post-rewrite", "post-index-change", "reference-transaction", "push-to-checkout", "fsmonitor-watchman",
    "pre-receive", "update", "post-receive", "post-update", "proc-receive", "sendemail-validate",
)  # fmt: skip


def plant_hooks(git_folder: str, wire: Tripwire) -> None:
    """Every hook that git knows, in a git directory."""
    hooks = os.path.join(git_folder, "hooks")
    os.makedirs(hooks, exist_ok=True)
    for name in HOOKS:
        path = os.path.join(hooks, name)
        with open(path, "wb") as hook:
            hook.write(wire.script(f"hook-{name}"))
        os.chmod(path, stat.S_IRWXU)


def plant_config(git_folder: str, settings: dict[str, str]) -> None:
    """Settings in the configuration of a clone, as somebody who can write there would make them."""
    path = os.path.join(git_folder, "config")
    for name, value in settings.items():
        git(git_folder, "config", "--file", path, name, value)


def programs(wire: Tripwire) -> dict[str, str]:
    """The settings that make git run a program while it records, compares, merges or cleans up."""
    return {
        "core.fsmonitor": wire.command("fsmonitor"),
        "core.hooksPath": _hooks_elsewhere(wire),
        "core.pager": wire.command("pager"),
        "core.editor": wire.command("editor"),
        "core.attributesFile": _attributes_elsewhere(wire),
        "sequence.editor": wire.command("sequence-editor"),
        "filter.evil.clean": wire.command("filter-clean"),
        "filter.evil.smudge": wire.command("filter-smudge"),
        "filter.evil.required": "true",
        "filter.evil2.process": wire.command("filter-process"),
        "diff.external": wire.command("diff-external"),
        "diff.evil.textconv": wire.command("textconv"),
        "diff.evil.command": wire.command("diff-command"),
        "merge.evil.driver": wire.command("merge-driver"),
        "merge.default": "evil",
        "commit.gpgSign": "true",
        "gpg.program": wire.command("gpg"),
        "trailer.evil.command": wire.command("trailer"),
        "trailer.evil.key": "Evil",
        "submodule.recurse": "true",
        "submodule.ext.url": f"ext::{wire.command('submodule')}",
        "submodule.ext.update": f"!{wire.command('submodule-update')}",
        "gc.auto": "1",
        "gc.recentObjectsHook": wire.command("recent-objects"),
        "alias.commit": f"!{wire.command('alias')}",
        "alias.fetch": f"!{wire.command('alias')}",
    }


WAYS = (
    "address of origin", "alternate refs", "askpass", "credential helper", "git proxy", "helper", "other address",
    "other push address", "promisor", "push address of origin", "receive-pack", "ssh", "submodules", "upload-pack",
)  # fmt: skip


def ways_to_the_remote(wire: Tripwire, url: str) -> dict[str, dict[str, str]]:
    """The settings that make git run a program when it speaks to the origin, each for itself: one hides another."""
    everything = {"protocol.ext.allow": "always", "protocol.allow": "always"}
    return {
        "ssh": {"core.sshCommand": wire.command("ssh"), f"url.ssh://127.0.0.1:1/{url}.insteadOf": url},
        "git proxy": {"core.gitProxy": wire.command("git-proxy")},
        "askpass": {"core.askPass": wire.command("askpass")},
        "credential helper": {"credential.helper": f"!{wire.command('credential-helper')}"},
        "alternate refs": {"core.alternateRefsCommand": wire.command("alternate-refs")},
        "upload-pack": {"remote.origin.uploadpack": wire.command("uploadpack")},
        "receive-pack": {"remote.origin.receivepack": wire.command("receivepack")},
        "helper": {"remote.origin.vcs": "ext", "remote.origin.url": wire.command("vcs"), **everything},
        "other address": {f"url.ext::{wire.command('instead-of')} %S .insteadOf": url, **everything},
        "other push address": {f"url.ext::{wire.command('push-instead')} %S .pushInsteadOf": url, **everything},
        "address of origin": {"remote.origin.url": f"ext::{wire.command('address')} %S", **everything},
        "push address of origin": {"remote.origin.pushurl": f"ext::{wire.command('pushurl')} %S", **everything},
        "promisor": {
            "core.repositoryFormatVersion": "1",
            "extensions.partialClone": "evil",
            "remote.evil.url": f"ext::{wire.command('promisor')} %S",
            "remote.evil.promisor": "true",
            **everything,
        },
        "submodules": {
            "fetch.recurseSubmodules": "true",
            "push.recurseSubmodules": "on-demand",
            "submodule.ext.active": "true",
            "submodule.ext.url": f"ext::{wire.command('fetched-submodule')} %S",
            **everything,
        },
    }


def _hooks_elsewhere(wire: Tripwire) -> str:
    plant_hooks(wire.base, wire)
    return os.path.join(wire.base, "hooks")


def _attributes_elsewhere(wire: Tripwire) -> str:
    path = os.path.join(wire.base, "attributes")
    with open(path, "w", encoding="utf-8") as attributes:
        attributes.write("* filter=evil diff=evil merge=evil\n")
    return path


ATTRIBUTES = b"""\
* filter=evil diff=evil merge=evil ident
*.txt filter=evil2
*.md text eol=crlf working-tree-encoding=UTF-16 export-subst
"""


HARMLESS_MODULE = b'[submodule "ext"]\n\tpath = ext\n\turl = https://example.com/ext.git\n'


def modules(wire: Tripwire) -> bytes:
    """Submodules whose addresses are commands and options."""
    return "".join(
        f'[submodule "{name}"]\n\tpath = {path}\n\turl = {url}\n\tupdate = !{wire.command("module-update")}\n'
        for name, path, url in (
            ("ext", "ext", f"ext::{wire.command('module-ext')}"),
            ("option", "option", f"-u{wire.command('module-option')}"),
            ("../../escape", "escape", f"--upload-pack={wire.command('module-upload')}"),
        )
    ).encode()


# ------------------------------------------------------------------------------------------------ trees

ZERO_WIDTH = "\u200c"
SPELLINGS_OF_GIT = (
    ".git", ".GIT", ".Git", ".git.", ".git ", ".git. .", "git~1", "GIT~1", ".git::$INDEX_ALLOCATION",
    f".g{ZERO_WIDTH}it", f"{ZERO_WIDTH}.git", ".git\u200d", ".gi\u202et", ".git\\hooks",
)  # fmt: skip

UNCOMMON_NAMES = {
    "option": b"-rf.md",
    "long option": b"--help.md",
    "pathspec magic": b":(glob)**",
    "pathspec negation": b":!x.md",
    "newline": b"a\nb.md",
    "escape": b"a\x1b[31m.md",
    "quote": b'a"b.md',
    "backslash": b"..\\b.md",
    "not UTF-8": b"\xff\xfe.md",
    "surrogate": b"\xed\xa0\x80.md",
    "bidi": "a\u202eb.md".encode(),
    "reserved": b"con.md",
    "trailing dot": b"a.md.",
    "trailing space": b"b.md ",
    "colon": b"c.md:stream",
    "glob": b"*.md",
    "too long": b"x" * 250 + b".md",
    "NFD": "cafe\u0301.md".encode(),
}
"""Names that git carries and the seam mostly cannot express. A clone that cannot show one must not lose it."""
