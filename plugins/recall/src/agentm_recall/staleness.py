"""Notes that name what their project no longer has: checked in the background, remembered beside the index.

Only what was there when the note was last written or verified, and is gone since, counts. A note may speak of files
of other projects, or of one that it says was removed; nobody is told of these.
"""

from __future__ import annotations

import sys

from agentm_recall.remarks import Remark, read_remarks, read_seen, write_remarks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_recall.checkout import Checkout

    Named = tuple[str, str, str, str, str]

_MOST = 2000
"""Names that are asked about at most."""


def check_project(index: str, project: str, root: str) -> list[Remark]:
    """Compare what the project's notes name with its checkout at `root`, and keep what was found for recall."""
    from agentm_recall.checkout import Checkout, NoCheckout
    from agentm_recall.index.database import Database, IndexUnavailable

    try:
        with Database.open(index, read_only=True, wait=1.0) as database:
            named = database.named_things(project)[:_MOST]
        if not named:
            write_remarks(index, project, [], set())
            return []
        seen = read_seen(index, project)
        found = _Check(Checkout(root), named, seen).remarks()
        write_remarks(index, project, found, seen)
    except (IndexUnavailable, NoCheckout) as error:
        sys.stderr.write(f"agentm recall: notes were not checked: {error}\n")
        return list(read_remarks(index, project).values())
    return found


class _Check:
    def __init__(self, checkout: Checkout, named: list[Named], seen: set[str]) -> None:
        self._checkout = checkout
        self._seen = seen
        self._named = named
        self._since = {key: moment_of(stated) for key, stated, _, _, _ in named}

    def remarks(self) -> list[Remark]:
        gone: dict[str, dict[str, list[str]]] = {}
        stated = {key: said for key, said, _, _, _ in self._named}
        for kind, find in (("file", self._files), ("function", self._functions), ("commit", self._commits)):
            for key, name in find([(key, name) for key, _, _, what, name in self._named if what == kind]):
                gone.setdefault(key, {}).setdefault(kind, []).append(name)
        return [Remark(key, stated[key], kinds) for key, kinds in sorted(gone.items())]

    def _files(self, named: list[tuple[str, str]]) -> list[tuple[str, str]]:
        from agentm_recall.checkout import removal_of

        missing = [(key, name) for key, name in named if not self._checkout.has_file(name)]
        if not missing:
            return []
        removed = self._checkout.removed_files(min(self._since[key] for key, _ in missing))
        when = {name: removal_of(name, removed) for _, name in missing}
        return [(key, name) for key, name in missing if (when[name] or 0.0) > self._since[key]]

    def _functions(self, named: list[tuple[str, str]]) -> list[tuple[str, str]]:
        missing = self._checkout.missing_words([*{name: None for _, name in named}]) if named else set()
        found = []
        for key, name in named:
            if name in missing and self._was_there(name, self._since[key]):
                found.append((key, name))
        return found

    def _was_there(self, name: str, moment: float) -> bool:
        """Whether the checkout had the name around the time of the note."""
        return any(
            not self._checkout.missing_words([name], commit) for commit in self._checkout.commits_around(moment)
        )

    def _commits(self, named: list[tuple[str, str]]) -> list[tuple[str, str]]:
        lost = self._checkout.lost_commits({name: None for _, name in named}, self._seen) if named else set()
        return [(key, name) for key, name in named if name in lost]


def moment_of(stated: str) -> float:
    """Seconds since the epoch of the latest date that a note states; in the far future where it states none."""
    from datetime import UTC, datetime

    moments = []
    for text in stated.split("|"):
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            continue
        moments.append((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
        if len(text) <= len("2025-01-01"):
            moments[-1] += 86_399  # a day without a time is over when it ends
    return max(moments, default=float(1 << 40))
