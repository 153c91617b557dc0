"""A hostile tree reaches nowhere, and what agentm cannot show of a tree it does not lose either."""

from __future__ import annotations

import contextlib
import os
import shutil

import pytest
from clones import exchange, keys_of, open_clone
from git_servers import BRANCH, git
from hostile import (
    ATTRIBUTES,
    HARMLESS_MODULE,
    PROGRAM,
    SPELLINGS_OF_GIT,
    UNCOMMON_NAMES,
    commit_tree,
    file,
    folder,
    link,
    module,
    modules,
)

from agentm_kernel import Locator
from agentm_kernel.errors import AgentmError, InvalidContentError, NotFoundError

NOTE = Locator("note.md")


@pytest.mark.parametrize("name", SPELLINGS_OF_GIT)
def test_no_spelling_of_the_git_directory_gets_into_the_folder(tmp_path, origin_by_path, wire, name):
    commit_tree(origin_by_path, [file("note.md")])
    clone = str(tmp_path / "clone")
    store = open_clone(origin_by_path, clone)
    before = _everything_below(os.path.join(clone, ".git", "hooks"))
    trap = file("post-checkout", wire.script("hook-from-a-tree"), PROGRAM)
    config = file("config", f"[core]\n\tfsmonitor = {wire.command('config-from-a-tree')}\n".encode())
    commit_tree(origin_by_path, [file("note.md", b"two\n"), folder(name, folder("hooks", trap), config)])
    try:
        exchange(store)
    except AgentmError:
        assert store.read(NOTE) == "text\n", "what is refused is refused as a whole"
    assert {name for name in os.listdir(clone) if "git" in name.lower()} == {".git"}
    assert _everything_below(os.path.join(clone, ".git", "hooks")) == before
    assert keys_of(store) <= {"note.md", "mine-0.md"}
    git(clone, "status")


@pytest.mark.parametrize("name", [b"..", b".", b"../escape.md", b"a/b.md", b"/absolute.md"])
def test_no_name_in_a_tree_leads_out_of_the_folder(tmp_path, origin_by_path, wire, name):
    commit_tree(origin_by_path, [file("note.md")])
    clone = str(tmp_path / "clone")
    store = open_clone(origin_by_path, clone)
    around = sorted(os.listdir(tmp_path))
    entry = folder(name, file("escape.md")) if name in (b"..", b".") else file(name)
    commit_tree(origin_by_path, [file("note.md"), entry])
    with pytest.raises(AgentmError):
        exchange(store)
    assert sorted(os.listdir(tmp_path)) == around
    assert keys_of(store) <= {"note.md", "mine-0.md"}


def test_links_are_neither_followed_nor_made_nor_lost(tmp_path, origin_by_path, wire):
    secret = os.path.join(wire.outside, "secret.md")
    links = [link("note-link.md", secret), link("dir-link", wire.outside), link("up", "../.."), link("self", "self")]
    commit_tree(origin_by_path, [file("note.md"), folder("deep", *links), *links])
    clone = str(tmp_path / "clone")
    store = open_clone(origin_by_path, clone)
    exchange(store)
    assert keys_of(store) == {"note.md", "mine-0.md"}
    for key in ("note-link.md", "dir-link/secret.md", "deep/note-link.md"):
        with pytest.raises(NotFoundError):
            store.read(Locator(key))
    assert not any(os.path.islink(path) for path in _everything_below(clone))
    kept = origin_by_path.files()
    assert kept["note-link.md"] == secret.encode(), "agentm cannot show it, and does not delete it either"
    assert b"120000 blob" in origin_by_path.git("ls-tree", BRANCH, "dir-link")


def test_a_folder_that_becomes_a_link_and_a_link_that_becomes_a_folder_lead_nowhere(tmp_path, origin_by_path, wire):
    """CVE-2014-9390's relatives: the second commit writes through what the first one made."""
    commit_tree(origin_by_path, [file("note.md"), link("notes", wire.outside), folder("other", file("a.md"))])
    store = open_clone(origin_by_path, str(tmp_path / "clone"))
    commit_tree(origin_by_path, [file("note.md"), folder("notes", file("evil.md")), link("other", wire.outside)])
    exchange(store)
    assert keys_of(store) == {"note.md", "notes/evil.md", "mine-0.md"}
    store.write(Locator("other/mine.md"), "mine\n")
    exchange(store, 1)
    assert os.listdir(wire.outside) == ["secret.md"]


def test_a_link_that_somebody_puts_into_the_folder_is_not_followed(tmp_path, origin_by_path, wire):
    commit_tree(origin_by_path, [file("note.md"), folder("notes", file("a.md"))])
    clone = str(tmp_path / "clone")
    store = open_clone(origin_by_path, clone)
    shutil.rmtree(os.path.join(clone, "notes"))
    os.symlink(wire.outside, os.path.join(clone, "notes"))
    os.symlink(os.path.join(wire.outside, "secret.md"), os.path.join(clone, "leak.md"))
    commit_tree(origin_by_path, [file("note.md"), folder("notes", file("a.md", b"new\n"), file("secret.md", b"x"))])
    for number in range(2):
        with contextlib.suppress(AgentmError):
            exchange(store, number)
    assert b"what lies outside" not in b"".join(origin_by_path.files().values()), "nothing outside is committed"


def test_submodules_are_left_alone_and_not_lost(tmp_path, origin_by_path, wire):
    commit_tree(origin_by_path, [file("note.md"), file(".gitmodules", HARMLESS_MODULE), module("ext")])
    clone = str(tmp_path / "clone")
    store = open_clone(origin_by_path, clone)
    exchange(store)
    assert b"160000 commit" in origin_by_path.git("ls-tree", BRANCH, "ext")
    assert not os.path.exists(os.path.join(clone, "ext", ".git"))


def test_addresses_of_submodules_that_are_commands_are_refused(tmp_path, origin_by_path, wire):
    commit_tree(
        origin_by_path, [file("note.md"), file(".gitmodules", modules(wire)), module("ext"), module("option")]
    )
    with pytest.raises(AgentmError):
        open_clone(origin_by_path, str(tmp_path / "clone"))


@pytest.mark.parametrize("what", sorted(UNCOMMON_NAMES))
def test_a_name_that_no_key_can_spell_hides_nothing_and_is_not_lost(tmp_path, origin_by_path, wire, what):
    name = UNCOMMON_NAMES[what]
    commit_tree(origin_by_path, [file("note.md"), file(name, b"odd\n"), folder("sub", file(name, b"odd\n"))])
    store = open_clone(origin_by_path, str(tmp_path / "clone"))
    exchange(store)
    store.delete(NOTE)
    exchange(store, 1)
    text = name.decode("utf-8", "surrogateescape")
    files = origin_by_path.files()
    assert files[text] == b"odd\n"
    assert files[f"sub/{text}"] == b"odd\n"
    assert "note.md" not in files
    assert {"mine-0.md", "mine-1.md"} <= keys_of(store)


def test_names_that_differ_only_in_case_or_form_stay_two_files_at_the_origin(tmp_path, origin_by_path):
    pairs = {"Plan.md": b"one\n", "plan.md": b"two\n", "caf\u00e9.md": b"three\n", "cafe\u0301.md": b"four\n"}
    commit_tree(origin_by_path, [file("note.md"), *(file(name, text) for name, text in pairs.items())])
    store = open_clone(origin_by_path, str(tmp_path / "clone"))
    exchange(store)
    shown = keys_of(store)
    assert len({key.casefold() for key in shown}) == len(shown)
    for key in shown & set(pairs):
        store.write(Locator(key), "edited\n")
    exchange(store, 1)
    files = origin_by_path.files()
    assert set(pairs) <= set(files)
    assert {name for name in pairs if files[name] != pairs[name]} <= shown


@pytest.mark.parametrize(
    ("what", "content"),
    [
        ("binary", bytes(range(256)) * 40),
        ("not UTF-8", b"caf\xe9\n"),
        ("huge", b"x" * 20_000_000),
        ("CRLF", b"one\r\ntwo\rthree\n"),
        ("BOM", b"\xef\xbb\xbftext"),
        ("NUL", b"a\0b"),
        ("empty", b""),
        ("ident", b"$Id$\n"),
        ("conflict markers", b"<<<<<<< HEAD\na\n=======\nb\n>>>>>>> x\n"),
    ],
)
def test_content_arrives_byte_for_byte_or_not_at_all(tmp_path, origin_by_path, what, content):
    commit_tree(origin_by_path, [file("note.md"), file("odd.md", content), file(".gitattributes", ATTRIBUTES)])
    clone = str(tmp_path / "clone")
    store = open_clone(origin_by_path, clone)
    odd = Locator("odd.md")
    try:
        assert store.read(odd).encode() == content
    except (InvalidContentError, NotFoundError):
        assert what in ("binary", "not UTF-8", "huge")
    exchange(store)
    assert origin_by_path.files()["odd.md"] == content
    git(clone, "fsck", "--strict")


@pytest.mark.parametrize("commit", ["event", "write"])
def test_an_ignore_file_of_the_origin_does_not_keep_notes_from_the_others(tmp_path, origin_by_path, commit):
    """It is not in the folder, so nobody there would know why."""
    commit_tree(
        origin_by_path, [file("note.md"), file(".gitignore", b"*.md\n"), folder("sub", file(".gitignore", b"*"))]
    )
    store = open_clone(origin_by_path, str(tmp_path / "clone"), commit=commit)
    store.write(Locator("sub/new.md"), "new\n")
    exchange(store)
    files = origin_by_path.files()
    assert {"mine-0.md", "sub/new.md"} <= set(files)
    assert files[".gitignore"] == b"*.md\n"


def test_a_program_stays_a_program(tmp_path, origin_by_path):
    commit_tree(origin_by_path, [file("note.md"), file("tool.sh", b"#!/bin/sh\n", PROGRAM)])
    store = open_clone(origin_by_path, str(tmp_path / "clone"))
    exchange(store)
    assert origin_by_path.git("ls-tree", BRANCH, "tool.sh").startswith(b"100755")


def _everything_below(place):
    return sorted(
        os.path.join(parent, name) for parent, folders, names in os.walk(place) for name in (*folders, *names)
    )
