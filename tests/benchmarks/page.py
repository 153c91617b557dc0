"""The page of `agentm view` with many notes: a real browser, from the key that is pressed to what is seen."""

from __future__ import annotations

import random
import shutil
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from tests.benchmarks.measure import percentile
from tests.benchmarks.memory.corpus import notes
from tests.benchmarks.tables import Table

if TYPE_CHECKING:
    from tests.benchmarks.measure import Setting
    from tests.benchmarks.tables import Row
    from tests.view.browsing import Window
    from tests.view.memory import Home

SIZE = 10_000
QUESTIONS = ("retry with jitter", "which database", "session tokens", "deploy on friday")

# From the key to the answer, as the page itself sees it: what was found for what was typed last is in the document.
_TYPE = """async (text) => {
    const box = document.getElementById("q"), took = [], ask = window.fetch;
    let answered;
    window.fetch = async (...given) => {
        const response = await ask(...given);
        if (!String(given[0]).startsWith("/api/search")) return response;
        const read = response.json.bind(response);
        response.json = async () => { const answer = await read(); setTimeout(answered, 0); return answer; };
        return response;
    };
    box.value = "";
    for (const letter of text) {
        const begun = performance.now();
        const seen = new Promise((done) => { answered = done; });
        box.value += letter;
        box.dispatchEvent(new Event("input"));
        await seen;
        took.push(performance.now() - begun);
    }
    window.fetch = ask;
    return took;
}"""


def run(setting: Setting) -> Table:
    from tests.view.browsing import Browsing
    from tests.view.memory import Home, Page

    program = shutil.which("chromium")
    if program is None:
        raise SystemExit("Chromium is not installed")
    size = setting.rounds(SIZE, 1000)
    place = setting.scratch / "home"
    place.mkdir()
    home = Home(place)
    fill(home, size)
    home.agentm("reindex")
    with Browsing(program, str(setting.scratch)) as browsing:
        with Page(home) as page:
            window = browsing.window(page)
            firsts = [_screen(window, "/") for _ in range(setting.rounds(15, 5))]
            lists = [_screen(window, "/notes") for _ in range(setting.rounds(15, 5))]
            graph = _screen(window, "/graph")
            window.go("/search?q=")
            keys = [took / 1e3 for question in QUESTIONS for took in window.tab.evaluate(_TYPE, question)]
            memory = _memory(page.process.pid)
        begun = time.monotonic()
        home.agentm("view", "--export", str(place / "page"))
        export = time.monotonic() - begun
        opened, searched = _exported(browsing, place / "page")
    rows: list[Row] = [
        _row("first screen, reloaded", firsts, "≤ 500 ms"),
        _row("list of notes, reloaded", lists),
        _row("graph", [graph]),
        _row("search, per key", keys, "≤ 100 ms"),
        _row("export opened from the file system", [opened]),
        _row("export searched, per key", searched),
        _row("export written", [export]),
        {"what": "memory of the server (MB)", "median (ms)": f"{memory:.0f} MB", "goal": "≤ 100 MB"},
    ]
    note = (
        f"{size:,} notes in 20 projects, Chromium on the same machine; a key counts until its answer is in the page."
    )
    return Table("page", "The page", note, rows)


def _row(what: str, seconds: list[float], goal: str = "") -> Row:
    return {
        "what": what,
        "median (ms)": percentile(seconds, 0.5) * 1e3,
        "p95 (ms)": percentile(seconds, 0.95) * 1e3,
        "goal": goal,
    }


def fill(home: Home, size: int) -> None:
    """Notes of a year in twenty projects; every twentieth replaces another, every tenth names one."""
    generator = random.Random(7)
    entries = notes()
    now = datetime.now(UTC)
    for number in range(size):
        entry = generator.choice(entries)
        project = f"project-{number % 20}"
        date = (now - timedelta(hours=generator.expovariate(1 / 2000))).isoformat(timespec="seconds")
        folder, kind = generator.choice(
            [("decisions", "decision"), ("known-issues", "known-issue"), ("facts", "fact")]
        )
        more = f"supersedes: [{entry.slug}-{number - 20}]\n" if number % 20 == 19 and number > 40 else ""
        link = f"\nSee [[{entry.slug}-{generator.randrange(max(1, number))}]] and `src/{number % 300}.py`.\n"
        head = f"---\nkind: {kind}\nstatus: active\n{more}created: {date}\nupdated: {date}\nsource: agent\n---\n\n"
        text = f"{head}# {entry.title} ({number})\n\n{entry.body}\n{link if number % 10 == 0 else ''}"
        home.note(f"projects/{project}/{folder}/{entry.slug}-{number}.md", text)


def _screen(window: Window, path: str) -> float:
    """From the address to what can be read: the frame, the screen, its first heading."""
    begun = time.perf_counter()
    window.tab.goto(window.page.origin + path, wait_until="commit")
    window.tab.wait_for_selector("main h1, main .failure")
    took = time.perf_counter() - begun
    window.settle()
    return took


def _memory(pid: int) -> float:
    """The most that the server ever had, in MB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM:")).split()[1]) / 1024


def _exported(browsing: object, folder: Path) -> tuple[float, list[float]]:
    from tests.view.browsing import Browsing

    assert isinstance(browsing, Browsing)
    context = browsing.browser.new_context()
    tab = context.new_page()
    begun = time.perf_counter()
    tab.goto((folder / "index.html").as_uri())
    tab.wait_for_selector("main h1")
    opened = time.perf_counter() - begun
    script = """(text) => {
        const box = document.getElementById("q"), took = [];
        for (const letter of text) {
            const begun = performance.now();
            box.value += letter;
            box.dispatchEvent(new Event("input"));
            took.push(performance.now() - begun);
        }
        return took;
    }"""
    took = [seconds / 1e3 for seconds in tab.evaluate(script, QUESTIONS[0])]
    assert tab.locator(".found a").count() > 0
    context.close()
    return opened, took
