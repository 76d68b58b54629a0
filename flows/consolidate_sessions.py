"""Conversations and attempts of the sessions that have news, and the skills counted over them."""

from __future__ import annotations

from collections import Counter

import polars as pl

from flows.portions import OWNER, Portion
from lake.revisions import Changes, alive
from transforms.conversations.by_model import describe_with
from transforms.conversations.describe import describe
from transforms.schemas import ATTEMPTS, CONVERSATIONS, PROCEDURES, Table
from transforms.skills.attempts import attempts
from transforms.skills.lessons import lessons
from transforms.skills.patterns import patterns
from transforms.skills.procedures import procedures


def consolidate_sessions(portion: Portion, counts: Counter[str]) -> None:
    """Describe and cut into attempts the sessions with new episodes, and count their owners' skills anew."""
    policy = portion.job.policy
    if portion.sessions.is_empty() and not portion.scope.is_complete:
        return
    described = portion.revise(CONVERSATIONS, portion.sessions, _described(portion, counts))
    tried = portion.revise(ATTEMPTS, portion.sessions, attempts(portion.in_sessions, policy))
    counts["conversations"] += described.rows.height
    counts["attempts"] += tried.rows.height
    owners = _owners(portion)
    tries = _owners_rows(portion, ATTEMPTS, owners, tried)
    talks = _owners_rows(portion, CONVERSATIONS, owners, described)
    skills = [procedures(tries, policy), lessons(tries, policy), patterns(talks, policy)]
    found = portion.revise(PROCEDURES, owners, pl.concat(skills))
    counts["skills"] += found.rows.height


def _owners(portion: Portion) -> pl.DataFrame:
    """Owners whose skills are counted anew: those with news, in a complete run all of them."""
    return (portion.light if portion.scope.is_complete else portion.sessions).select(OWNER).unique()


def _described(portion: Portion, counts: Counter[str]) -> pl.DataFrame:
    job = portion.job
    if job.model is None:
        return describe(portion.in_sessions, job.policy)
    rows, pending = describe_with(job.model, portion.in_sessions, job.policy)
    counts["pending"] += len(pending)
    return rows


def _owners_rows(portion: Portion, table: Table, owners: pl.DataFrame, changes: Changes) -> pl.DataFrame:
    """What stands, after this run, of all sessions of some owners."""
    stood = alive(portion.before(table, owners))
    news = pl.concat([changes.added, changes.changed])
    kept = stood.join(changes.rows.select(table.key), on=table.key, how="anti")
    return pl.concat([kept, alive(news)]).sort(table.sort_by)
