"""Asking for a plugin by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agentm_kernel import PluginError, load_plugin
from agentm_kernel.plugins.named import find_plugin

if TYPE_CHECKING:
    from tests.kernel.conftest import Site


@pytest.fixture(autouse=True)
def device(site: Site, monkeypatch: pytest.MonkeyPatch) -> Site:
    """A device with the site's distributions and a configuration of its own."""
    monkeypatch.syspath_prepend(site.path)
    monkeypatch.setenv("AGENTM_INSTALL_PREFIX", str(site.home))
    return site


def test_what_the_entry_point_names_is_loaded(site: Site) -> None:
    site.install_plugin("named-one", "answer = 42", group="agentm.providers", attribute="answer")

    assert load_plugin("agentm.providers", "named-one") == 42


def test_a_name_that_nobody_provides_is_refused_with_what_there_is(site: Site) -> None:
    site.install("two", entry_points="[agentm.providers]\nb = m:B\na = m:A\n")

    with pytest.raises(PluginError, match="no installed plugin provides the provider 'x'; installed: a, b"):
        find_plugin("agentm.providers", "x")


def test_the_policy_of_the_device_is_obeyed_before_the_import(site: Site) -> None:
    site.install_plugin("kept-out", "raise SystemExit('imported')", group="agentm.providers", attribute="answer")
    (site.home / ".agentm-config.json").write_text('{"plugin_policy.disabled": ["kept-out"]}')

    with pytest.raises(PluginError, match=r"is not loaded: plugin_policy\.disabled names it"):
        load_plugin("agentm.providers", "kept-out")
