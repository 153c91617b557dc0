"""What happens to whole stores: checkpoints, exports, migrations, and other devices that share them."""

from __future__ import annotations

import copy
import json
import os
import re
from typing import TYPE_CHECKING

from tests.faults.life_step import Step, run
from tests.faults.life_texts import all_tokens, is_note, tokens
from tests.faults.life_world import DEVICES

if TYPE_CHECKING:
    from tests.faults.life_ledger import Ledger, Names


def checkpoint(ledger: Ledger, step: Step) -> None:
    place = ledger.place_of(step.device, step.checkout)
    answer = run(ledger, step, "checkpoint", "create", "--json")
    if ledger.settle(step.device, answer, set()):
        ledger.remember(f"{step.device} {json.loads(answer.out)['id']}", place, answer.after)


def restore(ledger: Ledger, step: Step) -> None:
    """The last checkpoint that somebody took by hand, of all or of some folder."""
    place = ledger.place_of(step.device, step.checkout)
    listed = run(ledger, step, "checkpoint", "list", "--json")
    ids = [row["id"] for row in json.loads(listed.out or "{}").get("checkpoints", [])]
    mine = [one for one in ids if f"{step.device} {one}" in ledger.taken]
    chosen = mine[0] if mine else "latest"
    answer = run(ledger, step, "checkpoint", "restore", chosen, "--yes", *step.words)
    everything = {(place, key) for key in answer.before[place].keys() | answer.after[place].keys()}
    if not ledger.settle(step.device, answer, everything) or not mine:
        return
    stood, names, left = ledger.taken[f"{step.device} {chosen}"]
    ledger.left |= left  # the store says so again
    if "--keep-extra" in step.words:
        ledger.names[place].update(copy.deepcopy(names))
    elif "--path" not in step.words:
        ledger.names[place] = copy.deepcopy(names)
    for entry, circle in list(ledger.known.items()):
        if entry[2] == place and not ledger.projects_of(place, circle):
            del ledger.known[entry]  # its project was not there yet
    if not step.words:
        now, then = (
            {key: text for key, text in texts.items() if key.startswith("p") and ".sync-conflict-" not in key}
            for texts in (answer.after[place], stood)
        )
        for key in sorted(now.keys() | then.keys()):
            if now.get(key) != then.get(key):
                ledger.problem("not restored", f"{step}: {key}")


def reindex(ledger: Ledger, step: Step) -> None:
    ledger.settle(step.device, run(ledger, step, "reindex", *step.words), set())


def export_and_import(ledger: Ledger, step: Step) -> None:
    """A device writes everything into a folder, and takes over that folder, or the last one of the other device."""
    place = ledger.place_of(step.device, step.checkout)
    folder = os.path.join(ledger.world.folder, step.device, "export", step.words[0], place)
    answer = run(ledger, step, "export", step.words[0], folder)
    if ledger.settle(step.device, answer, set()):
        found: set[str] = set()
        for path, _, names in os.walk(folder):
            for name in names:
                with open(os.path.join(path, name), encoding="utf-8") as file:
                    found |= tokens(file.read())
        notes = {token for key, text in answer.after[place].items() if is_note(key) for token in tokens(text)}
        if not notes <= found:
            ledger.problem("lost", f"{step}: {sorted(notes - found)} is not in the export")
        ledger.exported[folder] = answer.after[place], copy.deepcopy(ledger.names[place])
    if step.words[1] == "other":
        mine = os.path.join(ledger.world.folder, step.device, "")
        others = [each for each in ledger.exported if f"/{step.words[0]}/" in each and not each.startswith(mine)]
        folder = others[-1] if others else folder
    if folder in ledger.exported:
        _import(ledger, step, folder)


def _import(ledger: Ledger, step: Step, folder: str) -> None:
    stood, names = ledger.exported[folder]
    answer = run(ledger, step, "import", step.words[0], folder, "--keep-names", "--yes")
    for each in ledger.world.stores:  # what another store has taken over meanwhile stays behind, with exit code 1
        lost = all_tokens(answer.before, each) - all_tokens(answer.after, each)
        if lost:
            ledger.problem("lost", f"{step}: {sorted(lost)} of {each}")
    for each, key in answer.changed:
        came = tokens(answer.after[each].get(key, ""))
        for source, text in stood.items():
            if key.startswith("projects/") and source.startswith("projects/") and came & tokens(text):
                name, circles = key.split("/")[1], names.get(source.split("/")[1], set())
                whose = {_still(ledger, each, name, circle) for circle in circles}
                ledger.names[each].setdefault(name, set()).update(whose)


def _still(ledger: Ledger, place: str, name: str, circle: str) -> str:
    """Whose a project is that came under this name. A checkout without a remote is what its device remembers: where
    that is another project by now, as after a restore, the one before is no checkout's until the operator says so.
    """
    is_remembered = circle.partition(":")[0] in DEVICES
    return f"{circle} before" if is_remembered and {*ledger.projects_of(place, circle)} - {name} else circle


def migrate(ledger: Ledger, step: Step) -> None:
    device, world = step.device, ledger.world
    source, target = world.default[device], "vault"
    if source == target:
        return
    answer = run(ledger, step, "migrate", "--to", "vault", "--merge", "--yes", *step.words)
    if not ledger.settle(device, answer, {(target, key) for key in answer.after[target]}):
        return
    missing = all_tokens(answer.before, source) - all_tokens(answer.after, target)
    if missing:
        ledger.problem("lost", f"{step}: {sorted(missing)} did not come along")
    if not all_tokens(answer.before, target) <= all_tokens(answer.after, target):
        ledger.problem("lost", f"{step}: something that was there")
    world.default[device] = target
    apart = dict(re.findall(r"^kept apart: (\S+) as (\S+)$", answer.out, re.MULTILINE))
    for entry, key in list(ledger.past.items()):
        if entry[:2] == (device, source):  # the history goes along
            moved = f"{key.rpartition('/')[0]}/{apart[key]}" if key in apart else key
            ledger.past[device, target, entry[2]] = moved
            del ledger.past[entry]
    for name, circles in ledger.names[source].items():
        ledger.names[target].setdefault(name, set()).update(circles)
    for (who, checkout, place), circle in list(ledger.known.items()):
        if who == device and place == source:
            ledger.known.setdefault((who, checkout, target), circle)


def sync(ledger: Ledger, step: Step) -> None:
    place, base, remote = f"{step.device}/team", f"base of {step.device}", "origin"
    answer = run(ledger, step, *ledger.world.of_team, "git", "sync")
    if ledger.world.is_sealed:
        accept_older(ledger, step)
    if answer.code:
        ledger.problem("refused", f"{step}: {answer.err.strip()[-300:]}")
        return
    ledger.done += 1
    here, now = all_tokens(answer.before, place), all_tokens(answer.after, place)
    there, then = ledger.tokens.get(remote, set()), ledger.tokens.get(base, set())
    wanted = (here | there) - (then - here) - (then - there)
    if wanted - now:
        ledger.problem("lost", f"{step}: {sorted(wanted - now)}")
    if now - here - there:
        ledger.problem("from nowhere", f"{step}: {sorted(now - here - there)}")
    ledger.tokens[remote] = ledger.tokens[base] = now
    names = _joined(ledger.names[place], ledger.names[remote], ledger.names.get(base, {}))
    for each in (place, remote, base):
        ledger.names[each] = copy.deepcopy(names)


def accept_older(ledger: Ledger, step: Step) -> None:
    """Where the version that was sealed before the other one won, the operator is asked, and takes it."""
    encryption = (*ledger.world.of_team, "encryption")
    listed = run(ledger, step, *encryption, "status", "--json")
    found = json.loads(listed.out or "{}").get("problems", {})
    older = [key for key, why in found.items() if key.endswith(".md") and "older version" in why]
    if older:
        ledger.world.done(step.device, *encryption, "accept", *older)


def _joined(here: Names, there: Names, before: Names) -> Names:
    """Whose projects they are after both sides have met."""
    joined: Names = {}
    for name in here.keys() | there.keys():
        mine, theirs, old = (names.get(name, set()) for names in (here, there, before))
        circles = (mine | theirs) - (old - mine) - (old - theirs)
        if circles:
            joined[name] = circles
    return joined


def conflict(ledger: Ledger, step: Step) -> None:
    """A sync tool leaves another version beside a note of the vault."""
    world = ledger.world
    for key, text in sorted(world.raw()["vault"].items()):
        if key.endswith(f"/{step.words[0]}.md") and is_note(key):
            path = os.path.join(world.folder_of("vault"), f"{key[:-3]}.sync-conflict-20260501-101112-ABCDEF7.md")
            if not os.path.exists(path):
                with open(path, "w", encoding="utf-8") as file:
                    file.write(f"{text}What {step.token} says.\n")
                ledger.author[step.token] = ledger.author.get(min(tokens(text), default=""), "")
            break


def resolve(ledger: Ledger, step: Step) -> None:
    answer = run(ledger, step, *ledger.world.of_team, "vault", "resolve", *step.words)
    changed = {spot for spot in answer.changed if spot[0] == "vault"}
    if answer.code:  # it settles what it can, and says what it left
        if all_tokens(answer.before) - all_tokens(answer.after):
            ledger.problem("changed by an error", f"{step}: {sorted(answer.changed)}; {answer.err.strip()[-200:]}")
        return
    lost = all_tokens(answer.before) - all_tokens(answer.after)
    if lost:
        ledger.problem("lost", f"{step}: {sorted(lost)}")
    ledger.settle(step.device, answer, changed)
