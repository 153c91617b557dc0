"""From text to words: what is indexed besides the text itself, and what a question looks for.

SQLite's tokenizer splits at everything that is neither letter nor digit, so `snake_case` and paths fall into words by
themselves, and it stems English. It does not see the words inside `camelCase`, and does not know that
`maxRetryCount`, `max_retry_count` and "max retry count" are one thing. Nor does it find words in scripts that put no
space between them: there every pair of neighbouring characters counts as a word. Both are added here.

All of it does without `re`, which takes longer to load than a hook takes to answer with it: characters that do not
belong to a word become spaces, and the text falls apart there.
"""

from __future__ import annotations

from itertools import pairwise

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_JOINERS = "./:\\-"
"""What stands inside of a path, a name with dots, an address."""
_GLUED = ("s", "t", "re", "ve", "ll", "d", "m")
"""What English glues to a word with an apostrophe: `isn't` is asked as `is`, `Anna's` as `Anna`."""
_CJK = (
    *((0x1100, 0x11FF), (0x3040, 0x30FF), (0x3130, 0x318F), (0x31F0, 0x31FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF)),
    *((0xAC00, 0xD7AF), (0xF900, 0xFAFF), (0xFF66, 0xFF9F), (0x20000, 0x3FFFF)),
)
"""Letters of Chinese, Japanese and Korean. Korean has spaces, but glues particles to its words."""


def _is_of_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def _is_of_compound(character: str) -> bool:
    return _is_of_word(character) or character in _JOINERS


def _is_cjk(character: str) -> bool:
    return any(first <= ord(character) <= last for first, last in _CJK)


def _is_other(character: str) -> bool:
    return character != "_" and not _is_cjk(character)


class _Runs(dict[int, int]):
    """A table for `str.translate` that makes a space of what `belongs` refuses; each character is judged once."""

    def __init__(self, belongs: Callable[[str], bool]) -> None:
        self._belongs = belongs

    def __missing__(self, code: int) -> int:
        self[code] = code if self._belongs(chr(code)) else 0x20
        return self[code]

    def of(self, text: str) -> list[str]:
        return text.translate(self).split(" ")


_WORDS, _COMPOUNDS, _IN_CJK, _BESIDE_CJK = map(_Runs, (_is_of_word, _is_of_compound, _is_cjk, _is_other))

_SAY_NOTHING = """
a about after all also am an and any are as at be because been before being but by can cannot could did do does doing
done for from get gets got had has have having he her here him his how i if in into is it its just let like made make
may me might more most must my no not now of off on once one only or other our out over please shall she should so
some such than that the their them then there these they thing things this those to too under up us use used uses
using very via was we were what when where which while who whom whose why will with would you your
"""
_SAY_NOTHING_ELSEWHERE = """
au aux avec ce ces cette comment dans de des du elle en est et il ils la le les leur nous ou par pas pour quand
que quel quelle quelles quels qui quoi se ses son sont sur un une vous al como con cual cuando cuanto cuantos de
del donde el ella en es esta este la las lo los nos para pero por porque que se ser si son su sus un una uno y
aber als am auf aus bei bin das dass dem den der des du ein eine einem einen einer er es fur hat ich ihr im ist
kann man mit nach nicht noch nur oder sich sie sind uber und uns vom von vor wann warum welche welcher wenn wer
werden wie wird wo wurde zu zum zur ao aos com como da das de do dos e ela em esta eu foi isso mais mas na nao
nas no nos o onde os para pela pelo por quais qual quando que sao se seu sua um uma
"""
STOP_WORDS = frozenset(_SAY_NOTHING.split()) | frozenset(_SAY_NOTHING_ELSEWHERE.split())

_SAY_LITTLE = """
able actually add again ago already always another anything approach around ask assume attach aware away back bad
base begin behind believe below best better bit both branch break bring bug build call care careful case cause
certain chance change check clear close code colleague come comment commit compare complete consider context correct
couple create day decide decision description detail diff difference different draft during each early easy either
else end enough ensure entire even ever every everything exactly example exist expect explain explanation extra fact
fail far feature feel few figure file find fine finish first fix follow forget format found free friday full
function general give go good great green guess hand happen hard head hear help hint hold hope hour idea implement
implementation important improve include inside instead issue keep kind know large last late later least leave left
less line list little long look lose lot main manager many matter mean meantime meeting mention merge message might
mind minute miss mistake module moment monday month morning move much name need never new next nice nobody none
normal note nothing notice number obvious often old open opinion option order others otherwise output overall own
page paragraph part past path people perhaps person pick piece place plain plan point possible prefer prepare
probably problem project prompt proper propose proposal provide pull push put question quick quickly quite rather
read reader ready real really reason recall recent refactor regard related relevant remain remember remove rename
repeat report repository request require result return review rewrite right round run safe same saturday say second
section see seem sentence separate set several short show side similar simple simply since single size small
somebody someone something sometimes somewhere soon sort sound source speak split stand start state stay step still
stop story subject suggest suggestion suite summarise summarize summary sunday support suppose sure take talk task
team tell test text thank thanks therefore think thought through thursday ticket time title today together tomorrow
tonight top touch track trust try tuesday turn type understand unless until update usual usually verify version wait
want watch way wednesday week weekend well whatever whether whole wish without wonder word work worry worth write
wrong yesterday yet
"""
_OF_PASTES = """
args assert assertion async at attempt await bin call caller captured catch caused cls class client code com
completed core created debug def default dev dist encountered env err errno errors error event exception exec exit
expected fail failed failure false fatal file func function github go goroutine got handle handler home host id
illegal impl import info input internal invalid io java javax js kotlin kwargs lang last lib libs line local log
logger main message method modules most msg net node none npm null object opt org output packages panic passed
process py python raise raised recent request response result return run runner runtime running self server service
site source src stack state status stderr stdout step summary test tests thread throw time timestamp tmp trace
traceback true ts type unexpected unhandled unknown usr util utils value var void warn warning worker
"""
OF_PASTES = frozenset(_OF_PASTES.split())
"""What traces and logs are made of, whatever went wrong."""

SAY_LITTLE = frozenset(_SAY_LITTLE.split())
"""What people write when they ask for work, whatever it is about."""


def says_little(word: str) -> bool:
    """Whether a word belongs to asking rather than to the subject, in any of its forms."""
    if word in SAY_LITTLE:
        return True
    for ending, instead in _ENDINGS:
        if word.endswith(ending) and word.removesuffix(ending) + instead in SAY_LITTLE:
            return True
    stem = word.removesuffix("ing").removesuffix("ed")
    return len(stem) > 3 and stem[-1] == stem[-2] and stem[:-1] in SAY_LITTLE


_ENDINGS = (("s", ""), ("es", ""), ("ies", "y"), ("ed", ""), ("d", ""), ("ing", ""), ("ing", "e"), ("er", ""))

_SAME = (
    "admin administrator",
    "api endpoint",
    "app application",
    "args arguments",
    "async asynchronous",
    "auth authentication authenticate authorization login",
    "ci pipeline",
    "cli command",
    "cmd command",
    "config configuration configure settings",
    "conn connection",
    "cron schedule",
    "db database",
    "deps dependencies dependency",
    "dev development",
    "dir directory folder",
    "docs documentation",
    "doc documentation",
    "env environment",
    "err error",
    "exec execute",
    "fs filesystem",
    "impl implementation",
    "info information",
    "init initialize initialization",
    "k8s kubernetes",
    "lang language",
    "lib library",
    "max maximum",
    "mem memory",
    "min minimum",
    "msg message",
    "num number",
    "param parameter",
    "perf performance",
    "pkg package",
    "pr pull",
    "prod production",
    "proc process",
    "py python",
    "repo repository",
    "req request",
    "sec security",
    "spec specification",
    "sync synchronize",
    "temp temporary",
    "tmp temporary",
    "ts typescript",
    "tz timezone",
    "url link address",
    "util utility",
    "val value",
    "var variable",
)
"""Short forms that programmers write, and what they stand for."""


def _abbreviations() -> dict[str, tuple[str, ...]]:
    same: dict[str, tuple[str, ...]] = {}
    for line in _SAME:
        short, *meanings = line.split()
        same[short] = tuple(meanings)
        for meaning in meanings:
            same[meaning] = (*same.get(meaning, ()), short)
    return same


ABBREVIATIONS = _abbreviations()

_LONGEST_COMPOUND = 6
"""Words of a path or an identifier; longer ones are not looked for as a whole."""


def pieces(identifier: str) -> list[str]:
    """The words inside an identifier, lower-cased: `HTTPServer2_url` is http, server2, url."""
    if not identifier.isascii():
        return [part.lower() for part in identifier.split("_") if part]
    if identifier.isalpha() and identifier[1:].islower():
        return [identifier.lower()]
    return [word.lower() for part in identifier.split("_") for word in _humps(part)]


def _humps(part: str) -> list[str]:
    """A word begins at a capital that follows something else or precedes a small letter, and after digits."""
    words: list[str] = []
    start = 0
    for at in range(1, len(part)):
        before, here = part[at - 1], part[at]
        begins = here.isupper() and (not before.isupper() or part[at + 1 : at + 2].islower())
        if begins or (before.isdigit() and not here.isdigit()):
            words.append(part[start:at])
            start = at
    return [*words, part[start:]] if part else words


def hidden_words(text: str) -> str:
    """What the tokenizer does not find in `text`: the words inside identifiers, and identifiers as one word."""
    hidden: dict[str, None] = {}
    for identifier in dict.fromkeys(filter(None, _WORDS.of(text))):
        tokens = [part.lower() for part in identifier.split("_") if part]
        words = pieces(identifier)
        if words != tokens:
            hidden[" ".join(words)] = None
        if len(tokens) > 1:
            hidden["".join(tokens)] = None
    hidden |= dict.fromkeys(bigrams(text))
    return "\n".join(hidden)


def bigrams(text: str) -> list[str]:
    """Every pair of neighbours in runs of Chinese, Japanese and Korean; a character that stands alone is one too."""
    if text.isascii():
        return []
    found: list[str] = []
    for run in filter(None, _IN_CJK.of(text)):
        found += [first + second for first, second in pairwise(run)] or [run]
    return found


def _unshortened(text: str) -> str:
    whole, *rest = text.replace("\u2019", "'").split("'")
    for part in rest:
        glued = next((end for end in _GLUED if part[: len(end)].lower() == end), "")
        ends = not _is_of_word(part[len(glued) : len(glued) + 1] or " ")
        if glued and ends and whole and _is_of_word(whole[-1]):
            is_not = glued == "t" and whole[-1] in "nN" and _is_of_word(whole[-2:-1] or " ")
            whole = whole[: len(whole) - is_not] + part[len(glued) :]
        else:
            whole += f"'{part}"
    return whole


def spelled(text: str) -> list[str]:
    """The words of a text in their order, lower-cased: identifiers in pieces, CJK in pairs, nothing glued on."""
    words: list[str] = []
    for identifier in filter(None, _WORDS.of(_unshortened(text))):
        if identifier.isascii():
            words += pieces(identifier)
            continue
        words += bigrams(identifier)
        words += [part.lower() for part in _BESIDE_CJK.of(identifier) if part]
    return words


def compounds(text: str) -> list[str]:
    """What is written as one thing, as the phrase of its words and glued together: `max_retries`, `sync/http.py`."""
    found: list[str] = []
    for run in _COMPOUNDS.of(_unshortened(text)):
        if run[1:].islower() and run.isalpha():
            continue  # one word, like most
        compound = run.strip(_JOINERS)
        inside = [word for identifier in _WORDS.of(compound) for word in pieces(identifier)]
        if 1 < len(inside) <= _LONGEST_COMPOUND and compound.isascii():
            found += [" ".join(inside), "".join(inside)]
    return found


def scope_token(what: str, name: str | None) -> str:
    """One word that no text has and no stemmer changes, for questions that are limited to a project or a kind."""
    return f"{what}{(name or '').encode().hex()}x"
