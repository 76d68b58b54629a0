"""The topics under review, gone through owner by owner: rows get new places, each with its decision."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from transforms.policy import Policy
from transforms.policy_sleep import TopicsPolicy
from transforms.topics import frames
from transforms.topics.clusters import least_size, sums_of
from transforms.topics.join import centroids_of
from transforms.topics.reshape import Split, merges, split
from transforms.topics.shape import background
from transforms.topics.vectors import Flags, Floats, Integers, matrix


@dataclass
class Desk:
    """Rows and topics while they are gone through.

    Attributes:
        rows: Episodes, by owner, session and time.
        has_vector: (rows).
        vectors: (rows with a vector, dimensions) at length 1.
        row_of: (rows) row of ``vectors``, where there is one.
        sessions: (rows) equal inside a session.
        place: (rows) position of the topic in ``names``.
        names: Topic ids: those given, then parts that were split off.
        ages: (given topics) rank by first event, 0 the oldest.
        sums: (given topics, dimensions) of their members' vectors.
        sizes: (given topics).
        is_reviewed: (given topics).
        decisions: Rows of DECISIONS.
    """

    rows: pl.DataFrame
    has_vector: Flags
    vectors: Floats
    row_of: Integers
    sessions: Integers
    place: Integers
    names: list[str]
    ages: Integers
    sums: Floats
    sizes: Integers
    is_reviewed: Flags
    rule: TopicsPolicy
    space: str
    decisions: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def laid(
        cls, rows: pl.DataFrame, topics: pl.DataFrame, is_reviewed: Flags, policy: Policy, space: str
    ) -> Desk:
        """The desk before the first owner; sums and sizes of topics under review are counted anew."""
        vectors, has_vector = matrix(rows["vector"])
        place = rows["place"].to_numpy().astype(np.int64)
        centroids = centroids_of(topics, vectors)
        sums, sizes = sums_of(
            vectors.reshape(len(vectors), centroids.shape[1]), place[has_vector], topics.height
        )
        stored = topics["size"].to_numpy().astype(np.int64)
        sums = np.where(is_reviewed[:, None], sums, centroids * stored[:, None])
        ages = topics.select(pl.struct("first_event_at", "topic_id").rank("ordinal")).to_series().to_numpy()
        return cls(
            rows.drop("vector", "content", "place"),
            has_vector,
            vectors,
            np.cumsum(has_vector) - 1,
            frames.session_numbers(rows).to_numpy(),
            place.copy(),
            topics["topic_id"].to_list(),
            ages,
            sums,
            np.where(is_reviewed, sizes, stored),
            is_reviewed,
            policy.topics,
            space,
        )

    def go_through(self, rows: slice, group: slice) -> None:
        """Split and merge the topics ``group`` of the owner whose episodes are ``rows``."""
        total = int(self.sizes[group].sum())
        common = background(self.sums[group].sum(axis=0), total, self.rule.background_share)
        least = least_size(total, self.rule)
        positions = np.flatnonzero(self.has_vector[rows]) + rows.start
        whole = []
        for topic in np.flatnonzero(self.is_reviewed[group] & (self.sizes[group] > 0)) + group.start:
            held = positions[self.place[positions] == topic]
            found = split(self.vectors[self.row_of[held]], self.sessions[held], common, least, self.rule)
            if found is None:
                whole.append(int(topic))
            else:
                self._split(int(topic), held, found, self.names[group])
        self._merge(rows, np.array(whole, np.int64), common)

    def _split(self, topic: int, held: Integers, found: Split, taken: list[str]) -> None:
        kept, names = self.names[topic], set(taken)
        parts = []
        for part in range(1, int(found.parts.max()) + 1):
            rows = self.rows[held[found.parts == part]].sort("event_at", "episode_id")
            tenant, owner = rows.row(0, named=True)["tenant_id"], rows.row(0, named=True)["owner"]
            made = frames.topic_id(names, tenant, owner, self.space, rows["episode_id"])
            self.place[held[found.parts == part]] = len(self.names)
            self.names.append(made)
            parts.append(made)
            figures: dict[str, Any] = {"size": rows.height, "of": len(held)}
            self._decide(rows, made, "ADD", "split_from_topic", (made, kept), figures)
        self._decide(self.rows[held], kept, "SPLIT", "parts_lie_apart", (kept, parts[0]), found.figures)

    def _merge(self, rows: slice, whole: Integers, common: Floats) -> None:
        if len(whole) < 2:
            return
        found = merges(self.sums[whole], self.sizes[whole], self.ages[whole], common, self.rule)
        into = {int(whole[one.gone]): int(whole[one.into]) for one in found}
        for one in found:
            gone, end = int(whole[one.gone]), int(whole[one.into])
            while end in into:
                end = into[end]
            concerned = self.rows[rows].filter(pl.Series(np.isin(self.place[rows], [gone, end])))
            names = self.names[end], self.names[gone]
            self._decide(concerned, self.names[gone], "MERGE", "centroids_close", names, one.figures)
        for one in found:
            here = self.place[rows]
            here[here == int(whole[one.gone])] = int(whole[one.into])

    def _decide(
        self,
        rows: pl.DataFrame,
        item: str,
        operation: str,
        reason: str,
        ends: tuple[str, str],
        figures: dict[str, Any],
    ) -> None:
        result, other = ends
        scope = rows.select(
            pl.col("tenant_id", "tenant_bucket", "owner").first(),
            frames.one_or_none("user_id"),
            frames.one_or_none("agent_id"),
            decided_at=pl.col("ingested_at").max(),
        ).row(0, named=True)
        decided = {
            "item_id": item,
            "item_kind": "topic",
            "operation": operation,
            "reason": reason,
            "result_id": result,
            "other_id": other,
            "evidence": frames.evidence(figures),
        }
        self.decisions.append(scope | decided)
