"""What tells a secret from what only stands where one would, rule by rule and on both sides of each border."""

from __future__ import annotations

from base64 import b64encode

import pytest

from agentm_kernel.seam.secrets import judging


@pytest.mark.parametrize(
    ("value", "is_one"),
    [
        ("changeme", True),
        ("Changeme!", True),
        ("my-example-value", True),
        ("$VARIABLE", True),
        ("$5xQz!k", False),
        ("<your key>", True),
        ("{{ key }}", True),
        ("%ENV%", True),
        ("[key]", True),
        ("x7Kq>", True),
        ("x7Kq}", True),
        ("x7Kq9", False),
        ("aaabbbccc", True),
        ("aaabbbcccd", False),
        ("abcdefgh", True),
        ("23456789", True),
        ("bcdefghk" + "q", True),
        ("bcdefgk" + "qm", False),
        ("bcdefghizxv", False),
        ("mypasswort", True),
        ("mypassw0rt", False),
    ],
)
def test_a_placeholder_is_a_variable_a_blank_or_what_nobody_would_draw(value, is_one):
    assert judging.is_placeholder(value.encode()) is is_one


@pytest.mark.parametrize(
    ("value", "is_one"),
    [
        ("Ab3!x", False),
        ("Ab3!xy", True),
        ("ab!cdef", False),
        ("ab!cde1", True),
        ("aB!cdef", True),
        ("123456", False),
        ("/srv/data2x", False),
        ("Winter2024", True),
        ("Winter_24", True),
        ("Winter1", True),
        ("Wint_12", False),
        ("Winte_12", True),
        ("WINTER_24", False),
        ("winter_24", False),
        ("Winter_xx", False),
        ("tr0ub4dor", True),
        ("tr0ub4dor.", True),
        ("Ab3!x).*_", False),
        ("sha256-sum", False),
        ("Sha256_sum", False),
        ("py311-env", False),
        ("abcd12-env", True),
        ("abcd1-env", False),
        ("v2beta3x-env", False),
        ("w2beta3x-env", True),
        ("one.tw2oooo", True),
        ("one/tw2oooo", True),
        ("one:123456", False),
        ("one=123456", False),
    ],
)
def test_a_password_mixes_what_no_word_and_no_name_mixes(value, is_one):
    assert judging.is_password(value.encode()) is is_one


@pytest.mark.parametrize(
    ("value", "least", "is_one"),
    [
        ("x7Kq9Zp2Lm4Tw8Rc", 16, True),
        ("x7Kq9Zp2Lm4Tw8R", 16, False),
        ("x7Kq9Zp2Lm4T", 12, True),
        ("0123456789abcdef", 16, False),
        ("xqzkvbnmwrtpsdfg", 16, False),
        ("XQZKVBNMWRTPSDFG", 16, False),
        ("xqzkvbnmwrtpsdf7", 16, True),
        ("xqzkvbnmwrtpSDFG", 16, True),
        ("x7Kq" * 5, 16, False),
        ("x7Kq9Zp2" * 2 + "x7Kq", 16, True),
        ("x7Kq9Zp" * 2 + "x7Kq", 16, False),
        ("x7Kq9Zp2Lm4Tw8R" * 4, 16, False),
        ("x7Kq9Zp2Lm4Tw8Rc" * 4, 16, True),
        ("theRepositoryOfTheTeam2024", 16, False),
    ],
)
def test_what_is_random_has_many_characters_and_no_words(value, least, is_one):
    assert judging.is_random(value.encode(), least) is is_one


@pytest.mark.parametrize(
    ("value", "is_wordy"),
    [
        ("theRepository", True),
        ("qzXQ", True),
        ("zqxzq", False),
        ("zqxz", False),
        ("zqx", True),
        ("1a2a3a", False),
        ("1a2a", True),
        ("1-2-3-4", True),
        ("aZaZaZaZ", False),
        ("aZ-aZ-aZ", True),
        ("ad-ad-ad", True),
        ("es-es-es-es-es-es-zq-zq-zq-zq", True),
        ("es-es-es-es-es-zq-zq-zq-zq", False),
        ("ZQzqZQ", False),
        ("thzqzqzthth", False),
        ("inininzqzq", False),
        ("esesesesesesqzqz", True),
    ],
)
def test_words_are_made_of_pairs_that_words_have(value, is_wordy):
    assert judging._is_wordy(value.encode()) is is_wordy


@pytest.mark.parametrize(
    ("value", "is_one"),
    [
        ("0123456789abcdef" * 2, True),
        (("0123456789abcdef" * 2)[:-1], False),
        ("0123456789ABCDEF" * 2, True),
        ("01234567-89ab-cdef-0123-456789abcdef", True),
        ("abcdefab" * 4, False),
        ("12345678" * 4, False),
        ("0123456789abcdeg" * 2, False),
    ],
)
def test_a_key_of_hexadecimal_digits_has_letters_and_digits_and_is_long(value, is_one):
    assert judging.is_hexadecimal_key(value.encode()) is is_one


@pytest.mark.parametrize(
    ("value", "is_one"),
    [
        ("zZ7k" * 10, True),
        ("zZ7k" * 9 + "zZ7", False),
        ("zZ7k" * 10 + "z", False),
        ("zZ7/" * 10, True),
        ("zZ7+" * 10, True),
        ("zZ7-" * 10, False),
        ("aB7c" * 10, False),
    ],
)
def test_an_access_secret_is_forty_characters_of_base_64(value, is_one):
    assert judging.is_access_secret(value.encode()) is is_one


@pytest.mark.parametrize(
    ("login", "is_one"),
    [
        ("ana:k7Qx", True),
        ("an:k7Qx", True),
        ("a:k7Qx", True),
        ("ana:k7Q", False),
        ("ana:", False),
        (":k7Q9", False),
        ("ana", False),
        ("ana:changeme", False),
        ("\u00e4na:k7Q9", False),
    ],
)
def test_a_login_is_a_name_a_colon_and_a_password(login, is_one):
    value = b64encode(login.encode())
    assert judging.is_login_in_base64(value) is is_one
    assert judging.is_login_in_base64(value.rstrip(b"=")) is is_one


def test_what_is_not_base_64_is_no_login():
    assert not judging.is_login_in_base64(b"a")


@pytest.mark.parametrize(
    ("value", "is_one"),
    [
        ("/usr/share/notes", True),
        ("./notes", True),
        ("../notes", True),
        ("~/notes", True),
        ("notes/more", False),
        ("/zqxz/kqzx/qzkx", False),
    ],
)
def test_a_path_begins_like_one_and_is_made_of_words(value, is_one):
    assert judging.is_path(value.encode()) is is_one


@pytest.mark.parametrize(
    ("word", "is_one"),
    [("py311", True), ("py3110", False), ("v2beta3", True), ("vbeta32", False), ("2fa", True)],
)
def test_a_version_is_a_few_letters_and_a_number(word, is_one):
    assert judging._is_version(word.encode()) is is_one


@pytest.mark.parametrize(("text", "letters", "digits"), [("/09:", "", "09"), ("@AZ[`az{", "AZaz", "")])
def test_letters_and_digits_are_those_of_ascii(text, letters, digits):
    assert bytes(filter(judging._is_letter, text.encode())).decode() == letters
    assert bytes(filter(judging._is_digit, text.encode())).decode() == digits


def test_sixteen_characters_are_enough_where_nothing_else_is_said():
    assert judging.is_random(b"x7Kq9Zp2Lm4Tw8Rc")
