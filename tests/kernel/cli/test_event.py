"""The child that tells plugins of an event: what is heard of it, and what it lets go of."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that fork")

BEGIN = """
import os, sys
from agentm_kernel import plugins
from agentm_kernel.cli.event import in_a_child, in_the_background

def streams():
    nowhere = os.stat(os.devnull)
    return [os.path.samestat(os.fstat(number), nowhere) for number in (0, 1, 2)]

def note(*words):
    with open(sys.argv[1], "a") as file:
        print(*words, file=file)
    return 0
"""


def run(tmp_path: Path, *lines: str) -> tuple[int, str, str, list[str]]:
    """Exit code, output and error output of a process of these lines, and what its child noted."""
    notes = tmp_path / "notes"
    notes.write_text("")
    command = [sys.executable, "-c", "\n".join((BEGIN, *lines)), str(notes)]
    done = subprocess.run(command, input="an event", capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr, notes.read_text().splitlines()


def test_a_child_says_its_lines_and_its_code(tmp_path: Path) -> None:
    code, out, err, _ = run(
        tmp_path,
        "sys.stderr.write('before, ')",
        "code = in_a_child(lambda: sys.stderr.write('within\\n') and 3)",
        "sys.exit(code)",
    )
    assert (code, out, err) == (3, "", "before, within\n")


@pytest.mark.parametrize(
    "said", ["half a line", "two lines\nand a half", "a zero\0 within", "a zero\0 within\n", "7\n"]
)
def test_whatever_a_plugin_says_is_not_taken_for_the_answer(tmp_path: Path, said: str) -> None:
    code, _, err, _ = run(tmp_path, f"sys.exit(in_a_child(lambda: sys.stderr.write({said!r}) and 3))")
    assert (code, err) == (3, said)


def test_a_child_that_ends_without_a_word_is_an_error(tmp_path: Path) -> None:
    code, _, err, _ = run(tmp_path, "in_a_child(lambda: os._exit(0))")
    assert code == 1
    assert "a plugin ended the process that told it" in err


def test_a_child_holds_nobody_s_stream_while_it_works(tmp_path: Path) -> None:
    *_, heard = run(tmp_path, "in_a_child(lambda: note(*streams()))")
    assert heard == ["True True False"], "but for what its caller hears"
    *_, unheard = run(tmp_path, "in_the_background(lambda: note(*streams()))", "os.wait()")
    assert unheard == ["True True True"]


def test_what_is_late_writes_to_nobody_once_the_answer_is_given(tmp_path: Path) -> None:
    """A pipe that nobody reads any longer would take some lines, and then hold the writer up."""
    code, _, _, late = run(
        tmp_path,
        "plugins.wait_for_late = lambda seconds: note(seconds, *streams())",
        "code = in_a_child(lambda: 3)",
        "os.wait()",
        "sys.exit(code)",
    )
    assert (code, late) == (3, ["60.0 True True True"])


def test_a_child_outlives_the_session_of_its_caller(tmp_path: Path) -> None:
    *_, noted = run(tmp_path, "in_a_child(lambda: note(os.getsid(0) == os.getpid()))")
    assert noted == ["True"]


@pytest.mark.parametrize("wait", [0, 60])
def test_only_who_wants_to_waits_for_the_background(tmp_path: Path, wait: float) -> None:
    *_, noted = run(
        tmp_path,
        "import select",
        "select.select = lambda reading, *others: note('waits', len(reading), *others)",
        f"in_the_background(lambda: 0, wait={wait})" if wait else "in_the_background(lambda: 0)",
    )
    assert noted == (["waits 1 [] [] 60"] if wait else [])


def test_the_background_says_when_it_is_done(tmp_path: Path) -> None:
    *_, noted = run(tmp_path, "in_the_background(lambda: note('done'), wait=60)", "note('goes on')")
    assert noted == ["done", "goes on"]


def test_a_child_never_goes_on_as_its_caller(tmp_path: Path) -> None:
    """Not even where the caller passes over whatever fails: the agent host would get a second answer."""
    go = "\n".join(("try: {}", "except BaseException: pass", "note('goes on')", "os.wait()"))
    for start in ("in_the_background(lambda: 0)", "in_a_child(lambda: 0)"):
        *_, noted = run(tmp_path, go.format(start))
        assert noted == ["goes on"]


def test_a_caller_keeps_no_pipe_and_owes_no_line(tmp_path: Path) -> None:
    _, out, err, _ = run(
        tmp_path,
        "free = os.dup(0)",
        "os.close(free)",
        "in_the_background(lambda: 0)",
        "in_a_child(lambda: sys.stderr.write('said\\n') and 0)",
        "print(os.dup(0) == free, flush=True)",
        "os._exit(0)",
    )
    assert (out, err) == ("True\n", "said\n")


def test_where_processes_cannot_fork_the_caller_does_the_work(tmp_path: Path) -> None:
    code, *_, noted = run(
        tmp_path, "del os.fork", "in_the_background(lambda: note('done'))", "sys.exit(in_a_child(lambda: 3))"
    )
    assert (code, noted) == (3, ["done"])
