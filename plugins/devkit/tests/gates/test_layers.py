from __future__ import annotations

import pytest

from agentm_devkit.gates.layers import LAYERS


def kernel(module: str, text: str) -> dict[str, str]:
    return {f"kernel/agentm_kernel/{module}.py": f"{text}\n"}


@pytest.mark.parametrize(
    ("module", "statement"),
    [
        ("errors", "from agentm_kernel.seam.locator import Locator"),
        ("seam/locator", "from agentm_kernel.files.tree import open_root"),
        ("seam/locator", "import agentm_kernel.files.tree"),
        ("seam/locator", "from ..files import tree"),
        ("seam/locator", "from agentm_kernel import files"),
        ("seam/locator", "def late():\n    from agentm_kernel.state import routing"),
        ("files/store", "__import__('agentm_kernel.device.config')"),
        ("state/routing", "__import__(f'agentm_kernel.cli.{name}')"),
        ("device/config", "from agentm_kernel.plugins import load"),
        ("state/routing", "import agentm_kernel.process_seam"),
        ("here", "import agentm_kernel.process_seam"),
        ("process_seam", "import agentm_kernel.cli.main"),
    ],
)
def test_no_room_imports_a_later_one(rules, module, statement):
    assert rules(kernel(module, statement)) == ["layer-order"]


@pytest.mark.parametrize(
    ("module", "statement"),
    [
        ("seam/update", "from agentm_kernel.errors import AgentmError"),
        ("seam/update", "from agentm_kernel.seam.locator import Locator"),
        ("seam/update", "from . import locator"),
        ("seam/update", "from ..errors import AgentmError"),
        ("plugins/load", "import agentm_kernel.device.config"),
        ("plugins/load", "__import__(f'{__name__}.{name}')"),
        ("plugins/load", "from agentm_kernel import __version__, seam"),
        ("cli/main", "from agentm_kernel.here import select_backend"),
        ("cli/main", "from agentm_kernel import select_backend"),
        ("cli/main", "__import__(f'agentm_kernel.{target}')"),
        ("__main__", "from agentm_kernel.cli.main import main"),
        ("__init__", "__import__(f'agentm_kernel.{home}')"),
        ("process_seam", 'if __name__ == "__main__":\n    from agentm_kernel.cli.main import main'),
    ],
)
def test_every_room_may_import_itself_and_the_earlier_ones(rules, module, statement):
    assert rules(kernel(module, statement)) == []


@pytest.mark.parametrize(
    "statement",
    ["import agentm_kernel", "from agentm_kernel import Locator", "__import__(f'agentm_kernel.{home}')"],
)
def test_the_package_door_does_not_hide_which_room_is_meant(rules, statement):
    assert rules(kernel("state/routing", statement)) == ["layer-order"]


LATER = "from agentm_kernel.device.installed import PluginRecord"


@pytest.mark.parametrize(
    "text",
    [
        f"TYPE_CHECKING = False\nif TYPE_CHECKING:\n    {LATER}",
        f"from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    {LATER}",
        f"import typing\nif typing.TYPE_CHECKING: {LATER}",
        f"TYPE_CHECKING = False\nclass Place:\n    if TYPE_CHECKING:\n        {LATER}",
    ],
)
def test_a_later_room_may_be_named_for_type_checkers(rules, text):
    assert rules(kernel("seam/locator", text)) == []


@pytest.mark.parametrize(
    "text",
    [
        f"TYPE_CHECKING = False\nif TYPE_CHECKING:\n    pass\n{LATER}",
        f"TYPE_CHECKING = False\nif TYPE_CHECKING:\n    pass\nelse:\n    {LATER}",
        f"TYPE_CHECKING = False\nif not TYPE_CHECKING:\n    {LATER}",
        f"TYPE_CHECKING = False\nTYPE_CHECKING = True\nif TYPE_CHECKING:\n    {LATER}",
        f"TYPE_CHECKING = find()\nif TYPE_CHECKING:\n    {LATER}",
        f"if TYPE_CHECKING:\n    {LATER}",
        f"TYPE_CHECKING = False\nif late:\n    {LATER}",
        f"def late():\n    {LATER}",
    ],
)
def test_what_can_run_is_not_for_type_checkers(rules, text):
    assert rules(kernel("seam/locator", text)) == ["layer-order"]


def test_a_new_room_has_to_find_its_place(rules):
    assert rules(kernel("attic/boxes", "") | kernel("seam/locator", "")) == ["layer-order"] * 2


def test_what_comes_after_the_program_block_counts_again(rules):
    text = "if __name__ == '__main__':\n    import agentm_kernel.cli\nimport agentm_kernel.cli"

    assert rules(kernel("process_seam", text)) == ["layer-order"]


def test_the_order_is_the_documented_one():
    floor_up = [room for rooms in LAYERS for room in rooms]

    assert floor_up == [
        "errors", "seam", "files", "device", "plugins", "selection", "projects", "state", "here", "process_seam",
        "cli", "__main__",
    ]  # fmt: skip
