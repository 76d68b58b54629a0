"""When each memory would have gone by itself: expired, stale, decayed, sent to cold storage, or summarised.

Between two accesses nothing about a memory changes but its age, so the rules of ``forgetting.due`` and
``forgetting.score`` give the instant at which each applies without a look at any night in between. It goes
with the first night from then on, unless it is accessed before.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from transforms import retention
from transforms.declarations import INSTANT
from transforms.forgetting.due import cold_at, stale_at
from transforms.forgetting.score import scored
from transforms.policy import Policy
from transforms.policy_retention import DecayPolicy
from transforms.replay.access import Accesses
from transforms.replay.calls import microseconds
from transforms.replay.lives import Lives
from transforms.replay.nights import NEVER, Nights

Whole = NDArray[np.int64]


@dataclass(frozen=True)
class Stretches:
    """The life of each episode, cut at its accesses.

    Attributes:
        rows: ``kind``, ``importance``, ``event_at``, ``access_count``, ``last_accessed_at``, a row a stretch,
            by memory and time.
        memory: int64 (stretches): number of the memory.
        begins: int64 (stretches): its first instant, microseconds since 1970.
        ends: int64 (stretches): the access that ends it.
        covered: int64 (stretches): since when a summary covers the episode.
    """

    rows: pl.DataFrame
    memory: Whole
    begins: Whole
    ends: Whole
    covered: Whole


def stretches_of(lives: Lives, accesses: Accesses, until_us: int) -> Stretches:
    """Stretches of the episodes that can fade: neither pinned nor held.

    Args:
        lives: Memories.
        accesses: Of one ``decay.refresh``.
        until_us: Later accesses change nothing that is asked for.
    """
    can_fade = ~pl.col("is_pinned") & ~pl.col("is_held") & (pl.col("stored_in") == "episodes")
    rows = lives.memories.filter(can_fade).sort("number")
    numbers = accesses.numbers(rows)
    bounds = accesses.before(numbers, np.full(numbers.shape, until_us), is_inclusive=True)[0]
    repeats = bounds + 1
    cut = rows[np.repeat(np.arange(rows.height), repeats)]
    starts = np.cumsum(repeats) - repeats
    count = np.arange(cut.height) - np.repeat(starts, repeats)
    offsets = np.repeat(np.where(numbers >= 0, accesses.starts[np.maximum(numbers, 0)], 0), repeats)
    accessed = accesses.at[offsets + count - 1] if accesses.at.size else np.zeros(cut.height, np.int64)
    known, event = microseconds(cut["known_at"]), microseconds(cut["event_at"])
    last = np.where(count > 0, accessed, event)
    is_last = np.append(count[1:] == 0, True) if cut.height else np.zeros(0, np.bool_)
    ends = np.where(is_last, NEVER, np.append(last[1:], NEVER)[: cut.height])
    shaped = cut.select(
        "kind", pl.col("importance").fill_null(1.0), "event_at",
        access_count=pl.Series(count.astype(np.int32)),
        last_accessed_at=pl.Series(last).cast(INSTANT),
    )  # fmt: skip
    begins = np.where(count > 0, np.maximum(last, known), known)
    covered = _instants(cut["covered_at"])
    return Stretches(shaped, cut["number"].cast(pl.Int64).to_numpy(), begins, ends, covered)


def stale_nights(stretches: Stretches, policy: Policy, nights: Nights, size: int) -> Whole:
    """Night that takes each memory out because nobody asked for it; int64 (size), ``NEVER`` for none."""
    due = _instants(stretches.rows.select(due=stale_at(policy).cast(INSTANT))["due"])
    return _first(stretches, np.maximum(due, stretches.covered), nights, size)


def cold_nights(stretches: Stretches, policy: Policy, nights: Nights, size: int) -> Whole:
    """Night that sends each memory to cold storage; as ``stale_nights``."""
    due = _instants(stretches.rows.select(due=cold_at(policy).cast(INSTANT))["due"])
    return _first(stretches, due, nights, size)


def decayed_nights(stretches: Stretches, decay: DecayPolicy, nights: Nights, size: int) -> Whole:
    """Night that takes each memory out because its score is below the threshold; as ``stale_nights``."""
    due = np.full(stretches.memory.shape, NEVER, np.int64)
    # What importance alone holds above the threshold, whatever its age, needs no score.
    steps = [(decay.fade_after_days, decay.fade_factor), (decay.fade_more_after_days, decay.fade_more_factor)]
    factor = min([1.0, *(f for days, f in steps if days is not None)])
    worth = pl.col("importance").cast(pl.Float64) * decay.importance_weight * factor
    may = stretches.rows.select(may=worth < decay.forget_below)["may"].to_numpy()
    if may.any():
        rows = stretches.rows.filter(pl.Series(may))
        moment = rows["event_at"].max()
        found = scored(rows.lazy(), decay, moment).collect()  # type: ignore[arg-type]
        due[may] = _instants(found["forgotten_at"])
    return _first(stretches, np.maximum(due, stretches.covered), nights, size)


def summarised_nights(lives: Lives, policy: Policy, nights: Nights) -> Whole:
    """Night from which on an episode is not served, because its summary stands for it; by memory."""
    if policy.summaries.detail != "drop_after_summary":
        return np.full(lives.memories.height, NEVER, np.int64)
    since = lives.memories.select(at=pl.max_horizontal("summarised_at", "known_at"))["at"]
    is_known = lives.memories["summarised_at"].is_not_null().to_numpy()
    return np.where(is_known, nights.from_on(_instants(since)), NEVER)


def expiries(lives: Lives, policy: Policy) -> Whole:
    """First instant at which each state that was seen is no longer served; int64 (states).

    Of what was derived, an expiry of its own is left out: it may have been learned later, and the log shows
    that the memory was served.
    """
    rows = lives.memories.select(
        "tenant_id", "user_id", "memory_id", "kind", "stored_in", "expires_at", _tier(policy)
    )
    seen = rows[lives.seen["memory"].to_numpy()].with_columns(lives.seen["event_at"])
    own = pl.when(pl.col("stored_in") == "episodes").then("expires_at")
    return _expiry(lives, policy, seen.with_columns(expires_at=own))


def last_instants(lives: Lives, policy: Policy) -> Whole:
    """First instant at which each memory is no longer served, as it stands now; int64 (memories)."""
    rows = lives.memories.with_columns(_tier(policy), pl.min_horizontal("expires_at", "ended_at"))
    return _expiry(lives, policy, rows)


def known_instants(lives: Lives, policy: Policy) -> tuple[Whole, Whole]:
    """First instant at which each memory is no longer served, as a night before and after its event knew it.

    What was derived grows: a fact is confirmed, a summary takes in episodes. Of that the first and the last
    state are held: before the event of the last one the first one counts, and no expiry learned later does.
    """
    is_episode = pl.col("stored_in") == "episodes"
    own = pl.when(is_episode).then("expires_at").alias("expires_at")
    began = pl.when(is_episode).then("event_at").otherwise(pl.min_horizontal("event_at", "known_at"))
    rows = lives.memories.with_columns(_tier(policy), own)
    early = _expiry(lives, policy, rows.with_columns(began.alias("event_at")))
    return early, _expiry(lives, policy, rows)


def _expiry(lives: Lives, policy: Policy, rows: pl.DataFrame) -> Whole:
    due = retention.expiry_expr(policy.retention, lives.wishes.periods, lives.wishes.pins, key="memory_id")
    is_working = pl.col("stored_in") == "working"
    return _instants(rows.select(due=pl.when(~is_working).then(due))["due"])


def _tier(policy: Policy) -> pl.Expr:
    """The tier of a memory; where it is not known, the one that its kind gets."""
    given = {"facts": policy.facts.retention_tier, "summaries": policy.summaries.retention_tier}
    given["procedures"] = policy.skills.retention_tier
    default = policy.retention.default_tier
    named = pl.col("stored_in").replace_strict(given, default=default, return_dtype=pl.String)
    return pl.coalesce("retention_tier", named).alias("retention_tier")


def _first(stretches: Stretches, due: Whole, nights: Nights, size: int) -> Whole:
    """The first night of each memory that falls into the stretch in which it is due."""
    found = np.full(size, NEVER, np.int64)
    night = nights.from_on(np.maximum(due, stretches.begins))
    applies = night < stretches.ends
    np.minimum.at(found, stretches.memory[applies], night[applies])
    return found


def _instants(instants: pl.Series) -> Whole:
    """Microseconds since 1970; ``NEVER`` for null."""
    return instants.to_physical().fill_null(NEVER).to_numpy().astype(np.int64)
