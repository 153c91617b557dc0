"""Hooks: each plugin by itself, every failure kept, none fatal."""

from __future__ import annotations

import inspect
import os
import sys
import threading
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

from agentm_kernel.device.installed import HOOKS, scan
from agentm_kernel.plugin import Alert, Device, DoctorRow, HookContext, Locator, Section, hookimpl
from agentm_kernel.plugins import hookspecs
from agentm_kernel.plugins.hooks import HookCaller, judged_hooks, plain_hooks

if TYPE_CHECKING:
    from tests.kernel.conftest import Site


pytestmark = pytest.mark.usefixtures("importable")


IMPORTS = "from agentm_kernel.plugin import Alert, DoctorRow, Panel, Section, hookimpl\n"


def hooks(source: str) -> str:
    return IMPORTS + source


DOCTOR = hooks("""
@hookimpl
def agentm_doctor_checks(context):
    return [DoctorRow("ok", __name__, f"at {context.cwd}")]
""")

RAISING = hooks("""
@hookimpl
def agentm_doctor_checks(): raise RuntimeError("no luck")
@hookimpl
def agentm_session_start(): raise SystemExit(3)
@hookimpl
def agentm_event(): raise ValueError
@hookimpl
def agentm_alert(): raise ValueError
""")


def host_of(site: Site, **sources: str) -> HookCaller:
    for name, source in sources.items():
        site.install_plugin(name, source, group="agentm.plugins", attribute="")
    context = HookContext(Device({"HOME": str(site.home)}), os.getcwd())
    return HookCaller(context, records=scan([str(site.path)]).of("agentm.plugins"))


def messages(host: HookCaller) -> list[str]:
    return [failure.message for failure in host.failures]


# ------------------------------------------------------------------------------------------------ every hook


def test_agentm_doctor_checks_gathers_the_rows_of_every_plugin(site: Site) -> None:
    host = host_of(site, one=DOCTOR, two=DOCTOR)

    rows = [*host.doctor_checks()]

    assert [row.check for row in rows] == ["plugin_one", "plugin_two"]
    assert host.failures == ()


def test_agentm_session_start_gathers_sections(site: Site) -> None:
    source = hooks("@hookimpl\ndef agentm_session_start(context):\n    return [Section('Rules', 'be kind')]")

    assert [*host_of(site, one=source).session_sections()] == [Section("Rules", "be kind")]


def test_agentm_event_carries_name_and_payload_and_brings_back_lines(site: Site) -> None:
    source = hooks("@hookimpl\ndef agentm_event(name, payload, context):\n    return f'{name}: {payload}'")

    assert [*host_of(site, one=source).event("turn-end", {"turn": 3})] == ["turn-end: {'turn': 3}"]


def test_agentm_page_panels_gathers_panels(site: Site) -> None:
    source = hooks("@hookimpl\ndef agentm_page_panels(context):\n    return [Panel('luck', 'Luck', 'more', len)]")

    panels = [*host_of(site, one=source).page_panels()]

    assert [(panel.name, panel.title, panel.place, panel.show, panel.actions) for panel in panels] == [
        ("luck", "Luck", "more", len, {})
    ]


def test_agentm_alert_reaches_every_plugin(site: Site) -> None:
    source = hooks("heard = []\n@hookimpl\ndef agentm_alert(alert, context):\n    heard.append(alert)")
    host = host_of(site, one=source, two=source)
    alert = Alert("skills/deploy.md", "it changed", "run `agentm checkpoint diff`")

    host.alert(alert)

    assert sys.modules["plugin_one"].heard == sys.modules["plugin_two"].heard == [alert]
    assert host.failures == ()


def test_agentm_replaced_is_told_both_versions_and_a_failure_is_shown_once(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    source = hooks("heard = []\n@hookimpl\ndef agentm_replaced(locator, old, new):\n    heard.append((old, new))")
    failing = hooks("@hookimpl\ndef agentm_replaced(locator, old, new):\n    raise RuntimeError('no luck')")
    host = host_of(site, one=source, two=failing)

    for number in range(2):
        host.replaced(Locator("a.md"), str(number), None)

    assert sys.modules["plugin_one"].heard == [("0", None), ("1", None)]
    assert capsys.readouterr().err.count("RuntimeError: no luck") == 1


def test_agentm_replaced_is_called_by_the_writer_itself_which_waits(site: Site) -> None:
    """What was left behind as late would be kept after it is gone."""
    source = "import threading\nheard = []\n@hookimpl\ndef agentm_replaced(): heard.append(threading.get_ident())"
    host = host_of(site, one=hooks(source))
    host.replaced(Locator("a.md"), "old", "new")
    assert sys.modules["plugin_one"].heard == [threading.get_ident()]


def test_every_hook_has_a_test_here_and_a_documented_typed_specification() -> None:
    names = [name for name, _ in inspect.getmembers(hookspecs, inspect.isfunction) if name.startswith("agentm_")]

    assert len(names) >= 4
    for name in names:
        signature = inspect.signature(getattr(hookspecs, name))
        assert any(test.startswith(f"test_{name}_") for test in globals()), f"{name} has no test"
        assert inspect.getdoc(getattr(hookspecs, name)), f"{name} is not documented"
        assert "context" in signature.parameters, f"{name} is not told where it is called"
        assert all(p.annotation is not p.empty for p in signature.parameters.values()), f"{name} is not typed"


# ------------------------------------------------------------------------------------------------ without pluggy


PLAIN = {
    "one argument": "@hookimpl\ndef agentm_session_start(context): return [1]",
    "none, and another order": "@hookimpl\ndef agentm_alert(): return 2\n"
    "@hookimpl\ndef agentm_event(context, name): return name",
    "nothing to say": "@hookimpl\ndef agentm_event(name, payload, context): pass",
    "marked by pluggy itself": "import pluggy\n"
    "@pluggy.HookimplMarker('agentm')\ndef agentm_event(payload): return payload",
}
NOT_PLAIN = {
    "a wrapper": "@hookimpl(wrapper=True)\ndef agentm_event():\n    return (yield)",
    "first": "@hookimpl(tryfirst=True)\ndef agentm_event(name): return name",
    "another name": "@hookimpl(specname='agentm_event')\ndef told(name): return name",
    "a default": "@hookimpl\ndef agentm_event(name='x'): return name",
    "any arguments": "@hookimpl\ndef agentm_event(*names): return 1",
    "an unknown hook": "@hookimpl\ndef agentm_docter_checks(): pass",
    "an unknown argument": "@hookimpl\ndef agentm_event(nothing): pass",
    "not a function": "class Call:\n    def __call__(self, name): return name\nagentm_event = hookimpl(Call())",
    "no hooks": "def agentm_event(): pass",
}
ARGUMENTS = {"name": "turn-end", "payload": {"turn": 1}, "alert": "alert", "context": "context"}


def module_of(source: str) -> ModuleType:
    made = ModuleType("made")
    exec(IMPORTS + source, vars(made))
    return made


@pytest.mark.parametrize("source", PLAIN.values(), ids=PLAIN)
def test_a_plain_module_is_called_as_pluggy_would_call_it(source):
    module = module_of(source)
    plain, judged = plain_hooks(module), judged_hooks(module)

    assert {name: place for name, (place, _) in plain.items()} == {name: place for name, (place, _) in judged.items()}
    for name, (_, call) in plain.items():
        given = {each: ARGUMENTS[each] for each in inspect.signature(getattr(hookspecs, name)).parameters}
        assert call(**given) == judged[name][1](**given)


@pytest.mark.parametrize("source", NOT_PLAIN.values(), ids=NOT_PLAIN)
def test_everything_else_is_for_pluggy_to_judge(source):
    assert plain_hooks(module_of(source)) is None


def test_a_plain_hook_plugin_is_called_without_pluggy(site: Site) -> None:
    site.install_plugin("one", DOCTOR, group="agentm.plugins", attribute="")
    code = (
        "import sys\n"
        "from agentm_kernel.plugin import Device, HookCaller, HookContext\n"
        "print(len([*HookCaller(HookContext(Device.now(), '.')).doctor_checks()]), 'pluggy' in sys.modules)"
    )

    assert site.run("-c", code).stdout == "1 False\n"


# ------------------------------------------------------------------------------------------------ isolation


def test_one_raising_hook_does_not_keep_the_others_from_being_called(site: Site) -> None:
    host = host_of(site, a=DOCTOR, b=RAISING, c=DOCTOR)

    assert [row.check for row in host.doctor_checks()] == ["plugin_a", "plugin_c"]
    assert messages(host) == [
        "the hook plugin 'b' of agentm-b 1.0 failed in agentm_doctor_checks: RuntimeError: no luck"
    ]


def test_every_hook_guards_each_plugin(site: Site) -> None:
    host = host_of(site, b=RAISING)

    assert ([*host.doctor_checks()], [*host.session_sections()], [*host.event("x", {})]) == ([], [], [])
    host.alert(Alert("x", "y"))

    assert [message.split("failed in ")[1] for message in messages(host)] == [
        "agentm_doctor_checks: RuntimeError: no luck",
        "agentm_session_start: it called sys.exit(3)",
        "agentm_event: ValueError",
        "agentm_alert: ValueError",
    ]


def test_ctrl_c_in_a_hook_is_not_the_plugins_failure(site: Site) -> None:
    host = host_of(site, a=hooks("@hookimpl\ndef agentm_doctor_checks():\n    raise KeyboardInterrupt"))

    with pytest.raises(KeyboardInterrupt):
        [*host.doctor_checks()]


INVALID = {
    "raises at import": ("raise ImportError('no luck')", "cannot be loaded: ImportError: no luck"),
    "exits at import": ("raise SystemExit(3)", "cannot be loaded: it called sys.exit(3)"),
    "an unknown hook": (
        hooks("@hookimpl\ndef agentm_docter_checks(): pass"),
        "is not valid: PluginValidationError: unknown hook 'agentm_docter_checks'",
    ),
    "an unknown argument": (
        hooks("@hookimpl\ndef agentm_alert(alert, warning): pass"),
        "is not valid: PluginValidationError: Plugin 'plugin_bad' for hook 'agentm_alert'",
    ),
    "no hooks": ("def agentm_alert(alert): pass", "has no hooks: they are marked with agentm_kernel.plugin.hookimpl"),
}


@pytest.mark.parametrize(("source", "reason"), INVALID.values(), ids=INVALID.keys())
def test_an_invalid_plugin_is_left_out_and_named(site: Site, source: str, reason: str) -> None:
    host = host_of(site, bad=source, good=DOCTOR)

    assert [row.check for row in host.doctor_checks()] == ["plugin_good"]
    assert len(host.failures) == 1
    assert host.failures[0].record.name == "bad"
    assert host.failures[0].message.startswith(f"the hook plugin 'bad' of agentm-bad 1.0 {reason}")
    assert "plugin_policy.disabled agentm-bad" in str(host.failures[0].hint)


def test_no_hook_of_an_invalid_plugin_is_called(site: Site) -> None:
    host = host_of(site, bad=DOCTOR + "@hookimpl\ndef agentm_nonsense(): pass\n")

    assert [*host.doctor_checks()] == []
    assert len(host.failures) == 1


def test_a_class_in_place_of_an_object_is_refused(site: Site) -> None:
    source = hooks("class Plugin:\n    @hookimpl\n    def agentm_alert(self, alert): pass\n")
    site.install_plugin("bad", source, group="agentm.plugins", attribute="Plugin")
    host = host_of(site)

    host.load_all()

    assert "is a class: its entry point must name a module or an object" in messages(host)[0]


def test_an_object_can_be_a_plugin(site: Site) -> None:
    source = hooks("class Plugin:\n    @hookimpl\n    def agentm_event(self, name): return name\nplugin = Plugin()")
    site.install_plugin("good", source, group="agentm.plugins", attribute="plugin")

    assert [*host_of(site).event("turn-end", {})] == ["turn-end"]


WRONG = {
    "not a list": ("agentm_doctor_checks", "'fine'", "it answered with str, not with a list of DoctorRow"),
    "a list of something else": (
        "agentm_doctor_checks",
        "[DoctorRow('ok', 'a', 'b'), 'fine']",
        "it answered with a list with something else in it, not with a list of DoctorRow",
    ),
    "an unknown status": (
        "agentm_doctor_checks",
        "[DoctorRow('green', 'a', 'b')]",
        "ValueError: the status of a doctor row is ok, warn, fail; not 'green'",
    ),
    "rows for sections": (
        "agentm_session_start",
        "[DoctorRow('ok', 'a', 'b')]",
        "it answered with a list with something else in it, not with a list of Section",
    ),
    "a number for a line": ("agentm_event", "3", "it answered with int, not with a line of text"),
}


@pytest.mark.parametrize(("hook", "answer", "reason"), WRONG.values(), ids=WRONG.keys())
def test_a_wrong_answer_is_a_failure_and_counts_for_nothing(site: Site, hook: str, answer: str, reason: str) -> None:
    host = host_of(site, bad=hooks(f"@hookimpl\ndef {hook}():\n    return {answer}"))

    assert ([*host.doctor_checks()], [*host.session_sections()], [*host.event("x", {})]) == ([], [], [])
    assert messages(host) == [f"the hook plugin 'bad' of agentm-bad 1.0 failed in {hook}: {reason}"]


def test_nothing_to_say_is_no_failure(site: Site) -> None:
    host = host_of(
        site, calm=hooks("@hookimpl\ndef agentm_doctor_checks(): pass\n@hookimpl\ndef agentm_event(): pass")
    )

    assert ([*host.doctor_checks()], [*host.event("x", {})], host.failures) == ([], [], ())


def test_a_wrapper_wraps_only_its_own_plugin(site: Site) -> None:
    """Otherwise one plugin could silence the alert of another."""
    silencer = hooks("@hookimpl(wrapper=True)\ndef agentm_doctor_checks():\n    yield\n    return []")
    host = host_of(site, a=silencer, b=DOCTOR)

    assert [row.check for row in host.doctor_checks()] == ["plugin_b"]


def test_a_plugin_may_ask_to_be_first_or_last(site: Site) -> None:
    first, last = (DOCTOR.replace("@hookimpl", f"@hookimpl({place}=True)") for place in ("tryfirst", "trylast"))
    host = host_of(site, a=last, b=DOCTOR, c=first)

    assert [row.check for row in host.doctor_checks()] == ["plugin_c", "plugin_b", "plugin_a"]


def test_hooks_that_print_leave_standard_output_alone(site: Site, capfd: pytest.CaptureFixture[str]) -> None:
    host = host_of(site, loud=hooks("@hookimpl\ndef agentm_event():\n    print('noise')\n    return 'line'"))

    assert [*host.event("x", {})] == ["line"]
    assert capfd.readouterr() == ("", "noise\n")


def test_two_plugins_of_one_name_are_both_told(site: Site) -> None:
    for distribution in ("one", "two"):
        site.install(
            distribution,
            entry_points=f"[agentm.plugins]\nsame = plugin_{distribution}\n",
            modules={f"plugin_{distribution}.py": DOCTOR},
        )

    assert [row.check for row in host_of(site).doctor_checks()] == ["plugin_one", "plugin_two"]


# ------------------------------------------------------------------------------------------------ laziness


def test_plugins_are_imported_by_the_first_call_and_once(site: Site) -> None:
    host = host_of(site, one=DOCTOR)
    assert "plugin_one" not in sys.modules

    [*host.doctor_checks()]
    module = sys.modules["plugin_one"]
    [*host.doctor_checks()]

    assert sys.modules["plugin_one"] is module


def test_without_plugins_not_even_pluggy_is_imported(site: Site) -> None:
    code = (
        "import sys\n"
        "from agentm_kernel.plugin import Device, HookCaller, HookContext\n"
        "assert [*HookCaller(HookContext(Device.now(), '.')).doctor_checks()] == []\n"
        "print('pluggy' in sys.modules, 'click' in sys.modules)"
    )

    result = site.run("-c", code)

    assert (result.stdout, result.stderr) == ("False False\n", "")


def test_the_host_of_what_is_installed_obeys_the_policy(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.install_plugin("one", DOCTOR, group="agentm.plugins", attribute="")
    site.install_plugin("two", "raise SystemExit(3)", group="agentm.plugins", attribute="")
    prefix = site.home / "prefix"
    prefix.mkdir()
    (prefix / ".agentm-config.json").write_text('{"plugin_policy": {"disabled": ["agentm-two"], "allowed": ["one"]}}')
    monkeypatch.setenv("AGENTM_INSTALL_PREFIX", str(prefix))

    host = HookCaller(HookContext(Device.now(), os.getcwd()))

    assert [row.check for row in host.doctor_checks()] == ["plugin_one"]
    assert host.failures == ()


def test_a_policy_that_cannot_be_read_lets_nothing_in(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.install_plugin("one", DOCTOR, group="agentm.plugins", attribute="")
    (site.home / ".agentm-config.json").write_text("{")
    monkeypatch.setenv("AGENTM_INSTALL_PREFIX", str(site.home))

    assert [*HookCaller(HookContext(Device.now(), os.getcwd())).doctor_checks()] == []


def test_hookimpl_is_had_from_the_kernel() -> None:
    assert hookimpl is hookspecs.hookimpl
    assert DoctorRow("ok", "check", "message").hint is None


def test_a_plugin_that_names_its_hook_is_loaded_for_that_hook_alone(tmp_path, monkeypatch):
    site = tmp_path / "site"
    metadata = site / "narrow-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Name: narrow\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[agentm.plugins.doctor_checks]\nnarrow = narrow_hooks\n")
    (site / "narrow_hooks.py").write_text(
        "from agentm_kernel.plugin import DoctorRow, hookimpl\n"
        "@hookimpl\ndef agentm_doctor_checks(context):\n    return [DoctorRow('ok', 'narrow', 'well')]\n"
    )
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.syspath_prepend(str(site))
    host = HookCaller(HookContext(Device.now(), os.getcwd()))
    [*host.session_sections()]
    assert "narrow_hooks" not in sys.modules
    assert "narrow" in [row.check for row in host.doctor_checks()]
    assert not [failure for failure in host.failures if failure.record.distribution == "narrow"]


def test_every_hook_has_a_group_of_its_own():
    assert {f"agentm_{hook}" for hook in HOOKS} == {name for name in vars(hookspecs) if name.startswith("agentm_")}
