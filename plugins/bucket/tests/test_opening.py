"""Options and credentials: what is refused before anything is sent, and what no error ever shows."""

from __future__ import annotations

import pickle
import subprocess
import sys
import traceback
from dataclasses import replace
from pathlib import Path

import pytest
from bucket_servers import AZURE_KEY, SECRET

from agentm_bucket.backend import BucketBackend
from agentm_kernel import Locator
from agentm_kernel.errors import AgentmError, StorageIOError, StorageReadOnlyError, StorageSelectionError
from agentm_kernel.plugin import Device, Opening

NOTE = Locator("dir/note.md")
KEYS = {"AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "hidden-value"}


def opened(tmp_path, environ=KEYS, *, read_only=False, **options):
    opening = Opening(read_only=read_only, state_dir=str(tmp_path / "state"))
    return BucketBackend.create({"bucket": "b", **options}, Device(environ), opening)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"kind": "ftp"}, "kind is 'ftp'"),
        ({"bucket": ""}, "names no bucket"),
        ({"bucket": "a/b"}, "names no bucket"),
        ({"kind": "azure"}, "storage account"),
        ({"endpoint": "http://example.com"}, "in the clear"),
        ({"deadline": "soon"}, "positive number"),
        ({"deadline": -1}, "positive number"),
        ({"region": 5}, "must be text"),
        ({"bucket": "a b"}, "which no bucket is called"),
        ({"bucket": ".."}, "which no bucket is called"),
        ({"region": "eu\ncentral"}, "which no region is called"),
        ({"prefix": "../other"}, "no folder in a bucket"),
        ({"prefix": "a//b"}, "no folder in a bucket"),
        ({"prefix": "a\nb"}, "no folder in a bucket"),
        ({"endpoint": "s3.example.org"}, "not the address of a server"),
        ({"endpoint": "https://"}, "not the address of a server"),
        ({"endpoint": "https://s3.example .org"}, "not the address of a server"),
        ({"endpoint": "https://s3.example.org:99999"}, "not the address of a server"),
        ({"endpoint": "https://s3.example.org?x=1"}, "not the address of a server"),
        ({"endpoint": "http://localhost.example.org"}, "in the clear"),
        ({"endpoint": "http://127.0.0.1.example.org"}, "in the clear"),
        ({"secret_access_key": "x"}, "no option secret_access_key"),
    ],
)
def test_options_that_make_no_sense_are_refused(tmp_path, options, said):
    with pytest.raises(StorageSelectionError, match=said):
        opened(tmp_path, **options)


def test_an_endpoint_with_a_password_is_refused_and_not_repeated(tmp_path):
    with pytest.raises(StorageSelectionError, match="holds a name or a password") as caught:
        opened(tmp_path, endpoint="https://ana:hunter2@s3.example.org")
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "endpoint", ["http://127.0.0.1:9000", "http://localhost", "http://[::1]:9000", "https://s3.example.org/minio"]
)
def test_addresses_of_servers_are_taken(tmp_path, endpoint):
    assert opened(tmp_path, endpoint=endpoint, prefix="team notes/ä").describe().endswith(endpoint)


@pytest.mark.parametrize("key", ["", "AKIA\n", "ключ"])
def test_a_key_that_cannot_be_one_is_named_before_anything_is_sent(tmp_path, key):
    device = Device({"AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": "x"})
    options = {"bucket": "b", "endpoint": "http://127.0.0.1:1"}
    store = BucketBackend.create(options, device, Opening(state_dir=str(tmp_path)))
    with pytest.raises(StorageSelectionError, match=r"^\$AWS_ACCESS_KEY_ID is empty, or holds a line break"):
        store.fetch_stamp()


def test_a_service_account_that_is_none_is_refused_and_not_repeated(tmp_path):
    device = Device({"GOOGLE_SERVICE_ACCOUNT_KEY": '{"secret": "hunter2"}'})
    store = BucketBackend.create({"kind": "gcs", "bucket": "b"}, device, Opening(state_dir=str(tmp_path)))
    with pytest.raises(StorageSelectionError, match="does not accept the credentials") as caught:
        store.fetch_stamp()
    assert "hunter2" not in str(caught.value)
    assert "$GOOGLE_SERVICE_ACCOUNT_KEY" in caught.value.hint


def test_opening_touches_neither_disk_nor_network(tmp_path):
    store = opened(tmp_path, endpoint="http://127.0.0.1:1")
    store.check_usable(read_only=False)
    assert store.stamp_text() is None
    assert store.copy_age() is None
    assert list(tmp_path.iterdir()) == []


def test_a_hook_does_not_even_load_the_client_library(tmp_path):
    script = (
        "import sys\n"
        "from agentm_bucket.backend import BucketBackend\n"
        "from agentm_kernel.plugin import Device, Locator, Opening\n"
        f"opening = Opening(read_only=True, state_dir={str(tmp_path)!r})\n"
        "store = BucketBackend.create({'bucket': 'b'}, Device({}), opening)\n"
        "store.check_usable(read_only=True), store.stamp_text(), store.copy_age(), store.device_path(Locator('a'))\n"
        "heavy = [name for name in ('obstore', 'http', 'socket', 'json', 're', 'typing') if name in sys.modules]\n"
        "print(heavy)\n"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", script], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == "[]"


def test_two_places_have_two_copies(tmp_path):
    paths = {
        opened(tmp_path, **options).device_path(NOTE)
        for options in (
            {},
            {"prefix": "p"},
            {"bucket": "b-p"},
            {"endpoint": "https://other.example"},
            {"region": "eu-west-1"},
            {"kind": "gcs"},
        )
    }
    assert len(paths) == 6


@pytest.mark.parametrize(
    ("options", "missing"),
    [
        ({}, "AWS_SECRET_ACCESS_KEY"),
        ({"secret_key_env": "MY_SECRET"}, "MY_SECRET"),
        ({"kind": "azure", "account": "a"}, "AZURE_STORAGE_ACCOUNT_KEY or .AZURE_STORAGE_SAS_TOKEN"),
        ({"kind": "gcs"}, "GOOGLE_SERVICE_ACCOUNT_KEY"),
    ],
)
def test_missing_credentials_are_named_before_the_first_request(tmp_path, options, missing):
    store = opened(tmp_path, {"AWS_ACCESS_KEY_ID": "id"}, **options)
    store.check_usable(read_only=True)
    with pytest.raises(StorageSelectionError, match=missing):
        store.check_usable(read_only=False)
    with pytest.raises(StorageSelectionError, match=missing):
        store.read(NOTE)


def test_the_environment_of_the_process_is_not_asked(moto, prefix, monkeypatch):
    """Only the device that the store was opened with count: no profile, no ambient endpoint, no token."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "ambient")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "ambient")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("AWS_METADATA_ENDPOINT", "http://127.0.0.1:1")
    store = moto.server.open(prefix)
    store.write(NOTE, "one\n")
    assert store.read(NOTE) == "one\n"


def test_wrong_credentials_are_said_to_be_wrong(seaweedfs, prefix):
    server = replace(seaweedfs.server, environ={**seaweedfs.server.environ, "WRONG": "not the secret"})
    store = server.open(prefix, secret_key_env="WRONG")
    with pytest.raises(StorageIOError, match="refused the credentials"):
        store.read(NOTE)


def test_a_store_that_was_opened_to_read_is_not_written_to(tmp_path):
    with pytest.raises(StorageReadOnlyError):
        opened(tmp_path, read_only=True).write(NOTE, "one\n")


# ------------------------------------------------------------------------------------------------ secrets


def everything_said(store, *, endpoint_is_down):
    """Every text that verbs put into errors, tracebacks and representations."""
    texts = [repr(store), store.describe(), repr(vars(store))]
    for verb in (store.read, store.list, store.info, lambda locator: store.write(locator, "x"), store.delete):
        try:
            verb(NOTE)
        except AgentmError as error:
            texts += [str(error), repr(error), error.hint or "", "".join(traceback.format_exception(error))]
            texts.append(repr(pickle.loads(pickle.dumps(error)).__dict__))
        else:
            assert not endpoint_is_down
    return "\n".join(texts)


@pytest.mark.parametrize("name", ["moto", "azurite"])
def test_no_secret_is_in_any_error_text_or_file(request, name, prefix):
    server = request.getfixturevalue(name).server
    store = server.open(prefix, device="secretive")
    store.write(NOTE, "one\n")
    store.write(Locator("projects/p/_harness/PLAN.md"), "plan\n")
    store.push(store)
    said = everything_said(store, endpoint_is_down=False)
    said += everything_said(
        server.at("http://127.0.0.1:9/x").open(prefix, deadline=1, attempt=0.2), endpoint_is_down=True
    )
    for secret in (SECRET, AZURE_KEY):
        assert secret not in said
        for path in Path(server.folder, "state").rglob("*"):
            assert not path.is_file() or secret.encode() not in path.read_bytes()


def test_credentials_do_not_travel_to_other_processes_in_a_pickle(tmp_path):
    with pytest.raises(TypeError, match="not pickled"):
        pickle.dumps(opened(tmp_path).inner._credentials)


def test_secrets_stay_out_of_the_process_list(moto, prefix):
    """The command lines of this process and its children, while it uses the store."""
    moto.server.open(prefix).write(NOTE, "one\n")
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            assert SECRET.encode() not in entry.read_bytes()
        except OSError:
            continue


def test_the_place_is_described_without_secrets(tmp_path):
    assert (
        opened(tmp_path, prefix="/team/notes/").describe()
        == "s3://b/team/notes at https://s3.us-east-1.amazonaws.com"
    )
