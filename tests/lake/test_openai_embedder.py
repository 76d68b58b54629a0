"""The embedder of an endpoint that works, refuses, fails and misbehaves."""

from __future__ import annotations

import gc
import json
import logging
import random
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import SecretStr

from lake.embedders.config import EmbedderConfig
from lake.embedders.endpoint import _retry_after_seconds
from lake.embedders.openai_compatible import OpenAIEmbedder
from lake.tokens import count_tokens
from tests.model_server import Fault, ModelServer, vector_of
from transforms.errors import EndpointError

KEY = "sk-verysecretkey-0123456789"


class Clock:
    """Time that passes only in sleeps."""

    def __init__(self) -> None:
        self.now = 0.0
        self.sleeps: list[float] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        self.now += seconds


class HighDice(random.Random):
    """Jitter at its longest."""

    def uniform(self, a: float, b: float) -> float:
        return b


@pytest.fixture
def server(monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    with ModelServer(dimensions=8) as running:
        yield running


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def connect(server, clock):
    made = []

    def make(**change):
        defaults = {"base_url": server.base_url, "model": "m", "dimensions": 8, "concurrency": 1}
        config = EmbedderConfig(**{"provider": "openai", "api_key": SecretStr(KEY), **defaults, **change})
        embedder = OpenAIEmbedder(config, sleep=clock.sleep, rng=HighDice(), clock=clock)
        made.append(embedder)
        return embedder

    yield make
    for embedder in made:
        embedder.close()


def expected(texts, dimensions=8):
    rows = np.stack([vector_of(text, dimensions) for text in texts])
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


TEXTS = [f"memory {i}" for i in range(10)]


@pytest.mark.parametrize("is_base64", [True, False])
def test_vectors_and_tokens(server, connect, is_base64):
    server.is_base64 = is_base64
    done = connect().embed(TEXTS)
    assert np.abs(done.vectors - expected(TEXTS)).max() < 1e-6
    assert done.vectors.dtype == np.float32
    assert (done.refused, done.tokens, done.truncated) == ({}, 20, ())
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert server.requests[0].body["model"] == "m"


def test_without_a_key_none_is_taken_from_the_environment(server, connect, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    connect(api_key=None).embed(["a"])
    assert KEY not in str(server.requests)


def test_dimensions_are_sent_only_on_demand(server, connect):
    connect().embed(["a"])
    connect(send_dimensions=True, dimensions=5).embed(["a"])
    assert [request.body.get("dimensions") for request in server.requests] == [None, 5]


def test_no_texts_and_blank_texts_send_nothing(server, connect):
    assert connect().embed([]).vectors.shape == (0, 8)
    done = connect().embed(["", " \n"])
    assert done.refused == {0: "no_tokens", 1: "no_tokens"}
    assert not done.vectors.any()
    assert server.requests == []


def test_lone_surrogates_are_sent_as_replacement(server, connect):
    assert connect().embed(["a\ud800"]).refused == {}
    assert server.inputs() == [["a\ufffd"]]


@settings(deadline=None, max_examples=50)
@given(
    words=st.lists(st.integers(0, 12), min_size=1, max_size=30),
    max_tokens=st.integers(1, 25),
    max_inputs=st.integers(1, 6),
)
def test_batches_hold_each_text_once_in_order_within_the_limits(words, max_tokens, max_inputs):
    texts = ["tea " * n for n in words]
    counts = count_tokens(texts, "cl100k_base")
    config = {"model": "m", "dimensions": 8, "max_batch_tokens": max_tokens, "max_inputs": max_inputs}
    embedder = OpenAIEmbedder(EmbedderConfig(provider="openai", **config))
    batches = list(embedder._batches(range(len(texts)), counts))
    assert [i for batch in batches for i in batch] == list(range(len(texts)))
    for batch, after in zip(batches, [*batches[1:], None], strict=True):
        total = sum(counts[i] for i in batch)
        assert len(batch) <= max_inputs
        assert total <= max_tokens or len(batch) == 1
        if after:  # greedy: the next text did not fit
            assert len(batch) == max_inputs or total + counts[after[0]] > max_tokens


def test_requests_keep_to_the_limits_and_results_to_the_order(server, connect):
    done = connect(max_inputs=3, concurrency=4).embed(TEXTS)
    assert sorted(map(len, server.inputs())) == [1, 3, 3, 3]
    assert np.abs(done.vectors - expected(TEXTS)).max() < 1e-6
    assert done.tokens == 20


def test_concurrency_is_bounded_and_used(server, connect):
    gate = threading.Barrier(3)
    server.always = Fault(alter=lambda answer: (gate.wait(10), answer)[1])
    connect(max_inputs=1, concurrency=3).embed(TEXTS[:9])
    assert server.most_at_once == 3


def test_long_texts_are_cut_by_token_and_named(server, connect):
    long = "🎉 party " * 50
    done = connect(max_input_tokens=7).embed(["short", long])
    assert done.truncated == (1,)
    sent = server.inputs()[0][1]
    assert long.startswith(sent)
    assert 5 <= count_tokens([sent], "cl100k_base")[0] <= 7


# --- faults ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [400, 413, 422])
def test_refused_texts_fail_alone(server, connect, status):
    server.refuse_marker, server.refuse_status = "BAD", status
    texts = [f"BAD {i}" if i in {0, 5, 6, 11} else f"good {i}" for i in range(13)]
    done = connect().embed(texts)
    assert done.refused == dict.fromkeys([0, 5, 6, 11], f"http_{status}:content_filter")
    good = [i for i in range(13) if i not in done.refused]
    assert np.abs(done.vectors[good] - expected([texts[i] for i in good])).max() < 1e-6
    assert not done.vectors[list(done.refused)].any()
    assert done.tokens == 18


def test_one_bad_text_costs_a_logarithm_of_requests(server, connect):
    server.refuse_marker = "BAD"
    connect().embed(["BAD" if i == 100 else f"good {i}" for i in range(256)])
    assert len(server.requests) <= 2 + 2 * 8


def test_exactly_the_bad_ones_are_refused(server, connect):
    server.refuse_marker = "BAD"
    embedder = connect(max_inputs=5, concurrency=2)

    @settings(deadline=None, max_examples=20)
    @given(bad=st.sets(st.integers(0, 11)))
    def law(bad):
        texts = [f"BAD {i}" if i in bad else f"good {i}" for i in range(12)]
        done = embedder.embed(texts)
        assert set(done.refused) == bad
        wanted = expected(texts)
        wanted[list(bad)] = 0
        assert np.abs(done.vectors - wanted).max() < 1e-6

    law()


def test_an_endpoint_that_refuses_everything_is_an_error_not_a_refusal_of_each_text(server, connect):
    server.always = Fault(status=400, error={"message": f"no parameter 'dimensions' {KEY}", "code": 400})
    with pytest.raises(EndpointError, match=r"every input: http_400: .*no parameter") as caught:
        connect(send_dimensions=True).embed(TEXTS)
    assert "send_dimensions" in caught.value.remedy
    assert KEY not in caught.value.message
    assert len(server.requests) == 2


RETRIED = [
    Fault(status=500),
    Fault(status=502),
    Fault(status=429),
    Fault(status=408),
    Fault(drop="before"),
    Fault(drop="midway"),
]


@pytest.mark.parametrize("fault", RETRIED, ids=["500", "502", "429", "408", "dropped", "cut"])
def test_passing_faults_are_tried_again(server, connect, clock, fault):
    server.faults.extend([fault, fault])
    done = connect().embed(TEXTS)
    assert np.abs(done.vectors - expected(TEXTS)).max() < 1e-6
    assert len(server.requests) == 3
    assert clock.sleeps == [0.5, 1.0]


def test_backoff_doubles_up_to_its_cap_and_jitter_is_full(server, connect, clock):
    server.always = Fault(status=500)
    with pytest.raises(EndpointError, match="gave up at attempt 10: HTTP 500"):
        connect(max_attempts=10, max_total_seconds=10_000).embed(["a"])
    assert clock.sleeps == [0.5, 1, 2, 4, 8, 16, 32, 60, 60]
    config = EmbedderConfig(
        provider="openai", model="m", dimensions=8, base_url=server.base_url, max_attempts=2
    )
    pauses = set()
    for seed in range(8):
        embedder = OpenAIEmbedder(config, sleep=pauses.add, rng=random.Random(seed))
        with pytest.raises(EndpointError):
            embedder.embed(["a"])
        embedder.close()
    assert len(pauses) == 8
    assert max(pauses) <= 0.5
    assert max(pauses) - min(pauses) > 0.2


@pytest.mark.parametrize(
    ("headers", "pause"),
    [
        ({"retry-after": "7"}, 7.5),
        ({"retry-after": "0.25"}, 0.75),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 2.0),
        ({"retry-after": "-3"}, 0.5),
        ({"retry-after": "soon"}, 0.5),
        ({"retry-after": "inf"}, 0.5),
    ],
)
def test_retry_after_is_honoured(server, connect, clock, headers, pause):
    server.faults.append(Fault(status=429, headers=headers))
    connect().embed(["a"])
    assert clock.sleeps == [pause]


def test_retry_after_may_be_a_date_by_the_servers_clock():
    date, later = "Mon, 01 Jan 2024 00:00:00 GMT", "Mon, 01 Jan 2024 00:00:30 GMT"
    assert _retry_after_seconds({"retry-after": later, "date": date}) == 30
    assert _retry_after_seconds({"retry-after": date, "date": later}) == 0
    assert _retry_after_seconds({"retry-after": later}) is None
    assert _retry_after_seconds({"retry-after": later, "date": "Mon, 01 Jan 2024 00:00:00"}) is None


def test_total_time_is_bounded(server, connect, clock):
    server.always = Fault(status=429, headers={"retry-after": "50"})
    with pytest.raises(EndpointError, match="gave up at attempt 3: HTTP 429; it asks to wait 50 s"):
        connect(max_attempts=100, max_total_seconds=120).embed(["a"])
    assert clock.now <= 120


def test_a_hanging_endpoint_times_out(server, connect, clock):
    server.faults.append(Fault(hang=True))
    done = connect(timeout_seconds=0.2).embed(["a"])
    assert done.refused == {}
    assert clock.sleeps == [0.5]
    server.always = Fault(hang=True)
    with pytest.raises(EndpointError, match="gave up at attempt 2: time-out"):
        connect(timeout_seconds=0.1, max_attempts=2).embed(["a"])


def test_an_answer_that_trickles_is_given_up(server, connect, clock):
    def slow(answer):
        clock.now += 1_000
        return answer

    server.always = Fault(alter=slow)
    with pytest.raises(EndpointError, match="did not end in time"):
        connect().embed(["a"])


def test_an_unreachable_endpoint(connect, clock):
    with ModelServer() as gone:
        url = gone.base_url
    with pytest.raises(
        EndpointError, match=r"127\.0\.0\.1:\d+/v1: gave up at attempt 3: no connection"
    ) as caught:
        connect(base_url=url, max_attempts=3).embed(["a"])
    assert "base_url" in caught.value.remedy
    assert len(clock.sleeps) == 2


@pytest.mark.parametrize(
    ("fault", "remedy"),
    [
        (Fault(status=401), "api_key"),
        (Fault(status=403), "api_key"),
        (Fault(status=404), "base_url"),
        (Fault(status=405), "base_url"),
        (Fault(status=429, error={"message": "no money", "code": "insufficient_quota"}), "quota"),
    ],
)
def test_lasting_faults_are_errors_at_once(server, connect, clock, fault, remedy):
    server.always = fault
    with pytest.raises(EndpointError, match=f"HTTP {fault.status}") as caught:
        connect().embed(TEXTS)
    assert remedy in caught.value.remedy
    assert (len(server.requests), clock.sleeps) == (1, [])


def test_the_first_error_stops_the_other_batches(server, connect):
    server.always = Fault(status=401)
    with pytest.raises(EndpointError, match="HTTP 401"):
        connect(max_inputs=1, concurrency=2).embed(TEXTS * 5)
    assert len(server.requests) < 10


def test_routes_not_found_are_errors(server, connect):
    server.routes.clear()
    with pytest.raises(EndpointError, match="HTTP 404"):
        connect().embed(TEXTS)


def test_answers_belong_to_the_text_of_their_index(server, connect):
    server.always = Fault(alter=lambda answer: {**answer, "data": answer["data"][::-1]})
    assert np.abs(connect().embed(TEXTS).vectors - expected(TEXTS)).max() < 1e-6


def changed(position, **change):
    """An answer with one row changed; null removes a key."""

    def alter(answer):
        row = {k: v for k, v in {**answer["data"][position], **change}.items() if v is not None}
        return {**answer, "data": [*answer["data"][:position], row, *answer["data"][position + 1 :]]}

    return Fault(alter=alter)


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        (Fault(alter=lambda a: {**a, "data": a["data"][1:]}), "9 vectors with 9 of 10 indexes"),
        (Fault(alter=lambda a: {**a, "data": a["data"] * 2}), "20 vectors"),
        (Fault(alter=lambda a: {**a, "data": []}), "0 vectors"),
        (changed(3, index=4), "10 vectors with 9"),
        (changed(3, index=10), "10 vectors with 9"),
        (changed(3, index=None), "no embeddings answer"),
        (changed(3, index="3"), "no embeddings answer"),
        (changed(0, index=False), "no embeddings answer"),
        (changed(3, embedding=None), "no embeddings answer"),
        (changed(3, embedding=[[1.0] * 8]), "no embeddings answer"),
        (changed(3, embedding=["x"] * 8), "no embeddings answer"),
        (changed(3, embedding=[10**400] * 8), "no embeddings answer"),
        (changed(3, embedding="AAA"), "no embeddings answer"),
        (changed(3, embedding="AAAA"), "no embeddings answer"),
        (changed(3, embedding=[1.0] * 7), "length 7, not 8"),
        (changed(3, embedding=[]), "length 0, not 8"),
        (Fault(body=b"<html>secret page</html>"), "no embeddings answer"),
        (Fault(body=b"[]"), "no embeddings answer"),
        (Fault(body=b"null"), "no embeddings answer"),
        (Fault(body=b""), "no embeddings answer"),
        (Fault(body=b"[" * 100_000), "no embeddings answer"),
        (Fault(body=b" " * 2_000_000), "longer than"),
    ],
)
def test_wrong_answers_are_errors(server, connect, fault, says):
    server.always = fault
    with pytest.raises(EndpointError, match=says) as caught:
        connect().embed(TEXTS)
    assert caught.value.remedy
    assert "secret" not in caught.value.message


def test_vectors_of_another_length_name_the_remedy(server, connect):
    with pytest.raises(EndpointError, match="length 8, not 5") as caught:
        connect(dimensions=5).embed(TEXTS)
    assert "send_dimensions" in caught.value.remedy


@pytest.mark.parametrize(
    ("embedding", "reason"),
    [
        ([float("nan")] * 8, "not_finite"),
        ([1.0] * 7 + [float("inf")], "not_finite"),
        ([1.0] * 7 + [1e300], "not_finite"),
        ([None] + [1.0] * 7, "not_finite"),
        ([0.0] * 8, "zero_vector"),
    ],
)
def test_a_vector_without_direction_is_refused_alone(server, connect, embedding, reason):
    server.always = changed(3, embedding=embedding)
    done = connect().embed(TEXTS)
    assert done.refused == {3: reason}
    assert not done.vectors[3].any()
    assert np.isfinite(done.vectors).all()


@pytest.mark.parametrize("usage", [None, {}, {"total_tokens": "many"}, {"total_tokens": -1}, "none"])
def test_tokens_are_counted_here_when_the_server_does_not(server, connect, usage):
    server.always = Fault(alter=lambda answer: {**answer, "usage": usage})
    assert connect().embed(["tea and cake"]).tokens == count_tokens(["tea and cake"], "cl100k_base")[0]


def test_key_and_content_are_in_no_log_error_or_repr(server, connect, caplog):
    caplog.set_level(logging.DEBUG)
    server.api_key = "another"
    server.refuse_marker = "BAD"
    embedder = connect(max_attempts=2)
    content = "BAD private diary entry"
    errors = []
    for fault in (None, Fault(status=500, error={"message": content}), Fault(drop="before")):
        server.always = fault
        with pytest.raises(EndpointError) as caught:
            embedder.embed([content])
        error = caught.value
        errors.append(f"{error.as_dict()} {error!r} {error.__cause__!r} {error.__context__!r}")
    server.always, server.api_key = None, ""
    done = embedder.embed(["fine", content])
    inside = repr(embedder), repr(embedder.__dict__)
    shown = " ".join([*errors, json.dumps(done.refused), *inside, caplog.text])
    assert done.refused == {1: "http_400:content_filter"}
    assert "HTTP 401" in shown
    assert KEY not in shown
    assert "diary" not in shown


def test_whoever_lets_go_of_it_leaves_no_connection_open(server):
    config = {"base_url": server.base_url, "model": "m", "dimensions": 8}
    embedder = OpenAIEmbedder(EmbedderConfig(provider="openai", api_key=SecretStr(KEY), **config))
    embedder.embed(["one"])
    assert not server.hung_up.is_set()
    gc.disable()  # which would close it some time
    try:
        del embedder
        assert server.hung_up.wait(30)
    finally:
        gc.enable()
