"""The wheels as a user gets them: built here, installed from a folder, with nothing of the checkout in reach."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.packaging.built import KERNEL, REPOSITORY, mismatched_ranges
from tests.packaging.environment import CleanEnvironment, Failed

if TYPE_CHECKING:
    from tests.packaging.built import Wheel

DEVICE_LOCAL = "agentm-device-local"
DEVKIT = "agentm-devkit"
DISTRIBUTIONS = [
    KERNEL,
    *(f"agentm-{manifest.parent.name}" for manifest in REPOSITORY.glob("plugins/*/pyproject.toml")),
]


pytestmark = pytest.mark.timeout(900)  # the first one builds every wheel, and the others wait for it


@pytest.fixture(scope="session")
def installed(
    wheels: dict[str, Wheel], shared_folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> CleanEnvironment:
    """What `pip install agentm-device-local` gives, from a folder of wheels."""
    environment = CleanEnvironment(tmp_path_factory.mktemp("installed"))
    environment.install(DEVICE_LOCAL, links=shared_folder / "dist")
    return environment


def test_every_distribution_becomes_a_wheel(wheels):
    assert sorted(wheels) == sorted(DISTRIBUTIONS)


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_a_wheel_holds_its_package_its_types_and_its_licence(wheels, name):
    wheel = wheels[name]

    assert {f"{wheel.package}/__init__.py", f"{wheel.package}/py.typed"} <= {*wheel.names}
    assert {entry.partition("/")[0] for entry in wheel.names} == {
        wheel.package,
        f"{wheel.package}-{wheel.version}.dist-info",
    }
    assert wheel.metadata["License-Expression"] == "Apache-2.0"
    assert wheel.metadata["Requires-Python"] == ">=3.11"
    assert wheel.metadata["Summary"]


def test_the_kernel_wheel_holds_every_file_of_the_package(wheels):
    source = REPOSITORY / "kernel"
    files = {str(file.relative_to(source)) for file in source.rglob("*") if file.is_file() and file.suffix != ".pyc"}

    assert files <= {*wheels[KERNEL].names}


def test_the_kernel_has_one_command_and_needs_no_plugin(wheels):
    kernel = wheels[KERNEL]

    assert kernel.entry_points == {"console_scripts": {"agentm": "agentm_kernel.cli.main:main"}}
    assert {requirement.name for requirement in kernel.requirements} == {
        "click",
        "filelock",
        "platformdirs",
        "pluggy",
    }


def test_the_default_store_announces_itself(wheels):
    backends = wheels[DEVICE_LOCAL].entry_points["agentm.backends"]

    assert backends == {"device-local": "agentm_device_local.backend:DeviceLocalBackend"}


def test_every_plugin_accepts_the_kernel_it_is_built_beside(wheels):
    assert mismatched_ranges([*wheels.values()]) == []


def test_installing_the_default_store_brings_the_kernel_and_nothing_else_of_ours(installed, wheels):
    installed.check()
    ours = {name: version for name, version in installed.versions().items() if name.startswith("agentm")}

    assert ours == {name: wheels[name].version for name in (KERNEL, DEVICE_LOCAL)}


def test_the_command_is_there(installed, wheels):
    assert re.search(rf"\b{re.escape(wheels[KERNEL].version)}\b", installed.run("agentm", "--version"))


def test_the_store_works_from_the_wheels(installed):
    script = (
        "from agentm_device_local import DeviceLocalBackend\n"
        "store = DeviceLocalBackend()\n"
        "store.write(store.resolve('note.md'), 'kept')\n"
        "print(store.read(store.resolve('note.md')), store.describe())\n"
    )

    text, where = installed.run("python", "-c", script).split()

    assert text == "kept"
    assert Path(where).is_relative_to(installed.home)


def test_without_the_devkit_its_commands_say_what_to_install(installed):
    with pytest.raises(
        Failed, match="error: the command 'plugins check' is of a plugin that is not installed"
    ) as caught:
        installed.run("agentm", "plugins", "check", "device-local")

    assert "hint: run `pip install agentm-devkit`" in str(caught.value)


@pytest.fixture(scope="session")
def author(
    wheels: dict[str, Wheel], shared_folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> CleanEnvironment:
    """What an author has: the default store and the devkit."""
    environment = CleanEnvironment(tmp_path_factory.mktemp("author"))
    environment.install(DEVICE_LOCAL, DEVKIT, links=shared_folder / "dist")
    return environment


def test_the_gates_run_from_the_wheel(author):
    folder = author.run("python", "-c", "import agentm_kernel; print(agentm_kernel.__path__[0])").strip()

    assert "no findings" in author.run("python", "-m", "agentm_devkit.gates", folder)


def test_the_devkit_brings_its_subcommands_and_its_templates(author):
    assert " 0 failed" in author.run("agentm", "plugins", "check", "device-local", "--only", "reading")

    author.run("agentm", "plugins", "new", "my-store")

    assert (author.home / "agentm-my-store" / "tests" / "test_conformance.py").is_file()
