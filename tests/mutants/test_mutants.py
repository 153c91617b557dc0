"""The tool itself, on a package of a few lines: what is tested is noticed, what is not survives and is listed."""

from __future__ import annotations

import ast
import os
from dataclasses import replace
from pathlib import Path

import pytest

from tests.mutants.__main__ import main, report
from tests.mutants.changes import PROMISES, Change, changes_in
from tests.mutants.copies import Verdict
from tests.mutants.lessons import Lessons, function_at
from tests.mutants.tree import _ELSEWHERE, Mutant, is_near, mutants_of, sample, tests_for as stages_for

pytestmark = [
    pytest.mark.skipif(os.name == "nt", reason="needs process groups and links"),
    pytest.mark.timeout(600),  # pytest is started some twenty times
]

MODULE = """
import os
import threading

_lock = threading.Lock()


def is_adult(age, *, strict=False):
    if age < 18 and strict:
        raise ValueError(age)
    return age >= 18


def keep(path):
    with _lock:
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))


def untested(store, if_match):
    store.write(if_match=if_match)
"""
TESTS = """
import pytest
from agentm_kernel.files.ages import is_adult, keep

def test_that_always_fails():
    assert False

def test_the_limit():
    assert [is_adult(age) for age in (17, 18, 19)] == [False, True, True]
    assert is_adult(18, strict=True)
    with pytest.raises(ValueError):
        is_adult(17, strict=True)

@pytest.mark.parametrize("mask", [0], ids=["any umask"])
def test_it_is_kept_private(tmp_path, mask):
    import os
    before = os.umask(mask)
    keep(tmp_path / "a")
    os.umask(before)
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o600
"""


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    root = tmp_path / "tiny"
    package = root / "kernel/agentm_kernel/files"
    package.mkdir(parents=True)
    (package.parent / "__init__.py").touch()
    (package / "__init__.py").touch()
    (package / "ages.py").write_text(MODULE)
    tests = root / "tests/kernel/files"
    tests.mkdir(parents=True)
    (tests / "test_ages.py").write_text(TESTS)
    (root / "pyproject.toml").write_text('[tool.pytest.ini_options]\naddopts = ["--import-mode=importlib"]\n')
    return root


def kinds(source: str) -> list[tuple[str, str]]:
    data = source.encode()
    return [(change.kind, change.applied_to(data).decode()) for change in changes_in(data)]


@pytest.mark.parametrize(
    ("kind", "before", "after"),
    [
        ("comparison", "a < b", "a <= b"),
        ("comparison", "a is not None", "a is None"),
        ("comparison", "a not in b", "a in b"),
        ("boolean", "a and (b)", "a or (b)"),
        ("boolean", "c = not (a or b)", "c =  (a or b)"),
        ("constant", "a = True", "a = False"),
        ("constant", "a = 3", "a = (3 + 1)"),
        ("mode", "os.mkdir(a, 0o700)", "os.mkdir(a, 0o777)"),
        ("mode", "os.makedirs(a, mode=b, exist_ok=c)", "os.makedirs(a, exist_ok=c)"),
        ("if_match", "s.write(a, if_match=b)", "s.write(a, )"),
        ("if_match", "self._write(a, if_match)", "self._write(a, None)"),
        ("argument", "f(a=b, c=d)", "f(c=d)"),
        ("raise", "if a:\n    raise b", "if a:\n    pass"),
        ("call", "f()", "pass"),
        ("order", "f()\ng()", "g()\nf()"),
        ("lock", "with store_mutex(a): f()", "with __import__('contextlib').nullcontext(): f()"),
        ("lock", "with self._lock: f()", "with __import__('contextlib').nullcontext(): f()"),
        ("lock", "return_ = store_mutex(a)", "return_ = __import__('contextlib').nullcontext()"),
    ],
)
def test_a_change_is_made_as_text_and_in_one_place(kind: str, before: str, after: str) -> None:
    assert (kind, after) in kinds(before)


@pytest.mark.parametrize(
    "source",
    [
        '"""A docstring."""',
        "a: int | None",
        "if TYPE_CHECKING:\n    import a",
        "TYPE_CHECKING = False",
        "if sys.platform == 'win32':\n    f()",
        "def f(a: Literal[1]) -> None: ...",
        "a = zip(b, c, strict=True)",
    ],
)
def test_what_cannot_behave_otherwise_here_is_left_alone(source: str) -> None:
    assert kinds(source) == []


def test_a_zip_may_become_strict_but_not_be_asked_twice_for_what_it_does_anyway() -> None:
    assert kinds("a = zip(b, c, strict=False)") == [("constant", "a = zip(b, c, strict=True)")]


def test_every_change_of_this_repository_is_still_python() -> None:
    root = Path(__file__).resolve().parents[2]
    chosen = sample(mutants_of(root), 300, seed=1)
    assert len(chosen) == 300
    for mutant in chosen:
        ast.parse(mutant.change.applied_to((root / mutant.file).read_bytes()))


def test_a_sample_can_be_repeated_and_every_third_is_a_promise(tiny: Path) -> None:
    mutants = mutants_of(tiny)
    assert sample(mutants, 6, seed=7) == sample(mutants, 6, seed=7)
    assert sample(mutants, 6, seed=7) != sample(mutants, 6, seed=8)
    are_promises = [mutant.change.kind in PROMISES for mutant in sample(mutants, 6, seed=7)]
    assert are_promises == [True, False, False, True, False, False], "whenever the time is over"
    assert {mutant.change.kind for mutant in sample(mutants, 99, seed=7, only=["lock"])} == {"lock"}


def test_the_nearest_tests_come_first() -> None:
    root = Path(__file__).resolve().parents[2]
    stages = stages_for(root, "kernel/agentm_kernel/files/mutex.py")
    mutexes = (root / "tests/kernel/files").glob("test_mutex*.py")
    assert stages[0] == sorted(path.relative_to(root).as_posix() for path in mutexes)
    assert stages[1] == ["tests/kernel/files"]
    assert stages[2:5] == [["tests/architecture/test_layers.py"], ["tests/projects"], ["tests/pins"]]
    stages = stages_for(root, "kernel/agentm_kernel/seam/secrets/judging.py")
    assert stages[:2] == [["tests/kernel/seam/test_secrets_judging.py"], ["tests/kernel/seam"]], "a package in a room"
    assert stages_for(root, "kernel/agentm_kernel/errors/refusals.py")[0] == ["tests/kernel/test_errors.py"]
    assert is_near("kernel/agentm_kernel/errors/refusals.py", "tests/kernel/test_errors.py")
    assert is_near("kernel/agentm_kernel/process_seam.py", "tests/kernel/test_process_seam.py")
    assert not is_near("kernel/agentm_kernel/errors/refusals.py", "tests/kernel/test_process_seam.py")
    stages = stages_for(root, "plugins/git/src/agentm_git/history.py")
    files = sorted(path.relative_to(root).as_posix() for path in (root / "plugins/git/tests").glob("test_*.py"))
    assert stages[: len(files)] == [[file] for file in files], "each file has the time of one selection"


def test_tests_that_span_distributions_come_last() -> None:
    root = Path(__file__).resolve().parents[2]
    assert stages_for(root, "plugins/git/src/agentm_git/backend.py")[-1] == ["tests/pins"]
    assert stages_for(root, "plugins/git/src/agentm_git/page.py")[-1] == ["tests/view"]
    assert stages_for(root, "plugins/import/src/agentm_import/writing.py")[-1] == ["tests/projects"]
    assert stages_for(root, "plugins/checkpoint/src/agentm_checkpoint/page.py")[-2:] == [
        ["tests/checkpoints"],
        ["tests/view"],
    ]


def test_what_only_plugins_call_is_tested_elsewhere() -> None:
    root = Path(__file__).resolve().parents[2]
    assert ["plugins/hosts/tests/test_hooks.py"] in stages_for(root, "kernel/agentm_kernel/cli/hook.py")
    assert all((root / one).exists() for several in _ELSEWHERE.values() for one in several)


def test_survivors_are_listed_and_miss_the_goal(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--sample", "99", "--seed", "1"], tiny) == 1
    said = capsys.readouterr().out
    assert "noticed by tests/kernel/files/test_ages.py::test_the_limit" in said
    assert "noticed by tests/kernel/files/test_ages.py::test_it_is_kept_private[any umask]" in said
    assert "test_that_always_fails" not in said, "it fails without a mutant, too"
    survivors = {line for line in said.splitlines() if line.startswith("survivor ")}
    assert {line.split()[-1] for line in survivors} == {"(lock)", "(if_match)", "(call)"}
    assert "survivor kernel/agentm_kernel/files/ages.py:15 (lock)" in survivors
    assert "  - with _lock:\n  + with __import__('contextlib').nullcontext():" in said
    assert "and 1 of the 3 that have to be (if_match, lock, mode)" in said
    lines = said.splitlines()
    assert next(line.split() for line in lines if line.startswith("files "))[1:] == ["12", "9", "(75%)", "0", "0"]
    together = next(line.split() for line in lines if line.startswith("strict rooms "))
    assert together[2:] == ["12", "9", "(75%)", "0", "95%,", "missed"]
    assert (tiny / "kernel/agentm_kernel/files/ages.py").read_text() == MODULE, "only copies are changed"


def test_an_equivalent_mutant_with_a_reason_does_not_count(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tiny / "tests/mutants").mkdir()
    (tiny / "tests/mutants/equivalent.toml").write_text(
        '[[mutant]]\nfile = "kernel/agentm_kernel/files/ages.py"\nreason = "one thread"\nbefore = "with _lock:"\n'
        "after = \"with __import__('contextlib').nullcontext():\"\n"
        '[[mutant]]\nfile = "gone.py"\nreason = "old"\nbefore = "a"\nafter = "b"\n'
    )
    assert main(["--only", "mode,lock", "--seed", "1"], tiny) == 0
    said = capsys.readouterr().out
    assert "1 of " in said
    assert "gone.py no longer has" in said


def test_what_is_being_judged_when_the_time_is_over_is_not_counted(
    tiny: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    endless = "def test_that_never_ends():\n    import time\n    time.sleep(600)\n"
    (tiny / "tests/kernel/files/test_ages.py").write_text(endless)
    assert main(["--seed", "1", "--minutes", "0.1"], tiny) == 0
    assert "the time was over after 0 of " in capsys.readouterr().out


def test_tests_that_were_cut_are_said_to_be(
    tiny: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that nothing is known about may take any time: that it did not end tells nothing of the mutant."""
    monkeypatch.setattr("tests.mutants.copies._LOOK", {False: 0.2, True: 0.2})
    assert main(["--only", "lock", "--seed", "1"], tiny) == 1
    said = capsys.readouterr().out
    assert "survivor kernel/agentm_kernel/files/ages.py:15 (lock)\n  not all of its tests" in said
    together = next(line.split() for line in said.splitlines() if line.startswith("strict rooms "))
    assert together[2:] == ["1", "0", "(0%)", "1", "95%,", "open"]


def test_a_goal_is_for_its_rooms_together(capsys: pytest.CaptureFixture[str]) -> None:
    """One survivor in a room of five is no eighty per cent: there are ninety-five others."""

    def verdicts(room: str, number: int, *, noticed: int) -> list[Verdict]:
        mutant = Mutant("a.py", room, Change("call", 1, 0, 0, ""), "a", "b")
        return [Verdict(mutant, one < noticed, "a test") for one in range(number)]

    nearly = [*verdicts("files", 15, noticed=15), *verdicts("seam", 5, noticed=4), *verdicts("view", 5, noticed=4)]
    assert report([*nearly, *verdicts("git", 5, noticed=5)], {}) == 0
    assert report([*nearly, *verdicts("git", 5, noticed=4)], {}) == 1
    assert "all others                      10      8 (80%)            0  90%, missed" in capsys.readouterr().out


def test_of_files_that_nothing_is_known_about_those_come_first_that_speak_of_the_function(tiny: Path) -> None:
    tests = tiny / "tests/kernel/files"
    (tests / "test_a.py").write_text("")
    (tests / "test_old_ages.py").write_text("")
    (tests / "test_of_keep.py").write_text("from agentm_kernel.files.ages import keep")
    (tiny / "tests/pins").mkdir()
    (tiny / "tests/pins/test_far.py").write_text("")
    (tiny / "tests/pins/test_near.py").write_text("from agentm_kernel.files.ages import is_adult")
    (tiny / "tests/pins/test_other.py").write_text("files.is_adult, files.keep")
    mutant = next(mutant for mutant in mutants_of(tiny) if mutant.change.kind == "lock")
    near, far = ([Path(file).stem for file in files] for files in Lessons(tiny).selections(mutant))
    assert near == ["test_ages", "test_of_keep", "test_near", "test_old_ages", "test_a"]
    assert far == ["test_other", "test_far"], "one word may mean anything"
    mutant = next(mutant for mutant in mutants_of(tiny) if mutant.change.kind == "comparison")
    near, far = ([Path(file).stem for file in files] for files in Lessons(tiny).selections(mutant))
    assert "test_other" in near
    assert far == ["test_far"]


# ------------------------------------------------------------------------------------------------ who calls what

STARTED = """
import os, subprocess, sys
import pytest
from agentm_kernel.files import ages

@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kept")
    ages.keep(folder / "a")
    return folder

def test_the_first_of_a_fixture(kept):
    assert ages.is_adult(18)

def test_the_second_of_a_fixture(kept):
    pass

@pytest.mark.parametrize("options", [[], ["-S"]], ids=["with site", "without"])
def test_a_process(options):
    environ = {"PYTHONPATH": os.path.abspath("kernel")}
    code = "from agentm_kernel.files import ages; ages.is_adult(18)"
    subprocess.run([sys.executable, *options, "-c", code], env=environ, check=True)

def test_a_thread():
    import _thread
    done = _thread.allocate_lock()
    done.acquire()
    _thread.start_new_thread(lambda: ages.is_adult(18) and done.release(), ())
    done.acquire()

def test_neither():
    pass
"""


def test_the_tests_that_call_a_function_are_learned_whoever_calls_it_for_them(
    tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tiny / "tests/kernel/files/test_started.py"
    file.write_text(STARTED)
    assert main(["--sample", "1", "--seed", "1", "--learn"], tiny) in (0, 1)
    lessons = Lessons(tiny)
    name = "tests/kernel/files/test_started.py"
    assert lessons.missing([name, "tests/kernel/files/test_ages.py"]) == []

    def callers(function: str) -> set[str]:
        line = MODULE[: MODULE.index(f"def {function}")].count("\n") + 2
        (mutant, *_) = (one for one in mutants_of(tiny) if one.change.line in (line, line + 1))
        return {test.name.partition("::")[2] for test in lessons.callers(mutant) if test.file == name}

    processes = {"test_a_process[with site]", "test_a_process[without]"}
    assert callers("is_adult") == {"test_the_first_of_a_fixture", "test_a_thread", *processes}
    assert callers("keep") == {"test_the_first_of_a_fixture", "test_the_second_of_a_fixture"}
    (mutant, *_) = (one for one in mutants_of(tiny) if one.change.kind == "if_match")
    assert lessons.callers(mutant), "nobody was seen to call it: any test of the file"
    assert lessons.left_out(mutant) == ""
    constant = replace(mutant, change=replace(mutant.change, kind="constant", line=1))
    assert f"{name}::test_neither" in {test.name for test in lessons.callers(constant)}, "nobody calls a constant"
    assert [{Path(test.partition("::")[0]).stem for test in tests} for tests in lessons.selections(constant)] == [
        *({"test_ages"}, {"test_started"})
    ]
    monkeypatch.setattr("tests.mutants.lessons._LONG", -1.0)  # one that took no time at all is too much
    monkeypatch.setattr("tests.mutants.lessons._ENOUGH", -1.0)
    assert lessons.left_out(mutant).startswith("2 of 7 tests that call it were run")
    file.write_text(f"{STARTED}\n# changed\n")
    assert Lessons(tiny).missing([name]) == [name]


@pytest.mark.parametrize(
    ("line", "name"),
    [(1, "<module>"), (4, "A.f"), (5, "A.f"), (6, "A.f"), (7, "A.f"), (8, "<module>"), (11, "h"), (10, "<module>")],
)
def test_what_is_changed_is_known_by_its_outermost_function(line: int, name: str) -> None:
    lines = ["a = 1", "", "class A:", "    @staticmethod", "    def f(x=1):", "        def g():", "            b()"]
    lines += ["    c = 2", "", "if a:", "    def h(): d()"]
    assert function_at("\n".join(lines).encode(), line) == name
