"""`python -m tests.packaging.wheels DIST`: every wheel in DIST, in a clean environment.

Alone it has to stand: what it requires is there, and every module of it can be imported. Then its tests run, beside
the other wheels, because many of them are about what two plugins do together. Then the bundle as people install, use,
upgrade and remove it.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tests.packaging.built import KERNEL, mismatched_ranges, wheels_in
from tests.packaging.environment import CleanEnvironment, Failed
from tests.packaging.installing import WAYS, Unavailable, install_use_and_remove, upgrade

if TYPE_CHECKING:
    from collections.abc import Callable

    from packaging.requirements import Requirement

    from tests.packaging.built import Wheel


IMPORTING = """
import importlib, pkgutil, sys
package = importlib.import_module(sys.argv[1])
for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
    try:
        importlib.import_module(found.name)
    except ModuleNotFoundError as error:
        if str(error.name).startswith("agentm_"):  # anything else is an extra that nobody asked for
            raise
"""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.packaging.wheels", description=__doc__)
    parser.add_argument("dist", type=Path, help="the folder with the built wheels")
    parser.add_argument("--only", default="", metavar="WORD", help="only the steps whose names hold it")
    given = parser.parse_args()
    dist = given.dist.resolve()
    wheels = wheels_in(dist)
    if KERNEL not in {wheel.distribution for wheel in wheels}:
        parser.error(f"there is no wheel of {KERNEL} in {dist}")

    steps: list[tuple[str, Callable[[], str]]] = [("version ranges", lambda: _check_ranges(wheels))]
    for wheel in wheels:
        steps.append((f"{wheel.distribution} alone", partial(_test_alone, wheel, dist, lowest=False)))
        steps.append((f"{wheel.distribution}, lowest", partial(_test_alone, wheel, dist, lowest=True)))
    for way in WAYS:
        steps.append(
            (f"installed with {way}, used and removed", partial(_in_folder, install_use_and_remove, way, dist))
        )
    steps.append(("upgraded from 0.1", partial(_in_folder, upgrade, dist)))
    chosen = [(name, step) for name, step in steps if given.only in name]
    if not chosen:
        parser.error(f"there is no step like '{given.only}'; there are: {', '.join(name for name, _ in steps)}")
    return max(_report(name, step) for name, step in chosen)


def _report(name: str, step: Callable[[], str]) -> int:
    try:
        print(f"ok      {name}: {step()}", flush=True)
    except Unavailable as reason:
        print(f"skipped {name}: {reason}", flush=True)
    except Failed as failure:
        print(f"FAILED  {name}: {failure}", flush=True)
        return 1
    return 0


def _in_folder(step: Callable[..., str], *given: object) -> str:
    """A step that wants a folder, before the wheels; the folder is removed afterwards."""
    *first, dist = given
    with tempfile.TemporaryDirectory(prefix="agentm-installed-") as folder:
        return step(*first, Path(folder), dist)


def _check_ranges(wheels: list[Wheel]) -> str:
    if complaints := mismatched_ranges(wheels):
        raise Failed("; ".join(complaints))
    return "every plugin accepts the kernel it was built beside"


def _test_alone(wheel: Wheel, dist: Path, *, lowest: bool) -> str:
    """Install `wheel` with what it requires and nothing else of ours, see that it stands, then run its tests beside
    the others.
    """
    with tempfile.TemporaryDirectory(prefix="agentm-wheel-") as folder:
        environment = CleanEnvironment(Path(folder))
        if lowest:
            environment.install(*map(str, _third_party(wheel, dist)), lowest=True)
        environment.install(str(wheel.file), links=dist)
        environment.check()
        versions = environment.versions()
        if strangers := _strangers(wheel, versions):
            raise Failed(f"brought {', '.join(strangers)} along")
        environment.run("agentm", "--version")
        environment.run("python", "-c", IMPORTING, wheel.package)
        environment.install_test_tools()
        others = (other.distribution for other in wheels_in(dist) if other.distribution != wheel.distribution)
        environment.install(wheel.with_extras, *others, links=dist)
        environment.check()
        outcome = environment.run_tests(wheel)
    used = ", ".join(f"{requirement.name} {versions[requirement.name]}" for requirement in _third_party(wheel, dist))
    return f"{outcome} ({used})"


def _third_party(wheel: Wheel, dist: Path) -> list[Requirement]:
    """What `wheel` requires from others on this platform, with what the kernel requires."""
    kernel = [other for other in wheels_in(dist) if other.distribution == KERNEL]
    needed = {str(requirement): requirement for each in (wheel, *kernel) for requirement in each.requirements}
    here = [each for each in needed.values() if each.marker is None or each.marker.evaluate()]
    return [requirement for requirement in here if not requirement.name.startswith("agentm-")]


def _strangers(wheel: Wheel, versions: dict[str, str]) -> list[str]:
    """Distributions of ours that came along though the wheel itself does not ask for them."""
    here = [each for each in wheel.requirements if each.marker is None or each.marker.evaluate({"extra": ""})]
    wanted = {wheel.distribution, KERNEL, *(requirement.name for requirement in here)}
    return [name for name in versions if name.startswith("agentm-") and name not in wanted]


if __name__ == "__main__":
    sys.exit(main())
