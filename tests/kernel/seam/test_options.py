"""Options that a plugin does not have."""

from __future__ import annotations

import pytest

from agentm_kernel.plugin import Option, StorageSelectionError, check_options

DECLARED = (Option("path", "path", "where it is"), Option("devices", "list", "computers"))


def test_known_options_may_stand() -> None:
    check_options("vault", ["path"], DECLARED)


def test_the_first_unknown_one_is_refused_with_those_that_there_are_and_the_command_that_removes_it() -> None:
    with pytest.raises(StorageSelectionError) as caught:
        check_options("vault", ["pth", "path", "zzz"], DECLARED)

    assert caught.value.message == "plugins.vault has no option 'pth'; there are path, devices"
    assert caught.value.hint == "run `agentm config unset plugins.vault.pth`"
