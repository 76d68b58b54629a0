"""``ingest --explain``: what was detected, and three normalised rows, without writing."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from typing import Any

from flows.setup import Output, as_of, config_of, defaults_of
from lake.lake import DEFAULT_BUCKETS
from lake.sources import open_sources
from transforms.errors import UsageError
from transforms.normalise import normalise

SHOWN = ["kind", "role", "speaker", "tenant_id", "user_id", "session_id", "event_at", "content", "redactions"]
ROWS = 3


def explain(options: argparse.Namespace) -> Output:
    """Show each source's format, its first rows as they would land, and its first refusals.

    Raises:
        UsageError: No source named.
    """
    if not options.source:
        raise UsageError("nothing to explain", "Name a file.")
    policy = config_of(options).policy
    found: list[dict[str, Any]] = []
    for name in options.source:
        for source in open_sources(name, options.format, policy=policy.ingest):
            with source.open() as stream:
                batch = next(source.reader.read(stream, source.file_name, policy.ingest), None)
            entry: dict[str, Any] = {
                "file": source.file_name,
                "format": source.reader.name,
                "rows": [],
                "refused": [],
            }
            if batch is not None:
                done = normalise(
                    batch.drafts,
                    source=source.reader.name,
                    defaults=defaults_of(options),
                    policy=policy,
                    as_of=as_of(options) or datetime.now(UTC),
                    buckets=DEFAULT_BUCKETS,
                )
                rows = done.episodes.select(SHOWN).head(ROWS).to_dicts()
                entry["rows"] = [{**row, "event_at": row["event_at"].isoformat()} for row in rows]
                refused = [*batch.refusals.head(ROWS).to_dicts(), *done.refusals.head(ROWS).to_dicts()]
                entry["refused"] = [
                    {k: row[k] for k in ("reason", "detail", "source_line")} for row in refused[:ROWS]
                ]
            found.append(entry)
    return Output({"sources": found}, "\n".join(_lines(found)))


def _lines(found: list[dict[str, Any]]) -> list[str]:
    lines = []
    for entry in found:
        lines.append(f"{entry['file']}: {entry['format']}")
        for row in entry["rows"]:
            who = row["speaker"] or row["role"] or "-"
            scope = "/".join(str(row[c] or "-") for c in ("tenant_id", "user_id", "session_id"))
            lines.append(
                f"  {row['event_at']} {scope} {row['kind']} {who}: {' '.join(row['content'].split())[:80]}"
            )
        lines += [
            f"  refused, line {r['source_line']}: {r['reason']}: {r['detail']}" for r in entry["refused"]
        ]
    return lines
