"""The cost ledger and its report: nights with a real server on loopback, and a ledger of some months."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from pydantic import SecretStr

from flows.consolidate import run_consolidate
from flows.embed import run_embed
from flows.erase import run_erase
from flows.job import Job
from flows.report_cost import CostReport, cost
from flows.report_cost_page import cost_html, money
from lake import tables
from lake.embedders.config import EmbedderConfig, make_embedder
from lake.models.config import ModelConfig, make_model
from lake.rights.subjects import salt, tenant_hash
from tests.flows.lakes import AS_OF, Command, ingest, job_on, row, write
from tests.flows.sleepers import history, night
from tests.flows.test_consolidate_model import reads
from tests.model_server import Fault, ModelServer, embeddings
from tests.model_server_chat import ChatApi, Plan
from transforms.costs import cost_rows
from transforms.errors import EndpointError
from transforms.model_requests import Spending
from transforms.schemas import COSTS, RUNS
from transforms.subjects import Subject

PRICES = {"input_price": 100.0, "output_price": 400.0}


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        running.chat = ChatApi(running)  # type: ignore[attr-defined]
        running.chat.reply = reads  # type: ignore[attr-defined]
        yield running


def configured(server: ModelServer, **more: Any) -> ModelConfig:
    told = {"base_url": server.base_url, "model": "m", "api_key": SecretStr("k"), "max_attempts": 2}
    return ModelConfig(**{**told, **PRICES, **more})


def with_model(job: Job, config: ModelConfig) -> Job:
    return replace(job, make_model=lambda: make_model(config, job.lake, job.as_of), spending=[])


def costs(job: Job) -> pl.DataFrame:
    return tables.scan(job.lake, COSTS).collect().sort("spent_at", "cost_id")


def asked_of_model(job: Job) -> pl.DataFrame:
    return costs(job).filter(pl.col("mode") != "local")


def test_a_night_writes_what_it_cost_by_tenant_and_task(tmp_path: Path, server: ModelServer) -> None:
    job = with_model(job_on(tmp_path / "lake"), configured(server))
    done = night(job, tmp_path, "all", history())
    held = asked_of_model(job)
    spent = done.detail["model"]
    for name in ("requests", "cached", "input_tokens", "output_tokens"):
        assert held[name].sum() == spent[name], name
    assert held["money"].sum() == pytest.approx(spent["money"])
    assert set(held["task"]) >= {"claims", "conversation"}
    assert set(held["mode"]) == {"live"}
    tenants = {row["tenant_id"] for row in history()}
    assert set(held["tenant_hash"]) == {tenant_hash(salt(job.lake), tenant) for tenant in tenants}
    runs = tables.scan(job.lake, RUNS).collect()
    assert set(costs(job)["run_id"]) <= set(runs["run_id"])
    embedded = costs(job).filter(pl.col("task") == "embedding")
    assert embedded["money"].sum() == 0
    assert set(embedded["mode"]) == {"local"}
    assert embedded["input_tokens"].sum() >= runs["tokens"].sum() > 0
    before = costs(job).height
    run_consolidate(with_model(job, configured(server)))
    assert costs(job).height == before  # nothing was new, nothing is written


def test_a_failed_run_is_charged_for_what_was_answered(tmp_path: Path, server: ModelServer) -> None:
    job = with_model(job_on(tmp_path / "lake"), configured(server, max_concurrency=1))
    server.faults.extend(
        [Fault(alter=lambda body: body), Fault(status=401, error={"message": "no", "code": "x"})]
    )
    with pytest.raises(EndpointError):
        night(job, tmp_path, "all", history())
    held = asked_of_model(job)
    assert held["requests"].sum() >= 1
    assert held["input_tokens"].sum() > 0
    states = tables.scan(job.lake, RUNS).collect().filter(pl.col("run_id").is_in(held["run_id"].implode()))
    assert states["state"].to_list() == ["failed"]


def test_a_batch_is_charged_to_the_run_that_collects_it(tmp_path: Path, server: ModelServer) -> None:
    server.chat.plans = [Plan(looks=1) for _ in range(9)]  # type: ignore[attr-defined]
    config = configured(server, mode="batch", batch_poll_seconds=0.01)
    job = job_on(tmp_path / "lake")
    night(with_model(job, config), tmp_path, "all", history())
    sent = asked_of_model(job)
    assert sent["requests"].sum() > 0
    assert sent["money"].sum() == 0
    for _ in range(8):
        if not run_consolidate(with_model(job, config)).detail.get("pending"):
            break
    both = asked_of_model(job)
    assert both["money"].sum() > 0
    assert set(both["mode"]) == {"batch"}
    report = cost(job, config, days=30)
    told = report.figures["live_against_batch"]
    assert told["live_money"] == pytest.approx(2 * told["spent_money"])
    assert told["saved_money"] == pytest.approx(told["spent_money"])
    assert report.figures["unaccounted"] == {}


def test_embeddings_of_an_endpoint_are_charged_to_their_tenants(tmp_path: Path, server: ModelServer) -> None:
    server.routes["POST /v1/embeddings"] = embeddings
    told = EmbedderConfig(
        provider="openai", base_url=server.base_url, model="e", dimensions=8, api_key=SecretStr("k"),
        input_price=50.0,
    )  # fmt: skip
    job = replace(job_on(tmp_path / "lake"), make_embedder=lambda: make_embedder(told))
    ingest(
        job, write(tmp_path / "a.jsonl", [row(n, tenant_id="acme" if n % 3 else "globex") for n in range(9)])
    )
    done = run_embed(job)
    held = costs(job)
    assert held["input_tokens"].sum() == done.tokens > 0
    assert held["money"].sum() == pytest.approx(done.tokens * 50 / 1_000_000)
    assert held["requests"].sum() == 9
    assert held.select("task", "mode", "step").unique().rows() == [("embedding", "live", "embed")]
    assert held["tenant_hash"].n_unique() == 2


def test_of_an_erased_tenant_a_hash_is_left(tmp_path: Path, server: ModelServer) -> None:
    job = with_model(job_on(tmp_path / "lake"), configured(server))
    night(job, tmp_path, "all", history())
    before = costs(job)
    gone = tenant_hash(salt(job.lake), "acme")
    run_erase(replace(job, make_model=None), Subject("acme"), basis="gdpr-art-17", requested_by="controller")
    after = costs(job)
    assert after.filter(pl.col("cost_id").is_in(before["cost_id"].implode())).height == before.height
    report = cost(job, None, days=30)
    rows = report.tables["by_tenant"].filter(pl.col("tenant_hash") == gone)
    assert rows["tenant"].to_list() == [""]
    assert rows["money"][0] > 0
    assert "acme" not in json.dumps(report.as_dict())


def ledger(job: Job, days: int = 70) -> None:
    """Some weeks of nights: one tenant by batch until ten days ago, one live; embeddings that are local."""
    key = salt(job.lake)
    hashes = {tenant: tenant_hash(key, tenant) for tenant in ("acme", "globex")}
    parts = []
    for back in range(days):
        at = AS_OF - timedelta(days=back, hours=2)
        amount = 1.0 + (back % 5) / 10
        mode = "batch" if back > 10 else "live"
        told = [
            Spending("acme", "m@here/v1", "claims", mode, 10, 5, 1_000, 200, amount),
            Spending("globex", "m@here/v1", "summary", "live", 4, 0, 500, 100, amount / 2),
            Spending("globex", "words@1/256", "embedding", "local", 40, 0, 900, 0, 0.0),
        ]
        parts.append(cost_rows(told, hashes, run_id=f"run{back:03}", step="consolidate", as_of=at, at=at))
    tables.append(job.lake, COSTS, pl.concat(parts))


@pytest.fixture
def kept(tmp_path: Path) -> Job:
    job = job_on(tmp_path / "lake")
    night(job, tmp_path, "all", history())
    ledger(job)
    return job


def test_every_sum_is_that_of_the_ledger(kept: Job) -> None:
    report = cost(kept, None, days=36_000)
    held = costs(kept)
    for name in ("by_month", "by_step", "by_model", "by_task", "by_tenant", "by_tenant_and_month", "by_run"):
        for column in ("requests", "cached", "input_tokens", "output_tokens"):
            assert report.tables[name][column].sum() == held[column].sum(), (name, column)
        assert report.tables[name]["money"].sum() == pytest.approx(held["money"].sum()), name
    assert report.figures["total"]["money"] == pytest.approx(held["money"].sum())
    assert report.figures["next_run"] is None
    assert report.figures["budgets"] == {}
    assert set(report.tables["by_tenant"]["tenant"]) >= {"acme"}


def test_a_tenant_an_instant_and_a_window(kept: Job) -> None:
    mine = cost(kept, None, days=36_000, tenant="acme")
    key = tenant_hash(salt(kept.lake), "acme")
    assert mine.figures["total"]["money"] == pytest.approx(
        costs(kept).filter(pl.col("tenant_hash") == key)["money"].sum()
    )
    then = AS_OF - timedelta(days=20)
    early = cost(replace(kept, as_of=then), None, days=7)
    lines = costs(kept).filter(pl.col("as_of_at") <= then, pl.col("as_of_at") > then - timedelta(days=7))
    assert early.figures["total"]["requests"] == lines["requests"].sum() > 0
    assert early.figures["month"]["month"] == "2026-06"
    assert early.figures["month"]["days"] == 6  # neither the first nor the last is whole


def test_the_month_to_come_and_the_budgets(kept: Job) -> None:
    at = datetime.fromisoformat("2026-06-21T00:00:00+00:00")
    config = ModelConfig(
        model="m", revision="here", budget_tokens=4_000, budget_money=0.5, budget_money_month=50.0
    )
    assert config.key == "m@here/v1"
    report = cost(replace(kept, as_of=at), config, days=40)
    month = report.figures["month"]
    held = costs(kept).filter(pl.col("as_of_at") <= at, pl.col("as_of_at").dt.month() == 6)
    assert month["spent"] == pytest.approx(held["money"].sum())
    assert month["low"] < month["projected"] < month["high"]
    assert month["projected"] == pytest.approx(month["spent"] + 10 * month["daily"])
    told = report.figures["budgets"]
    assert (told["budget_tokens"]["most"], told["budget_tokens"]["most_ratio"]) == (1_800, 0.45)
    assert told["budget_money"]["most_ratio"] > 1
    assert told["budget_money_month"]["last"] == pytest.approx(month["spent"])


def test_a_month_is_whole_whatever_the_window(kept: Job) -> None:
    config = ModelConfig(model="m", revision="here", budget_money_month=50.0)
    wide, narrow = (cost(kept, config, days=days).figures for days in (60, 3))
    assert wide["month"]["spent"] == narrow["month"]["spent"]
    assert wide["budgets"] == narrow["budgets"]
    assert 0 < wide["month"]["spent"] == pytest.approx(wide["budgets"]["budget_money_month"]["last"])


def test_the_next_run_is_estimated_and_nothing_is_sent(tmp_path: Path, server: ModelServer) -> None:
    job = job_on(tmp_path / "lake")
    ingest(job, write(tmp_path / "a.jsonl", history()))
    config = configured(server)
    estimate = cost(job, config, days=30).figures["next_run"]
    assert server.requests == []
    assert estimate["requests"] > 0
    assert estimate["batch_money"] == pytest.approx(estimate["live_money"] / 2)
    assert estimate["likely_live_money"] is None
    assert costs(job).is_empty()
    done = run_consolidate(with_model(job, config))
    assert done.detail["model"]["money"] <= estimate["live_money"]
    after = cost(job, config, days=30).figures["next_run"]
    assert after["requests"] == 0
    assert after["likely_live_money"] == 0


def test_answers_that_no_line_has_are_told(tmp_path: Path, server: ModelServer) -> None:
    job = job_on(tmp_path / "lake")
    ingest(job, write(tmp_path / "a.jsonl", history()))
    lost = with_model(job, configured(server))
    assert lost.model is not None
    run = replace(lost, spending=[])
    run_consolidate(run)
    for name in tables.data_files(job.lake, COSTS):
        tables.rewrite(job.lake, COSTS, [name], COSTS.empty())
    told = cost(job, configured(server), days=30).figures["unaccounted"]
    assert list(told) == [configured(server).key]
    assert told[configured(server).key] > 0


def numbers(text: str) -> str:
    return text.replace("\u202f", "").replace(",", "")


def test_the_page_tells_what_the_json_tells(kept: Job) -> None:
    report: CostReport = cost(kept, ModelConfig(model="m", revision="here", budget_money=2.0), days=90)
    page = numbers(cost_html(report))
    assert "<script" not in page
    assert "http://" not in page.replace("http://www.w3.org", "")
    total = report.figures["total"]
    for value in (total["input_tokens"], total["output_tokens"], money(total["money"])):
        assert numbers(str(value)) in page
    for row_ in report.tables["by_month"].iter_rows(named=True):
        assert str(row_["input_tokens"]) in page
    assert page.count("<svg") >= 5


def test_names_of_tenants_are_escaped(tmp_path: Path) -> None:
    job = job_on(tmp_path / "lake")
    name = "<b>=cmd|' /C calc'!A0</b>"
    ingest(job, write(tmp_path / "a.jsonl", [row(1, tenant_id=name)]))
    run_embed(job)
    page = cost_html(cost(job, None, days=30))
    assert "<b>=cmd" not in page
    assert "&lt;b&gt;=cmd" in page


def test_the_verb_writes_page_json_csv_and_parquet(kept: Job, tmp_path: Path, command: Command) -> None:
    out = tmp_path / "out"
    at = AS_OF.isoformat()
    said = command(
        "--lake", kept.lake.uri, "--as-of", at, "--json", "report", "cost", "--out", out, "--days", 90
    )
    assert said.code == 0, said
    told = json.loads((out / "cost.json").read_text("utf-8"))
    assert said.json["total"] == told["total"]
    assert {p.stem for p in (out / "csv").iterdir()} == set(told["tables"])
    assert pl.read_parquet(out / "parquet" / "by_tenant.parquet").height == len(told["tables"]["by_tenant"])
    plain = command("--lake", kept.lake.uri, "--as-of", at, "report", "cost", "--out", out)
    assert "tokens sent" in plain.out
    assert "2026-06 " in plain.out
    inside = command("--lake", kept.lake.uri, "report", "cost", "--out", Path(kept.lake.uri) / "x")
    assert inside.code == 2
