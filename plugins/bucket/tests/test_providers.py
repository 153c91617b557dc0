"""What a storage policy says, as a bucket."""

from __future__ import annotations

import pytest
from bucket_servers import AZURE_ACCOUNT, BUCKET

from agentm_bucket.credentials import variables_among
from agentm_bucket.providers import (
    CLOUD_ENDPOINT_VARIABLE,
    open_cloud_bucket,
    open_mastra_azure,
    open_mastra_s3,
    open_self_bucket,
)
from agentm_kernel import Locator
from agentm_kernel.errors import StorageError, StorageSelectionError
from agentm_kernel.plugin import Device, Opening, ProviderContext, SyncRules

NOTE = Locator("note.md")


@pytest.fixture
def context(tmp_path):
    device, opening = Device({"HOME": str(tmp_path)}), Opening(state_dir=str(tmp_path / "state"))
    return ProviderContext(device, opening, "STORAGE.md", SyncRules("canonical"), lambda _: False)


def works(store):
    store.write(NOTE, "one\n")
    return store.read(NOTE) == "one\n"


def test_self_bucket_opens_an_s3_bucket(moto, prefix, context):
    config = {"kind": "s3", "endpoint": moto.server.endpoint, "bucket": BUCKET, "prefix": prefix}
    assert works(open_self_bucket(config, moto.server.environ, context))


def test_self_bucket_finds_the_azure_account_in_the_endpoint(azurite, prefix, context):
    config = {"kind": "azure", "endpoint": azurite.server.endpoint, "bucket": BUCKET, "prefix": prefix}
    assert works(open_self_bucket(config, azurite.server.environ, context))
    real = {"kind": "azure", "endpoint": "https://team.blob.core.windows.net", "bucket": "notes"}
    assert open_self_bucket(real, {}, context).place.account == "team"


def test_mastra_s3_opens_the_same_bucket(moto, prefix, context):
    config = {"bucket": BUCKET, "prefix": prefix, "endpoint": moto.server.endpoint, "forcePathStyle": True}
    store = open_mastra_s3(config, moto.server.environ, context)
    assert works(store)
    assert moto.server.open(prefix).read(NOTE) == "one\n"


def test_mastra_azure_opens_the_same_container(azurite, prefix, context):
    config = {
        "container": BUCKET,
        "prefix": prefix,
        "endpoint": azurite.server.endpoint,
        "accountName": AZURE_ACCOUNT,
    }
    assert works(open_mastra_azure(config, azurite.server.environ, context))


def test_mastra_azure_needs_to_know_the_account(context):
    with pytest.raises(StorageError, match="which Azure account"):
        open_mastra_azure({"container": "notes"}, {}, context)


def test_cloud_bucket_is_where_the_host_says(moto, prefix, context):
    device = Device({CLOUD_ENDPOINT_VARIABLE: moto.server.endpoint})
    here = ProviderContext(device, context.opening, context.name, context.rules, context.is_excluded)
    assert works(open_cloud_bucket({"bucket": BUCKET, "prefix": prefix}, moto.server.environ, here))
    elsewhere = open_cloud_bucket({"bucket": BUCKET, "region": "eu-west-1"}, {}, context)
    assert elsewhere.place.endpoint == "https://s3.eu-west-1.amazonaws.com"


def test_opening_asks_for_no_credential(context):
    class Locked(dict):
        def __getitem__(self, name):
            raise AssertionError(f"{name} was asked for")

    credentials = Locked(AWS_ACCESS_KEY_ID="a", AWS_SECRET_ACCESS_KEY="b")
    config = {"kind": "s3", "endpoint": "https://s3.example", "bucket": "b"}
    open_self_bucket(config, credentials, context).check_usable(read_only=False)


def test_credentials_that_the_policy_does_not_grant_are_named(context):
    config = {"kind": "s3", "endpoint": "https://s3.example", "bucket": "b"}
    with pytest.raises(StorageSelectionError, match="AWS_SECRET_ACCESS_KEY"):
        open_self_bucket(config, {}, context).check_usable(read_only=False)


def test_variables_of_other_names_are_told_by_how_they_end():
    assert variables_among("s3", ["TEAM_SECRET_ACCESS_KEY", "TEAM_ACCESS_KEY_ID"]) == {
        "access_key_env": "TEAM_ACCESS_KEY_ID",
        "secret_key_env": "TEAM_SECRET_ACCESS_KEY",
    }
