"""What if another policy were in force: rows that would go, and uses that it would have lost."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

from flows import retain_state, what_if_read
from flows.config import policy_over
from flows.job import Job
from flows.report_files import plain_rows, require_folder, write_files
from flows.retain_plan import Instructions
from flows.setup import Output, job_of
from flows.tune_memories import texts_of
from lake import tables
from transforms.errors import UsageError
from transforms.forgetting import regret as regrets
from transforms.forgetting import what_if
from transforms.forgetting.what_if import SIDES
from transforms.policy import Policy
from transforms.replay.changes import differences
from transforms.replay.survival import Past
from transforms.subjects import Subject

NAME = "what-if"
EXAMPLES = 20
"""Memories that are named as examples of what would have been lost."""
EXAMPLE_CHARS = 160
"""Characters of their text that are shown."""
DAYS = (0.25, 0.5, 1, 2, 3, 5, 7, 10, 14, 21, 30, 45, 60, 90, 120, 180, 270, 365, 545, 730, 1_095)
"""Ages and times without an access at which losses are counted."""
SCORES = tuple(step / 50 for step in range(1, 51))
"""Retention scores at which losses are counted."""
MARKS = {"age_days": DAYS, "idle_days": DAYS, "score": SCORES}
_COUNTS = ("rows", "content_bytes")
_LOST = (
    "uses",
    "memories",
    "lost_more",
    *(f"{name}_{side}" for name in ("lost", "lost_memories") for side in SIDES),
)


@dataclass(frozen=True)
class WhatIf:
    """The answer before it is written.

    Attributes:
        figures: Single values, as JSON has them.
        tables: Every table by name; each becomes a CSV and a Parquet file.
        changes: Keys in which the policies differ, with the value of each.
        notes: What a reader has to know, a sentence each.
    """

    figures: Mapping[str, Any]
    tables: Mapping[str, pl.DataFrame]
    changes: list[dict[str, Any]]
    notes: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """The whole answer as JSON: every number that the page shows stands here."""
        told = {name: plain_rows(rows) for name, rows in self.tables.items()}
        return {**self.figures, "changes": self.changes, "notes": list(self.notes), "tables": told}


@dataclass
class _Found:
    """What the buckets came to so far; counts, and of uses a few examples."""

    verdicts: list[pl.DataFrame] = field(default_factory=list)
    regret: list[pl.DataFrame] = field(default_factory=list)
    reasons: list[pl.DataFrame] = field(default_factory=list)
    thresholds: list[pl.DataFrame] = field(default_factory=list)
    examples: list[pl.DataFrame] = field(default_factory=list)
    unknown: int = 0
    first_at: datetime | None = None


def what_if_output(options: argparse.Namespace) -> Output:
    """The verb: files into a folder, a summary on the screen.

    Raises:
        UsageError: The folder lies inside the lake or is a file, or a user is named without a tenant.
        ConfigError: The policy cannot be read.
        StorageError: The folder cannot be written.
    """
    from flows.what_if_page import what_if_html, what_if_text

    job, out = job_of(options), Path(options.out)
    require_folder(job.lake, out)
    new = policy_over(options.config, options.policy)
    answer = asked_what_if(job, new, subject_of(options))
    write_files(out, NAME, what_if_html(answer), answer.as_dict(), answer.tables)
    told = {"out": str(out), **answer.as_dict()}
    return Output(told, f"{what_if_text(answer)}\npage: {out / f'{NAME}.html'}")


def subject_of(options: argparse.Namespace) -> Subject | None:
    """Whose rows are looked at; None is everybody's.

    Raises:
        UsageError: A user, agent or session is named without a tenant.
    """
    if options.tenant:
        return Subject(options.tenant, options.user, options.agent, options.session)
    if options.user or options.agent or options.session:
        raise UsageError("a user, agent or session is of a tenant", "Pass --tenant as well.")
    return None


def asked_what_if(job: Job, new: Policy, subject: Subject | None = None) -> WhatIf:
    """Judge the lake as it is now, and its recalls as they were, under the job's policy and another one.

    One tenant bucket is held at a time. Nothing is written into the lake.

    Args:
        job: The lake, the instant, and the policy in force.
        new: The other policy.
        subject: Only rows of it, and of uses those of its calls; None is all.

    Raises:
        LakeError: The lake or an instruction in it is damaged.
    """
    found = _Found()
    told = Instructions(retain_state.instructions_of(job))
    buckets = range(job.lake.buckets) if subject is None else [job.lake.bucket(subject.tenant)]
    with tables.held_open(), job.progress.task("what if", len(buckets), "buckets") as advance:
        for bucket in buckets:
            _judge(job, told, new, bucket, subject, found)
            _look_back(job, told, new, bucket, subject, found)
            advance(1)
        held = _tables(job, found, subject)
        return WhatIf(_figures(job, new, held, found, subject), held, _changes(job, new), _notes(held, found))


def _judge(
    job: Job, told: Instructions, new: Policy, bucket: int, subject: Subject | None, found: _Found
) -> None:
    """What becomes of the rows of a bucket now."""
    sizes = what_if_read.sizes_in(job, bucket)
    current, other = (
        what_if_read.verdicts_in(job, told, policy, bucket, sizes, subject) for policy in (job.policy, new)
    )
    found.verdicts.append(what_if.compared(current, other))


def _look_back(
    job: Job, told: Instructions, new: Policy, bucket: int, subject: Subject | None, found: _Found
) -> None:
    """What callers of a bucket were given, and what they would have missed."""
    tenants = what_if_read.tenants_in(job.lake, bucket, subject)
    if not tenants:
        return
    recalls = what_if_read.recalls_in(job, bucket, tenants)
    given = what_if_read.given_in(recalls, subject)
    if given.is_empty():
        return
    memories = what_if_read.memories_in(job, tenants, recalls)
    past = Past.made(given.drop("call_id", "is_used"), memories, recalls, told.wishes)
    used = regrets.uses(past, given, job.policy, new)
    found.regret.append(regrets.regret(used))
    found.reasons.append(regrets.lost_by_reason(used))
    found.thresholds.append(regrets.thresholds(used, MARKS))
    found.examples.append(regrets.worst(used, EXAMPLES))
    found.unknown += used.filter(~pl.col("is_there")).height
    first = given["at"][0]
    found.first_at = first if found.first_at is None else min(found.first_at, first)


def _tables(job: Job, found: _Found, subject: Subject | None) -> dict[str, pl.DataFrame]:
    counts = what_if.summed(
        _both(found.verdicts, what_if.compared(*[_NO_ROWS] * 2)), what_if.VERDICTS, _COUNTS
    )
    regret = _both(found.regret, regrets.regret(_NO_USES)).sort("use", "tenant_id", "kind")
    marks = _both(found.thresholds, regrets.thresholds(_NO_USES, MARKS))
    removed = what_if_read.removed_before(job)
    return {
        "rows": what_if.going(counts, what_if.WHERE),
        "rows_by_table": what_if.going(counts, ("table",)),
        "rows_by_kind": what_if.going(counts, ("table", "kind")),
        "rows_by_tier": what_if.going(counts, ("tier",)),
        "rows_by_tenant": what_if.going(counts, ("tenant",)),
        "reasons": what_if.reasons(counts, ("table",)),
        "verdicts": counts,
        "regret": _shared(regret),
        "regret_by_kind": _shared(what_if.summed(regret, ("use", "kind"), _LOST)),
        "regret_by_tenant": _shared(what_if.summed(regret, ("use", "tenant_id"), _LOST)),
        "regret_by_reason": what_if.summed(
            _both(found.reasons, regrets.lost_by_reason(_NO_USES)),
            ("use", "kind", "reason"), [f"lost_{side}" for side in SIDES],
        ),
        "thresholds": regrets.shares(marks, ("measure", "use", "kind", "threshold")),
        "thresholds_of_all": regrets.shares(marks, ("measure", "use", "threshold")),
        "examples": _examples(job, found),
        "removed_before": removed if subject is None else removed.clear(),
    }  # fmt: skip


def _shared(lost: pl.DataFrame) -> pl.DataFrame:
    return lost.with_columns(
        (pl.col(f"lost_{side}") / pl.col("uses")).alias(f"lost_ratio_{side}") for side in SIDES
    )


_NO_ROWS = pl.DataFrame(schema={"key": pl.String, **dict(what_if.ROW_SCHEMA.items())})
_NO_USES = pl.DataFrame(schema=regrets.USE_SCHEMA)


def _both(frames: list[pl.DataFrame], empty: pl.DataFrame) -> pl.DataFrame:
    return pl.concat([empty, *frames])


def _examples(job: Job, found: _Found) -> pl.DataFrame:
    """The worst of all buckets, with the text that the lake still has of them."""
    merged = regrets.ranked(_both(found.examples, regrets.worst(_NO_USES, 0))).head(EXAMPLES)
    texts = merged.select("tenant_id", "memory_id", pl.lit(None, pl.String).alias("text")).clear()
    if merged.height:
        texts = texts_of(job.lake, merged).select("tenant_id", "memory_id", "text")
    short = pl.col("text").str.slice(0, EXAMPLE_CHARS)
    on = ["tenant_id", "memory_id"]
    return merged.join(texts.with_columns(short), on=on, how="left", maintain_order="left")


def _figures(
    job: Job, new: Policy, held: Mapping[str, pl.DataFrame], found: _Found, subject: Subject | None
) -> dict[str, Any]:
    counts = held["verdicts"]
    index = what_if_read.index_of(job.lake)
    row_bytes = index[1] / index[0] if index and index[0] and index[1] else None
    served = what_if.standing(counts)
    size = {side: None if row_bytes is None else round(rows * row_bytes) for side, rows in served.items()}
    lost = what_if.summed(held["regret"], ("use",), _LOST)
    return {
        "lake_id": job.lake.lake_id,
        "as_of": job.as_of.isoformat(),
        "written_at": datetime.now(UTC).isoformat(),
        "scope": None if subject is None else subject.as_dict(),
        "policy_hash_current": job.policy.hash(),
        "policy_hash_new": new.hash(),
        "now": what_if.going(counts, ()).row(0, named=True),
        "index": {"row_bytes": row_bytes, "rows": served, "bytes": size},
        "regret": {use: _of_use(lost, use) for use in regrets.USES},
        "recalls_since": None if found.first_at is None else found.first_at.isoformat(),
        "uses_not_in_lake": found.unknown,
        "removed_before": int(held["removed_before"]["rows"].sum()),
    }


def _of_use(lost: pl.DataFrame, use: str) -> dict[str, Any]:
    """Counts of one sort of use, and the share that would have been lost; null where there was none."""
    rows = lost.filter(pl.col("use") == use)
    counts: dict[str, Any] = {name: int(rows[name].sum()) for name in _LOST}
    uses = counts["uses"]
    return counts | {f"lost_ratio_{side}": counts[f"lost_{side}"] / uses if uses else None for side in SIDES}


def _changes(job: Job, new: Policy) -> list[dict[str, Any]]:
    return [
        {"key": key, "current": _plain(current), "new": _plain(other)}
        for key, (current, other) in differences(job.policy, new).items()
    ]


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value


def _notes(held: Mapping[str, pl.DataFrame], found: _Found) -> tuple[str, ...]:
    removed = int(held["removed_before"]["rows"].sum())
    told = [
        "A memory that the current policy has removed already cannot be asked for any more: what would have"
        " been made of it under a more lenient policy is not in the log, so that the gain of keeping more"
        " cannot be told from this."
    ]
    if removed:
        told.append(f"Retention has removed {removed:,} rows so far.")
    if found.unknown:
        told.append(
            f"{found.unknown:,} uses are of memories that the lake does not hold any more; they are judged by"
            " what the log says, in the default tier where it is not known, and with nothing to wait for."
        )
    if not found.regret:
        told.append("No recall is on record: what would have been missed is not known.")
    return tuple(told)
