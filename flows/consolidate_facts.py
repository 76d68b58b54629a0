"""Claims from new episodes, and the facts that the claims of each subject and predicate come to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from flows.embed import embed_texts
from flows.portions import OWNER, Portion
from lake import locks, tables
from lake.opened import forget
from lake.revisions import Changes
from transforms.claims.extract import EXTRACTOR, extract
from transforms.embedding import hashed_texts
from transforms.facts.near import object_groups
from transforms.facts.reconcile import reconcile
from transforms.model_claims import extract_with, extractor_of
from transforms.schemas import CLAIMS, DECISIONS, FACTS, VECTORS

SENTENCES_WAIT_SECONDS = 600.0
"""Longer than another slice takes to embed the sentences of its claims."""
UNIT = [*OWNER, "subject_key", "predicate"]
"""Claims that can meet: one subject and predicate of one owner."""


@dataclass
class FactsDone:
    """What became of facts in a run."""

    claims: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    pending: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    diff: list[dict[str, Any]] = field(default_factory=list)


def consolidate_facts(portion: Portion, done: FactsDone) -> None:
    """Read claims from the new episodes of a portion and fold anew what they touch."""
    drawn, pending = _drawn(portion, done)
    waiting = _waiting(portion, pending)
    fresh = drawn.join(_held_ids(portion, drawn), on="claim_id", how="anti")
    portion.writer.add(CLAIMS, fresh)
    done.claims += fresh.height
    held = _of_forgotten(portion) if portion.scope.is_complete else _held(portion, drawn.select(UNIT))
    units = drawn.select(UNIT).unique()
    claims = pl.concat([drawn, held.join(drawn, on="claim_id", how="anti")])
    # Where a model still owes answers, what another extractor read of these owners stays as it is.
    claims = claims.join(waiting, on=OWNER, how="anti")
    if portion.scope.is_complete or claims.height:
        policy = portion.job.policy
        groups = object_groups(claims, _vectors(portion, claims), policy)
        folded = reconcile(claims, groups, policy)
        before = portion.before(FACTS, units).join(waiting, on=OWNER, how="anti")
        facts = portion.writer.revise(FACTS, before, folded.facts)
        decided = _decide(portion, claims, waiting, folded.decisions)
        _count(portion, done, before, facts, decided)


def _waiting(portion: Portion, pending: list[str]) -> pl.DataFrame:
    """Owners of episodes that a model has not answered for; only a complete run meets other claims."""
    rows = portion.light.filter(pl.col("episode_id").is_in(pending)) if portion.scope.is_complete else None
    return portion.light.clear().select(OWNER) if rows is None else rows.select(OWNER).unique()


def extractor(portion: Portion) -> str:
    """Name and version of what reads claims in this run."""
    model = portion.job.model
    return EXTRACTOR if model is None else extractor_of(model)


def _drawn(portion: Portion, done: FactsDone) -> tuple[pl.DataFrame, list[str]]:
    """Claims of the new episodes, and ids of those that wait for a model."""
    job, episodes = portion.job, portion.fresh.drop("owner")
    pending: list[str] = []
    if job.model is None:
        found = extract(episodes, job.policy)
        claims, refused = found.claims, found.refused
    else:
        from lake.tokens import count_tokens

        encoding = job.policy.context.encoding
        claims, refused, pending = extract_with(
            job.model, episodes, job.policy, lambda texts: count_tokens(texts, encoding)
        )
    done.pending += len(pending)
    done.refused.update(refused["reason"].to_list())
    return claims, pending


def _claims(portion: Portion) -> pl.LazyFrame:
    """Claims of the portion's owners that are held, and of few others."""
    return tables.scan(portion.job.lake, CLAIMS, buckets=portion.buckets).filter(portion.mine)


def _held_ids(portion: Portion, drawn: pl.DataFrame) -> pl.DataFrame:
    """Ids of the claims that are held already, as after a kill."""
    held = _claims(portion).select("claim_id")
    return held.join(drawn.lazy().select("claim_id"), on="claim_id", how="semi").collect()


def _held(portion: Portion, units: pl.DataFrame) -> pl.DataFrame:
    """Claims of the units: those read by this extractor of episodes that are here, and of forgotten ones."""
    if units.is_empty():
        return CLAIMS.empty()
    held = _claims(portion)
    found = held.join(units.lazy().unique(), on=UNIT, how="semi").collect(engine="streaming")
    found = found.unique("claim_id")
    living = found.filter(pl.col("extractor") == extractor(portion))
    living = living.join(portion.light, on="episode_id", how="semi")
    return pl.concat([living, _last_read(portion, found)])


def _of_forgotten(portion: Portion) -> pl.DataFrame:
    """Claims of episodes that retention took out: they cannot be read again."""
    if portion.forgotten.is_empty():
        return CLAIMS.empty()
    held = _claims(portion)
    wanted = portion.forgotten.lazy().select("episode_id")
    found = held.join(wanted, on="episode_id", how="semi").collect(engine="streaming")
    return _last_read(portion, found.unique("claim_id"))


def _last_read(portion: Portion, claims: pl.DataFrame) -> pl.DataFrame:
    """Of claims of forgotten episodes, those of one extractor an episode: ours, else the last by name."""
    mine = claims.join(portion.forgotten, on="episode_id", how="semi").with_columns(
        is_ours=pl.col("extractor") == extractor(portion)
    )
    last = (
        mine.sort("is_ours", "extractor")
        .select("episode_id", "extractor")
        .unique("episode_id", keep="last", maintain_order=True)
    )
    return mine.join(last, on=["episode_id", "extractor"], how="semi").drop("is_ours")


def _vectors(portion: Portion, claims: pl.DataFrame) -> pl.DataFrame:
    """Vectors of the sentences of units that name more than one object: only these can merge."""
    several = claims.filter(pl.col("object_key").n_unique().over(UNIT) > 1)
    texts = several.select("tenant_id", "tenant_bucket", "fact").unique()
    hashed = hashed_texts(texts, FACTS, portion.job.policy.embed.max_text_chars)
    with _alone(portion):
        vectors = embed_texts(portion.job, hashed)
    return hashed.join(vectors, on="text_hash").select("fact", "vector").unique("fact")


@contextmanager
def _alone(portion: Portion) -> Iterator[None]:
    """Hold back other slices of the same bucket, so that a sentence of both gets one vector, not two."""
    if portion.part[1] == 1 or portion.job.is_dry:
        yield
        return
    with locks.hold(portion.job.lake, f"sentences-{portion.buckets[0]}", SENTENCES_WAIT_SECONDS):
        forget(portion.job.lake, VECTORS)  # another slice may just have written some
        yield


def _decide(
    portion: Portion, claims: pl.DataFrame, waiting: pl.DataFrame, decisions: pl.DataFrame
) -> Changes:
    keys = claims.select(item_id="claim_id")
    held = portion.before(DECISIONS, keys).filter(pl.col("item_kind") == "claim")
    return portion.writer.revise(DECISIONS, held.join(waiting, on=OWNER, how="anti"), decisions)


def _count(portion: Portion, done: FactsDone, before: pl.DataFrame, facts: Changes, decided: Changes) -> None:
    """Count what changed; where a diff is wanted, it is kept as a list, too."""
    old = before.select("fact_id", was_retired_at="retired_at", old_support="support")
    now = pl.concat([facts.added, facts.changed]).join(old, on="fact_id", how="left")
    is_retired = pl.col("retired_at").is_not_null() & pl.col("was_retired_at").is_null()
    is_superseded = is_retired & (pl.col("retired_reason") == "superseded")
    parts = {
        "added": facts.added,
        "confirmed": now.filter(pl.col("support") > pl.col("old_support")),
        "superseded": now.filter(is_superseded),
        "retired": now.filter(is_retired & ~is_superseded),
        "withdrawn": facts.removed,
    }
    for name, rows in parts.items():
        done.counts[name] += rows.height
        if portion.job.is_dry or portion.job.has_diff:
            shown = rows.select("tenant_id", "owner", "fact_id", "fact", "superseded_by")
            done.diff += [{"change": name, **row} for row in shown.to_dicts()]
    news = pl.concat([decided.added, decided.changed])
    done.counts["merged"] += news.filter(pl.col("reason") == "merged").height
    done.reasons.update(news["reason"].to_list())
