"""What memory has to say to a prompt: at most three notes, and nothing where none answers it.

The recall provider decides which notes answer (`for_prompt`). One that cannot is asked for the notes that match, and
those count that hold enough of the prompt's own words.
"""

from __future__ import annotations

from agentm_hosts.ledger import given_notes, keys_in
from agentm_hosts.marks import unchanged

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentm_kernel.plugin import HookCall

_MOST = 3
_ENOUGH = 0.5
"""The share of a prompt's words that a note must hold."""
_LONGEST_PROMPT = 4_000
_HEADING = "[agentm] From this project's memory:"
_COMMON_TEXT = (
    "about after again also because been before being below between both cannot could does doing down during each "
    "from further have having here hers him how into itself just like make made more most much need only other "
    "ours over please same should show some such tell than that the their them then there these they this those "
    "through under until use used using very want was were what when where which while who whom why will with "
    "would you your and are but can did for has its let not now our out see she too use way "
)
_COMMON = frozenset(_COMMON_TEXT.split())


def answers(call: HookCall, session: str, prompt: str, tokens: int) -> str:
    """The notes for a prompt, without those that the session has already as they are."""
    if not prompt.strip() or call.device.config.get("plugins.hosts.prompt") is False:
        return ""
    known = unchanged(call, given_notes(call.device.state_dir, call.host, session))
    text = call.recall(prompt, tokens, known)
    if text is not None:
        return text.rstrip()
    return _simple(call, prompt[:_LONGEST_PROMPT], known, tokens)


def _simple(call: HookCall, prompt: str, known: tuple[str, ...], tokens: int) -> str:
    from agentm_kernel import recall_here
    from agentm_kernel.plugin import layout

    wanted = words(prompt)
    if not wanted:
        return ""
    # More than what is shown: the best may be known already.
    found = recall_here({"cwd": call.cwd}, query=" ".join(sorted(wanted)), limit=6 * tokens, device=call.device)
    chosen: list[str] = []
    for note in notes_of(found):
        (key, *_) = keys_in(note) or [""]
        if key in known or key.startswith(f"{layout.ALWAYS_LOAD}/"):
            continue
        share = len(wanted & words(note)) / len(wanted)
        fits = sum(map(len, chosen)) + len(note) <= 4 * tokens
        if share >= _ENOUGH and fits and len(chosen) < _MOST:
            chosen.append(note)
    return "\n".join((_HEADING, *chosen)) if chosen else ""


def words(text: str) -> set[str]:
    """The words that say what a text is about, without their commonest endings."""
    spelled = "".join(character if character.isalnum() else " " for character in text.lower()).split()
    return {_stem(word) for word in spelled if len(word) > 2 and word not in _COMMON}


def _stem(word: str) -> str:
    for ending in ("ing", "ies", "es", "ed", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def notes_of(text: str) -> Iterator[str]:
    """The fenced notes in what recall says, each with its fence."""
    fence = ""
    lines: list[str] = []
    for line in text.split("\n"):
        if not fence and line.startswith("```") and line.endswith("note"):
            fence, lines = line.removesuffix("note"), []
        if fence:
            lines.append(line)
            if line == fence:
                yield "\n".join(lines)
                fence = ""
