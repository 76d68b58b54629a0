"""Compiles ``scripts/*.txt`` to the files of ``data/``: ``python -m samples.make_samples``.

Same scripts, same bytes, on every machine; only the Parquet file is compared by content, because
its writer puts its own version into the file.
"""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from samples.export_forms import (
    chatgpt_zip,
    claude_json,
    coding_agent,
    json_lines,
    openai_messages,
)
from samples.script_text import Session, Turn, parse

HERE = Path(__file__).parent
KIND = {"U": "conversation", "A": "conversation", "T": "action", "F": "action"}
KIND |= {"O": "outcome", "N": "summary"}
ROLE = {"U": "user", "T": "tool", "F": "tool"}
SPEAKER = {"u-mira": "Mira", "u-kenji": "Kenji", "u-tomasz": "Tomasz", "u-leila": "Leila"}
SPEAKER |= {"u-anand": "Anand", "u-dayo": "Dayo", "u-soyeon": "Soyeon", "u-wei": "Wei"}
TWICE = ("mira-seat-window", "kenji-matcha", "tomasz-refund-fix")
"""Rows written a second time, unchanged, at the end of their file."""
AGAIN_MONTH = "2026-04"
"""Rows of this month of aurora-travel are handed over again in a file of their own."""
TEXT_COLUMNS = (
    *("id", "tenant_id", "user_id", "agent_id", "session_id", "role", "speaker", "content", "kind"),
    *("tool_name", "tool_arguments", "outcome", "failure_reason", "feedback", "tags", "importance"),
    *("retention_tier", "event_at", "parent_id", "turn_index"),
)

Row = dict[str, Any]


def load_sessions() -> list[Session]:
    """All sessions of all scripts, by time of their start.

    Raises:
        ValueError: Two turns have one id.
    """
    paths = sorted((HERE / "scripts").glob("*.txt"))
    sessions = [s for p in paths for s in parse(p.read_text("utf-8").splitlines())]
    counts = Counter(turn.turn_id for session in sessions for turn in session.turns)
    twice = sorted(turn_id for turn_id, count in counts.items() if count > 1)
    if twice:
        raise ValueError(f"{len(twice)} ids stand on two turns: {twice[:3]}")
    return sorted(sessions, key=lambda s: (s.started_at, s.session_id))


def row_of(session: Session, index: int) -> Row:
    """The slowwave row of one turn, absent values left out."""
    turn = session.turns[index]
    row: Row = {
        "id": turn.turn_id,
        "tenant_id": session.tenant_id,
        "user_id": session.user_id,
        "agent_id": session.agent_id,
        "session_id": session.session_id,
        "role": ROLE.get(turn.mark, "assistant"),
        "speaker": SPEAKER[session.user_id] if turn.mark == "U" else None,
        "content": turn.text,
        "kind": KIND[turn.mark],
        "tool_name": turn.tool_name,
        "tool_arguments": turn.tool_arguments,
        "outcome": _outcome(turn),
        "failure_reason": turn.failure_reason,
        "feedback": turn.options.get("fb"),
        "tags": turn.options["tags"].split("|") if "tags" in turn.options else None,
        "importance": float(turn.options["imp"]) if "imp" in turn.options else None,
        "retention_tier": turn.options.get("tier", session.options.get("tier")),
        "event_at": turn.event_at.isoformat(),
        "parent_id": session.turns[index - 1].turn_id if index else None,
        "turn_index": index,
    }
    return {name: value for name, value in row.items() if value is not None}


def _outcome(turn: Turn) -> str | None:
    return {"T": "success", "F": "failure"}.get(turn.mark, turn.options.get("outcome"))


def rows_of(sessions: Iterable[Session]) -> list[Row]:
    """Slowwave rows of whole sessions, in order."""
    return [row_of(s, index) for s in sessions for index in range(len(s.turns))]


def tenant_lines(sessions: Sequence[Session], tenant_id: str) -> list[Row]:
    """Rows of the tenant's JSONL file; tenant 007 writes tool arguments as a JSON string."""
    rows = rows_of(s for s in sessions if s.tenant_id == tenant_id and s.form == "jsonl")
    if tenant_id == "007":
        for row in rows:
            if "tool_arguments" in row:
                row["tool_arguments"] = json.dumps(row["tool_arguments"], ensure_ascii=False)
    return rows + [row for row in rows if row["id"] in TWICE]


def csv_file(rows: Sequence[Row]) -> bytes:
    """CSV with all slowwave columns and one unknown to slowwave; tags are a JSON list."""
    buffer = io.StringIO(newline="")
    writer = csv.DictWriter(buffer, [*TEXT_COLUMNS, "channel"], lineterminator="\n")
    writer.writeheader()
    for row in rows:
        tags = {"tags": json.dumps(row["tags"])} if "tags" in row else {}
        writer.writerow({**row, **tags, "channel": "tablet"})
    return buffer.getvalue().encode()


def parquet_frame(rows: Sequence[Row]) -> pl.DataFrame:
    """The rows typed as a warehouse would: instants as UTC timestamps, tags as lists."""
    types = {name: pl.String() for name in TEXT_COLUMNS} | {
        "tags": pl.List(pl.String()),
        "importance": pl.Float64(),
        "turn_index": pl.Int64(),
    }
    filled = [{name: row.get(name) for name in TEXT_COLUMNS} for row in rows]
    frame = pl.DataFrame(filled, schema=types)
    return frame.with_columns(pl.col("event_at").str.to_datetime("%+", time_unit="us", time_zone="UTC"))


def malformed_lines() -> bytes:
    """Good rows with broken ones between them, one fault a line; ``README.md`` lists them."""
    base = {"tenant_id": "007", "user_id": "u-wei", "session_id": "broken-01", "role": "user"}

    def line(row_id: str, content: str | None, event_at: str, **more: str) -> str:
        row = {"id": row_id, **base, "content": content, "event_at": event_at, **more}
        kept = {name: value for name, value in row.items() if value is not None}
        return json.dumps(kept, ensure_ascii=False)

    at = "2026-06-26T10:0{}:00+08:00"
    lost = json.loads(line("bad-tenant", "Whose row is this?", at.format(7)))
    del lost["tenant_id"]
    lines = [
        line("ok-first", "The bicycle shed code changes on the first of July.", at.format(0)),
        line("bad-truncated", "This line was cut off while it was wri", at.format(1))[:-45],
        line("bad-naive", "Meet at noon, but in which zone?", "2026-06-26T12:00:00"),
        line("bad-1969", "A clock that was never set.", "1969-12-31T23:59:59Z"),
        line("bad-2999", "A message from far ahead.", "2999-01-01T00:00:00Z"),
        line("bad-twin", "The canteen closes at two on Fridays.", at.format(2)),
        line("bad-twin", "The canteen closes at three on Fridays.", at.format(2)),
        line("bad-empty", None, at.format(4)),
        json.dumps(lost),
        '["not", "an", "object"]',
        line("ok-surrogate", "Half an emoji: @HALF@ arrived.", at.format(5)).replace("@HALF@", "\\ud83d"),
        line("ok-last", "New plants for the hall come on Monday 🌱", at.format(6)),
    ]
    return ("\n".join(lines) + "\n").encode()


def build() -> dict[str, bytes | pl.DataFrame]:
    """Content of every data file by its path below ``samples/``; Parquet as a frame."""
    sessions = load_sessions()

    def of(form: str) -> list[Session]:
        return [session for session in sessions if session.form == form]

    aurora = tenant_lines(sessions, "aurora-travel")
    april = [r for r in aurora if r["event_at"].startswith(AGAIN_MONTH) and r["id"] not in TWICE]
    return {
        "data/aurora-travel.jsonl": json_lines(aurora),
        "data/brightside-clinic.jsonl": json_lines(tenant_lines(sessions, "brightside-clinic")),
        "data/007.jsonl": json_lines(tenant_lines(sessions, "007")),
        "data/again/aurora-travel-april.jsonl": json_lines(april),
        "data/openai_messages.jsonl": openai_messages(of("openai")),
        "data/chatgpt_export.zip": chatgpt_zip(of("chatgpt")),
        "data/claude_export.json": claude_json(of("claude")),
        "data/coding_agent.jsonl": coding_agent(of("coding")),
        "data/clinic_reminders.csv": csv_file(rows_of(of("csv"))),
        "data/desk_outcomes.parquet": parquet_frame(rows_of(of("parquet"))),
        "data/malformed.jsonl": malformed_lines(),
    }


def main() -> None:
    """Writes every file of ``data/``."""
    for name, content in build().items():
        path = HERE / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            content.write_parquet(path)


if __name__ == "__main__":
    main()
