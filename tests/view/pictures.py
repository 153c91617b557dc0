"""`python -m tests.view.pictures`: the pictures of the docs, made from the real page."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from tests.view.browsing import Browsing, Window
from tests.view.memory import Home, Page

PLACE = Path(__file__).resolve().parents[2] / "docs" / "images"
NOTE = "projects/payments/decisions/retry-with-jitter.md"


def main() -> None:
    program = shutil.which("chromium")
    if program is None:
        raise SystemExit("Chromium is not installed")
    with tempfile.TemporaryDirectory(prefix="agentm-pictures-") as folder, Browsing(program, folder) as browsing:
        (Path(folder) / "home").mkdir()
        home = Home(Path(folder) / "home").fill()
        save = ("save", "--kind", "fact", "--slug", "bank-holidays")
        home.agentm(*save, input="# The bank closes on 24 December\n\nAlso on 31 December.\n")
        home.connect()
        home.session("5f0c")
        home.propose("idempotency-keys", "# Every request has an idempotency key\n\nThe bank repeats webhooks.\n")
        with Page(home) as page:
            window = browsing.window(page)
            window.shot(PLACE / "light-today.png")
            window.go(f"/note/{NOTE}")
            window.shot(PLACE / "light-note.png")
            _conflict(home, window)
            dark = browsing.window(page, "dark", bearer=window.bearer)
            dark.go("/search?q=retry")
            dark.shot(PLACE / "dark-search.png")


def _conflict(home: Home, window: Window) -> None:
    """A note that an agent and a person change at once."""
    window.go(f"/edit?note={NOTE}")
    before = home.text(NOTE)
    home.note(NOTE, before.replace("at most five times", "at most seven times"))
    window.tab.fill("textarea", before.replace("cap: 20 s", "cap: 30 s"))
    window.tab.click("button.first")
    window.tab.wait_for_selector(".sides")
    window.tab.set_viewport_size({"width": 1280, "height": 1000})
    window.shot(PLACE / "light-conflict.png")
    window.tab.set_viewport_size({"width": 1280, "height": 860})
    home.note(NOTE, before)


if __name__ == "__main__":
    main()
