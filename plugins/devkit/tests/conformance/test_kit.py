"""The kit itself: what it reports, how it starts processes, and that it leaves nothing behind."""

from __future__ import annotations

import os
import pickle
import re
import subprocess
import sys
import tempfile
import time

import pytest

import agentm_devkit.conformance as kit
from agentm_devkit.conformance import ConformanceFailure, NotApplicable, Subject, all_checks, check, run
from agentm_devkit.conformance.bench import Bench
from agentm_devkit.conformance.expect import Violation
from agentm_devkit.conformance.memory import MemoryBackend
from agentm_devkit.conformance.subject import OpenStore
from agentm_kernel.files.store import FileStore
from agentm_kernel.plugin import BackendLayer, DeviceFiles, encode_content
from agentm_kernel.seam.locator import Locator


def open_here(scratch: str) -> FileStore:
    """A factory in a test module, which no process can import by its name."""
    return FileStore(scratch)


class OpensBelow:
    """A factory with a setting of its own, as one for a server's address would be."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __call__(self, scratch: str) -> FileStore:
        return FileStore(os.path.join(scratch, self.folder), create_root=True)


class Small(FileStore):
    """Takes notes of four kilobytes, and says so."""

    def __init__(self, scratch):
        super().__init__(scratch, size_limit=4096)


class SmallLayer(BackendLayer):
    """Takes as little around a store that takes more, and says so."""

    passes = (DeviceFiles,)
    size_limit = 4096

    def write(self, locator, content, *, if_match=None):
        encode_content(content, locator, limit=self.size_limit)
        return self.inner.write(locator, content, if_match=if_match)


def open_small_layer(scratch: str) -> SmallLayer:
    return SmallLayer(FileStore(scratch))


class CannotConnect(FileStore):
    def __init__(self, scratch):
        raise ConnectionError(f"no one answers at '{scratch}'")


class Prints(FileStore):
    def read(self, locator):
        print("reading", locator)
        return super().read(locator)


class Unreliable(MemoryBackend):
    def __init__(self, scratch):
        super().__init__()

    def read(self, locator):
        return "something else"


IN_MEMORY = Subject(lambda scratch: MemoryBackend(), in_memory=True)


# ------------------------------------------------------------------------------------------------ checks and reports


@pytest.mark.parametrize("opens", [Small, open_small_layer], ids=lambda opens: opens.__name__)
def test_what_takes_little_and_says_so_passes(opens: OpenStore) -> None:
    report = run(opens, only=["content", "device_files", "disk"])
    assert report.ok, str(report)


def test_a_check_is_a_plain_function_of_the_package() -> None:
    kit.check_read_of_nothing(IN_MEMORY)
    with pytest.raises(AttributeError):
        kit.check_of_something_unknown  # noqa: B018


def test_names_of_checks_are_unique_and_each_says_what_the_contract_wants() -> None:
    checks = all_checks()
    assert len({found.name for found in checks}) == len(checks)
    assert all(found.contract for found in checks)


def test_a_failure_is_an_assertion_error_that_says_what_is_wanted_and_what_was_seen() -> None:
    with pytest.raises(AssertionError) as caught:
        kit.check_read_of_nothing(Unreliable)
    assert isinstance(caught.value, ConformanceFailure)
    assert caught.value.check == "read_of_nothing"
    assert str(caught.value) == (
        "read_of_nothing: `read` of nothing raises `NotFoundError`: absence is not an empty note; "
        "but read('missing.md') returned 'something else'"
    )


def test_a_failure_survives_pickling() -> None:
    copy = pickle.loads(pickle.dumps(ConformanceFailure("name", "detail")))
    assert (type(copy), copy.check, copy.detail) == (ConformanceFailure, "name", "detail")


def test_a_store_that_cannot_be_opened_is_a_failure_with_the_reason() -> None:
    def refuses(scratch):
        raise ConnectionError("no such host")

    with pytest.raises(ConformanceFailure, match="the backend raised the untyped ConnectionError: no such host"):
        kit.check_read_of_nothing(refuses)


def test_a_check_that_does_not_apply_says_why() -> None:
    with pytest.raises(NotApplicable, match="does not declare device_files"):
        kit.check_device_path(IN_MEMORY)


def test_a_report_has_one_result_for_each_check_in_order() -> None:
    seen = []
    report = run(Unreliable, only=("read_of_nothing", "resolve", "device_path"), on_result=seen.append)
    assert list(report.results) == seen
    assert [(result.check.name, result.outcome) for result in seen] == [
        ("resolve", "passed"),
        ("read_of_nothing", "failed"),
        ("device_path", "skipped"),
    ]
    assert not report.ok
    assert str(report).splitlines()[0].startswith("failed  reading/read_of_nothing: `read` of nothing")
    assert str(report).splitlines()[-1] == "1 passed, 1 failed, 1 skipped"


def test_what_fails_in_many_checks_for_one_reason_is_said_once_and_first() -> None:
    report = run(CannotConnect, only=("reading", "deleting", "resolve"))
    first, *others = str(report).splitlines()
    assert re.match(
        r"failed  \d\d checks for one reason: the backend raised the untyped ConnectionError: no one", first
    )
    assert "in declaring/resolve, reading/read_of_nothing, " in first
    assert len(others) == 1, "and nothing but the counts"


def test_a_store_with_a_size_limit_of_its_own_is_held_to_that_one() -> None:
    report = run(Small, only=("content", "killed_writer_tears_nothing", "whole_reads", "file_over_the_limit"))
    assert report.ok, report
    assert not [result for result in report.having("skipped") if "limit" in result.check.name]


def test_a_run_can_be_limited_to_groups_and_checks_and_refuses_unknown_names() -> None:
    report = run(IN_MEMORY, only=("listing", "resolve"))
    assert {result.check.group for result in report.results} == {"listing", "declaring"}
    assert report.ok
    with pytest.raises(ValueError, match="no check and no group of checks is called reeding"):
        run(IN_MEMORY, only=("reeding",))


def test_a_plugin_may_bring_checks_of_its_own() -> None:
    @check("mine")
    def check_mine(bench: Bench) -> None:
        """Something only this plugin promises."""
        raise Violation("it does not")

    report = run(IN_MEMORY, checks=(*all_checks(), check_mine), only=("mine",))
    assert [result.detail for result in report.results] == ["Something only this plugin promises; but it does not"]


# ------------------------------------------------------------------------------------------------ processes


@pytest.mark.parametrize(
    "factory", [FileStore, open_here, OpensBelow("deeper")], ids=["class", "function", "instance"]
)
def test_other_processes_open_the_store_with_the_author_s_factory(factory) -> None:
    kit.check_another_process_reads(factory)


def test_a_factory_in_a_script_works_without_running_the_script_again(tmp_path) -> None:
    script = tmp_path / "try_it.py"
    script.write_text(
        "from agentm_devkit.conformance import run\n"
        "from agentm_kernel.files.store import FileStore\n"
        "def open_store(scratch):\n    return FileStore(scratch)\n"
        "if __name__ == '__main__':\n    print(run(open_store, only=('another_process_reads',)))\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == ("1 passed, 0 failed, 0 skipped\n", "")


def test_a_factory_that_no_process_can_import_is_a_failure_that_says_so() -> None:
    with pytest.raises(ConformanceFailure, match="not a lambda or a local function"):
        kit.check_another_process_reads(lambda scratch: FileStore(scratch))


def test_what_a_backend_prints_in_another_process_is_not_taken_for_an_answer() -> None:
    kit.check_another_process_reads(Prints)


def _sleep(child) -> None:
    time.sleep(60)


def _die(child) -> None:
    print("out of order", file=sys.stderr, flush=True)
    os._exit(7)


def _raise(child) -> None:
    child.store.read(Locator("missing.md"))


@pytest.mark.parametrize(
    ("task", "said"),
    [
        (_sleep, "a process hung: it was still busy after 0.3 s"),
        (_die, "a process ended with status 7: out of order"),
        (_raise, "in another process, the backend raised NotFoundError: 'missing.md' does not exist"),
    ],
)
def test_a_process_that_hangs_dies_or_fails_is_reported_as_such(task, said: str) -> None:
    with Bench(Subject(FileStore)) as bench, pytest.raises(Violation, match=said):
        bench.run(task, limit=0.3)


def test_neither_files_nor_processes_stay_behind(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with Bench(Subject(FileStore)) as bench:
        bench.store.write(Locator("a/b.md"), "text")
        process = bench.start(_sleep)
        process.go()
    assert process._process.poll() is not None
    assert list(tmp_path.iterdir()) == []


def test_what_a_backend_prints_at_import_is_seen_though_nothing_flushes_it_at_exit(monkeypatch) -> None:
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    program = (
        "from broken_backends.hurried import Hurried\n"
        "from agentm_devkit.conformance import run\n"
        "print(run(Hurried, only=('import_is_silent',)), flush=True)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=os.path.dirname(__file__),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "but it printed 'hurried backend loaded\\n'" in done.stdout


# ------------------------------------------------------------------------------------------------ pytest


def run_pytest(folder, text: str) -> str:
    (folder / "test_mine.py").write_text(text)
    command = [sys.executable, "-m", "pytest", "-rsf", "-p", "no:cacheprovider", "--rootdir", folder]
    # Under CI pytest repeats every message in its summary; the output compared here is what an author sees at home.
    home = {name: value for name, value in os.environ.items() if name not in {"CI", "BUILD_NUMBER"}}
    done = subprocess.run(command, cwd=folder, env=home, capture_output=True, text=True, timeout=60, check=False)
    return done.stdout


def test_an_author_gets_one_pytest_test_for_each_check_from_five_lines(tmp_path) -> None:
    output = run_pytest(
        tmp_path,
        "from agentm_devkit.conformance.pytest_suite import conformance_tests\n"
        "from agentm_kernel.files.store import FileStore\n"
        "def open_store(scratch):\n    return FileStore(scratch)\n"
        "test_store = conformance_tests(open_store, only=('another_process_reads', 'deleting'))\n",
    )
    assert "the backend declares delete" in output
    assert "6 passed, 1 skipped" in output


def test_a_failing_check_is_a_failing_test_with_the_sentence(tmp_path) -> None:
    output = run_pytest(
        tmp_path,
        "from agentm_devkit.conformance.memory import MemoryBackend\n"
        "from agentm_devkit.conformance.pytest_suite import conformance_tests\n"
        "class Broken(MemoryBackend):\n"
        "    def __init__(self, scratch):\n        super().__init__()\n"
        "    def describe(self):\n        return ''\n"
        "test_store = conformance_tests(Broken, only=('describe', 'resolve'))\n",
    )
    assert "FAILED test_mine.py::test_store[declaring-describe]" in output
    assert "`describe` says in one line of text where the store is; but it gave ''" in output
    assert "1 failed, 1 passed" in output


def test_the_author_is_shown_his_own_lines_and_none_of_the_kit_s(tmp_path) -> None:
    output = run_pytest(
        tmp_path,
        "from agentm_devkit.conformance.pytest_suite import conformance_tests\n"
        "from agentm_kernel.plugin import FileStore\n"
        "class Broken(FileStore):\n"
        "    def info(self, locator):\n        return self.row(locator)\n"
        "    def row(self, locator):\n        raise KeyError(locator.key)\n"
        "test_store = conformance_tests(Broken, only=('info_kind', 'info_of_nothing', 'info_size'))\n",
    )
    assert "in row\n    raise KeyError(locator.key)" in output
    assert "raised the untyped KeyError: 'missing.md'\nat checks/reading.py:" in output
    assert "agentm_devkit" not in output.replace("agentm_devkit.conformance.pytest_suite", "")
    assert output.count("for the same reason as info_of_nothing: ") == 2


def test_the_subject_may_come_from_a_fixture(tmp_path) -> None:
    output = run_pytest(
        tmp_path,
        "import pytest\n"
        "from agentm_devkit.conformance.pytest_suite import conformance_tests\n"
        "from agentm_kernel.files.store import FileStore\n"
        "@pytest.fixture\ndef server():\n    return FileStore\n"
        "test_store = conformance_tests('server', only=('resolve',))\n",
    )
    assert "1 passed" in output


def test_the_kit_needs_no_pytest() -> None:
    code = (
        "import sys; from agentm_devkit.conformance import all_checks; all_checks(); print('pytest' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "False\n"
