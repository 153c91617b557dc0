"""Addresses of remotes: every spelling of one repository is one text, and no secret is left in it."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from agentm_kernel.projects.remote import canonical_remote, parse_remote


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com/owner/widgets",
        "https://example.com/owner/widgets.git",
        "https://example.com/owner/widgets.git/",
        "https://example.com//owner/widgets/",
        "https://example.com:443/owner/widgets",
        "http://example.com:80/owner/widgets.git",
        "HTTPS://Example.COM/owner/widgets",
        "https://example.com./owner/widgets",
        "https://ada@example.com/owner/widgets.git",
        "https://ada:s3cret@example.com/owner/widgets.git",
        "https://oauth2:ghp_token@example.com/owner/widgets.git",
        "git@example.com:owner/widgets.git",
        "git@example.com:/owner/widgets.git",
        "example.com:owner/widgets",
        "ssh://git@example.com/owner/widgets.git",
        "ssh://git@example.com:22/owner/widgets.git",
        "git+ssh://git@example.com/owner/widgets",
        "git://example.com/owner/widgets.git",
        "git://example.com:9418/owner/widgets.git",
        "  https://example.com/owner/widgets\n",
    ],
)
def test_one_repository_has_one_spelling(url: str) -> None:
    assert canonical_remote(url) == "example.com/owner/widgets"
    assert parse_remote(url).name == "widgets"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://example.com/a/widgets", "https://example.com/b/widgets"),
        ("https://one.example.com/a/widgets", "https://two.example.com/a/widgets"),
        ("https://example.com/a/Widgets", "https://example.com/a/widgets"),
        ("https://example.com:8443/a/widgets", "https://example.com/a/widgets"),
        ("ssh://example.com:2222/a/widgets", "ssh://example.com:2223/a/widgets"),
        ("/srv/git/widgets", "/home/ada/widgets"),
        ("/srv/git/widgets", "https://srv/git/widgets"),
        ("/srv/git/widgets", "srv/git/widgets"),
        ("helper::a/widgets", "other::a/widgets"),
        ("helper://a/widgets", "https://a/widgets"),
    ],
)
def test_different_repositories_have_different_spellings(one: str, other: str) -> None:
    assert canonical_remote(one) != canonical_remote(other)


@pytest.mark.parametrize(
    ("url", "canonical", "name"),
    [
        ("/srv/git/widgets.git", "/srv/git/widgets", "widgets"),
        ("/srv/git/widgets/.git", "/srv/git/widgets", "widgets"),
        ("/srv/git/widgets/.git/", "/srv/git/widgets", "widgets"),
        ("file:///srv/git/widgets.git", "/srv/git/widgets", "widgets"),
        ("file://localhost/srv/git/widgets.git", "/srv/git/widgets", "widgets"),
        ("../widgets.git", "../widgets", "widgets"),
        ("./dir/a:b", "dir/a:b", "a:b"),
        ("/", "/", ""),
        ("C:\\repos\\Widgets.git", "c:/repos/widgets", "Widgets"),
        ("c:/repos/Widgets", "c:/repos/widgets", "Widgets"),
        ("file:///C:/repos/Widgets.git", "c:/repos/widgets", "Widgets"),
        ("\\\\server\\share\\widgets.git", "/server/share/widgets", "widgets"),
        ("host:widgets.git", "host/widgets", "widgets"),
        ("host:~ada/widgets.git", "host/~ada/widgets", "widgets"),
        ("ssh://host/~/widgets.git", "host/~/widgets", "widgets"),
        ("ssh://git@host:2222/o/widgets.git", "ssh://host:2222/o/widgets", "widgets"),
        ("https://[2001:db8::1]/o/widgets", "https://[2001:db8::1]/o/widgets", "widgets"),
        ("git@[2001:db8::1]:o/widgets.git", "ssh://[2001:db8::1]/o/widgets", "widgets"),
        ("https://example.com/o/my%20widgets", "example.com/o/my widgets", "my widgets"),
        ("https://example.com/o/100%", "example.com/o/100%", "100%"),
        ("https://example.com/o/%zz%ff", "example.com/o/%zz%ff", "%zz%ff"),
        ("https://example.com", "example.com", ""),
        ("https://example.com/.git", "example.com", ""),
        ("/.git", "/", ""),
        ("codecommit::eu-west-1://ada@Widgets", "codecommit::eu-west-1://Widgets", "Widgets"),
        ("codecommit://Widgets", "codecommit://Widgets", "Widgets"),
        ("hg::https://ada:s3cret@example.com/o/widgets", "hg::https://example.com/o/widgets", "widgets"),
        ("ext::run widgets.git", "ext::run widgets", "run widgets"),
        ("owner/widgets", "owner/widgets", "widgets"),
        ("widgets", "widgets", "widgets"),
    ],
)
def test_every_form_of_address_is_understood(url: str, canonical: str, name: str) -> None:
    address = parse_remote(url)
    assert (str(address), address.name) == (canonical, name)


@pytest.mark.parametrize("host", ["github.com", "gitlab.com", "bitbucket.org", "codeberg.org"])
def test_where_the_forge_ignores_case_so_does_the_spelling_but_not_the_name(host: str) -> None:
    assert canonical_remote(f"git@{host}:Owner/Widgets.git") == canonical_remote(f"https://{host}/owner/widgets")
    assert parse_remote(f"git@{host}:Owner/Widgets.git").name == "Widgets"


def test_the_second_door_of_a_forge_leads_to_the_same_repository() -> None:
    assert canonical_remote("ssh://git@ssh.github.com:443/o/r.git") == canonical_remote("git@github.com:o/r.git")


ADDRESSES = st.builds(
    "{}{}{}/{}{}".format,
    st.sampled_from(("https://", "ssh://", "file://", "", "git@", "x::", "C:")),
    st.sampled_from(("", "u:p@", "u@")),
    st.sampled_from(("github.com", "host", "host:22", "host:2222", "[::1]", "host:", "")),
    st.sampled_from(("o/R", "R", "a/../R", "%41")),
    st.sampled_from((".git", ".git/", "/.git", ".git.git", "")),
)


@given(ADDRESSES)
def test_a_spelling_spells_itself(url: str) -> None:
    spelled = canonical_remote(url)
    assert canonical_remote(spelled) == spelled


@given(ADDRESSES | st.text(alphabet="abAB./:@[]-~%\\ é", max_size=30))
def test_the_name_is_one_part_of_the_spelling(url: str) -> None:
    address = parse_remote(url)
    assert "/" not in address.name
    assert str(address).lower().endswith(address.name.lower())
