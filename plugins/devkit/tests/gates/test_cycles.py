from __future__ import annotations

import pytest


def kernel(**modules: str) -> dict[str, str]:
    """Modules of one room, by name."""
    return {f"kernel/agentm_kernel/seam/{name}.py": f"{text}\n" for name, text in modules.items()}


@pytest.mark.parametrize(
    "way_back",
    [
        "from agentm_kernel.seam.a import x",
        "import agentm_kernel.seam.a",
        "from agentm_kernel.seam import a",
        "from . import a",
        "from .a import x",
        "def late():\n    from agentm_kernel.seam.a import x",
        "class C:\n    def late(self):\n        from .a import x",
        "__import__('agentm_kernel.seam.a')",
        "if sys.platform == 'win32':\n    from agentm_kernel.seam.a import x",
    ],
)
def test_no_two_modules_import_each_other_not_even_late(rules, way_back):
    assert rules(kernel(a="from agentm_kernel.seam.b import y", b=way_back)) == ["import-cycle"]


def test_a_cycle_may_be_long(judge):
    report = judge(
        kernel(
            a="\nfrom agentm_kernel.seam.b import y",
            b="from agentm_kernel.seam.c import z",
            c="def late():\n    from agentm_kernel.seam.a import x",
        )
    )

    (finding,) = report.findings
    assert (finding.rule, finding.line) == ("import-cycle", 2)
    assert "seam/a.py" in finding.file
    assert "seam.a → agentm_kernel.seam.b → agentm_kernel.seam.c → agentm_kernel.seam.a: move" in finding.sentence


def test_each_knot_of_modules_is_told_once(rules):
    both_ways = {
        "a": "from .b import x\nfrom .c import x",
        "b": "from .a import x\nfrom .c import x",
        "c": "from .a import x\nfrom .b import x",
    }

    assert rules(kernel(**both_ways, d="from .e import x", e="from .d import x")) == ["import-cycle"] * 2


@pytest.mark.parametrize(
    "way_back",
    [
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from agentm_kernel.seam.a import x",
        "TYPE_CHECKING = False\nif TYPE_CHECKING:\n    from agentm_kernel.seam.a import x",
        "if __name__ == '__main__':\n    from agentm_kernel.seam.a import x",
        "from agentm_kernel.seam.c import x",
        "import agentm_kernel.seam.b",
    ],
)
def test_what_leads_back_to_nobody_is_no_cycle(rules, way_back):
    assert rules(kernel(a="from agentm_kernel.seam.b import y", b=way_back, c="")) == []


HANDS_ON = "def __getattr__(name):\n    return getattr(__import__('agentm_kernel.seam.{}'), name)"


def test_a_package_may_hand_on_the_names_of_its_own_modules(rules):
    modules = kernel(**{"a/__init__": HANDS_ON.format("a.b"), "a/b": "from agentm_kernel.seam.a import x"})

    assert rules(modules) == []


@pytest.mark.parametrize(
    "way",
    [
        HANDS_ON.format("b"),
        "class C:\n    def __getattr__(self, name):\n        __import__('agentm_kernel.seam.a.b')",
    ],
)
def test_nobody_else_may(rules, way):
    modules = kernel(**{"a/__init__": way, "a/b": "from agentm_kernel.seam.a import x", "b": "from .a import x"})

    assert rules(modules) == ["import-cycle"]


def test_a_module_that_two_share_is_no_cycle(rules):
    assert (
        rules(kernel(a="from .b import x\nfrom .c import x", b="from .d import x", c="from .d import x", d="")) == []
    )


def test_plugins_are_not_held_to_it(rules):
    tree = {
        "src/agentm_one/a.py": "from agentm_one.b import x\n",
        "src/agentm_one/b.py": "def late():\n    import agentm_one.a\n",
    }

    assert rules(tree) == []
