"""What importing costs and does: each module alone, silent, and the hot ones without what hooks cannot pay for."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

# Each module is imported in a process of its own. Forking one is cheaper than starting one, and what most of them
# import that is not ours is loaded before: none of ours is.
IMPORT_EACH_ALONE = """
import os, sys, traceback
import click, concurrent.futures, ctypes, dataclasses, importlib.metadata, json
import pathlib, pluggy, pydantic, subprocess, tempfile, urllib.request
for name in sys.argv[1:]:
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        try:
            __import__(name)
        except BaseException:
            sys.stderr.write(f"{name}\\n{traceback.format_exc()}")
        sys.stdout.flush()  # `_exit` drops what is still in the buffers
        sys.stderr.flush()
        os._exit(0)
    os.waitpid(child, 0)
"""

SHOW_NEW_MODULES = """
import sys
before = set(sys.modules)
__import__(sys.argv[1])
new = sorted(set(sys.modules) - before)
import json
print(json.dumps(new))
"""

HEAVY = frozenset(
    {
        "click",
        "collections",
        "contextlib",
        "dataclasses",
        "datetime",
        "enum",
        "filelock",
        "functools",
        "hashlib",
        "importlib.metadata",
        "json",
        "logging",
        "operator",
        "pathlib",
        "platformdirs",
        "pluggy",
        "re",
        "sqlite3",
        "subprocess",
        "types",
        "typing",
    }
)
"""Each of these costs a hook more than the whole of its own work."""

HOT = (
    "agentm_checkpoint.session",
    "agentm_device_local.backend",
    "agentm_hosts.adapters.claude_code",
    "agentm_hosts.ledger",
    "agentm_hosts.prompts",
    "agentm_hosts.receipt",
    "agentm_kernel.errors",
    "agentm_kernel.files.store",
    "agentm_kernel.seam.backend",
    "agentm_kernel.seam.content",
    "agentm_kernel.seam.locator",
    "agentm_kernel.seam.registry",
    "agentm_kernel.seam.update",
    "agentm_kernel.seam",
    "agentm_kernel.files.atomic",
    "agentm_kernel.files.mutex",
    "agentm_obsidian_vault.backend",
    "agentm_recall.index.search",
    "agentm_recall.phases",
    "agentm_recall.prompting",
)


def run(*arguments: str, seconds: float = 120) -> subprocess.CompletedProcess[str]:
    """Python as users have it: with PYTHONUNBUFFERED one would also see what nothing flushes."""
    command = [sys.executable, "-W", "error", *arguments]
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=seconds, env=environ)


@pytest.mark.timeout(600)  # hundreds of modules, and some bring a framework of somebody else's
def test_every_module_imports_alone_in_silence(shipped_files):
    result = run("-c", IMPORT_EACH_ALONE, *shipped_files, seconds=500)

    assert (result.stdout, result.stderr, result.returncode) == ("", "", 0)


@pytest.mark.parametrize(
    "source", ["import nothing_of_the_kind", "print('hello')", "import warnings; warnings.warn('old')"]
)
def test_the_check_for_silence_can_fail(tmp_path, source):
    (tmp_path / "noisy.py").write_text(source)

    result = run("-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r}){IMPORT_EACH_ALONE}", "noisy")

    assert result.stdout + result.stderr != ""


def test_the_package_itself_loads_nothing_at_all():
    result = run("-c", SHOW_NEW_MODULES, "agentm_kernel")

    assert set(json.loads(result.stdout)) == {"__future__", "agentm_kernel"}


@pytest.mark.parametrize("module", HOT)
def test_a_hot_module_loads_nothing_heavy(module):
    result = run("-c", SHOW_NEW_MODULES, module)

    assert HEAVY.intersection(json.loads(result.stdout)) == set()
