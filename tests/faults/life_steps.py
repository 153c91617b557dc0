"""All that can happen in a life, and how often.

A step is drawn with all of its words, so that it is the same step when others before it are left out. What it does is
compared with the ledger, which is told what the command said.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.faults import life_notes, life_projects, life_sealed, life_stores
from tests.faults.life_set_ups import SET_UPS
from tests.faults.life_step import Step
from tests.faults.life_world import DEVICES, REMOTES

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    from tests.faults.life_ledger import Ledger

KINDS = ("fact", "decision", "known-issue", "open-question", "convention", "reference", "wiki-style", "always-load")
SLUGS = ("alpha", "bravo", "charlie", "delta")
NAMES = ("widgets", "ben-widgets", "plain", "gadgets", "tools")
STATE = ("PLAN.md", "progress.md", "PLAN-next.md")


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
    "checkpoint undo": lambda rng: (rng.choice(SLUGS),),
    "notes confirm": lambda rng: (rng.choice(SLUGS),),
    "git undo": lambda rng: (rng.choice(SLUGS),),
    "edit plan": lambda rng: (rng.choice(STATE),),
    "forget": lambda rng: (rng.choice(SLUGS),),
    "propose": lambda rng: (rng.choice(SLUGS),),
    "state write": lambda rng: (rng.choice(STATE),),
    "state append": lambda rng: (rng.choice(STATE),),
    "register": lambda rng: rng.choice(((), ("--adopt",), ("--slug", rng.choice(NAMES)))),
    "rename": lambda rng: (rng.choice(NAMES), rng.choice(NAMES)),
    "merge": lambda rng: (rng.choice(NAMES), rng.choice(NAMES)),
    "use-store": lambda rng: (rng.choice(("team", "team", "default")), *rng.choice(((), ("--move", "--yes")))),
    "restore": lambda rng: rng.choice(((), (), ("--keep-extra",), ("--path", f"projects/{rng.choice(NAMES)}/facts"))),
    "reindex": lambda rng: rng.choice(((), ("--update",))),
    "export and import": lambda rng: (rng.choice(("okf", "markdown")), rng.choice(("own", "own", "other"))),
    "migrate": lambda rng: rng.choice(((), ("--keep-apart",))),
    "conflict": lambda rng: (rng.choice(SLUGS),),
    "resolve": lambda rng: rng.choice(
        (("--union",), (rng.choice(SLUGS), "--take", rng.choice(("mine", "both", "theirs")), "--yes"))
    ),
    "shell": lambda rng: (rng.choice((">>", ">>", "sed", "rm")), rng.choice(SLUGS)),
    "checkout": lambda rng: (rng.choice(("cp", "mv", "set-url")),),
}
_FURTHER = tuple(name for name in SET_UPS if "further" in name)
_ENCRYPTED = tuple(name for name in SET_UPS if "encrypted" in name)
_CLONES = tuple(name for name in SET_UPS if name.endswith("git"))
_OF_FILES = ("vault", "further vault", "moving")
STEPS: dict[str, tuple[int, Callable[[Ledger, Step], None], tuple[str, ...]]] = {
    "save": (30, life_notes.save, ()),
    "notes edit": (5, life_notes.change, ()),
    "notes move": (6, life_notes.change, ()),
    "notes undo": (5, life_notes.change, ()),
    "notes confirm": (2, life_notes.change, ()),
    "forget": (4, life_notes.change, ()),
    "propose": (4, life_notes.propose, ()),
    "inbox accept": (3, life_notes.decide, ()),
    "inbox reject": (1, life_notes.decide, ()),
    "state write": (4, life_notes.state, ()),
    "state append": (4, life_notes.state, ()),
    "edit plan": (3, life_notes.edit_plan, ()),
    "git undo": (2, life_notes.git_undo, _CLONES),
    "register": (3, life_projects.register, ()),
    "rename": (5, life_projects.rename, ()),
    "merge": (4, life_projects.merge, ()),
    "use-store": (8, life_projects.use_store, _FURTHER),
    "checkpoint": (3, life_stores.checkpoint, ()),
    "restore": (3, life_stores.restore, ()),
    "reindex": (1, life_stores.reindex, ()),
    "export and import": (2, life_stores.export_and_import, ()),
    "migrate": (4, life_stores.migrate, ("moving",)),
    "sync": (8, life_stores.sync, _CLONES),
    "conflict": (4, life_stores.conflict, _OF_FILES),
    "resolve": (4, life_stores.resolve, _OF_FILES),
    "rotate": (3, life_sealed.rotate, _ENCRYPTED),
    "decrypt": (2, life_sealed.decrypt, _ENCRYPTED),
    "encrypt": (4, life_sealed.encrypt, _ENCRYPTED),
    "session start": (3, life_notes.session_start, ()),
    "checkpoint undo": (2, life_notes.change, ()),
    "shell": (6, life_notes.shell, ()),
    "checkout": (3, life_projects.checkout, ()),
}
"""By name: how often, what it does, and in which set-ups only."""
