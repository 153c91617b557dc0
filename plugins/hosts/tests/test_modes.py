"""Modes of what is written for hosts: a host's file keeps its own, and what agentm notes is for this user alone."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from agentm_hosts.files.writing import write_unless_changed
from agentm_hosts.ledger import append

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.skipif(os.name == "nt", reason="there are no modes")


@pytest.fixture(params=[0, 0o027, 0o077], ids=["umask 0", "umask 027", "umask 077"])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def test_a_new_file_has_the_mode_that_the_host_would_give_it(tmp_path: Path, umask: int) -> None:
    file = tmp_path / "settings.json"
    write_unless_changed(str(file), None, "{}")
    assert file.stat().st_mode & 0o7777 == 0o666 & ~umask


@pytest.mark.usefixtures("umask")
@pytest.mark.parametrize("mode", [0o600, 0o644, 0o664, 0o755])
def test_a_file_that_was_there_keeps_its_mode(tmp_path: Path, mode: int) -> None:
    file = tmp_path / "settings.json"
    file.write_text("{}")
    file.chmod(mode)
    write_unless_changed(str(file), "{}", '{"hooks": {}}')
    assert file.stat().st_mode & 0o7777 == mode


@pytest.mark.usefixtures("umask")
def test_what_hooks_did_nobody_else_may_read(tmp_path: Path) -> None:
    append(str(tmp_path / "state"), "claude-code", "a line\n")
    [file] = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700
