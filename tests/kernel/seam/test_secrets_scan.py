"""Which names make a secret of a value, and which values of a name are none: each rule from both sides."""

from __future__ import annotations

import pytest

from agentm_kernel.seam.secrets import find_secrets
from agentm_kernel.seam.secrets.scan import findings_in

TWELVE, FIFTEEN, SIXTEEN = "x7Kq9Zp2Lm4T", "x7Kq9Zp2Lm4Tw8R", "x7Kq9Zp2Lm4Tw8Rc"
HEX = "9f86d081884c7d65" + "9a2feaa0c55ad015"
UUID = "3f2504e0-4f89-41d3-9a0c-" + "0305e82c3301"
MIXED = "Winter2024"


def is_found(line: str, value: str) -> bool:
    return bool(find_secrets(line.replace("VALUE", value)))


@pytest.mark.parametrize(
    ("line", "value", "is_secret"),
    [
        # A call or a pair names it; what only stands in a list after its name is none.
        ('f("password", "VALUE")', MIXED, True),
        ('f("password", "VALUE", x)', MIXED, False),
        ('"password", "VALUE"', MIXED, False),
        ('password("VALUE")', MIXED, True),
        ('password("VALUE" )', MIXED, True),
        ('password("VALUE"  )', MIXED, False),
        ('set_password("VALUE", x', MIXED, False),
        # What is called, indexed, or marked as a reference is no value.
        ("password = VALUE[0]", "x7Kq9Zp2", False),
        ("password = VALUE()", "x7Kq9Zp2", False),
        ("password = VALUE {", "x7Kq9Zp2", True),
        ("password = VALUE", f"!{SIXTEEN}", False),
        ("password = VALUE", f"*{SIXTEEN}", False),
        ("password = VALUE", f"@{SIXTEEN}", False),
        ("password = VALUE", f":{SIXTEEN}", False),
        ('password = "VALUE"', f"!{SIXTEEN}", True),
        ('password = "VALUE" [', SIXTEEN, True),
        # A constant has any word for its value, and so has a name that is given one in quotes.
        ("PASS = VALUE", "hunter", True),
        ("PASS = VALUE", "hunte", False),
        ("DB_PASSWORD=VALUE", "hunter", True),
        ("Db_PASSWORD=VALUE", "hunter", False),
        ("password = VALUE", "hunter", False),
        ('password = "VALUE"', "hunter", True),
        ('password => "VALUE"', "hunter", True),
        ('password: "VALUE"', "hunter", False),
        ("password is VALUE", "hunter", False),
        ('--password "VALUE"', "hunter", True),
        ("--password VALUE", "hunter", False),
        ('password("VALUE")', "hunter", True),
        ('password = "VALUE"', "/srv/notes", False),
        ("PASSWORD is VALUE", "hunter", False),
        # Beside a form's field stands its label.
        ('password = "VALUE"', "Kontonummer", False),
        ('password = "VALUE"', "kontonummer", True),
        ('password = "VALUE"', "KOntonummer", True),
        ('password = "VALUE"', "KontoNummer", True),
        # `pass` is the end of many words.
        ("bypass = VALUE", MIXED, False),
        ("db_pass = VALUE", MIXED, True),
        ("dbPass = VALUE", MIXED, True),
        ("requirepass VALUE", MIXED, True),
        ("bypassword = VALUE", MIXED, True),
        ("pass is VALUE", MIXED, False),
        ("password is VALUE", MIXED, True),
        ("pass = VALUE", MIXED, True),
        # A space is enough only where a command or a configuration takes it.
        ("--password VALUE", MIXED, True),
        ("masterauth VALUE", SIXTEEN, True),
        ("password VALUE", MIXED, False),
        ("ENV DB_PASSWORD VALUE", MIXED, True),
        ("env DB_PASSWORD VALUE", MIXED, True),
        ("ENVDB_PASSWORD VALUE", MIXED, False),
        # Names with dots between them stand for something else.
        ("password = VALUE", "row.passw2x", False),
        ("password = VALUE", "row.pin2long", False),
        ('password = "VALUE"', "row.pin2long", True),
        ("password = VALUE", "row2pinlong", True),
        ("password = VALUE", "row.2pinlong", True),
        ("password = VALUE", "row.a" + "7" * 22, False),
        ("password = VALUE", "row.a" + "7" * 23, True),
        ("token = VALUE", f"a.b{SIXTEEN}", False),
        ('token = "VALUE"', f"a.b{SIXTEEN}", True),
        ("--token VALUE", f"a.b{SIXTEEN}", True),
        ("password = VALUE", "mypassw0rt", False),
        ('password = "VALUE"', "mypassw0rt", True),
    ],
)
def test_a_password_is_known_by_its_name_its_sign_and_its_value(line: str, value: str, is_secret: bool) -> None:
    assert is_found(line, value) is is_secret


@pytest.mark.parametrize(
    ("line", "value", "is_secret"),
    [
        ("token = VALUE", SIXTEEN, True),
        ("token = VALUE", FIFTEEN, False),
        ('token = "VALUE"', TWELVE, True),
        ('token = "VALUE"', TWELVE[:-1], False),
        ("API_TOKEN=VALUE", TWELVE, True),
        ("api_key = VALUE", SIXTEEN, True),
        ("access-key: VALUE", SIXTEEN, True),
        ("cache_key = VALUE", SIXTEEN, False),
        ("key = VALUE", SIXTEEN, False),
        ("csrf_token = VALUE", SIXTEEN, False),
        ("page_token = VALUE", SIXTEEN, False),
        ("token = VALUE", HEX, True),
        ("token = VALUE", HEX[:-1], False),
        # A UUID names things, unless something says that it opens them.
        ("token = VALUE", UUID, False),
        ("api_key = VALUE", UUID, True),
        ("client_secret = VALUE", UUID, True),
        ("TOKEN = VALUE", UUID, True),
        ("--token VALUE", UUID, True),
        ("-token VALUE", UUID, True),
    ],
)
def test_a_key_or_token_opens_something_by_its_name_or_its_value(line: str, value: str, is_secret: bool) -> None:
    assert is_found(line, value) is is_secret


@pytest.mark.parametrize(
    ("before", "is_secret"),
    [("", True), (" ", True), ("x", False), ("_", False), ("-", False), ("+", True), ("/", True), ("\\n", True)]
    + [('"', True), ("é", True), (" n", False), ("\\", True)],
)
def test_a_format_begins_a_word(before: str, is_secret: bool) -> None:
    token = "gh" + "p_" + "Q7w2Zk9" * 5 + "x"
    assert bool(find_secrets(before + token)) is is_secret


@pytest.mark.parametrize("before", ["+", "/"])
def test_one_of_letters_and_digits_alone_may_be_a_part_of_base_64(before: str) -> None:
    token = "AK" + "IA" + "Q7WZK9XJ3VTM5RPL"
    assert find_secrets(f" {token}")
    assert not find_secrets(before + token)


def test_a_finding_begins_where_the_name_does_as_far_as_a_name_may_reach() -> None:
    for length in (59, 60, 61):
        text = f"x {'a' * length}password={MIXED}"
        assert [*findings_in(text.encode())] == [(2 + max(0, length - 60), "password")]


INVISIBLE = (
    *((0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x180E, 0x180E), (0x200B, 0x200F), (0x202A, 0x202E)),
    *((0x2060, 0x206F), (0xFEFF, 0xFEFF), (0xFE00, 0xFE0F), (0x115F, 0x1160), (0x3164, 0x3164)),
)


def test_every_character_that_cannot_be_seen_is_looked_through_and_no_other_one() -> None:
    token = "gh" + "p_" + "Q7w2Zk9" * 5 + "x"
    hidden = {code for first, last in INVISIBLE for code in range(first, last + 1)}
    beside = {code for first, last in INVISIBLE for code in (first - 1, last + 1)} - hidden
    found = {code for code in hidden | beside if find_secrets(f"{token[:9]}{chr(code)}{token[9:]}")}
    assert found == hidden
