"""The entry of the command: exit codes, two lines for a failure, and streams in any condition."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from agentm_kernel import AgentmError
from agentm_kernel.cli import exit_code_of
from agentm_kernel.plugin import ConcurrentModificationError, LockTimeout


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (AgentmError("no"), 1),
        (ConcurrentModificationError("no"), 3),
        (LockTimeout("no"), 4),
        (KeyboardInterrupt(), 130),
        (BrokenPipeError(), 1),
    ],
)
def test_a_failure_has_the_exit_code_of_its_class(error, code, capfd):
    def fail() -> int:
        raise error

    saved = os.dup(1)
    try:
        assert exit_code_of(fail) == code
    finally:
        os.dup2(saved, 1)
        os.close(saved)


def test_a_failure_is_one_line_and_its_hint_another(capfd):
    def fail() -> int:
        raise AgentmError("it\nbroke\x1b[2J", hint="mend\r\nit")

    exit_code_of(fail)

    assert capfd.readouterr().err == "error: it broke\\x1b[2J\nhint: mend  it\n"


def test_what_is_not_expected_is_one_line_and_shown_in_full_on_demand(capsys, monkeypatch):
    assert exit_code_of(lambda: 1 // 0) == 1
    short = capsys.readouterr().err
    monkeypatch.setenv("AGENTM_DEBUG", "1")
    assert exit_code_of(lambda: 1 // 0) == 1

    assert "ZeroDivisionError" in short
    assert "Traceback" not in short
    assert "Traceback" in capsys.readouterr().err


def test_a_hook_command_prints_its_answer_and_nothing_else(machine):
    done = machine.execute("state-path", "plan")

    assert done == (0, f"{machine.harness}/PLAN.md\n", "")


@pytest.mark.parametrize("arguments", [["state-path", "plan", "--plan", "../x"], ["config", "get", "nothing.there"]])
def test_a_hook_command_that_fails_exits_1(machine, arguments):
    assert machine.execute(*arguments).code == 1


@pytest.mark.parametrize("arguments", [["state-path"], ["nothing"], ["state-path", "plan", "--limit"]])
def test_wrong_usage_exits_2_with_a_hint(machine, arguments):
    done = machine.execute(*arguments)

    error, hint = done.err.splitlines()
    assert (done.code, done.out) == (2, "")
    assert error.startswith("error: ")
    assert hint.startswith("hint: run `agentm")


@pytest.mark.parametrize("arguments", [["state"], ["plugins"]])
def test_whoever_names_no_command_is_shown_which_there_are(machine, arguments):
    done = machine.execute(*arguments)

    assert (done.code, done.out) == (2, "")
    assert done.err == machine.execute(*arguments, "--help").out


def test_help_shows_the_commands_of_a_plugin_under_what_it_says_of_itself(machine):
    machine.install(
        "walker", "raise SystemExit('imported')", "[agentm.commands]\nwalk = m:go\nrun = m:go\nstate = m:go\n"
    )
    with (machine.site / "walker-1.0.dist-info" / "METADATA").open("a") as metadata:
        metadata.write("Summary: Legs\x1b[2J for agents\n\nSummary: not this line\n")

    shown = machine.execute("--help").out.partition("Commands of plugins:\n")[2]

    assert " ".join(shown.splitlines()[0].split()) == "run, walk Legs\\x1b[2J for agents (walker 1.0)"


@pytest.mark.parametrize(("word", "meant"), [("docter", "doctor"), ("plugin", "plugins"), ("valt", "vault")])
def test_a_command_that_is_nearly_right_is_said(machine, word, meant):
    done = machine.execute(word, "--json")

    assert done.code == 2
    assert f"hint: did you mean `agentm {meant}`?" in done.err


def test_a_command_of_a_plugin_that_is_not_installed_says_what_to_install(machine):
    done = machine.execute("vault", "init", "notes")

    assert (done.code, done.out) == (2, "")
    assert done.err.splitlines() == [
        "error: the command 'vault' is of a plugin that is not installed",
        "hint: run `pip install agentm-obsidian-vault`",
    ]


def test_a_path_that_the_locale_cannot_express_is_printed_byte_for_byte(machine):
    odd = os.fsencode(machine.folder) + b"/caf\xc3\xa9-\xff"
    os.makedirs(odd + b"/.harness")
    machine.environ["LC_ALL"] = "C"

    with machine.start("state-path", "plan", cwd=odd) as process:
        out = process.stdout.read()

    assert out == odd + b"/.harness/PLAN.md\n"


def test_files_have_the_same_names_in_every_locale(machine):
    """A Latin-1 locale spelled them in Latin-1: what one session wrote under such a name, no other one found."""
    not_utf_8 = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    assert machine.execute("state", "write", "PLAN-größe.md", input="one\n").code == 0
    usual = dict(machine.environ)

    machine.environ |= not_utf_8
    read = machine.execute("state", "read", "PLAN-größe.md", input="")
    written = machine.execute("state", "write", "PLAN-später.md", input="two\n")
    machine.environ.clear()
    machine.environ |= usual

    assert read == (0, "one\n", "")
    assert written.code == 0
    assert machine.execute("state", "list").out.splitlines() == ["PLAN-größe.md", "PLAN-später.md"]


@pytest.mark.parametrize("spoken", ["utf-8", "latin-1"])
@pytest.mark.parametrize("arguments", [["config", "path"], ["config", "path", "--json"], ["store", "show"]])
def test_a_home_whose_name_is_no_text_can_be_printed_in_every_encoding(machine, arguments, spoken):
    """As in most locales, where standard output refuses what it cannot express."""
    odd = os.fsencode(machine.folder) + "/café-".encode() + b"\xff"
    os.mkdir(odd)
    machine.environ |= {"HOME": os.fsdecode(odd), "PYTHONIOENCODING": f"{spoken}:strict"}

    with machine.start(*arguments) as process:
        out, err = process.communicate()

    assert (process.returncode, err) == (0, b"")
    assert (os.fsencode(json.loads(out)["path"]) if "--json" in arguments else out).count(odd)


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX modes")
def test_what_is_made_stays_its_owners_to_read_and_write_whatever_the_umask_is(machine):
    """A folder that nobody may enter was left behind, and every later session failed because of it."""
    made = ["state", "append", "progress.md"]

    done = machine.execute(*made, input="- one\n", preexec_fn=lambda: os.umask(0o777))

    assert done.code == 0
    assert all(path.stat().st_mode & 0o600 == 0o600 for path in [machine.harness, *machine.harness.iterdir()])
    assert machine.harness.stat().st_mode & 0o777 == 0o700


def test_a_reader_that_has_gone_is_no_reason_for_a_traceback(machine):
    reader, writer = os.pipe()
    os.close(reader)
    with machine.start("state-path", "plan", stdout=writer) as process:
        os.close(writer)
        err = process.stderr.read()

    assert (process.returncode, err) == (1, b"")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no device that is always full")
@pytest.mark.parametrize("arguments", [["state-path", "plan"], ["plugins", "list"], ["--help"]])
def test_an_output_that_is_full_is_one_line(machine, arguments):
    with open("/dev/full", "wb") as full:
        done = machine.execute(*arguments, stdout=full)

    assert (done.code, done.err) == (1, "error: the output cannot be written: No space left on device\n")


def test_a_failure_that_is_not_about_the_output_is_not_taken_for_it(capsys):
    def fail() -> int:
        raise PermissionError(13, "no")

    assert exit_code_of(fail) == 1
    assert "output" not in capsys.readouterr().err


@pytest.mark.parametrize("descriptor", [0, 1, 2])
@pytest.mark.parametrize("arguments", [["state-path", "plan"], ["state", "list"]])
def test_closed_streams_are_no_reason_for_a_traceback(machine, descriptor, arguments):
    machine.run("state", "write", "PLAN.md", input="x")

    done = machine.execute(*arguments, preexec_fn=lambda: os.close(descriptor))

    assert (done.code, done.err) == (0, "")


def test_with_all_streams_closed_no_file_becomes_standard_output(machine):
    machine.run("state", "write", "PLAN.md", input="untouched")

    with machine.start("state", "read", "PLAN.md", preexec_fn=lambda: os.closerange(0, 3)) as process:
        assert process.wait(60) == 0

    assert (machine.harness / "PLAN.md").read_text() == "untouched"


@pytest.mark.parametrize("arguments", [["state-path", "plan"], ["state", "list"]])
def test_an_interrupt_is_one_line(machine, arguments):
    machine.install(
        "slow",
        "import time\nfrom agentm_devkit.conformance.stubs import SyncedStub\n"
        "class Store(SyncedStub):\n"
        "    def check_usable(self, *, read_only):\n"
        "        print('ready', flush=True)\n"
        "        time.sleep(60)\n",
        "[agentm.backends]\nslow = plugin_slow:Store\n",
    )
    machine.configure(**{"storage.backend": "slow", "plugins.slow.root": str(machine.store)})

    def heeding_interrupts() -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # whoever runs the tests in the background ignores them

    with machine.start(*arguments, preexec_fn=heeding_interrupts) as process:
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        err = process.stderr.read()

    assert (process.returncode, err.lstrip()) == (130, b"error: interrupted\n")


LISTENER = """
from agentm_kernel.plugin import hookimpl

@hookimpl
def agentm_event(context, name, payload):
    return [f"heard {name}"]
"""

WITHOUT_THREADS = """
import _thread, sys

def none_left(*_):
    raise RuntimeError("can't start new thread")

_thread.start_new_thread = none_left
from agentm_kernel.cli.main import main
sys.exit(main())
"""


@pytest.mark.parametrize(
    "arguments",
    [["state-path", "plan"], ["event", "turn-end"], ["hook", "session-start"], ["project", "register"], ["doctor"]],
)
def test_a_container_that_allows_no_more_threads_has_the_same_answers(machine, arguments):
    machine.install("ear", LISTENER, "[agentm.plugins]\near = plugin_ear\n")
    program = machine.folder / "without_threads.py"
    program.write_text(WITHOUT_THREADS)
    machine.execute("state", "write", "PLAN.md", input="# Plan\n")
    usual = machine.execute(*arguments)

    done = machine.execute(*arguments, program=str(program))

    assert done == usual


@pytest.mark.parametrize("word", ["nothing", "vault"])
def test_completing_behind_a_word_that_is_no_command_fails_nowhere(machine, word):
    machine.environ |= {"_AGENTM_COMPLETE": "bash_complete", "COMP_WORDS": f"agentm {word} ", "COMP_CWORD": "2"}

    done = machine.execute()

    assert (done.code, done.err) == (0, "")


def test_the_server_of_a_plugin_is_started_by_its_name_alone(machine):
    source = "def serve(device):\n    print('serving')\n    return 7\n"
    machine.install("server", source, "[agentm.servers]\nother = m:x\nchat = plugin_server:serve\n")

    assert machine.execute("chat") == (7, "serving\n", "")
    assert machine.execute("chat", "now").code == 2, "it is no command that takes anything"
    assert machine.execute("--version").code == 0


def completions(machine, *words):
    """What a shell would offer for the last of `words`."""
    line = " ".join(words)
    machine.environ |= {"_AGENTM_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    done = machine.execute()
    assert (done.code, done.err) == (0, "")
    return [offer.partition(",")[2] for offer in done.out.splitlines() if offer]


def test_shells_complete_the_names_that_there_are(machine):
    machine.execute("state", "write", "PLAN-ship.md", input="# Ship\n")

    assert completions(machine, "agentm", "plan", "use", "PLAN-s") == ["PLAN-ship.md"]
    assert completions(machine, "agentm", "state", "write", "p") == ["progress.md"]
    assert completions(machine, "agentm", "config", "unset", "state_m") == ["state_mode"]
    assert completions(machine, "agentm", "store", "add", "team", "device") == ["device-local"]
    assert completions(machine, "agentm", "store", "show", "d") == ["default"]


def test_completing_says_nothing_where_the_configuration_is_broken(machine):
    machine.execute("config", "set", "state_mode", "local")
    configuration = machine.execute("config", "path").out.strip()
    Path(configuration).write_text("{")

    assert completions(machine, "agentm", "store", "show", "d") == []
