"""`git_by_hand.py CLONE`: a note in a clone of one's own: change the file, commit, pull with a rebase, push."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from desk import serve

clone = Path(sys.argv[1])
note = clone / "shared.md"
TRIES = 5


def git(*arguments: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(["git", "-C", clone, *arguments], check=False, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"git {arguments[0]}: {(done.stderr or done.stdout).strip()[-200:]}")
    return done


def read() -> str:
    """What the clone has in its history: an unfinished change in the folder is not the memory."""
    try:
        git("pull", "-q", "--rebase")
    except RuntimeError:
        pass  # the origin has the rest, if there is any
    return git("show", "HEAD:shared.md").stdout


def add(line: str) -> None:
    """What is refused is taken back, so that the next line does not stumble over it."""
    begin = git("rev-parse", "HEAD").stdout.strip()
    with note.open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")
    try:
        git("commit", "-q", "-a", "-m", "a line")
        for last in range(TRIES, 0, -1):
            git("pull", "-q", "--rebase")
            try:
                git("push", "-q")
                return
            except RuntimeError:
                if last == 1:
                    raise
    except RuntimeError:
        subprocess.run(["git", "-C", clone, "rebase", "--abort"], check=False, capture_output=True)
        git("reset", "-q", "--hard", begin)
        raise


serve(add=add, read=read)
