"""The threat model of `docs/explanation/page-security.md`, item by item, with the real page and a real browser."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

from tests.view.browsing import Browsing
from tests.view.memory import AGENTM, Home, Page

EVIL = (
    """---
status: active
tags: ["<img src=x onerror=alert(1)>", "</textarea><script>alert(1)</script>"]
source: "<svg onload=alert(1)>"
---

# <script>alert('title')</script> \u202egnp.exe

<script>document.title = 'owned'</script>
<img src=x onerror="document.title='owned'">
<style>* { display: none }</style>
<svg onload="document.title='owned'"></svg>

![pixel](http://evil.example/pixel.png)
[click](javascript:document.title='owned')
[data](data:text/html,<script>1</script>)
[file](file:///etc/passwd)
<javascript:alert(1)>
[[<img src=x onerror=alert(1)>|words]]

</article></main><h1>not a heading of the page</h1>
"""
    + "> " * 500
    + "deep\n"
)


TRIES = """async (origin) => {
    const said = {};
    const attempt = async (name, work) => {
        try { said[name] = await work(); } catch (error) { said[name] = "refused"; }
    };
    const post = (path, more) => fetch(origin + path, { method: "POST", body: "{}", ...more });
    await attempt("read", async () => (await fetch(origin + "/api/screen?at=/")).status);
    await attempt("enter", async () => (await post("/api/enter", {})).status);
    await attempt("write", async () => (await post("/api/do", { mode: "no-cors" })).type);
    await attempt("script", () => new Promise((loaded, refused) => {
        const script = document.createElement("script");
        Object.assign(script, { src: origin + "/static/page.js", onload: loaded, onerror: refused });
        document.head.append(script);
    }));
    await attempt("key", () => sessionStorage.getItem("agentm-bearer") || "none");
    await attempt("tabs", () => new Promise((done) => {
        const channel = new BroadcastChannel("agentm-view");
        channel.onmessage = () => done("heard");
        channel.postMessage({ asks: "me" });
        setTimeout(() => done("silent"), 400);
    }));
    await attempt("frame", () => new Promise((done) => {
        const frame = document.createElement("iframe");
        Object.assign(frame, { src: origin + "/", onload: () => done("loaded") });
        document.body.append(frame);
    }));
    return said;
}"""
"""What a page of another origin can try."""


def test_a_note_is_only_ever_text(home: Home, page: Page, browsing: Browsing) -> None:
    key = "projects/payments/facts/evil.md"
    home.note(key, EVIL)
    home.note("projects/payments/facts/huge.md", "# Huge\n\n" + "word `code` **bold** " * 60_000)
    home.note(
        "projects/payments/facts/rtl.md",
        "# \u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd\n\n\u0645\u0631\u062d\u0628\u0627\n",
    )
    window = browsing.window(page)
    asked: list[str] = []
    window.tab.on("request", lambda request: asked.append(request.url))
    for path in (f"/note/{key}", "/", "/notes", f"/edit?note={key}", "/search?q=deep", "/project/payments"):
        window.go(path)
        assert "owned" not in window.tab.title()
        assert window.tab.locator("main h1").count() == 1
        assert window.tab.locator("main script, main style, main svg, main iframe, main img").count() == 0
        names = window.tab.evaluate("[...document.querySelectorAll('main *')].flatMap(e => e.getAttributeNames())")
        assert [name for name in names if name.startswith("on") or name == "style"] == []
        links = window.tab.eval_on_selector_all("main a", "all => all.map(a => a.protocol)")
        assert set(links) <= {"http:", "https:"}
    window.go(f"/note/{key}")
    assert "[U+202E]" in window.tab.inner_text("h1"), "what turns text round is spelled out"
    assert "image: pixel" in window.text()
    assert all(url.startswith(page.origin) for url in asked), "nothing is fetched from elsewhere"
    window.go("/note/projects/payments/facts/huge.md")
    assert "more characters" in window.text()
    window.go("/note/projects/payments/facts/rtl.md")
    assert window.said == []


def test_a_page_on_another_port_gets_nothing(page: Page, browsing: Browsing) -> None:
    """It can send requests; the browser says where they come from, and no answer is for it."""
    window = browsing.window(page)
    heard: list[str] = []

    class Other(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            heard.append(self.headers.get("Cookie", ""))
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<!doctype html><title>other</title><h1>other</h1>")

        def log_message(self, *_: object) -> None: ...

    server = HTTPServer(("127.0.0.1", 0), Other)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        tab = window.context.new_page()
        tab.goto(f"http://127.0.0.1:{server.server_address[1]}/")
        said = tab.evaluate(TRIES, page.origin)
        assert said["read"] == said["enter"] == said["script"] == "refused"
        assert said["key"] == "none"
        assert said["tabs"] == "silent"
        frame = next(frame for frame in tab.frames if frame.url != tab.url)
        assert "chrome-error" in frame.url or frame.locator("#main").count() == 0, "it cannot be framed"
        assert heard[0] == "", "there is no cookie that could go along"
    finally:
        server.shutdown()
        server.server_close()
    assert window.said == []


def test_the_token_works_once_and_is_nowhere_to_be_found(home: Home, page: Page, browsing: Browsing) -> None:
    window = browsing.window(page)
    assert page.token not in window.tab.evaluate("location.href + document.documentElement.outerHTML")
    assert window.tab.evaluate("history.length") <= 2
    again = browsing.browser.new_context().new_page()
    again.goto(page.address)
    again.wait_for_selector("text=This tab has no key")
    arguments = Path(f"/proc/{page.process.pid}/cmdline").read_bytes()
    assert page.token.encode() not in arguments
    files = [file for file in home.path.rglob("*") if file.is_file()]
    assert all(page.token.encode() not in file.read_bytes() for file in files)
    assert window.bearer not in window.tab.evaluate("document.cookie + location.href")


def test_the_browser_is_opened_through_a_private_file(home: Home) -> None:
    """A browser of ours says what it was given: the name of a file that only the owner may read."""
    told = home.path / "told"
    browser = home.path / "browser"
    browser.write_text(f"#!{sys.executable}\nimport sys\nopen({str(told)!r}, 'w').write('\\n'.join(sys.argv[1:]))\n")
    browser.chmod(0o755)
    process = subprocess.Popen(
        [*AGENTM, "view"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        cwd=home.checkout,
        env={**home.environ, "BROWSER": f"{browser} %s"},
    )
    try:
        assert process.stdout is not None
        shown = process.stdout.readline() + process.stdout.readline()
        assert "token" not in shown
        given = told.read_text()
        assert given.startswith("file://")
        assert "token" not in given
        file = given.removeprefix("file://")
        assert stat.S_IMODE(os.stat(file).st_mode) == 0o600
        assert stat.S_IMODE(os.stat(os.path.dirname(file)).st_mode) == 0o700
        text = Path(file).read_text()
        assert "#token=" in text
        token = text.partition("#token=")[2].partition('"')[0]
        origin = text.partition("url=")[2].partition("/#")[0]
        _enter(origin, token)
        for _ in range(50):
            if not os.path.exists(file):
                break
            time.sleep(0.05)
        assert not os.path.exists(file), "the file goes once the page is open"
    finally:
        process.kill()
        process.communicate()


def _enter(origin: str, token: str) -> str:
    import urllib.request

    request = urllib.request.Request(
        f"{origin}/api/enter",
        json.dumps({"token": token}).encode(),
        {"Content-Type": "application/json", "Origin": origin},
    )
    with urllib.request.urlopen(request, timeout=10) as answer:
        return str(json.loads(answer.read())["bearer"])
