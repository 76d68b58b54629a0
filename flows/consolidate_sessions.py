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
    talks = _owners_rows(portion, CONVERSATIONS, described)
    tries = _owners_rows(portion, ATTEMPTS, tried)
    skills = [procedures(tries, policy), lessons(tries, policy)]
    _revise_skills(portion, ["procedure", "lesson"], tried, pl.concat(skills), counts)
    _revise_skills(portion, ["pattern"], described, patterns(talks, policy), counts)


def _described(portion: Portion, counts: Counter[str]) -> pl.DataFrame:
    job = portion.job
    if job.model is None:
        return describe(portion.in_sessions, job.policy)
    rows, pending = describe_with(job.model, portion.in_sessions, job.policy)
    counts["pending"] += len(pending)
    return rows


def _changed_owners(changes: Changes) -> pl.DataFrame:
    return changes.rows.select(OWNER).unique()


def _owners_rows(portion: Portion, table: Table, changes: Changes) -> pl.DataFrame:
    """What stands, after this run, of all sessions of the owners that the changes are of."""
    owners = _changed_owners(changes)
    stood = alive(portion.before(table, owners)).join(owners, on=OWNER, how="semi")
    news = pl.concat([changes.added, changes.changed])
    gone = changes.rows.select(table.key)
    kept = stood.join(gone, on=table.key, how="anti")
    return pl.concat([kept, alive(news)]).sort(table.sort_by)


def _revise_skills(
    portion: Portion, kinds: list[str], changes: Changes, skills: pl.DataFrame, counts: Counter[str]
) -> None:
    """Take up the skills of some kinds of the owners that the changes are of."""
    owners = _changed_owners(changes)
    mine = pl.col("kind").is_in(kinds)
    before = portion.before(PROCEDURES, owners).filter(mine)
    if not portion.scope.is_complete:
        found = portion.writer.revise(PROCEDURES, before, skills)
    else:  # owners whose sessions are as they were keep their skills
        living = portion.light.select(OWNER).unique().join(owners, on=OWNER, how="anti")
        found = portion.writer.revise(PROCEDURES, before.join(living, on=OWNER, how="anti"), skills)
    counts["skills"] += found.rows.height
