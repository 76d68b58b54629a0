"""Consolidation by a language model: a real server on loopback that speaks the API, the same tables."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from flows.consolidate import run_consolidate
from flows.embed import embed_tables
from flows.job import Job, StepResult
from flows.nightly import UnfinishedError, run_nightly
from lake import revisions, tables
from lake.index import read_pointer
from lake.models.config import ModelConfig, make_model
from lake.models.dry import DryModel
from lake.sources import open_sources
from tests.flows.lakes import AS_OF, Command, files_below, job_on, write
from tests.flows.sleepers import facts, history, night, summaries
from tests.model_server import Fault, ModelServer, RouteError
from tests.model_server_chat import ChatApi, Plan
from transforms.derived_memories import PUBLISHED
from transforms.errors import EndpointError
from transforms.schemas import CLAIMS, CONVERSATIONS, FACTS, MODEL_RESULTS
from transforms.validate import Defaults


def reads(body: dict[str, Any]) -> str:
    """A model that reads where people live, cites the first notes, and titles every session."""
    asked = json.dumps(body.get("response_format", {}))
    said = body["messages"][-1]["content"]
    if '"claims"' in asked:
        turns = re.findall(r"<turn id=(e\d+)[^>]*>(.*?)</turn>", said, re.DOTALL)
        found = [(t, text, m) for t, text in turns if (m := re.match(r"I (?:live in|moved to) (\w+)", text))]
        return json.dumps({"claims": [_claim(turn, match) for turn, _, match in found]})
    if '"sentences"' in asked:
        return json.dumps({"sentences": []})
    return json.dumps({"title": "A model's title", "topics": ["home"], "sentiment": 0.5, "label": "positive"})


def _claim(turn: str, match: re.Match[str]) -> dict[str, Any]:
    return {
        "turn": turn,
        "evidence": match[0],
        "operation": "assert",
        "subject": "user",
        "predicate": "lives_in",
        "aspect": "",
        "object": match[1],
        "polarity": "positive",
        "confidence": 0.9,
        "valid_from": None,
        "valid_until": None,
        "is_inferred": False,
    }


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        running.chat = ChatApi(running)  # type: ignore[attr-defined]
        running.chat.reply = reads  # type: ignore[attr-defined]
        yield running


def with_model(job: Job, server: ModelServer, **more: Any) -> Job:
    config = ModelConfig(base_url=server.base_url, model="m", api_key=SecretStr("k"), max_attempts=2, **more)
    return replace(job, make_model=lambda: make_model(config, job.lake, job.as_of))


def asked(server: ModelServer) -> int:
    return sum(r.route == "POST /v1/chat/completions" for r in server.requests)


def test_a_model_fills_the_same_tables_and_is_asked_once(tmp_path: Path, server: ModelServer) -> None:
    job = with_model(job_on(tmp_path / "lake"), server)
    done = night(job, tmp_path, "all", history())
    assert done.detail["pending"] == 0
    assert facts(job, owner="user:ana", tenant_id="acme") == [
        ("lives_in", "graz", "positive", "superseded"),
        ("lives_in", "lisbon", "positive", None),
    ]
    assert set(revisions.standing(job.lake, CONVERSATIONS)["title"]) == {"A model's title"}
    assert set(tables.scan(job.lake, CLAIMS).collect()["source"]) == {"user_said"}
    count = asked(server)
    assert count == done.detail["model"]["requests"]
    again = run_consolidate(with_model(job, server), complete=True)
    assert asked(server) == count
    assert again.rows_out == 0
    assert again.detail["model"]["cached"] > 0
    assert again.detail["model"]["money"] == 0


def test_what_the_budget_does_not_cover_waits_for_the_next_run(tmp_path: Path, server: ModelServer) -> None:
    job = job_on(tmp_path / "lake")
    poor = with_model(job, server, budget_tokens=0)
    done = night(poor, tmp_path, "all", history())
    assert asked(server) == 0
    assert done.detail["pending"] > 0
    assert revisions.standing(job.lake, FACTS).height == 0
    # Titles are those of the rules until the model has been asked.
    assert revisions.standing(job.lake, CONVERSATIONS).height > 0
    rich = run_consolidate(with_model(job, server))
    assert rich.detail["pending"] == 0
    assert facts(job, owner="user:ben") == [("lives_in", "cork", "positive", None)]


def test_facts_by_rule_stay_until_a_model_has_answered(tmp_path: Path, server: ModelServer) -> None:
    job = job_on(tmp_path / "lake")
    night(job, tmp_path, "all", history())
    by_rule = facts(job)
    waiting = run_consolidate(with_model(job, server, budget_tokens=0))
    assert waiting.detail["pending"] > 0
    assert facts(job) == by_rule
    run_consolidate(with_model(job, server))
    assert {predicate for predicate, *_ in facts(job)} == {"lives_in"}


def test_no_slot_holds_two_values_while_a_model_owes_answers(tmp_path: Path, server: ModelServer) -> None:
    job = job_on(tmp_path / "lake")
    night(job, tmp_path, "all", history())
    before = facts(job, owner="user:ana", tenant_id="acme")
    server.chat.refused_words = set()  # type: ignore[attr-defined]

    def answers_all_but_lisbon(body: dict[str, Any]) -> str:
        if "Lisbon" in body["messages"][-1]["content"]:
            raise RouteError(503, {"message": "busy"})
        return reads(body)

    server.chat.reply = answers_all_but_lisbon  # type: ignore[attr-defined]
    half = run_consolidate(with_model(job, server, max_concurrency=1))
    assert half.detail["pending"] > 0
    assert facts(job, owner="user:ana", tenant_id="acme") == before
    server.chat.reply = reads  # type: ignore[attr-defined]
    run_consolidate(with_model(job, server))
    lives = [f for f in facts(job, owner="user:ana", tenant_id="acme") if f[3] is None]
    assert lives == [("lives_in", "lisbon", "positive", None)]


def test_one_answer_past_all_measure_fails_alone(tmp_path: Path, server: ModelServer) -> None:
    def once_too_long(body: dict[str, Any]) -> str:
        return "x" * 4_000_000 if "Cork" in body["messages"][-1]["content"] else reads(body)

    server.chat.reply = once_too_long  # type: ignore[attr-defined]
    job = with_model(job_on(tmp_path / "lake"), server, max_output_tokens=16)
    done = night(job, tmp_path, "all", history())
    assert done.detail["claims_refused"].get("model_answer_too_long", 0) > 0
    assert ("lives_in", "lisbon", "positive", None) in facts(job, owner="user:ana", tenant_id="acme")
    assert facts(job, owner="user:ben") == []


def test_a_batch_is_sent_by_one_run_and_collected_by_a_later_one(tmp_path: Path, server: ModelServer) -> None:
    server.chat.plans = [Plan(looks=1) for _ in range(9)]  # type: ignore[attr-defined]
    job = job_on(tmp_path / "lake")

    def again() -> Job:
        return with_model(job, server, mode="batch", batch_poll_seconds=0.01)

    done = night(again(), tmp_path, "all", history())
    assert done.detail["pending"] > 0
    for _ in range(8):
        if not run_consolidate(again()).detail.get("pending"):
            break
    assert facts(job, owner="user:ana", tenant_id="acme")[-1] == ("lives_in", "lisbon", "positive", None)
    assert asked(server) <= 1  # a word to check the parameters, before a day is lost


def test_a_dry_run_prints_the_estimate_and_asks_nothing(
    tmp_path: Path, server: ModelServer, capsys: pytest.CaptureFixture[str]
) -> None:
    command = Command(capsys)
    (tmp_path / "slowwave.toml").write_text(
        f'[model]\nmodel = "m"\nbase_url = "{server.base_url}"\napi_key = "k"\ninput_price = 1.0\n'
        "output_price = 2.0\n"
    )
    words = ("--lake", tmp_path / "lake", "--config", tmp_path / "slowwave.toml")
    at = ("--as-of", "2026-06-30T23:00:00Z")
    command(*words, "init", "--buckets", "2")
    command(*words, *at, "ingest", write(tmp_path / "a.jsonl", history()))
    before = files_below(tmp_path / "lake")
    said = command(*words, *at, "consolidate", "--dry-run")
    assert f"model m at {server.base_url.removeprefix('http://')}: " in said.out, said
    assert "cost at most 0." in said.out
    assert "(your prices' currency); 0 answers already held" in said.out
    assert said.out.endswith("dry run: nothing written\n")
    dry = command(*words, *at, "--json", "consolidate", "--dry-run").json
    assert dry["model"]["money"] > 0
    assert dry["model"]["requests"] > 0
    assert asked(server) == 0
    assert files_below(tmp_path / "lake") == before
    night = command(*words, *at, "nightly", "--dry-run").out
    assert "cost at most 0." in night
    assert "waiting for the model" in night
    assert night.endswith("dry run: nothing written\n")
    assert asked(server) == 0
    assert command(*words, *at, "--json", "embed").code == 0
    real = command(*words, *at, "--json", "consolidate").json
    assert real["model"]["money"] <= dry["model"]["money"]
    assert "k" not in said.err.split()


def test_a_server_that_fails_costs_no_facts(tmp_path: Path, server: ModelServer) -> None:
    job = with_model(job_on(tmp_path / "lake"), server)
    server.faults.append(Fault(status=500))
    server.faults.append(
        Fault(
            body=b'{"choices": [{"index": 0, "finish_reason": "length", "message": '
            b'{"role": "assistant", "content": "{\\"claims\\": [{\\"turn\\": \\"e1\\""}}]}'
        )
    )
    night(job, tmp_path, "all", history())
    assert summaries(job) is not None
    assert tables.scan(job.lake, MODEL_RESULTS).collect().height > 0
    assert revisions.standing(job.lake, FACTS).height > 0


def unreachable(tmp_path: Path) -> Path:
    """A configuration whose model answers nobody."""
    file = tmp_path / "dead.toml"
    file.write_text(
        '[model]\nmodel = "m"\nbase_url = "http://127.0.0.1:1/v1"\napi_key = "k"\nmax_attempts = 1\n'
    )
    return file


def test_a_night_whose_model_is_away_publishes_what_there_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = Command(capsys)
    words = ("--lake", tmp_path / "lake", "--as-of", "2026-06-10T23:00:00Z")
    dead = ("--config", unreachable(tmp_path))
    command(*words, "init", "--buckets", "2")
    done = command(*words, *dead, "nightly", write(tmp_path / "a.jsonl", history()))
    assert done.code == 6
    assert "the index was published without what consolidation would add" in done.err
    steps = {line.split()[0]: line.split()[1] for line in done.err.splitlines() if len(line.split()) == 5}
    assert (steps["consolidate"], steps["publish"]) == ("failed", "done")
    assert done.out == ""
    status = command(*words, "--json", "status").json
    assert status["index"]["generation"] == "gen-000001"
    assert {r["step"]: r["state"] for r in status["last_runs"]} == {
        "ingest": "done",
        "embed": "done",
        "consolidate": "failed",
        "retain": "done",  # vectors of claims that the model did not get to are nobody's
        "publish": "done",
    }
    failed = command(*words, *dead, "--json", "nightly")
    assert (failed.code, failed.error["code"]) == (6, "endpoint")
    unpublished = command(*words, *dead, "--json", "nightly", "--no-publish").error
    assert "published" not in unpublished["message"]
    # The next night with a model, or without, catches up.
    steps = {s["name"]: s["state"] for s in command(*words, "--json", "nightly").json["steps"]}
    assert (steps["consolidate"], steps["publish"]) == ("done", "done")


def test_what_was_derived_before_the_model_went_away_is_published(
    tmp_path: Path, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With vectors of all that stands."""
    job = with_model(job_on(tmp_path / "lake"), server)

    def gone(*_: Any) -> None:
        raise EndpointError("no answer", "Try later.")

    with monkeypatch.context() as patch:
        patch.setattr("flows.consolidate._tidy", gone)  # after the rows are written, before their vectors
        sources = open_sources(str(write(tmp_path / "a.jsonl", history())))
        with pytest.raises(UnfinishedError, match="published without") as caught:
            run_nightly(job, ((source, Defaults()) for source in sources))
    published = caught.value.night.steps[-1]
    missing = StepResult("embed", AS_OF)
    embed_tables(job, PUBLISHED, missing)
    assert missing.rows_out == 0
    assert published.detail["facts"] == len([end for *_, end in facts(job) if end is None]) > 0


def test_an_embedder_that_fails_stops_the_night(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*_: Any) -> None:
        raise EndpointError("no answer", "Try later.")

    job = job_on(tmp_path / "lake")
    monkeypatch.setattr("flows.consolidate.embed_tables", gone)
    sources = open_sources(str(write(tmp_path / "a.jsonl", history())))
    with pytest.raises(EndpointError, match=r"^no answer\. Try later\.$"):
        run_nightly(job, ((source, Defaults()) for source in sources))
    assert read_pointer(job.lake) is None


def test_a_dry_model_knows_what_is_kept(tmp_path: Path, server: ModelServer) -> None:
    job = job_on(tmp_path / "lake")
    night(with_model(job, server), tmp_path, "all", history())
    config = ModelConfig(base_url=server.base_url, model="m", api_key=SecretStr("k"))
    dry = DryModel(config, job.lake, job.as_of)
    run_consolidate(replace(job, is_dry=True, make_model=lambda: dry), complete=True)
    assert dry.spent.requests == 0
    assert dry.spent.cached > 0
