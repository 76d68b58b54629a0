"""Calls of the subject, and what was shown of it, out of the recall log that no night has folded yet."""

from __future__ import annotations

from typing import Any

import orjson
import polars as pl

from flows.erase_rules import SCOPE, recalls_rule
from flows.erase_work import Work
from lake import landed_lines, recall_segments
from lake.recall_segments import CALL, USED, record_of
from transforms.erasure import names_subject

_LISTS = {CALL: "memory_id", USED: "memory_ids"}


def logged(work: Work) -> dict[str, tuple[bytes, int]]:
    """What remains of each sealed segment that holds something of the subject, and how many rows go of it.

    The log is looked at after everything else, for it names memories by the ids that are found there.
    """
    found = {}
    folders = tuple(f"{recall_segments.PREFIX}/{bucket:03d}/" for bucket in work.buckets)
    for key in recall_segments.seal(work.lake):
        if not key.startswith(folders):
            continue
        lines = landed_lines.lines_of(work.lake.storage.read(key) or b"", is_sealed=True)
        rest, count = remaining(work, lines)
        if count:
            found[key] = (b"".join(line + b"\n" for line in rest), count)
    return found


def logged_rows(work: Work) -> int:
    """How many rows of the log would go; seals and writes nothing."""
    count = 0
    for bucket in work.buckets:
        for entry in work.lake.storage.entries(f"{recall_segments.PREFIX}/{bucket:03d}"):
            raw = work.lake.storage.read(entry.key) or b""
            count += remaining(work, landed_lines.lines_of(raw, is_sealed=False))[1]
    return count


def remaining(work: Work, lines: list[bytes]) -> tuple[list[bytes], int]:
    """Lines without what is the subject's, by the rule of the table, and how many rows that was."""
    records = [record_of(line) for line in lines]
    memories = [_memories(name, told) for name, told in records]
    goes = iter(_goes(work, [told for _, told in records], memories))
    rest, count = [], 0
    for line, (name, told), ids in zip(lines, records, memories, strict=True):
        if name:
            gone = [next(goes) for _ in ids]
        else:
            gone = [names_subject(line.decode("utf-8", "replace"), work.aim)]
        count += sum(gone)
        if not any(gone):
            rest.append(line)
        elif not all(gone):
            rest.append(orjson.dumps({name: _without(name, told, gone)}))
    return rest, count


def _memories(name: str, told: dict[str, Any]) -> list[str | None]:
    """Ids of memories of a record, one null where it has none: it is still somebody's call."""
    rows = told.get("rows") if name == CALL else told
    ids = rows.get(_LISTS.get(name, "")) if isinstance(rows, dict) else None
    texts = [one if isinstance(one, str) else None for one in ids] if isinstance(ids, list) else []
    return texts or [None]


def _goes(work: Work, records: list[dict[str, Any]], memories: list[list[str | None]]) -> list[bool]:
    """By memory of every whole record, whether the rule of the table takes it."""
    told = [
        {**{n: v if isinstance(v := record.get(n), str) else None for n in SCOPE}, "memory_id": one}
        for record, ids in zip(records, memories, strict=True)
        for one in (ids if record else ())
    ]
    frame = pl.DataFrame(told, schema=dict.fromkeys([*SCOPE, "memory_id"], pl.String))
    return recalls_rule(work).goes(frame).fill_null(False).to_list() if told else []


def _without(name: str, told: dict[str, Any], gone: list[bool]) -> dict[str, Any]:
    """A record without some of its memories."""

    def kept(values: Any) -> Any:
        if not isinstance(values, list):
            return values
        return [value for value, is_gone in zip(values, gone, strict=False) if not is_gone]

    if name == CALL:
        return {**told, "rows": {column: kept(values) for column, values in told["rows"].items()}}
    return {**told, _LISTS[name]: kept(told[_LISTS[name]])}
