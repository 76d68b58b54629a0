"""Budgets of an owner, night after night: what would have been evicted by then, the lowest score first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from transforms.declarations import INSTANT
from transforms.forgetting.capacity import over_capacity, over_size
from transforms.forgetting.score import score_expr
from transforms.owners import owner_expr
from transforms.policy import Policy
from transforms.policy_retention import CapacityPolicy
from transforms.replay.access import Accesses
from transforms.replay.lives import Lives
from transforms.replay.nights import NEVER, Nights

Whole = NDArray[np.int64]
_WHO = ["tenant_id", "owner"]
_SERVED = ("episodes", "facts", "summaries", "procedures")


@dataclass(frozen=True)
class Crowd:
    """Memories of the owners who have more than some budget, all of them that there ever were.

    Attributes:
        rows: What scores and budgets read, a row a memory, by number: ``number``, ``owner`` and ``place``
            (of its id among all ids) as numbers.
        owner: int64 (rows): the owner's number.
        known: int64 (rows): since when each counts, microseconds since 1970.
        event: int64 (rows): when what it tells of happened, or was last confirmed.
        ends: int64 (rows): when it stops to count by itself, such as a fact that is retired.
        arrival: int64 (rows): the first night that sees it.
        accessed: int64 (rows): its number among accesses.
    """

    rows: pl.DataFrame
    owner: Whole
    known: Whole
    event: Whole
    ends: Whole
    arrival: Whole
    accessed: Whole


def crowd_of(
    lives: Lives, accesses: Accesses, capacity: CapacityPolicy, nights: Nights, until_us: int
) -> Crowd:
    """Who can be over a budget by an instant; most lakes have nobody."""
    rows = lives.memories.with_columns(owner_expr(), pl.col("content_chars").fill_null(0)).filter(
        pl.col("owner").is_not_null()
        & ~pl.col("is_injected")
        & pl.col("stored_in").is_in(_SERVED)
        & (pl.col("known_at").to_physical() <= until_us)
    )
    counts = rows.group_by(_WHO).agg(_counts())
    mine = rows.join(counts.filter(_is_over(capacity)), on=_WHO, how="semi", maintain_order="left")
    owner = mine.select(pl.struct(_WHO).rank("dense").cast(pl.Int64)).to_series()
    light = mine.select(
        "number", "stored_in", "kind", "is_pinned", "is_held", "event_at", "known_at", "content_chars",
        owner.alias("owner"), pl.lit(0).alias("tenant_id"),
        importance=pl.col("importance").fill_null(1.0),
        place=pl.col("memory_id").rank("ordinal").cast(pl.Int64),
    )  # fmt: skip
    known = mine["known_at"].to_physical().to_numpy().astype(np.int64)
    ends = mine["ended_at"].to_physical().fill_null(NEVER).to_numpy().astype(np.int64)
    event = mine["event_at"].to_physical().to_numpy().astype(np.int64)
    return Crowd(light, owner.to_numpy(), known, event, ends, nights.from_on(known), accesses.numbers(mine))


def _counts() -> list[pl.Expr]:
    """What the budgets bound, of the rows of an owner."""
    is_episode = pl.col("stored_in") == "episodes"
    return [
        is_episode.sum().alias("episodes"),
        (pl.col("stored_in") == "facts").sum().alias("facts"),
        pl.len().alias("indexed_rows"),
        pl.col("content_chars").filter(is_episode).sum().alias("chars"),
    ]


def _is_over(capacity: CapacityPolicy) -> pl.Expr:
    return (
        (pl.col("episodes") > capacity.episodes)
        | (pl.col("facts") > capacity.facts)
        | (pl.col("indexed_rows") > capacity.indexed_rows)
        | (pl.col("chars") > capacity.content_chars)
    )


def evicted_nights(
    crowd: Crowd, accesses: Accesses, leaves: tuple[Whole, Whole], policy: Policy, until_us: int, size: int
) -> Whole:
    """Night that evicts each memory; int64 (size), ``NEVER`` for none.

    Only a night that finds new memories of an owner can find too many of them. What is evicted stays so.

    Args:
        crowd: Whose budgets are looked at.
        accesses: By ``decay.refresh``.
        leaves: int64 (memories) each: when a memory goes for another reason, as a night before and after
            its event knew it.
        policy: Sections decay and capacity.
        until_us: Later nights change nothing that is asked for.
        size: Count of memories.
    """
    gone = np.full(size, NEVER, np.int64)
    numbers = crowd.rows["number"].cast(pl.Int64).to_numpy()
    early, late = (np.minimum(instants[numbers], crowd.ends) for instants in leaves)
    is_left = np.ones(numbers.shape, np.bool_)
    for night, is_concerned in _eventful(crowd, until_us):
        stays = np.where(crowd.event <= night, late, early) > night
        there = is_concerned & is_left & (crowd.known <= night) & stays
        rows = crowd.rows.filter(pl.Series(there))
        over = rows.group_by("owner").agg(_counts()).filter(_is_over(policy.capacity))
        if over.is_empty():
            continue
        there &= np.isin(crowd.owner, over["owner"].to_numpy())
        evicted = _evicted(_scored(crowd, accesses, there, policy, night), policy.capacity)
        gone[evicted] = night
        is_left &= ~np.isin(numbers, evicted)
    return gone


def _eventful(crowd: Crowd, until_us: int) -> Iterator[tuple[int, NDArray[np.bool_]]]:
    """Nights that find something new, and the rows of the owners it is of."""
    order = np.argsort(crowd.arrival, kind="stable")
    nights, starts = np.unique(crowd.arrival[order], return_index=True)
    is_concerned = np.zeros(int(crowd.owner.max(initial=0)) + 1, np.bool_)
    for night, new in zip(nights.tolist(), np.split(order, starts[1:]), strict=True):
        if night > until_us:
            return
        is_concerned[:] = False
        is_concerned[crowd.owner[new]] = True
        yield night, is_concerned[crowd.owner]


def _scored(
    crowd: Crowd, accesses: Accesses, there: NDArray[np.bool_], policy: Policy, night: int
) -> pl.DataFrame:
    """The rows that are there, with their scores at a night."""
    rows = crowd.rows.filter(pl.Series(there))
    memories = crowd.accessed[there]
    count, last = accesses.before(memories, np.full(memories.shape, night), is_inclusive=True)
    # A fact is confirmed and a summary grows: what comes after the night is not known yet.
    is_known = pl.col("event_at") <= pl.lit(night, pl.Int64).cast(INSTANT)
    since = pl.when(is_known).then("event_at").otherwise("known_at")
    seen = pl.Series(np.where(count > 0, last, 0)).cast(INSTANT)
    moment = pl.Series([night], dtype=pl.Int64).cast(INSTANT).item()
    return rows.with_columns(
        event_at=since,
        access_count=pl.Series(count.astype(np.int32)),
        last_accessed_at=pl.when(pl.Series(count > 0)).then(seen).otherwise(since),
    ).with_columns(score_expr(policy.decay, moment))


def _evicted(rows: pl.DataFrame, capacity: CapacityPolicy) -> Whole:
    """Numbers of the rows that go, as ``due.with_capacity`` and ``verdicts.surplus_rows`` find them."""
    key, episodes = "place", rows.filter(pl.col("stored_in") == "episodes")
    many = over_capacity(episodes, capacity.episodes, key)
    fewer = episodes.join(many, on="number", how="anti")
    large = over_size(fewer, capacity.content_chars, "content_chars", key)
    facts = over_capacity(rows.filter(pl.col("stored_in") == "facts"), capacity.facts, key)
    gone = pl.concat(part["number"] for part in (many, large, facts))
    left = rows.filter(~pl.col("number").is_in(gone.implode()))
    over = pl.concat([gone, over_capacity(left, capacity.indexed_rows, key)["number"]])
    free = rows.filter(pl.col("number").is_in(over.implode()) & ~pl.col("is_held"))
    return free["number"].cast(pl.Int64).to_numpy()
