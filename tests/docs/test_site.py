"""The site: every page is in its navigation, it is built without a network, and asks no other host for anything."""

from __future__ import annotations

import functools
import http.server
import re
import shutil
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = tomllib.loads((ROOT / "zensical.toml").read_text())["project"]
_LINK = re.compile(r"""(?:href|src)=["']?(?!https?:|mailto:|data:|#)([^"'#\s>?]+)""")
_LOADED = re.compile(r"""<(?:link|script|img|source|iframe)\b[^>]*?(?:href|src)=["']?(?:https?:)?//""")


def _without_network() -> list[str]:
    """A way to start a program in a network namespace of its own, where the system permits one."""
    command = ["unshare", "--map-root-user", "--net"]
    if (
        shutil.which("unshare")
        and subprocess.run([*command, "true"], capture_output=True, check=False).returncode == 0
    ):
        return command
    return []


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(ROOT / "docs", folder / "docs")
    shutil.copy(ROOT / "zensical.toml", folder)
    build = [*_without_network(), sys.executable, "-m", "zensical", "build", "--clean", "--strict"]
    done = subprocess.run(build, cwd=folder, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / SETTINGS["site_dir"]


def _pages_of(entries: list[Any]) -> Iterator[str]:
    for entry in entries:
        for value in entry.values() if isinstance(entry, dict) else [entry]:
            yield from [value] if isinstance(value, str) else _pages_of(value)


def test_the_navigation_has_every_page_once() -> None:
    listed = list(_pages_of(SETTINGS["nav"]))
    there = [str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")]
    assert sorted(listed) == sorted(there)


def test_every_page_of_it_is_built(site: Path) -> None:
    for page in _pages_of(SETTINGS["nav"]):
        assert (site / page).with_suffix(".html").is_file(), page


def test_no_link_is_broken(site: Path) -> None:
    broken = []
    for page in site.rglob("*.html"):
        if page.name == "404.html":  # it is shown at any address, so its links begin at the root
            continue
        for target in _LINK.findall(page.read_text()):
            if not (page.parent / target).exists():
                broken.append(f"{page.relative_to(site)}: {target}")
    assert broken == []


def test_no_page_loads_anything_from_another_host(site: Path) -> None:
    pages = [page for page in site.rglob("*.html") if _LOADED.search(page.read_text())]
    assert pages == []
    styles = [style for style in site.rglob("*.css") if re.search(r"url\(\s*['\"]?(?:https?:)?//", style.read_text())]
    assert styles == []


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *words: object) -> None:
        """Nothing is said for each request."""


@pytest.fixture
def address(site: Path) -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=site))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_a_browser_asks_no_other_host_finds_pages_and_reads_them_on_a_phone(address: str) -> None:
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("chromium is not installed")
    from playwright.sync_api import sync_playwright

    asked: list[str] = []
    with sync_playwright() as play, play.chromium.launch(executable_path=chromium, args=["--no-sandbox"]) as browser:
        tab = browser.new_page(viewport={"width": 390, "height": 820})
        tab.on("request", lambda request: asked.append(request.url))
        tab.goto(f"{address}/index.html")
        assert tab.evaluate("document.documentElement.scrollWidth") <= 390
        tab.goto(f"{address}/reference/figures.html")
        assert tab.evaluate("document.documentElement.scrollWidth") <= 390
        tab.set_viewport_size({"width": 1280, "height": 860})
        tab.goto(f"{address}/index.html")
        tab.keyboard.press("/")
        tab.keyboard.type("Syncthing", delay=20)
        tab.get_by_text(re.compile(r"^\d+ results?$")).wait_for(timeout=10_000)
        tab.wait_for_load_state("networkidle")
    elsewhere = [url for url in asked if not url.startswith((address, "data:", "blob:"))]
    assert elsewhere == []
