"""What reading may cost and what it may leave behind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import agentm_kernel
from agentm_kernel.device.config import config_places, load
from agentm_kernel.errors import ConfigError
from agentm_kernel.files import user_directory

READER = """
import sys
sys.path.insert(0, sys.argv[1])
before = set(sys.modules)
{work}
print(*sorted(set(sys.modules) - before))
"""

ALLOWED = {
    "__future__",
    "_collections_abc",
    "_json",
    "_stat",
    "errno",
    "gc",
    "genericpath",
    "os",
    "os.path",
    "posixpath",
    "stat",
}


def modules_loaded_by(work: str, environ: dict[str, str]) -> set[str]:
    """What `work` imports in an interpreter that starts with nothing, not even `site`."""
    kernel = str(Path(agentm_kernel.__file__).parent.parent)
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", READER.format(work=work), kernel],
        env=environ,
        capture_output=True,
        text=True,
        check=True,
    )
    return {name for name in done.stdout.split("\n")[-2].split() if not name.startswith("agentm_kernel")}


@pytest.mark.skipif(os.name == "nt", reason="platformdirs is asked there")
@pytest.mark.parametrize("place", ["nowhere", "new", "legacy"])
def test_reading_imports_nothing_that_costs(home, place):
    if place != "nowhere":
        home.write({"storage": {"backend": "vault"}, "plugins.vault.n": 1.5}, legacy=place == "legacy")
    work = "from agentm_kernel.plugin import Device; c = Device.now().config; c.storage_backend; c.options('vault')"
    assert modules_loaded_by(work, home.environ) <= ALLOWED


@pytest.mark.skipif(os.name == "nt", reason="platformdirs is asked there")
def test_config_get_imports_neither_click_nor_json(home):
    home.write({"storage.backend": "vault"})
    work = (
        "sys.argv = ['agentm', 'config', 'get', 'storage.backend']\n"
        "import os; os._exit = sys.exit  # it would leave before we could look\n"
        "from agentm_kernel.cli.main import main\n"
        "try: main()\n"
        "except SystemExit: pass"
    )
    assert modules_loaded_by(work, home.environ) <= ALLOWED


@pytest.mark.parametrize("place", ["nowhere", "new", "legacy", "broken"])
def test_reading_creates_and_changes_nothing(home, place):
    if place != "nowhere":
        home.write("{" if place == "broken" else {"storage.backend": "x"}, legacy=place == "legacy")
    before = home.snapshot()
    config_places(home.environ)
    for kind in ("cache", "state"):
        user_directory(kind, home.environ)
    try:
        load(home.environ).options("vault")
    except ConfigError:
        assert place == "broken"
    assert home.snapshot() == before
