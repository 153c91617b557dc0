"""`agentm plugins check`: the conformance kit, let loose on scratch stores only."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.kernel.conftest import Site

STORE = """
from agentm_kernel.plugin import FileStore
class Store(FileStore):
    scratch_options = {"root": "{scratch}"}
"""


def test_check_runs_the_conformance_kit_on_a_scratch_store(site: Site) -> None:
    site.install_plugin("mem", STORE)

    result = site.agentm("plugins", "check", "mem", "--only", "declaring", "--only", "reading")

    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.splitlines()[-1].startswith("mem: ")
    assert " 0 failed" in result.stdout
    assert site.home_files() == []


def test_check_fails_with_what_the_contract_wants_and_what_was_seen(site: Site) -> None:
    site.install_plugin("mem", STORE + "    def exists(self, locator): return True\n")

    failed = site.answer("plugins", "check", "mem", "--only", "exists_of_nothing", code=1)
    shown = site.agentm("plugins", "check", "mem", "--only", "exists_of_nothing")

    (result,) = failed["results"]
    assert (failed["plugin"], failed["kind"], failed["ok"]) == ("mem", "backend", False)
    assert result["outcome"] == "failed"
    assert "`exists` is false for nothing" in result["detail"]
    assert f"FAIL  reading/exists_of_nothing: {result['detail']}" in shown.stdout


def test_check_never_opens_the_real_store(site: Site) -> None:
    """The variable that names it beats every option, so the variable must not get through."""
    real = site.home / "real"
    real.mkdir()
    (real / "note.md").write_text("precious")

    result = site.agentm(
        *("plugins", "check", "device-local", "--only", "writing", "--only", "deleting"),
        AGENTM_DEVICE_LOCAL_ROOT=str(real),
    )

    assert result.returncode == 0, result.stderr
    assert site.home_files() == ["real", "real/note.md"]


def test_check_refuses_a_store_that_holds_something(site: Site) -> None:
    site.install_plugin("mem", STORE)
    (site.home / "note.md").write_text("precious")

    result = site.agentm("plugins", "check", "mem", "--option", f"root={site.home}")

    assert result.returncode == 1
    assert "opened a store that is not empty: it holds 'note.md'" in result.stderr
    assert site.home_files() == ["note.md"]


def test_check_says_which_options_are_missing(site: Site) -> None:
    source = "    def __init__(self, folder): super().__init__(folder, create_root=True)\n"
    site.install_plugin("mem", STORE.replace("scratch_options", "unused") + source)

    result = site.agentm("plugins", "check", "mem")
    fixed = site.agentm("plugins", "check", "mem", "--only", "declaring", "--option", "folder={scratch}/notes")

    assert result.returncode == 1
    assert "cannot open a store in an empty folder: TypeError: " in result.stderr
    assert "--option NAME=VALUE" in result.stderr
    assert fixed.returncode == 0, fixed.stderr


def test_an_option_arrives_as_config_set_would_store_it(site: Site) -> None:
    source = (
        "from agentm_kernel.plugin import Option\n"
        'OPTIONS = (Option("retries", "number", "how often"), Option("code", "text", "a word"))\n'
        + STORE
        + "    @classmethod\n"
        + "    def create(cls, options, device, opening): raise ValueError(sorted(options.items()))\n"
    )
    site.install_plugin("mem", source)
    site.install("declares-mem", entry_points="[agentm.options]\nmem = plugin_mem:OPTIONS\n")

    given = site.agentm("plugins", "check", "mem", "--option", "retries=3", "--option", "code=007")
    refused = site.agentm("plugins", "check", "mem", "--option", "retries=many")

    assert "('code', '007'), ('retries', 3)" in given.stderr
    assert (refused.returncode, refused.stderr.splitlines()[0]) == (
        1,
        "error: plugins.mem.retries is a number, not str",
    )


def test_check_passes_on_only_the_variables_it_is_told_to(site: Site) -> None:
    create = (
        "    @classmethod\n    def create(cls, options, device, opening): raise ValueError(sorted(device.environ))\n"
    )
    site.install_plugin("mem", STORE + create)

    told = site.agentm("plugins", "check", "mem", "--env", "TOKEN", TOKEN="t", OTHER="o")
    missing = site.agentm("plugins", "check", "mem", "--env", "TOKEN")

    assert "ValueError: ['HOME', 'TOKEN', 'XDG_STATE_HOME']" in told.stderr, "and the scratch folder's own"
    assert (missing.returncode, missing.stderr.splitlines()[0]) == (2, "error: not set in this environment: TOKEN")


def test_check_refuses_a_broken_plugin_with_its_reason(site: Site) -> None:
    site.install_plugin("exits", "import sys; sys.exit(3)")
    for distribution in ("one", "two"):
        site.install(distribution, entry_points="[agentm.backends]\ntwice = m:Store\n")

    for name, reason in (("exits", "sys.exit(3)"), ("twice", "is claimed by one 1.0"), ("nothing", "no installed")):
        result = site.agentm("plugins", "check", name)
        error, hint = result.stderr.splitlines()

        assert (result.returncode, result.stdout) == (1, "")
        assert reason in error
        assert hint.startswith("hint: ")


def test_a_name_that_no_plugin_has_is_refused_in_one_line_with_what_was_meant(site: Site) -> None:
    site.install("rule", entry_points="[agentm.wrappers]\nmy-rule = m:wrap\n")

    assert site.agentm("plugins", "check", "nosuch").stderr.splitlines() == [
        "error: no installed plugin is called 'nosuch'",
        "hint: `agentm plugins list` shows them",
    ]
    assert site.agentm("plugins", "check", "my_rule").stderr.splitlines() == [
        "error: no installed plugin is called 'my_rule'",
        "hint: did you mean `agentm plugins check my-rule`? `agentm plugins list` shows them",
    ]


def test_check_lists_every_kind_that_it_can_check(site: Site) -> None:
    explained = site.agentm("plugins", "check", "--help").stdout

    first = explained.partition("Your own store")[0]
    for kind in ("store", "wrapper", "host", "importer", "tool", "command", "hooks"):
        assert kind in first


def test_check_refuses_an_option_that_nothing_would_take(site: Site) -> None:
    site.install("agent", entry_points="[agentm.hosts]\nagent = m:ADAPTER\n")

    result = site.agentm("plugins", "check", "agent", "--option", "a=b")

    assert (result.returncode, result.stdout) == (2, "")
    assert "--option is for stores and wrappers: agent (host) is opened with none" in result.stderr


def test_check_says_each_reason_for_skipping_once(site: Site) -> None:
    site.install_plugin("mem", STORE)
    layering = ("plugins", "check", "mem", "--only", "layering", "--only", "delete_refused")

    shown = site.agentm(*layering).stdout
    results = site.answer(*layering)["results"]

    number = sum(result["detail"] == "this is not a layer" for result in results)
    assert number > 1
    assert shown.count("SKIP") == shown.count("\nSKIP") + 1 == 2
    assert f"SKIP  {number} checks of layering: this is not a layer\n" in shown
    assert "SKIP  deleting/delete_refused: " in shown


def test_check_notices_a_wrapper_that_makes_something_when_it_is_put_around_a_store(site: Site) -> None:
    source = (
        "import os\nfrom agentm_kernel.plugin import BackendLayer, DeviceFiles\n"
        "class Layer(BackendLayer):\n    passes = (DeviceFiles,)\n"
        "def sound(backend, options, device, opening): return Layer(backend)\n"
        "def wrap(backend, options, device, opening):\n"
        "    os.makedirs(opening.state_dir, exist_ok=True)\n    return Layer(backend)\n"
    )
    site.install_plugin("rule", source)
    site.install("rules", entry_points="[agentm.wrappers]\neager = plugin_rule:wrap\nsound = plugin_rule:sound\n")

    eager = site.agentm("plugins", "check", "eager", "--only", "opening_touches_nothing")
    sound = site.agentm("plugins", "check", "sound", "--only", "opening")
    layer = site.answer("plugins", "check", "sound", "--only", "layering")

    assert (eager.returncode, "it did: os.mkdir" in eager.stdout) == (1, True), eager.stdout
    assert (sound.returncode, sound.stdout) == (0, "sound: 3 passed, 0 failed, 0 skipped\n")
    assert "this is not a layer" not in {result["detail"] for result in layer["results"]}
    assert (layer["plugin"], layer["kind"], layer["ok"]) == ("sound", "wrapper", True)


@pytest.mark.parametrize(
    "arguments", [["--only", "nonsense"], ["--option", "root"], ["--option", "=x"]], ids=" ".join
)
def test_check_refuses_arguments_it_cannot_understand(site: Site, arguments: list[str]) -> None:
    site.install_plugin("mem", STORE)

    assert site.agentm("plugins", "check", "mem", *arguments).returncode == 2
