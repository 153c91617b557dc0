"""`python -m tests.faults [NAME …] [--short] [--seed N] [--store NAME] [--json]`: run campaigns, one line each."""

from __future__ import annotations

import argparse
import json
import secrets
import sys
import time
import traceback
from contextlib import nullcontext
from importlib import import_module
from typing import TYPE_CHECKING
from unittest import mock

from agentm_kernel.files import displaced
from tests.faults.harness import STORES, Intensity, Outcome, store_under_test

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

# Each module has `campaign(intensity: Intensity) -> Outcome`; it is imported only when it runs.
CAMPAIGNS = {
    "buckets": "tests.faults.buckets",
    "checkpoints": "tests.faults.checkpoints",
    "clocks": "tests.faults.clocks",
    "compare-and-swap": "tests.faults.compare_and_swap",
    "confinement": "tests.faults.confinement",
    "crash-states": "tests.faults.crash_states",
    "encrypted-stores": "tests.faults.encrypted_stores",
    "fences": "tests.faults.fences",
    "forks": "tests.faults.forks",
    "git-kills": "tests.faults.git_kills",
    "git-races": "tests.faults.git_races",
    "held-files": "tests.faults.held_files",
    "interruptions": "tests.faults.interruptions",
    "io-errors": "tests.faults.io_errors",
    "keys": "tests.faults.keys",
    "kills": "tests.faults.kills",
    "linked-roots": "tests.faults.linked_roots",
    "lives": "tests.faults.lives",
    "lookalikes": "tests.faults.lookalikes",
    "mcp-messages": "tests.faults.mcp_messages",
    "migrations": "tests.faults.migrations",
    "model": "tests.faults.model",
    "one-lock": "tests.faults.one_lock",
    "pauses": "tests.faults.pauses",
    "power-cuts": "tests.faults.power_cuts",
    "redirects": "tests.faults.redirects",
    "rotations": "tests.faults.rotations",
    "sealing": "tests.faults.sealing",
    "terminals": "tests.faults.terminals",
    "two-devices": "tests.faults.two_devices",
    "two-stores": "tests.faults.two_stores",
}


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    unknown = [name for name in options.names if name not in CAMPAIGNS]
    if unknown:
        print(f"no such campaign: {', '.join(unknown)}; there are: {', '.join(CAMPAIGNS)}", file=sys.stderr)
        return 2
    intensity = Intensity(full=not options.short, seed=options.seed, store=store_under_test(options.store))
    if not options.json:
        print(f"seed {intensity.seed}, store {intensity.store.name}")
    results = {}
    for name in options.names or CAMPAIGNS:
        started = time.monotonic()
        outcome = _run(name, intensity)
        seconds = time.monotonic() - started
        results[name] = {**outcome.as_dict(), "seconds": round(seconds, 2)}
        if not options.json:
            _report(name, outcome, seconds)
    if options.json:
        print(json.dumps({"seed": intensity.seed, "store": intensity.store.name, "campaigns": results}, indent=2))
    return 0 if all(result["passed"] for result in results.values()) else 1


def _run(name: str, intensity: Intensity) -> Outcome:
    """One campaign. One that breaks off has failed, and the others are run all the same."""
    try:
        with _waiting_for_writers(name == "held-files"):
            outcome: Outcome = import_module(CAMPAIGNS[name]).campaign(intensity)
    except Exception as error:
        traceback.print_exc()
        outcome = Outcome("campaigns that broke off")
        outcome.violation("broken off", f"{type(error).__name__}: {error}")
    return outcome


def _waiting_for_writers(waits: bool) -> AbstractContextManager[object]:
    """Campaigns that look for litter want displaced versions gone with the write, if nobody has them open."""
    return nullcontext() if waits else mock.patch.object(displaced, "LEASED_GRACE", 0.0)


def _report(name: str, outcome: Outcome, seconds: float) -> None:
    verdict = "skip" if outcome.was_skipped else "pass" if outcome.passed else "FAIL"
    print(f"{verdict}  {name:<16} {outcome.sentence()}; {seconds:.1f} s", flush=True)
    for example in outcome.examples:
        print(f"      {example}", flush=True)


def parser() -> argparse.ArgumentParser:
    arguments = argparse.ArgumentParser(prog="python -m tests.faults", description="Break the store on purpose.")
    arguments.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(CAMPAIGNS)}; all of them if none")
    arguments.add_argument("--short", action="store_true", help="seconds instead of minutes")
    arguments.add_argument(
        "--seed", type=int, default=secrets.randbelow(10**6), help="repeat the run that had this seed"
    )
    arguments.add_argument("--store", choices=sorted(STORES), default="device-local")
    arguments.add_argument("--json", action="store_true", help="print the results as JSON")
    return arguments


if __name__ == "__main__":
    sys.exit(main())
