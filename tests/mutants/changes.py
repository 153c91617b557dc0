"""Every small change that can be made to one source file, each as a new text of the whole file."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from itertools import pairwise

PROMISES = frozenset({"if_match", "lock", "mode"})
"""Kinds of which every single one has to be noticed."""

_COMPARISONS: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: (r"<", "<="),
    ast.LtE: (r"<=", "<"),
    ast.Gt: (r">", ">="),
    ast.GtE: (r">=", ">"),
    ast.Eq: (r"==", "!="),
    ast.NotEq: (r"!=", "=="),
    ast.Is: (r"\bis\b", "is not"),
    ast.IsNot: (r"\bis\s+not\b", "is"),
    ast.In: (r"\bin\b", "not in"),
    ast.NotIn: (r"\bnot\s+in\b", "in"),
}
_LOCK = re.compile(r"(mutex|lock|exclusively)$", re.IGNORECASE)
_NO_LOCK = "__import__('contextlib').nullcontext()"
_HIGHEST_MODE = 0o7777
_LOOKS = frozenset({"isinstance", "len", "set"})
_MAKERS = frozenset({"chmod", "makedirs", "mkdir", "open"})
_PRIVATE = {"0o600": "0o666", "0o700": "0o777"}


@dataclass(frozen=True)
class Change:
    """Bytes `start` to `end` of a file become `text`."""

    kind: str
    line: int
    start: int
    end: int
    text: str

    def applied_to(self, source: bytes) -> bytes:
        return source[: self.start] + self.text.encode() + source[self.end :]


def changes_in(source: bytes) -> list[Change]:
    """All of them, in the order of the file; types, texts and what concerns other systems are left out."""
    finder = _Finder(source)
    finder.visit(ast.parse(source))
    found = {(change.start, change.end, change.text): change for change in finder.found}
    return sorted(found.values(), key=lambda change: (change.start, change.end, change.text))


class _Finder(ast.NodeVisitor):
    def __init__(self, source: bytes) -> None:
        self.found: list[Change] = []
        self._source = source
        self._lines = [0]
        for line in source.splitlines(keepends=True):
            self._lines.append(self._lines[-1] + len(line))

    # -- positions ------------------------------------------------------------------------------------------

    def _start(self, node: ast.AST) -> int:
        return self._lines[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined, no-any-return]

    def _end(self, node: ast.AST) -> int:
        return self._lines[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined, no-any-return]

    def _text(self, node: ast.AST) -> str:
        return self._source[self._start(node) : self._end(node)].decode()

    def _add(self, kind: str, node: ast.AST, text: str, start: int | None = None, end: int | None = None) -> None:
        first = self._start(node) if start is None else start
        last = self._end(node) if end is None else end
        line = self._source.count(b"\n", 0, first) + 1
        self.found.append(Change(kind, line, first, last, text))

    # -- what is looked at -----------------------------------------------------------------------------------

    def visit(self, node: ast.AST) -> None:
        if isinstance(node, ast.If) and _is_about_platform_or_types(self._text(node.test)):
            for other in node.orelse:
                self.visit(other)
            return
        for body in ("body", "orelse", "finalbody"):
            statements = getattr(node, body, None)
            if isinstance(statements, list):
                self._swap(statements)
        super().visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_Assign(self, node: ast.Assign) -> None:
        if self._text(node) != "TYPE_CHECKING = False":  # as modules say it that cannot afford `typing`
            self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        for default in (*node.args.defaults, *(one for one in node.args.kw_defaults if one is not None)):
            self.visit(default)
        for statement in node.body:
            self.visit(statement)

    def visit_Compare(self, node: ast.Compare) -> None:
        if not _is_about_platform_or_types(self._text(node)):
            sides = [node.left, *node.comparators]
            for operator, (left, right) in zip(node.ops, pairwise(sides), strict=True):
                pattern, other = _COMPARISONS[type(operator)]
                self._replace_between("comparison", left, right, pattern, other)
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        word, other = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        if not _is_about_platform_or_types(self._text(node)):
            for left, right in pairwise(node.values):
                self._replace_between("boolean", left, right, rf"\b{word}\b", other)
        self.generic_visit(node)

    def _replace_between(self, kind: str, left: ast.AST, right: ast.AST, pattern: str, other: str) -> None:
        start, end = self._end(left), self._start(right)
        if match := re.search(pattern.encode(), self._source[start:end]):
            self._add(kind, left, other, start + match.start(), start + match.end())

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not) and not _is_about_platform_or_types(self._text(node)):
            self._add("boolean", node, "", end=self._start(node) + len("not"))
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        text = self._text(node)
        if isinstance(node.value, bool):
            self._add("constant", node, str(not node.value))
        elif isinstance(node.value, int) and text.startswith("0o") and node.value <= _HIGHEST_MODE:
            self._add("mode", node, _PRIVATE.get(text, oct(node.value ^ 0o077)))
        elif isinstance(node.value, int | float):
            self._add("constant", node, f"({text} + 1)")

    def visit_Call(self, node: ast.Call) -> None:
        if _LOCK.search(_name_of(node.func)) and _name_of(node.func).endswith("mutex"):
            self._add("lock", node, _NO_LOCK)
        if _name_of(node.func) == "zip":
            self._visit_zip(node)
            return
        for position, argument in enumerate((*node.args, *node.keywords)):
            self._drop_argument(node, position, argument)
        self.generic_visit(node)

    def _visit_zip(self, node: ast.Call) -> None:
        """`strict=False` is what `zip` does anyway, and `strict=True` asserts what only other mutants break."""
        for argument in (*node.args, *(one for one in node.keywords if ast.unparse(one) != "strict=True")):
            self.visit(argument)

    def _drop_argument(self, node: ast.Call, position: int, argument: ast.expr | ast.keyword) -> None:
        if isinstance(argument, ast.keyword):
            if argument.arg is None:
                return
            is_mode = argument.arg == "private" or (argument.arg == "mode" and _name_of(node.func) in _MAKERS)
            kind = "if_match" if argument.arg == "if_match" else "mode" if is_mode else "argument"
            self._add(kind, argument, "", end=self._after_comma(argument))
        elif isinstance(argument, ast.Name) and argument.id == "if_match" and _name_of(node.func) not in _LOOKS:
            self._add("if_match", argument, "None")

    def _after_comma(self, node: ast.AST) -> int:
        """Where the next argument begins, or the call ends: `f(a=1, b=2)` without `a=1` is `f(b=2)`."""
        rest = re.match(rb"\s*,\s*", self._source[self._end(node) :])
        return self._end(node) + (rest.end() if rest else 0)

    def visit_With(self, node: ast.With) -> None:
        for item in node.items:
            call = item.context_expr
            named = _name_of(call.func) if isinstance(call, ast.Call) else _name_of(call)
            if item.optional_vars is None and _LOCK.search(named):
                self._add("lock", call, _NO_LOCK)
        self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> None:
        self._add("raise", node, "pass")
        self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Call):
            self._add("call", node, "pass")
        self.generic_visit(node)

    def _swap(self, statements: list[ast.stmt]) -> None:
        for first, second in pairwise(statements):
            if _has_an_effect(first) and _has_an_effect(second) and self._text(first) != self._text(second):
                between = self._source[self._end(first) : self._start(second)].decode()
                text = self._text(second) + between + self._text(first)
                self._add("order", first, text, end=self._end(second))


def _has_an_effect(statement: ast.stmt) -> bool:
    """What is done for its effect: an assignment's place is mostly given by who reads it."""
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call | ast.Yield | ast.YieldFrom)


def _name_of(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _is_about_platform_or_types(text: str) -> bool:
    return "TYPE_CHECKING" in text or "sys.platform" in text or "os.name" in text or "sys.version_info" in text


def lines_changed(source: bytes, change: Change) -> tuple[str, str]:
    """The lines that the change touches, and what they become, each without the space around it."""
    start = source.rfind(b"\n", 0, change.start) + 1
    end = source.find(b"\n", change.end)
    end = len(source) if end < 0 else end
    before = source[start:end]
    after = source[start : change.start] + change.text.encode() + source[change.end : end]
    return _stripped(before), _stripped(after)


def _stripped(text: bytes) -> str:
    return "\n".join(line.strip() for line in text.decode().splitlines() if line.strip())
