"""From a question to what the index is asked: the words that it knows, the rarest of them first."""

from __future__ import annotations

from agentm_kernel.plugin import Frozen
from agentm_recall.index.lexicon import Lexicon
from agentm_recall.index.question import read_question

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_recall.index.database import Database
    from agentm_recall.index.question import Question

MOST_TERMS = 48
"""Words that are looked for. Measured: more of them cost time and bring nothing, fewer lose long questions."""
MOST_NOTES = 5000
"""So many notes are ranked at most, about: where a store has more that have one of the words, the commonest words are
not looked for. They say least, and ranking takes some microseconds for every note.
"""


class Plan(Frozen):
    """What is looked for, and how much of the question each word is."""

    question: Question
    lexicon: Lexicon
    terms: tuple[str, ...]
    """Words, phrases and meanings, as FTS5 is asked for them."""
    stems_of: dict[str, tuple[str, ...]]
    stems: dict[str, float]
    """The weight of each stem of the question that the index knows."""
    whole: dict[str, float]
    """The weight of each identifier that some note has as a whole, by its stem."""
    told: dict[str, float]
    """How much each word of the question is of what it is about; words that no note has count in full."""
    counts: dict[str, int]
    """How many notes have each stem."""

    def expression(self, condition: str = "", most: int | None = MOST_NOTES) -> str | None:
        """The question in the language of FTS5, `None` if there is nothing in it that the index knows."""
        if not self.terms:
            return None
        words = " OR ".join(f'"{term}"' for term in self._affordable(most))
        return f"{condition} AND ({words})" if condition else words

    def _affordable(self, most: int | None) -> list[str]:
        """The terms, without the commonest where all of them are in too many notes."""
        cost = {term: self._notes_with(term) for term in self.terms}
        if most is None or sum(cost.values()) <= most:
            return list(self.terms)
        kept: set[str] = set()
        total = 0
        for term in sorted(cost, key=cost.__getitem__):
            total += cost[term]
            if kept and total > most:
                break
            kept.add(term)
        return [term for term in self.terms if term in kept]

    def _notes_with(self, term: str) -> int:
        """In how many notes a term can be: a phrase in no more than its rarest word."""
        stems = [stem for word in term.split() for stem in self.stems_of.get(word, ())]
        return min((self.counts.get(stem, 0) for stem in stems), default=0)


def plan_of(database: Database, text: str) -> Plan | None:
    """How to ask for `text`; `None` if there is no word in it."""
    question = read_question(text)
    if not question.words:
        return None
    lexicon = Lexicon(database)
    words = list(question.words)
    glued = [compound for compound in question.compounds if " " not in compound]
    spelled = [*words, *glued, *question.meanings]
    stems_of = dict(zip(spelled, lexicon.stems(spelled), strict=True))
    counts = lexicon.counts({stem for stems in stems_of.values() for stem in stems})
    rarity = lexicon.rarity(counts)
    whole = {
        stems_of[compound][0]: question.compounds[compound] * rarity[stems_of[compound][0]]
        for compound in glued
        if len(stems_of[compound]) == 1 and stems_of[compound][0] in rarity
    }
    known: dict[str, float] = {}
    stems: dict[str, float] = {}
    told: dict[str, float] = {}
    for word, said in question.words.items():
        tells = [rarity[stem] for stem in stems_of[word] if stem in rarity]
        if tells and len(tells) == len(stems_of[word]):
            told[word] = known[word] = said * max(tells)
            for stem in stems_of[word]:
                stems[stem] = max(stems.get(stem, 0.0), said * rarity[stem])
        elif stems_of[word]:
            told[word] = said
    kept = sorted(known, key=known.__getitem__, reverse=True)[:MOST_TERMS]
    chosen = [word for word in words if word in set(kept)]
    inside = set(chosen)
    pairs = [" ".join(pair) for pair in question.pairs if inside.issuperset(pair)]
    terms = dict.fromkeys((*chosen, *_known_compounds(question, inside), *pairs, *question.meanings))
    return Plan(question, lexicon, tuple(terms), stems_of, stems, whole, told, counts)


def _known_compounds(question: Question, words: set[str]) -> list[str]:
    """The compounds of a short question; of a long one those whose words are all looked for."""
    if question.is_short:
        return list(question.compounds)
    kept = [compound for compound in question.compounds if " " in compound and words.issuperset(compound.split())]
    return [spelling for compound in kept for spelling in (compound, compound.replace(" ", ""))]
