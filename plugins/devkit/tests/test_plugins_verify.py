"""`agentm plugins list --verify`: every installed plugin, loaded for a look."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.kernel.cli.test_plugins import listed

if TYPE_CHECKING:
    from tests.kernel.conftest import Site


def test_verify_names_each_culprit_and_its_reason(rogues: Site) -> None:
    found = {name: plugin["verified"] for name, plugin in listed(rogues, "--verify", code=1).items()}

    assert {name: verified["state"] for name, verified in found.items()} == {
        "abstract": "broken",
        "exits": "broken",
        "fine": "ok",
        "future": "broken",
        "good": "ok",
        "hangs": "timeout",
        "newer": "broken",
        "prints": "ok",
        "raises": "broken",
        "twice": "ok",
        "typo": "broken",
        "untyped": "broken",
    }
    assert found["good"] == {
        "state": "ok",
        "reason": None,
        "capabilities": ["concurrent_writers", "device_files", "delete"],
    }
    for name, reason in {
        "abstract": "is abstract: plugin_abstract:Store lacks capabilities",
        "exits": "it called sys.exit(3)",
        "future": "was built for version 99 of the kernel's API; this kernel speaks 1",
        "hangs": "was stopped: it was not loaded after 5 s",
        "newer": "was built for version 99 of the kernel's API; this kernel speaks 1",
        "prints": "writes to the terminal while it is loaded",
        "raises": "RuntimeError: no luck",
        "typo": "unknown hook 'agentm_alart'",
        "untyped": "its capabilities are of type dict",
    }.items():
        assert reason in found[name]["reason"]
        assert f"'{name}' of agentm-{name} 1.0" in found[name]["reason"]


def test_verify_shows_reasons_beside_the_table(site: Site) -> None:
    site.install_plugin("raises", "raise RuntimeError('no luck')")

    result = site.agentm("plugins", "list", "--verify")

    assert result.returncode == 1
    assert (
        "broken: the backend 'raises' of agentm-raises 1.0 cannot be loaded: RuntimeError: no luck\n" in result.stderr
    )
    assert "ok: concurrent_writers, device_files, delete" in result.stdout


def test_verify_does_not_load_what_the_policy_keeps_out(site: Site) -> None:
    trace = site.home / "trace"
    site.install_plugin("mem", f"open({str(trace)!r}, 'w')")
    site.configure(plugin_policy={"disabled": ["mem"]})

    assert "verified" not in listed(site, "--verify")["mem"]
    assert not trace.exists()
