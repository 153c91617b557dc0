"""Writers on two devices: exact counts, on healthy servers, through a bad network, and over a restart."""

from __future__ import annotations

import time

import pytest
from counting import begin, counted, finish, start_counters
from fault_proxy import FaultProxy
from stopwatch import Stopwatch, every_verb

from agentm_kernel import Locator, update
from agentm_kernel.errors import AgentmError, ConcurrentModificationError, StorageIOError
from agentm_kernel.plugin import ABSENT, content_hash

NOTE = Locator("dir/note.md")
IMPATIENT = {"attempt": 0.25, "deadline": 1.0}


@pytest.mark.parametrize("name", ["seaweedfs", "azurite"])
def test_writers_on_two_devices_lose_no_update(request, name, prefix):
    server = request.getfixturevalue(name).server
    assert finish(start_counters(server, prefix, processes=8, times=15), limit=120).failures == ()
    assert counted(server, prefix) == 8 * 15


def test_a_server_that_restarts_in_the_middle_loses_nothing_acknowledged(azurite, prefix):
    server = azurite.server
    begin(server.open(prefix))
    counters = start_counters(server, prefix, processes=4, times=25, deadline=60, attempt=2)
    _wait_until(lambda: counted(server, prefix) >= 10)
    azurite.shut_down()
    azurite.start()
    assert finish(counters, limit=120).failures == ()
    assert counted(server, prefix) == 4 * 25


def _wait_until(condition):
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.02)


@pytest.mark.parametrize("name", ["seaweedfs", "azurite"])
def test_a_bad_network_loses_and_doubles_nothing_and_every_call_keeps_its_deadline(request, name, prefix):
    server = request.getfixturevalue(name).server
    begin(server.open(prefix))
    with FaultProxy(server.endpoint, rate=0.2, hang=1.0) as proxy:
        counters = start_counters(server.at(proxy.endpoint), prefix, processes=4, times=12, attempt=0.5, deadline=20)
        tally = finish(counters, limit=150)
        assert tally.failures == ()
        assert tally.calls >= 2 * 4 * 12
        assert min(proxy.faults.values()) > 0, proxy.faults
    time.sleep(1.2)  # what the network still held back arrives now, and must change nothing
    assert counted(server, prefix) == 4 * 12


@pytest.mark.parametrize(("rate", "devices"), [(0.6, 2), (1.0, 1)])
def test_every_verb_keeps_its_deadline(moto, prefix, rate, devices):
    """Whatever a verb comes to, it does so in time: an answer, or a typed error. The first write of all proves the
    server on the way, and has no more time for that.
    """
    with FaultProxy(moto.server.endpoint, rate=rate, hang=3.0) as proxy:
        behind = moto.server.at(proxy.endpoint)
        for number in range(devices):
            device = behind.open(prefix, device=f"{prefix}-{number}", attempt=0.2, deadline=1.0)
            store = Stopwatch(device, 1.0)
            for verb in every_verb(store):
                try:
                    verb()
                except AgentmError:
                    pass
            assert store.calls == 9
            assert store.late == []


def test_a_store_that_takes_more_time_than_it_declares_is_noticed(moto, prefix):
    """The control of the stopwatch."""
    with FaultProxy(moto.server.endpoint, rate=1, hang=3.0) as proxy:
        proxy._random.choice = lambda fates: "hung"
        store = Stopwatch(moto.server.at(proxy.endpoint).open(prefix, attempt=0.6, deadline=2.5), 0.1)
        with pytest.raises(StorageIOError):
            store.read(NOTE)
        assert len(store.late) == 1


class SlowPages(FaultProxy):
    """Every page of a listing has one entry, and takes a while."""

    def _forwarded(self, request):
        if b"list-type=2" in request:
            time.sleep(0.3)
        return super()._forwarded(request.replace(b"list-type=2", b"list-type=2&max-keys=1", 1))


def test_a_listing_of_many_slow_pages_keeps_its_deadline(moto, prefix):
    """The library asks for page after page by itself: each is in time, and all of them would be too late."""
    healthy = moto.server.open(prefix)
    for number in range(20):
        healthy.write(Locator(f"dir/{number}.md"), "x\n")
    with SlowPages(moto.server.endpoint, rate=0, hang=0) as proxy:
        store = Stopwatch(moto.server.at(proxy.endpoint).open(prefix, attempt=0.5, deadline=2.0), 2.0)
        with pytest.raises(StorageIOError, match="did not answer in time"):
            store.list(Locator("dir"))
    assert store.late == []


def test_a_partition_is_a_typed_error_and_never_absence(moto, prefix):
    with FaultProxy(moto.server.endpoint, rate=0, hang=0) as proxy:
        store = moto.server.at(proxy.endpoint).open(prefix, **IMPATIENT)
        store.write(NOTE, "one\n")
        proxy.partitioned = True
        for verb in (store.read, store.info, store.exists, store.list, store.walk):
            with pytest.raises(StorageIOError, match="cannot be reached|no answer"):
                verb(NOTE)
        with pytest.raises(StorageIOError, match="not known|nothing was written"):
            store.write(NOTE, "two\n", if_match=content_hash("one\n"))
        proxy.partitioned = False
        assert store.read(NOTE) == "one\n"


class LosesReplies(FaultProxy):
    """Loses the reply to the next `count` PUTs, after they were carried out."""

    def __init__(self, endpoint, count):
        super().__init__(endpoint, rate=0, hang=0)
        self.count = count
        self.between = None

    def _forwarded(self, request):
        answer = super()._forwarded(request)
        if request.startswith(b"PUT") and self.count > 0:
            self.count -= 1
            if self.between is not None:
                self.between()
            raise OSError("lost")
        return answer


def test_a_write_whose_reply_is_lost_counts_as_done(moto, prefix):
    healthy = moto.server.open(prefix)
    healthy.write(Locator("other.md"), "x\n")
    with LosesReplies(moto.server.endpoint, 1) as proxy:
        store = moto.server.at(proxy.endpoint).open(prefix, device="device")
        proxy.count = 0
        store.write(NOTE, "one\n")
        proxy.count = 1
        store.write(NOTE, "two\n", if_match=content_hash("one\n"))
        proxy.count = 1
        store.write(Locator("new.md"), "three\n", if_match=ABSENT)
    assert healthy.read(NOTE) == "two\n"
    assert healthy.read(Locator("new.md")) == "three\n"


def test_an_edit_whose_reply_is_lost_is_not_made_again_on_top_of_what_others_built_on_it(moto, prefix):
    """The bytes cannot tell: the note holds neither what was expected nor what was written. Its history can."""
    healthy = moto.server.open(prefix)
    healthy.write(NOTE, "begin ")
    with LosesReplies(moto.server.endpoint, 0) as proxy:
        store = moto.server.at(proxy.endpoint).open(prefix)
        store.write(Locator("warm-up.md"), "the server has proven itself\n")
        proxy.between = lambda: update(healthy, NOTE, lambda text: (text or "") + "theirs ")
        proxy.count = 1
        update(store, NOTE, lambda text: (text or "") + "mine ")
    assert healthy.read(NOTE) == "begin mine theirs "


def test_a_late_request_cannot_undo_what_came_after_it(moto, prefix):
    """A PUT that hangs in the network and arrives seconds later meets a condition that no longer holds."""
    healthy = moto.server.open(prefix)
    healthy.write(NOTE, "one\n")
    with FaultProxy(moto.server.endpoint, rate=0, hang=1.0) as proxy:
        store = moto.server.at(proxy.endpoint).open(prefix, attempt=0.3, deadline=1.2)
        store.read(NOTE)
        store.write(Locator("warm-up.md"), "x\n")
        proxy._rate, proxy._random.choice = 1.0, lambda fates: "hung"
        with pytest.raises(StorageIOError):
            store.write(NOTE, "late\n")
        healthy.write(NOTE, "newer\n")
        healthy.write(NOTE, "newest\n")
        time.sleep(1.5)
    assert healthy.read(NOTE) == "newest\n"


def test_a_condition_that_fails_is_told_at_once(moto, prefix):
    store = moto.server.open(prefix)
    store.write(NOTE, "one\n")
    with pytest.raises(ConcurrentModificationError):
        store.write(NOTE, "two\n", if_match=content_hash("other\n"))
    with pytest.raises(ConcurrentModificationError):
        store.write(NOTE, "two\n", if_match=ABSENT)
    assert store.read(NOTE) == "one\n"
