"""Which rows of which table an erasure takes: one rule a table, counted before, applied, counted after."""

from __future__ import annotations

import json
from collections.abc import Callable

import polars as pl

from flows.erase_work import Work
from lake.erasure.removal import Rule
from transforms.erasure import SPOKEN_COLUMNS, meets, names_subject
from transforms.schemas import (
    ATTEMPTS,
    CLAIMS,
    COLD,
    CONVERSATIONS,
    DECISIONS,
    EPISODES,
    FACTS,
    FORGOTTEN,
    LINEAGE,
    MODEL_RESULTS,
    PROCEDURES,
    QUARANTINE,
    RECALLS,
    SUMMARIES,
    TOPIC_MEMBERS,
    TOPICS,
    Table,
)

SCOPE = ["tenant_id", "user_id", "agent_id", "session_id"]
EPISODE_TABLES: tuple[Table, ...] = (EPISODES, COLD, FORGOTTEN)
OWNED: tuple[Table, ...] = (
    FACTS,
    DECISIONS,
    TOPICS,
    TOPIC_MEMBERS,
    SUMMARIES,
    CONVERSATIONS,
    ATTEMPTS,
    PROCEDURES,
)
"""Derived tables that are derived anew for owners who stay, and emptied of those who do not."""
RESTS_ON = {
    FACTS.name: "source_refs",
    SUMMARIES.name: "source_refs",
    ATTEMPTS.name: "source_refs",
    PROCEDURES.name: "source_refs",
    TOPIC_MEMBERS.name: "episode_id",
}
"""Column that names the episodes a row of an owned table rests on."""
Goes = Callable[[pl.DataFrame], pl.Series]


def aimed_rule(work: Work, table: Table) -> Rule:
    """Rows of a table of episodes that are the subject's by scope, by speaker or by id."""
    return _episode_rule(work, table, ~work.aim.is_held("episode_id"))


def held_rule(work: Work, table: Table) -> Rule:
    """Rows that would go but for a legal hold."""
    return _episode_rule(work, table, work.aim.is_held("episode_id"))


def _episode_rule(work: Work, table: Table, wanted: pl.Expr) -> Rule:
    """Rows of a table of episodes that are the subject's, of those that are wanted."""
    has_speaker = "speaker" in table.names
    columns = [*(SPOKEN_COLUMNS if has_speaker else SCOPE), "episode_id"]
    ids = work.values("episode", "wanted")
    aim = work.aim.is_aimed(has_speaker=has_speaker)

    def goes(rows: pl.DataFrame) -> pl.Series:
        mine = pl.col("tenant_id") == work.tenant
        named = (pl.lit(meets(rows, "episode_id", ids)) & mine).fill_null(False)
        return rows.select((aim | named) & wanted).to_series()

    return Rule(table, columns, goes, work.buckets)


def quarantine_rule(work: Work) -> Rule:
    """Refused rows of the subject: by user, by what their text names, or of the same source row."""
    buckets = {*work.buckets, work.lake.bucket("")}
    columns = ["tenant_id", "user_id", "raw", "source_file", "source_line"]
    return Rule(QUARANTINE, columns, quarantine_goes(work), buckets)


def quarantine_goes(work: Work) -> Goes:
    """See ``quarantine_rule``."""
    aim, subject = work.aim, work.aim.subject
    places = {(row[0], row[1]) for row in work.rows("place").iter_rows()}
    forms = sorted({form for name in aim.names for form in _json_forms(name)})
    is_held = aim.is_held()

    def goes(rows: pl.DataFrame) -> pl.Series:
        scoped = rows.with_columns(agent_id=pl.lit(None, pl.String), session_id=pl.lit(None, pl.String))
        is_mine = pl.col("tenant_id") == subject.tenant
        own = subject.owns() if subject.kind in ("tenant", "user") else pl.lit(False)
        looked = is_mine | pl.col("tenant_id").is_null()
        nobody = pl.col("user_id").is_null() | pl.col("user_id").eq_missing(pl.lit(subject.user, pl.String))
        found = scoped.select(
            own=own,
            names=(looked & nobody & pl.col("raw").str.contains_any(forms)).fill_null(False),
            place=(is_mine & nobody & pl.col("source_line").is_not_null()).fill_null(False),
            held=is_held,
        )
        picked = [
            row["own"]
            or (row["names"] and names_subject(raw, aim))
            or (row["place"] and (file, str(line)) in places)
            for row, raw, file, line in zip(
                found.iter_rows(named=True),
                rows["raw"],
                rows["source_file"],
                rows["source_line"],
                strict=True,
            )
        ]
        return pl.Series("goes", picked, dtype=pl.Boolean) & ~found["held"]

    return goes


def _json_forms(name: str) -> set[str]:
    """How a name may stand in raw text."""
    return {name, json.dumps(name)[1:-1], json.dumps(name, ensure_ascii=False)[1:-1]}


def recalls_rule(work: Work) -> Rule:
    """Recalls that the subject asked for, or that showed what is erased."""
    shown = work.values("episode", "derived")
    own, kept = work.aim.subject.owns(), ~work.aim.is_held("memory_id")

    def goes(rows: pl.DataFrame) -> pl.Series:
        mine = pl.col("tenant_id") == work.tenant
        return rows.select((own | (pl.lit(meets(rows, "memory_id", shown)) & mine)) & kept).to_series()

    return Rule(RECALLS, [*SCOPE, "memory_id"], goes, work.buckets)


def source_rules(work: Work) -> list[Rule]:
    """Claims, kept answers and lineage of what is erased."""
    ids, derived = work.values("episode"), work.values("derived_gone")
    named = ((CLAIMS, "episode_id"), (MODEL_RESULTS, "source_refs"))
    return [
        *(_named(work, table, column, ids) for table, column in named),
        Rule(
            LINEAGE,
            ["tenant_id", "source_id", "derived_id"],
            lambda rows: (
                (meets(rows, "source_id", ids) | meets(rows, "derived_id", pl.concat([derived, ids])))
                & (rows["tenant_id"] == work.tenant)
            ),
            work.buckets,
        ),
    ]


def _named(work: Work, table: Table, column: str, ids: pl.Series) -> Rule:
    return Rule(
        table,
        ["tenant_id", column],
        lambda rows: meets(rows, column, ids) & (rows["tenant_id"] == work.tenant),
        work.buckets,
    )


def gone_rule(work: Work, table: Table) -> Rule:
    """Rows of owners of whom nothing remains."""
    owners = work.values("owner_gone")

    def goes(rows: pl.DataFrame) -> pl.Series:
        return meets(rows, "owner", owners) & (rows["tenant_id"] == work.tenant)

    return Rule(table, ["tenant_id", "owner"], goes, work.buckets)


def resting_rule(work: Work, table: Table) -> Rule:
    """Rows of owners of whom nothing remains, and rows that rest on something erased."""
    owners, ids, claims = work.values("owner_gone"), work.values("episode"), work.values("claim")
    columns = ["tenant_id", "owner"]
    by = [(column, ids) for column in [RESTS_ON.get(table.name)] if column]
    if table is FACTS:
        by.append(("claim_ids", claims))
    if table is DECISIONS:
        by.append(("item_id", claims))

    def goes(rows: pl.DataFrame) -> pl.Series:
        found = meets(rows, "owner", owners)
        for column, wanted in by:
            found = found | meets(rows, column, wanted)
        return found & (rows["tenant_id"] == work.tenant)

    return Rule(table, [*columns, *(column for column, _ in by)], goes, work.buckets)


def all_rules(work: Work) -> list[Rule]:
    """Every rule: what is counted before, and must meet nothing afterwards."""
    return [
        *(aimed_rule(work, table) for table in EPISODE_TABLES),
        quarantine_rule(work),
        recalls_rule(work),
        *source_rules(work),
        *(resting_rule(work, table) for table in OWNED),
    ]


def direct_rules(work: Work) -> list[Rule]:
    """Rules that are applied as they are; rows of owners who stay are derived anew instead."""
    return [
        *(aimed_rule(work, table) for table in EPISODE_TABLES),
        quarantine_rule(work),
        recalls_rule(work),
        *source_rules(work),
        *(gone_rule(work, table) for table in OWNED),
    ]
