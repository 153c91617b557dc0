"""Which keys a store may hold, and what the one handle on them does."""

from __future__ import annotations

import copy
import pickle
import unicodedata

import pytest
from hypothesis import given, strategies as st

from agentm_kernel import Locator
from agentm_kernel.plugin import InvalidLocatorError, normalize_key
from agentm_kernel.seam.locator import MAX_KEY_BYTES, MAX_SEGMENT_BYTES, TEMP_PREFIX

# ------------------------------------------------------------------------------------------------ one spelling


@pytest.mark.parametrize(
    ("given", "normal"),
    [
        ("", ""),
        ("/", ""),
        ("///", ""),
        (".", ""),
        ("a", "a"),
        ("a/b", "a/b"),
        ("/a", "a"),
        ("/etc/passwd", "etc/passwd"),
        ("a//b/", "a/b"),
        ("./a/./b/.", "a/b"),
        ("cafe\u0301.md", "caf\u00e9.md"),
        ("\u212bngstrom", "\u00c5ngstrom"),
        (" leading space", " leading space"),
        ("two  spaces.md", "two  spaces.md"),
        ("a...b", "a...b"),
        (".hidden", ".hidden"),
        ("..a", "..a"),
        ("_harness/PLAN.md", "_harness/PLAN.md"),
    ],
)
def test_a_key_has_one_spelling(given: str, normal: str) -> None:
    assert normalize_key(given) == normal
    assert Locator(given).key == normal
    assert Locator(given) == Locator(normal)


@pytest.mark.parametrize(
    "key",
    [
        "日本語/メモ.md",
        "emoji \N{PARTY POPPER}.md",
        "family \U0001f468\u200d\U0001f469\u200d\U0001f467.md",
        "heart \u2764\ufe0f.md",
        "flag \U0001f3f3\ufe0f\u200d\U0001f308.md",
        "skin \U0001f469\U0001f3fd\u200d\U0001f52c.md",
        "nbsp\u00a0inside",
        "console.md",
        "communication/com.md",
        "com10.md",
        "nulls.md",
        "gitignore.md",
        "git/notes.md",
        "obsidian.md",
        "it's 100% #1 & more, [really] (yes) {so} +1 = ~2.md",
        "vscode~.md",
        "a~1",
    ],
)
def test_ordinary_names_are_taken_as_they_are(key: str) -> None:
    assert normalize_key(key) == key


# ------------------------------------------------------------------------------------------------ refusals

REFUSED = {
    "a way up": ["..", "a/../b", "../a", "a/.."],
    "NUL and backslash": ["a\0b", "a\\b", "..\\a", "C:\\a"],
    "control characters": ["a\nb", "a\rb", "a\tb", "\x1b[31m", "a\x7f", "a\x85b", "a\x9bb"],
    "bidi and invisible characters": [
        *("a\u202eb", "a\u200bb", "a\u200eb", "a\u2066b", "a\ufeffb", "a\u00adb", "a\u2060b", "a\u061cb"),
        *("a\u2028b", "a\u2029b", "a\u034fb", "a\u115fb", "a\u3164b", "a\u180eb", "a\U000e0041b", "a\U000e0100b"),
        *("a\ufe0fb", "a\u200db", "\u200d\U0001f468", "\U0001f468\u200d", "\U0001f468\u200da", "1\ufe0f"),
        # a joiner that begins the key or a part, whatever the last character is; and one beside what it never joins
        *("\u200d\U0001f389\ufe0f", "a/\u200d\U0001f389\ufe0f", "\U0001f389/\u200d\U0001f389", "^\u200d\U0001f389"),
        *("\ufe0f\U0001f389", "\U0001f389\ufe0f\ufe0f", "\U0001f389\u200d\u200d\U0001f389", "\U0001f389\u200d/a"),
        *("a\ufe0f\u200d\U0001f389", "\U0001f389\u200d\ufe0f"),
        *("a\ufffeb", "a\uffffb", "a\U0010ffffb"),
    ],
    "characters that Windows refuses": [*(f"a{c}b" for c in '<>:"|?*'), "a.md:stream", "C:/a"],
    "device names": [
        *("CON", "con", "nul.md", "NUL.tar.gz", "COM1.md", "lpt9", "AUX/a.md", "a/PRN", "conin$", "CONOUT$.txt"),
        *("com\u00b9", "LPT\u00b2.md", "com0", "con .md", "nul  .x"),
    ],
    "a dot or a space at the end": ["a.", "a ", "a./b", "a /b", "...", "a\u00a0", "a\u3000/b", " "],
    "control directories": [
        *(".git", ".git/config", "a/.git/hooks/x", ".GIT", ".Git", ".g\u0131t", ".gitmodules", ".github/x", "git~1"),
        *("GIT~1", "git~2.x", ".obsidian/plugins/x/main.js", ".OBSIDIAN", "obsidi~1", ".vscode/tasks.json"),
        *(".claude/settings.json", ".cursor/x", ".codex", ".gemini", ".envrc", ".hg/hgrc", ".hgrc", ".svn", "_darcs"),
        *(".stignore", ".stfolder", ".dropbox.cache", ".idea", ".husky/pre-commit", ".devcontainer", "claude~1"),
        *(".direnv", ".bzr", ".jj", ".zed"),
    ],
    "the store's own temporary files": [f"{TEMP_PREFIX}0123456789abcdef.tmp", f"a/{TEMP_PREFIX.upper()}x"],
    "lone surrogates": ["a\ud800b", "\udfff", "a/\udc80"],
    "too much of it": [
        "a" * (MAX_SEGMENT_BYTES + 1),
        "é" * (MAX_SEGMENT_BYTES // 2 + 1),
        "\U0001f600" * (MAX_SEGMENT_BYTES // 4 + 1),
        "/".join(["a" * 100] * 11),
        "a/" * 5000,
        "a" * 100_000,
    ],
}


@pytest.mark.parametrize(
    "key",
    [pytest.param(key, id=f"{reason}: {ascii(key)[:40]}") for reason, keys in REFUSED.items() for key in keys],
)
def test_a_key_that_some_store_or_program_would_misread_is_refused(key: str) -> None:
    with pytest.raises(InvalidLocatorError) as caught:
        normalize_key(key)
    assert str(caught.value).isascii(), "a refusal must not print what it refuses"
    assert len(str(caught.value)) < 5000
    assert caught.value.hint
    with pytest.raises(InvalidLocatorError):
        Locator(key)


@pytest.mark.parametrize("key", [None, 5, b"a", ["a"], ("a",), 1.5, object(), Locator("a")])
def test_a_key_that_is_not_text_is_both_a_type_error_and_a_value_error(key: object) -> None:
    with pytest.raises(TypeError):
        normalize_key(key)  # type: ignore[arg-type]
    with pytest.raises(ValueError):
        Locator(key)  # type: ignore[arg-type]


def test_names_and_keys_of_the_longest_length_are_taken() -> None:
    assert normalize_key("a" * MAX_SEGMENT_BYTES)
    assert normalize_key("é" * (MAX_SEGMENT_BYTES // 2))
    key = "/".join(["a" * 124] * 8)
    assert len(key) == MAX_KEY_BYTES - 1
    assert normalize_key(key + "b") == key + "b"


@pytest.mark.parametrize("key", ["a" * 1000, "a/" * 1000, "a" * 5000], ids=["a part", "the whole", "as written"])
def test_of_one_that_is_too_long_the_beginning_is_shown(key: str) -> None:
    with pytest.raises(InvalidLocatorError) as caught:
        normalize_key(key)
    assert f"'{key[:40]}\\u2026'" in str(caught.value)


def test_how_a_key_is_written_is_judged_only_so_far() -> None:
    """Slashes that drop cost nothing, but nobody is made to look through a novel of them."""
    most = 4 * MAX_KEY_BYTES
    assert Locator("a".ljust(most, "/")).key == "a"
    with pytest.raises(InvalidLocatorError, match="is longer than"):
        Locator("a".ljust(most + 1, "/"))


def test_the_length_that_counts_is_that_of_the_normal_key() -> None:
    assert normalize_key("./" * 600 + "a") == "a"
    assert normalize_key("e\u0301" * 100) == "é" * 100


# ------------------------------------------------------------------------------------------------ the locator


def test_the_root_has_no_parts_no_name_and_itself_above() -> None:
    root = Locator()
    assert (root.key, root.parts, root.name, root.suffix, str(root)) == ("", (), "", "", "")
    assert root.parent == root


def test_a_locator_knows_its_parts() -> None:
    note = Locator("projects/agentm/PLAN.old.md")
    assert note.parts == ("projects", "agentm", "PLAN.old.md")
    assert note.name == "PLAN.old.md"
    assert note.suffix == ".md"
    assert note.parent == Locator("projects/agentm")
    assert note.parent.parent.parent == Locator()
    assert str(note) == "projects/agentm/PLAN.old.md"


@pytest.mark.parametrize(("name", "suffix"), [("a", ""), (".hidden", ""), ("a.b.c", ".c"), ("x/a.md", ".md")])
def test_the_suffix_is_the_last_extension(name: str, suffix: str) -> None:
    assert Locator(name).suffix == suffix


@pytest.mark.parametrize(
    ("key", "beside"),
    [
        ("plan.md", "plan (mark).md"),
        ("a/b.c/plan.md", "a/b.c/plan (mark).md"),
        ("Makefile", "Makefile (mark)"),
        (".env.md", ".env (mark).md"),
        ("x" * 197 + ".md", "x" * 190 + " (mark).md"),
        ("é" * 98 + ".md", "é" * 95 + " (mark).md"),
        ("x." + "y" * 30, "x." + "y" * 30 + " (mark)"),
    ],
)
def test_a_version_beside_a_note_keeps_its_suffix_and_fits(key: str, beside: str) -> None:
    assert Locator(key).beside("mark") == Locator(beside)


def test_child_joins_and_each_part_may_hold_slashes() -> None:
    assert Locator("a").child("b", "c/d") == Locator("a/b/c/d")
    assert Locator().child() == Locator()
    assert Locator("a").child("") == Locator("a")
    assert Locator("a").child("/b") == Locator("a/b")


@pytest.mark.parametrize("part", ["..", "a/../..", "x\\y", ".git"])
def test_child_refuses_what_a_key_refuses(part: str) -> None:
    with pytest.raises(InvalidLocatorError):
        Locator("a").child(part)


@pytest.mark.parametrize(
    "part",
    [
        "note.md",
        "a..b",
        "-a",
        "con",
        "nul.md",
        "com1.x",
        "CON",
        "conin$",
        ".git",
        "git~1",
        "_darcs",
        "_a",
        "x.",
        "..",
        ".",
        "",
    ]
    + ["a" * 200, "a" * 201, "A.md", "é.md", "a b", "a/b", "a/../b"],
)
def test_child_says_what_the_whole_key_says(part: str) -> None:
    """Plain names take a shorter way; it leads to the same place."""
    try:
        expected: Locator | None = Locator(f"x/{part}")
    except InvalidLocatorError:
        expected = None
    if expected is None:
        with pytest.raises(InvalidLocatorError):
            Locator("x").child(part)
    else:
        assert Locator("x").child(part) == expected


_NAMES = st.lists(
    st.text("abcnoulptxCON._~$- 1/\\é\u212a\n", max_size=8)
    | st.sampled_from(["_darcs", "Nul.md", "My Note.md", "x" * 201]),
    max_size=6,
)


@given(_NAMES, st.sampled_from(["", "a/b", "x" * 200, "/".join(["y" * 99] * 9)]))
def test_a_listing_that_is_taken_plainly_holds_only_names_that_are_children_as_they_stand(
    names: list[str], above: str
) -> None:
    folder = Locator(above)
    if folder.takes_plainly(names):
        assert folder.known_children(names) == [folder.child(name) for name in names]
        assert [child.name for child in folder.known_children(names)] == names


@pytest.mark.parametrize(
    "name",
    [
        "a/b",
        "con.md",
        "NUL",
        "com1",
        "_darcs",
        ".git",
        ".agentm-x",
        "git~1",
        "a.",
        "a ",
        "",
        "a\tb",
        "\u212a.md",
        "x" * 201,
    ],
)
def test_one_doubtful_name_makes_a_listing_one_to_look_at_closely(name: str) -> None:
    assert Locator("a").takes_plainly(["My Note.md", "b_c.md"])
    assert not Locator("a").takes_plainly(["My Note.md", name, "b_c.md"])


def test_child_refuses_parts_that_are_not_text() -> None:
    with pytest.raises(InvalidLocatorError):
        Locator("a").child(b"b")  # type: ignore[arg-type]


def test_a_locator_cannot_be_changed() -> None:
    note = Locator("a")
    with pytest.raises(AttributeError):
        note.key = "b"
    with pytest.raises(AttributeError):
        note.other = 1  # type: ignore[attr-defined]
    with pytest.raises(AttributeError):
        del note.key
    assert note.key == "a"


def test_locators_are_equal_hashed_and_ordered_by_key() -> None:
    assert Locator("a") == Locator("/a/")
    assert Locator("a") != Locator("b")
    assert Locator("a") != "a"
    assert len({Locator("a"), Locator("./a")}) == 1
    assert sorted([Locator("b"), Locator("a/z"), Locator("a")]) == [Locator("a"), Locator("a/z"), Locator("b")]
    with pytest.raises(TypeError):
        _ = Locator("a") < "b"  # type: ignore[operator]


def test_a_locator_survives_pickling_and_copying() -> None:
    note = Locator("a/é.md")
    assert pickle.loads(pickle.dumps(note)) == note
    assert copy.deepcopy(note) == note
    assert eval(repr(note)) == note


# ------------------------------------------------------------------------------------------------ laws


@given(st.text(max_size=60) | st.text("aA./ \u0301é~", max_size=30))
def test_normalising_is_idempotent_composed_and_confined(key: str) -> None:
    try:
        normal = normalize_key(key)
    except InvalidLocatorError:
        return
    assert normalize_key(normal) == normal
    assert unicodedata.is_normalized("NFC", normal)
    assert not normal.startswith("/")
    assert not {"", ".", ".."} & set(Locator(normal).parts)


@given(st.text("abé/. ", max_size=20))
def test_a_locator_is_its_parent_and_its_name(key: str) -> None:
    try:
        note = Locator(key)
    except InvalidLocatorError:
        return
    assert note.parent.child(note.name) == note
    assert Locator().child(*note.parts) == note


@pytest.mark.parametrize("tone", range(0x1F3FB, 0x1F400))
def test_a_person_of_any_skin_tone_may_be_joined_to_what_it_does(tone: int) -> None:
    key = f"\U0001f469{chr(tone)}\u200d\U0001f4bb.md"
    assert Locator(key).key == key
