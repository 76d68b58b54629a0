"""Conversations and attempts of the sessions that have news, and the skills counted over them."""

from __future__ import annotations

from collections import Counter

import polars as pl

from flows.portions import OWNER, SESSION, Portion
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
    described = _revise(portion, CONVERSATIONS, _described(portion, counts))
    tried = _revise(portion, ATTEMPTS, attempts(portion.in_sessions, policy))
    counts["conversations"] += described.rows.height
    counts["attempts"] += tried.rows.height
    owners = _owners(portion)
    tries = _owners_rows(portion, ATTEMPTS, owners, tried)
    talks = _owners_rows(portion, CONVERSATIONS, owners, described)
    skills = [procedures(tries, policy), lessons(tries, policy), patterns(talks, policy)]
    found = portion.revise(PROCEDURES, owners, pl.concat(skills))
    counts["skills"] += found.rows.height


def _revise(portion: Portion, table: Table, found: pl.DataFrame) -> Changes:
    """Take up what was derived of the sessions; what rests on forgotten episodes stays as it was."""
    before = portion.before(table, portion.sessions)
    kept = _kept(portion, table, alive(before))
    news = found.join(kept, on=table.key, how="anti")
    if table is ATTEMPTS and kept.height:  # an attempt cut anew of what is left of an old one
        told = kept.select(*SESSION, ref="source_refs").explode("ref")
        cut = news.select(*SESSION, "attempt_id", ref="source_refs").explode("ref")
        again = cut.join(told, on=[*SESSION, "ref"], how="semi", nulls_equal=True)
        news = news.join(again, on="attempt_id", how="anti")
    return portion.writer.revise(table, before, pl.concat([news, kept.select(news.columns)]))


def _kept(portion: Portion, table: Table, stood: pl.DataFrame) -> pl.DataFrame:
    """Standing rows that cannot be derived again: an episode they rest on was forgotten, and none erased."""
    gone = portion.forgotten
    if gone.is_empty():
        return stood.clear()
    if table is CONVERSATIONS:
        kept = stood.join(gone, on=SESSION, how="semi", nulls_equal=True)
        erased = portion.scope.erased
        return kept if erased is None else kept.join(erased, on=SESSION, how="anti", nulls_equal=True)
    refs = stood.select(*table.key, episode_id="source_refs").explode("episode_id")
    lost = refs.join(gone, on="episode_id", how="semi")
    unknown = refs.join(portion.sources, on="episode_id", how="anti")
    return stood.join(lost, on=table.key, how="semi").join(unknown, on=table.key, how="anti")


def _owners(portion: Portion) -> pl.DataFrame:
    """Owners whose skills are counted anew: those with news, in a complete run all of them."""
    if not portion.scope.is_complete:
        return portion.sessions.select(OWNER).unique()
    return pl.concat([portion.light.select(OWNER), portion.forgotten.select(OWNER)]).unique()


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
