"""Every screen of one small memory, tag by tag: what the stylesheet and the page's script go by is there, and stays.

The pages that are compared with lie in `markup/`. Whoever changes a screen on purpose runs these tests once with
`AGENTM_REDRAW=1`, which writes them anew, and reads the difference.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agentm_kernel.plugin import DoctorRow, FileStore, Locator, Panel
from agentm_view.answers import Answers
from agentm_view.export import export
from agentm_view.memory import Memory

pytest.importorskip("agentm_recall")

DRAWN = Path(__file__).with_name("markup")
NOW = 1_780_000_000.0  # 2026-05-28
STAMP = '{"version": 1, "id": "6b0c1d52-page", "created": "2026-01-01T00:00:00+00:00", "layout": 1}\n'
PORT, HOST = "projects/payments/facts/port.md", "projects/payments/facts/host.md"
NOTES = {
    PORT: (
        "---\nkind: fact\nstatus: active\ntags: [net, http]\ncreated: 2026-05-01\nupdated: 2026-05-28T03:00:00Z\n"
        'source: agent\nconfidence: 0.9\nsupersedes: [host]\nverified: "2026-05-20"\norigin: import/17\n---\n\n'
        "# The port\n\nIt is 443, in `src/net.py`. See [[queue]].\n"
    ),
    HOST: "---\nkind: fact\nstatus: superseded\ncreated: 2026-04-01\n---\n\n# The host\n\nIt was here.\n",
    "projects/payments/decisions/queue.md": (
        "---\nkind: decision\ncreated: 2026-05-02\n---\n\n# One queue\n\nOne for all, as `src/net.py` says.\n"
    ),
    "projects/payments/known-issues/slow.md": "---\nkind: known-issue\nstatus: deleted\n---\n\nNo heading.\n",
    "personal/conventions/tone.md": (
        "---\nkind: convention\ntitle: Tone\nupdated: 2025-01-01\n---\n\n# Write plainly\n\nShort.\n"
    ),
    "personal/facts/odd.md": "---\nkind: [\n---\n\n# Odd\n",
}
ACTION = {"action": "go", "label": "Go", "fields": {"k": "v"}, "first": True, "confirm": "Really?"}
BLOCKS: list[dict[str, Any]] = [
    {"type": "heading", "text": "A heading"},
    {"type": "text", "text": "A line", "quiet": True},
    {"type": "markdown", "text": "*prose*"},
    {"type": "figures", "items": [{"label": "delivered", "value": "41 of 41"}]},
    {"type": "rows", "rows": [{"status": "warn", "label": "x", "text": "y", "hint": "run `agentm x`", "note": PORT}]},
    {"type": "table", "columns": ["c"], "rows": [["1"], [{"text": "n", "open": {"q": "a"}, "time": NOW - 7200}]]},
    {"type": "timeline", "items": [{"time": 0, "title": "then", "status": "odd", "text": "words", "notes": [PORT]}]},
    {"type": "card", "title": "Decide", "text": "about", "time": NOW, "markdown": "# body", "actions": [ACTION]},
    {"type": "sides", "left": {"title": "l", "text": "1\n2"}, "right": {"title": "r", "text": "1\n3"}},
    {"type": "diff", "before": "1\n2\n", "after": "1\n3\n"},
    {
        "type": "action",
        "action": "say",
        "label": "Say",
        "danger": True,
        "ask": [{"name": "one", "label": "One line", "text": "a"}, {"name": "many", "long": True, "text": "b"}],
    },
]


def shows(*blocks: dict[str, Any]) -> Any:
    return lambda _query: list(blocks)


PANELS = [
    Panel("inbox", "Inbox", "decide", shows(BLOCKS[7])),
    Panel("told", "Told", "today", shows(BLOCKS[1])),
    Panel("before", "Earlier versions", "note", shows(BLOCKS[6])),
    Panel("all-blocks", "All blocks", "more", shows(*BLOCKS)),
    Panel("silent", "Silent", "more", shows()),
    Panel("wrong", "Wrong", "more", lambda _query: "text"),  # type: ignore[arg-type, return-value]
]
ROWS = [DoctorRow("ok", "index", "it is up to date"), DoctorRow("fail", "hooks", "none", "run `agentm connect`")]

SCREENS = {
    "today": "/",
    "notes": "/notes",
    "notes-past": "/notes?status=past&kind=fact",
    "notes-none": "/notes?kind=none",
    "search": "/search?q=port%20443",
    "search-nothing": "/search?q=quokka",
    "search-empty": "/search",
    "projects": "/projects",
    "project": "/project/payments",
    "graph": "/graph",
    "graph-of-another-project": "/graph?project=others",
    "health": "/health",
    "note": f"/note/{PORT}",
    "note-replaced": f"/note/{HOST}",
    "note-forgotten": "/note/slow",
    "note-personal": "/note/tone",
    "note-unreadable": "/note/odd",
    "note-gone": "/note/nowhere",
    "edit": f"/edit?note={PORT}",
    "new": "/new?project=payments",
    "replace": f"/new?supersedes={PORT}",
    "panel": "/panel/all-blocks",
    "panel-silent": "/panel/silent",
    "panel-wrong": "/panel/wrong",
    "panel-unknown": "/panel/nobodys",
    "no-screen": "/nowhere",
}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [name for name in os.environ if name.startswith(("XDG_", "AGENTM_", "MEMORY_"))]:
        if name != "AGENTM_REDRAW":
            monkeypatch.delenv(name)
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(home)
    clock = SimpleNamespace(time=lambda: NOW)
    monkeypatch.setattr("agentm_view.blocks.time", clock)
    monkeypatch.setattr("agentm_view.screens.today.time", clock)
    monkeypatch.setattr("agentm_recall.index.search.time", clock)
    monkeypatch.setattr(Memory, "panels", lambda _memory: (PANELS, ()))
    monkeypatch.setattr(Memory, "doctor_rows", lambda _memory: (ROWS, ()))
    return home


@pytest.fixture
def filled(home: Path) -> Path:
    store = FileStore(home / ".agentm" / "memory", create_root=True)
    state = {"projects/payments/_harness/PLAN.md": "- [x] done\n", "projects/payments/_harness/progress.md": "\n"}
    for key, text in {"_meta/store.json": STAMP, **NOTES, **state}.items():
        store.write(Locator(key), text)
        os.utime(home / ".agentm" / "memory" / key, (1_700_000_000, 1_700_000_000))
    return home


def drawn_before(name: str, drawn: str, home: Path) -> str:
    """What was drawn when somebody looked last."""
    file = DRAWN / f"{name}.html"
    if os.environ.get("AGENTM_REDRAW"):
        file.write_text(on_lines(drawn, home), encoding="utf-8")
    return file.read_text(encoding="utf-8")


def on_lines(drawn: str, home: Path) -> str:
    """A line for each tag, so that a difference can be read; without the words of the library that reads YAML."""
    drawn = re.sub(r"(is not YAML): [^<]*", r"\1", drawn)
    return drawn.replace("><", ">\n<").replace(str(home), "~").strip() + "\n"


@pytest.mark.parametrize(("name", "address"), SCREENS.items())
def test_a_screen_is_drawn_as_it_was(filled: Path, name: str, address: str) -> None:
    memory = Memory(read_only=False, cwd=str(filled))
    memory.notes().refresh()
    _, screen = Answers(memory).get("screen", {"at": address})
    drawn = f"<title>{screen['title']}</title>{screen['html']}<about>{sorted(screen['about'].items())}</about>"
    assert on_lines(drawn, filled) == drawn_before(name, drawn, filled)


@pytest.mark.parametrize("now", ["gone", "the same", "another"])
def test_whoever_wrote_meanwhile_loses_nothing(filled: Path, now: str) -> None:
    answers = Answers(Memory(read_only=False, cwd=str(filled)))
    mine, file = NOTES[PORT].replace("443", "8443"), filled / ".agentm" / "memory" / PORT
    if now == "gone":
        file.unlink()
    else:
        file.write_text(mine if now == "the same" else NOTES[PORT].replace("443", "80"))
    status, told = answers.do("write", {"key": PORT, "text": mine, "expect": "what was shown"})
    assert (status, told["error"]) == (409, "The note was changed meanwhile.")
    html = str(told["html"])
    assert on_lines(html, filled) == drawn_before(f"meanwhile-{now.replace(' ', '-')}", html, filled)


@pytest.mark.parametrize("slug", ["payments", "others"])
def test_the_plan_of_the_checkout_in_which_the_page_was_opened_is_with_its_project(filled: Path, slug: str) -> None:
    checkout = filled / slug
    (checkout / ".git").mkdir(parents=True)
    (checkout / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (checkout / ".git" / "config").write_text(f'[remote "origin"]\n\turl = git@example.com:ana/{slug}.git\n')
    record = '{"version": 1, "id": "1", "remotes": ["example.com/ana/payments"]}\n'
    (filled / ".agentm/memory/projects/payments/_project.json").write_text(record)
    (checkout / ".harness").mkdir()
    (checkout / ".harness" / "PLAN.md").write_text("- [ ] to be done here\n")
    answers = Answers(Memory(read_only=True, cwd=str(checkout)))
    html = str(answers.get("screen", {"at": "/project/payments"})[1]["html"])
    assert ("to be done here" in html, "in ~/payments" in html) == (slug == "payments",) * 2


@pytest.mark.parametrize(("name", "address"), [("today", "/"), ("notes", "/notes"), ("projects", "/projects")])
def test_an_empty_memory_says_what_to_do(home: Path, name: str, address: str) -> None:
    drawn = str(Answers(Memory(read_only=False, cwd=str(home))).get("screen", {"at": address})[1]["html"])
    assert on_lines(drawn, home) == drawn_before(f"empty-{name}", drawn, home)


def test_a_memory_that_may_only_be_read_has_nothing_to_press(filled: Path) -> None:
    answers = Answers(Memory(read_only=True, cwd=str(filled)))
    for address in ("/", "/notes", f"/note/{PORT}", "/panel/all-blocks"):
        html = str(answers.get("screen", {"at": address})[1]["html"])
        assert "<form" not in html
        assert "New note" not in html
    for address in ("/new", f"/edit?note={PORT}"):
        assert answers.get("screen", {"at": address})[0] == 404


def test_of_more_than_a_hundred_notes_the_newest_are_on_the_first_page(filled: Path) -> None:
    for number in range(230):
        file = filled / ".agentm/memory/personal/facts" / f"n{number:03}.md"
        file.write_text(
            f"---\nkind: fact\nupdated: 2024-01-01T{number // 60:02}:{number % 60:02}:00\n---\n\n# N{number}\n"
        )
    answers = Answers(Memory(read_only=False, cwd=str(filled)))
    for name, address in (("first", "/notes?kind=fact"), ("second", "/notes?kind=fact&from=100")):
        html = str(answers.get("screen", {"at": address})[1]["html"])
        assert html.count('class="title"') == 100
        pages = html[html.index('<nav class="pages"') :]
        assert on_lines(pages, filled) == drawn_before(f"pages-{name}", pages, filled)
    last = str(answers.get("screen", {"at": "/notes?kind=fact&from=200"})[1]["html"])
    assert (last.count('class="title"'), "older" in last) == (32, False)


def test_an_export_is_the_same_screens_as_files(filled: Path) -> None:
    said = export(Memory(read_only=True, cwd=str(filled)), str(filled / "page"))
    assert said == f"wrote 6 notes to {filled / 'page' / 'index.html'}"
    made = {str(file.relative_to(filled / "page")) for file in (filled / "page").rglob("*") if file.is_file()}
    listed = "\n".join(sorted(made))
    assert on_lines(listed, filled) == drawn_before("export-files", listed, filled)
    for name in ("index.html", "notes.html", f"note/{PORT}.html", "panel/all-blocks.html", "static/search-index.js"):
        text = (filled / "page" / name).read_text(encoding="utf-8")
        plain = f"export-{name.replace('/', '-').removesuffix('.html')}"
        assert on_lines(text, filled) == drawn_before(plain, text, filled)
