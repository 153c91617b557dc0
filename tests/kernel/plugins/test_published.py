"""Which distribution brings what."""

from __future__ import annotations

import pytest

from agentm_kernel.plugins.published import how_to_install, install_command


def test_of_a_stranger_nothing_is_known() -> None:
    assert how_to_install("agentm.backends", "theirs") is None
    assert how_to_install("agentm.recall", "git") is None


@pytest.mark.parametrize(
    ("file", "text", "command"),
    [
        (None, "", "pip install agentm-git"),
        (
            "uv-receipt.toml",
            '[tool]\nrequirements = [{ name = "agentm-memory" }, { name = "agentm-bucket" }]\n',
            "uv tool install agentm-memory --with agentm-bucket --with agentm-git",
        ),
        (
            "pipx_metadata.json",
            '{"main_package": {"package": "agentm-memory"}}',
            "pipx inject agentm-memory agentm-git",
        ),
        ("uv-receipt.toml", "[tool", "pip install agentm-git"),
        ("pipx_metadata.json", "[]", "pip install agentm-git"),
    ],
)
def test_the_command_fits_the_environment(tmp_path, file, text, command):
    if file:
        (tmp_path / file).write_text(text)
    assert install_command("agentm-git", str(tmp_path)) == command
