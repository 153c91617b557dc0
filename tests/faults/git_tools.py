"""The tools that agentm-git's tests are made of, where the campaigns find them."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "plugins" / "git" / "tests"))

import killing
import racing
from clones import RacingClone, found_store
from forgetful import ForgetfulClone
from git_servers import TRANSPORTS, fill, serving
from trapped_git import MOMENTS

__all__ = [
    "MOMENTS",
    "TRANSPORTS",
    "ForgetfulClone",
    "RacingClone",
    "fill",
    "found_store",
    "killing",
    "racing",
    "serving",
]
