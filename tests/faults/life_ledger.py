"""What a life has been told: whose each text is and where it has to be found. The model that the product is held to.

A *circle* is a repository: its remote, or the one checkout that has none. A project in a store has a name and the
circles that it belongs to; whoever is of one of them is shown its notes, and nobody else.
"""

from __future__ import annotations

import copy
import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.faults.life_texts import all_tokens, is_current, is_note, tokens
from tests.faults.life_world import DEVICES

if TYPE_CHECKING:
    from tests.faults.life_texts import Raw
    from tests.faults.life_world import Answer, World

_TELLS_OF_VERSIONS = re.compile(r"^WARN +(?:bucket )?conflicts ", re.MULTILINE)

Names = dict[str, set[str]]
"""The projects of one store: by name, their circles."""
Spot = tuple[str, str]
"""A place and a key there."""


@dataclass
class Ledger:
    world: World
    names: dict[str, Names] = field(default_factory=dict)
    """By place."""
    known: dict[tuple[str, str, str], str] = field(default_factory=dict)
    """By device, checkout and place: the circle that the checkout is of, settled by its first write there."""
    bound: dict[tuple[str, str], str] = field(default_factory=dict)
    """By device and remote, or checkout where there is none: the place of the store that it is bound to."""
    went: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    """By place and name: the circles of the project that was taken from there to another store."""
    left: set[tuple[str, str]] = field(default_factory=set)
    """Places and circles that have moved on: devices that were not told are refused there."""
    author: dict[str, str] = field(default_factory=dict)
    """By token: the circle that wrote it."""
    past: dict[tuple[str, str, str], str] = field(default_factory=dict)
    """By device, place and token: the key of the note whose history has to have it."""
    replaced_in_plain: set[tuple[str, str]] = field(default_factory=set)
    """Devices and tokens whose version in the history is not sealed: an encrypted store does not show it."""
    taken: dict[str, tuple[dict[str, str], Names, set[Spot]]] = field(default_factory=dict)
    """By id of a checkpoint: what the store said then, whose projects it had, and which had moved on."""
    exported: dict[str, tuple[dict[str, str], Names]] = field(default_factory=dict)
    """By folder: what the store said that was exported there, and whose projects it had."""
    doubtful: set[str] = field(default_factory=set)
    """Tokens of notes that another one says it replaced: recall may leave them out whatever became of them since."""
    problems: list[str] = field(default_factory=list)
    tokens: dict[str, set[str]] = field(default_factory=dict)
    """What the origin has, and what each clone had when it last met it."""
    done: int = 0
    refused: int = 0

    def __post_init__(self) -> None:
        self.names = {place: {} for place in (*self.world.stores, "origin")}

    def problem(self, kind: str, text: str) -> None:
        self.problems.append(f"{kind}: {text}")

    # -- whose -----------------------------------------------------------------------------------------------

    def circle(self, device: str, checkout: str, place: str) -> str:
        return self.known.get((device, checkout, place)) or self.key(device, checkout)

    def place_of(self, device: str, checkout: str) -> str:
        """The place of the store that a session in the checkout works with."""
        keys = (device, self.key(device, checkout)), (device, f"{device}:{checkout}")
        return next((self.bound[key] for key in keys if key in self.bound), self.world.default[device])

    def key(self, device: str, checkout: str) -> str:
        """What a checkout is bound to a store by, whichever project it goes on being."""
        return self.world.checkouts[device, checkout].remote or f"{device}:{checkout}"

    def owners(self, spot: Spot, token: str) -> set[str]:
        """The circles of the project that a token lies in; of one without a project, whoever wrote it."""
        place, key = spot
        return self.names.get(place, {}).get(_name(key)) or {self.author.get(token, "")}

    def projects_of(self, place: str, circle: str) -> list[str]:
        """One, but for clones that claimed names before they met: then each goes on with its own."""
        return [name for name, circles in self.names[place].items() if circle in circles]

    def named(self, device: str, name: str) -> set[str]:
        """The circles of the project that is meant by a name: one of the device's default store, wherever it has been
        taken from there, or else one of a store that a project of the device is bound to.
        """
        default = self.world.default[device]
        bound = [place for (who, _), place in self.bound.items() if who == device]
        found = [self.names[default].get(name), self.went.get((default, name))]
        return next(filter(None, [*found, *(self.names[place].get(name) for place in bound)]), set())

    # -- settling what a command did -------------------------------------------------------------------------

    def settle(self, device: str, answer: Answer, allowed: set[Spot], *, said: str = "") -> bool:
        """Whether the command was done. An error changed nothing, a success only what it named, and lost nothing."""
        if answer.code:
            self.refused += 1
            if answer.changed:
                self.problem("changed by an error", f"{sorted(answer.changed)[:3]}; {answer.err.strip()[-200:]}")
            return False
        self.done += 1
        others = answer.changed - allowed
        if others:
            self.problem("changed unasked", f"{sorted(others)[:3]}; {(said or answer.out).strip()[:200]}")
        for place in self.world.stores:
            for token in all_tokens(answer.before, place) - all_tokens(answer.after, place):
                key = next(key for key, text in answer.before[place].items() if token in tokens(text))
                if (place, key) not in allowed:
                    self.problem("lost", f"{token} of {place}/{key}")
                if not key.startswith("_"):
                    self.past[device, place, token] = key
                    if not self.world.is_sealed:
                        self.replaced_in_plain.add((device, token))
        return True

    def claim(self, device: str, checkout: str, place: str, name: str) -> None:
        """A write in the checkout went to the project of this name: was that right?"""
        circle = self.circle(device, checkout, place)
        there = self.names[place].get(name)
        own = self.projects_of(place, circle)
        if there is None and not own:
            self.names[place][name] = {circle}
        elif there is None or circle not in there:
            self.problem(
                "misplaced", f"{device} in {checkout} wrote to {name} in {place}, of {there}; its own is {own}"
            )
        self.known.setdefault((device, checkout, place), circle)

    def claim_if_claimed(self, device: str, checkout: str) -> None:
        """A refused write may have claimed the name that the project here goes by."""
        place = self.place_of(device, checkout)
        shown = self.world.agentm(device, checkout, "project", "show", "--json")
        facts = json.loads(shown.out or "{}")
        if facts.get("claimed"):
            self.claim(device, checkout, place, facts["slug"])

    def rename_past(self, place: str, before: str, after: str) -> None:
        """Keys that begin with `before` begin with `after` from now on, in the histories too."""
        for entry, key in self.past.items():
            if entry[1] == place and key.startswith(before):
                self.past[entry] = after + key[len(before) :]

    # -- looking ---------------------------------------------------------------------------------------------

    def look(self) -> None:
        """Each session sees what is its own and the operator's, all of it, and nothing else."""
        raw = self.world.raw()
        for device in DEVICES if self.world.is_sealed else ():
            if readable := self.world.in_plain(self.world.team(device)):
                self.problem("readable", f"{readable[:3]} without a key")
        for device, checkout in list(self.world.checkouts):
            self._look_at_notes(device, checkout, raw)
            self._look_at_state(device, checkout, raw)

    def _look_at_notes(self, device: str, checkout: str, raw: Raw) -> None:
        place = self.place_of(device, checkout)
        who = f"{device} in {checkout}"
        listed = self.world.agentm(device, checkout, "notes", "list", "--all", "--json")
        if listed.code:
            has_moved_on = (place, self.circle(device, checkout, place)) in self.left
            # A restore leaves copies of sync tools where they are; whose they are, the operator has to say then.
            is_left_over = "nothing says" in listed.err and any(".sync-conflict-" in key for key in raw[place])
            if not has_moved_on and not is_left_over:
                self.problem("refused", f"{who} may not look: {listed.err.strip()[-200:]}")
            return
        wanted = self.wanted(device, checkout, raw)
        found = json.loads(listed.out)
        keys = {note["key"] for note in found["notes"]}
        stood = {(where, key): text for where, key, text in self.readable(device, checkout, raw)}
        seen = {token for (_, key), text in stood.items() if key in keys for token in tokens(text)}
        if self.world.has_copy(place):  # hooks wait for no network: an event brings their copy up to date
            self.world.event(device, checkout, "session-start")
        self._compare(f"{who} lists", {token for token, _ in wanted}, seen)
        said = self.world.agentm(device, checkout, "recall-here", "--limit", "1000000")
        recalled = tokens(said.out)
        current = {
            token for token, is_still in wanted if is_still and (token in recalled or token not in self.doubtful)
        }
        self._compare(f"{who} recalls", current, recalled)

    def wanted(self, device: str, checkout: str, raw: Raw) -> set[tuple[str, bool]]:
        """The tokens of the notes that a session is to be shown, and whether recall may."""
        others = self._other_names(device, checkout)
        return {
            (token, is_current(text))
            for where, key, text in self.readable(device, checkout, raw)
            for token in tokens(text)
            if _name(key) not in others and not self._is_left_behind(device, checkout, where, key)
            if key.startswith("personal/") or self.circle(device, checkout, where) in self.owners((where, key), token)
        }

    def _other_names(self, device: str, checkout: str) -> set[str]:
        """Further names of the project here, which clones claimed before they met: no session is shown what lies
        there, and `project show` has to name them, beside the one whose notes the session gets.
        """
        place = self.place_of(device, checkout)
        names = {*self.projects_of(place, self.circle(device, checkout, place))}
        if len(names) < 2:
            return set()
        shown = json.loads(self.world.agentm(device, checkout, "project", "show", "--json").out or "{}")
        said = {shown.get("slug"), *(shown.get("also") or "").split(", ")}
        if not names <= said:
            self.problem(
                "not said", f"{device} in {checkout} is told of {sorted(filter(None, said))}, not of {names}"
            )
        return names - {shown.get("slug")}

    def _is_left_behind(self, device: str, checkout: str, place: str, key: str) -> bool:
        """Whether a note came under a name that its project has left: `doctor` has to say so, and what to run."""
        name = _name(key)
        if not name or name in self.names[place]:
            return False
        if '"moved_to' not in self.world.text(place, f"projects/{name}/_project.json"):
            return False
        if f"`agentm project rename {name} " not in self.world.agentm(device, checkout, "doctor").out:
            self.problem("not said", f"{key} in {place} is left behind, and doctor does not tell {device}")
        return True

    def _search(self, device: str, checkout: str, token: str) -> None:
        """What is recalled is found, too."""
        found = self.world.agentm(device, checkout, "search", token, "--json")
        if token not in found.out:
            self.problem("not found", f"{device} in {checkout} searches {token}: {found.out} {found.err}")

    def readable(self, device: str, checkout: str, raw: Raw) -> list[tuple[str, str, str]]:
        """The notes that a session might be shown: the operator's own, and every project's of its store."""
        default, place = self.world.default[device], self.place_of(device, checkout)
        own = [(default, key, text) for key, text in raw[default].items() if key.startswith("personal/")]
        return [
            *(note for note in own if is_note(note[1])),
            *((place, key, text) for key, text in raw[place].items() if key.startswith("projects/") and is_note(key)),
        ]

    def _compare(self, who: str, wanted: set[str], found: set[str]) -> None:
        if wanted - found:
            self.problem("not shown", f"{who} all but {sorted(wanted - found)[:5]}")
        if found - wanted:
            self.problem("shown to another", f"{who} {sorted(found - wanted)[:5]} too")

    def _look_at_state(self, device: str, checkout: str, raw: Raw) -> None:
        place = self.place_of(device, checkout)
        circle = self.circle(device, checkout, place)
        if (place, circle) in self.left:
            return
        said = self.world.agentm(device, checkout, "state", "list")
        files = [] if said.code else said.out.splitlines()
        found = {file: self.world.agentm(device, checkout, "state", "read", file).out for file in files}
        is_kept = any(" [conflict " in file for file in files)
        if is_kept and not _TELLS_OF_VERSIONS.search(self.world.agentm(device, checkout, "doctor").out):
            self.problem("not said", f"what lost in {checkout} is kept, and doctor does not tell {device}")
        self._compare(
            f"{device} in {checkout} reads as state",
            self.state(device, checkout, raw),
            {token for text in found.values() for token in tokens(text)},
        )

    def state(self, device: str, checkout: str, raw: Raw) -> set[str]:
        """The tokens of the plans that a session is to read."""
        place = self.place_of(device, checkout)
        if self.world.keeps_state(place):
            names = {*self.projects_of(place, self.circle(device, checkout, place))}
            others = self._other_names(device, checkout)
            folders = tuple(f"projects/{name}/_harness/" for name in names - others)
            files = {key: text for key, text in raw[place].items() if key.startswith(folders)}
        else:
            files = raw[f"{device}:{checkout}"]
        return {token for key, text in files.items() if ".sync-conflict-" not in key for token in tokens(text)}

    def look_back(self) -> None:
        """What was replaced is in the history of its note, on the device that replaced it."""
        versions: dict[Spot, set[str]] = {}
        raw = self.world.raw()
        for (device, place, token), key in self.past.items():
            if token in all_tokens(raw) or not self._is_shown(device, place, token):
                continue
            if (device, f"{place}/{key}") not in versions:
                versions[device, f"{place}/{key}"] = self._versions(device, place, key)
            if token not in versions[device, f"{place}/{key}"]:
                self.problem("not in the history", f"{token} of {key} in {place}, on {device}")

    def _is_shown(self, device: str, place: str, token: str) -> bool:
        """Whether the history of a note shows a version to the store as it is now, encrypted or in plain."""
        has_both = "encrypted" in self.world.set_up and place == self.world.team(device)
        return not has_both or ((device, token) in self.replaced_in_plain) != self.world.is_sealed

    def _versions(self, device: str, place: str, key: str) -> set[str]:
        """The tokens in all earlier versions of a note."""
        store = "default" if place == self.world.default[device] else "team"
        words = ("--store", store, "checkpoint", "history", key)  # `notes history` of a note that is gone names this
        history = self.world.agentm(device, "plain", *words, "--json")
        if history.code:
            return set()
        found: set[str] = set()
        for change in json.loads(history.out)["changes"]:
            if change["version"]:
                found |= tokens(self.world.agentm(device, "plain", *words, "--show", change["version"]).out)
        return found

    def remember(self, checkpoint: str, place: str, raw: Raw) -> None:
        left = {each for each in self.left if each[0] == place}
        self.taken[checkpoint] = dict(raw[place]), copy.deepcopy(self.names[place]), left


def _name(key: str) -> str:
    """The name of the project that a key lies in."""
    found = re.match(r"projects/([^/]+)/", key)
    return found.group(1) if found else ""
