"""Servers for the tests of this folder, each started once and only if a test asks for it."""

from __future__ import annotations

import os
import sys
import uuid

import pytest

sys.path.insert(0, os.path.dirname(__file__))  # for the other processes too, which get this path
sys.path.insert(
    1, os.path.abspath(os.path.join(__file__, "..", "..", "..", ".."))
)  # for what all stores' tests share

from bucket_servers import OpenScratch, ServerMissingError, running

from agentm_devkit.conformance import Subject


def _server(name, tmp_path_factory):
    try:
        with running(name, str(tmp_path_factory.mktemp(name))) as started:
            yield started
    except ServerMissingError as reason:
        if os.environ.get("AGENTM_REQUIRE_SERVERS"):
            pytest.fail(str(reason))
        pytest.skip(str(reason))


@pytest.fixture(scope="session")
def moto(tmp_path_factory):
    yield from _server("moto", tmp_path_factory)


@pytest.fixture(scope="session")
def seaweedfs(tmp_path_factory):
    yield from _server("seaweedfs", tmp_path_factory)


@pytest.fixture(scope="session")
def azurite(tmp_path_factory):
    yield from _server("azurite", tmp_path_factory)


@pytest.fixture(scope="session")
def s3rver(tmp_path_factory):
    yield from _server("s3rver", tmp_path_factory)


@pytest.fixture
def on_moto(moto):
    return Subject(OpenScratch(moto.server))


@pytest.fixture
def on_seaweedfs(seaweedfs):
    return Subject(OpenScratch(seaweedfs.server))


@pytest.fixture
def on_azurite(azurite):
    return Subject(OpenScratch(azurite.server))


@pytest.fixture
def prefix():
    """A place in a bucket that no other test uses."""
    return f"test/{uuid.uuid4().hex[:12]}"
