"""The page as files: opened by a browser without a server, searched, and never written over something else."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.view.browsing import SIZES, Browsing
from tests.view.memory import Home
from tests.view.test_walk import with_past


@pytest.mark.parametrize("mode", ["light", "phone"])
def test_an_export_opens_and_searches_without_a_server(home: Home, browsing: Browsing, axe: str, mode: str) -> None:
    with_past(home)
    home.note("projects/payments/facts/odd #1 100%.md", "# Odd name\n\nSee [[retry-with-jitter]].\n")
    home.note("projects/payments/facts/evil.md", "# <script>document.title='owned'</script>\n\n</script><b>x</b>\n")
    folder = home.path / "out" / "page"
    assert "wrote 13 notes" in home.agentm("view", "--export", str(folder)).stdout
    width, height, scheme = SIZES[mode]
    context = browsing.browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
    tab = context.new_page()
    said: list[str] = []
    tab.on("console", lambda message: said.append(message.text))
    tab.on("pageerror", lambda error: said.append(str(error)))
    tab.goto((folder / "index.html").as_uri())
    assert tab.inner_text("h1") == "Today"
    tab.keyboard.press("/")
    tab.keyboard.type("odd name")
    tab.wait_for_selector("mark")
    tab.click(".found a")
    tab.wait_for_selector("h1:has-text('Odd name')")
    tab.click("article a")
    tab.wait_for_selector("h1:has-text('Retry with full jitter')")
    for words in ("Notes", "Projects", "Graph", "Health", "Checkpoints", "Today"):
        tab.click(f"#menu >> text={words}")
        tab.wait_for_selector(f"h1:has-text('{words}')")
        assert tab.locator("main form, main button, main textarea").count() == 0
        if words == "Graph":
            assert tab.locator(".graph circle").count() > 3
    tab.click("#menu >> text=Projects")
    tab.click("text=payments")
    tab.wait_for_selector("summary:has-text('PLAN.md')")
    assert said == []
    tab.evaluate(axe)
    found = tab.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
    assert [one["id"] for one in found if one["impact"] in ("serious", "critical")] == []
    context.close()


def test_an_export_replaces_an_earlier_one_and_nothing_else(home: Home) -> None:
    folder = home.path / "page"
    home.agentm("view", "--export", str(folder))
    (home.root / "projects/atlas/facts/zoom-levels.md").unlink()
    home.agentm("view", "--export", str(folder))
    assert not (folder / "note/projects/atlas/facts/zoom-levels.md.html").exists()
    assert sorted(path.name for path in home.path.iterdir() if "page" in path.name) == ["page"]
    mine = home.path / "mine"
    mine.mkdir()
    (mine / "thesis.txt").write_text("years of work")
    for place in (mine, mine / "thesis.txt"):
        refused = home.agentm("view", "--export", str(place), check=False)
        assert refused.returncode == 1
        assert refused.stderr.count("error:") == refused.stderr.count("hint:") == 1
    assert (mine / "thesis.txt").read_text() == "years of work"
    assert [path.name for path in mine.iterdir()] == ["thesis.txt"]


def test_an_export_into_a_store_is_refused(home: Home) -> None:
    """Who shares the store would be given a copy of every note, and an encrypted one would hold them in the clear."""
    for place in (home.root / "page", home.root / "projects/atlas/page"):
        refused = home.agentm("view", "--export", str(place), check=False)
        assert refused.returncode == 1
        assert "is a store" in refused.stderr
        assert refused.stderr.count("hint:") == 1
        assert not place.exists()


def test_a_port_that_is_taken_is_one_line_and_a_hint(home: Home) -> None:
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        refused = home.agentm("view", "--no-browser", "--port", str(taken.getsockname()[1]), check=False)
    assert refused.returncode == 1
    assert refused.stderr.startswith("error: port")
    assert "hint: choose another" in refused.stderr


def test_an_export_of_a_store_that_is_gone_writes_nothing(home: Home) -> None:
    home.agentm("save", "--kind", "fact", "--slug", "here", input="# Here\n")
    home.root.rename(home.root.with_name("elsewhere"))
    refused = home.agentm("view", "--export", str(home.path / "page"), check=False)
    assert refused.returncode == 1
    assert not (home.path / "page").exists()
    assert not list(Path(home.path).glob(".page*"))
