"""Concrete answers before and after: the calls that a policy changes most, in both directions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from transforms.replay.calls import Calls

MOST = 10
"""Calls that are shown."""
FIRST = 5
"""Memories of an answer that are shown."""
_LEAST = 1e-9
"""Differences below it are rounding."""

Ranking = tuple[NDArray[np.int64], NDArray[np.float64]]
"""Positions in ``calls.rows`` of a call's candidates, best first, and their scores in that order; a score
that is no number is a memory that the policy had forgotten by then."""


def changed_answers(
    calls: Calls,
    current: NDArray[np.float64],
    best: NDArray[np.float64],
    rank: Callable[[int], tuple[Ranking, Ranking]],
    texts: Callable[[Collection[str]], Mapping[str, str]],
    *,
    is_later: NDArray[np.bool_],
    most: int = MOST,
    first: int = FIRST,
) -> list[dict[str, Any]]:
    """Choose calls of the later span and tell their answers under both policies.

    Args:
        calls: Labelled calls; rows have ``gain``.
        current: The metric by call (calls,) under the current policy; NaN where there is none.
        best: The same under the best one.
        rank: Rankings of a call, by its position, under the current and under the best policy.
        texts: Texts by memory id, as far as they are still held; asked once.
        is_later: Mask of the calls (calls,) that may be shown.
        most: Calls that are told.
        first: Memories of each answer that are told.

    Returns:
        One a call, gains first, the greatest change first of either: ``call_id``, ``query``, ``recalled_at``
        (ISO 8601), ``tenant_id``, ``user_id``, ``agent_id``, ``verb``, ``current``, ``best``, ``gain`` (best
        less current) and ``before`` and ``after``: lists of ``memory_id``, ``kind``, ``event_at``,
        ``score``, ``is_used`` (whether it was of use), ``logged_rank`` and ``text`` (None: no longer held).
    """
    chosen = chosen_calls(calls.heads, best - current, is_later, most)
    ranked = [(call, [_alive(order) for order in rank(call)]) for call in chosen]
    rows = np.concatenate([np.empty(0, np.int64), *(o[0][:first] for _, both in ranked for o in both)])
    held = texts(sorted(set(calls.rows["memory_id"].gather(rows).to_list()))) if len(rows) else {}
    found = []
    for call, (before, after) in ranked:
        told = _head(calls.heads, call, float(current[call]), float(best[call]))
        told["before"] = _answer(calls.rows, before, first, held)
        told["after"] = _answer(calls.rows, after, first, held)
        found.append(told)
    return found


def chosen_calls(
    heads: pl.DataFrame, gains: NDArray[np.float64], is_later: NDArray[np.bool_], most: int = MOST
) -> list[int]:
    """Positions of the calls that change most: half of them gains, half losses, the rest from either.

    A user's second call, or a session's where there is no user, comes after every first one. Ties go to the
    newer call, then by id.
    """
    whom = pl.concat_str(
        "tenant_id", pl.coalesce("user_id", "session_id", "call_id"), separator="\x00", ignore_nulls=True
    )
    placed = heads.select("call_id", "recalled_at", whom=whom).with_row_index("call")
    rows = placed.with_columns(gain=pl.Series(gains).fill_nan(None), is_later=pl.Series(is_later))
    changed = rows.filter(pl.col("is_later") & (pl.col("gain").abs() > _LEAST).fill_null(value=False))
    ordered = changed.with_columns(size=pl.col("gain").abs(), is_gain=pl.col("gain") > 0).sort(
        "size", "recalled_at", "call_id", descending=[True, True, False]
    )
    turns = ordered.with_columns(turn=pl.int_range(pl.len()).over("whom", "is_gain"))
    fair = turns.sort("turn", maintain_order=True)
    gaining, losing = (
        fair.filter("is_gain")["call"].to_list(),
        fair.filter(~pl.col("is_gain"))["call"].to_list(),
    )
    losses = min(len(losing), max(most // 2, most - len(gaining)))
    taken = {*gaining[: most - losses], *losing[:losses]}
    kept = ordered.filter(pl.col("call").is_in(sorted(taken))).sort(
        "is_gain", descending=True, maintain_order=True
    )
    return kept["call"].to_list()


def _head(heads: pl.DataFrame, call: int, current: float, best: float) -> dict[str, Any]:
    row = heads.row(call, named=True)
    names = ("call_id", "query", "tenant_id", "user_id", "agent_id", "verb")
    told = {name: row[name] for name in names}
    moment = row["recalled_at"].isoformat()
    return told | {"recalled_at": moment, "current": current, "best": best, "gain": best - current}


def _alive(order: Ranking) -> Ranking:
    is_held = np.isfinite(order[1])
    return order[0][is_held], order[1][is_held]


def _answer(rows: pl.DataFrame, order: Ranking, first: int, texts: Mapping[str, str]) -> list[dict[str, Any]]:
    places, scores = order
    held = rows[places[:first].tolist()]
    found: list[dict[str, Any]] = []
    for row, score in zip(held.iter_rows(named=True), scores[:first].tolist(), strict=True):
        found.append(
            {
                "memory_id": row["memory_id"],
                "kind": row["kind"],
                "event_at": row["event_at"].isoformat(),
                "score": score,
                "is_used": bool(row["gain"] or 0),
                "logged_rank": row["rank"],
                "text": texts.get(row["memory_id"]),
            }
        )
    return found
