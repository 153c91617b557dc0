from __future__ import annotations

import pytest

PLUGIN_FILE = "src/agentm_example/backend.py"


@pytest.mark.parametrize(
    "expression",
    [
        "backend.device_path(locator)",
        "list(map(backend.device_path, locators))",
        "getattr(backend, 'device_path')(locator)",
        "operator.methodcaller('device_path', locator)",
        "backend.inner.device_path(locator)",
    ],
)
@pytest.mark.parametrize(
    "file", [PLUGIN_FILE, "kernel/agentm_kernel/state/plans.py", "kernel/agentm_kernel/cli/state.py"]
)
def test_nobody_but_routing_asks_for_a_real_path(rules, file, expression):
    text = f"import operator\ndef f(backend, locator, locators):\n    return {expression}\n"

    assert rules({file: text}) == ["device-path-caller"]


@pytest.mark.parametrize(
    "file",
    [
        "kernel/agentm_kernel/state/routing.py",
        "plugins/devkit/src/agentm_devkit/conformance/checks/device_files.py",
    ],
)
def test_routing_and_the_kit_that_tests_it_may(rules, file):
    assert rules({file: "def f(b, locator):\n    return b.device_path(locator)\n"}) == []


def test_a_backend_may_ask_itself(rules):
    assert (
        rules({PLUGIN_FILE: "class Store:\n    def _f(self, locator):\n        return self.device_path(locator)\n"})
        == []
    )


def test_a_layer_may_pass_the_question_on(rules):
    text = (
        "class Layer:\n    def device_path(self, locator) -> str:\n        return self.inner.device_path(locator)\n"
    )

    assert rules({PLUGIN_FILE: text}) == []


FILE_CALLS = [
    "open(name)",
    "os.open(name, 0)",
    "os.replace(name, other)",
    "os.unlink(name)",
    "io.open(name)",
    "shutil.rmtree(name)",
    "tempfile.mkstemp()",
    "Path(name).read_text()",
    "Path(name).write_bytes(b'')",
    "pathlib.Path(name).unlink()",
    "move(name, other)",
]


def calling(expression: str) -> str:
    imports = "import io, os, pathlib, shutil, tempfile\nfrom os import rename as move\nfrom pathlib import Path\n"
    return f"{imports}def f(name, other):\n    return {expression}\n"


@pytest.mark.parametrize("expression", FILE_CALLS)
def test_a_backend_on_the_write_floor_opens_nothing_by_path(rules, expression):
    text = calling(expression) + "from agentm_kernel.plugin import FileStore\nclass Example(FileStore): ...\n"

    assert rules({PLUGIN_FILE: text}) == ["raw-file-access"]


def test_a_name_is_followed_through_the_stub_of_a_door(rules):
    door = {
        "kernel/agentm_kernel/plugin.py": "",
        "kernel/agentm_kernel/plugin.pyi": "from agentm_kernel.files.store import FileStore as Notes\n",
    }
    text = calling("open(name)") + "from agentm_kernel.plugin import Notes\nclass Example(Notes): ...\n"

    assert rules({**door, PLUGIN_FILE: text}) == ["raw-file-access"]


def test_the_store_itself_opens_nothing_by_path(rules):
    assert rules({"kernel/agentm_kernel/files/store.py": calling("os.open(name, 0)")}) == ["raw-file-access"]


def test_but_for_the_walk_in_its_short_form(rules):
    text = calling("os.open(name, 0)").replace("def f(", "def _read_at_a_glance(")

    assert rules({"kernel/agentm_kernel/files/store.py": text}) == []
    assert rules({"kernel/agentm_kernel/files/swap.py": text}) == ["raw-file-access"]


def test_the_confined_walk_and_the_lock_do(rules):
    assert (
        rules({f"kernel/agentm_kernel/files/{name}.py": calling("os.open(name, 0)") for name in ("tree", "mutex")})
        == []
    )


def test_a_module_without_a_file_backend_may_open_files(rules):
    assert rules({PLUGIN_FILE: calling("open(name)")}) == []


def test_verbs_of_an_open_directory_are_not_file_access(rules):
    text = (
        "from agentm_kernel.plugin import FileStore\nclass E(FileStore):\n    def _f(self, d): return d.unlink('x')\n"
    )

    assert rules({PLUGIN_FILE: text}) == []
