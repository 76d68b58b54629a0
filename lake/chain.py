"""Why a row is there: from anything the lake derived back to the words it rests on, and what was decided."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import orjson
import polars as pl

from lake import chain_shapes as shapes
from lake import revisions, tables
from lake.lake import Lake
from lake.rights.tombstones import load
from lake.scope import Scope
from transforms.errors import UsageError
from transforms.schemas import (
    ATTEMPTS,
    CLAIMS,
    CONVERSATIONS,
    DECISIONS,
    EPISODES,
    FACTS,
    LINEAGE,
    PROCEDURES,
    SENSITIVITIES,
    SUMMARIES,
    TOPIC_MEMBERS,
    TOPICS,
    Table,
)
from transforms.scopes import PATTERNS_OWNER

KINDS: tuple[Table, ...] = (FACTS, SUMMARIES, PROCEDURES, TOPICS, CONVERSATIONS, ATTEMPTS, CLAIMS, EPISODES)
"""Where an id is looked for, in this order."""
MOST_SOURCES = 50
PREFIX_CHARS = 8
"""So many characters of an id name a row, where no other row of the scope begins with them."""
_HIDDEN = ("tenant_bucket", "revision", "is_removed", "centroid", "claim_ids", "source_refs")


@dataclass(frozen=True)
class Chain:
    """What stands behind a row.

    Attributes:
        id: The row's id.
        table: Where it stands.
        text: What it says.
        row: Its values.
        is_removed: Whether it stands no more.
        sources: Episodes it rests on, oldest first, at most 50: id, when, who, file and line, text, and
            ``quote``: the very words, where the row names a span.
        source_count: How many there are.
        claims: Claims that were folded into a fact, oldest first, each with its quote.
        ended_by: Claims that superseded, retracted or negated a fact, oldest first, each with its quote.
        decisions: What was decided on these claims, or on a topic, with figures.
        history: Facts that it superseded and that superseded it, oldest first.
        built_on_it: What was derived of an episode, by table: ``id`` and ``text`` of each row.
        versions: Texts that a source has replaced, or that have replaced one: ``episode_id``, ``relation``
            (``replaces`` or ``replaced by``), ``of`` (the source), when and text.
    """

    id: str
    table: str
    text: str
    row: dict[str, Any]
    is_removed: bool
    sources: list[dict[str, Any]]
    source_count: int
    claims: list[dict[str, Any]]
    ended_by: list[dict[str, Any]]
    decisions: list[dict[str, Any]]
    history: list[dict[str, Any]]
    built_on_it: dict[str, list[dict[str, str]]]
    versions: list[dict[str, Any]]

    def as_dict(self) -> dict[str, Any]:
        """The shape that ``--json`` prints; instants in ISO 8601."""
        told = {name: getattr(self, name) for name in self.__dataclass_fields__}
        found: dict[str, Any] = orjson.loads(orjson.dumps(told, default=str))
        return found


def chain_of(lake: Lake, scope: Scope, row_id: str, max_sensitivity: str = "restricted") -> Chain:
    """What stands behind a row of the scope; nothing more private than the limit is told.

    Args:
        lake: Where.
        scope: Whose.
        row_id: Its id, or the first characters of it, at least ``PREFIX_CHARS``.
        max_sensitivity: Nothing more private is told.

    Raises:
        UsageError: The scope holds no such row (one whose words are all gone is none), or several that
            begin so; whether another scope does is not told.
    """
    reader = _Reader(lake, scope, SENSITIVITIES[: SENSITIVITIES.index(max_sensitivity) + 1])
    for table in KINDS:
        rows = reader.rows(table, pl.col(table.key[0]) == row_id)
        if rows.height and _has_grounds(told := reader.chain(table, rows.row(0, named=True))):
            return told
    found = _beginning(reader, row_id) if len(row_id) >= PREFIX_CHARS else []
    if len(found) == 1 and _has_grounds(told := reader.chain(*found[0])):
        return told
    if len(found) > 1:
        raise UsageError(f"{len(found)} rows of this scope begin with {row_id}", "Give more of the id.")
    remedy = f"Take an id of recall --explain or of facts, or its first {PREFIX_CHARS} characters or more."
    raise UsageError(f"no row {row_id} in this scope", remedy)


def _has_grounds(chain: Chain) -> bool:
    """Whether its words are there; a pattern of several tenants is told without theirs."""
    return bool(chain.sources) or chain.row.get("owner") == PATTERNS_OWNER


def chain_in(lake: Lake, scopes: Sequence[Scope], row_id: str, max_sensitivity: str = "restricted") -> Chain:
    """``chain_of`` in the first of several scopes that holds the row.

    Raises:
        UsageError: None of them does.
    """
    for scope in scopes[:-1]:
        with suppress(UsageError):
            return chain_of(lake, scope, row_id, max_sensitivity)
    return chain_of(lake, scopes[-1], row_id, max_sensitivity)


def _beginning(reader: _Reader, prefix: str) -> list[tuple[Table, dict[str, Any]]]:
    """Rows of the scope whose id begins so, with their tables."""
    return [
        (table, row)
        for table in KINDS
        for row in reader.rows(table, pl.col(table.key[0]).str.starts_with(prefix)).iter_rows(named=True)
    ]


@dataclass(frozen=True)
class _Reader:
    """Reads tables inside a scope; the scope is in every predicate."""

    lake: Lake
    scope: Scope
    allowed: tuple[str, ...]

    def rows(self, table: Table, where: pl.Expr) -> pl.DataFrame:
        """Newest revisions that meet a condition on columns that no revision changes.

        A table without a column that the scope fixes holds nothing of it, but for memberships, which
        are asked for by owner.
        """
        fixed = self.scope.columns()
        if table is TOPIC_MEMBERS:
            fixed = {"tenant_id": self.scope.tenant}
        elif not fixed.keys() <= set(table.names):
            return table.empty()
        mine = {name: pl.col(name) == value for name, value in fixed.items()}
        mine |= {f"no {name}": pl.col(name).is_null() for name in self.scope.absent() if name in table.names}
        if "sensitivity" in table.names:
            mine["sensitivity"] = pl.col("sensitivity").is_in(self.allowed)
            mine["guard"] = pl.all_horizontal(pl.lit(True), *self.scope.guard())
        frame = tables.scan(self.lake, table, buckets=[self.lake.bucket(self.scope.tenant)])
        if "revision" not in table.names:
            found = frame.filter([*mine.values(), where]).collect().unique(table.key)
            return found.filter(~load(self.lake).is_refused(found)) if table in (EPISODES, CLAIMS) else found
        # These two may change from one revision to the next, and only the last one counts.
        late = [mine.pop(name) for name in ("agent_id", "sensitivity", "guard") if name in mine]
        newest = revisions.newest(table, frame.filter([*mine.values(), where]).collect())
        return newest.filter(pl.lit(True), *late)

    def chain(self, table: Table, row: dict[str, Any]) -> Chain:
        """Gather everything behind the row."""
        claims = self._claims(table, row)
        refs = self._refs(table, row)
        sources = self._sources(table, row, refs, claims)
        return Chain(
            id=row[table.key[0]],
            table=table.name,
            text=shapes.text_of(table, row),
            row={k: shapes.rounded(v) for k, v in row.items() if k not in _HIDDEN},
            is_removed=bool(row.get("is_removed", False)),
            sources=sources[:MOST_SOURCES],
            source_count=len(refs),
            claims=shapes.quoted(claims, {source["episode_id"]: source["content"] for source in sources}),
            ended_by=self._ended_by(row) if table is FACTS and row["retired_at"] else [],
            decisions=self._decisions(table, row, claims),
            history=self._history(row) if table is FACTS else [],
            built_on_it=self._built_on(row) if table is EPISODES else {},
            versions=self._versions(refs[:MOST_SOURCES]),
        )

    def _claims(self, table: Table, row: dict[str, Any]) -> pl.DataFrame:
        wanted = row["claim_ids"] if table is FACTS else [row["claim_id"]] if table is CLAIMS else []
        found = self.rows(CLAIMS, pl.col("claim_id").is_in(wanted))
        return found.sort("event_at", "claim_id")

    def _refs(self, table: Table, row: dict[str, Any]) -> list[str]:
        if "source_refs" in table.names:
            return list(row["source_refs"])
        if table in (EPISODES, CLAIMS):
            return [row["episode_id"]]
        if table is CONVERSATIONS:
            where = pl.col("session_id") == row["session_id"]
            return self.rows(EPISODES, where & _of_owner(row))["episode_id"].to_list()
        members = self.rows(TOPIC_MEMBERS, pl.col("owner") == row["owner"])
        return members.filter(pl.col("topic_id") == row["topic_id"])["episode_id"].to_list()

    def _sources(
        self, table: Table, row: dict[str, Any], refs: list[str], claims: pl.DataFrame
    ) -> list[dict[str, Any]]:
        if table is PROCEDURES and row["kind"] == "pattern":  # it rests on conversations
            talks = self.rows(CONVERSATIONS, pl.col("conversation_id").is_in(refs))
            return [shapes.talk(talk) for talk in talks.sort("started_at").iter_rows(named=True)]
        found = self.rows(EPISODES, pl.col("episode_id").is_in(refs)).sort("event_at", "episode_id")
        spans = {c["episode_id"]: (c["span_start"], c["span_end"]) for c in claims.to_dicts()}
        return [shapes.source(row, spans.get(row["episode_id"])) for row in found.iter_rows(named=True)]

    def _decisions(self, table: Table, row: dict[str, Any], claims: pl.DataFrame) -> list[dict[str, Any]]:
        """Decisions on the claims of a fact and on claims that met it in vain, or on a topic."""
        wanted = [row["topic_id"]] if table is TOPICS else claims["claim_id"].to_list()
        if table is FACTS:
            named = pl.col("owner") == row["owner"]
            held = self.rows(DECISIONS, named)
            ours = pl.col("item_id").is_in(wanted) | (pl.col("result_id") == row["fact_id"])
            found = held.filter(ours | (pl.col("other_id") == row["fact_id"]))
        else:
            found = self.rows(DECISIONS, pl.col("item_id").is_in(wanted))
        shown = found.filter(~pl.col("is_removed")).sort("decided_at", "item_id")
        names = ("item_id", "operation", "reason", "result_id", "other_id", "evidence", "decided_at")
        return [{n: shapes.read(n, r[n]) for n in names} for r in shown.iter_rows(named=True)]

    def _ended_by(self, row: dict[str, Any]) -> list[dict[str, Any]]:
        """What the decisions name; else, of a retraction that met several facts, the retraction itself."""
        fact, what = row["fact_id"], pl.col("operation")
        held = self.rows(DECISIONS, pl.col("owner") == row["owner"]).filter(~pl.col("is_removed"))
        is_superseding = (what == "UPDATE") & (pl.col("other_id") == fact)
        is_deleting = (what == "DELETE") & (pl.col("result_id") == fact)
        named = held.filter(is_superseding | is_deleting)["item_id"].to_list()
        found = self.rows(CLAIMS, pl.col("claim_id").is_in(named))
        if not named:
            unit = [pl.col(name) == row[name] for name in ("owner", "subject_key", "predicate")]
            during = pl.col("recorded_at") <= row["retired_at"], pl.col("valid_from") == row["valid_until"]
            found = self.rows(CLAIMS, pl.all_horizontal(*unit, *during, what == "retract"))
        said = self.rows(EPISODES, pl.col("episode_id").is_in(found["episode_id"].to_list()))
        texts = dict(said.select("episode_id", "content").iter_rows())
        return shapes.quoted(found.sort("event_at", "claim_id"), texts)

    def _history(self, row: dict[str, Any]) -> list[dict[str, Any]]:
        unit = (pl.col("owner") == row["owner"]) & (pl.col("subject_key") == row["subject_key"])
        held = self.rows(FACTS, unit & (pl.col("predicate") == row["predicate"]))
        by_id = {r["fact_id"]: r for r in held.iter_rows(named=True)}
        found: dict[str, dict[str, Any]] = {}
        for link in ("supersedes", "superseded_by"):
            at = row[link]
            while at in by_id and at not in found:
                found[at] = by_id[at]
                at = by_id[at][link]
        names = ("fact_id", "fact", "valid_from", "valid_until", "retired_at", "retired_reason")
        ordered = sorted(found.values(), key=lambda r: (r["valid_from"], r["fact_id"]))
        return [{n: r[n] for n in names} for r in ordered]

    def _versions(self, refs: list[str]) -> list[dict[str, Any]]:
        """Other versions of some episodes, by when they came."""
        held = tables.scan(self.lake, LINEAGE, buckets=[self.lake.bucket(self.scope.tenant)])
        held = held.filter(pl.col("derived_kind") == EPISODES.name)
        either = pl.col("derived_id").is_in(refs) | pl.col("source_id").is_in(refs)
        links = held.filter(either).select("derived_id", "source_id").unique().collect()
        pairs = [(new, "replaced by", old) for new, old in links.iter_rows() if old in refs]
        pairs += [(old, "replaces", new) for new, old in links.iter_rows() if new in refs]
        rows = self.rows(EPISODES, pl.col("episode_id").is_in([name for name, *_ in pairs]))
        by_id = {row["episode_id"]: row for row in rows.iter_rows(named=True)}
        told = [shapes.version(by_id[name], what, of) for name, what, of in pairs if name in by_id]
        return sorted(told, key=lambda one: (one["ingested_at"], one["episode_id"], one["of"]))

    def _built_on(self, row: dict[str, Any]) -> dict[str, list[dict[str, str]]]:
        episode = row["episode_id"]
        found = {CLAIMS: self.rows(CLAIMS, pl.col("episode_id") == episode)}
        for table in (FACTS, SUMMARIES, PROCEDURES, ATTEMPTS):
            held = self.rows(table, _of_owner(row))
            found[table] = held.filter(~pl.col("is_removed"), pl.col("source_refs").list.contains(episode))
        return {table.name: shapes.named(table, rows) for table, rows in found.items() if rows.height}


def _of_owner(row: dict[str, Any]) -> Any:
    """Rows of the same user, or, where there is none, of the same agent and of no user."""
    if row["user_id"] is not None:
        return pl.col("user_id") == pl.lit(row["user_id"])
    return pl.col("user_id").is_null() & pl.col("agent_id").eq_missing(pl.lit(row["agent_id"], pl.String))
