"""Which tests call which function: learned once, kept in `.cache/mutants`, and again for a test file that changed.

A function is known by its name, so the code may change meanwhile.
"""

from __future__ import annotations

import ast
import hashlib
import json
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tests.mutants.changes import PROMISES
from tests.mutants.tree import READERS, is_near, test_files, tests_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tests.mutants.copies import PrivateCopy
    from tests.mutants.tree import Mutant

_ENOUGH = 60.0
"""Seconds of tests that one selection has at most, by the time that each took when it was learned."""
_LONG = 240.0
"""The same for a promise and the tests of its room: each has to be noticed, and races take their time."""
MODULE = "<module>"
"""Stands for what is outside of functions."""


class Test(NamedTuple):
    name: str
    file: str
    seconds: float


class Lessons:
    def __init__(self, root: Path) -> None:
        self._root = root
        self._folder = root / ".cache/mutants"
        self._callers: dict[tuple[str, str], set[Test]] = defaultdict(set)
        self._tests: dict[str, set[Test]] = {}
        """Those of each file that is known."""
        self._texts: dict[str, str] = {}
        for place in self._folder.glob("*.json"):
            self._load(place.stem.replace("+", "/"))

    def missing(self, files: Iterable[str]) -> list[str]:
        """Those of these test files about which nothing is known."""
        return [file for file in files if file not in self._tests and not self._load(file)]

    def learn(self, copy: PrivateCopy, files: list[str]) -> None:
        calls, tests = copy.learn(files)
        called: dict[str, set[str]] = defaultdict(set)
        for line in calls.splitlines():
            by, _, what = line.partition("\t")
            called[by].add(what)
        lessons: dict[str, list[list[object]]] = {file: [] for file in files}
        for line in tests.splitlines():
            name, seconds, shared = json.loads(line)
            functions = called[name].union(*(called[one] for one in shared))
            lessons.setdefault(name.partition("::")[0], []).append([name, seconds, sorted(functions)])
        self._folder.mkdir(parents=True, exist_ok=True)
        for file, lesson in lessons.items():
            data = {"of": _hash(copy.root / file), "tests": lesson}
            self._place(file).write_text(json.dumps(data), encoding="utf-8")
            self._load(file)

    def callers(self, mutant: Mutant) -> set[Test]:
        """Every test that calls the function that is changed; for what is outside of functions, any of its file, and
        all that are near: nobody calls a constant.

        Any of its file are also for a function that nobody was seen to call: some threads cannot be watched.
        """
        function = self._function(mutant)
        found = self._callers[mutant.file, function] or self._callers[mutant.file, MODULE]
        if function != MODULE:
            return found
        near = {file for file in self._tests if self._is_near(mutant, file)}
        return found.union(*(self._tests[file] for file in near))

    def _function(self, mutant: Mutant) -> str:
        return function_at((self._root / mutant.file).read_bytes(), mutant.change.line)

    def selections(self, mutant: Mutant) -> Iterator[list[str]]:
        """The tests for it, as arguments of pytest: those that call the function, and whole files not known yet."""
        unknown = self.missing(test_files(self._root, tests_for(self._root, mutant.file)))
        for word, reader in READERS.items():
            if mutant.before.count(word) > mutant.after.count(word) and (self._root / reader).exists():
                yield [reader]
        yield from self._learned(mutant)
        for near in (True, False):
            if files := [file for file in unknown if self._is_near(mutant, file) is near]:
                yield sorted(files, key=lambda file: self._is_about(mutant, file), reverse=True)

    def _learned(self, mutant: Mutant) -> list[list[str]]:
        """The tests in files that are called like the module, in others that are near, and in all others."""
        callers = self.callers(mutant)
        near = {file for file in {test.file for test in callers} if self._is_near(mutant, file)}
        named = {file for file in near if self._is_about(mutant, file)[1]}
        long = _LONG if mutant.change.kind in PROMISES else _ENOUGH
        chosen = [
            _enough([test for test in callers if test.file in named], long),
            _enough([test for test in callers if test.file in near - named], long),
            _enough([test for test in callers if test.file not in near], _ENOUGH),
        ]
        return [tests for tests in chosen if tests]

    def left_out(self, mutant: Mutant) -> str:
        """How many of the tests that call it were too many; nothing where none was."""
        run, known = sum(map(len, self._learned(mutant))), len(self.callers(mutant))
        return f"{run} of {known} tests that call it were run, the quickest" if run < known else ""

    def _is_near(self, mutant: Mutant, test_file: str) -> bool:
        """Whether a test file is of the same room, imports the module, or names the function in several words."""
        if is_near(mutant.file, test_file) or f"{_module(mutant)} import " in self._text(test_file):
            return True
        name = self._function(mutant).rpartition(".")[2]
        return "_" in name.strip("_") and name in self._text(test_file)

    def _is_about(self, mutant: Mutant, test_file: str) -> tuple[bool, bool, bool]:
        """Whether it imports the module, is called like it, and names the function that is changed."""
        module, text = _module(mutant), self._text(test_file)
        words = [word for word in module.rpartition(".")[2].split("_") if len(word) > 3]
        is_called_so = any(word in test_file.rpartition("/")[2] for word in words)
        return f"{module} import " in text, is_called_so, self._function(mutant).rpartition(".")[2].strip("_") in text

    def _text(self, test_file: str) -> str:
        if test_file not in self._texts:
            self._texts[test_file] = (self._root / test_file).read_text(encoding="utf-8")
        return self._texts[test_file]

    def _load(self, file: str) -> bool:
        try:
            lesson = json.loads(self._place(file).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return False
        if not (self._root / file).is_file() or lesson["of"] != _hash(self._root / file):
            return False
        self._tests[file] = {Test(name, file, seconds) for name, seconds, _ in lesson["tests"]}
        for name, seconds, functions in lesson["tests"]:
            for function in functions:
                source, _, called = function.partition("\t")
                outer = called.partition(".<locals>")[0]
                for one in (outer, MODULE):
                    self._callers[source, one].add(Test(name, file, seconds))
        return True

    def _place(self, file: str) -> Path:
        return self._folder / f"{file.replace('/', '+')}.json"


def _module(mutant: Mutant) -> str:
    path = mutant.file.rpartition("/src/")[2].removeprefix("kernel/").removesuffix(".py").removesuffix("/__init__")
    return path.replace("/", ".")


def _hash(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _enough(tests: list[Test], limit: float) -> list[str]:
    """The quickest of each file in turn, for so many seconds."""
    turns: dict[str, int] = defaultdict(int)
    order = []
    for test in sorted(tests, key=lambda test: (test.seconds, test.name)):
        order.append((turns[test.file], test))
        turns[test.file] += 1
    taken: list[str] = []
    seconds = 0.0
    for _, test in sorted(order):
        if taken and seconds + test.seconds > limit:
            continue
        seconds += test.seconds
        taken.append(test.name)
    return taken


def function_at(source: bytes, line: int) -> str:
    """The outermost function or method there, with its class, or `MODULE`."""
    return _function_in(ast.parse(source).body, line, "") or MODULE


def _function_in(statements: list[ast.stmt], line: int, prefix: str) -> str:
    for statement in statements:
        if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            parts = [getattr(statement, name, []) for name in ("body", "orelse", "finalbody")]
            if found := next(filter(None, (_function_in(part, line, prefix) for part in parts if part)), ""):
                return found
            continue
        first = min((one.lineno for one in statement.decorator_list), default=statement.lineno)
        if not first <= line <= (statement.end_lineno or first):
            continue
        if isinstance(statement, ast.ClassDef):
            return _function_in(statement.body, line, f"{prefix}{statement.name}.")
        return f"{prefix}{statement.name}"
    return ""
