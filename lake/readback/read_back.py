"""Verification after an erase: every file below the lake's root is read back and searched.

Hidden, temporary, orphaned and unknown files are read, too, as raw bytes and decoded. What is found in a
row that stays of its own right is a mention, everything else a leak.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor

from lake.lake import Lake
from lake.readback.matcher import Matcher
from lake.readback.needles import CLASSES, Needles
from lake.readback.read_file import Allowed, FileReader, allowed_ids, nothing_allowed
from lake.readback.result import LISTED, FileFinds, Leak, ReadBack
from lake.readback.stored import everything
from lake.readback.words import unexplained
from lake.shown import Shown, unseen
from lake.storage import Entry

__all__ = ["Needles", "ReadBack", "read_back"]
THREADS = 2


def read_back(
    lake: Lake,
    needles: Needles,
    allowed: Allowed | Mapping[str, Collection[str]] | None = None,
    *,
    kept: Allowed | None = None,
    excepted: Collection[str] = (),
    threads: int = THREADS,
    shown: Shown = unseen,
) -> ReadBack:
    """Search every file of a lake for what was erased.

    Args:
        lake: Whose; nothing writes to it meanwhile.
        needles: What must be gone.
        allowed: Rows that may hold needles: ids by table, or a function of a table's name and rows
            (whose columns are those of the file, and what its folders say) to a boolean for each. The
            index's rows are of table ``memories``; landed rows of ``landing``. None: no row may.
        kept: Which of the rows that may hold needles are no mentions and are counted apart.
        excepted: Keys that are not read, such as the open request's own state.
        threads: Files at once.
        shown: Told how many files there are, and of each that was read.

    Raises:
        LakeError: A folder may not be listed.
    """
    began = time.perf_counter()
    matcher = Matcher(needles)
    reader = FileReader(lake, matcher, _judge_of(allowed), kept)
    left_out = set(excepted)
    entries = [entry for entry in everything(lake.storage) if entry.key not in left_out]
    reader.look_at_names(entries)
    finds = []
    with (
        shown(len(entries)) as advance,
        ThreadPoolExecutor(threads, thread_name_prefix="slowwave-readback") as pool,
    ):
        for find in pool.map(reader.read, entries):
            finds.append(find)
            advance(1)
    _judge_words(lake, entries, finds)
    return _result(needles, finds, tuple(sorted(left_out)), time.perf_counter() - began)


def _judge_words(lake: Lake, entries: list[Entry], finds: list[FileFinds]) -> None:
    """Leaks for words that only a full-text index still holds."""
    for entry, find in zip(entries, finds, strict=True):
        if not find.words:
            continue
        data = [other for other in entries if other.key.startswith(f"{find.unit}/data/")]
        for place, index in unexplained(lake, data, find.words).values():
            find.leaks[Leak(entry.key, "token dictionary", CLASSES[place], index)] += 1


def _judge_of(allowed: Allowed | Mapping[str, Collection[str]] | None) -> Allowed:
    if allowed is None:
        return nothing_allowed
    return allowed_ids(allowed) if isinstance(allowed, Mapping) else allowed


def _result(needles: Needles, finds: list[FileFinds], excepted: tuple[str, ...], seconds: float) -> ReadBack:
    explained: dict[str, set[tuple[str, int]]] = {}
    for find in finds:
        explained.setdefault(find.unit, set()).update(find.explained)
    leaks: Counter[Leak] = Counter()
    explained_raw = 0
    for find in finds:
        leaks.update(find.leaks)
        for leak, count in find.loose.items():
            if (leak.needle, leak.index) in explained[find.unit]:
                explained_raw += count
            else:
                leaks[leak] += count
    read = [find for find in finds if not find.is_gone]
    mentions = sorted({mention for find in finds for mention in find.mentions})
    return ReadBack(
        files=len(read),
        bytes_raw=sum(find.bytes_raw for find in read),
        bytes_decoded=sum(find.bytes_decoded for find in read),
        seconds=seconds,
        kinds=dict(sorted(Counter(find.kind for find in read).items())),
        needles=needles.searched(),
        leaks=tuple(sorted(leaks, key=_order)[:LISTED]),
        leak_count=sum(leaks.values()),
        mentions=tuple(mentions[:LISTED]),
        mention_count=sum(find.mention_count for find in read),
        kept_count=sum(find.kept_count for find in read),
        explained_raw=explained_raw,
        unreadable=tuple(sorted(fault for find in finds for fault in find.unreadable)),
        excepted=excepted,
    )


def _order(leak: Leak) -> tuple[str, str, str, int, str]:
    return leak.file, leak.where, leak.needle, leak.index, leak.row_id or ""
