"""Plugins by name, under the operator's lists, which are obeyed before anything is imported."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agentm_kernel.device.config import Config
from agentm_kernel.device.installed import PluginRecord, scan
from agentm_kernel.plugin import Device, PluginError, find_plugin, load_plugin
from agentm_kernel.plugins.table import conflicts, find, refusal

if TYPE_CHECKING:
    from tests.kernel.conftest import Site

BACKEND = "[agentm.backends]\nmem = mem_store:Store\n"


@pytest.fixture
def device(site: Site, monkeypatch: pytest.MonkeyPatch) -> Device:
    """A device with the site's distributions and a configuration of its own."""
    monkeypatch.setattr("sys.path", [str(site.path)])
    return Device({"HOME": str(site.home), "AGENTM_INSTALL_PREFIX": str(site.home)})


@pytest.fixture
def unreadable_site(site: Site) -> Site:
    """A site whose one entry_points.txt gives an error on reading, for root as well."""
    info = site.install("agentm-locked")
    (info / "entry_points.txt").mkdir()
    return site


def policy(**lists: tuple[str, ...]) -> Config:
    return Config("config", True, False, {f"plugin_policy.{name}": names for name, names in lists.items()})


def configure(site: Site, text: str) -> None:
    (site.home / ".agentm-config.json").write_text(text)


def test_what_the_entry_point_names_is_loaded(site: Site, device: Device) -> None:
    site.install_plugin("named-one", "answer = 42", group="agentm.providers", attribute="answer")

    assert load_plugin(device, "agentm.providers", "named-one") == 42


def test_a_name_that_nobody_provides_is_refused_with_what_there_is(site: Site, device: Device) -> None:
    site.install("two", entry_points="[agentm.providers]\nb = m:B\na = m:A\n")

    with pytest.raises(PluginError, match="no installed plugin provides the provider 'x'; installed: a, b"):
        find_plugin(device, "agentm.providers", "x")


def test_the_policy_of_the_device_is_obeyed_before_the_import(site: Site, device: Device) -> None:
    site.install_plugin("kept-out", "raise SystemExit('imported')", group="agentm.providers", attribute="answer")
    configure(site, '{"plugin_policy.disabled": ["kept-out"]}')

    with pytest.raises(PluginError, match=r"is not loaded: plugin_policy\.disabled names it"):
        load_plugin(device, "agentm.providers", "kept-out")


# ------------------------------------------------------------------------------------------------ find


def test_find_gives_the_one_plugin_of_a_name(site: Site, device: Device) -> None:
    info = site.install("agentm-mem", "1.2", entry_points=BACKEND)

    assert find(device, "agentm.backends", "mem") == PluginRecord(
        "agentm.backends", "mem", "mem_store:Store", "agentm-mem", "1.2", str(info)
    )


def test_find_is_none_when_nothing_is_installed_under_the_name(site: Site, device: Device) -> None:
    site.install("agentm-mem", entry_points=BACKEND)

    assert find(device, "agentm.backends", "Mem") is None
    assert find(device, "agentm.plugins", "mem") is None


@pytest.fixture
def two_claims(site: Site, device: Device) -> None:
    site.install("agentm-mem", "1.0", entry_points=BACKEND)
    site.install("stranger", "0.3", entry_points="[agentm.backends]\nmem = stranger:Store\n")


@pytest.mark.usefixtures("two_claims")
def test_two_claims_on_a_name_are_refused_with_both_owners_and_a_way_out(device: Device) -> None:
    with pytest.raises(PluginError) as refused:
        find(device, "agentm.backends", "mem")

    assert "the backend 'mem' is claimed by agentm-mem 1.0" in refused.value.message
    assert "and stranger 0.3" in refused.value.message
    assert "plugin_policy.disabled stranger" in str(refused.value.hint)


@pytest.mark.usefixtures("two_claims")
def test_disabling_one_of_two_claimants_settles_it(site: Site, device: Device) -> None:
    configure(site, '{"plugin_policy.disabled": ["Stranger"]}')

    record = find(device, "agentm.backends", "mem")

    assert record is not None
    assert record.distribution == "agentm-mem"


def test_one_distribution_that_declares_a_name_twice_is_refused(site: Site, device: Device) -> None:
    site.install("agentm-mem", entry_points="[agentm.backends]\nmem = a:A\nmem = b:B\n")

    with pytest.raises(PluginError, match=r"claimed by agentm-mem 1\.0 .* and agentm-mem 1\.0"):
        find(device, "agentm.backends", "mem")


def test_conflicts_are_seen_in_metadata_except_among_hook_plugins(site: Site, device: Device) -> None:
    for name in ("one", "two"):
        site.install(name, entry_points=BACKEND + "[agentm.plugins]\nmem = m\n")

    (claims,) = conflicts(scan([str(site.path)]).records)

    assert [(record.group, record.distribution) for record in claims] == [
        ("agentm.backends", "one"),
        ("agentm.backends", "two"),
    ]


@pytest.mark.usefixtures("unreadable_site")
def test_nothing_found_while_something_could_not_be_read_is_not_absence(device: Device) -> None:
    with pytest.raises(PluginError, match=r"cannot tell whether the backend 'mem' is installed: .*entry_points\.txt"):
        find(device, "agentm.backends", "mem")


RECORD = PluginRecord("agentm.backends", "mem", "m:A", "agentm-my-mem", "1.0", "somewhere")


@pytest.mark.parametrize("name", ["mem", "agentm-my-mem", "Agentm_My.Mem"])
def test_both_lists_know_entry_points_and_distributions_in_any_spelling(name: str) -> None:
    assert refusal(RECORD, policy(disabled=(name,))) == "plugin_policy.disabled names it"
    assert refusal(RECORD, policy(allowed=(name,))) is None


@pytest.mark.parametrize("name", ["Mem", "me", "agentm-my", "agentm.backends", ""])
def test_nothing_else_is_meant(name: str) -> None:
    assert refusal(RECORD, policy(disabled=(name,))) is None
    assert refusal(RECORD, policy(allowed=(name,))) == "plugin_policy.allowed does not name it"


def test_without_lists_everything_installed_is_let_in() -> None:
    assert refusal(RECORD, policy()) is None


def test_an_empty_list_of_allowed_plugins_lets_nothing_in() -> None:
    assert refusal(RECORD, policy(allowed=())) == "plugin_policy.allowed does not name it"


def test_disabled_beats_allowed() -> None:
    assert refusal(RECORD, policy(disabled=("mem",), allowed=("mem",))) == "plugin_policy.disabled names it"


@pytest.mark.parametrize("lists", ['"disabled": ["mem"]', '"allowed": ["other"]'])
def test_a_plugin_that_is_kept_out_is_not_reported_as_missing(site: Site, device: Device, lists: str) -> None:
    site.install("agentm-my-mem", entry_points="[agentm.backends]\nmem = m:A\n")
    configure(site, f'{{"plugin_policy": {{{lists}}}}}')

    with pytest.raises(PluginError, match=r"backend 'mem' of agentm-my-mem 1\.0 is not loaded: plugin_policy\."):
        find(device, "agentm.backends", "mem")
