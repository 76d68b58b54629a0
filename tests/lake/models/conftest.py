"""A lake, a model server and clients of it."""

from __future__ import annotations

import pytest

from lake.lake import init_lake
from lake.models.batch import BatchModel
from lake.models.live import LiveModel
from tests.lake.models.asking import AS_OF, Clock, HighDice, config
from tests.model_server import ModelServer
from tests.model_server_chat import ChatApi


@pytest.fixture
def server(monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    with ModelServer() as running:
        yield running


@pytest.fixture
def api(server):
    return ChatApi(server)


@pytest.fixture
def lake(tmp_path):
    return init_lake(str(tmp_path / "lake"), buckets=2)


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def make(server, api, lake, clock):
    made = []

    def model(kind, **change):
        told = config(server.base_url, **change)
        made.append(kind(told, lake, AS_OF, sleep=clock.sleep, rng=HighDice(), clock=clock))
        return made[-1]

    yield model
    for one in made:
        one.close()


@pytest.fixture
def live(make):
    return lambda **change: make(LiveModel, **change)


@pytest.fixture
def batch(make):
    return lambda **change: make(BatchModel, mode="batch", **change)
