"""Several programs at work in one clone: sessions of agents, an editor, and the operator's own git."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

import pytest
from clones import AUTHORS, OCCASION, open_clone
from git_servers import BRANCH, bare_environment, fill, fsck, git
from tests.faults.wrong_moment import in_the_middle_of_a_write

from agentm_kernel import Locator, update

SHARED = "shared.md"

pytestmark = pytest.mark.timeout(600)  # several sessions, each with hundreds of git processes

_SESSION = """
import sys
sys.path[:] = {path!r}
from clones import AUTHORS, OCCASION
from agentm_git.backend import GitStore
from agentm_kernel import Locator, update
name, folder, url, times = sys.argv[1:]
store = GitStore(folder, remote=url, deadline=300.0)
for number in range(int(times)):
    for key in ("shared.md", f"{{name}}.md"):
        update(store, Locator(key), lambda text: f"{{text or ''}}{{name}}-{{number}}\\n")
    store.commit(f"{{name}} {{number}}", AUTHORS, OCCASION)
    if number % 2:
        store.pull(OCCASION)
    store.push(OCCASION)
"""


def session(name, folder, origin, times):
    script = _SESSION.format(path=[os.path.dirname(__file__), *sys.path])
    command = [sys.executable, "-c", script, name, folder, origin.url, str(times)]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)


def finished(processes):
    for process in processes:
        _, complaint = process.communicate(timeout=300)
        assert process.returncode == 0, complaint[-2000:]


def shown(origin):
    return {line for content in origin.files().values() for line in content.decode().splitlines()}


def test_sessions_that_share_a_clone_lose_nothing_of_each_other(tmp_path, origin_by_path):
    fill(origin_by_path, {SHARED: b"begin\n"})
    folder = str(tmp_path / "clone")
    open_clone(origin_by_path, folder)
    other = open_clone(origin_by_path, str(tmp_path / "other"))
    sessions = [session(name, folder, origin_by_path, 5) for name in ("one", "two", "three")]
    for number in range(5):
        update(other, Locator(SHARED), lambda text, number=number: f"{text or ''}other-{number}\n")
        other.sync(OCCASION)
    finished(sessions)
    open_clone(origin_by_path, folder).sync(OCCASION)
    wanted = {f"{name}-{number}" for name in ("one", "two", "three", "other") for number in range(5)}
    assert wanted <= shown(origin_by_path)
    assert git(folder, "status", "--porcelain") == b""
    assert fsck(folder) == ""
    assert origin_by_path.forced() == []


def test_an_editor_that_saves_while_changes_are_brought_in_keeps_what_it_saved(tmp_path, origin_by_path):
    """An editor knows no lock: it replaces the file whenever its user saves."""
    fill(origin_by_path, {SHARED: b"begin\n"})
    folder = str(tmp_path / "clone")
    store = open_clone(origin_by_path, folder)
    saved: list[str] = []
    is_over = threading.Event()

    def edit():
        path = os.path.join(folder, SHARED)
        while not is_over.is_set():
            line = f"saved-{len(saved)}"
            with open(f"{path}~", "w", encoding="utf-8") as file:
                file.write(f"{line}\n")
            os.replace(f"{path}~", path)
            saved.append(line)
            time.sleep(0.01)

    editor = threading.Thread(target=edit)
    editor.start()
    try:
        for number in range(8):
            fill(origin_by_path, {SHARED: f"theirs-{number}\n".encode(), f"{number}.md": b"x\n"})
            store.sync(OCCASION)
    finally:
        is_over.set()
        editor.join()
    store.sync(OCCASION)
    ever = {line.decode() for line in origin_by_path.lines_ever()}
    assert saved[-1] in shown(origin_by_path), "the last save is what the user sees in the editor"
    assert {f"theirs-{number}" for number in range(8)} <= ever
    assert origin_by_path.complaints() == ""


def test_an_editor_that_saves_in_the_middle_of_a_write_keeps_what_it_saved(tmp_path, origin_by_path, monkeypatch):
    store = open_clone(origin_by_path, str(tmp_path / "clone"))
    note, path = Locator("note.md"), tmp_path / "clone" / "note.md"
    store.write(note, "seen\n")

    def editor_saves():
        path.write_text("saved just now\n")

    in_the_middle_of_a_write(monkeypatch, editor_saves)
    update(store, note, lambda text: f"{text}ours\n")
    assert store.read(note) == "saved just now\nours\n"

    in_the_middle_of_a_write(monkeypatch, editor_saves)
    store.write(note, "ours alone\n")
    assert store.read(note) == "ours alone\n"
    (kept,) = (tmp_path / "clone" / "_meta" / "conflicts").rglob("kept-*.md")
    assert kept.read_text() == "saved just now\n"


def test_the_operator_commits_with_git_while_agentm_syncs(tmp_path, origin_by_path):
    fill(origin_by_path, {SHARED: b"begin\n"})
    folder = str(tmp_path / "clone")
    open_clone(origin_by_path, folder)
    agent = session("agent", folder, origin_by_path, 6)
    committed = []
    for number in range(12):
        with open(os.path.join(folder, "operator.md"), "a", encoding="utf-8") as note:
            note.write(f"operator-{number}\n")
        for words in (["add", "operator.md"], ["commit", "-q", "-m", f"operator {number}"]):
            done = subprocess.run(
                ["git", *words], cwd=folder, env=bare_environment(), capture_output=True, check=False
            )
        committed += [f"operator-{number}"] if done.returncode == 0 else []
        time.sleep(0.03)
    finished([agent])
    open_clone(origin_by_path, folder).sync(OCCASION)
    assert committed, "git could not commit a single time"
    wanted = {f"operator-{number}" for number in range(12)} | {f"agent-{number}" for number in range(6)}
    assert wanted <= shown(origin_by_path)
    assert git(folder, "status", "--porcelain") == b""
    assert fsck(folder) == ""
    assert origin_by_path.forced() == []


def test_what_the_operator_staged_is_committed_as_it_is_in_the_folder_and_a_branch_of_theirs_is_left_alone(
    tmp_path, origin_by_path
):
    fill(origin_by_path, {SHARED: b"begin\n"})
    folder = str(tmp_path / "clone")
    store = open_clone(origin_by_path, folder)
    git(folder, "branch", "mine")
    before = git(folder, "rev-parse", "mine")
    store.write(Locator("note.md"), "staged\n")
    git(folder, "add", "note.md")
    store.write(Locator("note.md"), "newer\n")
    store.commit("newer", AUTHORS, OCCASION)
    store.push(OCCASION)
    assert origin_by_path.files()["note.md"] == b"newer\n"
    assert git(folder, "rev-parse", "mine") == before
    assert origin_by_path.tip(BRANCH) == git(folder, "rev-parse", BRANCH).decode().strip()
    assert git(folder, "status", "--porcelain") == b""
