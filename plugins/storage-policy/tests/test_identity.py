"""Who signs: one form for each entry, the first is the author, and everybody has an address."""

from __future__ import annotations

import pytest

from agentm_kernel.plugin import StorageRefUnresolvableError
from agentm_storage_policy.errors import StoragePolicyError
from agentm_storage_policy.host import Host
from agentm_storage_policy.identity import authors
from agentm_storage_policy.resolving import Resolver

GITHUB = "provider: github\nconfig: {{owner: acme, repo: notes}}\n{identity}"


def signed(desk, identity):
    handle = desk.policy(GITHUB.format(identity=f"identity: {identity}\n" if identity else ""))
    host = Host(desk.options, desk.device, desk.opening)
    resolver = Resolver(host)
    resolved = handle.resolve(desk.device, desk.options)
    return [(str(author), author.role) for author in authors(resolved.identity, host, resolver)]


@pytest.mark.rule(38, "accepted")
def test_the_first_is_the_author_and_the_others_are_co_authors_in_their_order(desk):
    desk.write("bot.IDENTITY.md", "name: Bot\nemail: bot@example.com\nsoul: deep\n")
    desk.options["identities"] = {"operator://bob": {"name": "Bob", "email": "bob@example.com"}}
    entries = (
        "[{ref: 'operator://bob'}, {name: Ana, email: ana@example.com}, {file: ./bot.IDENTITY.md, role: signer}]"
    )
    assert signed(desk, entries) == [
        ("Bob <bob@example.com>", "author"),
        ("Ana <ana@example.com>", "co-author"),
        ("Bot <bot@example.com>", "signer"),
    ]


@pytest.mark.rule(40, "accepted")
def test_without_an_identity_it_is_whoever_acts(desk):
    assert signed(desk, None) == [("ana <user-ana@noreply.agentm.invalid>", "author")]
    desk.options |= {"name": "Ana Lopez", "email": "ana@example.com"}
    assert signed(desk, None) == [("Ana Lopez <ana@example.com>", "author")]
    assert signed(desk, "{ref: 'user://current'}") == [("Ana Lopez <ana@example.com>", "author")]


@pytest.mark.rule(39, "accepted")
@pytest.mark.parametrize(
    ("ref", "signature"),
    [
        ("operator://bob", "bob <operator-bob@noreply.agentm.invalid>"),
        ("bot://ci", "ci <bot-ci@noreply.agentm.invalid>"),
        ("org://Acme Inc", "Acme Inc <org-acme-inc@noreply.agentm.invalid>"),
    ],
)
def test_whoever_has_no_address_gets_one_that_reaches_nobody(desk, ref, signature):
    assert signed(desk, f"{{ref: '{ref}'}}") == [(signature, "author")]


def test_the_current_operator_is_the_configured_one(desk):
    desk.options["operator"] = "bob"
    desk.options["identities"] = {"operator://bob": {"name": "Bob"}}
    assert signed(desk, "{ref: 'operator://current'}") == [("Bob <operator-bob@noreply.agentm.invalid>", "author")]


@pytest.mark.rule(39, "refused")
def test_a_file_without_an_address_is_refused(desk):
    desk.write("bot.IDENTITY.md", "name: Bot\n")
    with pytest.raises(StoragePolicyError, match="email: is missing"):
        signed(desk, "{file: ./bot.IDENTITY.md}")


@pytest.mark.rule(41, "accepted")
@pytest.mark.rule(41, "refused")
def test_a_file_that_is_not_there_is_met_when_somebody_signs(desk):
    assert desk.policy(GITHUB.format(identity="identity: {file: ./nobody.IDENTITY.md}\n"))
    with pytest.raises(StorageRefUnresolvableError):
        signed(desk, "{file: ./nobody.IDENTITY.md}")


@pytest.mark.rule(38, "refused")
@pytest.mark.parametrize("path", ["../../etc/passwd", "/etc/passwd"])
def test_a_file_of_an_identity_lies_in_the_workspace(desk, path):
    with pytest.raises(StorageRefUnresolvableError):
        signed(desk, f"{{file: {path}}}")
