"""What happens to notes and plans: commands of operators and agents, and programs that know nothing of us."""

from __future__ import annotations

import json
import os
import re
import shutil
from typing import TYPE_CHECKING

from tests.faults.life_step import Step, notes_said, run
from tests.faults.life_texts import all_tokens, tokens

if TYPE_CHECKING:
    from tests.faults.life_ledger import Ledger, Spot
    from tests.faults.life_world import Answer


def save(ledger: Ledger, step: Step) -> None:
    answer = run(ledger, step, "save", *step.words, text=f"What {step.token} says.\n")
    if answer.out.startswith("proposed "):
        _waits(ledger, step, answer)
        return
    spots = notes_said(ledger, step, answer)
    if not ledger.settle(step.device, answer, {spot for spot, _ in spots}):
        return
    (place, key), _ = spots[0]
    for (where, replaced), _ in spots[1:]:
        ledger.doubtful |= tokens(answer.before[where].get(replaced, ""))
    is_personal = "--personal" in step.words or "always-load" in step.words
    wanted = ledger.world.default[step.device] if is_personal else ledger.place_of(step.device, step.checkout)
    if "--project" in step.words and not is_personal:
        wanted = place  # the project of that name, wherever it lives
    if place != wanted or key.startswith("personal/") != is_personal:
        ledger.problem("misplaced", f"{step}: {key} in {place}, not in {wanted}")
    if step.token not in tokens(answer.after[place].get(key, "")):
        ledger.problem("lost", f"{step}: {step.token} is not in {place}/{key}")
    if not is_personal:
        if "--project" not in step.words or key.split("/")[1] not in ledger.names[place]:
            ledger.claim(step.device, step.checkout, place, key.split("/")[1])
        ledger.author[step.token] = ledger.circle(step.device, step.checkout, place)
        meant, owners = _named(ledger, step), ledger.owners((place, key), step.token)
        if meant and not meant & owners:
            ledger.problem("misplaced", f"{step}: {key} in {place} is of {owners}, not of {meant}")


def _named(ledger: Ledger, step: Step) -> set[str]:
    """The circles of the project that `--project` names."""
    if "--project" not in step.words:
        return set()
    return ledger.named(step.device, step.words[step.words.index("--project") + 1])


def change(ledger: Ledger, step: Step) -> None:
    """`notes edit|move|undo|confirm`, `forget`, `checkpoint undo`: what they say is all that they change."""
    more = {"EDITOR": step.words[-1].format(step.number)} if step.what == "notes edit" else {}
    words = step.words[:1] if more else step.words
    command = (*step.what.split(), *words)
    answer = run(ledger, step, *command, more=more)
    spots = notes_said(ledger, step, answer)
    allowed = {spot for pair in spots for spot in pair}
    if not ledger.settle(step.device, answer, allowed):
        return
    for spot, new in spots:
        if "no session is given it" in answer.err:
            ledger.doubtful |= tokens(answer.after[new[0]].get(new[1], ""))
        for token in tokens(answer.before[spot[0]].get(spot[1], "")):
            if step.what != "checkpoint undo":  # it is for the whole store
                _check_reach(ledger, step, spot, token)
        if new != spot:
            moved = tokens(answer.before[spot[0]][spot[1]])
            if not moved <= tokens(answer.after[new[0]].get(new[1], "")):
                ledger.problem("lost", f"{step}: {sorted(moved)} on the way to {new}")
            ledger.rename_past(spot[0], spot[1], new[1])
            if spot[1] in answer.after[spot[0]]:
                ledger.problem("left behind", f"{step}: {spot}")
    if step.what == "notes edit" and spots and step.token not in all_tokens(answer.after):
        ledger.problem("lost", f"{step}: {step.token} was saved nowhere")


def git_undo(ledger: Ledger, step: Step) -> None:
    """What the operator takes back in the clone: one note, whoever's it is, and what it says now is kept."""
    answer = run(ledger, step, *ledger.world.of_team, "git", "undo", *step.words)
    said = re.search(r"^'(\S+)' is ", answer.out, re.MULTILINE)
    ledger.settle(step.device, answer, {(ledger.world.team(step.device), said.group(1))} if said else set())


def edit_plan(ledger: Ledger, step: Step) -> None:
    """An agent edits the file of a plan; where that is a copy, an event of its life sends it."""
    world, place = ledger.world, ledger.place_of(step.device, step.checkout)
    path = run(ledger, step, "state", "path", *step.words).out.strip()
    if not os.path.exists(path):
        return
    before = world.raw()
    with open(path, "a", encoding="utf-8") as file:
        file.write(f"- {step.token}\n")
    ledger.author[step.token] = ledger.circle(step.device, step.checkout, place)
    after = world.event(step.device, step.checkout, "turn-end").after
    missing = (all_tokens(before) | {step.token}) - all_tokens(after)
    if missing:
        ledger.problem("lost", f"{step}: {sorted(missing)} of {path}")


def propose(ledger: Ledger, step: Step) -> None:
    _waits(
        ledger, step, ledger.world.propose(step.device, step.checkout, step.words[0], f"What {step.token} says.\n")
    )


def _waits(ledger: Ledger, step: Step, answer: Answer) -> None:
    """What an agent proposed is in the inbox, and nothing else is changed."""
    waiting = {
        (place, key) for place in ledger.world.stores for key in answer.after[place] if key.startswith("_inbox/")
    }
    if not ledger.settle(step.device, answer, waiting):
        return
    if step.token not in all_tokens(answer.after):
        ledger.problem("lost", f"{step}: it does not wait anywhere")
    if "--personal" not in step.words:
        place = ledger.place_of(step.device, step.checkout)
        own = ledger.circle(step.device, step.checkout, place)
        ledger.author[step.token] = min(_named(ledger, step), default=own)
        ledger.claim_if_claimed(step.device, step.checkout)


def decide(ledger: Ledger, step: Step) -> None:
    """The operator takes the oldest proposal, or turns it down."""
    listed = json.loads(run(ledger, step, "inbox", "list", "--json").out or "{}").get("proposals")
    if not listed:
        return
    name = listed[0]["name"]
    inbox = f"_inbox/{name}.md"
    answer = run(ledger, step, *step.what.split(), name)
    said = re.search(r"^accepted (\S+)$", answer.out, re.MULTILINE)
    named = {inbox, *re.findall(r"^(?:accepted|superseded) (\S+)$", answer.out, re.MULTILINE)}
    allowed = {spot for spot in answer.changed if spot[1] in named}
    waited = {token for place in ledger.world.stores for token in tokens(answer.before[place].get(inbox, ""))}
    if not ledger.settle(step.device, answer, allowed):
        return
    for token in waited - all_tokens(answer.after):
        if said:
            ledger.problem("lost", f"{step}: {token}")
    for place, key in allowed:
        text = answer.after[place].get(key, "")
        for slug in re.findall(r"^supersedes: \[(\S+)\]$", text, re.MULTILINE):
            same = [other for name, other in answer.after[place].items() if name.endswith(f"/{slug}.md")]
            ledger.doubtful |= {token for other in same for token in tokens(other)} - waited
        for token in tokens(text) & waited:
            if token in ledger.author and ledger.author[token] not in ledger.owners((place, key), token):
                ledger.problem("misplaced", f"{step}: {token} of {ledger.author[token]} in {key} of {place}")


def _check_reach(ledger: Ledger, step: Step, spot: Spot, token: str) -> None:
    """Nobody changes a note of somebody else's project by its name."""
    if spot[1].startswith("personal/"):
        return
    circle = ledger.circle(step.device, step.checkout, spot[0])
    if circle not in ledger.owners(spot, token):
        ledger.problem("reached", f"{step}: {token} of {spot}, which is of {ledger.owners(spot, token)}")


def state(ledger: Ledger, step: Step) -> None:
    answer = run(ledger, step, *step.what.split(), *step.words, text=f"- {step.token}\n")
    place = ledger.place_of(step.device, step.checkout)
    spot = (f"{step.device}:{step.checkout}", step.words[0])
    if not answer.code and ledger.world.keeps_state(place):
        path = answer.out.strip()
        key = os.path.relpath(path, ledger.world.folder_of(place))
        if key.startswith(".."):  # the file of this device's copy, for a store that is no folder of plain files
            key = f"projects/{path.rpartition('/projects/')[2]}"
        spot = (place, key)
        if key.startswith("projects/"):
            ledger.claim(step.device, step.checkout, place, key.split("/")[1])
    if not ledger.settle(step.device, answer, {spot}):
        return
    ledger.author[step.token] = ledger.circle(step.device, step.checkout, place)
    text = answer.after[spot[0]].get(spot[1], "")
    if step.token not in text:
        ledger.problem("lost", f"{step}: not in {spot}")
    if step.what == "state append" and not tokens(answer.before[spot[0]].get(spot[1], "")) <= tokens(text):
        ledger.problem("lost", f"{step}: what was in {spot} before")


def session_start(ledger: Ledger, step: Step) -> None:
    """What an agent is told when it begins is of its own project, and is all of it if nothing was left out."""
    world = ledger.world
    if world.has_copy(ledger.place_of(step.device, step.checkout)):
        world.event(step.device, step.checkout, "session-start")
    answer = world.session_start(step.device, step.checkout)
    if not ledger.settle(step.device, answer, set()):
        return
    wanted = ledger.wanted(step.device, step.checkout, answer.after)
    told, may = tokens(answer.out), {token for token, _ in wanted}
    may |= ledger.state(step.device, step.checkout, answer.after)
    if told - may:
        ledger.problem("shown to another", f"{step} is told {sorted(told - may)}")
    must = {token for token, is_still in wanted if is_still and token not in ledger.doubtful}
    if "Left out: nothing." in answer.out and must - told:
        ledger.problem("not shown", f"{step} is not told {sorted(must - told)}")


def shell(ledger: Ledger, step: Step) -> None:
    """`>>`, `sed -i` and `rm -r` on the first note of that name that the project here has."""
    raw = ledger.world.raw()
    for place, key, text in ledger.readable(step.device, step.checkout, raw):
        if not key.endswith(f"/{step.words[1]}.md") or ledger.world.has_copy(place):
            continue
        path = os.path.join(ledger.world.folder_of(place), key)
        author = next((ledger.author[token] for token in tokens(text) if token in ledger.author), "")
        if step.words[0] == "rm":
            shutil.rmtree(os.path.dirname(path))
        elif step.words[0] == "sed":
            with open(path, "w", encoding="utf-8") as file:
                file.write(re.sub(r"tok\d+x", step.token, text))
            ledger.author[step.token] = author
        else:
            with open(path, "a", encoding="utf-8") as file:
                file.write(f"And {step.token}.\n")
            ledger.author[step.token] = author
        return
