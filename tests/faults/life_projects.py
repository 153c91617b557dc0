"""What happens to projects: names, stores, and the checkouts that they are known by."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from tests.faults.life_step import Step, below, run
from tests.faults.life_texts import all_tokens, tokens

if TYPE_CHECKING:
    from tests.faults.life_ledger import Ledger


def register(ledger: Ledger, step: Step) -> None:
    answer = run(ledger, step, "project", "register", *step.words)
    if ledger.settle(step.device, answer, set()):
        place, name = ledger.place_of(step.device, step.checkout), answer.out.split()[-1]
        circles = ledger.names[place].get(name)
        if '"moved_to_store' in ledger.world.text(place, f"projects/{name}/_project.json"):
            # The operator says that it is a project that is in another store by now: it is refused until it is, too.
            ledger.left.add((place, ledger.circle(step.device, step.checkout, place)))
            return
        if "--adopt" in step.words and circles:
            # The device remembers what this checkout is; the store, that its remote is one of the project's.
            if ledger.circle(step.device, step.checkout, place) not in circles:
                ledger.known[step.device, step.checkout, place] = min(circles)
            circles |= {remote} if (remote := ledger.world.checkouts[step.device, step.checkout].remote) else set()
        ledger.claim(step.device, step.checkout, place, name)


def rename(ledger: Ledger, step: Step) -> None:
    old, new = step.words
    place = ledger.place_of(step.device, step.checkout)
    answer = run(ledger, step, "project", "rename", old, new)
    if not ledger.settle(step.device, answer, below(answer, place, old, new)):
        return
    for key, text in answer.before[place].items():
        if key.startswith(f"projects/{old}/"):
            moved = answer.after[place].get(f"projects/{new}/{key.split('/', 2)[2]}", "")
            if tokens(moved) != tokens(text):
                ledger.problem("lost", f"{step}: {key}")
    if old in ledger.names[place]:  # else it is called so already
        ledger.names[place][new] = ledger.names[place].pop(old)
    ledger.rename_past(place, f"projects/{old}/", f"projects/{new}/")


def merge(ledger: Ledger, step: Step) -> None:
    old, new = step.words
    place = ledger.place_of(step.device, step.checkout)
    answer = run(ledger, step, "project", "merge", old, new)
    if not ledger.settle(step.device, answer, below(answer, place, old, new)):
        return
    names = ledger.names[place]
    names[new] = names.get(new, set()) | names.pop(old, set())
    for circle in names[new]:
        ledger.left.discard((place, circle))
    for key in answer.before[place].keys() & {key.replace(f"/{old}/", f"/{new}/", 1) for key in answer.before[place]}:
        beside = f"{key.removesuffix('.md')}-from-{old}.md"
        if beside in answer.after[place]:  # both had a note of this name
            ledger.rename_past(place, key.replace(f"/{new}/", f"/{old}/", 1), beside)
    ledger.rename_past(place, f"projects/{old}/", f"projects/{new}/")


def use_store(ledger: Ledger, step: Step) -> None:
    device, world = step.device, ledger.world
    place = ledger.place_of(device, step.checkout)
    circle = ledger.circle(device, step.checkout, place)
    target = world.team(device) if step.words[0] == "team" else world.default[device]
    is_here = place != target
    if not is_here:  # then what a restore brought back in the store before is to come along
        place = world.default[device]
    checkout = f"{device}:{step.checkout}"
    shown = json.loads(run(ledger, step, "project", "show", "--json").out or "{}")
    answer = run(ledger, step, "project", "use-store", *step.words)
    name = next(iter(ledger.projects_of(place, circle)), None)
    said = re.search(r"^'([^']+)' is in the store", answer.out, re.MULTILINE)
    new = said.group(1) if said else name or ""
    allowed = below(answer, place, name or "?") | below(answer, target, new)
    allowed |= {(checkout, key) for key in (answer.before[checkout].keys() | answer.after[checkout].keys())}
    lost = all_tokens(answer.before) - all_tokens(answer.after)
    if not ledger.settle(device, answer, allowed):
        return
    if lost:
        ledger.problem("lost", f"{step}: {sorted(lost)}")
    if place == target:
        return
    circles = ledger.names[place].pop(name) if name else {circle}
    if left := name or (is_here and shown.get("slug")):  # where it has none to show, nobody could name it
        ledger.went[place, left] = set(circles)
    if said:
        ledger.names[target].setdefault(new, set()).update(circles)
    if name and "--move" in step.words:
        for entry in [entry for entry in ledger.past if entry[1] == place]:
            key = ledger.past[entry]
            if key.startswith(f"projects/{name}/"):
                ledger.past[entry[0], target, entry[2]] = f"projects/{new}/" + key.split("/", 2)[2]
                del ledger.past[entry]
    for one in circles:
        ledger.left.add((place, one))
        ledger.left.discard((target, one))
    ledger.bound[device, ledger.key(device, step.checkout)] = target
    for each in (place, target):
        ledger.known.setdefault((device, step.checkout, each), circle)


def checkout(ledger: Ledger, step: Step) -> None:
    """A clone is copied or moved, or its remote gets another address."""
    world, what = ledger.world, step.words[0]
    original = (step.device, step.checkout)
    has_copy = (step.device, "copy") in world.checkouts
    # Nobody can tell which of two is the original of one that was moved and has not written since.
    is_moved = "moved" in world.checkouts[original].path and not world.checkouts[original].remote
    if what == "cp" and not has_copy and not is_moved:
        world.copy(*original, "copy")
        for (device, checkout, place), circle in list(ledger.known.items()):
            if (device, checkout) == original and world.checkouts[original].remote == circle:
                ledger.known[device, "copy", place] = circle
    elif what == "mv" and not has_copy:
        world.move(*original, f"moved-{step.number}")
    elif what == "set-url" and not has_copy:
        world.set_remote(*original, f"git@example.com:{step.device}/moved-{step.number}.git")
