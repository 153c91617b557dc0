from __future__ import annotations

import pytest

KERNEL_FILE = "kernel/agentm_kernel/cli/routing.py"
PLUGIN_FILE = "plugins/one/src/agentm_one/backend.py"


@pytest.mark.parametrize(
    "statement",
    [
        "import agentm_vault",
        "import agentm_vault.backend as b",
        "from agentm_vault import backend",
        "def late():\n    from agentm_vault.backend import VaultBackend",
        "if False:\n    import agentm_vault",
        "import importlib\nimportlib.import_module('agentm_vault')",
        "import importlib as i\ni.import_module('agentm_vault.backend')",
        "from importlib import import_module as get\nget('agentm_vault')",
        "__import__('agentm_vault')",
        "import builtins\nbuiltins.__import__('agentm_vault')",
        "import importlib\nimportlib.import_module(name='agentm_vault')",
        "import importlib\nimportlib.import_module(f'agentm_{name}')",
        "import importlib\nimportlib.import_module('agentm_' + name)",
        "import importlib\nNAME = 'agentm_vault'\nimportlib.import_module(NAME)",
        "import importlib\nPREFIX = 'agentm_'\nimportlib.import_module(f'{PREFIX}vault')",
        "import importlib.util\nimportlib.util.find_spec('agentm_vault')",
        "import runpy\nrunpy.run_module('agentm_vault')",
        "import pkgutil\npkgutil.resolve_name('agentm_vault:VaultBackend')",
    ],
)
def test_the_kernel_imports_no_plugin_however_it_is_spelled(rules, statement):
    assert rules({KERNEL_FILE: f"{statement}\n"}) == ["kernel-imports-plugin"]


def test_the_loading_room_may_not_name_a_plugin_either(rules):
    assert rules({"kernel/agentm_kernel/plugins/load.py": "__import__('agentm_vault')\n"}) == [
        "kernel-imports-plugin"
    ]


def test_a_plugin_of_any_name_counts_when_it_is_under_check(rules):
    tree = {KERNEL_FILE: "import stickies\n", "src/stickies/backend.py": ""}

    assert "kernel-imports-plugin" in rules(tree)


@pytest.mark.parametrize("call", ["__import__(name)", "__import__(name + '.backend')", "__import__(find())"])
def test_only_the_room_that_loads_what_others_wrote_computes_what_it_imports(rules, call):
    text = f"def load(name):\n    return {call}\n"

    assert rules({KERNEL_FILE: text}) == ["computed-import"]
    assert rules({KERNEL_FILE: "", "kernel/agentm_kernel/plugins/load.py": text}) == []


def test_a_computed_module_of_the_kernel_itself_is_no_plugin(rules):
    assert rules({KERNEL_FILE: "__import__(f'agentm_kernel.cli.{name}')\n__import__(f'{__name__}.{name}')\n"}) == []


def test_a_method_that_happens_to_be_called_import_module_is_no_import(rules):
    assert rules({KERNEL_FILE: "def f(loader):\n    loader.import_module('agentm_vault')\n"}) == []


@pytest.mark.parametrize(
    "statement",
    [
        "from agentm_kernel.device.config_writer import set_value",
        "import agentm_kernel.cli.main",
        "from agentm_kernel import cli",
        "from agentm_kernel.device import installed as scan",
        "from agentm_kernel.seam.locator import _trusted",
        "from agentm_kernel import _HOMES",
        "__import__('agentm_kernel.device.config_writer')",
        "from agentm_kernel.errors import StorageError",
        "from agentm_kernel.seam import Info",
        "from agentm_kernel.files.store import FileStore",
        "import agentm_kernel.process_seam",
        "def late():\n    from agentm_kernel.state import routing",
    ],
)
def test_a_plugin_imports_nothing_private_of_the_kernel(rules, statement):
    assert rules({PLUGIN_FILE: f"{statement}\n"}) == ["plugin-imports-private"]


@pytest.mark.parametrize(
    "statement",
    [
        "import agentm_kernel",
        "from agentm_kernel import Locator, __version__",
        "from agentm_kernel.plugin import StorageError",
        "from agentm_kernel import plugin, command",
        "import agentm_kernel.command",
    ],
)
def test_the_doors_are_free_to_use(rules, statement):
    assert rules({PLUGIN_FILE: f"{statement}\n"}) == []


def test_a_plugin_that_ships_imports_no_devkit(rules):
    assert rules({PLUGIN_FILE: "import agentm_devkit.conformance\n"}) == ["plugin-imports-plugin"]


@pytest.mark.parametrize(
    "statement", ["import agentm_two", "from agentm_two.notes import save", "__import__('agentm_two')"]
)
def test_plugins_do_not_import_each_other(rules, statement):
    assert rules({PLUGIN_FILE: f"{statement}\n"}) == ["plugin-imports-plugin"]


def test_an_adapter_imports_what_agentm_hosts_offers_to_adapters(rules):
    adapter = "from agentm_hosts.adapter import HostAdapter\nfrom agentm_hosts.place import Change\n"

    assert rules({PLUGIN_FILE: adapter}) == []
    assert rules({PLUGIN_FILE: "from agentm_hosts.ledger import note_delivery\n"}) == ["plugin-imports-plugin"]


def test_packages_of_one_distribution_are_one_plugin(rules):
    tree = {
        "plugins/one/pyproject.toml": "",
        PLUGIN_FILE: "import agentm_one.other\nimport helper_of_one\nfrom . import other\n",
        "plugins/one/src/helper_of_one/work.py": "import agentm_one\n",
    }

    assert rules(tree) == []


def test_packages_of_two_distributions_are_two_plugins(rules):
    tree = {
        "plugins/one/pyproject.toml": "",
        "plugins/two/pyproject.toml": "",
        PLUGIN_FILE: "import stickies\n",
        "plugins/two/src/stickies/work.py": "",
    }

    assert rules(tree) == ["plugin-imports-plugin"]
