"""A hostile repository or clone runs nothing: no hook, no filter, no driver, no address that is a command."""

from __future__ import annotations

import os
import subprocess

import pytest
from clones import AUTHORS, OCCASION, exchange, open_clone
from git_servers import BRANCH, bare_environment, fill, git, serving
from hostile import (
    ATTRIBUTES,
    HARMLESS_MODULE,
    WAYS,
    Tripwire,
    commit_tree,
    file,
    module,
    plant_config,
    plant_hooks,
    programs,
    ways_to_the_remote,
)

from agentm_kernel import Locator
from agentm_kernel.errors import AgentmError

NOTE = Locator("note.md")


def plant_attributes(clone):
    with open(os.path.join(clone, ".gitattributes"), "wb") as attributes:
        attributes.write(ATTRIBUTES)


def test_hooks_filters_and_drivers_in_the_clone_are_not_run(tmp_path, origin_by_path, wire):
    commit_tree(origin_by_path, [file("note.md", b"one\n"), file("b.txt"), file(".gitattributes", ATTRIBUTES)])
    clone = str(tmp_path / "clone")
    open_clone(origin_by_path, clone)
    plant_hooks(os.path.join(clone, ".git"), wire)
    plant_config(os.path.join(clone, ".git"), programs(wire))
    plant_attributes(clone)
    store = open_clone(origin_by_path, clone)
    exchange(store, 1)
    store.write(NOTE, "mine\n")
    store.commit("mine", AUTHORS, OCCASION)
    commit_tree(origin_by_path, [file("note.md", b"theirs\n"), file("b.txt", b"more\n")])  # a conflict: merge drivers
    store.pull(OCCASION)
    exchange(store, 2)
    assert origin_by_path.files()["mine-2.md"] == b"mine 2\n"


def test_bare_git_does_run_them(tmp_path, origin_by_path):
    """The control: the traps are live, and it is agentm that does not spring them."""
    wire = Tripwire(str(tmp_path / "wire"))
    commit_tree(origin_by_path, [file("note.md", b"one\n")])
    clone = str(tmp_path / "clone")
    git(str(tmp_path), "clone", "-q", origin_by_path.url, clone)
    plant_hooks(os.path.join(clone, ".git"), wire)
    plant_config(os.path.join(clone, ".git"), programs(wire))
    with open(os.path.join(clone, "note.md"), "w", encoding="utf-8") as note:
        note.write("two\n")
    for words in (["add", "-A"], ["commit", "-q", "-m", "x"]):
        subprocess.run(["git", *words], cwd=clone, env=bare_environment(), capture_output=True, check=False)
    assert {"filter-clean", "fsmonitor", "gpg", "hook-pre-commit", "hook-post-index-change"} <= set(wire.sprung())


_TRANSPORT_OF = {"git proxy": "daemon", "askpass": "http", "credential helper": "http", "ssh": "http"}


@pytest.mark.parametrize("way", WAYS)
def test_no_setting_of_the_clone_runs_a_program_to_reach_the_origin(tmp_path, wire, way):
    with serving(_TRANSPORT_OF.get(way, "file"), str(tmp_path)) as origin:
        commit_tree(origin, [file("note.md"), file(".gitmodules", HARMLESS_MODULE), module("ext")])
        clone = str(tmp_path / "clone")
        store = open_clone(origin, clone)
        plant_config(os.path.join(clone, ".git"), ways_to_the_remote(wire, origin.url)[way])
        exchange(store)
        assert "mine-0.md" in origin.files()


# ------------------------------------------------------------------------------------------------ names and addresses


@pytest.mark.parametrize(
    "options",
    [
        {"branch": "--upload-pack=touch tripped"},
        {"branch": "-x"},
        {"branch": "a..b"},
        {"branch": "main:refs/heads/evil"},
        {"remote": "--upload-pack=touch tripped"},
        {"remote": "ext::sh -c 'touch tripped'"},
        {"remote": "fd::17"},
        {"remote": "ssh://-oProxyCommand=touch tripped/x"},
        {"remote": "-oProxyCommand=touch:x"},
        {"remote": "https://user:secret@example.com/x.git"},
    ],
    ids=lambda options: " ".join(options.values()),
)
def test_what_git_would_take_for_an_option_or_a_command_is_refused(tmp_path, origin_by_path, options):
    fill(origin_by_path, {"note.md": b"text\n"})
    clone = str(tmp_path / "clone")
    open_clone(origin_by_path, clone)
    with pytest.raises(AgentmError) as refused:
        exchange(open_clone(origin_by_path, clone, **options))
    assert "secret" not in str(refused.value)
    assert not any("tripped" in name for _, _, names in os.walk(tmp_path) for name in names)


def test_branches_and_tags_of_the_origin_that_look_like_options_do_no_harm(tmp_path, origin_by_path, wire):
    made = commit_tree(origin_by_path, [file("note.md")])
    for name in (f"--upload-pack={wire.command('ref')}", "-q", "--force"):
        path = os.path.join(origin_by_path.path, "refs", "heads", name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="ascii") as ref:
            ref.write(f"{made}\n")
    store = open_clone(origin_by_path, str(tmp_path / "clone"))
    exchange(store)
    assert "mine-0.md" in origin_by_path.files()


def test_objects_and_histories_from_elsewhere_do_no_harm(tmp_path, origin_by_path):
    """Alternates, grafts and replacements in the clone: the origin gets a whole history all the same."""
    fill(origin_by_path, {"note.md": b"one\n"})
    fill(origin_by_path, {"note.md": b"two\n"})
    clone = str(tmp_path / "clone")
    store = open_clone(origin_by_path, clone)
    elsewhere = str(tmp_path / "elsewhere")
    git(str(tmp_path), "init", "-q", elsewhere)
    tip = origin_by_path.tip()
    fake = git(elsewhere, "hash-object", "-w", "--stdin", data=b"a lie\n").decode().strip()
    real = origin_by_path.git("rev-parse", f"{BRANCH}:note.md").decode().strip()
    inside = os.path.join(clone, ".git")
    with open(os.path.join(inside, "objects", "info", "alternates"), "w", encoding="utf-8") as alternates:
        alternates.write(os.path.join(elsewhere, ".git", "objects") + "\n")
    with open(os.path.join(inside, "info", "grafts") if os.path.isdir(os.path.join(inside, "info"))
              else os.path.join(inside, "grafts"), "w", encoding="utf-8") as grafts:  # fmt: skip
        grafts.write(f"{tip}\n")
    git(clone, "update-ref", f"refs/replace/{real}", fake)
    exchange(store)
    assert origin_by_path.files()["note.md"] == b"two\n"
    assert origin_by_path.forced() == []
    assert origin_by_path.complaints() == ""
    assert b"one" in origin_by_path.lines_ever()
