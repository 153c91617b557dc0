"""What earlier versions left is read, and worked on, by these sources; `make wheels` tries it with wheels of 0.1."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

from tests.packaging.installing import SETTINGS, User, find_data
from tests.packaging.left_behind import unpack

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


@pytest.fixture
def user(tmp_path: Path) -> User:
    made = User(tmp_path)
    made.agentm = str(Path(sys.executable).parent / "agentm")
    return made


def test_configuration_store_plan_and_checkpoint_of_0_1_go_on(user: User) -> None:
    unpack("0.1", user)
    before = user.files()

    find_data(user)

    assert not [name for name in before if name.startswith(".agentm/") and name not in user.files()]


def test_history_and_host_entries_of_0_2_go_on(user: User) -> None:
    unpack("0.2", user)
    settings = user.home / ".claude" / "settings.json"

    past = user.run("agentm", "notes", "history", "database")
    user.run("agentm", "notes", "undo", "database")
    (claude,) = json.loads(user.run("agentm", "connect", "claude-code", "--json"))["hosts"]

    assert [word for word in past.split() if word in ("created", "changed")] == ["created", "changed"]
    assert "SQLite" in user.run("agentm", "notes", "show", "database")
    assert "connected" in claude["outcome"]
    assert settings.read_text().count('"session-start"') == 1  # those that were there were known as ours
    user.run("agentm", "disconnect")
    assert settings.read_text() == SETTINGS
    assert not (user.home / ".claude.json").exists()
