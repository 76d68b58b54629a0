"""Facts of a scope: what is held to be true, now or as it was held at a past instant."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import polars as pl

from lake import history, revisions, tables
from lake.lake import Lake
from lake.rights.tombstones import load
from lake.scope import Scope
from lake.vectors import vectors_of
from transforms.derived_memories import live_rows
from transforms.embedding import hashed_texts
from transforms.errors import UsageError
from transforms.facts.near import object_groups
from transforms.facts.reconcile import reconcile
from transforms.policy import Policy
from transforms.retention import instant
from transforms.schemas import CLAIMS, COLD, EPISODES, FACTS, FORGOTTEN, SENSITIVITIES

SHOWN = (
    "fact",
    "kind",
    "subject",
    "predicate",
    "aspect",
    "object",
    "polarity",
    "confidence",
    "trust",
    "source",
    "support",
    "session_count",
    "valid_from",
    "valid_until",
    "first_mentioned_at",
    "last_confirmed_at",
    "recorded_at",
    "retired_at",
    "retired_reason",
    "supersedes",
    "superseded_by",
    "source_refs",
)


@dataclass(frozen=True)
class Fact:
    """One fact.

    Attributes:
        id: Its id; ``Recall.explain`` tells where it comes from.
        values: The columns ``SHOWN`` of ``schemas.FACTS``, shares with four digits, and ``user`` and
            ``agent``.
    """

    id: str
    values: dict[str, Any]

    @property
    def fact(self) -> str:
        """The fact as a sentence."""
        return str(self.values["fact"])

    def as_dict(self) -> dict[str, Any]:
        """The shape that ``--json`` prints; instants in ISO 8601."""
        told = {k: v.isoformat() if isinstance(v, datetime) else v for k, v in self.values.items()}
        return {"id": self.id, **told}


def scope_of(
    tenant: str, user: str | None, agent: str | None, session: str | None, is_tenant_wide: bool
) -> Scope:
    """The scope of facts.

    Raises:
        UsageError: It names a session, or none of user, agent and the whole tenant.
    """
    if session is not None:
        raise UsageError("facts belong to a user or an agent, not to a session", "Leave the session out.")
    if user is None and agent is None and is_tenant_wide is False:
        raise UsageError(
            "facts need a user or an agent",
            "Name one, or ask for the whole tenant (tenant_wide=True, --tenant-wide).",
        )
    return Scope(tenant, user, agent, None, is_tenant_wide)


def facts_of(
    lake: Lake,
    scope: Scope,
    policy: Policy,
    at: datetime,
    *,
    is_replay: bool = False,
    recorded_by: datetime | None = None,
    has_history: bool = False,
    is_partial: bool = False,
    space: Callable[[], str],
) -> list[Fact]:
    """Facts of a scope that hold at an instant.

    Args:
        lake: Where.
        scope: Whose.
        policy: Retention, and for a replay the folding of claims.
        at: The instant.
        is_replay: Fold the claims made until that instant, so that what was said later plays no part.
        recorded_by: Of the claims, only those that the lake held at this instant: what it believed
            then, whatever has been landed since.
        has_history: Facts that no longer hold, too.
        is_partial: Do without what retention has deleted since, where no version holds it any more.
        space: The vector space that similar objects were merged in; called for a replay only.

    Returns:
        Sorted by last confirmation, newest first, then by id.

    Raises:
        HistoryError: The lake no longer holds all that stood then.
    """
    if is_replay or recorded_by is not None:
        since = min(at, recorded_by) if recorded_by else at
        then = history.reached(lake, since, history.BELIEFS, scope.tenant, is_partial=is_partial)
        rows = facts_at(lake, scope, policy, at, space(), recorded_by, then=then)
    else:
        rows = _standing(lake, scope)
    allowed = SENSITIVITIES[: SENSITIVITIES.index(policy.recall.max_sensitivity) + 1]
    rows = rows.filter(pl.col("sensitivity").is_in(allowed), *scope.guard())
    named = rows.rename({"fact_id": "memory_id", "last_confirmed_at": "event_at"})
    rows = rows.filter(~load(lake).is_refused(named))
    if not has_history:
        rows = live_rows(rows, FACTS, policy, at)
    ordered = rows.sort("last_confirmed_at", "fact_id", descending=[True, False])
    return [_fact(row) for row in ordered.iter_rows(named=True)]


def facts_at(
    lake: Lake,
    scope: Scope,
    policy: Policy,
    at: datetime,
    space: str,
    recorded_by: datetime | None = None,
    *,
    then: Lake | None = None,
) -> pl.DataFrame:
    """Facts of a scope as the claims made until an instant come to; what was said later plays no part.

    Args:
        lake: Where.
        scope: Whose.
        policy: The folding of claims.
        at: The instant.
        space: The vector space that similar objects are merged in.
        recorded_by: Of the claims, only those that the lake held at this instant.
        then: The lake with the versions that hold what was deleted since (``lake.history``).

    Returns:
        ``schemas.FACTS`` without the columns of the revision, those that no longer held among them.
    """
    claims = _claims(lake, then, scope, at, recorded_by)
    return _folded(claims, _vectors(lake, scope, claims, policy, space), policy, scope)


def why_none(lake: Lake, scope: Scope, as_of: datetime | None, recorded_by: datetime | None) -> str:
    """Why a scope has no facts to show, in a line.

    Args:
        lake: Where.
        scope: Whose.
        as_of: The instant that was asked for, None for now.
        recorded_by: What had to be held at it, None where that was not asked.
    """
    episodes = tables.scan(lake, EPISODES, buckets=[lake.bucket(scope.tenant)])
    if episodes.filter(pl.col("tenant_id") == scope.tenant).head(1).collect().is_empty():
        return "no facts: no such tenant in this lake"
    claims = _scanned(lake, scope, CLAIMS)
    if claims.is_empty():
        return "no facts in this scope: nothing in it was read as one"
    said, held = claims.select(pl.col("event_at", "recorded_at").min()).row(0)
    if recorded_by is not None and recorded_by < held:
        return f"no facts: the first claim of this scope was recorded at {held:%Y-%m-%d %H:%M} UTC"
    if as_of is not None and as_of < said:
        return f"no facts: the first claim of this scope was made at {said:%Y-%m-%d %H:%M} UTC"
    return "no facts hold in this scope"


def _scanned(lake: Lake, scope: Scope, table: Any) -> pl.DataFrame:
    """Rows of a table in the scope; the scope is in the store's predicate."""
    frame = tables.scan(lake, table, buckets=[lake.bucket(scope.tenant)])
    return frame.filter(scope.where(table.names)).collect()


def _standing(lake: Lake, scope: Scope, then: Lake | None = None) -> pl.DataFrame:
    """Facts of the scope that stand, or that stood until retention took them.

    The agent is looked at last: a later revision of a fact may rest on another agent's rows as well,
    and its earlier ones stand no more.
    """
    fixed = scope.where(FACTS.names, but="agent_id")
    rows = history.scan(lake, then, FACTS, fixed, [lake.bucket(scope.tenant)]).collect()
    stood = revisions.alive(revisions.newest(FACTS, rows))
    return stood.filter(scope.where(FACTS.names))


def _claims(
    lake: Lake, then: Lake | None, scope: Scope, at: datetime, recorded_by: datetime | None
) -> pl.DataFrame:
    """Claims, made until an instant and held by another, of the owners whose facts the scope sees.

    Only of episodes that were not erased, though retention may have taken them since, and by the
    extractor behind the facts that stand.
    """
    buckets = [lake.bucket(scope.tenant)]
    stood = _standing(lake, scope, then)
    owners = stood.select("tenant_id", "owner").unique()
    own = [pl.col("tenant_id") == scope.tenant]
    mine = history.scan(lake, then, CLAIMS, own, buckets)
    known = [history.scan(lake, then, table, own, buckets) for table in (EPISODES, COLD, FORGOTTEN)]
    living = pl.concat([rows.select("episode_id") for rows in known])
    held = mine.join(owners.lazy(), on=["tenant_id", "owner"], how="semi")
    claims = held.join(living, on="episode_id", how="semi").collect()
    used = stood.select(claim_id="claim_ids").explode("claim_id")
    methods = claims.join(used, on="claim_id", how="semi")["extractor"].unique()
    claims = claims.filter(pl.col("extractor").is_in(methods.implode()), pl.col("event_at") <= instant(at))
    if recorded_by is not None:
        claims = claims.filter(pl.col("recorded_at") <= instant(recorded_by))
    return claims.unique("claim_id")


def _folded(claims: pl.DataFrame, vectors: pl.DataFrame, policy: Policy, scope: Scope) -> pl.DataFrame:
    """What the claims come to, of the scope only."""
    facts = reconcile(claims, object_groups(claims, vectors, policy), policy).facts
    return facts.filter(scope.where(facts.columns), *scope.guard())


def _vectors(lake: Lake, scope: Scope, claims: pl.DataFrame, policy: Policy, space: str) -> pl.DataFrame:
    texts = claims.select("tenant_id", "tenant_bucket", "fact").unique()
    hashed = hashed_texts(texts, FACTS, policy.embed.max_text_chars)
    vectors = vectors_of(lake, [lake.bucket(scope.tenant)], space, hashed)
    return hashed.join(vectors, on="text_hash").select("fact", "vector")


def _fact(row: dict[str, Any]) -> Fact:
    shown = {name: round(v, 4) if isinstance(v := row[name], float) else v for name in SHOWN}
    return Fact(row["fact_id"], {"user": row["user_id"], "agent": row["agent_id"], **shown})
