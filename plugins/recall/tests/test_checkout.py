"""What a checkout has and had, by the git command; what is kept of it, and what sessions were given."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from agentm_recall import checkout
from agentm_recall.checkout import Checkout, NoCheckout, removal_of
from agentm_recall.deliveries import read_deliveries
from agentm_recall.note import parse_note
from agentm_recall.remarks import Remark, Remarks, read_remarks, read_seen, write_remarks
from agentm_recall.staleness import moment_of


class Work:
    """A repository in which each commit has a moment of its own."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir()
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *words: str, at: int = 1_600_000_000) -> str:
        moment = f"@{at} +0000"
        environ = {"PATH": os.environ["PATH"], "HOME": str(self.root), "GIT_CONFIG_NOSYSTEM": "1"}
        environ |= {"GIT_AUTHOR_DATE": moment, "GIT_COMMITTER_DATE": moment}
        command = ["git", "-c", "user.name=Ana", "-c", "user.email=ana@example.com", *words]
        done = subprocess.run(
            command, cwd=self.root, env=environ, check=True, capture_output=True, text=True, timeout=60
        )
        return done.stdout.strip()

    def commit(self, at: int, **files: str | None) -> str:
        for name, text in files.items():
            file = self.root / name.replace("__", "/").replace("_py", ".py")
            file.parent.mkdir(exist_ok=True)
            if text is None:
                file.unlink()
            else:
                file.write_text(text)
        self.git("add", "-A")
        self.git("commit", "--quiet", "--allow-empty", "--message", "work", at=at)
        return self.git("rev-parse", "HEAD")

    @property
    def checkout(self) -> Checkout:
        return Checkout(str(self.root))


@pytest.fixture
def work(tmp_path: Path) -> Work:
    made = Work(tmp_path / "work")
    made.commit(1_600_000_000, src__pool_py="def lend():\n    pass\n", src__old_py="def borrow():\n    pass\n")
    return made


def test_a_file_is_known_by_its_path_or_the_end_of_it(work: Work) -> None:
    (work.root / "new.py").write_text("")
    (work.root / ".gitignore").write_text("ignored.py\n")
    (work.root / "ignored.py").write_text("")
    known = work.checkout
    names = ["src/pool.py", "pool.py", "src", "new.py", "ignored.py", "ool.py", "lib/pool.py", "gone.py"]
    assert [name for name in names if known.has_file(name)] == [
        "src/pool.py",
        "pool.py",
        "src",
        "new.py",
        "ignored.py",
    ]


def test_a_file_is_removed_by_a_commit_or_just_now(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentm_recall.checkout.time.time", lambda: 5e9)
    work.commit(1_600_100_000, src__old_py=None)
    work.commit(1_600_150_000, src__old_py="again\n", src__other_py="")
    work.commit(1_600_200_000, src__old_py=None)
    assert work.checkout.removed_files(1_600_000_000) == {"src/old.py": 1_600_200_000}
    assert work.checkout.removed_files(1_600_200_001) == {}
    (work.root / "src/pool.py").unlink()
    assert work.checkout.removed_files(1_600_200_001) == {"src/pool.py": 5e9}
    work.commit(1_600_250_000, src__old_py="back\n")
    assert work.checkout.removed_files(1_600_000_000) == {"src/pool.py": 1_600_250_000}, "what is back is not removed"


def test_of_several_files_of_a_name_the_last_removal_counts() -> None:
    removed = {"a/pool.py": 1.0, "b/pool.py": 3.0, "b/spool.py": 9.0, "pool.py": 2.0}
    assert removal_of("pool.py", removed) == 3.0
    assert removal_of("a/pool.py", removed) == 1.0
    assert removal_of("queue.py", removed) is None


def test_words_are_looked_for_whole_now_and_at_a_commit(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    first = work.git("rev-parse", "HEAD")
    work.commit(1_600_100_000, src__old_py="nothing\n")
    (work.root / "new.py").write_text("def steal(): ...\n")
    words = ["lend", "borrow", "steal", "len", "bor.*w"]
    monkeypatch.setattr(checkout, "_AT_ONCE", 2)
    assert work.checkout.missing_words(words) == {"borrow", "len", "bor.*w"}
    assert work.checkout.missing_words(words, first) == {"steal", "len", "bor.*w"}
    assert work.checkout.missing_words([]) == set()


def test_the_commits_around_a_moment_are_the_last_before_and_the_first_after(work: Work) -> None:
    first, second = work.git("rev-parse", "HEAD"), work.commit(1_600_100_000)
    third = work.commit(1_600_200_000)
    known = work.checkout
    assert known.commits_around(1_599_999_999) == [first]
    assert known.commits_around(1_600_000_000) == [first, second]
    assert known.commits_around(1_600_099_999) == [first, second]
    assert known.commits_around(1_600_100_000) == [second, third]
    assert known.commits_around(1_600_200_000) == [third]


def test_a_repository_without_commits_has_none_and_lost_none(tmp_path: Path) -> None:
    empty = Work(tmp_path / "empty").checkout
    assert empty.commits_around(1) == []
    with pytest.raises(NoCheckout):
        empty.removed_files(1_600_000_000)


def test_a_commit_is_lost_when_no_branch_leads_to_it(work: Work) -> None:
    first, second = work.git("rev-parse", "HEAD"), work.commit(1_600_100_000)
    seen: set[str] = set()
    assert work.checkout.lost_commits([first, second], seen) == set()
    assert seen == {first, second}
    work.git("reset", "--quiet", "--hard", first)
    assert work.checkout.lost_commits([first, second], set()) == {second}
    work.git("checkout", "--quiet", "--detach", second)
    assert work.checkout.lost_commits([second], set()) == set(), "what is checked out is there"
    never, once = "0" * 40, "1" * 40
    assert work.checkout.lost_commits([never, once], {once}) == {once}, "nobody knows the other"


def test_in_a_shallow_clone_nothing_is_lost(work: Work) -> None:
    (work.root / ".git/shallow").write_text("")
    assert work.checkout.lost_commits(["1" * 40], {"1" * 40}) == set()


def test_a_folder_that_is_no_checkout_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    with pytest.raises(NoCheckout, match="not a git repository"):
        Checkout(str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoCheckout, match="No such file"):
        Checkout(str(tmp_path))


def test_names_that_are_not_english_are_names(work: Work) -> None:
    work.commit(1_600_100_000, **{"größe.txt": "Länge\n"})
    assert work.checkout.has_file("größe.txt")
    assert work.checkout.missing_words(["Länge"]) == set()
    work.commit(1_600_200_000, **{"größe.txt": None})
    assert work.checkout.removed_files(1_600_000_000) == {"größe.txt": 1_600_200_000}


# ------------------------------------------------------------------------------------------------ what is kept


@pytest.mark.parametrize(
    ("stated", "moment"),
    [
        ("1970-01-02T00:00:00+00:00|", 86_400),
        ("1970-01-02T01:00:00|", 90_000),
        ("1970-01-02|", 2 * 86_400 - 1),
        ("1970-01-02|1970-01-05", 5 * 86_400 - 1),
        ("1970-01-05T00:00:00+00:00|1970-01-02", 4 * 86_400),
        ("|", 1 << 40),
        ("some day|never", 1 << 40),
    ],
)
def test_a_note_speaks_of_the_latest_day_that_it_states(stated: str, moment: float) -> None:
    assert moment_of(stated) == moment


KEY = "projects/widgets/facts/pool.md"
STATED = "2025-01-01|"


def test_a_remark_is_kept_until_the_note_states_other_dates(tmp_path: Path) -> None:
    index = str(tmp_path / "notes.sqlite3")
    remark = Remark(KEY, STATED, {"file": ["a.py", "b.py"], "commit": ["abc"]})
    write_remarks(index, "widgets", [remark], {"b", "a"})
    kept = read_remarks(index, "widgets")[KEY]
    assert (kept.key, kept.stated, kept.gone) == (KEY, STATED, {"file": ["a.py", "b.py"], "commit": ["abc"]})
    assert kept.long == "names 2 files that are gone and a commit that is gone: a.py, b.py, abc"
    assert read_seen(index, "widgets") == {"a", "b"}
    assert (read_remarks(index, "other"), read_seen(index, "other")) == ({}, set())
    about = Remarks(index)
    same, _ = parse_note(KEY, "---\nupdated: 2025-01-01\n---\nText.\n")
    assert about.line(same) == "names 2 files that are gone and a commit that is gone"
    for text in ("---\nupdated: 2025-01-02\n---\nT.\n", "---\nupdated: 2025-01-01\nverified: 2025-02-01\n---\nT.\n"):
        assert about.line(parse_note(KEY, text)[0]) == ""
    assert about.line(parse_note("personal/facts/pool.md", "---\nupdated: 2025-01-01\n---\nT.\n")[0]) == ""
    write_remarks(index, "widgets", [], set())
    assert read_remarks(index, "widgets") == {}


def test_where_there_is_nothing_to_keep_no_file_is_made(tmp_path: Path) -> None:
    write_remarks(str(tmp_path / "notes.sqlite3"), "widgets", [], set())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "text", ["", "agentm-recall remarks 0\ngone\ta\tb\tfile x\n", "agentm-recall remarks 1\ngone\ta\n"]
)
def test_what_is_no_remark_says_nothing(tmp_path: Path, text: str) -> None:
    index = str(tmp_path / "notes.sqlite3")
    write_remarks(index, "widgets", [Remark(KEY, STATED, {"file": ["a.py"]})], set())
    next((tmp_path / "remarks-1").iterdir()).write_text(text)
    assert read_remarks(index, "widgets") == {}


def test_what_sessions_were_given_is_read_from_every_line_that_says_it(tmp_path: Path) -> None:
    folder = tmp_path / "deliveries"
    folder.mkdir()
    lines = [
        {"time": 30, "session": "a", "notes": ["projects/widgets/facts/x.md", "personal/facts/y"]},
        {"time": 20, "session": "a", "notes": ["personal/facts/z.md"]},
        {"time": 10, "session": "b", "notes": ["projects/widgetsmith/facts/w.md"]},
        {"time": "never", "session": "c", "notes": ["projects/widgets/facts/v.md"]},
        {"session": "d", "notes": []},
    ]
    (folder / "1.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines) + "no line\n")
    (folder / "2.jsonl.1").write_text(
        json.dumps({"time": 40, "session": "e", "notes": ["projects/widgets/facts/u.md"]})
    )
    given = read_deliveries(str(tmp_path), "projects/widgets")
    keys = {"projects/widgets/facts/x", "personal/facts/y", "personal/facts/z", "projects/widgets/facts/u"}
    assert (given.sessions, given.since, set(given.keys)) == (2, 10.0, keys)
    assert not given.says_enough
    assert given._replace(sessions=20).says_enough
    assert not given._replace(sessions=19).says_enough
    assert read_deliveries(str(tmp_path / "none"), "projects/widgets").sessions == 0
