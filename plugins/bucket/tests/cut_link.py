"""A cable between two network namespaces that can be cut: what is sent then vanishes, and nobody is told.

The client runs in one namespace; in the other one a socket listens, whose connections this process passes on to a
real server. Cut `BOTH_WAYS`, nothing arrives anywhere; with `NO_REPLIES`, requests arrive and are carried out.

Needs `unshare`, `nsenter` and `ip`, and a system that lets this user make namespaces. Where that is not so, tests are
skipped with that reason. AGENTM_REQUIRE_SERVERS makes no failure of it: that switch asks for what can be installed,
and the right to make namespaces cannot.
"""

from __future__ import annotations

import contextlib
import select
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from urllib.parse import urlsplit

BOTH_WAYS = ("link set server down", "link set server up")
NO_REPLIES = ("route add blackhole 10.99.0.2", "route del blackhole 10.99.0.2")

_WITHOUT_NETWORK = ("unshare", "--map-root-user", "--net")

# The server's namespace. Its child has the client's one; both end with this process' standard input.
_HOLDER = """
import socket, subprocess, sys

def ip(words, *where):
    subprocess.run([*where, "ip", *words.split()], check=True)

wait = ["unshare", "--net", "sh", "-c", "echo ready; exec cat"]
client = subprocess.Popen(wait, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
client.stdout.readline()
inside = ("nsenter", "--net", "--target", str(client.pid))
ip(f"link add server address 02:00:00:00:00:01 type veth peer name client netns {client.pid}")
ip("address add 10.99.0.1/24 dev server")
ip("link set server up")
ip("address add 10.99.0.2/24 dev client", *inside)
ip("link set client up", *inside)
# Known by hand: whoever has to ask for the neighbour would be told that it is gone.
ip("neighbour replace 10.99.0.1 lladdr 02:00:00:00:00:01 dev client nud permanent", *inside)
listener = socket.create_server(("10.99.0.1", 0), backlog=64)
with socket.socket(fileno=int(sys.argv[1])) as parent:
    socket.send_fds(parent, [str(client.pid).encode()], [listener.fileno()])
for line in sys.stdin:
    ip(line)
    print("done", flush=True)
client.stdin.close()
client.wait()
"""


class NoNamespacesError(Exception):
    """This machine lets nobody make network namespaces."""


class Link:
    """The cable, from the client's end."""

    def __init__(self, holder: subprocess.Popen[str], client: int, listener: socket.socket, endpoint: str) -> None:
        self._holder = holder
        target = urlsplit(endpoint)
        port = listener.getsockname()[1]
        self.endpoint = f"http://10.99.0.1:{port}{target.path}"
        self.inside = ("nsenter", "--preserve-credentials", "--user", "--net", "--target", str(client), "--")
        """Put before a command, this runs it in the client's namespace."""
        relay = threading.Thread(target=_relay, args=(listener, (target.hostname, target.port)), daemon=True)
        relay.start()

    @contextlib.contextmanager
    def cut(self, way: tuple[str, str]) -> Iterator[None]:
        """While the block lasts, what is sent vanishes."""
        down, up = way
        self._ip(down)
        try:
            yield
        finally:
            self._ip(up)

    def _ip(self, words: str) -> None:
        assert self._holder.stdin is not None
        assert self._holder.stdout is not None
        self._holder.stdin.write(f"{words}\n")
        self._holder.stdin.flush()
        if self._holder.stdout.readline() != "done\n":
            raise RuntimeError(f"`ip {words}` failed")


@contextlib.contextmanager
def linked(endpoint: str) -> Iterator[Link]:
    """A client's namespace whose only way out is a cable to `endpoint`."""
    if missing := [name for name in ("unshare", "nsenter", "ip") if shutil.which(name) is None]:
        raise NoNamespacesError(f"this system has no {', '.join(missing)}")
    tried = subprocess.run([*_WITHOUT_NETWORK, "true"], capture_output=True, text=True, check=False)
    if tried.returncode:
        raise NoNamespacesError(f"no network namespace can be made here: {tried.stderr.strip()}")
    here, there = socket.socketpair()
    with (
        here,
        subprocess.Popen(
            [*_WITHOUT_NETWORK, sys.executable, "-c", _HOLDER, str(there.fileno())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            pass_fds=[there.fileno()],
        ) as holder,
    ):
        there.close()
        said, descriptors, _, _ = socket.recv_fds(here, 100, 1)
        if not descriptors:
            raise RuntimeError("the namespaces were not made")
        with socket.socket(fileno=descriptors[0]) as listener:
            try:
                yield Link(holder, int(said), listener, endpoint)
            finally:
                with contextlib.suppress(OSError):
                    listener.shutdown(socket.SHUT_RDWR)  # wakes the relay, which waits in accept


def _relay(listener: socket.socket, target: tuple[str, int]) -> None:
    while True:
        try:
            client, _ = listener.accept()
        except OSError:
            return  # closed: the link is gone
        threading.Thread(target=_pass_on, args=(client, target), daemon=True).start()


def _pass_on(client: socket.socket, target: tuple[str, int]) -> None:
    """Whatever either side says, until one of them ends."""
    with client, contextlib.suppress(OSError), socket.create_connection(target) as server:
        other = {client: server, server: client}
        while True:
            ready, _, _ = select.select(list(other), [], [], 60)
            for source in ready:
                data = source.recv(65536)
                if not data:
                    return
                other[source].sendall(data)
            if not ready:
                return
