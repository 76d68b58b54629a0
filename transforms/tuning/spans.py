"""Labelled calls cut in two by time: the earlier are searched on, the later are reported on."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import polars as pl
from numpy.typing import NDArray

from transforms.errors import CheckError
from transforms.policy_tune import TunePolicy
from transforms.tuning.result import Span

Mask = NDArray[np.bool_]
SESSION = ("tenant_id", "user_id", "agent_id", "session_id")
USER = ("tenant_id", "user_id")
_LOG = (
    "Let agents say what they used (slowwave used, Recall.used), import labels with --labels FILE, widen "
    "tune.window_days, or lower tune.min_calls."
)


@dataclass(frozen=True)
class Spans:
    """Masks over the calls.

    Attributes:
        train: Calls before ``cut_at``.
        test: Calls from then on, of sessions that began after it too.
        cut_at: The instant between them.
        left_out: Later calls of sessions that began earlier: in neither span.
        straddling: Later calls of such sessions that were kept, as too few others were left.
    """

    train: Mask
    test: Mask
    cut_at: datetime
    left_out: int = 0
    straddling: int = 0


def evenly(mask: Mask, most: int) -> Mask:
    """At most so many of a mask, at even distances."""
    places = np.flatnonzero(mask)
    if len(places) <= most:
        return mask
    found = np.zeros_like(mask)
    found[places[np.linspace(0, len(places) - 1, most).astype(np.int64)]] = True
    return found


def spans_of(heads: pl.DataFrame, tune: TunePolicy) -> Spans:
    """Cut labelled calls at the instant before which ``train_ratio`` of them lie.

    Calls of that very instant are later ones. A session that goes on across the cut would show the search
    what it is reported on, so its later calls are left out. Where sessions are as long as the log that
    would leave nothing; then they are kept and counted.

    Args:
        heads: ``calls.HEAD`` of the labelled calls, by time.
        tune: Section ``tune``.

    Raises:
        CheckError: Either span has fewer than ``min_calls``.
    """
    if heads.is_empty():
        raise CheckError(f"no call is labelled, {_needed(tune):,} are needed", _LOG)
    at = heads["recalled_at"]
    cut = at[min(int(heads.height * tune.train_ratio), heads.height - 1)]
    early = (at < cut).to_numpy()
    begun = heads.select(pl.col("recalled_at").min().over(_session_keys()) < cut).to_series().to_numpy()
    late = ~early & ~begun
    straddling = int((~early & begun).sum())
    is_kept = straddling > 0 and late.sum() < tune.min_calls <= (~early).sum()
    test = ~early if is_kept else late
    if min(early.sum(), test.sum()) < tune.min_calls:
        raise CheckError(
            f"{early.sum():,} labelled calls before {cut:%Y-%m-%d %H:%M}, {test.sum():,} from then on in "
            f"sessions that began then; {tune.min_calls:,} are needed in each (tune.min_calls), "
            f"so {_needed(tune):,} in all",
            _LOG,
        )
    return Spans(early, test, cut, 0 if is_kept else straddling, straddling if is_kept else 0)


def _needed(tune: TunePolicy) -> int:
    """Labelled calls of which either span has enough."""
    return math.ceil(tune.min_calls / min(tune.train_ratio, 1 - tune.train_ratio))


def _session_keys() -> list[pl.Expr]:
    """Of a session; a call that names none is one of its own."""
    alone = pl.when(pl.col("session_id").is_null()).then("call_id")
    return [*map(pl.col, SESSION), alone]


def span(heads: pl.DataFrame, mask: Mask) -> Span:
    """What is in a span."""
    mine = heads.filter(pl.Series(mask))
    first, last = mine["recalled_at"].min(), mine["recalled_at"].max()
    sessions = mine.select(pl.struct(_named()).n_unique()).item()
    users = mine.select(pl.struct(USER).n_unique()).item()
    if not isinstance(first, datetime) or not isinstance(last, datetime):
        raise CheckError("a span of recalls is empty", _LOG)
    return Span(first, last, mine.height, sessions, users)


def _named() -> list[pl.Expr]:
    *scope, alone = _session_keys()
    return [*scope, alone.alias("alone")]


def clusters_of(heads: pl.DataFrame, least: int) -> tuple[NDArray[np.int64], str]:
    """Code by call of what is drawn as a whole, and its name: users, or sessions where users are too few.

    Args:
        heads: ``calls.HEAD``.
        least: Fewest users to draw users.
    """
    for name, keys in (("user", [pl.col(n) for n in USER]), ("session", _named())):
        codes = heads.select(pl.struct(keys).rank("dense")).to_series().to_numpy().astype(np.int64) - 1
        if name == "session" or (len(codes) and codes.max() + 1 >= least):
            return codes, name
    return np.zeros(0, np.int64), "session"
