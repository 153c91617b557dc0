"""The operator's lists are obeyed before anything is imported."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agentm_kernel import PluginError
from agentm_kernel.device.installed import PluginRecord, find
from agentm_kernel.plugins.policy import refusal

if TYPE_CHECKING:
    from tests.kernel.conftest import Site

RECORD = PluginRecord("agentm.backends", "mem", "m:A", "agentm-my-mem", "1.0", "somewhere")


@pytest.mark.parametrize("name", ["mem", "agentm-my-mem", "Agentm_My.Mem"])
def test_both_lists_know_entry_points_and_distributions_in_any_spelling(name: str) -> None:
    assert refusal(RECORD, disabled=[name]) == "plugin_policy.disabled names it"
    assert refusal(RECORD, allowed=[name]) is None


@pytest.mark.parametrize("name", ["Mem", "me", "agentm-my", "agentm.backends", ""])
def test_nothing_else_is_meant(name: str) -> None:
    assert refusal(RECORD, disabled=[name]) is None
    assert refusal(RECORD, allowed=[name]) == "plugin_policy.allowed does not name it"


def test_without_lists_everything_installed_is_let_in() -> None:
    assert refusal(RECORD) is None


def test_an_empty_list_of_allowed_plugins_lets_nothing_in() -> None:
    assert refusal(RECORD, allowed=[]) == "plugin_policy.allowed does not name it"


def test_disabled_beats_allowed() -> None:
    assert refusal(RECORD, disabled=["mem"], allowed=["mem"]) == "plugin_policy.disabled names it"


@pytest.mark.parametrize("policy", [{"disabled": ["mem"]}, {"allowed": ["other"]}])
def test_a_plugin_that_is_kept_out_is_not_reported_as_missing(site: Site, policy: dict[str, list[str]]) -> None:
    site.install("agentm-my-mem", entry_points="[agentm.backends]\nmem = m:A\n")

    with pytest.raises(PluginError, match=r"backend 'mem' of agentm-my-mem 1\.0 is not loaded: plugin_policy\."):
        find("agentm.backends", "mem", [str(site.path)], **policy)
