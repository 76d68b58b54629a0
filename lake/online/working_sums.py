"""Sums up what left a session's window, in the background: one thread of the process for all sessions."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime

from lake.lake import Lake
from lake.online import working_file, working_log
from lake.online.working_file import Write
from lake.online.working_log import Log, SessionName
from lake.online.working_window import until_of, window_of
from lake.rights.admission import admission
from transforms.policy import Policy
from transforms.working.rows import Row
from transforms.working.state import folded, whole
from transforms.working.summary import Summary, summed_up

SumUp = Callable[[Summary, Sequence[Row]], Summary]
"""From what stood and the rows that leave to the new summary; a model may do it."""
_pool: list[ThreadPoolExecutor] = []
os.register_at_fork(after_in_child=_pool.clear)


def in_background(
    lake: Lake, name: SessionName, policy: Policy, clock: Callable[[], datetime], sum_up: SumUp | None
) -> Future[None]:
    """Have it done; what it came to is in the session's file."""
    if not _pool:
        _pool.append(ThreadPoolExecutor(1, thread_name_prefix="slowwave-working"))
    return _pool[0].submit(sum_now, lake, name, policy, clock(), sum_up)


def sum_now(lake: Lake, name: SessionName, policy: Policy, now: datetime, sum_up: SumUp | None) -> None:
    """Sum up what has left the window, and take out of the file what is no longer needed.

    The summary is made outside the file's lock; where another process has meanwhile made one, this one is
    dropped.
    """
    key = name.key(lake)
    lines = working_file.read(lake, key)
    if not lines:
        return
    log = working_log.parsed(lake, key, lines)
    window = window_of(lake, log, policy, now)
    if not window.groups:
        return
    until = until_of(lake, log, policy)
    make = sum_up or (lambda before, rows: summed_up(before, rows, policy, until))
    made = window.summed
    for group in window.groups:
        before = made.sensitivity
        made = replace(make(made, group), sensitivity=before).of(group)  # a model's does not say it
    covered = {row.id for group in window.groups for row in group}

    def step(held: bytes) -> Write | None:
        if not held:
            return None
        current = working_log.parsed(lake, key, held)
        is_refused = admission(lake).tombstones.mark_of(name.scope, now) is not None
        if is_refused or not covered.isdisjoint(current.covered) or not covered <= _ids(current):
            return None
        current.summary = made
        current.covered |= covered
        if len(held) > policy.working.rewrite_bytes:
            return Write(rewritten(lake, current, policy, now), is_all=True)
        line = working_log.summary_line(lake, name, made, sorted(current.covered), sorted(current.people))
        return Write(line, is_synced=False)

    working_file.change(lake, key, step)


def _ids(log: Log) -> set[str]:
    return {row.id for row in log.rows}


def rewritten(lake: Lake, log: Log, policy: Policy, now: datetime) -> bytes:
    """A file's lines without rows that are past their time or summed up, and with its changes as one."""
    until = until_of(lake, log, policy)
    held = [
        line
        for row, line in zip(log.rows, log.lines, strict=True)
        if row.id not in log.covered and until(row) > now
    ]
    parts = [working_log.header(log.name, log.opened_at, log.closed_at), working_log.pulled(), *held]
    state = folded(log.changes, policy.working.state_items)
    if state.updated_at is not None:
        parts.append(working_log.change_line(lake, log.name, whole(state)))
    summary = log.summary.live(now)
    if summary.rows:
        parts.append(working_log.summary_line(lake, log.name, summary, [], sorted(log.people)))
    return b"".join(parts)
