"""Edited rows: a new text of a row that is held lands as its next version, and what it replaces steps back.

A replaced episode keeps its text, but is context from then on, as recalled text is: nothing serves it and
nothing is derived of it. Lineage and the version land first. Which buckets have such a version is noted
before, and crossed out once what it replaces is marked, so that a killed run is gone on with. What lies in
cold storage is replaced there.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable

import polars as pl

from flows.forgotten import forgotten
from flows.job import Job
from lake import cold, tables
from transforms import versions
from transforms.claims.imported import is_memory
from transforms.owners import owner_expr
from transforms.quarantine import quarantined
from transforms.schemas import COLD, EPISODES, FORGOTTEN, LINEAGE, QUARANTINE, Table
from transforms.versions import HELD, KIND, REPLACED_TAG, Split, refusals

PENDING = "state/versions.json"
"""Numbers of buckets with versions that came, and replace what is not marked yet."""
SCOPE = ("tenant_id", "user_id", "agent_id", "session_id")
"""Columns that say whose a row is."""
_PLACES: tuple[Table, ...] = (EPISODES, COLD)
"""Tables that hold episodes whole. One that is being moved may be in both."""


def split(job: Job, episodes: pl.DataFrame, *, is_chosen: bool = False) -> Split:
    """``transforms.versions.split`` of candidates; reads their buckets only."""
    buckets = episodes["tenant_bucket"].unique().sort().to_list()
    links = links_of(job, buckets).collect()
    ids = episodes["episode_id"]
    held = _with(_held(job, buckets, ids), forgotten(job, buckets, ids, episodes))
    several = versions.contested(episodes, held, links)
    if several.height:
        links = pl.concat([links, _lost_links(job, buckets, several, links)])
        named = pl.concat([several["episode_id"], versions.named(several, links)]).unique()
        others = named.filter(~named.is_in(ids.implode()))
        gone = forgotten(job, buckets, others, _under_own_names(episodes, several))
        held = _with(_told(job, buckets, named), _held(job, buckets, named), held, gone)
    done = versions.split(episodes, held, links, is_chosen=is_chosen)
    if is_chosen or done.versions.is_empty():
        return done
    refused = _refused(job, done.versions, done.roots)
    return versions.split(episodes, held, links, refused=refused) if refused else done


def _lost_links(
    job: Job, buckets: Collection[int], several: pl.DataFrame, links: pl.DataFrame
) -> pl.DataFrame:
    """Lineage of rows that came back from an export without it: ids of versions tell whose they are."""
    roots = several.filter(~pl.col("episode_id").is_in(links["source_id"].implode()))["episode_id"]
    rows = _rows(job, buckets)
    marked = rows.filter("is_injected", pl.col("episode_id").is_in(roots.implode()))
    held = marked.select("episode_id", "tenant_bucket", *SCOPE).unique("episode_id").collect()
    if held.is_empty():
        return links.clear()
    around = rows.select(*SCOPE, version="episode_id", text="content_hash", stands=~pl.col("is_injected"))
    pairs = around.join(held.lazy(), on=SCOPE, nulls_equal=True).collect()
    found = list[tuple[str, str, int]]()
    for (root, bucket), family in pairs.group_by("episode_id", "tenant_bucket", maintain_order=True):
        texts = family.select("version", "text", "stands").iter_rows()
        named = {one: stands for one, text, stands in texts if versions.version_id(str(root), text) == one}
        before = [str(root), *(one for one, stands in named.items() if not stands)]
        found += [(one, old, bucket) for one, stands in named.items() if stands for old in before]
    return pl.DataFrame(found, schema=links.schema, orient="row")


def links_of(job: Job, buckets: Iterable[int]) -> pl.LazyFrame:
    """Lineage between versions: ``derived_id``, ``source_id``, ``tenant_bucket``."""
    rows = tables.scan(job.lake, LINEAGE, buckets=list(buckets)).filter(pl.col("derived_kind") == KIND)
    return rows.select("derived_id", "source_id", "tenant_bucket").unique()


def _held(job: Job, buckets: Collection[int], names: pl.Series) -> pl.DataFrame:
    """Ids and hashes of rows that the lake has (``versions.HELD``)."""
    wanted = names.unique().to_frame("episode_id").lazy()
    parts = [pl.DataFrame(schema=HELD)]
    # A bucket at a time: all ids of a lake of ten million rows are a gigabyte.
    for bucket in buckets:
        held = _rows(job, [bucket]).select("episode_id", "content_hash")
        parts.append(held.join(wanted, on="episode_id", how="semi").collect())
    return _with(*parts)


def _with(*parts: pl.DataFrame) -> pl.DataFrame:
    """What is known of rows, each once: what comes first counts."""
    return pl.concat(parts, how="diagonal").unique("episode_id", keep="first", maintain_order=True)


def _under_own_names(episodes: pl.DataFrame, several: pl.DataFrame) -> pl.DataFrame:
    """Candidates that are contested, under the ids that their texts have as versions."""
    keys = ["episode_id", "content_hash"]
    own = [versions.version_id(*row) for row in several.select(keys).iter_rows()]
    named = several.select(keys).with_columns(name=pl.Series(own, dtype=pl.String))
    rows = episodes.join(named, on=keys, maintain_order="left")
    return rows.with_columns(episode_id="name").select(EPISODES.names)


def _told(job: Job, buckets: Collection[int], names: pl.Series) -> pl.DataFrame:
    """``versions.HELD`` of a few rows, whole."""
    rows = _rows(job, buckets)
    return rows.filter(pl.col("episode_id").is_in(names.implode())).select(HELD.names()).collect()


def _rows(job: Job, buckets: Collection[int]) -> pl.LazyFrame:
    """Episodes, those in cold storage among them."""
    return pl.concat(
        tables.scan(job.lake, table, buckets=buckets).select(EPISODES.names) for table in _PLACES
    )


def _refused(job: Job, edited: pl.DataFrame, roots: pl.Series) -> list[str]:
    """Those versions whose very row, under the id it came with, was refused before, wherever it stood."""
    rows = refusals(edited.with_columns(episode_id=roots))
    mine = quarantined(rows, source="", policy=job.policy.redact, as_of=job.as_of, buckets=job.lake.buckets)
    buckets = edited["tenant_bucket"].unique().to_list()
    held = tables.scan(job.lake, QUARANTINE, buckets=buckets).filter(pl.col("reason") == "duplicate_id")
    raws = held.select("tenant_id", "raw").unique().collect()
    named = mine.select("tenant_id", "raw").with_columns(name=edited["episode_id"])
    return named.join(raws, on=["tenant_id", "raw"], how="semi")["name"].to_list()


def begin(job: Job, edited: pl.DataFrame, lineage: pl.DataFrame) -> None:
    """Note, before they land, in which buckets versions are about to replace something, and what it is."""
    note(job, edited["tenant_bucket"])
    mine = pl.col("derived_id").is_in(edited["episode_id"].implode())
    tables.append(job.lake, LINEAGE, lineage.filter(mine))


def note(job: Job, buckets: Iterable[int]) -> None:
    """Note buckets in which ``settle`` shall look for what is replaced and not marked."""
    wanted = sorted({*_pending(job), *buckets})
    job.lake.storage.write(PENDING, json.dumps(wanted).encode())


def is_pending(job: Job) -> bool:
    """Whether a killed commit left something to mark."""
    return bool(_pending(job))


def settle(job: Job) -> int:
    """Mark what versions have replaced, in the buckets that are noted. Returns how many rows."""
    buckets = _pending(job)
    if not buckets:
        return 0
    marked = sum(_mark(job, bucket) for bucket in buckets)
    job.lake.storage.delete(PENDING)
    return marked


def _pending(job: Job) -> list[int]:
    raw = job.lake.storage.read(PENDING)
    if raw is None:
        return []
    try:
        return sorted({int(bucket) for bucket in json.loads(raw)})
    except (ValueError, TypeError):  # torn: then every bucket is looked at
        return list(range(job.lake.buckets))


def _mark(job: Job, bucket: int) -> int:
    """Mark replaced rows of one bucket, wherever they lie."""
    links = links_of(job, [bucket]).collect()
    rows = _rows(job, [bucket]).select(derived_id="episode_id")
    landed = rows.join(links.lazy(), on="derived_id", how="semi").collect()
    replaced = links.join(landed, on="derived_id", how="semi")["source_id"].unique()
    if replaced.is_empty():
        return 0
    marked = sum(_mark_in(job, table, bucket, replaced) for table in _PLACES)
    _unlist(job, bucket, replaced)
    return marked


def _mark_in(job: Job, table: Table, bucket: int, replaced: pl.Series) -> int:
    """Mark rows of a table, a file at a time; only files that hold one are written anew."""
    is_due = pl.col("episode_id").is_in(replaced.implode()) & (~pl.col("is_injected") | is_memory())
    marked = 0
    for name in sorted(tables.data_files(job.lake, table, buckets=[bucket])):
        light = tables.scan(job.lake, table, files=[name])
        due = light.filter(is_due).select(pl.len()).collect().item()
        if due:
            tables.rewrite(job.lake, table, [name], _marked(light.collect(), is_due, job.policy.trust.tool))
            marked += due
    return marked


def _unlist(job: Job, bucket: int, replaced: pl.Series) -> None:
    """Take replaced rows that lie cold off the list of the forgotten: what rests on them is not to stand."""
    rows = tables.scan(job.lake, COLD, buckets=[bucket]).select("episode_id")
    ours = rows.filter(pl.col("episode_id").is_in(replaced.implode())).collect()
    if ours.height:
        cold.take_off(job.lake, FORGOTTEN, bucket, ours)


def _marked(rows: pl.DataFrame, is_due: pl.Expr, trust: float) -> pl.DataFrame:
    """Rows of a file, the replaced ones as context; a memory of another store is none any more."""
    tags = pl.concat_list("tags", pl.lit([REPLACED_TAG])).list.unique(maintain_order=True)
    kind = pl.when(is_memory()).then(pl.lit("observation")).otherwise("kind")
    return rows.with_columns(
        tags=pl.when(is_due).then(tags).otherwise("tags"),
        kind=pl.when(is_due).then(kind).otherwise("kind"),
        is_injected=pl.col("is_injected") | is_due,
        trust=pl.when(is_due).then(pl.min_horizontal("trust", pl.lit(trust, pl.Float32))).otherwise("trust"),
    )


def edited_sessions(job: Job, buckets: Collection[int], files: Collection[str]) -> pl.DataFrame:
    """``tenant_id``, ``owner`` and ``session_id`` of versions among the rows of some data files.

    Args:
        job: The run.
        buckets: Tenant buckets of the files.
        files: Data files of episodes.
    """
    links = links_of(job, buckets).collect()
    rows = tables.scan(job.lake, EPISODES, files=files if links.height else ())
    edited = rows.filter(pl.col("episode_id").is_in(links["derived_id"].unique().implode()))
    named = edited.with_columns(owner_expr()).select("tenant_id", "owner", "session_id")
    return named.filter(pl.col("owner").is_not_null()).unique().sort(pl.all()).collect()
