"""Loading: whatever a plugin does wrong is a PluginError that names it."""

from __future__ import annotations

import errno
import sys
import time
from typing import TYPE_CHECKING

import pytest

from agentm_kernel import plugins
from agentm_kernel.device.installed import scan
from agentm_kernel.plugin import API_VERSION, PluginError, StorageBackend, StorageIOError
from agentm_kernel.plugins import without_it, wrong_answer
from agentm_kernel.plugins.table import load, load_backend

if TYPE_CHECKING:
    from tests.kernel.conftest import Site

    from agentm_kernel.device.installed import PluginRecord

GOOD = """
from agentm_kernel.files.store import FileStore
class Store(FileStore):
    'A folder.'
"""


pytestmark = pytest.mark.usefixtures("importable")


def installed(site: Site, source: str, **how: str) -> PluginRecord:
    site.install_plugin("mem", source, **how)
    (record,) = scan([str(site.path)]).records
    return record


def refusal_of(record: PluginRecord) -> str:
    with pytest.raises(PluginError) as refused:
        load_backend(record)
    is_of_other_api = "of the kernel's API" in refused.value.message
    remedy = "--upgrade agentm-kernel agentm-mem" if is_of_other_api else "plugin_policy.disabled agentm-mem"
    assert remedy in str(refused.value.hint)
    return refused.value.message


def test_a_good_backend_is_its_class(site: Site) -> None:
    backend = load_backend(installed(site, GOOD))

    assert issubclass(backend, StorageBackend)
    assert backend.__name__ == "Store"


def test_a_module_is_loaded_where_no_attribute_is_named(site: Site) -> None:
    assert load(installed(site, "answer = 42", attribute="")) is sys.modules["plugin_mem"]


def test_attributes_of_attributes_and_extras_are_understood(site: Site) -> None:
    source = "class Outer:\n    inner = 42\n"

    assert load(installed(site, source, attribute=" Outer.inner [fast, slow]")) == 42


def test_submodules_are_imported_by_their_full_name(site: Site) -> None:
    site.install(
        "agentm-mem",
        entry_points="[agentm.backends]\nmem = pack.deep.module:answer\n",
        modules={"pack/__init__.py": "", "pack/deep/__init__.py": "", "pack/deep/module.py": "answer = 42"},
    )

    assert load(scan([str(site.path)]).records[0]) == 42


REFUSALS = {
    "an exception": ("raise ValueError('no luck')", "cannot be loaded: ValueError: no luck"),
    "a missing dependency": (
        "import not_there",
        "cannot be loaded: ModuleNotFoundError: No module named 'not_there'",
    ),
    "a syntax error": ("def :", "cannot be loaded: SyntaxError: invalid syntax"),
    "sys.exit": ("import sys; sys.exit(3)", "cannot be loaded: it called sys.exit(3)"),
    "sys.exit with a text": ("import sys; sys.exit('bye')", "cannot be loaded: it called sys.exit('bye')"),
    "a missing attribute": ("", "cannot be loaded: AttributeError: module 'plugin_mem' has no attribute 'Store'"),
    "not a class": ("Store = 42", "is not a class: plugin_mem:Store is of type int"),
    "a class of another kind": (
        "class Store: pass",
        "is not a backend: plugin_mem:Store does not derive from StorageBackend",
    ),
    "the contract itself": (
        "from agentm_kernel.plugin import StorageBackend as Store",
        "is not a backend: plugin_mem:Store does not derive from StorageBackend",
    ),
    "an abstract class": (
        "from agentm_kernel.plugin import StorageBackend as S\nclass Store(S):\n    def read(self, locator): ...",
        "is abstract: plugin_mem:Store lacks capabilities, exists, info, list, mkdir, write",
    ),
    "a newer API": (
        GOOD + "    api_version = 99",
        f"was built for version 99 of the kernel's API; this kernel speaks {API_VERSION}",
    ),
    "an older API": (
        GOOD + "    api_version = 0",
        f"was built for version 0 of the kernel's API; this kernel speaks {API_VERSION}",
    ),
    "an API that is not a number": (GOOD + "    api_version = '1'", "was built for version '1' of the kernel's API"),
    "an exception that cannot be shown": (
        "class Odd(Exception):\n    def __str__(self): raise RuntimeError\nraise Odd",
        "cannot be loaded: Odd: (no text)",
    ),
}


@pytest.mark.parametrize(("source", "reason"), REFUSALS.values(), ids=REFUSALS.keys())
def test_a_plugin_is_refused_with_its_name_and_the_reason(site: Site, source: str, reason: str) -> None:
    message = refusal_of(installed(site, source))

    assert message.startswith(f"the backend 'mem' of agentm-mem 1.0 {reason}")


@pytest.mark.parametrize("value", ["", ":", "no module", ".m:A", "m:A.", "m-x:A", "m:1", "../evil:A"])
def test_a_value_that_is_not_a_reference_is_refused(site: Site, value: str) -> None:
    site.install("agentm-mem", entry_points=f"[agentm.backends]\nmem = {value}\n")

    message = refusal_of(scan([str(site.path)]).records[0])

    assert "is not of the form module:attribute" in message


def test_what_the_plugin_raised_is_the_cause(site: Site) -> None:
    record = installed(site, "raise ValueError('no luck')")

    with pytest.raises(PluginError) as refused:
        load(record)

    assert isinstance(refused.value.__cause__, ValueError)


def test_ctrl_c_during_an_import_is_not_the_plugins_failure(site: Site) -> None:
    record = installed(site, "raise KeyboardInterrupt")

    with pytest.raises(KeyboardInterrupt):
        load(record)


def test_an_api_version_declared_in_metadata_is_checked_before_the_import(site: Site) -> None:
    site.install(
        "agentm-mem",
        entry_points="[agentm.backends]\nmem = plugin_mem:Store\n[agentm.api]\n98 = plugin_mem\n99 = plugin_mem\n",
        modules={"plugin_mem.py": "raise ImportError('cannot import name from agentm_kernel')"},
    )

    message = refusal_of(scan([str(site.path)]).records[0])

    assert "was built for version 98 or 99 of the kernel's API; this kernel speaks 1" in message
    assert "plugin_mem" not in sys.modules


def test_one_declared_api_version_that_is_spoken_is_enough(site: Site) -> None:
    site.install(
        "agentm-mem",
        entry_points=f"[agentm.backends]\nmem = plugin_mem:Store\n[agentm.api]\n{API_VERSION} = m\n99 = m\nx = m\n",
        modules={"plugin_mem.py": GOOD},
    )

    assert load_backend(scan([str(site.path)]).records[0]).__name__ == "Store"


def test_loading_one_plugin_imports_no_other(site: Site) -> None:
    record = installed(site, GOOD)
    site.install_plugin("broken", "raise SystemExit(3)")

    load_backend(record)

    assert "plugin_broken" not in sys.modules


def test_loading_an_entry_point_does_not_register_it(site: Site) -> None:
    from agentm_kernel.plugin import registry

    load_backend(installed(site, GOOD))

    assert "mem" not in registry


def test_who_failed_is_named_by_its_distribution_in_what_to_do() -> None:
    error = wrong_answer("backend 'mem' of agentm-mem 1.0", "read", None, "str")
    assert error.hint is not None
    assert error.hint.startswith(f"{without_it('agentm-mem')}; ")
    error = wrong_answer("backend 'mem'", "read", None, "str")
    assert error.hint is not None
    assert error.hint.startswith(f"{without_it('it')}; "), "one that no distribution brought"


def test_what_is_late_shares_the_time_that_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    class Late:
        def acquire(self, timeout: float) -> bool:
            waited.append(timeout)
            return False

    waited: list[float] = []
    monkeypatch.setattr(plugins, "_late", [Late(), Late()])
    plugins.wait_for_late(-1.0)
    assert waited == [0.0, 0.0]


def test_what_was_left_behind_as_late_is_among_what_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []

    def work() -> None:
        time.sleep(0.5)
        done.append("late")

    monkeypatch.setattr(plugins, "_late", [])
    with pytest.raises(PluginError, match="is late"):
        plugins.in_time(work, 0.01)
    assert done == []
    plugins.wait_for_late(60.0)
    assert done == ["late"]


def test_who_is_being_called_is_known_for_as_long_as_it_takes() -> None:
    before = [*plugins.active]

    def fail_after_help() -> None:
        with plugins.Call("plugin 'a'", "work"):
            with plugins.Call("plugin 'b'", "help"):
                assert plugins.active == [*before, ("plugin 'a'", "work"), ("plugin 'b'", "help")]
            assert plugins.active == [*before, ("plugin 'a'", "work")]
            raise RuntimeError

    with pytest.raises(PluginError):
        fail_after_help()
    assert plugins.active == before


def test_a_failure_of_the_medium_keeps_its_number() -> None:
    def fill() -> None:
        with plugins.Call("backend 'mem'", "write"):
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(StorageIOError, match="backend 'mem' failed in write") as caught:
        fill()
    assert caught.value.errno == errno.ENOSPC
    assert caught.value.hint == "check the medium that the store lies on"
