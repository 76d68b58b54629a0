"""Fixtures of the lake's tests."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.lake.s3_store import Weather, environment, serving, way_to


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Endpoint of an object store on loopback."""
    with serving(tmp_path_factory.mktemp("store")) as endpoint:
        yield endpoint


@pytest.fixture(scope="module")
def bucket(store: str) -> Iterator[str]:
    """A bucket of it, whose address and keys stand in the environment."""
    with pytest.MonkeyPatch.context() as patch:
        environment(patch, store)
        yield "s3://lakes"


@pytest.fixture
def weather(bucket: str, store: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Weather]:
    """The way to the bucket, fair until the test says otherwise."""
    del bucket
    found = Weather()
    with way_to(store, found) as endpoint:
        environment(monkeypatch, endpoint)
        yield found
    assert os.environ["AWS_ENDPOINT"] == endpoint
