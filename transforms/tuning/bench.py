"""Policies measured on replayed calls: what each would have answered, forgotten, and what it would hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np
import polars as pl
from numpy.typing import NDArray

from transforms.forgetting.due import Wishes
from transforms.policy import Policy
from transforms.policy_tune import TunePolicy
from transforms.replay.access import access_states
from transforms.replay.arrays import Replay
from transforms.replay.calls import Calls
from transforms.replay.lives import SEEN_SCHEMA, seen_in
from transforms.replay.measures import MEASURES, replayed
from transforms.replay.scores import ranking
from transforms.replay.survival import Masks, Past
from transforms.tuning.tried import QUALITY

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class World:
    """All that is known of the window.

    Attributes:
        recalls: ``schemas.RECALLS`` of all calls, labelled or not: accesses.
        memories: ``memory_rows.MEMORY_SCHEMA``.
        wishes: What people asked for.
        as_of: End of the window.
        row_bytes: Bytes that the index takes for a row; None: not known.
    """

    recalls: pl.DataFrame
    memories: pl.DataFrame
    wishes: Wishes
    as_of: datetime
    row_bytes: float | None = None


@dataclass
class Bench:
    """Calls made ready for many policies.

    Attributes:
        calls: The labelled calls of a span.
        tune: Section ``tune``.
        replay: The calls as arrays.
        past: Which of the candidates would have been there.
        portion: Policies measured together.
        is_cut: Whether places beyond an answer's own length count for nothing, as they must where policies
            differ in how long answers are.
    """

    calls: Calls
    tune: TunePolicy
    replay: Replay
    past: Past
    portion: int
    is_cut: bool

    @classmethod
    def made(cls, calls: Calls, world: World, current: Policy, *, is_cut: bool = False) -> Bench:
        """Prepare calls that were answered under the current policy."""
        tune = current.tune
        states = access_states(calls, world.recalls)
        chars = world.memories.select("tenant_id", "memory_id", text_chars="content_chars")
        replay = Replay.made(
            _with_chars(calls, chars),
            access={str(name): state for name, state in states.items()},
            current=current,
        )
        past = Past.made(seen_in(calls), world.memories, world.recalls, world.wishes)
        # A mask is a byte a candidate, and in the worst case each policy has one of its own.
        return cls(calls, tune, replay, past, max(1, tune.block_bytes // max(calls.rows.height, 1)), is_cut)

    def means(self, policies: Sequence[Policy], measures: Sequence[str] = MEASURES) -> pl.DataFrame:
        """``MEASURES`` and ``quality``, a row a policy; null where nothing in the log tells."""
        found = []
        for first in range(0, len(policies), self.portion):
            some = policies[first : first + self.portion]
            told = replayed(
                self.replay,
                some,
                metric_at=self.tune.metric_at,
                masks=self._masks(some),
                block_bytes=self.tune.block_bytes,
                measures=measures,
                is_cut=self.is_cut,
            )
            found.append(pl.DataFrame({name: told.metrics[name] for name in measures}))
        rows = pl.concat(found).fill_nan(None)
        return rows.with_columns(rows[self.tune.metric].alias(QUALITY))

    def quality(self, policies: Sequence[Policy]) -> list[float]:
        """The metric of policies, and nothing besides: half the work."""
        return self.means(policies, (self.tune.metric,))[QUALITY].to_list()

    def by_call(self, policies: Sequence[Policy], *, recalled: Policy | None = None) -> Numbers:
        """The metric of each call under few policies, float64 (calls, policies).

        Args:
            policies: Few.
            recalled: What this one is taken to have forgotten counts as there under every policy: it was
                recalled, whatever it is taken for.
        """
        told = replayed(
            self.replay,
            policies,
            metric_at=self.tune.metric_at,
            masks=self._masks(policies, recalled),
            per_call=True,
            block_bytes=self.tune.block_bytes,
            measures=(self.tune.metric,),
            is_cut=self.is_cut,
        )
        return told.per_call[self.tune.metric]

    def ranked(self, policy: Policy, call: int) -> tuple[NDArray[np.int64], Numbers]:
        """Candidates of a call under a policy: positions in ``calls.rows``, best first, and their scores."""
        return ranking(self.replay, policy, call, self._masks([policy]))

    def _masks(self, policies: Sequence[Policy], recalled: Policy | None = None) -> Masks:
        masks = self.past.masks(policies)
        if recalled is None:
            return masks
        gone = ~self.past.alive(recalled)
        return Masks([(of, None if alive is None else alive | gone) for of, alive in masks.groups])


def _with_chars(calls: Calls, chars: pl.DataFrame) -> Calls:
    """Rows with ``text_chars``, of which the tokens of those that were never packed are estimated."""
    tenants = calls.heads["tenant_id"].gather(calls.call_of)
    named = calls.rows.with_columns(tenants)
    rows = named.join(chars, on=["tenant_id", "memory_id"], how="left", maintain_order="left")
    return replace(calls, rows=rows.drop("tenant_id"))


@dataclass
class Held:
    """What the lake would hold at the end of the window, under any policy."""

    past: Past
    row_bytes: float | None

    @classmethod
    def made(cls, world: World) -> Held:
        """Prepare."""
        nobody = pl.DataFrame(schema=SEEN_SCHEMA)
        past = Past.made(nobody, world.memories, world.recalls, world.wishes, until=world.as_of)
        return cls(past, world.row_bytes)

    def sizes(self, policies: Sequence[Policy]) -> pl.DataFrame:
        """``index_rows`` and ``index_bytes``, a row a policy; null where no lake tells."""
        memories = self.past.lives.memories
        served = ~memories["is_injected"].fill_null(value=False).to_numpy()
        counts: list[int | None] = [None] * len(policies)
        if memories["is_there"].any():
            counts = [int((self.past.standing(policy) & served).sum()) for policy in policies]
        rows = pl.Series("index_rows", counts, pl.Int64)
        size = [None if n is None or self.row_bytes is None else round(n * self.row_bytes) for n in counts]
        return pl.DataFrame([rows, pl.Series("index_bytes", size, pl.Int64)])
