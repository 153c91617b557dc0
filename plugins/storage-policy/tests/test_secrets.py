"""Secrets: named by an inventory, let out by its access lists, recorded at every reveal, and kept nowhere."""

from __future__ import annotations

import logging

import pytest

from agentm_storage_policy.errors import StorageAuthUnresolvableError

VALUE = "s3cr3t-value-that-must-not-show"
STORAGE = "provider: recorder\nconfig: {{place: {place}}}\nauth: {{ref: ./SECRETS.md{state}}}\n"
INVENTORY = """
secrets:
  - slug: {slug}
    name: A secret
    description: For the tests.
    access: {access}
{more}
"""


class Safe:
    """A policy with an inventory, opened on a device."""

    def __init__(self, desk, recorders):
        self.desk = desk
        self.recorders = recorders

    def inventory(self, slug="api-token", access="{bind: [{tool: agentm}]}", more="", name="SECRETS.md"):
        self.desk.write(name, INVENTORY.format(slug=slug, access=access, more=more))

    def open(self, state=", state: {env: [API_TOKEN]}"):
        """The credentials that the provider was given."""
        self.desk.open(STORAGE.format(place=self.desk.home / "store", state=state))
        return self.recorders[-1][2]

    def refusal(self, **options):
        with pytest.raises(StorageAuthUnresolvableError) as caught:
            self.open(**options)
        assert caught.value.code == "storage_auth_unresolvable"
        assert self.recorders == [], "the provider was not reached"
        return caught.value


@pytest.fixture
def safe(desk, recorders):
    desk.environ["API_TOKEN"] = VALUE
    return Safe(desk, recorders)


@pytest.mark.rule(19, "accepted")
@pytest.mark.rule(35, "accepted")
def test_a_provider_gets_the_value_when_it_asks_and_each_time_is_recorded(safe):
    safe.inventory(more="    audit: {retention: 90d, pii: true, classification: [internal]}")
    credentials = safe.open()
    assert safe.desk.audit() == [], "opening reveals nothing"
    assert list(credentials) == ["API_TOKEN"]
    assert credentials["API_TOKEN"] == VALUE
    assert credentials.get("API_TOKEN") == VALUE
    entries = safe.desk.audit()
    assert [entry["event"] for entry in entries] == ["secret.reveal"] * 2
    assert entries[0]["slug"] == "api-token"
    assert entries[0]["granted_by"] == {"tool": "agentm"}
    assert entries[0]["actor"]["user"] == "ana"
    assert entries[0]["retention"] == "90d"
    assert "provider=recorder" in entries[0]["purpose"]


@pytest.mark.rule(36, "accepted")
def test_a_value_is_in_no_file_no_log_and_no_repr(safe, caplog):
    caplog.set_level(logging.DEBUG)
    safe.inventory()
    credentials = safe.open()
    assert credentials["API_TOKEN"] == VALUE
    assert VALUE not in safe.desk.everything_written()
    assert VALUE not in caplog.text
    assert VALUE not in repr(credentials)
    assert VALUE not in repr(vars(credentials)["_names"])


@pytest.mark.rule(18, "accepted")
@pytest.mark.rule(18, "refused")
def test_an_inventory_that_is_not_there_is_met_when_the_store_is_opened_and_not_before(safe):
    handle = safe.desk.policy(STORAGE.format(place=safe.desk.home / "store", state=""))
    assert handle.definition.auth_ref == "./SECRETS.md"
    with pytest.raises(StorageAuthUnresolvableError) as caught:
        handle.open(safe.desk.device, safe.desk.options)
    (finding,) = caught.value.findings
    assert (finding.line, finding.column, finding.key) == (4, 13, "auth.ref")


@pytest.mark.rule(11, "refused")
@pytest.mark.rule(33, "refused")
@pytest.mark.parametrize(
    "access",
    [
        "{}",
        "{bind: []}",
        "{bind: [{tool: another}]}",
        "{reveal: [{role: admin}]}",
        "{bind: [{userId: bob}]}",
        "{bind: [{cap: 'cap://secret/reveal/api-token'}]}",
        "{bind: [{workflow: agentm}]}",
        "{rotate: [{tool: agentm}]}",
    ],
)
def test_whoever_is_not_let_in_gets_nothing_and_that_is_recorded(safe, access):
    safe.inventory(access=access)
    error = safe.refusal()
    assert "tool: agentm" in error.hint
    (entry,) = safe.desk.audit()
    assert entry["event"] == "secret.reveal.denied"
    assert (entry["slug"], entry["actor"]["user"], entry["context"]) == ("api-token", "ana", {"tool": "agentm"})
    assert "access.bind or access.reveal" in entry["reason"]


@pytest.mark.rule(11, "accepted")
@pytest.mark.rule(33, "accepted")
@pytest.mark.rule(34, "accepted")
@pytest.mark.parametrize(
    "access",
    [
        "{bind: [{tool: agentm}]}",
        "{reveal: [{tool: agentm}]}",
        "{bind: [{workflow: other}, {userId: ana}]}",
        "{reveal: [{role: keeper}]}",
    ],
)
def test_one_entry_that_fits_is_enough(safe, access):
    safe.desk.options["roles"] = ["keeper"]
    safe.inventory(access=access)
    assert safe.open()["API_TOKEN"] == VALUE


@pytest.mark.rule(33, "refused")
def test_without_access_the_environment_is_not_even_looked_at(safe):
    class Watched(dict):
        asked = ()

        def get(self, key, default=None):
            Watched.asked += (key,)
            return super().get(key, default)

    safe.desk.environ = Watched(safe.desk.environ)
    safe.inventory(access="{}")
    safe.refusal()
    assert "API_TOKEN" not in Watched.asked


@pytest.mark.rule(35, "refused")
def test_what_cannot_be_recorded_is_not_revealed(safe):
    safe.inventory()
    credentials = safe.open()
    (safe.desk.state / "audit.jsonl").mkdir(parents=True)
    with pytest.raises(OSError, match="audit log"):
        _ = credentials["API_TOKEN"]


@pytest.mark.rule(37, "accepted")
def test_a_variable_stands_for_the_slug_of_its_name_or_of_its_binding(safe):
    safe.inventory(slug="api-token")
    assert safe.open()["API_TOKEN"] == VALUE
    safe.inventory(slug="something-else", more="    metadata: {bindings: {env: [API_TOKEN, OTHER]}}")
    assert safe.open()["API_TOKEN"] == VALUE
    safe.inventory(slug="api/token")
    assert safe.open()["API_TOKEN"] == VALUE


@pytest.mark.rule(37, "refused")
def test_a_binding_replaces_the_convention(safe):
    safe.inventory(slug="api-token", more="    metadata: {bindings: {env: [OTHER]}}")
    assert "no secret for API_TOKEN" in safe.refusal().message


def test_a_variable_that_is_not_set_is_named(safe):
    del safe.desk.environ["API_TOKEN"]
    safe.inventory()
    assert "API_TOKEN is not set" in safe.refusal().message


def test_without_a_list_the_provider_may_ask_for_what_the_inventory_has(safe):
    safe.inventory()
    credentials = safe.open(state="")
    assert list(credentials) == ["API_TOKEN"]
    with pytest.raises(KeyError):
        _ = credentials["HOME"]


def test_without_a_list_a_value_is_missed_only_by_whoever_asks_for_it(safe):
    safe.inventory()
    del safe.desk.environ["API_TOKEN"]
    credentials = safe.open(state="")
    with pytest.raises(StorageAuthUnresolvableError, match="API_TOKEN is not set"):
        _ = credentials["API_TOKEN"]


def test_a_vault_in_the_environment_may_have_another_name(safe):
    safe.desk.environ["SOMEWHERE"] = VALUE
    safe.inventory(more="    backend: vault://env/SOMEWHERE")
    assert safe.open()["API_TOKEN"] == VALUE
    safe.recorders.clear()
    safe.inventory(more="    backend: vault://hashicorp/secret/api")
    assert "vault that agentm cannot ask" in safe.refusal().message


def test_a_hook_opens_without_checking_and_is_checked_when_it_asks(safe):
    safe.inventory(access="{}")
    safe.desk.read_only = True
    credentials = safe.open()
    assert not safe.desk.state.exists()
    with pytest.raises(StorageAuthUnresolvableError):
        _ = credentials["API_TOKEN"]


def self_bucket(desk, slug):
    from agentm_storage_policy.host import Host
    from agentm_storage_policy.opening import credentials_for
    from agentm_storage_policy.resolving import Resolver

    config = f"{{kind: s3, endpoint: https://s3.example.com, bucket: b, credentials_ref: {slug}}}"
    handle = desk.policy(f"provider: self-bucket\nconfig: {config}\n")
    host = Host(desk.options, desk.device, desk.opening)
    return credentials_for(handle.resolve(desk.device, desk.options), host, Resolver(host))


@pytest.mark.parametrize("slug", ["acme/s3-rw", "org/acme/s3-rw"])
def test_credentials_by_slug_come_from_the_inventories_of_the_workspace(safe, slug):
    safe.desk.environ |= {"KEY_ID": "id", "SECRET": VALUE}
    bindings = "    metadata: {bindings: {env: [KEY_ID, SECRET]}}"
    safe.inventory(slug="acme/s3-rw", more=bindings, name=".secrets/s3/SECRETS.md")
    safe.inventory(slug="unrelated-one", name=".secrets/SECRETS.md")
    credentials = self_bucket(safe.desk, slug)
    assert list(credentials) == ["KEY_ID", "SECRET"]
    assert credentials["SECRET"] == VALUE


@pytest.mark.rule(31, "refused")
def test_two_inventories_do_not_share_a_slug(safe):
    safe.inventory(slug="acme/s3-rw", name=".secrets/SECRETS.md")
    safe.inventory(slug="acme/s3-rw", name=".secrets/s3/SECRETS.md")
    with pytest.raises(StorageAuthUnresolvableError, match="another inventory"):
        self_bucket(safe.desk, "acme/s3-rw")


def test_a_slug_that_no_inventory_has_is_refused_at_its_place(safe):
    with pytest.raises(StorageAuthUnresolvableError) as caught:
        self_bucket(safe.desk, "acme/s3-rw")
    assert caught.value.findings[0].key == "config.credentials_ref"


def test_what_a_slug_names_is_checked_when_the_store_is_opened(safe):
    safe.inventory(slug="s3-rw", access="{}", name=".secrets/SECRETS.md")
    with pytest.raises(StorageAuthUnresolvableError, match="does not let this user have the secret 's3-rw'"):
        self_bucket(safe.desk, "s3-rw")
