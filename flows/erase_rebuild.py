"""Rows out of the tables, and what rested on them derived anew from what remains."""

from __future__ import annotations

import polars as pl

from flows.consolidate import run_consolidate
from flows.erase_rules import OWNED, direct_rules, resting_rule
from flows.erase_work import Work
from flows.global_patterns import is_needed, run_global_patterns
from lake import hints
from lake.erasure.removal import remove


def take_rows_out(work: Work) -> None:
    """Take the subject's rows out of every table, and all that is derived of owners who are gone with them.

    Hints are carried over at once: what follows must not read again what was only written anew.
    """
    for rule in direct_rules(work):
        remove(work.lake, rule)
    hints.carry_over(work.lake)


def rebuild(work: Work) -> None:
    """Derive owners who stay anew; then nothing rests on anything erased, in any revision.

    Raises:
        EndpointError: A model that consolidates or embeds cannot be reached; the erasure is tried again.
    """
    owners = work.values("owner_stays")
    if owners.len():
        named = pl.DataFrame({"tenant_id": [work.tenant] * owners.len(), "owner": owners})
        run_consolidate(work.job, owners=named, erased=_sessions(work))
    for table in OWNED:
        remove(work.lake, resting_rule(work, table))
    hints.carry_over(work.lake)
    if is_needed(work.job) and run_global_patterns(work.job).state != "unchanged":
        # A pattern has lost a tenant behind it: it is of no bucket that the index is purged of.
        work.evidence |= {"is_index_current": False, "current_twins": []}


def _sessions(work: Work) -> pl.DataFrame:
    """``tenant_id``, ``owner``, ``session_id`` of what was erased."""
    found = work.rows("session").rename({"value": "session_id", "more": "owner"})
    return found.select(pl.lit(work.tenant).alias("tenant_id"), "owner", "session_id")
