"""Secrets are refused with the line named; ordinary code is not."""

from __future__ import annotations

import re
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest
from tests.kernel.seam.secret_samples import IN_CONTEXT, ORDINARY, planted

import agentm_kernel
from agentm_kernel.errors import InvalidContentError
from agentm_kernel.seam import MAX_CONTENT_BYTES
from agentm_kernel.seam.secrets import (
    Finding,
    find_secrets,
    is_bare_secret,
    is_secret_field,
    names_a_secret,
    refuse_secrets,
)
from agentm_kernel.seam.secrets.tables import pattern_of, rules_of

KINDS = list(planted())


def test_there_are_more_than_forty_kinds():
    assert len(KINDS) > 40


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_planted_secret_is_refused_with_its_line(kind, seed):
    secret = planted(seed)[kind]

    with pytest.raises(InvalidContentError, match="line 3") as caught:
        refuse_secrets("the note", f"# Deploying\n\n{secret}\n\nThat is all.\n")

    assert secret not in caught.value.message


@pytest.mark.parametrize("line", IN_CONTEXT)
def test_what_stands_beside_it_gives_a_secret_away(line):
    assert find_secrets(line)


@pytest.mark.parametrize("line", [line for line in ORDINARY.splitlines() if line])
def test_ordinary_code_is_not_taken_for_a_secret(line):
    assert find_secrets(line) == []


_TWELVE = "x7Kq9" + "Zp2Lm4T"


@pytest.mark.parametrize(
    ("line", "is_secret"),
    [
        ("password: Winter" + "_2024", True),
        ("password: Ab3" + "!xy", True),
        ("password: Ab3" + "!x", False),  # too short for anybody to rely on it
        ("password: Sha256_Digest", False),  # a technical word makes a name of it
        ("password: abcdefgh" + "12345678", False),  # whoever types the keys in their order has no password yet
        ("FROM python\nENV DB_PASSWORD K8s" + "dw92k", True),
        ("FROM python\nSET DB_PASSWORD K8s" + "dw92k", False),
        ("API_TOKEN=" + _TWELVE, True),
        (f'api_token = "{_TWELVE}"', True),
        ("api_token = " + _TWELVE, False),  # neither a constant nor in quotes: perhaps a name
    ],
)
def test_what_makes_the_difference_between_a_secret_and_a_word(line, is_secret):
    assert bool(find_secrets(line)) is is_secret


@pytest.mark.parametrize("hidden", ["\u200b", "\u200d", "\u2060", "\ufeff", "\u00ad", "\u202e", "\ufe0f"])
def test_characters_that_cannot_be_seen_hide_nothing(hidden):
    token = planted()["GitHub token"]

    (found,) = find_secrets("\n" + hidden.join(token))

    assert (found.line, found.kind) == (2, "GitHub token")


def test_every_line_is_named_once_with_its_column():
    key = planted()["Stripe key"]

    found = find_secrets(f"ü: {key} and {key}\n\n  {key}\n")

    assert [(each.line, each.column) for each in found] == [(1, 4), (3, 3)]


def test_several_secrets_are_counted():
    text = "\n".join(list(planted(1).values())[:3])

    with pytest.raises(InvalidContentError, match="and 2 more"):
        refuse_secrets("the note", text)


def test_the_hint_says_what_to_do_about_a_false_alarm():
    with pytest.raises(InvalidContentError) as caught:
        refuse_secrets("the note", planted()["GitHub token"])

    assert "--allow-secrets" in (caught.value.hint or "")


@pytest.mark.parametrize("key", ["DB_PASSWORD", "secretAccessKey", "api-token", "smtp.password", "clientSecret"])
def test_names_that_hold_a_secret(key):
    assert names_a_secret(key)


@pytest.mark.parametrize("key", ["max_tokens", "token_budget", "keyring", "vault_path", "secret_name"])
def test_names_that_hold_none(key):
    assert not names_a_secret(key)


@pytest.mark.parametrize(("unit", "is_secret"), [("zZ7k", True), ("z7zk", False), ("Z7ZK", False), ("zZzk", False)])
def test_forty_characters_are_an_access_secret_only_with_both_cases_and_a_digit(unit, is_secret):
    assert is_bare_secret(unit * 10) is is_secret


def test_a_field_is_judged_by_name_and_value():
    assert is_secret_field("token", "q8Z3kd02Kw91mZx7")
    assert not is_secret_field("token", "${TOKEN}")
    assert not is_secret_field("vault_path", "/Users/ana/Notes 2024")
    assert is_secret_field("endpoint", planted()["password in an address"])
    assert is_bare_secret("wJalrXUtnFEMI/K7MDENG/bPxRfiCYzXAMP1EKEY")
    assert not is_bare_secret("9fceb02d0ae598e95dc970b74767f19372d61af8")


def test_nothing_is_compiled_for_a_text_without_a_telling_word():
    code = (
        "import sys; from agentm_kernel.seam.secrets import find_secrets\n"
        "assert not find_secrets('Step 2 is done, 14 tests are green.')\n"
        "assert 're' not in sys.modules, 're was imported'\n"
    )

    where = str(Path(agentm_kernel.__file__).parents[1])
    subprocess.run([sys.executable, "-S", "-c", code], check=True, env={"PYTHONPATH": where})


ADVERSARIAL = (
    *(
        "a-",
        "token ",
        "\n \t",
        "aws:",
        "A ",
        "://a:",
        "sk-",
        "password=",
        "password ",
        "mysql ",
        "mysql -",
        "curl -u ",
    ),
    *(
        "eyJ",
        "eyJa.",
        "eyJaaaaaaaaaaaa",
        "cookie: ",
        "cookie: id=",
        "key",
        "api_key: x",
        "....",
        "-----BEGIN ",
        "docker login ",
    ),
    *(
        "seed: abc ",
        "pass",
        "authorization: bearer ",
        "\u200b",
        "login a password ",
        "password is ",
        "password for a ",
    ),
    *("otpauth://", "SG.aaaaaaaaaaaaaaaa", "_api_", "\\", " ", "1/", "echo ", "basic ", '"auth": ', "cookie: a=b;"),
)


@pytest.mark.parametrize("unit", ADVERSARIAL)
def test_time_grows_with_the_text_and_no_faster(unit):
    """Eight times the text may take eight times as long, with some room; the square would be 64 times."""

    def seconds(size: int) -> float:
        text = (unit * (size // len(unit) + 1))[:size]
        start = time.process_time()
        find_secrets(text)
        return time.process_time() - start

    seconds(1000)  # compiles
    small = min(seconds(30_000) for _ in range(3))

    assert seconds(240_000) < max(small, 0.005) * 8 * 3


@pytest.mark.parametrize("before", ["", "x: ", '"', "\\n", "\\t", "="])
def test_a_web_token_is_found_where_a_word_begins(before):
    token = ".".join(("eyJ" + "hbGciOiJIUzI1NiJ9", "eyJ" + "pYXQiOjE1MTYyMzkwMjJ9", "dozjgNryP4J3jVmNHl0w5N"))

    assert [found.kind for found in find_secrets(f"{before}{token}")] == ["JSON Web Token"]
    assert find_secrets(f"a{token}") == []


def test_a_note_of_sixteen_megabytes_is_no_special_case():
    nearly = "The deploy token is kept in 1Password; password rotation: weekly, api key per service.\n"
    plain = "We deploy on Fridays, after the tests have passed on both machines, and never before.\n"
    lines = nearly + plain * 9

    assert find_secrets(lines * (16_000_000 // len(lines))) == []


@pytest.mark.parametrize(("name", "least"), [("formats.txt", 120), ("contexts.txt", 25), ("names.txt", 2)])
def test_every_pattern_of_the_tables_compiles_and_every_line_has_three_parts(name, least):
    rules = rules_of(name)

    assert len(rules) >= least
    for kind, words, rest in rules:
        assert kind
        assert words
        assert not re.search(rb"<[A-Z]+>", pattern_of(rest).pattern), f"{kind}: a part that does not exist"


def test_a_door_and_the_tables_work_from_a_zip_file_too(tmp_path):
    archive = tmp_path / "kernel.zip"
    package = Path(agentm_kernel.__file__).parent
    with zipfile.ZipFile(archive, "w") as zipped:
        for path in package.rglob("*.*"):
            if "__pycache__" not in path.parts:
                zipped.write(path, path.relative_to(package.parent))
    code = f"from agentm_kernel.plugin import find_secrets; print(find_secrets({planted()['GitHub token']!r}))"

    done = subprocess.run(
        [sys.executable, "-S", "-c", code], env={"PYTHONPATH": str(archive)}, capture_output=True, text=True
    )

    assert "GitHub token" in done.stdout, done.stderr


_UUID = "9fceb02d-0ae5-" + "48e9-8dc9-70b74767f193"


@pytest.mark.parametrize(
    ("line", "is_secret"),
    [
        ("password = tr0ub" + "4dor(", False),  # a call
        ("password = tr0ub" + "4dor[", False),
        ('password = "tr0ub' + '4dor"(', True),
        ("password: !tr0ub" + "4dor", False),  # a tag or an alias of YAML
        ('password: "!tr0ub' + '4dor"', True),
        ("DB_PASSWORD=zqxw" + "vk", True),
        ("DB_PASSWORD=zqxwv", False),
        ("PASSWORD=zqxw" + "vk", True),
        ("Password=zqxwvk", False),
        ('PASSWORD = "Zqxwvk"', False),  # a label beside the field of a form
        ('PASSWORD = "ZQ' + 'xwvk"', True),
        ('password: "xqzkvb' + 'NMWRTP"', True),
        ('password: "xqzkvbNMWRT"', False),
        ("password: xqzkvb" + "NMWRTPsdfG", True),
        ("password: xqzkvbNMWRTPsdf", False),
        ("api_token = x7Kq9Zp2" + "Lm4Tw8Rc", True),
        ("api_token = x7Kq9Zp2Lm4Tw8R", False),
        ("x-ypass = tr0ub4dor", False),  # a word that ends so
        (f"token = {_UUID}", False),  # it names things more often than it opens them
        (f"client_secret = {_UUID}", True),
        (f"API_TOKEN={_UUID}", True),
        (f"tool --token {_UUID}", True),
        ("token = " + _UUID.replace("-", ""), True),
        ("token = row.to" + "k3nX9qZkWvB7m", False),  # names with a dot between them
        ('token = "row.to' + 'k3nX9qZkWvB7m"', True),
        ("token = row." + "x7Kq9Zp2Lm4Tw8Rcx7Kq9Zp", False),
        ("token = row." + "x7Kq9Zp2Lm4Tw8Rcx7Kq9Zp2", True),
    ],
)
def test_what_stands_around_a_value_makes_a_difference(line, is_secret):
    assert bool(find_secrets(line)) is is_secret


@pytest.mark.parametrize(
    ("before", "is_found"), [("", True), ("n", False), ("\\n", True), (" \\t", True), ("+", False)]
)
def test_a_format_begins_a_word(before, is_found):
    key = planted()["AWS access key id"].partition("=")[2]
    assert bool(find_secrets(before + key)) is is_found
    assert bool(find_secrets(f"x {before}{key}")) is is_found


@pytest.mark.parametrize(
    ("code", "is_unseen"),
    [
        *((code, True) for code in (0xAD, 0x34F, 0x61C, 0x180E, 0x200B, 0x200F, 0x202A, 0x202E, 0x2060, 0x206F)),
        *((code, True) for code in (0xFE00, 0xFE0F, 0xFEFF, 0x115F, 0x1160, 0x3164)),
        *((code, False) for code in (0xAE, 0x350, 0x61D, 0x180F, 0x200A, 0x2010, 0x2029, 0x202F, 0x205F, 0x2070)),
        *((code, False) for code in (0xFDFF, 0xFE10, 0xFF00, 0x115E, 0x1161, 0x3165)),
    ],
)
def test_only_what_cannot_be_seen_is_left_out(code, is_unseen):
    assert bool(find_secrets(chr(code).join(planted()["GitHub token"]))) is is_unseen


def test_findings_come_in_the_order_of_the_text():
    text = f"\n{planted()['Stripe key']}\n{planted()['GitHub server token']}\n"
    assert [(each.line, each.column) for each in find_secrets(text)] == [(2, 1), (3, 1)]


@pytest.mark.parametrize(
    ("kind", "said"), [("AWS key", "an AWS key"), ("key", "a key"), ("Okta token", "an Okta token")]
)
def test_a_finding_is_told_in_words(kind, said):
    assert str(Finding(kind, 7, 1)) == f"line 7 looks like {said}"


@pytest.mark.parametrize(("count", "said"), [(1, "token; nothing"), (2, "token and 1 more; nothing")])
def test_only_further_findings_are_counted(count, said):
    with pytest.raises(InvalidContentError, match=said):
        refuse_secrets("the note", "\n".join([planted()["GitHub token"]] * count))


def test_a_name_may_hold_the_word_anywhere_where_that_is_asked():
    assert names_a_secret("token_budget", anywhere=True)
    assert not names_a_secret("budget", anywhere=True)


def test_text_that_is_larger_than_a_note_may_be_is_refused_before_it_is_scanned(monkeypatch):
    monkeypatch.setattr("agentm_kernel.seam.secrets.find_secrets", lambda text: pytest.fail("it was scanned"))

    with pytest.raises(InvalidContentError, match=r"the note has 16,777,217 .* the limit is 16,777,216") as refusal:
        refuse_secrets("the note", "x" * (MAX_CONTENT_BYTES + 1))
    assert "split it into notes" in refusal.value.hint
