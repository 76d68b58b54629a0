"""What a scope's memories were at a past instant, made from the lake's tables, not from the index.

The index knows the present only: a fact that was taken back has left it, and its counts of accesses
are today's. So an answer as of the past is made of what had happened by then: the episodes, the
claims folded until then, the summaries and skills that rest on nothing later, the recalls counted so far.
What retention has deleted since is read from the version of its table that still holds it; where that is
gone the answer is refused, or made without it. What was made cold since is in it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

import polars as pl

from lake import beliefs, history, revisions
from lake.lake import Lake
from lake.rights import standing
from lake.scope import Scope
from lake.vectors import vectors_of
from transforms.derived_memories import derived_memories, live_rows
from transforms.embedding import hashed_texts, with_text_hash
from transforms.errors import UsageError
from transforms.forgetting.access import fold
from transforms.forgetting.due import Wishes
from transforms.memories import live, memories
from transforms.policy import Policy
from transforms.retention import instant
from transforms.schemas import (
    ATTEMPTS,
    COLD,
    CONVERSATIONS,
    EPISODES,
    FACTS,
    MEMORIES,
    PROCEDURES,
    RECALLS,
    SUMMARIES,
    Table,
)
from transforms.skills.lessons import lessons
from transforms.skills.patterns import patterns
from transforms.skills.procedures import procedures


@dataclass(frozen=True)
class _Past:
    """The lake as it is, and with the versions that hold what was deleted since."""

    lake: Lake
    then: Lake | None

    def scan(self, table: Table, scope: Scope, where: Collection[pl.Expr]) -> pl.LazyFrame:
        return history.scan(self.lake, self.then, table, where, [self.lake.bucket(scope.tenant)])


def believed(
    lake: Lake, scope: Scope, policy: Policy, at: datetime, space: str, *, is_partial: bool = False
) -> pl.DataFrame:
    """Memories of a scope as they were at an instant.

    Args:
        lake: Where.
        scope: Whose; the predicate of every table that is read.
        policy: Retention and folding; today's, as what was in force then is not kept.
        at: The instant. People's retention periods and pins are those of today.
        space: Vector space of the vectors.
        is_partial: Do without what retention has deleted since, where no version holds it any more.

    Returns:
        ``schemas.MEMORIES`` and ``embedding_text``, sorted as the index is; a row whose text has no
        vector carries an empty one.

    Raises:
        UsageError: The scope holds more episodes than ``recall.as_of_rows``.
        HistoryError: The lake no longer holds all that stood then.
    """
    then = history.reached(lake, at, history.MEMORIES, scope.tenant, is_partial=is_partial)
    past = _Past(lake, then)
    told = [one for one in standing.load_all(lake) if one.subject.tenant == scope.tenant]
    wishes = Wishes.of(told)
    served = live(_episodes(past, scope, policy, at), policy, at, wishes)
    most = policy.embed.max_text_chars
    texts = with_text_hash(served, most)
    derived = {
        table.name: hashed_texts(live_rows(rows, table, policy, at, wishes), table, most)
        for table, rows in _derived(past, scope, policy, at, space)
    }
    hashes = pl.concat([texts.select("text_hash"), *(rows.select("text_hash") for rows in derived.values())])
    vectors = vectors_of(lake, [lake.bucket(scope.tenant)], space, hashes)
    # A memory is recalled by others than its owner.
    everybody = Scope(scope.tenant, is_tenant_wide=True, is_administrative=True)
    access = fold(_mine(past, everybody, RECALLS), policy.decay, at).collect()
    made = [_with_text(memories(texts, vectors, policy, at, access, wishes), texts, "episode_id")]
    for table in (FACTS, SUMMARIES, PROCEDURES):
        if table.name in derived:
            rows = derived[table.name]
            made.append(_with_text(derived_memories(rows, vectors, table, access, texts), rows, table.key[0]))
    return pl.concat(made).sort(MEMORIES.sort_by)


def _with_text(made: pl.DataFrame, texts: pl.DataFrame, key: str) -> pl.DataFrame:
    names = texts.select("embedding_text", memory_id=key)
    return made.join(names, on="memory_id", how="left", maintain_order="left")


def _episodes(past: _Past, scope: Scope, policy: Policy, at: datetime) -> pl.DataFrame:
    """Episodes that had happened, those that are cold since then among them.

    Raises:
        UsageError: There are too many.
    """
    by_then = pl.col("event_at") <= instant(at)
    cold = _mine(past, scope, COLD).filter(by_then, pl.col("cooled_at") > instant(at))
    warm = _mine(past, scope, EPISODES).filter(by_then)
    rows = pl.concat([warm, cold.select(EPISODES.names)])
    most = policy.recall.as_of_rows
    if rows.select(pl.len()).collect().item() > most:
        raise UsageError(
            f"the scope held more than {most:,} episodes at {at.isoformat()}",
            "Name a user, agent or session, or raise recall.as_of_rows: such an answer reads them all.",
        )
    return rows.collect().unique("episode_id", keep="any")


def _derived(
    past: _Past, scope: Scope, policy: Policy, at: datetime, space: str
) -> list[tuple[Table, pl.DataFrame]]:
    """Facts, summaries and skills by what had happened; none in a scope that is one conversation."""
    if scope.session is not None:
        return []
    mine = [*scope.where(PROCEDURES.names), *scope.guard()]
    told = _newest(past, scope, SUMMARIES, pl.col("last_event_at") <= instant(at))
    tried = _newest(past, scope, ATTEMPTS, pl.col("event_at") <= instant(at))
    talked = _newest(past, scope, CONVERSATIONS, pl.col("ended_at") <= instant(at))
    skills = pl.concat([procedures(tried, policy), lessons(tried, policy), patterns(talked, policy)])
    return [
        (FACTS, beliefs.facts_at(past.lake, scope, policy, at, space, then=past.then)),
        (SUMMARIES, told.filter(*mine)),
        (PROCEDURES, skills.filter(*mine)),
    ]


def _newest(past: _Past, scope: Scope, table: Table, until: pl.Expr) -> pl.DataFrame:
    """The last revision of each row of the tenant's (the user's) that rests on nothing later.

    The agent is looked at by the caller, once rows are folded: a skill counts attempts of one owner.
    """
    fixed = scope.where(table.names, but="agent_id")
    held = past.scan(table, scope, [*fixed, until])
    return revisions.alive(revisions.newest(table, held.filter(~pl.col("is_removed")).collect()))


def _mine(past: _Past, scope: Scope, table: Table) -> pl.LazyFrame:
    """Rows of a table in the scope."""
    guard = scope.guard() if "sensitivity" in table.names else []
    return past.scan(table, scope, [*scope.where(table.names), *guard])
