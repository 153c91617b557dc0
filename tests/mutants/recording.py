"""A plugin of pytest: tells the recorder which test it is that calls functions now, and how each test went."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import agentm_mutants_recorder as recorder  # type: ignore[import-not-found]
import pytest

if TYPE_CHECKING:
    from collections.abc import Generator

_tests = Path(recorder.CALLS).with_name("tests")
_prepared: dict[int, str] = {}
_now: list[str] = []


_BEGIN = f"import sys; sys.path.insert(0, {str(Path(recorder.__file__).parent)!r}); import agentm_mutants_recorder"
_MODULE = "; del sys.path[0], sys.argv[0]; import runpy; runpy.run_module(sys.argv[0], None, '__main__', True)"
_start = subprocess.Popen.__init__


def _start_recorded(self: Any, args: Any, *others: Any, **options: Any) -> None:
    """Processes that start without `site` read no `.pth` file: they are told to begin with the recorder."""
    if isinstance(args, list) and args[0] == sys.executable and "-S" in args[1:4]:
        if "-m" in args[1:4]:
            place = args.index("-m")
            args = [*args[:place], "-c", _BEGIN + _MODULE, *args[place + 1 :]]
        elif "-c" in args[1:4]:
            place = args.index("-c")
            args = [*args[: place + 1], f"{_BEGIN}; del sys.path[0]\n{args[place + 1]}", *args[place + 2 :]]
    _start(self, args, *others, **options)


subprocess.Popen.__init__ = _start_recorded  # type: ignore[assignment, method-assign]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    _now[:] = [item.nodeid]
    recorder.begin(item.nodeid)
    recorder.start()
    start = time.monotonic()
    try:
        return (yield)
    finally:
        recorder.begin("")
        seconds = round(time.monotonic() - start, 2)
        fixtures = getattr(item, "_fixtureinfo").name2fixturedefs.values()  # noqa: B009
        shared = [_prepared[id(one)] for several in fixtures for one in several if id(one) in _prepared]
        with _tests.open("a", encoding="utf-8") as file:
            print(json.dumps([item.nodeid, seconds, shared]), file=file)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[Any]) -> Generator[None, Any, Any]:
    """What a fixture for several tests calls belongs to all of them."""
    if fixturedef.scope == "function":
        return (yield)
    name = f"fixture {len(_prepared)} of {fixturedef.baseid}"
    _prepared[id(fixturedef)] = name
    recorder.begin(name)
    try:
        return (yield)
    finally:
        recorder.begin(_now[0])
