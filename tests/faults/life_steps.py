"""What happens in a life: commands of operators and agents, and programs that know nothing of us.

A step is drawn with all of its words, so that it is the same step when others before it are left out. What it does is
compared with the ledger, which is told what the command said.
"""

from __future__ import annotations

import copy
import json
import os
import re
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.faults.life_ledger import Ledger, Names, Spot
from tests.faults.life_world import DEVICES, REMOTES, all_tokens, is_note, tokens

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    from tests.faults.life_world import Answer

KINDS = ("fact", "decision", "known-issue", "open-question", "convention", "reference", "wiki-style", "always-load")
SLUGS = ("alpha", "bravo", "charlie", "delta")
NAMES = ("widgets", "ben-widgets", "plain", "gadgets", "tools")
STATE = ("PLAN.md", "progress.md", "PLAN-next.md")
_SAID = re.compile(
    r"^(?:brought back|\w+) (?P<key>p\w+/\S+\.md)(?: to (?P<new>p\w+/\S+\.md))?(?P<rest>.*)$", re.MULTILINE
)


@dataclass(frozen=True)
class Step:
    """One thing that happens, in words."""

    number: int
    what: str
    device: str
    checkout: str
    words: tuple[str, ...] = ()

    @property
    def token(self) -> str:
        return f"tok{self.number}x"

    def __str__(self) -> str:
        return f"{self.number}. {self.device} in {self.checkout}: {' '.join((self.what, *self.words))}"


def draw(rng: random.Random, number: int, set_up: str) -> Step:
    """Some step that makes sense in worlds with this set-up."""
    kinds = [name for name, (_, _, only) in STEPS.items() if not only or set_up in only]
    what = rng.choices(kinds, [STEPS[name][0] for name in kinds])[0]
    words = _WORDS[what](rng) if what in _WORDS else ()
    return Step(number, what, rng.choice(DEVICES), rng.choice((*REMOTES, *REMOTES, "copy")), words)


def live(ledger: Ledger, step: Step) -> None:
    """Do it, where the checkout is there."""
    if (step.device, step.checkout) in ledger.world.checkouts:
        refused = ledger.refused
        STEPS[step.what][1](ledger, step)
        if ledger.refused > refused and step.what in ("save", "state write", "state append", "register", "use-store"):
            ledger.claim_if_claimed(step.device, step.checkout)


# ------------------------------------------------------------------------------------------------ notes


def _save(ledger: Ledger, step: Step) -> None:
    answer = _run(ledger, step, "save", *step.words, text=f"What {step.token} says.\n")
    spots = _notes_said(ledger, step, answer)
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


def _change(ledger: Ledger, step: Step) -> None:
    """`notes edit|move|undo|confirm`, `forget`, `checkpoint undo`: what they say is all that they change."""
    more = {"EDITOR": step.words[-1].format(step.number)} if step.what == "notes edit" else {}
    words = step.words[:1] if more else step.words
    command = (*step.what.split(), *words)
    answer = _run(ledger, step, *command, more=more)
    spots = _notes_said(ledger, step, answer)
    allowed = {spot for pair in spots for spot in pair}
    if not ledger.settle(step.device, answer, allowed):
        return
    for spot, new in spots:
        for token in tokens(answer.before[spot[0]].get(spot[1], "")):
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


def _check_reach(ledger: Ledger, step: Step, spot: Spot, token: str) -> None:
    """Nobody changes a note of somebody else's project by its name."""
    if spot[1].startswith("personal/"):
        return
    circle = ledger.circle(step.device, step.checkout, spot[0])
    if circle not in ledger.owners(spot, token):
        ledger.problem("reached", f"{step}: {token} of {spot}, which is of {ledger.owners(spot, token)}")


# ------------------------------------------------------------------------------------------------ state


def _state(ledger: Ledger, step: Step) -> None:
    answer = _run(ledger, step, *step.what.split(), *step.words, text=f"- {step.token}\n")
    place = ledger.place_of(step.device, step.checkout)
    spot = (f"{step.device}:{step.checkout}", step.words[0])
    if not answer.code and ledger.world.keeps_state(place):
        path = answer.out.strip()
        key = os.path.relpath(path, ledger.world.folder_of(place))
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


# ------------------------------------------------------------------------------------------------ projects


def _register(ledger: Ledger, step: Step) -> None:
    answer = _run(ledger, step, "project", "register", *step.words)
    if ledger.settle(step.device, answer, set()):
        place, name = ledger.place_of(step.device, step.checkout), answer.out.split()[-1]
        if "--adopt" in step.words:
            ledger.names[place].setdefault(name, set()).add(ledger.circle(step.device, step.checkout, place))
            ledger.names[place][name].add(ledger.world.checkouts[step.device, step.checkout].remote or "")
        ledger.claim(step.device, step.checkout, place, name)


def _rename(ledger: Ledger, step: Step) -> None:
    old, new = step.words
    place = ledger.place_of(step.device, step.checkout)
    answer = _run(ledger, step, "project", "rename", old, new)
    if not ledger.settle(step.device, answer, _below(answer, place, old, new)):
        return
    for key, text in answer.before[place].items():
        if key.startswith(f"projects/{old}/"):
            moved = answer.after[place].get(f"projects/{new}/{key.split('/', 2)[2]}", "")
            if tokens(moved) != tokens(text):
                ledger.problem("lost", f"{step}: {key}")
    if old in ledger.names[place]:  # else it is called so already
        ledger.names[place][new] = ledger.names[place].pop(old)
    ledger.rename_past(place, f"projects/{old}/", f"projects/{new}/")


def _merge(ledger: Ledger, step: Step) -> None:
    old, new = step.words
    place = ledger.place_of(step.device, step.checkout)
    answer = _run(ledger, step, "project", "merge", old, new)
    if not ledger.settle(step.device, answer, _below(answer, place, old, new)):
        return
    names = ledger.names[place]
    names[new] = names.get(new, set()) | names.pop(old, set())
    for circle in names[new]:
        ledger.left.discard((place, circle))
    ledger.rename_past(place, f"projects/{old}/", f"projects/{new}/")


def _use_store(ledger: Ledger, step: Step) -> None:
    device, world = step.device, ledger.world
    place, circle = ledger.place_of(device, step.checkout), ""
    circle = ledger.circle(device, step.checkout, place)
    target = world.team(device) if step.words[0] == "team" else world.default[device]
    checkout = f"{device}:{step.checkout}"
    answer = _run(ledger, step, "project", "use-store", *step.words)
    name = next(iter(ledger.projects_of(place, circle)), None)
    said = re.search(r"^'([^']+)' is in the store", answer.out, re.MULTILINE)
    new = said.group(1) if said else name or ""
    allowed = _below(answer, place, name or "?") | _below(answer, target, new)
    allowed |= {(checkout, key) for key in (answer.before[checkout].keys() | answer.after[checkout].keys())}
    lost = all_tokens(answer.before) - all_tokens(answer.after)
    if not ledger.settle(device, answer, allowed):
        return
    if lost:
        ledger.problem("lost", f"{step}: {sorted(lost)}")
    if place == target:
        return
    circles = ledger.names[place].pop(name) if name and "--move" in step.words else {circle}
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


# ------------------------------------------------------------------------------------------------ whole stores


def _checkpoint(ledger: Ledger, step: Step) -> None:
    place = ledger.place_of(step.device, step.checkout)
    answer = _run(ledger, step, "checkpoint", "create", "--json")
    if ledger.settle(step.device, answer, set()):
        ledger.remember(f"{step.device} {json.loads(answer.out)['id']}", place, answer.after)


def _restore(ledger: Ledger, step: Step) -> None:
    """The last checkpoint that somebody took by hand, of all or of some folder."""
    place = ledger.place_of(step.device, step.checkout)
    listed = _run(ledger, step, "checkpoint", "list", "--json")
    ids = [row["id"] for row in json.loads(listed.out or "{}").get("checkpoints", [])]
    mine = [one for one in ids if f"{step.device} {one}" in ledger.taken]
    chosen = mine[0] if mine else "latest"
    answer = _run(ledger, step, "checkpoint", "restore", chosen, "--yes", *step.words)
    everything = {(place, key) for key in answer.before[place].keys() | answer.after[place].keys()}
    if not ledger.settle(step.device, answer, everything) or not mine:
        return
    stood, names = ledger.taken[f"{step.device} {chosen}"]
    if "--keep-extra" in step.words:
        ledger.names[place].update(copy.deepcopy(names))
    elif "--path" not in step.words:
        ledger.names[place] = copy.deepcopy(names)
    if not step.words:
        now, then = (
            {key: text for key, text in texts.items() if key.startswith("p") and ".sync-conflict-" not in key}
            for texts in (answer.after[place], stood)
        )
        for key in sorted(now.keys() | then.keys()):
            if now.get(key) != then.get(key):
                ledger.problem("not restored", f"{step}: {key}")


def _reindex(ledger: Ledger, step: Step) -> None:
    ledger.settle(step.device, _run(ledger, step, "reindex", *step.words), set())


def _export_and_import(ledger: Ledger, step: Step) -> None:
    place = ledger.place_of(step.device, step.checkout)
    folder = os.path.join(ledger.world.folder, step.device, "export", step.words[0], place)
    answer = _run(ledger, step, "export", step.words[0], folder)
    if ledger.settle(step.device, answer, set()):
        found: set[str] = set()
        for path, _, names in os.walk(folder):
            for name in names:
                with open(os.path.join(path, name), encoding="utf-8") as file:
                    found |= tokens(file.read())
        notes = {token for key, text in answer.after[place].items() if is_note(key) for token in tokens(text)}
        if not notes <= found:
            ledger.problem("lost", f"{step}: {sorted(notes - found)} is not in the export")
    answer = _run(ledger, step, "import", step.words[0], folder, "--keep-names", "--yes")
    for each in ledger.world.stores:  # what another store has taken over meanwhile stays behind, with exit code 1
        lost = all_tokens(answer.before, each) - all_tokens(answer.after, each)
        if lost:
            ledger.problem("lost", f"{step}: {sorted(lost)} of {each}")
    for each, key in answer.changed:
        name = key.split("/")[1]
        if key.startswith("projects/"):
            ledger.names[each].setdefault(name, set()).update(ledger.names[place].get(name, set()))


def _migrate(ledger: Ledger, step: Step) -> None:
    device, world = step.device, ledger.world
    source, target = world.default[device], "vault"
    if source == target:
        return
    answer = _run(ledger, step, "migrate", "--to", "vault", "--merge", "--yes", *step.words)
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


# ------------------------------------------------------------------------------------------------ two devices


def _sync(ledger: Ledger, step: Step) -> None:
    place, base, remote = f"{step.device}/team", f"base of {step.device}", "origin"
    answer = _run(ledger, step, *(("--store", "team") if "further" in ledger.world.set_up else ()), "git", "sync")
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


def _joined(here: Names, there: Names, before: Names) -> Names:
    """Whose projects they are after both sides have met."""
    joined: Names = {}
    for name in here.keys() | there.keys():
        mine, theirs, old = (names.get(name, set()) for names in (here, there, before))
        circles = (mine | theirs) - (old - mine) - (old - theirs)
        if circles:
            joined[name] = circles
    return joined


def _conflict(ledger: Ledger, step: Step) -> None:
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


def _resolve(ledger: Ledger, step: Step) -> None:
    answer = _run(ledger, step, *_of_vault(ledger), "vault", "resolve", *step.words)
    changed = {spot for spot in answer.changed if spot[0] == "vault"}
    if answer.code:  # it settles what it can, and says what it left
        if all_tokens(answer.before) - all_tokens(answer.after):
            ledger.problem("changed by an error", f"{step}: {sorted(answer.changed)}; {answer.err.strip()[-200:]}")
        return
    lost = all_tokens(answer.before) - all_tokens(answer.after)
    if lost:
        ledger.problem("lost", f"{step}: {sorted(lost)}")
    ledger.settle(step.device, answer, changed)


def _of_vault(ledger: Ledger) -> tuple[str, ...]:
    return ("--store", "team") if "further" in ledger.world.set_up else ()


# ------------------------------------------------------------------------------------------------ other programs


def _shell(ledger: Ledger, step: Step) -> None:
    """`>>`, `sed -i` and `rm -r` on the first note of that name that the project here has."""
    raw = ledger.world.raw()
    for place, key, text in ledger.readable(step.device, step.checkout, raw):
        if not key.endswith(f"/{step.words[1]}.md"):
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


def _checkout(ledger: Ledger, step: Step) -> None:
    """A clone is copied or moved, or its remote gets another address."""
    world, what = ledger.world, step.words[0]
    original = (step.device, step.checkout)
    has_copy = (step.device, "copy") in world.checkouts
    if what == "cp" and not has_copy:
        world.copy(*original, "copy")
        for (device, checkout, place), circle in list(ledger.known.items()):
            if (device, checkout) == original and world.checkouts[original].remote == circle:
                ledger.known[device, "copy", place] = circle
    elif what == "mv" and not has_copy:
        world.move(*original, f"moved-{step.number}")
    elif what == "set-url" and not has_copy:
        world.set_remote(*original, f"git@example.com:{step.device}/moved-{step.number}.git")


# ------------------------------------------------------------------------------------------------ all of them


def _run(ledger: Ledger, step: Step, *words: str, text: str = "", more: dict[str, str] | None = None) -> Answer:
    return ledger.world.agentm(step.device, step.checkout, *words, text=text, more=more)


def _notes_said(ledger: Ledger, step: Step, answer: Answer) -> list[tuple[Spot, Spot]]:
    """The notes that a command says it changed: where each was, and where it is."""
    said = []
    for line in _SAID.finditer(answer.out):
        key, new, rest = line["key"], line["new"] or line["key"], line["rest"]
        is_of = {
            each: ledger.world.default[step.device]
            if each.startswith("personal/")
            else ledger.place_of(step.device, step.checkout)
            for each in (key, new)
        }
        named = re.search(r" in (/.+)$", rest)
        if named:
            is_of[new] = ledger.world.place_at(named.group(1))
            if new == key:
                is_of[key] = is_of[new]
        said.append(((is_of[key], key), (is_of[new], new)))
    return said


def _below(answer: Answer, place: str, *names: str) -> set[Spot]:
    """Every file of these projects in a store, before or after."""
    folders = tuple(f"projects/{name}/" for name in names)
    keys = answer.before[place].keys() | answer.after[place].keys()
    return {(place, key) for key in keys if key.startswith(folders)}


_Draw = "Callable[[random.Random], tuple[str, ...]]"
_WORDS: dict[str, Callable[[random.Random], tuple[str, ...]]] = {
    "save": lambda rng: (
        *("--kind", rng.choice(KINDS), "--slug", rng.choice(SLUGS)),
        *rng.choice(((), (), (), ("--personal",), ("--project", rng.choice(NAMES)))),
        *rng.choice(((), ("--update",), ("--supersedes", rng.choice(SLUGS)))),
    ),
    "notes edit": lambda rng: (
        rng.choice(SLUGS),
        rng.choice(("sed -i s/tok[0-9]*x/tok{}x/", "sed -i '$ a And tok{}x.'")),
    ),
    "notes move": lambda rng: (
        rng.choice(SLUGS),
        *rng.choice(
            (
                ("--slug", rng.choice(SLUGS)),
                ("--kind", rng.choice(KINDS)),
                ("--personal",),
                ("--to-project", rng.choice(NAMES)),
            )
        ),
    ),
    "notes undo": lambda rng: (rng.choice(SLUGS),),
    "notes confirm": lambda rng: (rng.choice(SLUGS),),
    "forget": lambda rng: (rng.choice(SLUGS),),
    "state write": lambda rng: (rng.choice(STATE),),
    "state append": lambda rng: (rng.choice(STATE),),
    "register": lambda rng: rng.choice(((), (), ("--adopt",))),
    "rename": lambda rng: (rng.choice(NAMES), rng.choice(NAMES)),
    "merge": lambda rng: (rng.choice(NAMES), rng.choice(NAMES)),
    "use-store": lambda rng: (rng.choice(("team", "team", "default")), *rng.choice(((), ("--move", "--yes")))),
    "restore": lambda rng: rng.choice(((), (), ("--keep-extra",), ("--path", f"projects/{rng.choice(NAMES)}/facts"))),
    "reindex": lambda rng: rng.choice(((), ("--update",))),
    "export and import": lambda rng: (rng.choice(("okf", "markdown")),),
    "migrate": lambda rng: rng.choice(((), ("--keep-apart",))),
    "conflict": lambda rng: (rng.choice(SLUGS),),
    "resolve": lambda rng: rng.choice((("--union",), (rng.choice(SLUGS), "--take", rng.choice(("mine", "both"))))),
    "shell": lambda rng: (rng.choice((">>", ">>", "sed", "rm")), rng.choice(SLUGS)),
    "checkout": lambda rng: (rng.choice(("cp", "mv", "set-url")),),
}
STEPS: dict[str, tuple[int, Callable[[Ledger, Step], None], tuple[str, ...]]] = {
    "save": (30, _save, ()),
    "notes edit": (5, _change, ()),
    "notes move": (6, _change, ()),
    "notes undo": (5, _change, ()),
    "notes confirm": (2, _change, ()),
    "forget": (4, _change, ()),
    "state write": (4, _state, ()),
    "state append": (4, _state, ()),
    "register": (3, _register, ()),
    "rename": (5, _rename, ()),
    "merge": (4, _merge, ()),
    "use-store": (8, _use_store, ("further vault", "further git")),
    "checkpoint": (3, _checkpoint, ()),
    "restore": (3, _restore, ()),
    "reindex": (1, _reindex, ()),
    "export and import": (2, _export_and_import, ()),
    "migrate": (4, _migrate, ("moving",)),
    "sync": (8, _sync, ("git", "further git")),
    "conflict": (4, _conflict, ("vault", "further vault", "moving")),
    "resolve": (4, _resolve, ("vault", "further vault", "moving")),
    "shell": (6, _shell, ()),
    "checkout": (3, _checkout, ()),
}
"""By name: how often, what it does, and in which set-ups only."""
