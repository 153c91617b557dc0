"""Reading a question of any length: which of its words to look for, and how much each of them says.

A question may be three words, a page of instructions or a pasted trace. Words are counted once; small words say
nothing; in a paste the line that names the error says most, and frames, paths and numbers say little.
"""

from __future__ import annotations

from itertools import pairwise

from agentm_recall.index.words import ABBREVIATIONS, OF_PASTES, STOP_WORDS, compounds, says_little, spelled

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re

LONGEST = 20_000
"""Characters of a question that are read: its beginning and its end, where people say what they want."""
MOST_WORDS = 600
"""Different words of a question that are weighed."""
_SHORT = 12
"""Up to so many words, short forms are spelled out and long ones shortened: each word was chosen."""
_PASTED_LINES = 3
_LONG_LINE = 200

# Patterns for pastes. `re` is loaded by the first one: most questions are none, and a hook is waiting. None begins in
# the middle of a run that it takes in: a line may be one run of 10,000 characters.
_FRAME = (
    r'^\s*(?:File "|at\s+\S|from\s+/|in\s+/|created by\b|goroutine \d|#\d+\s|\d+:\s+0x|-->|\.\.\.\s)'
    r"|[\w./\\-]\.\w{1,4}[:(]\d"
)
_ERROR = (
    r"(?i)\b\w*(?:errors?|exception|panic|fatal|failed|failure|critical|caused by|refused|denied|timed out|timeout)\b"
)
_LONG_PATH = r"(?<![\w.@+-])(?:[A-Za-z]:)?[\w.@+-]*(?:[/\\][\w.@+-]+){3,}"
_NOISE = (
    r"(?i)0x[0-9a-f]+|(?<![0-9a-f])(?=[a-f]*\d)[0-9a-f]{7,}|\d{5}\d+"
    r"|\d{4}-\d\d-\d\d[T ]?[\d:.,Z]*|\d+:\d+:[\d.,]+"
)
_IN_FRAME, _IN_SOURCE, _IN_ERROR = 0.25, 0.5, 1.5
_NUMBER = 0.5
_OF_ASKING = 0.3
_PASSAGE = 20
"""Telling words: two or three sentences, which is how long people stay with one thought."""


class Question:
    """The words of a question with what each says by where it stands, most of them once, in their order."""

    def __init__(self) -> None:
        self.words: dict[str, float] = {}
        self.pairs: list[tuple[str, str]] = []
        """Telling words that stand side by side."""
        self.compounds: dict[str, float] = {}
        """What is written as one thing: paths, identifiers; as a phrase and glued together."""
        self.passages: list[list[str]] = []
        """The telling words of each line of a paste; of other text, of a few sentences at a time."""
        self.is_short = True
        self.is_pasted = False
        """Whether it holds a trace or a log."""

    @property
    def meanings(self) -> list[str]:
        """What short forms stand for, and the other way round."""
        if not self.is_short:
            return []
        return [meaning for word in self.words for meaning in ABBREVIATIONS.get(word, ())]


def read_question(text: str) -> Question:
    if len(text) > LONGEST:
        text = f"{text[: LONGEST // 2]}\n{text[-LONGEST // 2 :]}"
    question = Question()
    seen_pairs: dict[tuple[str, str], None] = {}
    lines = _weighed(text)
    question.is_pasted = any(weight != 1 for _, weight in lines)
    for line, weight in lines:
        words = [word for word in spelled(line) if len(word) > 1 or not word.isascii()]
        telling = [word for word in words if word not in STOP_WORDS]
        for word in telling:
            said = weight * (_NUMBER if word.isdigit() else 1.0)
            question.words[word] = max(said, question.words.get(word, 0.0))
        if weight >= 1:
            seen_pairs |= dict.fromkeys(pair for pair in pairwise(telling) if pair[0] != pair[1])
        for compound in compounds(line):
            question.compounds[compound] = max(weight, question.compounds.get(compound, 0.0))
        question.passages.append(telling)
    if not question.words:  # nothing but small words: then they are what is asked
        question.words = dict.fromkeys(spelled(text), 1.0)
    if len(question.words) > MOST_WORDS:
        kept = sorted(question.words, key=question.words.__getitem__, reverse=True)[:MOST_WORDS]
        question.words = {word: question.words[word] for word in kept}
    question.pairs = [pair for pair in seen_pairs if pair[0] in question.words and pair[1] in question.words]
    question.is_short = len(question.words) <= _SHORT
    if not question.is_pasted:
        told = [word for passage in question.passages for word in passage]
        question.passages = [told[start : start + _PASSAGE] for start in range(0, len(told), _PASSAGE // 2)]
    if not question.is_short:
        for word in question.words:
            if says_little(word) or (question.is_pasted and word in OF_PASTES):
                question.words[word] *= _OF_ASKING
    return question


def _weighed(text: str) -> list[tuple[str, float]]:
    """The lines, each with how much its words say."""
    lines = [line for line in text.split("\n") if line.strip()]
    if len(lines) < _PASTED_LINES and all(len(line) <= _LONG_LINE for line in lines):
        return [(line, 1.0) for line in lines]
    import re

    if len(lines) < _PASTED_LINES:
        return [(re.sub(_NOISE, " ", line) if len(line) > _LONG_LINE else line, 1.0) for line in lines]
    weighed = []
    after_frame = after_source = False
    for line in lines:
        is_frame = re.search(_FRAME, line) is not None
        weight = _IN_FRAME if is_frame else 1.0
        if not is_frame and after_frame and line[:1].isspace():
            weight = _IN_SOURCE  # the line of source below a frame
        elif not is_frame and (re.search(_ERROR, line) or (after_source and not line[:1].isspace())):
            weight = _IN_ERROR  # it says so, or it ends a trace
        after_source = is_frame or (after_frame and line[:1].isspace())
        after_frame = is_frame
        weighed.append((re.sub(_NOISE, " ", re.sub(_LONG_PATH, _end_of_path, line)), weight))
    return weighed


def _end_of_path(match: re.Match[str]) -> str:
    return " ".join(match[0].replace("\\", "/").split("/")[-2:])
