"""Copies of shared memories: episodes of the receiver, redacted once more, with where they come from."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl

from transforms.normalise import normalise
from transforms.policy import Policy, RedactPolicy
from transforms.schemas import DRAFTS, EPISODES, SENSITIVITIES
from transforms.scopes import SHARE_SOURCE
from transforms.sharing.rules import PREFIX, Allowed, Withheld
from transforms.validate import Defaults

KIND, ROLE = "observation", "other"
"""A copy is something the agent came to know of, said by nobody it talks to."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Copies:
    """Copies (``schemas.EPISODES``; ``source_line`` is the place in the input) and what was withheld."""

    episodes: pl.DataFrame
    withheld: list[Withheld]


def copies(
    allowed: Sequence[Allowed], *, giver: str, receiver: str, policy: Policy, now: datetime, buckets: int
) -> Copies:
    """Make the copies of memories that may be shared.

    Each keeps its person, so that whatever that person asks for holds for the copy, too. Its text begins
    with whom it comes from; secrets and personal data are taken out again, whatever a tenant keeps for
    itself. Its trust and its time to live are at most its source's; it is as private as the more private
    of source and copy, and withheld where the grant does not reach that far.

    Args:
        allowed: From ``rules.judged``; rows of ``schemas.MEMORIES``, instants in microseconds since 1970.
        giver: Agent whose memories they are.
        receiver: Agent that gets them.
        policy: Retention and limits.
        now: When it happens.
        buckets: Tenant buckets of the lake.
    """
    strict = policy.model_copy(update={"redact": RedactPolicy()})
    drafts = pl.DataFrame(
        [_draft(n, one.row, giver, receiver, now) for n, one in enumerate(allowed, 1)], schema=DRAFTS.polars
    )
    made = normalise(
        drafts, source=SHARE_SOURCE, defaults=Defaults(), policy=strict, as_of=now, buckets=buckets
    )
    episodes = made.episodes.join(_limits(allowed), on="source_line", how="left").with_columns(
        trust="most_trust",
        sensitivity=_max_sensitivity("sensitivity", "source_sensitivity"),
        parent_id="refs",
        source_file=pl.lit(None, pl.String),
    )
    is_within = _rank("sensitivity") <= _rank("limit")
    withheld = {
        **dict(made.refusals.select("source_line", "reason").iter_rows()),
        **dict(episodes.filter(~is_within).select("source_line", "sensitivity").iter_rows()),
    }
    told = [
        Withheld(allowed[line - 1].row["memory_id"], allowed[line - 1].row["kind"], withheld[line])
        for line in sorted(withheld)
    ]
    return Copies(episodes.filter(is_within).select(EPISODES.names).sort("source_line"), told)


def _draft(number: int, row: Any, giver: str, receiver: str, now: datetime) -> dict[str, Any]:
    """One row of ``schemas.DRAFTS``. Its id is of source, words and receiver: sharing it again is no news."""
    expires = None if row["expires_at"] is None else _EPOCH + timedelta(microseconds=row["expires_at"])
    happened = _EPOCH + timedelta(microseconds=row["event_at"])
    origin = {
        "shared_from": giver,
        "source_id": row["memory_id"],
        "source_kind": row["kind"],
        "source_event_at": happened.isoformat(),
    }
    return {
        **dict.fromkeys(DRAFTS.names),
        "natural_id": f"{SHARE_SOURCE}:{row['memory_id']}:{row['content_hash']}",
        "tenant_id": row["tenant_id"],
        "user_id": row["user_id"],
        "agent_id": receiver,
        "kind": KIND,
        "role": ROLE,
        "speaker": row["speaker"],
        "content": f"{PREFIX}{giver}] {row['text']}",
        "importance": float(row["importance"]),
        "event_at": now.isoformat(),
        "expires_at": None if expires is None else expires.isoformat(),
        "metadata": json.dumps(origin, sort_keys=True, ensure_ascii=False),
        "source_line": number,
    }


def _limits(allowed: Sequence[Allowed]) -> pl.DataFrame:
    """What bounds each copy, by its line."""
    rows = [
        (
            n,
            one.trust,
            one.row["sensitivity"],
            one.max_sensitivity,
            " ".join(dict.fromkeys([one.row["memory_id"], *one.row["source_refs"]])),
        )
        for n, one in enumerate(allowed, 1)
    ]
    schema = {
        "source_line": pl.Int64,
        "most_trust": pl.Float32,
        "source_sensitivity": pl.String,
        "limit": pl.String,
        "refs": pl.String,
    }
    return pl.DataFrame(rows, schema=schema, orient="row")


def _rank(column: str) -> pl.Expr:
    order = {name: place for place, name in enumerate(SENSITIVITIES)}
    return pl.col(column).replace_strict(order, return_dtype=pl.Int8)


def _max_sensitivity(one: str, other: str) -> pl.Expr:
    return pl.when(_rank(one) >= _rank(other)).then(pl.col(one)).otherwise(pl.col(other))
