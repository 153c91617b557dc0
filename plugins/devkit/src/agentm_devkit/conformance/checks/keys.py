"""Keys: which are refused, and that every other one works.

A `Locator` normalises itself, so a backend meets no bad key unless it makes its own: `resolve` is where it could.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentm_devkit.conformance.checking import Check, check
from agentm_devkit.conformance.expect import Violation, refused, same, shown, unchanged
from agentm_kernel.plugin import MAX_KEY_BYTES, MAX_SEGMENT_BYTES, InvalidLocatorError, Locator, layout

if TYPE_CHECKING:
    from agentm_devkit.conformance.bench import Bench


def _refuses(name: str, row: int, what: str, keys: tuple[object, ...]) -> Check:
    """A check that `resolve` refuses each of `keys`."""

    def body(bench: Bench) -> None:
        with unchanged(bench.store):
            for key in keys:
                refused(InvalidLocatorError, bench.store.resolve, key)

    return Check(name, "keys", f"`resolve` refuses {what} with `InvalidLocatorError`", body, rows=(row,))


check_parent_segments = _refuses(
    "parent_segments", 1, "'..' as a part of a key", ("..", "a/../b", "../a", "a/..", "./..", "a/b/../../../c")
)
check_separators_and_nul = _refuses("separators_and_nul", 3, "backslash and NUL", ("a\\b", "..\\a", "a\0b", "\0"))
check_control_characters = _refuses(
    "control_characters", 4, "control characters", ("a\nb", "a\rb", "a\tb", "\x1b[31m", "a\x7fb", "a\x85b", "a\x9bb")
)
check_invisible_characters = _refuses(
    "invisible_characters",
    5,
    "invisible and bidirectional characters",
    ("a\u202eb", "a\u200bb", "\u2066a", "a\ufeffb", "a\u00adb", "a\u2028b", "a\u3164b", "a\ufe0fb", "a\U000e0041b"),
)
check_device_names = _refuses(
    "device_names", 8, "names of Windows devices", ("CON", "con", "nul.md", "a/COM1.md", "aux.tar.md", "LPT¹.md")
)
check_windows_characters = _refuses(
    "windows_characters",
    9,
    "trailing dots and spaces and the characters that Windows forbids",
    ("a.", "a ", "a. /b", "a/b..", "a.md:stream", "C:a", *(f"a{c}b" for c in '<>:"|?*')),
)
check_long_keys = _refuses(
    "long_keys",
    10,
    f"a part over {MAX_SEGMENT_BYTES} bytes and a key over {MAX_KEY_BYTES}",
    ("a" * (MAX_SEGMENT_BYTES + 1), "é" * (MAX_SEGMENT_BYTES // 2 + 1), "abc/" * 300 + "d", "a/" * 5000 + "b"),
)
check_surrogates_in_keys = _refuses("surrogates_in_keys", 11, "lone surrogates", ("a\ud800b", "\udcff.md"))
check_keys_that_are_not_text = _refuses(
    "keys_that_are_not_text", 12, "a key that is not a string", (None, 5, b"a", ["a"])
)
check_control_directories = _refuses(
    "control_directories",
    13,
    "control directories of other programs",
    (
        ".git",
        ".git/config",
        "a/.GIT/hooks/post-checkout",
        "git~1/config",
        ".g\u200cit/config",
        ".gitmodules",
        ".obsidian/plugins/x/main.js",
        ".claude/settings.json",
        ".vscode/tasks.json",
        ".agentm-0123456789abcdef.tmp",
    ),
)


@check("keys", rows=(2,))
def check_absolute_keys(bench: Bench) -> None:
    """A leading slash drops: an absolute key stays inside the store, and slashes alone are the root."""
    same("resolve('/etc/passwd')", bench.store.resolve("/etc/passwd"), Locator("etc/passwd"))
    for key in ("", "/", "///", ".", "./."):
        same(f"resolve({key!r})", bench.store.resolve(key), Locator())


@check("keys", rows=(6,))
def check_composed_keys(bench: Bench) -> None:
    """Composed and decomposed spellings are one key, which `list` gives composed."""
    store = bench.store
    store.write(store.resolve("cafe\u0301.md"), "one\n")
    same("list('')", [child.key for child in store.list(Locator())], ["caf\u00e9.md"])
    same("read by the composed spelling", store.read(Locator("caf\u00e9.md")), "one\n")


_ACCEPTED = (
    "plain.md",
    "two words.md",
    ".hidden.md",
    "no-extension",
    "a..b.md",
    "...md",
    "-rf",
    "~",
    "#tag.md",
    "100%.md",
    "%2e%2e/%2Fetc.md",
    "a+b=c&d.md",
    "it's $HOME `x`; !.md",
    "[link](x).md",
    "{a,b}.md",
    "console.md",
    "git.md",
    "日本語/ノート.md",
    "Ωmega ✓.md",
    "👩\u200d💻 ☀\ufe0f.md",
    "ﬁ ①.md",  # a compatibility normalisation would change these
    layout.REPOS_KEY,
)


@check("keys")
def check_accepted_keys(bench: Bench) -> None:
    """Every key that a `Locator` takes can be written, is then listed under its own name, and reads back."""
    for number, key in enumerate(_ACCEPTED):
        _writes_lists_reads(bench, Locator(key), f"{number}\n")


@check("keys", rows=(10,))
def check_longest_keys(bench: Bench) -> None:
    """A name of 200 bytes and a key of 1,000 bytes work like any other."""
    _writes_lists_reads(bench, Locator("n" * (MAX_SEGMENT_BYTES - 3) + ".md"), "one\n")
    _writes_lists_reads(bench, Locator("é" * (MAX_SEGMENT_BYTES // 2)), "two\n")
    _writes_lists_reads(bench, Locator("/".join(["k" * 199] * 5)), "three\n")


@check("keys", rows=(10,))
def check_deepest_keys(bench: Bench) -> None:
    """A key of 500 parts works like any other, for `walk` too."""
    deepest = Locator("/".join("d" * (MAX_KEY_BYTES // 2)))
    _writes_lists_reads(bench, deepest, "one\n")
    last = [info.locator for info in bench.store.walk(Locator())][-1]
    same("the last entry of walk('')", last, deepest)


def _writes_lists_reads(bench: Bench, locator: Locator, content: str) -> None:
    store = bench.store
    store.write(locator, content)
    listed = store.list(locator.parent)
    if locator not in listed:
        raise Violation(f"after write({shown(locator)}), list({shown(locator.parent)}) gave {shown(listed)}")
    same(f"read({shown(locator)})", store.read(locator), content)
