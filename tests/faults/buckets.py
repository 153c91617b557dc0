"""R15: writers on two devices count in one note of an object store, and everything between them and it fails.

Real servers, which `make servers` installs: stopped and started again, behind a network where a fifth of all requests
is refused, hangs or loses its reply, and behind a cable that is cut. No increment is lost or made twice, and no call
takes longer than the store's deadline.
"""

from __future__ import annotations

import time
import uuid
from typing import TYPE_CHECKING

from counting import NO_CONDITION, NO_HISTORY, begin, counted, finish, start, start_counters
from cut_link import BOTH_WAYS, NO_REPLIES, NoNamespacesError, linked
from fault_proxy import FaultProxy
from stopwatch import ALLOWANCE, Stopwatch

from agentm_kernel import AgentmError, Locator
from tests.faults.harness import Outcome
from tests.faults.object_stores import each_server

if TYPE_CHECKING:
    from bucket_servers import Running, Server
    from counting import Counter, Tally

    from tests.faults.harness import Intensity

HANGS = 900.0
"""Seconds after which writers count as stuck."""

FAULTS = 0.2
SLOWEST = "slowest call in deadlines"


def campaign(intensity: Intensity) -> Outcome:
    outcome = Outcome("increments in a bucket, by writers on two devices")
    for server in each_server(intensity, outcome):
        _all_faults(server, intensity, outcome)
        if not outcome.controls:
            _controls(server.server, intensity, outcome)
    return outcome


def _all_faults(server: Running, intensity: Intensity, outcome: Outcome) -> None:
    _healthy(server.server, intensity, outcome)
    _restarted(server, intensity, outcome)
    _bad_network(server.server, intensity, outcome)
    try:
        _cut_off(server.server, intensity, outcome)
    except NoNamespacesError as reason:
        outcome.skips.append(f"the cut cable: {reason}")


# ------------------------------------------------------------------------------------------------ faults


def _healthy(server: Server, intensity: Intensity, outcome: Outcome, *, broken: str = "") -> None:
    prefix = _begun(server)
    processes, times = intensity.pick(short=4, full=8), intensity.pick(short=10, full=100)
    _check(outcome, server, prefix, start_counters(server, prefix, processes=processes, times=times, broken=broken))


def _restarted(server: Running, intensity: Intensity, outcome: Outcome) -> None:
    """The server is stopped in the middle, and started again some seconds later."""
    prefix = _begun(server.server)
    processes, times = intensity.pick(short=4, full=8), intensity.pick(short=10, full=100)
    counters = start_counters(server.server, prefix, processes=processes, times=times, deadline=120, attempt=5)
    while counted(server.server, prefix) < processes * times // 4 and any(each.poll() is None for each in counters):
        time.sleep(0.05)
    server.shut_down()
    server.start()
    _check(outcome, server.server, prefix, counters)


def _bad_network(server: Server, intensity: Intensity, outcome: Outcome, *, broken: str = "") -> None:
    prefix = _begun(server)
    hang, times = 2.0, intensity.pick(short=5, full=50)
    with FaultProxy(server.endpoint, rate=FAULTS, hang=hang, seed=intensity.seed) as proxy:
        counters = start_counters(
            server.at(proxy.endpoint), prefix, processes=8, times=times, broken=broken, attempt=1, deadline=30
        )
        tally = finish(counters, limit=HANGS)
        _measure(outcome, "faults of requests", sum(proxy.faults.values()))
    time.sleep(hang + 0.5)  # what the network still held back arrives now, and must change nothing
    _judge(outcome, tally, counted(server, prefix))


def _cut_off(server: Server, intensity: Intensity, outcome: Outcome) -> None:
    """A cable that is cut and mended at any moment, in both directions or in one."""
    prefix, chance = _begun(server), intensity.random("cuts")
    cuts = intensity.pick(short=2, full=20)
    options = {"allow_http": True, "deadline": 2.0, "attempt": 0.5}
    pauses = [(chance.uniform(0.3, 1.5), chance.uniform(0.5, 3.0)) for _ in range(cuts)]
    with linked(server.endpoint) as link:
        given = (prefix, "cut-off", options, sum(map(sum, pauses)) + 2.0)
        counter = start("count_for", server.at(link.endpoint), given, link.inside)
        for whole, broken in pauses:
            time.sleep(whole)
            with link.cut(chance.choice((BOTH_WAYS, NO_REPLIES))):
                time.sleep(broken)
        _check(outcome, server, prefix, [counter])
    _measure(outcome, "cuts", cuts)


# ------------------------------------------------------------------------------------------------ verdicts


def _begun(server: Server) -> str:
    prefix = uuid.uuid4().hex
    begin(server.open(prefix))
    return prefix


def _check(outcome: Outcome, server: Server, prefix: str, counters: list[Counter]) -> None:
    tally = finish(counters, limit=HANGS)
    _judge(outcome, tally, counted(server, prefix))


def _judge(outcome: Outcome, tally: Tally, found: int) -> None:
    outcome.count += tally.made
    for failure in tally.failures:
        outcome.violation("late" if "calls were late" in failure else "failed", failure)
    for _ in range(tally.made - found):
        outcome.violation("lost", f"{found} of {tally.made} increments are there")
    for _ in range(found - tally.made - tally.refused):
        outcome.violation("doubled", f"{found} increments are there, and {tally.made + tally.refused} were made")
    _measure(outcome, "calls", tally.calls)
    outcome.measured[SLOWEST] = round(max(outcome.measured.get(SLOWEST, 0), tally.slowest), 2)


def _measure(outcome: Outcome, name: str, number: float) -> None:
    outcome.measured[name] = outcome.measured.get(name, 0) + number


# ------------------------------------------------------------------------------------------------ broken on purpose


def _controls(server: Server, intensity: Intensity, outcome: Outcome) -> None:
    for name, part in ((NO_CONDITION, _healthy), (NO_HISTORY, _bad_network)):
        found = Outcome(name)
        for _ in range(5):  # a lost reply on top of which others build at once is a matter of luck
            part(server, intensity, found, broken=name)
            if found.violations:
                break
        outcome.control(name, found)
    outcome.control("a store that takes longer than it says", _patient(server))


def _patient(server: Server) -> Outcome:
    found = Outcome("control")
    with FaultProxy(server.endpoint, rate=0, hang=0) as proxy:
        proxy.partitioned = True
        store = Stopwatch(server.at(proxy.endpoint).open("nowhere", attempt=0.1, deadline=ALLOWANCE * 4), 0.1)
        try:
            store.read(Locator("note.md"))
        except AgentmError:
            pass
    for call in store.late:
        found.violation("late", call)
    return found
