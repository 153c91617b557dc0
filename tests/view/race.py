"""Two browsers and an agent write to one note at once: nothing is lost, and each refusal shows both texts.

`python -m tests.view.race --rounds 200` is the long form, which `make e2e` runs.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import threading
from pathlib import Path

from tests.view.browsing import Browsing, Window
from tests.view.memory import Home, Page

NOTE = "projects/payments/facts/counted.md"


def run(home: Home, browsing: Browsing, rounds: int) -> tuple[int, int]:
    """How often a browser was refused, and how many lines were written in all. Raises if one is missing."""
    home.note(NOTE, "---\nstatus: active\n---\n\n# Counted\n\n")
    stop, agent = threading.Event(), _Agent(home, rounds)
    refusals = 0
    with Page(home) as page:
        first = browsing.window(page)
        windows = [first, browsing.window(page, bearer=first.bearer)]
        agent.start()
        try:
            for number in range(rounds):
                for window in windows:  # both open the editor on one text
                    window.go(f"/edit?note={NOTE}")
                for name, window in zip("ab", windows, strict=True):
                    window.tab.fill("textarea", f"{window.tab.input_value('textarea')}{name}{number}\n")
                for window in windows:
                    window.tab.click("button.first", no_wait_after=True)
                for name, window in zip("ab", windows, strict=True):
                    refusals += _until_saved(window, f"{name}{number}")
        finally:
            stop.set()
            agent.join()
        for window in windows:
            if told := [line for line in window.said if "409" not in line]:
                raise AssertionError(f"the browser's console says {told}")
            window.context.close()
    written = home.text(NOTE).split()
    wanted = [f"{name}{number}" for name in "ab" for number in range(rounds)] + agent.said
    missing = [line for line in wanted if line not in written]
    assert not missing, f"lost: {missing}"
    assert len(written) - len(set(written)) <= 1, "written twice"
    return refusals, len(wanted)


def _until_saved(window: Window, line: str) -> int:
    """Put both texts together, as a person does, as often as it takes."""
    refusals = 0
    both = ".sides:not([data-old])"
    while True:
        window.tab.wait_for_selector(f".toast:has-text('Saved.'), {both}")
        if window.tab.locator(both).count() == 0:
            window.tab.evaluate("document.getElementById('said').replaceChildren()")
            return refusals
        refusals += 1
        left = window.tab.locator(f"{both} section >> nth=0 >> .line:not(.none)").all_inner_texts()
        right = window.tab.inner_text(f"{both} section >> nth=1")
        assert line in right.split(), "what was written is shown"
        assert line not in left, "what the store has is shown as it is"
        now = "\n".join(text.replace("\xa0", "") for text in left)
        window.tab.fill("textarea", f"{now}\n{line}\n")
        window.tab.evaluate("document.querySelector('.sides').dataset.old = '1'")
        window.tab.click("button.first")


class _Agent(threading.Thread):
    """Appends lines with the real command while the browsers write."""

    def __init__(self, home: Home, rounds: int) -> None:
        super().__init__()
        self._home = home
        self._rounds = rounds
        self.said: list[str] = []

    def run(self) -> None:
        from agentm_kernel.files.store import FileStore
        from agentm_kernel.plugin import Locator, update

        store = FileStore(str(self._home.root))
        for number in range(self._rounds):
            line = f"agent{number}"
            update(store, Locator(NOTE), lambda text, line=line: f"{text}{line}\n")
            self.said.append(line)
            threading.Event().wait(0.3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    rounds = parser.parse_args().rounds
    program = shutil.which("chromium")
    if program is None:
        raise SystemExit("Chromium is not installed")
    with tempfile.TemporaryDirectory(prefix="agentm-race-") as folder:
        (Path(folder) / "home").mkdir()
        with Browsing(program, folder) as browsing:
            refusals, lines = run(Home(Path(folder) / "home").fill(), browsing, rounds)
    said = f"{lines} lines written by two browsers and an agent, none lost"
    print(f"{rounds} rounds: {said}; {refusals} refusals, each with both texts")


if __name__ == "__main__":
    main()
