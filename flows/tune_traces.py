"""The recalls that are replayed: from the lake or from a file, with what was of use, and their memories."""

from __future__ import annotations

import argparse
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl

from flows import setup
from flows.config import Config
from flows.tune_labels import Labels, labels_of
from flows.tune_memories import memories_of, texts_of
from flows.tune_trace_file import read_recalls
from flows.tune_trace_lake import lake_recalls
from lake.lake import Lake
from transforms.errors import UsageError
from transforms.policy import Policy
from transforms.replay.calls import REPLAYED, Calls, calls_of
from transforms.replay.memory_rows import MEMORY_SCHEMA, completed
from transforms.rights_tables import RECALLS

BEGINNING = datetime.fromtimestamp(0, UTC)


@dataclass(frozen=True)
class TracesWanted:
    """Which recalls.

    Attributes:
        tenant: Of this tenant only; None: of every one.
        user: Of this user only.
        agent: Of this agent only.
        session: Of this session only.
        file: Parquet file of recalls; None: those of the lake.
        labels: ``auto``, ``used``, ``feedback``, ``echo``, or a file of call_id (or query), memory_id, gain.
    """

    tenant: str | None = None
    user: str | None = None
    agent: str | None = None
    session: str | None = None
    file: str | None = None
    labels: str = "auto"

    @classmethod
    def of(cls, options: argparse.Namespace) -> TracesWanted:
        """From the flags of a verb; those that it does not have are left open.

        Raises:
            UsageError: A user, agent or session is named without a tenant.
        """
        parts = {name: getattr(options, name, None) for name in ("tenant", "user", "agent", "session")}
        if not parts["tenant"] and any(parts.values()):
            raise UsageError("a user, agent or session is of a tenant", "Pass --tenant as well.")
        return cls(**parts, file=getattr(options, "traces", None), labels=getattr(options, "labels", "auto"))

    def scope(self, names: Sequence[str] = ("user_id", "agent_id", "session_id")) -> list[pl.Expr]:
        """Conditions on rows, but that on the tenant."""
        given = {"user_id": self.user, "agent_id": self.agent, "session_id": self.session}
        return [pl.col(name) == given[name] for name in names if given[name] is not None]


@dataclass(frozen=True)
class Traces:
    """Recalls of a window, labelled.

    Attributes:
        calls: The labelled calls: those of which it is known that a candidate was of use. Their rows have
            ``gain``, Float64: 1 of use, 0 not, null not known.
        recalls: ``schemas.RECALLS`` of every call of the window that is in scope, labelled or not.
        accesses: The same of whatever anybody was given until the as-of, also before the window and by
            bringing cold episodes back: what states of access are made of.
        memories: ``memory_rows.MEMORY_SCHEMA`` of all memories in scope, also of those never recalled; of a
            file, of those in it.
        as_of: The instant that the window ends at.
        label: What the labels come from: used, feedback, echo, imported; none where there are none.
        labelled: Labelled calls by source, of each that was looked at.
        notes: What a reader of the result has to know, one sentence each; no content.
        lake: Where memories and texts come from; None where there is only a file.
    """

    calls: Calls
    recalls: pl.DataFrame
    accesses: pl.DataFrame
    memories: pl.DataFrame
    as_of: datetime
    label: str
    labelled: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    lake: Lake | None = field(default=None, repr=False)
    held_texts: pl.DataFrame | None = field(default=None, repr=False)

    def texts(self, memory_ids: Collection[str]) -> dict[str, str]:
        """Texts of some memories, as far as they are still held: for showing a few, not for reading all."""
        wanted = self.memories.filter(pl.col("memory_id").is_in(sorted(set(memory_ids))))
        parts = [] if self.lake is None or wanted.is_empty() else [texts_of(self.lake, wanted)]
        if self.held_texts is not None:
            parts.append(self.held_texts.join(wanted, on=["tenant_id", "memory_id"], how="semi"))
        return {
            name: text
            for part in parts
            for name, text in part.select("memory_id", "text").iter_rows()
            if text
        }


def traces_of(options: argparse.Namespace, config: Config | None = None) -> Traces:
    """The traces of a call of ``tune``; with ``--traces`` it needs no lake.

    Without ``--as-of`` the traces of a file end at its newest call, those of a lake now.

    Raises:
        UsageError: No lake and no file is named.
        InputError: The file is missing, or is not in the shape of the table.
    """
    config = config or setup.config_of(options)
    wanted, as_of = TracesWanted.of(options), setup.as_of(options)
    is_named = options.lake or os.environ.get("SLOWWAVE_LAKE") or config.lake
    lake = setup.lake_of(options, config) if is_named or wanted.file is None else None
    if wanted.file is None:
        as_of = as_of or datetime.now(UTC)
    return load_traces(lake, config.policy, as_of, wanted)


def load_traces(lake: Lake | None, policy: Policy, as_of: datetime | None, wanted: TracesWanted) -> Traces:
    """Recalls of ``tune.window_days`` before the as-of, and what was of use in them.

    Args:
        lake: Where; None with a file.
        policy: Section ``tune``.
        as_of: Later recalls are not known; None with a file: its newest call.
        wanted: Which.

    Raises:
        UsageError: Neither lake nor file, or no as-of with a lake.
        InputError: A file is missing, or is not in the shape of the table.
        LakeError: The lake cannot be read.
    """
    window = timedelta(days=policy.tune.window_days)
    if wanted.file is not None:
        every = read_recalls(Path(wanted.file))
        as_of = as_of or _newest(every)
        rows = every.filter(*_within(as_of, window), *_whose(wanted))
        accesses = every.filter("is_returned", pl.col("recalled_at") <= as_of).select(RECALLS.names)
    elif lake is None or as_of is None:
        raise UsageError("no recalls named", "Name a lake with --lake, or a file with --traces.")
    else:
        rows = lake_recalls(lake, as_of - window, as_of, wanted.tenant, wanted.scope())
        accesses = lake_recalls(lake, BEGINNING, as_of, wanted.tenant, [pl.col("is_returned")])
    given = rows.filter(pl.col("verb").is_in(REPLAYED))
    recalls, texts = given.select(RECALLS.names), _texts_in(given)
    labels = labels_of(lake, policy.tune, given, texts, wanted.labels, as_of)
    return Traces(
        calls_of(labels.rows),
        recalls,
        accesses,
        _memories(lake, recalls, texts, wanted),
        as_of,
        labels.source,
        labels.found,
        _notes(recalls, labels),
        lake,
        texts,
    )


def _newest(rows: pl.DataFrame) -> datetime:
    """When the last call was made; the beginning of time where there is none."""
    newest: datetime | None = rows.select(pl.col("recalled_at").max()).item()
    return newest or BEGINNING


def _within(as_of: datetime, window: timedelta) -> list[pl.Expr]:
    at = pl.col("recalled_at")
    return [at > as_of - window, at <= as_of]


def _whose(wanted: TracesWanted) -> list[pl.Expr]:
    tenant = [pl.col("tenant_id") == wanted.tenant] if wanted.tenant is not None else []
    return [*tenant, *wanted.scope()]


def _texts_in(rows: pl.DataFrame) -> pl.DataFrame | None:
    """Texts that a file brings along."""
    if "text" not in rows.columns:
        return None
    told = rows.filter(pl.col("text").is_not_null()).sort("recalled_at", "call_id", "rank")
    return told.select("tenant_id", "memory_id", "text").unique(
        ["tenant_id", "memory_id"], keep="last", maintain_order=True
    )


def _memories(
    lake: Lake | None, recalls: pl.DataFrame, texts: pl.DataFrame | None, wanted: TracesWanted
) -> pl.DataFrame:
    """Memories of the lake, and those that only recalls know of, as long as the text that came with them."""
    tenants = {wanted.tenant} if wanted.tenant is not None else set(recalls["tenant_id"].unique())
    held = pl.DataFrame(schema=MEMORY_SCHEMA)
    if lake is not None and tenants:
        # A person's answers may hold what belongs to no person; sessions bound calls, not memories.
        scope = [e | n for e, n in _open_scope(wanted)]
        held = memories_of(lake, tenants, scope)
    every = completed(held, recalls)
    if texts is None:
        return every
    told = texts.select("tenant_id", "memory_id", chars=pl.col("text").str.len_chars().cast(pl.Int64))
    known = every.join(told, on=["tenant_id", "memory_id"], how="left", maintain_order="left")
    return known.with_columns(pl.coalesce("content_chars", "chars").alias("content_chars")).drop("chars")


def _open_scope(wanted: TracesWanted) -> list[tuple[pl.Expr, pl.Expr]]:
    names = ("user_id", "agent_id")
    return [(e, pl.col(e.meta.root_names()[0]).is_null()) for e in wanted.scope(names)]


def _notes(recalls: pl.DataFrame, labels: Labels) -> tuple[str, ...]:
    calls = recalls["call_id"].n_unique()
    policies = recalls["policy_hash"].n_unique()
    notes = [f"{calls:,} calls in the window; {labels.told}", *labels.notes]
    if labels.source in ("used", "echo"):
        notes.append("candidates that were not shown count as of no use: nothing else is known of them")
    if policies > 1:
        notes.append(f"the calls were answered under {policies} policies")
    return tuple(notes)
