"""What an erasure takes, found before anything goes: ids, owners, sentences, and counts by store."""

from __future__ import annotations

from typing import Any

import polars as pl

from flows.erase_rules import (
    EPISODE_TABLES,
    OWNED,
    aimed_rule,
    all_rules,
    gone_rule,
    held_rule,
    recalls_rule,
    resting_rule,
    source_rules,
)
from flows.erase_sharing import note_copies
from flows.erase_work import Work
from lake import tables
from lake.erasure.history import totals
from lake.erasure.removal import count, files_of, matching
from transforms.derived_memories import PUBLISHED
from transforms.erasure import SPOKEN_COLUMNS, TEXTS, sentences, sources_of
from transforms.owners import owner_expr
from transforms.schemas import (
    CLAIMS,
    CONVERSATIONS,
    DERIVED,
    EPISODES,
    FORGOTTEN,
    TOPIC_MEMBERS,
    TOPICS,
    Table,
)

MOST_ROWS = 20_000
"""Rows whose sentences are looked for afterwards; ids are hashes, so the first by id are a fair sample."""
MOST_SENTENCES = 20_000
"""Sentences that are looked for: a machine of 20,000 patterns reads as fast as one of a hundred."""


def collect(work: Work) -> None:
    """Find what goes, and keep it: from here on a killed erasure knows what it was about."""
    with tables.held_open():
        find(work)
        _count_before(work)
    work.save_targets()
    work.save()


def find(work: Work) -> None:
    """Note ids, owners, sentences and places of what goes; writes nothing."""
    if work.aim.subject.kind == "memory":
        _resolve(work)
    elif work.aim.aliases or work.aim.subject.kind == "user":
        _spoken_claims(work)
    _episodes(work)
    _owners(work)
    _derived(work)
    _recalled(work)


def _recalled(work: Work) -> None:
    """Ids of what was recalled by calls that go: of what stays, the index tells how often and when last."""
    rows = matching(work.lake, recalls_rule(work), ["memory_id"])
    gone = set(work.values("episode", "derived"))
    work.add("recalled", sorted(set(rows["memory_id"].drop_nulls()) - gone))


def _episodes(work: Work) -> None:
    """Ids, sessions, owners and sentences of the episodes that go, and ids of those that a hold keeps."""
    for table in EPISODE_TABLES:
        names = [n for n in ("speaker", "source_file", "source_line") if n in table.names]
        scope = ["episode_id", "tenant_id", "user_id", "agent_id", "session_id", "event_at"]
        rows = matching(work.lake, aimed_rule(work, table), [*scope, *names]).with_columns(owner_expr())
        work.add("episode", rows["episode_id"].to_list())
        _note(work, "owner", rows.drop_nulls("owner"), "owner", None)
        _note(work, "session", rows.drop_nulls(["owner", "session_id"]), "session_id", "owner")
        if names:
            placed = rows.drop_nulls(["source_file", "source_line"])
            _note(work, "place", placed, "source_file", "source_line")
            _spoken(work, rows)
        _latest(work, rows)
    note_copies(work)
    _orphans(work)
    _sentences(work, EPISODES)


def _orphans(work: Work) -> None:
    """Episodes that were named and are not here any more: what rests on them goes all the same."""
    kept: set[str] = set()
    for table in EPISODE_TABLES:
        kept |= set(matching(work.lake, held_rule(work, table), ["episode_id"])["episode_id"])
    work.add("episode", sorted(set(work.values("wanted")) - kept))


def _note(work: Work, kind: str, rows: pl.DataFrame, value: str, more: str | None) -> None:
    other = pl.lit(None, pl.String) if more is None else pl.col(more).cast(pl.String)
    frame = rows.select(pl.lit(kind).alias("kind"), pl.col(value).alias("value"), other.alias("more"))
    work.add_frame(frame.unique())


def _spoken(work: Work, rows: pl.DataFrame) -> None:
    """Rows that no tombstone of the user keeps from coming back: each gets one of its own."""
    if work.aim.subject.kind == "user":
        said = rows.filter(work.aim.is_spoken())
        work.add("spoken", said["episode_id"].to_list())


def _latest(work: Work, rows: pl.DataFrame) -> None:
    """The last instant of what goes: a clock that ran ahead must not bring it back."""
    last = rows["event_at"].max()
    if last is not None:
        known = work.evidence.get("last_event_at")
        now = last.isoformat()  # type: ignore[union-attr]
        work.evidence["last_event_at"] = now if known is None else max(known, now)


def _sentences(work: Work, table: Table) -> None:
    """Sentences of some of the episodes that go."""
    columns = ["episode_id", *TEXTS[table.name]]
    ids = work.values("episode").head(MOST_ROWS)
    rows = (
        tables.scan(work.lake, table, buckets=work.buckets)
        .select(columns)
        .join(ids.alias("episode_id").to_frame().lazy(), on="episode_id", how="semi")
        .collect(engine="streaming")
    )
    _note_sentences(work, rows, TEXTS[table.name])


def _note_sentences(work: Work, rows: pl.DataFrame, columns: tuple[str, ...], kind: str = "text") -> None:
    room = MOST_SENTENCES - work.values(kind).len()
    found = sentences((text for name in columns for text in rows[name]), max(room, 0))
    work.add(kind, found)


def _spoken_claims(work: Work) -> None:
    """Episodes that the user spoke under an agent and that retention took out: only claims know who spoke."""
    rows = tables.scan(work.lake, CLAIMS, buckets=work.buckets).select(*SPOKEN_COLUMNS, "episode_id")
    said = rows.filter(work.aim.is_spoken() & ~work.aim.is_held("episode_id"))
    work.add("episode", said.select("episode_id").unique().collect()["episode_id"].to_list())


def _owners(work: Work) -> None:
    """Whose derived rows are touched, and of which of them nothing remains."""
    tenant = pl.col("tenant_id") == work.tenant
    work.add("owner", work.aim.owners)
    if work.aim.subject.kind == "tenant":
        for table in (*OWNED, CLAIMS):
            rows = tables.scan(work.lake, table, buckets=work.buckets).filter(tenant)
            work.add("owner", rows.select("owner").unique().collect()["owner"].to_list())
    owners = work.values("owner")
    sessions = work.values("session")
    remaining = _remaining(work, pl.concat([owners, sessions]))
    kinds = ["owner_gone", "owner_stays", "session_gone"]
    work.targets = work.targets.filter(~pl.col("kind").is_in(kinds))
    work.add("owner_stays", sorted(set(owners) & remaining))
    work.add("owner_gone", sorted(set(owners) - remaining))
    work.add("session_gone", sorted(set(sessions) - remaining))


def _remaining(work: Work, wanted: pl.Series) -> set[str]:
    """Those of some owners and sessions that keep an episode, here or forgotten."""
    found: set[str] = set()
    for table in (EPISODES, FORGOTTEN):
        rule = aimed_rule(work, table)
        for name in files_of(work.lake, table, work.buckets):
            rows = tables.scan(work.lake, table, files=[name]).select(list(rule.columns)).collect()
            stays = rows.filter(~rule.goes(rows) & (rows["tenant_id"] == work.tenant))
            for told in (owner_expr(), pl.col("session_id")):
                found |= set(stays.select(told).to_series().unique().drop_nulls())
    return found & set(wanted)


def _derived(work: Work) -> None:
    """Ids and sentences of what rests on what goes, and ids of all that is published of its owners."""
    of_claims, of_answers, *_ = source_rules(work)
    claims = matching(work.lake, of_claims, ["claim_id", "fact"])
    work.add("answer", matching(work.lake, of_answers, ["result_id"])["result_id"].to_list())
    work.add("claim", claims["claim_id"].to_list())
    _note_sentences(work, claims, TEXTS[CLAIMS.name], "derived_text")
    for table in OWNED:
        texts = TEXTS.get(table.name, ())
        key = table.key[0]
        rows = matching(work.lake, resting_rule(work, table), [key, *texts])
        work.add("derived", rows[key].to_list())
        _note_sentences(work, rows.head(MOST_ROWS), texts, "derived_text")
        gone = matching(work.lake, gone_rule(work, table), [key])
        work.add("derived_gone", gone[key].to_list())
    touched = work.values("owner").to_list()
    for table in PUBLISHED:
        held = tables.scan(work.lake, table, buckets=work.buckets)
        mine = held.filter((pl.col("tenant_id") == work.tenant) & pl.col("owner").is_in(touched))
        work.add(
            "published", mine.select(pl.col(table.key[0]).alias("id")).unique().collect()["id"].to_list()
        )


def _count_before(work: Work) -> None:
    """Rows of each store, and the files they lie in; what a try that was killed counted first stands."""
    stores: dict[str, Any] = work.evidence.setdefault("stores", {})
    earlier = work.evidence.get("earlier", {})
    for rule in all_rules(work):
        found, name = count(work.lake, rule), rule.table.name
        told = {"before": found.rows, "files_rewritten": len(found.files), "bytes_rewritten": found.bytes}
        gone = earlier.get(name, {})
        stores.setdefault(name, {n: value + gone.get(n, 0) for n, value in told.items()})
    held = {t.name: rows for t in EPISODE_TABLES if (rows := count(work.lake, held_rule(work, t)).rows)}
    work.evidence["held"] = held
    if "lake_before" not in work.evidence:
        work.evidence["lake_before"] = totals(work.lake)
        places = [e.key for prefix in ("tables", "index") for e in work.lake.storage.entries(prefix)]
        work.add("file", [key for key in places if "/_delta_log/" not in key])
    work.evidence["owners"] = {
        "gone": work.values("owner_gone").len(),
        "derived_anew": work.values("owner_stays").len(),
    }


def _resolve(work: Work) -> None:
    """The episodes that one memory rests on; an episode rests on itself."""
    wanted = work.aim.subject.memory or ""
    tenant = pl.col("tenant_id") == work.tenant
    for table in EPISODE_TABLES:
        held = tables.scan(work.lake, table, buckets=work.buckets).filter(tenant)
        if held.filter(pl.col("episode_id") == wanted).head(1).collect().height:
            work.add("wanted", [wanted])
            return
    for table in DERIVED:
        if len(table.key) != 1:
            continue
        rows = tables.scan(work.lake, table, buckets=work.buckets).filter(tenant)
        named = rows.filter(pl.col(table.key[0]) == wanted).collect()
        if named.height:
            work.add("derived_named", [wanted], table.name)
            _rests_on(work, table, wanted, named)


def _rests_on(work: Work, table: Table, wanted: str, rows: pl.DataFrame) -> None:
    """Episodes behind a derived row: by its references, by its topic's members, or by its conversation."""
    if table is TOPICS:
        members = _of_tenant(work, TOPIC_MEMBERS).filter(pl.col("topic_id") == wanted)
        work.add("wanted", members.collect()["episode_id"].unique().to_list())
        return
    if table is CONVERSATIONS:
        _of_conversations(work, rows)
        return
    found = sources_of(wanted, table, rows)
    work.add("wanted", found.get("episodes", []))
    named = found.get("conversations", [])
    if named:
        held = _of_tenant(work, CONVERSATIONS).filter(pl.col("conversation_id").is_in(named))
        _of_conversations(work, held.collect())


def _of_conversations(work: Work, conversations: pl.DataFrame) -> None:
    keys = conversations.select("tenant_id", "owner", "session_id").unique()
    for table in EPISODE_TABLES:
        rows = _of_tenant(work, table).with_columns(owner_expr())
        mine = rows.join(keys.lazy(), on=keys.columns, how="semi", nulls_equal=True)
        work.add("wanted", mine.select("episode_id").collect()["episode_id"].to_list())


def _of_tenant(work: Work, table: Table) -> pl.LazyFrame:
    rows = tables.scan(work.lake, table, buckets=work.buckets)
    return rows.filter(pl.col("tenant_id") == work.tenant)
