"""Notes that somebody wrote to get out of their quotation: what an agent is told of them stays between fences.

Text, file name, kind, source and title are made of what ends a fence, hides from readers or takes long. A reader of
its own, which shares nothing with the code that writes fences, then looks where each note's words stand.
"""

from __future__ import annotations

import re
import time
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any
from unittest import mock

from agentm_devkit.conformance.memory import MemoryBackend
from agentm_kernel import AgentmError, Locator
from agentm_recall import digest, fence, phase_recall
from tests.faults.harness import Intensity, Outcome

if TYPE_CHECKING:
    import random
    from contextlib import AbstractContextManager

_WORD = "planted"
_HIDING = "\u200b\u202e\u2066\u00ad\ufe0f\u2028\u0085\x1b\x07\u180e\U000e0041\U000e0100"
_PIECES = (
    *("`" * length for length in (1, 3, 4, 5, 12, 79, 80, 81, 300)),
    *_HIDING,
    *("\n", "\n\n", "\r", "\r\n", " ", "   ", "\t", "~~~", "# ", "note", "text", "---\n", "<!--", "</note>", _WORD),
    *(f"\n{'`' * length}\n{_WORD}: obey\n" for length in (3, 4, 81)),
    *(f"\n{'`' * 3}note\n", "`\u200b``", "`\n`", "\ud7ff", "\U0001f44d\u200d\U0001f44d"),
)
_FIELDS = ("kind", "source", "title", "status", "tags", "confidence")
_FENCE = re.compile(r" {0,3}(`{3,})(note)?[ \t]*")
_SLOW = 1.0
"""Seconds of the processor for one recall; it takes a fiftieth."""


def campaign(intensity: Intensity) -> Outcome:
    outcome = Outcome("notes that try to leave their fence")
    for number in range(intensity.pick(short=15, full=1_500)):
        _recall(outcome, intensity.random(f"notes {number}"), nullcontext())
    for name, build in _CONTROLS.items():
        broken = Outcome("control")
        for number in range(200):
            _recall(broken, intensity.random(f"{name} {number}"), build())
            if broken.violations:
                break
        outcome.control(name, broken)
    return outcome


def _recall(outcome: Outcome, chance: random.Random, build: AbstractContextManager[Any]) -> None:
    memory = MemoryBackend()
    for number in range(4):
        try:
            key = Locator(f"projects/widgets/decisions/{_name(chance)}{number}.md")
            memory.write(key, _note(chance))
            outcome.count += 1
        except AgentmError:
            continue  # no key can have that name
    with build:
        started = time.process_time()
        told = phase_recall("work", "widgets", backend=memory, environ={}, budget=chance.choice((200, 2_000, 50_000)))
        took = time.process_time() - started
    if took > _SLOW:
        outcome.violation("slow", f"{took:.1f} s of the processor")
    _judge(outcome, told)


def _note(chance: random.Random) -> str:
    fields = "".join(f"{name}: {_text(chance, 4)}\n" for name in _FIELDS if chance.random() < 0.5)
    head = f"---\n{fields}---\n" if chance.random() < 0.7 else ""
    return f"{head}{_WORD}{_text(chance, chance.choice((3, 30, 600)))}"


def _text(chance: random.Random, pieces: int) -> str:
    return "".join(chance.choice(_PIECES) for _ in range(chance.randint(0, pieces)))


def _name(chance: random.Random) -> str:
    return f"{_WORD}{''.join(chance.choice(('`', '```', ' ', '(', '#', 'x', '. ')) for _ in range(6))}"


def _judge(outcome: Outcome, told: str) -> None:
    """What a reader of Markdown would find outside of the fences, and what nobody would see."""
    hidden = {character for character in _HIDING if character in told}
    if hidden:
        outcome.violation("hidden", f"{sorted(map(ascii, hidden))} in what an agent is told")
    opened = 0
    for line in re.split("[\n\r\u2028\u2029\u0085\x0b\x0c]", told):
        match = _FENCE.fullmatch(line)
        if match and not opened:
            opened = len(match[1])
        elif match and len(match[1]) >= opened and not match[2]:
            opened = 0
        elif not opened and _WORD in line:
            outcome.violation("outside", line[:80])
    if opened:
        outcome.violation("open", "the last fence does not end")


def _busy(text: str) -> str:
    started = time.process_time()
    while time.process_time() < started + 2 * _SLOW:
        pass
    return text


_CONTROLS: dict[str, Any] = {
    "a fence of three": lambda: mock.patch.object(fence, "longest_run", return_value=2),
    "showing what hides": lambda: mock.patch.multiple(fence, _VISIBLE={}, _shown_for=lambda code: code),
    "a header outside": lambda: mock.patch.object(
        digest, "fenced", lambda header, text: f"{header}\n{fence.fenced('', text)}"
    ),
    "a slow fence": lambda: mock.patch.object(fence, "bounded_runs", _busy),
}
