"""The simulation of many devices: what must hold whatever the figures are."""

from __future__ import annotations

import pytest

from tests.benchmarks.scale_model import simulate


def test_one_device_needs_two_requests_for_an_update_and_is_never_refused() -> None:
    alone = simulate(1, 2_000, 4)

    assert alone.per_update == 2
    assert alone.refused == alone.given_up == 0
    assert 0.2 <= min(alone.seconds) <= max(alone.seconds) <= 0.4


def test_a_refusal_costs_a_request_more_and_a_new_attempt() -> None:
    crowd = simulate(8, 2_000, 4)

    assert crowd.requests["PUT"] == crowd.attempts == crowd.updates + crowd.refused
    assert crowd.requests["GET"] == crowd.attempts + crowd.refused


def test_more_devices_on_one_note_conflict_more_and_notes_of_their_own_do_not() -> None:
    rates = [simulate(devices, 600, 4).conflict_rate for devices in (2, 8, 32)]
    apart = simulate(32, 600, 4, notes=32)

    assert rates == sorted(rates)
    assert apart.conflict_rate == 0


def test_a_seed_gives_the_same_figures_again() -> None:
    assert simulate(16, 100, 4, seed=7) == simulate(16, 100, 4, seed=7)
    assert simulate(16, 100, 4, seed=7) != simulate(16, 100, 4, seed=8)


@pytest.mark.parametrize("devices", [1, 64])
def test_nobody_works_for_ever(devices: int) -> None:
    assert max(simulate(devices, 100, 4).seconds) < 31
