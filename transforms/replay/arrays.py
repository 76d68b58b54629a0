"""Logged calls as arrays: everything of a replay that no policy changes, made once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from transforms.factors import BLIND_ROUTES, known
from transforms.policy import Policy
from transforms.replay.access import Access
from transforms.replay.beyond import best_beyond
from transforms.replay.calls import Calls, microseconds
from transforms.replay.logged_order import is_newest_first
from transforms.replay.sizes import token_counts
from transforms.scoring import MICROSECONDS_A_DAY

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
Flags = NDArray[np.bool_]
LOGGED = "logged"


@dataclass(frozen=True)
class Seen:
    """What one state of the accesses says of each candidate.

    Attributes:
        age_days: float64 (rows): from its last access to the call, at least 0.
        accesses: float64 (rows): before the call.
    """

    age_days: Floats
    accesses: Floats


@dataclass(frozen=True)
class Replay:
    """Calls, ready to be scored under any policy.

    Attributes:
        calls: What it was made of; ``rows`` below are those of ``calls.rows``.
        starts: int64 (calls + 1): where the rows of each call begin.
        layout: int64 (rows): positions of the rows, call after call, in the order of those whose scores are
            the same: the newer event first, then by memory_id; of a call in ``is_kept``, as it was answered.
        relevance: float64 (rows), as logged.
        importance: float64 (rows): of the memory, before any boost.
        is_success: bool (rows): whether its outcome adds the boost.
        kind: int64 (rows): place in ``kinds``.
        tier: int64 (rows): place in ``tiers``.
        seen: By state of the accesses; ``logged`` always.
        gain: float64 (rows): how much it was of use, 0 to 1; 0 where nothing is known.
        tokens: float64 (rows): of the memory (``sizes.token_counts``); NaN where nothing at all tells.
        is_about: bool (calls): whether the question is about something; else every closeness is 1.
        is_kept: bool (calls): whether time gave the order, which no policy changes.
        beyond: float64 (calls): relevance of the best candidate where it was not logged, else 0.
        is_labelled: bool (calls): whether a candidate is known to have been of use.
        agent: int64 (calls): place in ``agents``, -1 for a call that named none.
        given: int64 (calls): rows that the caller was given.
        budget_tokens: float64 (calls): room of a context; NaN for a search.
        kinds: Names.
        tiers: Names.
        agents: Names.
        current: The policy that the calls were answered under, where it is known: a policy that refreshes
            accesses like it reads the logged ones, and one of its ``default_k`` and default budget changes
            the size of no answer.
    """

    calls: Calls
    starts: Whole
    layout: Whole
    relevance: Floats
    importance: Floats
    is_success: Flags
    kind: Whole
    tier: Whole
    seen: Mapping[str, Seen]
    gain: Floats
    tokens: Floats
    is_about: Flags
    is_kept: Flags
    beyond: Floats
    is_labelled: Flags
    agent: Whole
    given: Whole
    budget_tokens: Floats
    kinds: tuple[str, ...]
    tiers: tuple[str, ...]
    agents: tuple[str, ...]
    current: Policy | None

    def __len__(self) -> int:
        return len(self.starts) - 1

    @classmethod
    def made(
        cls, calls: Calls, *, access: Mapping[str, Access] | None = None, current: Policy | None = None
    ) -> Replay:
        """Arrays of calls.

        Args:
            calls: Of them ``heads`` need call_id, verb, route, policy_hash, agent_id, budget_tokens and
                recalled_at; ``rows`` need memory_id, kind, tier, outcome, rank, score, relevance, closeness,
                memory_importance, access_count, last_accessed_at, event_at, tokens and is_returned.
                ``gain`` is read where it is there (null: not known), ``text_chars`` too, for tokens.
            access: Other states of the accesses by ``decay.refresh`` (``access.access_states``): read for
                policies that refresh otherwise than ``current``.
            current: See the attribute. None: of every policy the logged accesses are read, and answers are as
                long as the log says.
        """
        heads, rows, lengths = calls.heads, calls.rows, np.diff(calls.starts)
        at = np.repeat(microseconds(heads["recalled_at"]), lengths)
        logged = Access(_whole(rows["access_count"]), microseconds(rows["last_accessed_at"]))
        states = {**(access or {}), LOGGED: logged}
        kind, kinds = _coded(rows["kind"])
        tier, tiers = _coded(rows["tier"])
        agent, agents = _coded(heads["agent_id"])
        is_kept = is_newest_first(calls)
        gain = _floats(rows["gain"]) if "gain" in rows.columns else np.zeros(rows.height)
        is_about = ~heads["route"].is_in(BLIND_ROUTES).to_numpy()
        return cls(
            calls=calls,
            starts=calls.starts,
            layout=_layout(calls, is_kept),
            relevance=_floats(rows["relevance"]),
            importance=_floats(rows["memory_importance"]),
            is_success=(rows["outcome"] == "success").fill_null(False).to_numpy(),
            kind=kind,
            tier=tier,
            seen={name: _seen(state, at) for name, state in states.items()},
            gain=gain,
            tokens=token_counts(rows),
            is_about=is_about,
            is_kept=is_kept,
            beyond=np.where(is_about, best_beyond(calls, is_about), 0.0),
            is_labelled=np.maximum.reduceat(gain, calls.starts[:-1]) > 0 if len(calls) else is_about,
            agent=agent,
            given=np.add.reduceat(_whole(rows["is_returned"]), calls.starts[:-1]) if len(calls) else agent,
            budget_tokens=heads["budget_tokens"].cast(pl.Float64).fill_null(np.nan).to_numpy(),
            kinds=kinds,
            tiers=tiers,
            agents=agents,
            current=current,
        )

    def state_of(self, policy: Policy) -> str:
        """Which state of the accesses a policy reads."""
        wanted = policy.decay.refresh
        if self.current is None or wanted == self.current.decay.refresh or wanted not in self.seen:
            return LOGGED
        return wanted


def _seen(state: Access, at: Whole) -> Seen:
    """Clock skew is age 0, as when the call was answered."""
    age_days = np.maximum((at - state.seen_us) / MICROSECONDS_A_DAY, 0.0)
    return Seen(age_days, np.maximum(state.access_count.astype(np.float64), 0.0))


def _layout(calls: Calls, is_kept: Flags) -> Whole:
    """Positions of the rows in the order of equal scores, or as they were answered."""
    call, events = calls.call_of, microseconds(calls.rows["event_at"])
    keys = np.where(is_kept[call], calls.rows["rank"].to_numpy(), -events)
    order = np.lexsort((keys, call)).astype(np.int64)
    is_tied = (np.diff(keys[order]) == 0) & (np.diff(call[order]) == 0)
    if not is_tied.any():
        return order
    tied = np.unique(np.concatenate([np.flatnonzero(is_tied), np.flatnonzero(is_tied) + 1]))
    mine = pl.DataFrame({"call": call[order[tied]], "key": keys[order[tied]], "row": order[tied]})
    named = mine.with_columns(memory_id=calls.rows["memory_id"].gather(mine["row"]))
    order[tied] = named.sort("call", "key", "memory_id", "row")["row"].to_numpy()
    return order


def _coded(names: pl.Series) -> tuple[Whole, tuple[str, ...]]:
    """Codes in the order of the names, -1 for null."""
    held = names.drop_nulls().unique().sort()
    codes = names.cast(pl.Enum(held)).to_physical().cast(pl.Int64).fill_null(-1)
    return codes.to_numpy(), tuple(held.to_list())


def _floats(values: pl.Series) -> Floats:
    return known(values.cast(pl.Float64).fill_null(np.nan).to_numpy())


def _whole(values: pl.Series) -> Whole:
    return values.cast(pl.Int64).fill_null(0).to_numpy()
