"""Who may ask, without a browser: what other programs and other users of this machine can send to the port."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from agentm_kernel.plugin import NotFoundError
from agentm_view.memory import Memory
from agentm_view.server import HEADERS, PageServer


class Served:
    """A page in this process, with a bearer."""

    def __init__(self, server: PageServer) -> None:
        self.server = server
        self.port = server.server_address[1]
        self.origin = f"http://127.0.0.1:{self.port}"
        self.token = server.access.new_address().partition("#token=")[2]
        self.bearer = self.post("/api/enter", {"token": self.token})[1]["bearer"]

    def ask(self, method: str, path: str, body: bytes | None = None, **headers: str | None) -> tuple[int, dict, dict]:
        given = {"Host": f"127.0.0.1:{self.port}", "Authorization": f"Bearer {getattr(self, 'bearer', '')}"}
        if method == "POST":
            given |= {"Origin": self.origin, "Content-Type": "application/json"}
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in given.items():
                if value is not None:
                    connection.putheader(name, value)
            if body is not None:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            answer = connection.getresponse()
            text = answer.read()
            shown = json.loads(text) if answer.headers.get_content_type() == "application/json" else {"text": text}
            return answer.status, shown, dict(answer.headers)
        finally:
            connection.close()

    def post(self, path: str, body: object, **headers: str | None) -> tuple[int, dict, dict]:
        return self.ask("POST", path, json.dumps(body).encode(), **headers)


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    server = PageServer(Memory(read_only=False, cwd=str(home)), 0)
    thread = threading.Thread(target=server.serve)
    thread.start()
    try:
        yield Served(server)
    finally:
        server.shutdown()
        thread.join(10)
        assert not thread.is_alive()


def test_the_shell_holds_no_data_and_every_answer_the_headers(served: Served) -> None:
    for path in ("/", "/note/projects/x.md", "/static/page.js", "/api/menu"):
        status, _, headers = served.ask("GET", path)
        assert status == 200
        policy = headers["Content-Security-Policy"]
        for part in (
            "default-src 'none'",
            "script-src 'self'",
            "base-uri 'none'",
            "frame-ancestors 'none'",
            "form-action 'none'",
        ):
            assert part in policy
        assert "unsafe" not in policy
        assert headers["Cache-Control"] == "no-store"
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert "Set-Cookie" not in headers
        assert "Access-Control-Allow-Origin" not in headers
        assert "Python" not in headers["Server"]
    shells = {served.ask("GET", path, Authorization=None)[1]["text"] for path in ("/", "/note/projects/secret.md")}
    assert len(shells) == 1


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "localhost:{port}",
        "127.0.0.1",
        "127.0.0.1:1",
        "[::1]:{port}",
        "127.0.0.1:{port}.evil.example",
        None,
    ],
)
def test_a_name_that_somebody_leads_here_is_refused(served: Served, host: str | None) -> None:
    """DNS rebinding: the browser asks this address under the attacker's name."""
    name = host and host.format(port=served.port)
    for method, path in (("GET", "/"), ("GET", "/api/menu"), ("POST", "/api/do")):
        status, answer, _ = served.ask(method, path, b"{}" if method == "POST" else None, Host=name)
        assert status == 421
        assert "menu" not in str(answer)


def test_two_host_headers_are_refused(served: Served) -> None:
    with socket.create_connection(("127.0.0.1", served.port), timeout=10) as connection:
        connection.sendall(f"GET /api/menu HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\nHost: evil\r\n\r\n".encode())
        assert b" 421 " in connection.recv(1000)


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1:1", "https://127.0.0.1:{port}", None]
)
def test_other_origins_may_not_send(served: Served, origin: str | None) -> None:
    name = origin and origin.format(port=served.port)
    for path in ("/api/enter", "/api/do"):
        status, _, _ = served.post(path, {"token": served.server.access.new_address().partition("=")[2]}, Origin=name)
        assert status == 403
    if name is not None:
        assert served.ask("GET", "/api/menu", Origin=name)[0] == 403
        assert served.ask("GET", "/api/menu", Origin=name, Authorization=None)[0] == 403, "whoever it is"
    for site in ("cross-site", "same-site", "none"):
        assert served.ask("GET", "/api/menu", Sec_Fetch_Site=site)[0] == 403


@pytest.mark.parametrize(
    "bearer", [None, "", "Bearer", "Bearer ", "Bearer wrong", "Basic dTpw", "bearer {bearer}", "Bearer {token}"]
)
def test_without_the_bearer_there_is_no_data(served: Served, bearer: str | None) -> None:
    given = bearer and bearer.format(bearer=served.bearer, token=served.token)
    for path in ("/api/menu", "/api/screen?at=/", "/api/search?q=a", "/api/part?panel=review", "/api/changes"):
        assert served.ask("GET", path, Authorization=given)[0] == 401
    assert served.post("/api/do", {"do": "undo", "fields": {}}, Authorization=given)[0] == 401


def test_a_token_is_worth_nothing_the_second_time(served: Served) -> None:
    assert served.post("/api/enter", {"token": served.token})[0] == 403
    assert served.post("/api/enter", {"token": ""})[0] == 403
    assert served.post("/api/enter", {})[0] == 403
    assert served.ask("GET", "/api/menu")[0] == 200, "the bearer stays"


@pytest.mark.parametrize("length", ["", "-1", "abc", "1e3", "\u0663", "2\r\nTransfer-Encoding: chunked"])
def test_what_has_no_length_is_refused(served: Served, length: str) -> None:
    head = f"POST /api/do HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\nAuthorization: Bearer {served.bearer}\r\n"
    with socket.create_connection(("127.0.0.1", served.port), timeout=10) as connection:
        kind = f"Origin: {served.origin}\r\nContent-Type: application/json\r\n"
        connection.sendall(f"{head}{kind}Content-Length: {length}\r\n\r\n{{}}".encode())
        assert b" 411 " in connection.recv(1000)


def test_what_an_address_asks_for_is_handed_on_as_it_stands(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(served.server.answers, "get", lambda what, query: (200, {"what": what, **query}))
    asked = served.ask("GET", "/api/part?panel=inbox&kind=&q=a%26b")[1]
    assert asked == {"what": "part", "panel": "inbox", "kind": "", "q": "a&b"}


def test_what_follows_a_request_that_was_refused_is_not_taken_for_another_one(served: Served) -> None:
    ask = f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\n\r\n"
    refused = ask.replace("GET / ", "POST /api/do ").replace("\r\n\r\n", f"\r\nContent-Length: {len(ask)}\r\n\r\n")
    with socket.create_connection(("127.0.0.1", served.port), timeout=10) as connection:
        connection.sendall(f"{refused}{ask}".encode())
        said = b""
        while part := connection.recv(65536):
            said += part
    assert said.count(b"HTTP/1.1 ") == 1
    assert b"agentm" not in said.partition(b"\r\n\r\n")[2]


def test_a_connection_that_nobody_ends_does_not_keep_the_program_from_ending(served: Served) -> None:
    with socket.create_connection(("127.0.0.1", served.port), timeout=10) as connection:
        connection.sendall(f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\n\r\n".encode())
        assert connection.recv(100)
        serving = [thread for thread in threading.enumerate() if "process_request_thread" in thread.name]
        assert serving
        assert all(thread.daemon for thread in serving)


def test_requests_have_limits(served: Served) -> None:
    assert served.ask("POST", "/api/do", b"{}", Content_Type="text/plain")[0] == 415
    assert served.ask("POST", "/api/do", b"[1]")[0] == 400
    assert served.ask("POST", "/api/menu", b"{}")[0] == 404
    assert served.ask("POST", "/api/do", b"[" * 100_000)[0] == 400
    assert served.post("/api/do", {"do": "write", "fields": {"key": 1}})[0] == 400
    with socket.create_connection(("127.0.0.1", served.port), timeout=10) as connection:
        head = f"POST /api/do HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\nOrigin: {served.origin}\r\n"
        head += f"Authorization: Bearer {served.bearer}\r\n"
        connection.sendall(f"{head}Content-Type: application/json\r\nContent-Length: 99999999999\r\n\r\n".encode())
        assert b" 413 " in connection.recv(1000)
    assert served.ask("GET", "/static/../server.py")[0] == 404
    assert served.ask("GET", "/static/%2e%2e/server.py")[0] == 404
    assert served.ask("DELETE", "/api/do")[0] == 501
    many = [socket.create_connection(("127.0.0.1", served.port), timeout=10) for _ in range(80)]
    try:
        many[-1].settimeout(5)
        assert many[-1].recv(10) == b"", "beyond the limit, whoever comes is turned away"
    finally:
        for connection in many:
            connection.close()
    for _ in range(100):
        try:
            assert served.ask("GET", "/api/menu")[0] == 200
            break
        except (ConnectionError, http.client.HTTPException):
            time.sleep(0.05)
    else:
        raise AssertionError("the page does not answer any more")


def test_it_is_bound_to_the_loopback_address_only(served: Served) -> None:
    assert served.server.server_address[0] == "127.0.0.1"


def test_it_ends_when_nobody_asks(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    monkeypatch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
    server = PageServer(Memory(read_only=True), 0, idle=0.5)
    begun = time.monotonic()
    server.serve()
    assert 0.4 < time.monotonic() - begun < 10


def test_a_tab_that_is_only_open_does_not_keep_it_alive(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Its stream lives for hours; what counts is that somebody uses the page."""
    monkeypatch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
    monkeypatch.setattr("agentm_view.server._BEAT", 0.2)
    server = PageServer(Memory(read_only=True), 0, idle=2.0)
    thread = threading.Thread(target=server.serve)
    thread.start()
    served = Served(server)
    head = (
        f"GET /api/changes HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\nAuthorization: Bearer {served.bearer}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", served.port), timeout=20) as stream:
        stream.sendall(head.encode())
        for _ in range(6):
            time.sleep(0.5)
            assert served.ask("GET", "/api/here")[0] == 200, "whoever uses it keeps it alive"
        thread.join(20)
        assert not thread.is_alive()
        said = b""
        while part := stream.recv(65536):
            said += part
        head, _, lines = said.partition(b"\r\n\r\n")
        assert json.loads(lines.splitlines()[-1]) == {"ended": True}, "and the tab is told"
        assert b"{}" in lines.splitlines(), "a sign of life, now and then"
        for name, value in HEADERS.items():
            assert f"\r\n{name}: {value}\r\n".encode() in head
        assert b"\r\nContent-Type: application/x-ndjson; charset=utf-8\r\n" in head


# -- what is answered -----------------------------------------------------------------------------------------


def test_who_has_entered_is_known(served: Served) -> None:
    assert served.server.entered.is_set()


def test_what_went_wrong_is_said_with_its_number_and_what_to_do(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(error: Exception) -> None:
        def get(*_: object) -> None:
            raise error

        monkeypatch.setattr(served.server.answers, "get", get)

    fails(NotFoundError("there is no such note", hint="search for it"))
    assert served.ask("GET", "/api/menu")[:2] == (404, {"error": "there is no such note", "hint": "search for it"})
    fails(RuntimeError("it broke"))
    status, said, _ = served.ask("GET", "/api/menu")
    assert status == 500
    assert said["hint"].startswith("reload it; if agentm was upgraded")
    assert said["error"].startswith("the page made a mistake: ")
    assert "it broke" in said["error"]


def test_text_that_cannot_be_sent_is_replaced(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(served.server.answers, "get", lambda *_: (200, {"html": "é\ud800"}))
    assert served.ask("GET", "/api/screen")[1] == {"html": "é?"}


def test_an_address_asks_for_twenty_things_at_most(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(served.server.answers, "get", lambda _what, query: (200, query))
    asked = [f"f{number}=1" for number in range(21)]
    assert len(served.ask("GET", f"/api/part?{'&'.join(asked[:20])}")[1]) == 20
    assert served.ask("GET", f"/api/part?{'&'.join(asked)}")[0] == 500


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/", "text/html"),
        ("/static/page.css", "text/css"),
        ("/static/page.js", "text/javascript"),
        ("/static/graph.js", "text/javascript"),
        ("/static/mark.svg", "image/svg+xml"),
        ("/api/here", "application/json"),
    ],
)
def test_every_answer_says_what_it_is(served: Served, path: str, kind: str) -> None:
    status, _, headers = served.ask("GET", path)
    assert (status, headers["Content-Type"]) == (200, f"{kind}; charset=utf-8")


@pytest.mark.parametrize(
    ("given", "number", "said"),
    [
        ({"do": "write", "fields": {"key": 1}}, 400, "the fields of a form are text"),
        ({"do": "write", "fields": ["key"]}, 400, "the fields of a form are text"),
        ({"do": "write"}, 400, "the fields of a form are text"),
        (["do"], 400, "this is not what the page sends"),
    ],
)
def test_what_a_form_may_not_send_is_refused(served: Served, given: object, number: int, said: str) -> None:
    assert served.post("/api/do", given)[:2] == (number, {"error": said})


def test_a_form_is_handed_on_as_it_was_filled_in(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(served.server.answers, "do", lambda what, fields: (409, {"what": what, **fields}))
    kind = "application/json; charset=utf-8"
    done = served.post("/api/do", {"do": "write", "fields": {"key": "a.md"}}, Content_Type=kind)
    assert done[:2] == (409, {"what": "write", "key": "a.md"})
    assert served.post("/api/do", {"fields": {}})[:2] == (409, {"what": ""})


@pytest.mark.parametrize(("length", "number"), [(24 << 20, 400), ((24 << 20) + 1, 413)])
def test_the_largest_note_may_be_sent_and_nothing_larger(served: Served, length: int, number: int) -> None:
    head = f"POST /api/do HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\nOrigin: {served.origin}\r\n"
    head += f"Authorization: Bearer {served.bearer}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n"
    with socket.create_connection(("127.0.0.1", served.port), timeout=10) as connection:
        connection.sendall(f"{head}\r\n{{".encode())
        connection.shutdown(socket.SHUT_WR)
        assert f" {number} ".encode() in connection.recv(1000)


def test_half_an_hour_without_use_ends_the_page(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
    clock = SimpleNamespace(now=1000.0)
    monkeypatch.setattr("agentm_view.server.time", SimpleNamespace(monotonic=lambda: clock.now))
    ended = threading.Event()
    with PageServer(Memory(read_only=True)) as server:
        monkeypatch.setattr(server, "shutdown", ended.set)
        clock.now = 1500.0
        server.touch()
        clock.now += 1800.0
        server.service_actions()
        assert not ended.wait(0.05)
        clock.now += 0.1
        server.service_actions()
        assert ended.wait(10)
