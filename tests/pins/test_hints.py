"""Where somebody can do something about a failure, the error says what: none of these is made without a hint."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EVERYWHERE = frozenset({"ConfigError", "LockTimeout", "SettingsError", "StoreIdentityError"})
IN_THE_KERNEL = EVERYWHERE | {
    *("ActivePlanError", "BackendNotInstalledError", "CapabilityMismatchError", "ConcurrentModificationError"),
    *("InvalidContentError", "InvalidLocatorError", "PluginError", "StorageError", "StorageIOError"),
    *("StorageReadOnlyError", "StorageSelectionError", "UnsafePlanNameError"),
}
SAYS_IT_ALL = (
    "cannot lock {self._folder}",
    "StorageIOError(message",
    "is not a click command",
    "keeps its state in its own folder",
    "must be strings",
    "must be text",
    "was opened to be read",
    "was replaced all the time",
)
"""What goes without one: the message itself says what to change."""


def without_hint(source: str, kinds: frozenset[str]) -> list[str]:
    """The calls that make an error of these kinds and give no hint."""
    if not any(f"{kind}(" in source for kind in kinds):
        return []
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    made = [call for call in calls if getattr(call.func, "id", "") in kinds]
    return [
        ast.get_source_segment(source, call) or ""
        for call in made
        if not any(keyword.arg == "hint" for keyword in call.keywords)
    ]


def test_the_rule_finds_what_it_is_for() -> None:
    assert without_hint("raise ConfigError(f'{path} is empty')", EVERYWHERE)
    assert not without_hint("raise ConfigError(f'{path} is empty', hint='remove it')", EVERYWHERE)
    assert not without_hint("raise KeyError(name)", EVERYWHERE)


def test_an_error_that_somebody_can_do_something_about_says_what() -> None:
    sources = dict.fromkeys(ROOT.glob("kernel/agentm_kernel/**/*.py"), IN_THE_KERNEL)
    sources |= dict.fromkeys(ROOT.glob("plugins/*/src/**/*.py"), EVERYWHERE)
    found = {
        f"{path.relative_to(ROOT)}: {call}"
        for path, kinds in sources.items()
        for call in without_hint(path.read_text(encoding="utf-8"), kinds)
        if not any(words in call for words in SAYS_IT_ALL)
    }
    assert not found
