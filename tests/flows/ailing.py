"""A small healthy lake with answers on record, and one trouble of each kind to be planted in a copy of it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl

from flows.job import Job
from flows.nightly import run_nightly
from lake import landing, recall_segments, revisions, tables
from lake.index import MAIN, Generation, load_manifest
from lake.index_record import read_pointer
from lake.rights import audit, requests
from lake.sources import open_sources
from tests.flows.lakes import AS_OF, CountingEmbedder, ingest, job_on, row, write
from tests.lake.made import frame
from transforms.injection import INSTRUCTION_REASON
from transforms.policy import Policy
from transforms.schemas import CLAIMS, EPISODES, FACTS, QUARANTINE, RECALLS, RUNS, VECTORS
from transforms.subjects import Subject
from transforms.validate import Defaults

TENANT = "acme"
CALLS = 60
TOWNS = ("Graz", "Lisbon", "Turku", "Cork", "Oslo", "Ghent")
_WORDS = ("harbour", "invoice", "ladder", "copper", "garden", "permit", "anchor", "marble", "review", "storm")


def ago(days: float) -> datetime:
    return AS_OF - timedelta(days=days)


def said() -> list[dict[str, Any]]:
    """Notes and where people live, over two months; one of them twice in the same words."""
    rows = []
    for n in range(130):
        words = [_WORDS[(n * k) % len(_WORDS)] for k in (1, 3, 7)]
        text = f"note {n} about the {' '.join(words)} of the {n}th order"
        rows.append(row(n, text, user_id=f"u{n % 6}", session_id=f"s{n % 60}", event_at=at(65.5 - n / 2)))
    for n, town in enumerate(TOWNS):
        text = f"I live in {town}."
        rows.append(row(100 + n, text, user_id=f"u{n}", session_id=f"home{n}", event_at=at(40)))
    for n in range(2):
        text = "the crane on the northern quay is out of order until autumn"
        rows.append(row(200 + n, text, user_id="u0", session_id=f"twice{n}", event_at=at(20 + n)))
    return rows


def at(days: float) -> str:
    return ago(days).isoformat()


def healthy(folder: Path) -> Job:
    """A lake after a night, with answers on record."""
    job = job_on(folder / "lake")
    early = replace(job, as_of=ago(35))
    old = [one for one in said() if datetime.fromisoformat(one["event_at"]) < ago(35)]
    for night, rows in ((early, old), (job, said())):
        path = write(folder / f"{len(rows)}.jsonl", rows)
        run_nightly(night, ((s, Defaults()) for s in open_sources(str(path), "auto")))
    recalled(job, [name for name in memory_ids(job) if name not in twins(job)])
    return job


def copied(job: Job, folder: Path, policy: Policy | None = None) -> Job:
    """The same lake somewhere else."""
    shutil.copytree(job.lake.uri, folder / "lake")
    return job_on(folder / "lake", policy=policy or job.policy)


def memory_ids(job: Job) -> list[str]:
    """Episodes of the live index."""
    pointer = read_pointer(job.lake)
    assert pointer is not None
    table = Generation(job.lake, load_manifest(job.lake, pointer.generation)).dataset(MAIN)
    found = pl.DataFrame(table.to_table(columns=["memory_id", "kind"]))
    return found.filter(pl.col("kind") == "conversation")["memory_id"].sort().to_list()


def twins(job: Job) -> list[str]:
    """The two episodes of one text."""
    rows = tables.scan(job.lake, EPISODES).select("episode_id", "content_hash").collect()
    return rows.filter(pl.col("content_hash").is_duplicated())["episode_id"].sort().to_list()


def facts(job: Job) -> pl.DataFrame:
    """What stands of the facts."""
    return revisions.standing(job.lake, FACTS).sort("fact_id")


def recalled(job: Job, memories: list[str], prefix: str = "call", **fields: Any) -> None:
    """Calls of an hour's distance, three rows given in each, or as many as are named."""
    rows = []
    for n in range(CALLS):
        given = [memories[(3 * n + k) % len(memories)] for k in range(min(3, len(memories)))]
        when = AS_OF - timedelta(hours=1 + n)
        for rank, name in enumerate(given, 1):
            call = {"call_id": f"{prefix}{n}", "tenant_id": TENANT, "tenant_bucket": job.lake.bucket(TENANT)}
            told = {
                "memory_id": name,
                "rank": rank,
                "kind": "conversation",
                "is_returned": True,
                "verb": "search",
            }
            when_so = {"recalled_at": when, "month": f"{when:%Y-%m}", "event_at": ago(30)}
            plain = {"route": "semantic", "is_returned": True, "relevance": 0.8, "cosine": 0.7}
            rows.append({**call, **told, **when_so, **plain, "policy_hash": job.policy.hash(), **fields})
    tables.append(job.lake, RECALLS, frame(RECALLS, rows))


def _more(job: Job, table: Any, count: int, **fields: Any) -> None:
    """Rows of a table that differ in their key and in what is made of a number."""
    scope = {"tenant_id": TENANT, "tenant_bucket": job.lake.bucket(TENANT)}
    rows = [
        {table.key[0]: f"planted-{n}", **scope, **{k: v(n) if callable(v) else v for k, v in fields.items()}}
        for n in range(count)
    ]
    tables.append(job.lake, table, frame(table, rows))


def _episodes(job: Job, count: int, **fields: Any) -> None:
    plain = {"month": "2026-06", "event_at": ago(2), "ingested_at": ago(2), "retention_tier": "long_term",
             "user_id": "planted", "session_id": lambda n: f"p{n}", "content": lambda n: f"planted {n}",
             "content_hash": lambda n: f"hash {n}", "content_chars": 50, "trust": 1.0}  # fmt: skip
    _more(job, EPISODES, count, **{**plain, **fields})


def _revised(job: Job, **fields: Any) -> dict[str, Any]:
    """The first fact with other values, as its next revision."""
    first = facts(job).row(0, named=True)
    changed = {**first, "revision": 2, "is_removed": False, **fields}
    tables.append(job.lake, FACTS, pl.DataFrame([changed], schema=FACTS.polars))
    return first


def _second_fact(job: Job) -> None:
    first = facts(job).row(0, named=True)
    other = {**first, "fact_id": "f" * 32, "object": "Elsewhere", "object_key": "elsewhere"}
    added = {**other, "revision": 1, "is_removed": False}
    tables.append(job.lake, FACTS, pl.DataFrame([added], schema=FACTS.polars))


def _contradict(job: Job) -> None:
    _second_fact(job)
    recalled(job, [facts(job)["fact_id"][0], "f" * 32], "both", kind="fact")


def _stale(job: Job) -> None:
    first = _revised(job, retired_at=ago(20), retired_reason="superseded", valid_until=ago(20))
    recalled(job, [first["fact_id"]], "stale", kind="fact")


def _expired(job: Job) -> None:
    _episodes(job, 1, retention_tier="session", event_at=ago(1.9))
    recalled(job, ["planted-0"], "late")


def _erasure(job: Job, state: str, asked: float, due: float) -> None:
    request = requests.open_request(
        job.lake, "erase", Subject(TENANT, user="u1"), "gdpr-art-17", "subject", ago(asked), ago(due)
    )
    if state != "open":
        requests.update(job.lake, request, state, {"error": "storage"}, ago(1))


def _certificate(job: Job) -> None:
    job.lake.storage.write("certificates/" + "0" * 32 + ".json", b'{"outcome": "complete"}')


def _broken_chain(job: Job) -> None:
    for _ in range(2):
        audit.append(job.lake, "retain", at=AS_OF, counts={"rows": 1})
    key = audit.key_of(1)
    told = json.loads(job.lake.storage.read(key) or b"{}")
    told["counts"]["rows"] = 2
    job.lake.storage.write(key, json.dumps(told).encode())


def _late_rows(job: Job) -> None:
    later = replace(job, as_of=ago(3))
    ingest(later, write(Path(job.lake.uri).parent / "late.jsonl", [row(900, event_at=at(4))]))


def _stray(job: Job) -> None:
    index = Path(job.lake.uri) / "index"
    for n in range(5):
        shutil.copytree(index / "gen-000001", index / f"gen-0000{90 + n}")


def _superseded(job: Job) -> None:
    folder = Path(job.lake.uri) / "tables" / "episodes"
    sizes = sum(path.stat().st_size for path in (Path(job.lake.uri) / "tables").rglob("*.parquet"))
    (folder / "left-behind.parquet").write_bytes(b"0" * (11 * sizes))


def _lost_file(job: Job) -> None:
    """Take a data file of the live index away, as a disk does."""
    pointer = read_pointer(job.lake)
    assert pointer is not None
    folder = Path(job.lake.uri) / "index" / pointer.generation / "main.lance" / "data"
    for path in folder.glob("*.lance"):
        path.unlink()


def _segments(job: Job, prefix: str, count: int, size: int) -> None:
    for n in range(count):
        job.lake.storage.write(f"{prefix}/000/sealed-{n:04d}.jsonl", b"x" * size)


Plant = Callable[[Job], None]
TROUBLES: dict[str, tuple[str, str, Plant, dict[str, float]]] = {
    "overdue_rows": (
        "growth", "fail",
        lambda j: _episodes(j, 3, retention_tier="session", event_at=ago(9), ingested_at=ago(9)), {},
    ),
    "fullest_user_ratio": ("growth", "fail", lambda j: _episodes(j, 1000, content="x"), {}),
    "ledger_bytes": ("growth", "fail", lambda j: None, {"ledger_bytes_fail": 1.0}),
    "retired_in_index_rows": ("stale", "warn", lambda j: void(_revised(j, retired_at=ago(1))), {}),
    "stale_served_ratio": ("stale", "fail", _stale, {}),
    "expired_served_rows": ("stale", "fail", _expired, {}),
    "served_age_days": ("stale", "fail", lambda j: None, {"served_age_days_fail": 5.0}),
    "contradicting_slots": ("contradiction", "warn", _second_fact, {"contradictions_served_ratio_warn": 1.0}),
    "contradictions_served_ratio": ("contradiction", "fail", _contradict, {}),
    "low_trust_rise_ratio": ("poisoning", "fail", lambda j: _episodes(j, 200, trust=0.4), {}),
    "injection_ratio": (
        "poisoning", "fail",
        lambda j: _more(j, QUARANTINE, 30, reason=INSTRUCTION_REASON, quarantined_at=ago(1)), {},
    ),
    "writer_rise_ratio": (
        "poisoning", "fail",
        lambda j: _more(j, CLAIMS, 400, session_id=lambda n: f"quiet{n}" if n < 9 else "loud",
                        owner="user:u1", recorded_at=ago(1)), {},
    ),
    "tool_trust_rows": (
        "poisoning", "fail", lambda j: void(_revised(j, source="tool_result", trust=0.9)), {}
    ),
    "flood_ratio": (
        "poisoning", "fail", lambda j: _episodes(j, 150, content="buy now", content_hash="same"), {}
    ),
    "low_trust_served_ratio": ("poisoning", "fail", lambda j: None, {"low_trust": 1.0}),
    "foreign_index": ("drift", "fail", lambda j: None, {}),
    "other_space_ratio": (
        "drift", "fail",
        lambda j: _more(j, VECTORS, 500, text_hash=lambda n: f"t{n}", model_key="other@1", dimensions=1,
                        vector=[1.0]), {},
    ),
    "similar_pairs_ratio": ("crowding", "fail", lambda j: recalled(j, twins(j), "twins"), {}),
    "empty_ratio": (
        "irrelevance", "warn", lambda j: recalled(j, [""], "none", rank=0, is_returned=False), {}
    ),
    "weak_ratio": (
        "irrelevance", "warn", lambda j: recalled(j, memory_ids(j)[:1], "weak", relevance=0.1), {}
    ),
    "damaged_generations": ("index", "fail", _lost_file, {}),
    "landed_hours": (
        "backlog", "fail", lambda j: void(landing.append(j.lake, [row(901)], now=ago(3))), {}
    ),
    "unembedded_hours": ("backlog", "fail", _late_rows, {}),
    "unconsolidated_hours": ("backlog", "fail", _late_rows, {}),
    "unpublished_hours": ("backlog", "fail", _late_rows, {}),
    "failed_erasures": ("erasure", "fail", lambda j: _erasure(j, "failed", 1, -20), {}),
    "overdue_erasures": ("erasure", "fail", lambda j: _erasure(j, "open", 40, 10), {}),
    "open_erasure_days": ("erasure", "warn", lambda j: _erasure(j, "open", 9, -20), {}),
    "bad_certificates": ("erasure", "fail", _certificate, {}),
    "files_ratio": ("compaction", "fail", lambda j: None, {"files_ratio_fail": 0.001}),
    "partition_files": ("compaction", "warn", lambda j: None, {"partition_files_warn": 2.0}),
    "superseded_ratio": ("compaction", "fail", _superseded, {"free_bytes": 0}),
    "landing_segments": (
        "compaction", "warn", lambda j: _segments(j, landing.PREFIX, 5, 9), {"landing_segments_warn": 5.0}
    ),
    "recall_log_bytes": (
        "compaction", "fail",
        lambda j: _segments(j, recall_segments.PREFIX, 1, 999), {"recall_log_bytes_fail": 999.0},
    ),
    "stray_generations": ("compaction", "fail", _stray, {}),
    "quarantine_ratio": (
        "quarantine", "fail", lambda j: _more(j, QUARANTINE, 90, reason="bad_time", quarantined_at=ago(1)), {}
    ),
    "broken_links": ("audit", "fail", _broken_chain, {}),
    "failed_run_ratio": (
        "runs", "fail",
        lambda j: _more_runs(j, 60, lambda n: "embed" if n % 2 else "publish"), {},
    ),
    "failing_steps": ("runs", "warn", lambda j: _more_runs(j, 1, lambda n: "publish"), {}),
}  # fmt: skip
"""By measure: its check, the state it is brought to, what plants it, and numbers of the policy for it."""


def void(_: object) -> None:
    """Let a value go."""


def _more_runs(job: Job, count: int, step: Callable[[int], str]) -> None:
    rows = [
        {"run_id": f"planted-{n}", "step": step(n), "state": "failed", "as_of_at": AS_OF,
         "started_at": datetime(2099, 1, 1, tzinfo=UTC) + timedelta(seconds=n), "error": "storage"}
        for n in range(count)
    ]  # fmt: skip
    tables.append(job.lake, RUNS, frame(RUNS, rows))


def other_model(job: Job) -> Job:
    """The job with a model that the index was not built with."""
    return replace(job, make_embedder=lambda: CountingEmbedder("another"))
