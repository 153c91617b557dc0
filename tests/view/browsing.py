"""Chromium, driven as a person drives it; whatever its console says is kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, ConsoleMessage, Page as Tab, sync_playwright

from tests.view.memory import Page

SIZES = {"light": (1280, 860, "light"), "dark": (1280, 860, "dark"), "phone": (390, 820, "light")}
KEY = "agentm-bearer"


class Window:
    """A tab that has entered the page."""

    def __init__(
        self, browser: Browser, page: Page, address: str, mode: str = "light", bearer: str | None = None
    ) -> None:
        width, height, scheme = SIZES[mode]
        self.context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme, reduced_motion="reduce"
        )
        self.context.set_default_timeout(15_000)
        if bearer:
            self.context.add_init_script(f"sessionStorage.setItem('{KEY}', '{bearer}')")
        self.page = page
        self.tab: Tab = self.context.new_page()
        self.said: list[str] = []
        """What the console said, and what went wrong in scripts."""
        self.tab.on("console", self._hear)
        self.tab.on("pageerror", lambda error: self.said.append(f"error: {error}"))
        self.tab.goto(address)
        self.settle()

    def _hear(self, message: ConsoleMessage) -> None:
        if "Autofocus processing was blocked" not in message.text:  # the script was faster than the browser
            self.said.append(f"{message.type}: {message.text}")

    @property
    def bearer(self) -> str:
        return str(self.tab.evaluate(f"sessionStorage.getItem('{KEY}')"))

    def go(self, path: str) -> None:
        self.tab.goto(self.page.origin + path)
        self.settle()

    def settle(self) -> None:
        """Until the screen is there, and its parts."""
        self.tab.wait_for_selector("main h1, main .failure")
        loading = self.tab.locator("main .loading")
        while loading.count():  # not `wait_for_function`: the page's policy forbids what that does
            self.tab.wait_for_timeout(20)

    def text(self) -> str:
        return self.tab.inner_text("main")

    def shot(self, path: Path) -> None:
        self.tab.wait_for_timeout(150)
        self.tab.screenshot(path=path)

    def violations(self, axe: str) -> list[str]:
        """What axe finds serious or worse. The page's own policy keeps scripts out, so it is put in from outside."""
        self.tab.evaluate(axe)
        found: Any = self.tab.evaluate("axe.run(document, {resultTypes: ['violations']})")
        return [
            f"{one['id']}: {one['help']}: {[node['html'][:120] for node in one['nodes']][:3]}"
            for one in found["violations"]
            if one["impact"] in ("serious", "critical")
        ]


class Browsing:
    def __init__(self, program: str, home: str) -> None:
        self._program = program
        self._home = home
        self._driver: Any = None
        self._windows: list[Window] = []

    def __enter__(self) -> Browsing:
        self._driver = sync_playwright().start()
        self.browser = self._driver.chromium.launch(
            executable_path=self._program, args=["--no-sandbox"], env={"HOME": self._home, "PATH": "/usr/bin:/bin"}
        )
        return self

    def __exit__(self, *_: object) -> None:
        self.browser.close()
        self._driver.stop()

    def window(self, page: Page, mode: str = "light", *, bearer: str | None = None) -> Window:
        """A new window; the first one trades the token, others are given its bearer."""
        return Window(self.browser, page, f"{page.origin}/" if bearer else page.address, mode, bearer)
