"""Discovery: the answer of importlib.metadata, from folders alone."""

from __future__ import annotations

import importlib.metadata
import os
import shutil
import sys
import zipfile
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from agentm_kernel.device import installed
from agentm_kernel.device.installed import API_GROUP, canonical_name, installed_plugins, scan

if TYPE_CHECKING:
    from pathlib import Path

    from tests.kernel.conftest import Site

BACKEND = "[agentm.backends]\nmem = mem_store:Store\n"


def theirs(*path: Path | str) -> Counter[tuple[str, str, str]]:
    """What importlib.metadata finds, by its own rule that the first distribution of a name counts."""
    found: Counter[tuple[str, str, str]] = Counter()
    seen = set()
    for distribution in importlib.metadata.distributions(path=[str(entry) for entry in path]):
        if distribution._normalized_name not in seen:  # type: ignore[attr-defined]
            seen.add(distribution._normalized_name)  # type: ignore[attr-defined]
            found.update((entry.group, entry.name, entry.value) for entry in distribution.entry_points)
    return ours_only(found)


def ours_only(found: Counter[tuple[str, str, str]]) -> Counter[tuple[str, str, str]]:
    return Counter({key for key in found if key[0].startswith("agentm.") and key[0] != API_GROUP})


def mine(*path: Path | str) -> Counter[tuple[str, str, str]]:
    return Counter((r.group, r.name, r.value) for r in scan([str(entry) for entry in path]).records)


# ------------------------------------------------------------------------------------------------ equal answers


def test_the_running_environment_is_seen_as_importlib_sees_it() -> None:
    groups = importlib.metadata.entry_points().groups
    entries = [entry for group in groups for entry in importlib.metadata.entry_points(group=group)]
    expected = ours_only(Counter((entry.group, entry.name, entry.value) for entry in entries))

    found = installed_plugins().records

    assert ("agentm.backends", "device-local") in {(record.group, record.name) for record in found}
    assert Counter((record.group, record.name, record.value) for record in found) == expected


TEXTS = {
    "several groups": "[console_scripts]\nx = y:z\n[agentm.backends]\na = m:A\n[agentm.plugins]\nb = n\n",
    "comments and blank lines": "# agentm.\n[agentm.backends]\n\n# a = b:c\na = m:A # not a comment\n  # indented\n",
    "extras": "[agentm.backends]\na = m:A [fast, slow]\nb = m:B[fast]\n",
    "spaces": "[agentm.backends]\n  a   =   m : A  \nb=m:B\n\tc\t=\tm:C\n",
    "Windows line ends": "[agentm.backends]\r\na = m:A\r\n\r\n[agentm.plugins]\r\nb = n\r\n",
    "old Mac line ends": "[agentm.backends]\ra = m:A\rb = m:B",
    "odd line separators": "[agentm.backends]\na = m:A\x0cb = m:B\u2028c = m:C\x1ed = m:D\x85e = m:E",
    "case": "[agentm.backends]\nVault = m:A\nvault = m:B\n[Agentm.backends]\nc = m:C\n[AGENTM.BACKENDS]\nd = m:D\n",
    "doubled brackets": "[[agentm.backends]]\na = m:A\n",
    "spaces in brackets": "[ agentm.backends ]\na = m:A\n",
    "half a section": "[agentm.backends\na = m:A\n[agentm.plugins]\nb = m:B\n",
    "entries before any section": "a = agentm.m:A\n[agentm.backends]\nb = m:B\n",
    "empty section name": "[]\na = agentm.m:A\n",
    "a group returns": "[agentm.backends]\na = m:A\n[other]\nx = y\n[agentm.backends]\nb = m:B\n",
    "equals signs in the value": "[agentm.backends]\na = m:A = b\n",
    "empty names and values": "[agentm.backends]\n= m:A\nb =\n=\n",
    "byte order mark": "\ufeff[agentm.backends]\na = m:A\n[agentm.plugins]\nb = n\n",
    "names beyond ASCII": "[agentm.backends]\nspeicher-ü = m:Ü\n",
    "unknown groups of ours": "[agentm.nonsense]\na = m:A\n[agentm.]\nb = m:B\n[agentm]\nc = m:C\n",
    "the marker in a value only": "[other]\na = agentm.m:A\n",
    "one entry twice": "[agentm.backends]\na = m:A\na = m:B\n",
    "nothing": "",
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_entry_points_are_read_as_importlib_reads_them(site: Site, text: str) -> None:
    site.install("agentm-mem", entry_points=text.encode())

    assert mine(site.path) == theirs(site.path)


SECTION = st.sampled_from(["[agentm.backends]", "[agentm.plugins]", "[other]", "[[agentm.x]", "[ agentm.y ]", "[a]b"])
ENTRY = st.builds(
    "{}{}={}{}".format,
    st.text("ab-. #[]", max_size=4),
    st.sampled_from(["", " ", "\t"]),
    st.sampled_from(["", " "]),
    st.text("ab.:[] =#", max_size=6),
)
LINES = st.lists(SECTION | ENTRY | st.sampled_from(["", "# agentm.", "  "]), max_size=12)


@given(lines=LINES, newline=st.sampled_from(["\n", "\r\n", "\r", "\x0b"]))
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_mixture_of_lines_is_read_as_importlib_reads_it(site: Site, lines: list[str], newline: str) -> None:
    info = site.install("agentm-mem")
    text = newline.join(line for line in lines if "=" in line or not line.strip() or line.startswith(("[", "#")))
    (info / "entry_points.txt").write_bytes(text.replace("[a]b", "[a]").encode())

    assert mine(site.path) == theirs(site.path)


FOLDERS = {
    "dist-info": "Agentm.Mem__X-1.0.dist-info",
    "an egg-info folder": "agentm_mem_x-1.0-py3.11.egg-info",
    "a development egg": "agentm_mem_x.egg-info",
    "capital letters": "AGENTM_MEM_X-1.0.DIST-INFO",
    "no name": "-1.0.dist-info",
}


@pytest.mark.parametrize("folder", FOLDERS.values(), ids=FOLDERS.keys())
def test_every_form_of_metadata_folder_names_its_distribution(site: Site, folder: str) -> None:
    site.install("agentm-mem-x", folder=folder, entry_points=BACKEND)

    (record,) = scan([str(site.path)]).records

    assert (record.distribution, record.version) == ("agentm-mem-x", "1.0")
    assert record.location == str(site.path / folder)
    assert mine(site.path) == theirs(site.path)


def test_an_egg_on_the_search_path_is_read(site: Site) -> None:
    egg = site.path / "agentm_mem-1.0-py3.11.egg"
    (egg / "EGG-INFO").mkdir(parents=True)
    (egg / "EGG-INFO" / "PKG-INFO").write_text("Metadata-Version: 1.0\nName: agentm.mem\nVersion: 1.0\n\nbody: no\n")
    (egg / "EGG-INFO" / "entry_points.txt").write_text(BACKEND)

    (record,) = scan([str(egg)]).records

    assert (record.distribution, record.version) == ("agentm-mem", "1.0")
    assert mine(egg) == theirs(egg)
    assert mine(site.path) == theirs(site.path) == Counter()


def test_a_distribution_that_is_a_single_egg_info_file_has_no_plugins(site: Site) -> None:
    (site.path / "agentm_mem-1.0.egg-info").write_text("Metadata-Version: 1.0\nName: agentm-mem\nVersion: 1.0\n")

    assert mine(site.path) == theirs(site.path) == Counter()


def test_an_editable_install_is_found_where_its_metadata_lies(site: Site, second_site: Site) -> None:
    site.install("agentm-mem", entry_points=BACKEND)
    (site.path / "_editable_impl_agentm_mem.pth").write_text(str(second_site.path))
    (second_site.path / "mem_store.py").write_text("")

    assert mine(site.path, second_site.path) == theirs(site.path, second_site.path)
    assert [record.name for record in scan([str(site.path), str(second_site.path)]).records] == ["mem"]


def test_an_editable_install_with_a_development_egg_in_its_sources_counts_once(site: Site, second_site: Site) -> None:
    site.install("agentm-mem", "2.0", entry_points=BACKEND)
    second_site.install("agentm-mem", folder="agentm_mem.egg-info", entry_points=BACKEND)

    assert [record.version for record in scan([str(site.path), str(second_site.path)]).records] == ["2.0"]


def test_metadata_in_a_zip_archive_is_read_as_importlib_reads_it(site: Site, tmp_path: Path) -> None:
    site.install("agentm-mem", entry_points=BACKEND, modules={"deep/er/x.dist-info": "[agentm.backends]"})
    archive = tmp_path / "app.pyz"
    with zipfile.ZipFile(archive, "w") as target:
        for file in sorted(site.path.rglob("*")):
            target.write(file, file.relative_to(site.path))

    assert mine(archive) == theirs(archive) == Counter([("agentm.backends", "mem", "mem_store:Store")])


def test_a_damaged_distribution_in_an_archive_is_named_and_hides_no_other(site: Site, tmp_path: Path) -> None:
    site.install("agentm-mem", entry_points=BACKEND)
    site.install("agentm-broken", entry_points=b"[agentm.backends]\nb\xffd = m:B\n")
    archive = tmp_path / "app.pyz"
    with zipfile.ZipFile(archive, "w") as target:
        for file in sorted(site.path.rglob("*")):
            target.write(file, file.relative_to(site.path))

    found = scan([str(archive)])

    assert [(record.name, record.version) for record in found.records] == [("mem", "1.0")]
    assert os.path.dirname(found.records[0].location) == str(archive)
    assert len(found.unreadable) == 1
    assert str(archive) in found.unreadable[0]


@pytest.mark.skipif(os.name == "nt", reason="needs FIFOs")
def test_a_fifo_on_the_search_path_is_not_waited_for(site: Site, tmp_path: Path) -> None:
    site.install("agentm-mem", entry_points=BACKEND)
    os.mkfifo(tmp_path / "pipe.zip")

    assert [record.name for record in scan([str(tmp_path / "pipe.zip"), str(site.path)]).records] == ["mem"]


def test_entries_of_the_search_path_that_are_not_folders_are_passed_over(site: Site, tmp_path: Path) -> None:
    site.install("agentm-mem", entry_points=BACKEND)
    plain = tmp_path / "plain.txt"
    plain.write_text("no archive")
    path = [str(tmp_path / "missing"), str(plain), str(plain / "below"), str(site.path)]

    assert mine(*path) == theirs(*path) != Counter()


def test_the_empty_entry_of_the_search_path_is_the_current_directory(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = site.install("agentm-mem", entry_points=BACKEND)
    monkeypatch.chdir(site.path)

    assert [record.location for record in scan([""]).records] == [str(info)]
    assert mine("") == theirs("")


# ------------------------------------------------------------------------------------------------ once each


def test_python_s_own_folders_are_not_looked_through(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.install_plugin("mem", "Store = None")
    own = os.path.dirname(os.__file__)
    looked_through, listdir = [], os.listdir
    monkeypatch.setattr(os, "listdir", lambda folder: looked_through.append(folder) or listdir(folder))
    assert len(scan([own, os.path.join(own, "lib-dynload"), str(site.path)]).records) == 1
    assert looked_through == [str(site.path)]


def test_the_first_of_two_folders_on_the_path_wins(site: Site, second_site: Site) -> None:
    site.install("agentm-mem", "2.0", entry_points="[agentm.backends]\nnew = m:A\n")
    second_site.install("Agentm_Mem", "1.0", entry_points="[agentm.backends]\nold = m:A\n")
    path = [site.path, second_site.path]

    assert mine(*path) == theirs(*path)
    assert [record.name for record in scan(map(str, path)).records] == ["new"]
    assert [record.name for record in scan(map(str, reversed(path))).records] == ["old"]


def test_a_newer_version_without_plugins_hides_an_older_one_with_them(site: Site, second_site: Site) -> None:
    site.install("agentm-mem", "2.0")
    second_site.install("agentm-mem", "1.0", entry_points=BACKEND)

    assert mine(site.path, second_site.path) == theirs(site.path, second_site.path) == Counter()


def test_a_site_folder_seen_under_two_names_counts_once(site: Site, tmp_path: Path) -> None:
    site.install("agentm-mem", entry_points=BACKEND)
    (tmp_path / "lib64").symlink_to(site.path)
    path = [str(site.path), str(tmp_path / "lib64"), str(site.path)]

    assert len(scan(path).records) == 1


def test_what_pip_moved_aside_is_not_installed(site: Site) -> None:
    """The one difference from importlib.metadata: a half removed old version would claim the new one's names."""
    site.install("agentm-mem", "1.1", entry_points=BACKEND)
    site.install("agentm-mem", folder="~gentm_mem-1.0.dist-info", entry_points=BACKEND)

    assert [record.version for record in scan([str(site.path)]).records] == ["1.1"]


def test_the_order_does_not_depend_on_the_folder(site: Site) -> None:
    for name in ("zeta", "alpha", "mid"):
        site.install(
            f"agentm-{name}", entry_points=f"[agentm.plugins]\n{name} = m\n[agentm.backends]\n{name} = m:A\n"
        )

    assert [(record.group, record.name) for record in scan([str(site.path)]).records] == [
        (group, name) for group in ("agentm.backends", "agentm.plugins") for name in ("alpha", "mid", "zeta")
    ]


def test_a_scan_of_one_group_leaves_the_others_out(site: Site) -> None:
    site.install("agentm-mem", entry_points=BACKEND + "[agentm.plugins]\nb = n\n")

    assert {record.group for record in scan([str(site.path)]).of("agentm.plugins")} == {"agentm.plugins"}


def test_api_versions_belong_to_each_plugin_of_the_distribution(site: Site) -> None:
    site.install("agentm-mem", entry_points=BACKEND + "[agentm.api]\n2 = mem_store\n1 = mem_store\n")

    (record,) = scan([str(site.path)]).records

    assert record.api == ("1", "2")


# ------------------------------------------------------------------------------------------------ damage


def test_a_line_without_a_value_is_still_seen(site: Site) -> None:
    site.install("agentm-mem", entry_points="[agentm.backends]\nmem\n")

    assert [(record.name, record.value) for record in scan([str(site.path)]).records] == [("mem", "")]


def test_a_file_that_is_not_utf8_keeps_its_good_entries(site: Site) -> None:
    site.install("agentm-mem", entry_points=b"[agentm.backends]\ngood = m:A\nb\xffd = m:B\n")

    found = scan([str(site.path)])
    assert [record.name for record in found.records] == ["b\\xffd", "good"]
    assert [text.partition(": ")[2] for text in found.unreadable] == [
        "entry_points.txt is not UTF-8: invalid start byte"
    ]


def test_of_a_metadata_file_a_million_bytes_are_read_and_no_more(site: Site) -> None:
    padded = BACKEND + "#" * (1_000_000 - len(BACKEND))
    info = site.install("agentm-mem", entry_points=padded)
    assert [record.name for record in scan([str(site.path)]).records] == ["mem"]
    (info / "entry_points.txt").write_text(f"{padded}#")
    found = scan([str(site.path)])
    assert not found.records
    assert len(found.unreadable) == 1


@pytest.mark.parametrize("before", [478, 479, 480, 5000])
def test_a_plugin_that_is_named_late_in_a_long_file_is_found(site: Site, before: int) -> None:
    scripts = "[console_scripts]\n"
    filler = scripts + "#" * (before - len(scripts) - 1) + "\n"
    site.install("agentm-mem", entry_points=filler + BACKEND)
    assert [record.name for record in scan([str(site.path)]).records] == ["mem"]


def test_a_metadata_file_that_cannot_be_read_is_named_and_its_field_is_empty(site: Site) -> None:
    info = site.install("agentm-mem", entry_points=BACKEND, folder="mem.egg-info")
    (info / "METADATA").unlink()
    (info / "METADATA").mkdir()
    assert installed.header(str(info), "Name") == ""
    assert any("METADATA: " in text for text in scan([str(site.path)]).unreadable)


@pytest.fixture
def unreadable_site(site: Site) -> Site:
    """A site whose one entry_points.txt gives an error on reading, for root as well."""
    info = site.install("agentm-locked")
    (info / "entry_points.txt").mkdir()
    return site


def test_what_cannot_be_read_does_not_hide_the_rest(unreadable_site: Site) -> None:
    unreadable_site.install("agentm-mem", entry_points=BACKEND)
    found = scan([str(unreadable_site.path)])

    assert [record.name for record in found.records] == ["mem"]
    assert len(found.unreadable) == 1
    assert "entry_points.txt: " in found.unreadable[0]


def test_uninstalling_is_noticed_at_once(site: Site) -> None:
    info = site.install("agentm-mem", entry_points=BACKEND)
    assert scan([str(site.path)]).records

    shutil.rmtree(info)

    assert scan([str(site.path)]).records == ()


@pytest.mark.parametrize("name", ["My.Store", "my_store", "MY-STORE", "my-_.store"])
def test_spellings_of_a_distribution_are_one_name(name: str) -> None:
    assert canonical_name(name) == "my-store"


def test_a_scan_imports_nothing(site: Site) -> None:
    site.install_plugin("mem", "raise SystemExit('imported')")
    code = (
        "import os, sys; before = set(sys.modules)\n"
        "from agentm_kernel.device.installed import installed_plugins as found\n"
        "assert found().of('agentm.backends')\n"
        "new = set(sys.modules) - before - {'__future__', 'errno'}\n"
        "print(*sorted(name for name in new if not name.startswith('agentm_kernel')))"
    )

    result = site.run("-c", code)

    assert (result.returncode, result.stdout.strip(), result.stderr) == (0, "", "")


@pytest.mark.parametrize("folder", ["its path", ""])
def test_a_folder_is_looked_through_again_when_it_has_changed_and_only_then(
    site: Site, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    """Python says `""` for the current directory."""
    site.install("agentm-mem", entry_points=BACKEND)
    os.utime(site.path, (1, 1))
    monkeypatch.setattr(installed, "_last_scan", None)
    if not folder:
        monkeypatch.chdir(site.path)
    path = [str(site.path) if folder else ""]
    first = installed_plugins(path)
    assert installed_plugins(path) is first
    site.install("agentm-more", entry_points=BACKEND.replace("mem", "more"))
    assert [record.name for record in installed_plugins(path).records] == ["mem", "more"]


def test_the_search_path_is_that_of_the_process(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.install("agentm-mem", entry_points=BACKEND)
    monkeypatch.setattr(sys, "path", [*sys.path, str(site.path), os.fsencode(site.path)])

    assert "mem" in {record.name for record in installed_plugins().of("agentm.backends")}
