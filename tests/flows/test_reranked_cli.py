"""A configured reranker on the command line: its order, what a failure says, what doctor tells."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.flows.lakes import Command, row, write
from tests.model_server import Fault, Json, ModelServer, Request

AT = ("--as-of", "2026-06-30T23:00:00Z")
SCOPE = ("--tenant", "acme", "--user", "ana", *AT)
SECRET = "sk-reranker-0123456789"


def last_first(_: ModelServer, request: Request) -> Json:
    texts = request.body["documents"]
    return {
        "results": [{"index": i, "relevance_score": float("zebra" in text)} for i, text in enumerate(texts)]
    }


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as made:
        made.routes["POST /v1/rerank"] = last_first
        yield made


@pytest.fixture
def file(server: ModelServer, tmp_path: Path) -> Path:
    path = tmp_path / "slowwave.toml"
    path.write_text(
        f'[reranker]\nprovider = "openai"\nmodel = "m"\nbase_url = "{server.base_url}"\n'
        f'timeout_seconds = 20.0\napi_key = "{SECRET}"\n'
        "[recall]\nrerank_share = 1.0\nweights = {relevance = 1.0}\n"
    )
    return path


@pytest.fixture
def lake(tmp_path: Path, command: Command) -> Path:
    texts = ["the harbour was quiet", "the harbour and the old harbour wall", "a zebra near the harbour"]
    rows = write(tmp_path / "a.jsonl", [row(n, text) for n, text in enumerate(texts)])
    root = tmp_path / "lake"
    command("--lake", root, "init", "--buckets", "2")
    command("--lake", root, "nightly", rows, *AT)
    return root


def test_the_order_is_the_rerankers_and_a_failure_is_said(
    lake: Path, file: Path, server: ModelServer, command: Command
) -> None:
    words = ("--lake", lake, "--config", file, "recall", "harbour", *SCOPE)
    said = command(*words, "--json").json
    assert said["reranked"] == "answered"
    assert "zebra" in said["results"][0]["text"]
    assert server.requests[0].headers["authorization"] == f"Bearer {SECRET}"
    server.always = Fault(status=503)
    failed = command(*words, "--json")
    assert (failed.code, failed.json["reranked"]) == (0, "http_503")
    assert len(failed.json["results"]) == len(said["results"])
    plain = command(*words)
    assert plain.out.rstrip().endswith("not reranked: http_503")
    assert SECRET not in plain.out + plain.err


def test_a_context_says_it_too(lake: Path, file: Path, command: Command) -> None:
    said = command("--lake", lake, "--config", file, "context", "harbour", *SCOPE, "--json").json
    assert said["reranked"] == "answered"


def test_without_one_nothing_is_said(lake: Path, command: Command) -> None:
    assert "reranked" not in command("--lake", lake, "recall", "harbour", *SCOPE, "--json").json


def test_doctor_asks_it(lake: Path, file: Path, server: ModelServer, command: Command) -> None:
    def finding() -> dict[str, object]:
        said = command("--lake", lake, "--config", file, "doctor", "--json").json
        [found] = [f for f in said["findings"] if f["name"] == "reranker"]
        return found

    sound = finding()
    assert (sound["passed"], str(sound["detail"]).split()[:3]) == (True, ["openai,", "m", "at"])
    server.always = Fault(body=b"no answer")
    broken = finding()
    assert not broken["passed"]
    assert "bad_answer" in str(broken["detail"])
    assert SECRET not in str(broken)
