"""Checks of what callers are given: stale facts, alike rows, nothing to the point, a space that drifts."""

from __future__ import annotations

from datetime import datetime, timedelta

import polars as pl

from flows.report_health_read import Sources
from lake import revisions, tables
from lake.index_sample import fact_ids, spread
from transforms.health import checks_answers, crowding
from transforms.health.thresholds import Measure
from transforms.retention import instant
from transforms.schemas import FACTS, VECTORS

_NOTHING = "nothing is published"


def stale(sources: Sources) -> list[Measure]:
    """Retired facts in the live index and in answers, rows served after their time, and age."""
    least = sources.job.policy.health.min_rows
    told = checks_answers.stale(
        sources.served.drop("tenant_bucket"), sources.served_facts, sources.judged, least
    )
    return [_retired_in_index(sources), *told]


def _retired_in_index(sources: Sources) -> Measure:
    """Facts of the live index that were retired or taken away since it was built."""
    generation = sources.generation
    if generation is None:
        return Measure("retired_in_index_rows", None, _NOTHING)
    if datetime.fromisoformat(generation.manifest.as_of) > sources.job.as_of:
        return Measure("retired_in_index_rows", None, "the live index is later than the as-of")
    names = ["fact_id", "tenant_id", "retired_at", "recorded_at", "revision", "is_removed"]
    rows = tables.scan(sources.job.lake, FACTS).select(names).collect()
    known = instant(sources.job.as_of)
    ended = (pl.col("retired_at") <= known).fill_null(False)
    stood = revisions.alive(revisions.newest(FACTS, rows)).filter(~ended)
    held = fact_ids(generation)
    gone = held.join(
        stood.select("tenant_id", memory_id="fact_id"), on=["tenant_id", "memory_id"], how="anti"
    )
    return Measure("retired_in_index_rows", gone.height, f"of {held.height:,} facts in the index")


def irrelevance(sources: Sources) -> list[Measure]:
    """Calls that were given nothing, or nothing to the point."""
    health = sources.job.policy.health
    return checks_answers.irrelevance(sources.answers, health.weak_relevance, health.min_rows)


def crowded(sources: Sources) -> list[Measure]:
    """Rows of one answer that say the same, of a sample of answers."""
    counted = crowding.answers(sources.sampled, sources.job.policy.recall.duplicate_cosine)
    return [checks_answers.similar_pairs(counted, sources.job.policy.health.min_rows)]


def low_trust(sources: Sources) -> Measure:
    """Trust of the rows of the same sample."""
    health = sources.job.policy.health
    return checks_answers.low_trust_served(sources.sampled["trust"], health.low_trust, health.min_rows)


def drift(sources: Sources) -> list[Measure]:
    """More than one vector space, rows without a vector, and vectors that are not where they were."""
    job, health = sources.job, sources.job.policy.health
    middle = job.as_of - timedelta(days=sources.days / 2)
    fall = checks_answers.cosine_fall(sources.answers, middle, health.min_rows)
    generation = sources.generation
    spaces = {side.space for side in job.sides}
    other = _other_spaces(sources, spaces)
    if generation is None:
        none = [Measure(name, None, _NOTHING) for name in ("foreign_index", "bare_ratio", "mean_shift")]
        return [none[0], other, *none[1:], fall]
    found = spread(generation, sources.window.since, health.sample_rows)
    bare = found.bare / found.rows if found.rows else None
    return [
        Measure("foreign_index", int(generation.manifest.space != job.space), generation.manifest.space),
        other,
        Measure("bare_ratio", bare, f"{found.bare:,} of {found.rows:,} rows looked at"),
        checks_answers.mean_shift(found.earlier, found.recent, health.min_rows),
        fall,
    ]


def _other_spaces(sources: Sources, spaces: set[str]) -> Measure:
    """Vectors of spaces that are neither configured nor being replaced."""
    held = tables.scan(sources.job.lake, VECTORS).group_by("model_key").len().collect(engine="streaming")
    is_other = ~pl.col("model_key").is_in(sorted(spaces))
    total, other = int(held["len"].sum()), int(held.filter(is_other)["len"].sum())
    told = f"{other:,} of {total:,} vectors; spaces held: {held.height}"
    return Measure("other_space_ratio", other / total if total else None, told)
