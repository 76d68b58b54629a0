"""Landed rows of the subject, out of segments that no ingest has taken up yet."""

from __future__ import annotations

from typing import Any

import polars as pl

from flows.erase_rules import SCOPE, quarantine_goes
from flows.erase_sharing import is_copied
from flows.erase_work import Work
from lake import landed_lines, landing
from transforms.erasure import TEXTS, meets, names_subject, sentences
from transforms.schemas import EPISODES, QUARANTINE

MOST_SENTENCES = 20_000


def landed(work: Work) -> dict[str, tuple[bytes, int]]:
    """What remains of each sealed segment that holds lines of the subject, and how many lines those are.

    Their ids and sentences are noted. A row that was refused where it landed leaves nothing here.
    """
    found = {}
    folders = [f"{landing.PREFIX}/{bucket:03d}/" for bucket in sorted({*work.buckets, work.lake.bucket("")})]
    for key in landing.seal(work.lake):
        if not key.startswith(tuple(folders)):
            continue
        lines = landed_lines.lines_of(work.lake.storage.read(key) or b"", is_sealed=True)
        goes = lines_that_go(work, lines)
        if any(goes):
            kept = [line for line, is_gone in zip(lines, goes, strict=True) if not is_gone]
            found[key] = (b"".join(line + b"\n" for line in kept), sum(goes))
    return found


def take_out(work: Work, found: dict[str, tuple[bytes, int]]) -> None:
    """Write the segments without the subject's lines; one with no other goes."""
    for key, (rest, _) in found.items():
        if rest:
            work.lake.storage.write(key, rest)
        else:
            work.lake.storage.delete(key)


def lines_that_go(work: Work, lines: list[bytes]) -> list[bool]:
    """Which landed lines are the subject's; their ids and sentences are noted."""
    records = landed_lines.records_of(lines, work.lake)
    goes = [False] * len(lines)
    for name, judge in ((EPISODES.name, _episodes), (QUARANTINE.name, _refused)):
        places = [i for i, (kind, _) in enumerate(records) if kind == name]
        for place, is_gone in zip(places, judge(work, [records[i][1] for i in places]), strict=True):
            goes[place] = is_gone
    for i, (kind, _) in enumerate(records):
        if not kind:
            goes[i] = names_subject(lines[i].decode("utf-8", "replace"), work.aim)
    return goes


def _frame(rows: list[dict[str, Any]], columns: list[str]) -> pl.DataFrame:
    """Text columns of rows; what is no text is null."""
    plain = {c: [r[c] if isinstance(r.get(c), str) else None for r in rows] for c in columns}
    return pl.DataFrame(plain, schema=dict.fromkeys(columns, pl.String))


def _episodes(work: Work, rows: list[dict[str, Any]]) -> list[bool]:
    frame = _frame(rows, [*SCOPE, "speaker", "episode_id", "source", "parent_id"])
    ids = work.values("episode", "wanted")
    named = meets(frame, "episode_id", ids) | is_copied(frame, ids)
    aimed = work.aim.is_aimed(has_speaker=True) | pl.lit(named)
    goes = frame.select(aimed & ~work.aim.is_held("episode_id")).to_series()
    mine = [row for row, is_gone in zip(rows, goes, strict=True) if is_gone]
    work.add("episode", frame.filter(goes)["episode_id"].drop_nulls().to_list())
    room = MOST_SENTENCES - work.values("text").len()
    texts = (row[name] for row in mine for name in TEXTS[EPISODES.name] if isinstance(row.get(name), str))
    work.add("text", sentences(texts, max(room, 0)))
    return goes.to_list()


def _refused(work: Work, rows: list[dict[str, Any]]) -> list[bool]:
    frame = _frame(rows, ["tenant_id", "user_id", "raw", "source_file"]).with_columns(
        pl.col("raw").fill_null(""),
        source_line=pl.Series([r.get("source_line") for r in rows], dtype=pl.Int64, strict=False),
    )
    return quarantine_goes(work)(frame).to_list()
