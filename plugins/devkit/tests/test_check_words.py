"""What `agentm plugins check` runs, passes on and says, without a process: the kit itself is another's matter."""

from __future__ import annotations

import io
import json
import sys
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import click
import pytest
from click.testing import CliRunner

from agentm_devkit import conformance
from agentm_devkit.conformance import LayerSubject, Report, all_checks
from agentm_devkit.conformance.runner import Result
from agentm_devkit.kinds import checking
from agentm_devkit.kinds.checking import checks_of
from agentm_devkit.plugins_check import KINDS, command
from agentm_kernel.plugin import Device, PluginError

if TYPE_CHECKING:
    from collections.abc import Callable

    from click.testing import Result as Done
    from tests.kernel.conftest import Site

STORE = """
from agentm_kernel.plugin import BackendLayer, FileStore, Option
OPTIONS = (Option("code", "text", "a word"), Option("place", "path", "a folder"))
class Store(FileStore):
    scratch_options = {"root": "{scratch}"}
    @classmethod
    def create(cls, options, device, opening):
        SEEN.append(dict(options))
        return cls(options["root"])
SEEN = []
class Layer(BackendLayer):
    changes = ("sync",)
def wrap(backend, options, device, opening): return Layer(backend)
"""
ENTRIES = """
[agentm.backends]
mem = plugin_words:Store
[agentm.wrappers]
rule = plugin_words:wrap
mem = plugin_words:wrap
[agentm.options]
mem = plugin_words:OPTIONS
[agentm.plugins.event]
told = plugin_words
[agentm.plugins.doctor_checks]
told = plugin_words
"""


class Kit:
    """In the place of the conformance kit: keeps what it was given, and answers as it was told to."""

    def __init__(self) -> None:
        self.subjects: list[Any] = []
        self.results: tuple[Result, ...] = ()
        self.began: list[str] = []

    def run(self, subject: Any, *, checks: Any, on_start: Callable[..., None], on_result: Callable[..., None]) -> Any:
        self.subjects.append(subject)
        for check in checks:
            self.began.append(check.name)
            on_start(check)
            on_result(Result(check, "passed"))
        return Report(self.results)


@pytest.fixture
def kit(site: Site, monkeypatch: pytest.MonkeyPatch) -> Kit:
    site.install("agentm-words", entry_points=ENTRIES, modules={"plugin_words.py": STORE})
    monkeypatch.syspath_prepend(site.path)
    monkeypatch.delitem(sys.modules, "plugin_words", raising=False)
    kit = Kit()
    monkeypatch.setattr(conformance, "run", kit.run)
    return kit


@pytest.fixture
def check(site: Site, kit: Kit) -> Callable[..., Done]:
    def run(*arguments: str) -> Done:
        device = Device({"HOME": str(site.home)})
        return CliRunner().invoke(command, arguments, obj=device, standalone_mode=False)

    return run


def refusal(done: Done) -> str:
    """What a call that cannot be understood is told."""
    assert isinstance(done.exception, click.UsageError)
    return done.exception.message


def finding(name: str, outcome: Any, **fields: Any) -> Result:
    one = SimpleNamespace(name=name, group="reading", contract="wanted")
    return Result(one, outcome, **fields)


def test_without_a_name_there_is_nothing_to_check(check: Callable[..., Done]) -> None:
    assert refusal(check()) == "name a plugin, or list the checks with --list"


def test_the_checks_of_stores_are_listed_unless_another_kind_is_named(check: Callable[..., Done], kit: Kit) -> None:
    listed = check("--list")
    assert listed.return_value == 0
    names = [line.split()[0] for line in listed.stdout.splitlines()]
    assert [name for name in names if "/" in name] == [f"{each.group}/{each.name}" for each in all_checks()]
    answer = json.loads(check("--list", "--kind", "tool", "--json").stdout)["checks"]
    wanted = [{"check": one.name, "group": one.group, "contract": one.contract} for one in checks_of("tool")]
    assert answer == wanted
    of_hooks = json.loads(check("told", "--list", "--json").stdout)["checks"]
    assert [one["check"] for one in of_hooks] == [one.name for one in checks_of("hooks")]
    only = json.loads(check("--list", "--only", "deleting", "--json").stdout)["checks"]
    assert {one["group"] for one in only} == {"deleting"}
    assert kit.subjects == [], "listing runs none"


def test_a_check_that_there_is_not_is_refused_with_the_list_of_its_kind(check: Callable[..., Done]) -> None:
    assert refusal(check("--list", "--kind", "tool", "--only", "reading")) == (
        "no check and no group of checks is called reading; `agentm plugins check --kind tool --list` lists them"
    )


def test_a_name_that_several_kinds_have_means_the_store_unless_the_kind_is_said(
    check: Callable[..., Done], kit: Kit
) -> None:
    for arguments, kind in (((), "backend"), (("--kind", "wrapper"), "wrapper")):
        answer = json.loads(check("mem", "--only", "declaring", "--json", *arguments).stdout)
        assert (answer["plugin"], answer["kind"], answer["ok"]) == ("mem", kind, True)
    store, layer = kit.subjects
    assert type(store).__name__ == "Subject"
    assert isinstance(layer, LayerSubject)
    assert layer.changes == ("sync",)
    assert layer.wrap is not None


def test_a_kind_that_has_no_plugin_of_that_name_is_said(check: Callable[..., Done]) -> None:
    for kind in ("tool", "hooks"):
        refused = check("mem", "--kind", kind).exception
        assert isinstance(refused, PluginError)
        assert "mem" in refused.message
        assert "no installed plugin is called" not in refused.message


def test_what_listens_to_several_hooks_is_checked_for_each(
    check: Callable[..., Done], monkeypatch: pytest.MonkeyPatch
) -> None:
    groups: list[str] = []

    def run_checks(checks: Any, record: Any, environ: Any, **_: Any) -> Report:
        groups.append(record.group)
        return Report((finding(record.group, "passed"),))

    monkeypatch.setattr(checking, "run_checks", run_checks)
    answer = json.loads(check("told", "--json").stdout)
    assert groups == ["agentm.plugins.doctor_checks", "agentm.plugins.event"]
    assert [result["check"] for result in answer["results"]] == groups


def test_what_is_passed_on_is_a_secret_unless_it_is_short(
    check: Callable[..., Done], kit: Kit, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("SHORT", "12345"), ("LONG", "123456"), ("KEPT", "not passed on")):
        monkeypatch.setenv(name, value)
    for name in ("mem", "rule"):
        assert check(name, "--only", "declaring", "--env", "SHORT", "--env", "LONG").return_value == 0
    assert [subject.secrets for subject in kit.subjects] == [("123456",), ("123456",)]
    missing = check("mem", "--env", "NONE_OF_IT", "--env", "LONG", "--env", "NOR_THIS")
    assert refusal(missing) == "not set in this environment: NONE_OF_IT, NOR_THIS"


def test_an_option_is_json_unless_it_is_declared_as_text_or_a_path(check: Callable[..., Done], kit: Kit) -> None:
    given = {"code": "007", "place": "1", "number": "3", "word": "plain=text", "flag": "true"}
    pairs = [part for name, value in given.items() for part in ("--option", f"{name}={value}")]
    assert check("mem", "--only", "declaring", *pairs).return_value == 0
    seen = import_module("plugin_words").SEEN[-1]
    assert {name: seen[name] for name in given} == {
        "code": "007",
        "place": "1",
        "number": 3,
        "word": "plain=text",
        "flag": True,
    }


def test_a_plugin_is_tried_in_a_folder_that_says_what_for_and_goes(check: Callable[..., Done], kit: Kit) -> None:
    check("mem", "--only", "declaring")
    place = Path(import_module("plugin_words").SEEN[-1]["root"])
    assert place.name.startswith("agentm-check-")
    assert not place.exists()


def test_only_the_checks_that_were_named_are_run(check: Callable[..., Done], kit: Kit) -> None:
    check("mem", "--only", "deleting", "--only", "exists_of_nothing")
    wanted = [one.name for one in all_checks() if one.group == "deleting" or one.name == "exists_of_nothing"]
    assert kit.began == wanted


def test_a_person_reads_one_reason_once_then_what_is_single_and_what_was_skipped(
    check: Callable[..., Done], kit: Kit
) -> None:
    many = [finding(name, "failed", detail="x; but it is gone", cause="gone", where="s.py:3") for name in "abc"]
    kit.results = (
        *many,
        finding("d", "failed", detail="it failed", cause="other", where="t.py:4"),
        finding("e", "failed", detail="it failed as well", cause="another"),
        finding("f", "warned", detail="it is slow"),
        finding("g", "skipped", detail="it has none"),
        finding("h", "passed"),
    )
    done = check("mem", "--only", "declaring")
    assert done.return_value == 1
    assert done.stdout.splitlines() == [
        "FAIL  3 checks for one reason: it is gone (at s.py:3)",
        "      in reading/a, reading/b, reading/c",
        "FAIL  reading/d: it failed",
        "      at t.py:4",
        "FAIL  reading/e: it failed as well",
        "WARN  reading/f: it is slow",
        "SKIP  reading/g: it has none",
        "mem: 1 passed, 5 failed, 1 skipped, 1 warned",
    ]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("stream", "is_shown"), [(Terminal, True), (io.StringIO, False)])
def test_a_person_who_waits_sees_how_far_it_is_and_at_which_check(
    site: Site, kit: Kit, monkeypatch: pytest.MonkeyPatch, stream: type[io.StringIO], is_shown: bool
) -> None:
    err = stream()
    monkeypatch.setattr(sys, "stderr", err)
    with click.Context(command, obj=Device({"HOME": str(site.home)})).scope():
        assert command.callback is not None
        command.callback("mem", None, (), (), ("deleting",), only_list=False, as_json=False)
    assert ("checking mem" in err.getvalue()) is is_shown
    assert all((name in err.getvalue()) is is_shown for name in kit.began[:1])


@pytest.mark.parametrize("name", ["mem", "told"])
def test_a_check_is_named_while_it_runs(site: Site, kit: Kit, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    err, seen = Terminal(), list[bool]()

    def run(checks: Any, on_start: Callable[..., None], on_result: Callable[..., None]) -> Report:
        for check in checks:
            on_start(check)
            seen.append(check.name in err.getvalue())
            on_result(Result(check, "passed"))
        return Report(())

    monkeypatch.setattr(sys, "stderr", err)
    monkeypatch.setattr(conformance, "run", lambda _, *, checks, **hear: run(checks, **hear))
    monkeypatch.setattr(checking, "run_checks", lambda checks, _, __, **hear: run(checks, **hear))
    with click.Context(command, obj=Device({"HOME": str(site.home)})).scope():
        assert command.callback is not None
        command.callback(name, None, (), (), (), only_list=False, as_json=False)
    assert set(seen) == {True}


def test_a_program_gets_every_result_with_its_milliseconds(check: Callable[..., Done], kit: Kit) -> None:
    kit.results = (finding("d", "failed", detail="it failed", where="t.py:4", seconds=1.23456, cause="c"),)
    done = check("mem", "--only", "declaring", "--json")
    assert done.return_value == 1
    assert json.loads(done.stdout)["results"] == [
        {
            "check": "d",
            "group": "reading",
            "outcome": "failed",
            "detail": "it failed",
            "where": "t.py:4",
            "seconds": 1.235,
        }
    ]


@pytest.mark.parametrize("option", ["root", "=x"])
def test_an_option_has_a_name_and_a_value(check: Callable[..., Done], option: str) -> None:
    assert refusal(check("mem", "--option", option)) == f"--option takes NAME=VALUE, not '{option}'"


def test_options_are_for_stores_and_wrappers_alone(check: Callable[..., Done]) -> None:
    assert check("rule", "--only", "declaring", "--option", "a=b").return_value == 0
    refused = refusal(check("told", "--option", "a=b"))
    assert refused == "--option is for stores and wrappers: told (hooks) is opened with none"


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_checks(check: Callable[..., Done], kind: str) -> None:
    assert json.loads(check("--list", "--kind", kind, "--json").stdout)["checks"]
