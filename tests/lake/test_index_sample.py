"""A bounded look at a generation: right rows by id, none of another tenant, spread on both sides."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from flows.nightly import run_nightly
from lake.index import Generation, load_manifest
from lake.index_record import read_pointer
from lake.index_sample import fact_ids, held_rows, spread
from tests.flows.lakes import AS_OF, CountingEmbedder, content, ingest, job_on, row, write
from transforms.policy import Policy, PublishPolicy
from transforms.schemas import EPISODES


@pytest.fixture(scope="module")
def generation(tmp_path_factory: pytest.TempPathFactory) -> tuple[Generation, pl.DataFrame]:
    """An index of two tenants with a large scope and rows without a vector, and its episodes."""
    folder = tmp_path_factory.mktemp("sample")
    publish = PublishPolicy(large_scope_rows=20, min_vector_ratio=0.0, min_recall_ratio=0.0)
    job = job_on(
        folder / "lake", policy=Policy(publish=publish), embedder=CountingEmbedder(refuse="unreadable")
    )
    rows = []
    for tenant, count in (("acme", 50), ("o'hara", 10)):
        for n in range(count):
            text = f"{'unreadable ' if n % 10 == 0 else ''}note {n} of the quay"
            when = (AS_OF - timedelta(days=n)).isoformat()
            rows.append(row(n, text, tenant_id=tenant, user_id=f"u{n % 2}", event_at=when))
    ingest(job, write(folder / "a.jsonl", [*rows, row(900, "I live in Graz.", user_id="u1")]))
    run_nightly(job, [])
    pointer = read_pointer(job.lake)
    assert pointer is not None
    held = Generation(job.lake, load_manifest(job.lake, pointer.generation))
    assert len(held.manifest.tables) == 3  # one of each of acme's two users
    return held, content(job, EPISODES)


def wanted(rows: Sequence[tuple[str, str]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema={"tenant_id": pl.String, "memory_id": pl.String}, orient="row")


def test_rows_by_tenant_and_id(generation: tuple[Generation, pl.DataFrame]) -> None:
    held, episodes = generation
    named = episodes.select("tenant_id", memory_id="episode_id")
    found = held_rows(held, named)
    assert found.select("tenant_id", "memory_id").equals(named.sort("tenant_id", "memory_id"))
    both = found.join(episodes, left_on="memory_id", right_on="episode_id")
    assert (both["content_hash"] == both["content_hash_right"]).all()
    assert both["trust"].unique().to_list() == [1.0]
    bare = both.filter(pl.col("content").str.contains("unreadable"))
    assert bare["vector"].list.len().unique().to_list() == [0]
    assert set(both.filter(~pl.col("content").str.contains("unreadable"))["vector"].list.len()) == {16}
    swapped = named.with_columns(
        tenant_id=pl.when(pl.col("tenant_id") == "acme").then(pl.lit("o'hara")).otherwise(pl.lit("acme"))
    )
    assert held_rows(held, swapped).is_empty()
    assert held_rows(held, wanted([("acme", "x' OR 'a' = 'a"), ("x' OR 'a' = 'a", "y")])).is_empty()
    assert held_rows(held, wanted([])).is_empty()


def test_ids_of_facts(generation: tuple[Generation, pl.DataFrame]) -> None:
    held, episodes = generation
    found = fact_ids(held)
    assert found["tenant_id"].to_list() == ["acme"]
    assert found["memory_id"][0] not in set(episodes["episode_id"])


@pytest.mark.parametrize(("days", "most"), [(20, 1_000), (20, 8), (0, 1_000), (400, 10)])
def test_vectors_on_both_sides(generation: tuple[Generation, pl.DataFrame], days: int, most: int) -> None:
    held, _ = generation
    since = AS_OF - timedelta(days=days)
    found = spread(held, since, most)
    datasets = [held.dataset(entry.name) for entry in held.manifest.tables]
    rows = pl.concat([pl.DataFrame(d.to_table(columns=["event_at", "vector"])) for d in datasets])
    matrix = np.array(rows["vector"].to_list(), np.float32)
    has_vector = np.linalg.norm(matrix, axis=1) > 0
    is_recent = (rows["event_at"] > since).to_numpy()
    all_of = {True: int((is_recent & has_vector).sum()), False: int((~is_recent & has_vector).sum())}
    if most == 1_000:
        assert (len(found.recent), len(found.earlier)) == (all_of[True], all_of[False])
        assert (found.rows, found.bare) == (rows.height, int((~has_vector).sum()))
    else:
        slack = len(held.manifest.tables)  # each table gives a row at least
        assert len(found.recent) <= min(most + slack, all_of[True])
        assert len(found.earlier) <= min(most + slack, all_of[False])
    for side in (found.recent, found.earlier):
        assert side.shape[1] == 16
        assert np.allclose(np.linalg.norm(side, axis=1), 1, atol=1e-3)  # stored as halves
    assert np.array_equal(spread(held, since, most).recent, found.recent)


def test_of_no_rows_nothing(tmp_path: Path) -> None:
    job = job_on(tmp_path / "lake")
    ingest(job, write(tmp_path / "a.jsonl", [row(1, is_injected=True)]))
    run_nightly(job, [])
    pointer = read_pointer(job.lake)
    if pointer is None:
        pytest.fail("an index of no rows is published, too")
    held = Generation(job.lake, load_manifest(job.lake, pointer.generation))
    found = spread(held, AS_OF, 10)
    assert (len(found.earlier), len(found.recent), found.rows) == (0, 0, 0)
    assert fact_ids(held).is_empty()
