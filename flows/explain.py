"""``ingest --explain``: what was detected, three rows as they would land, three refusals; writes nothing."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from typing import Any

import polars as pl

from flows.setup import Output, as_of, config_of, defaults_of
from lake.lake import DEFAULT_BUCKETS
from lake.sources import Source, open_sources
from transforms.errors import UsageError
from transforms.normalise import normalise
from transforms.policy import Policy

SHOWN = [
    "source_line",
    "kind",
    "role",
    "speaker",
    "tenant_id",
    "user_id",
    "session_id",
    "turn_index",
    "event_at",
    "tool_name",
    "outcome",
    "content",
    "redactions",
    "is_injected",
]
REFUSED = ["reason", "detail", "source_line"]
ROWS = 3


def explain(options: argparse.Namespace) -> Output:
    """Show each source's format, its first rows as they would land, its first refusals; and what is skipped.

    Raises:
        UsageError: No source named.
    """
    if not options.source:
        raise UsageError("nothing to explain", "Name a file.")
    policy = config_of(options).policy
    skipped: list[dict[str, str]] = []

    def skip(name: str, why: str) -> None:
        skipped.append({"file": name, "why": why})

    found = [
        _explained(source.owned_by(defaults_of(options).user_id), options, policy)
        for name in options.source
        for source in open_sources(name, options.format, policy=policy.ingest, on_skip=skip)
    ]
    lines = [line for entry in found for line in _lines(entry)]
    lines += [f"{entry['file']}: skipped, {entry['why']}" for entry in skipped]
    return Output({"sources": found, "skipped": skipped}, "\n".join(lines))


def _explained(source: Source, options: argparse.Namespace, policy: Policy) -> dict[str, Any]:
    """Format of a source; rows and refusals of its first batch, in its order, and what that leaves out."""
    with source.open() as stream:
        batch = next(source.reader.read(stream, source.file_name, policy.ingest), None)
    entry: dict[str, Any] = {"file": source.file_name, "format": source.reader.name}
    if batch is None:
        return {**entry, "rows": [], "refused": [], "left_out": {}}
    done = normalise(
        batch.drafts,
        source=source.reader.name,
        defaults=defaults_of(options),
        policy=policy,
        as_of=as_of(options) or datetime.now(UTC),
        buckets=DEFAULT_BUCKETS,
    )
    rows = _first(done.episodes.select(SHOWN))
    refused = _first(pl.concat([batch.refusals, done.refusals]).select(REFUSED))
    return {
        **entry,
        "rows": [{**row, "event_at": row["event_at"].isoformat()} for row in rows],
        "refused": refused,
        "left_out": batch.left_out,
    }


def _first(rows: pl.DataFrame) -> list[dict[str, Any]]:
    """In the order of the source: a call lands behind its line's words, with its result, but came between."""
    order = [name for name in ("source_line", "turn_index") if name in rows.columns]
    return rows.sort(order, maintain_order=True, nulls_last=True).head(ROWS).to_dicts()


def _lines(entry: dict[str, Any]) -> list[str]:
    lines = [f"{entry['file']}: {entry['format']}"]
    for row in entry["rows"]:
        who = row["tool_name"] or row["speaker"] or row["role"] or "-"
        ended = f", {row['outcome']}" if row["outcome"] else ""
        scope = "/".join(str(row[c] or "-") for c in ("tenant_id", "user_id", "session_id"))
        text = " ".join(row["content"].split())[:80]
        mark = ", injected" if row["is_injected"] else ""
        lines.append(f"  {row['event_at']} {scope} {row['kind']}{mark}{ended} {who}: {text}")
    lines += _refusals(entry["refused"])
    if len(lines) == 1 and entry["left_out"]:
        told = ", ".join(f"{reason} {count:,}" for reason, count in entry["left_out"].items())
        lines.append(f"  nothing to land; left out: {told}")
    return lines


def _refusals(refused: list[dict[str, Any]]) -> list[str]:
    """A line for each thing that is wrong, with the places where it is."""
    places: dict[str, list[str]] = {}
    for row in refused:
        line = str(row["source_line"])
        at = places.setdefault(f"{row['reason']}: {row['detail']}", [])
        if line not in at:
            at.append(line)
    return [f"  refused, line {', '.join(at)}: {why}" for why, at in places.items()]
