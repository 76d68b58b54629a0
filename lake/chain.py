"""Why a row is there: from anything the lake derived back to the words it rests on, and what was decided."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson
import polars as pl

from lake import revisions, tables
from lake.lake import Lake
from lake.scope import Scope
from transforms.errors import UsageError
from transforms.schemas import (
    ATTEMPTS,
    CLAIMS,
    CONVERSATIONS,
    DECISIONS,
    EPISODES,
    FACTS,
    PROCEDURES,
    SENSITIVITIES,
    SUMMARIES,
    TOPIC_MEMBERS,
    TOPICS,
    Table,
)

KINDS: tuple[Table, ...] = (FACTS, SUMMARIES, PROCEDURES, TOPICS, CONVERSATIONS, ATTEMPTS, CLAIMS, EPISODES)
"""Where an id is looked for, in this order."""
MOST_SOURCES = 50
_HIDDEN = ("tenant_bucket", "revision", "is_removed", "centroid", "claim_ids", "source_refs")
_EPISODE = ("kind", "role", "speaker", "event_at", "session_id", "source_file", "source_line", "content")


@dataclass(frozen=True)
class Chain:
    """What stands behind a row.

    Attributes:
        id: The row's id.
        table: Where it stands.
        row: Its values.
        is_removed: Whether it stands no more.
        sources: Episodes it rests on, oldest first, at most 50: id, when, who, file and line, text, and
            ``quote``: the very words, where the row names a span.
        source_count: How many there are.
        claims: Claims that were folded into a fact, oldest first, each with its quote.
        decisions: What was decided on these claims, or on a topic, with figures.
        history: Facts that it superseded and that superseded it, oldest first.
        built_on_it: Ids of what was derived of an episode, by table.
    """

    id: str
    table: str
    row: dict[str, Any]
    is_removed: bool
    sources: list[dict[str, Any]]
    source_count: int
    claims: list[dict[str, Any]]
    decisions: list[dict[str, Any]]
    history: list[dict[str, Any]]
    built_on_it: dict[str, list[str]]

    def as_dict(self) -> dict[str, Any]:
        """The shape that ``--json`` prints; instants in ISO 8601."""
        told = {name: getattr(self, name) for name in self.__dataclass_fields__}
        found: dict[str, Any] = orjson.loads(orjson.dumps(told, default=str))
        return found


def chain_of(lake: Lake, scope: Scope, row_id: str, max_sensitivity: str = "restricted") -> Chain:
    """What stands behind a row of the scope; nothing more private than the limit is told.

    Raises:
        UsageError: The scope holds no such row; whether another one does is not told.
    """
    reader = _Reader(lake, scope, SENSITIVITIES[: SENSITIVITIES.index(max_sensitivity) + 1])
    for table in KINDS:
        rows = reader.rows(table, pl.col(table.key[0]) == row_id)
        if rows.height:
            return reader.chain(table, rows.row(0, named=True))
    raise UsageError(f"no row {row_id} in this scope", "Take an id of recall --explain or of facts.")


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
        mine = [pl.col(name) == value for name, value in fixed.items()]
        if "sensitivity" in table.names:
            mine.append(pl.col("sensitivity").is_in(self.allowed))
        frame = tables.scan(self.lake, table, buckets=[self.lake.bucket(self.scope.tenant)])
        found = frame.filter([*mine, where]).collect()
        return revisions.newest(table, found) if "revision" in table.names else found.unique(table.key)

    def chain(self, table: Table, row: dict[str, Any]) -> Chain:
        """Gather everything behind the row."""
        claims = self._claims(table, row)
        refs = self._refs(table, row)
        sources = self._sources(table, row, refs, claims)
        return Chain(
            id=row[table.key[0]],
            table=table.name,
            row={k: v for k, v in row.items() if k not in _HIDDEN},
            is_removed=bool(row.get("is_removed", False)),
            sources=sources[:MOST_SOURCES],
            source_count=len(refs),
            claims=_quoted(claims, sources),
            decisions=self._decisions(table, row, claims),
            history=self._history(row) if table is FACTS else [],
            built_on_it=self._built_on(row) if table is EPISODES else {},
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
            return [_talk(talk) for talk in talks.sort("started_at").iter_rows(named=True)]
        found = self.rows(EPISODES, pl.col("episode_id").is_in(refs)).sort("event_at", "episode_id")
        spans = {c["episode_id"]: (c["span_start"], c["span_end"]) for c in claims.to_dicts()}
        return [_source(row, spans.get(row["episode_id"])) for row in found.iter_rows(named=True)]

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
        return [{n: _read(n, r[n]) for n in names} for r in shown.iter_rows(named=True)]

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

    def _built_on(self, row: dict[str, Any]) -> dict[str, list[str]]:
        episode = row["episode_id"]
        named = pl.col("episode_id") == episode
        found = {CLAIMS.name: self.rows(CLAIMS, named)["claim_id"].to_list()}
        for table in (FACTS, SUMMARIES, PROCEDURES, ATTEMPTS):
            held = self.rows(table, _of_owner(row))
            mine = held.filter(~pl.col("is_removed"), pl.col("source_refs").list.contains(episode))
            found[table.name] = mine[table.key[0]].to_list()
        return {name: sorted(names) for name, names in found.items() if names}


def _of_owner(row: dict[str, Any]) -> Any:
    """Rows of the same user, or, where there is none, of the same agent and of no user."""
    if row["user_id"] is not None:
        return pl.col("user_id") == pl.lit(row["user_id"])
    return pl.col("user_id").is_null() & pl.col("agent_id").eq_missing(pl.lit(row["agent_id"], pl.String))


def _source(row: dict[str, Any], span: tuple[int, int] | None) -> dict[str, Any]:
    told = {"episode_id": row["episode_id"], **{name: row[name] for name in _EPISODE}}
    return told if span is None else {**told, "quote": row["content"][span[0] : span[1]]}


def _talk(row: dict[str, Any]) -> dict[str, Any]:
    """A conversation in the shape of a source."""
    blank = dict.fromkeys(_EPISODE)
    told = {"kind": "conversation", "event_at": row["started_at"], "content": row["title"]}
    return {**blank, "episode_id": row["conversation_id"], "session_id": row["session_id"], **told}


def _quoted(claims: pl.DataFrame, sources: list[dict[str, Any]]) -> list[dict[str, Any]]:
    texts = {source["episode_id"]: source["content"] for source in sources}
    names = ("claim_id", "episode_id", "extractor", "operation", "fact", "confidence", "source", "event_at")
    return [
        {**{n: c[n] for n in names}, "quote": texts.get(c["episode_id"], "")[c["span_start"] : c["span_end"]]}
        for c in claims.iter_rows(named=True)
    ]


def _read(name: str, value: Any) -> Any:
    if name == "evidence":
        return orjson.loads(value)
    return value.isoformat() if isinstance(value, datetime) else value
