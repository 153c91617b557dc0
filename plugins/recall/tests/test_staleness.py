"""Notes that name what is gone: told of what the checkout had and has no more, and of nothing else."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest

from agentm_recall import RecallIndex, phase_recall
from agentm_recall.index import database
from agentm_recall.index.mentions import mentions
from agentm_recall.staleness import check_project

OLD = "2020-01-01T00:00:00+00:00"


class Repository:
    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir(parents=True, exist_ok=True)
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *words: str) -> str:
        identity = ["-c", "user.name=Ana", "-c", "user.email=ana@example.com", "-c", "commit.gpgsign=false"]
        done = subprocess.run(
            ["git", *identity, *words], cwd=self.root, check=True, capture_output=True, text=True, timeout=60
        )
        return done.stdout.strip()

    def commit(self, **files: str) -> str:
        for name, text in files.items():
            file = self.root / name.replace("__", "/").replace("_py", ".py")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        self.git("add", "-A")
        self.git("commit", "--quiet", "--message", "work")
        return self.git("rev-parse", "HEAD")


@pytest.fixture
def repository(home):
    subprocess.run(["rm", "-r", str(home.project / ".git")], check=True)
    made = Repository(home.project)
    made.git("remote", "add", "origin", "git@example.com:ana/widgets.git")
    made.commit(src__pool_py="def lend_connection():\n    return 1\n", src__queue_py="QUEUE = 1\n")
    return made


def note(home, slug, text, updated=OLD, **fields):
    head = "".join(f"{name}: {value}\n" for name, value in {"updated": updated, **fields}.items())
    home.note(f"projects/widgets/facts/{slug}.md", f"---\n{head}---\n\n# {slug}\n\n{text}\n")


def remarks(home, store):
    index = RecallIndex(store)
    index.update()
    return {
        remark.key.rpartition("/")[2].removesuffix(".md"): remark.long
        for remark in check_project(index.path(), "widgets", str(home.project))
    }


@pytest.mark.parametrize("is_committed", [True, False])
def test_a_file_that_was_renamed_is_gone(home, store, repository, is_committed):
    note(home, "pool", "The pool is in src/pool.py, and `pool.py` is small; see also src/queue.py.")
    assert remarks(home, store) == {}

    repository.git("mv", "src/pool.py", "src/lending.py")
    if is_committed:
        repository.commit()

    assert remarks(home, store) == {"pool": "names 2 files that are gone: src/pool.py, pool.py"}
    assert "names 2 files that are gone" in phase_recall("work", "widgets", backend=store)
    assert "names 2 files that are gone" in phase_recall("work", "widgets", backend=store, query="pool small")


def test_the_check_only_reads_the_index(home, store, repository, monkeypatch):
    note(home, "pool", "The pool is in src/pool.py.")
    index = RecallIndex(store)
    index.update()
    ways, connect = [], database._connect
    monkeypatch.setattr(database, "_connect", lambda *given: ways.append(given[1]) or connect(*given))

    check_project(index.path(), "widgets", str(home.project))

    assert ways == ["ro"]


def test_a_function_that_is_gone(home, store, repository):
    note(home, "lend", "Call `lend_connection()` first, never `str.format()`.", updated="2035-01-01")
    note(home, "early", "Call `lend_connection(1)`.", updated="2035-01-01")
    (home.project / "src" / "pool.py").write_text("def other():\n    return 1\n")

    assert remarks(home, store) == dict.fromkeys(("lend", "early"), "names a function that is gone: lend_connection")


def test_a_commit_that_is_gone(home, store, repository):
    first = repository.commit(more_py="1")
    note(home, "fix", f"It was fixed by commit {first[:9]}; the other project has commit 0a1b2c3d4.")
    assert remarks(home, store) == {}

    repository.git("commit", "--quiet", "--amend", "--message", "better")
    assert remarks(home, store) == {"fix": f"names a commit that is gone: {first[:9]}"}

    repository.git("reflog", "expire", "--expire=now", "--all")
    repository.git("gc", "--quiet", "--prune=now")
    assert remarks(home, store) == {"fix": f"names a commit that is gone: {first[:9]}"}


def test_what_was_never_there_is_nobodys_business(home, store, repository):
    note(home, "others", "See /etc/hosts.conf, src/elsewhere.py, https://example.com/src/pool.py and `never_was()`.")
    note(home, "glob", "All of src/*.py and src/{a,b}.py.")

    repository.git("rm", "--quiet", "src/pool.py")
    repository.commit()

    assert remarks(home, store) == {}


def test_a_note_that_tells_of_the_removal_is_right(home, store, repository):
    repository.git("rm", "--quiet", "src/pool.py")
    repository.commit()
    note(home, "removed", "We removed src/pool.py.", updated="2035-01-01")

    assert remarks(home, store) == {}


def test_a_note_that_was_verified_since_is_believed(home, store, repository):
    note(home, "pool", "The pool was in src/pool.py.")
    repository.git("rm", "--quiet", "src/pool.py")
    repository.commit()
    assert list(remarks(home, store)) == ["pool"]

    note(home, "pool", "The pool was in src/pool.py.", verified="2035-01-01")
    assert "gone" not in phase_recall("work", "widgets", backend=store), "a remark is about the note as it was"
    assert remarks(home, store) == {}


def test_the_end_of_a_turn_has_it_checked_in_the_background(home, store, repository):
    note(home, "pool", "The pool is in src/pool.py.")
    RecallIndex(store).update()
    repository.git("mv", "src/pool.py", "src/lending.py")

    started = time.monotonic()
    assert home.run("event", "turn-end", input="{}").returncode == 0
    text = ""
    while "names a file that is gone" not in text and time.monotonic() - started < 30:
        time.sleep(0.1)
        text = phase_recall("work", "widgets", backend=store)

    assert "names a file that is gone" in text


def test_no_git_is_no_trouble(home, store, capsys):
    note(home, "pool", "The pool is in src/pool.py.")

    assert remarks(home, store) == {}
    assert "notes were not checked" in capsys.readouterr().err


def test_the_history_of_this_repository_raises_no_false_alarm(home, store):
    """Its commits are notes of their time: what was said, and which files were changed. What is told of them is true,
    and what is gone is told.
    """
    root = Path(__file__).resolve().parents[3]
    commits = history_of(root)
    if len(commits) < 200:
        pytest.skip("there is no history here")
    for commit, date, message, files in commits:
        note(home, commit, f"{message}\n\nChanged {', '.join(f'`{file}`' for file in files)}.", updated=date)

    index = RecallIndex(store)
    index.update()
    found = {
        remark.key.rpartition("/")[2].removesuffix(".md"): remark
        for remark in check_project(index.path(), "widgets", str(root))
    }

    tracked = git_output(root, "ls-files", "-z").split("\0")
    gone = missed = 0
    for commit, _, message, files in commits:
        told = set(found[commit].gone.get("file", ())) if commit in found else set()
        missing = {file for file in files if not (root / file).exists()}
        assert told & set(files) <= missing, commit
        gone, missed = gone + len(missing), missed + len(missing - told)
        for name in told - set(files):  # what the message names by itself
            assert name in message
            assert not any(path == name or path.endswith(f"/{name}") for path in tracked), (commit, name)
    assert gone > 5  # so many that it tells something
    assert missed < gone / 4, "only what another branch had removed before is not told: it looks like a note about it"


def git_output(root, *words):
    return subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True, check=False).stdout


def history_of(root):
    """Commits of all times that changed at most ten files: hash, date, message, and the files they left there."""
    told = git_output(
        root, "log", "--no-merges", "--format=%x01%H%x00%cI%x00%B%x00", "--name-only", "--diff-filter=AM"
    )
    commits = []
    for part in told.split("\x01")[1:]:
        commit, date, message, names = part.split("\0")
        files = [name for name in names.split("\n") if name.endswith((".py", ".md", ".toml"))]
        if 0 < len(files) <= 10:
            commits.append((commit, date, message.strip(), files))
    return commits[:: max(1, len(commits) // 400)][:400]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("see src/a/b.py:12 and (docs/x.md)", [("file", "src/a/b.py"), ("file", "docs/x.md")]),
        ("`conftest.py` and conftest.py", [("file", "conftest.py")]),
        ("`store.read_all(x, y)` and read_all()", [("function", "read_all")]),
        ("Commit 1A2b3c4d, not commit deadbeef nor 1234567", [("commit", "1a2b3c4d")]),
        ("~/x/y.py /abs/z.py $HOME/q/r.sh https://e.org/a/b.html v1/2.5", []),
    ],
)
def test_what_a_text_names(text, expected):
    assert mentions(text) == expected
