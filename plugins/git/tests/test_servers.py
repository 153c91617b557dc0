"""The origins of these tests are sound: bare git clones from them, pushes to them and is refused by them."""

from __future__ import annotations

import os
import subprocess

import pytest
from git_servers import BRANCH, TRANSPORTS, bare_environment, fill, git, serving

NOTE = b"# A note\n" * 50


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_bare_git_clones_pushes_and_is_told_of_a_race(tmp_path, transport):
    with serving(transport, str(tmp_path)) as origin:
        fill(origin, {"first.md": NOTE})
        clones = [str(tmp_path / name) for name in "ab"]
        for number, clone in enumerate(clones):
            git(str(tmp_path), "clone", "-q", origin.url, clone)
            _commit(clone, f"note-{number}.md", b"text\n")
        git(clones[0], "push", "-q", "origin", f"HEAD:{BRANCH}")
        with pytest.raises(AssertionError, match="rejected"):
            git(clones[1], "push", "-q", "origin", f"HEAD:{BRANCH}")
        git(clones[1], "pull", "-q", "--rebase", "origin", BRANCH)
        git(clones[1], "push", "-q", "origin", f"HEAD:{BRANCH}")
        assert sorted(origin.files()) == ["first.md", "note-0.md", "note-1.md"]
        assert origin.forced() == []
        assert origin.complaints() == ""


def test_a_pack_that_git_sends_in_chunks_arrives(tmp_path):
    with serving("http", str(tmp_path)) as origin:
        clone = str(tmp_path / "clone")
        git(str(tmp_path), "clone", "-q", origin.url, clone)
        _commit(clone, "large.md", os.urandom(3_000_000))
        git(clone, "push", "-q", "origin", f"HEAD:{BRANCH}")
        assert len(origin.files()["large.md"]) == 3_000_000


def test_a_forced_push_does_not_go_unnoticed(tmp_path):
    with serving("file", str(tmp_path)) as origin:
        fill(origin, {"first.md": NOTE})
        clone = str(tmp_path / "clone")
        git(str(tmp_path), "clone", "-q", origin.url, clone)
        git(clone, "commit", "-q", "--amend", "-m", "another beginning")
        git(clone, "push", "-q", "--force", "origin", f"HEAD:{BRANCH}")
        assert len(origin.forced()) == 1


def test_every_line_that_was_ever_committed_is_found(tmp_path):
    with serving("file", str(tmp_path)) as origin:
        fill(origin, {"a.md": b"one\n"})
        fill(origin, {"a.md": b"two\n", "b/c.md": b"three\n"})
        assert origin.lines_ever() == {b"one", b"two", b"three"}


@pytest.mark.parametrize("scheme", ["Bearer", "Basic"])
def test_a_token_is_asked_for_and_taken(tmp_path, scheme):
    from base64 import b64encode

    with serving("http", str(tmp_path), token="s3cret") as origin:
        fill(origin, {"first.md": NOTE})
        with pytest.raises(AssertionError, match="could not read Username"):
            git(str(tmp_path), "clone", "-q", origin.url, "without")
        secret = "s3cret" if scheme == "Bearer" else b64encode(b"x-access-token:s3cret").decode()
        given = {
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": f"http.{origin.url}.extraHeader",
            "GIT_CONFIG_VALUE_0": f"Authorization: {scheme} {secret}",
        }
        command = ["git", "clone", "-q", origin.url, str(tmp_path / "with")]
        subprocess.run(command, env={**bare_environment(), **given}, check=True)
        assert (tmp_path / "with" / "first.md").read_bytes() == NOTE


def _commit(clone, name, content):
    with open(os.path.join(clone, name), "wb") as file:
        file.write(content)
    git(clone, "add", name)
    git(clone, "commit", "-q", "-m", name)
