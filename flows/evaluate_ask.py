"""Questions of a labelled set put to recall, and to the floors it is measured beside."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from flows.evaluate_lake import Built
from lake import tables
from lake.embedders.protocol import embed_queries
from lake.recall import Recall
from lake.vectors import vectors_of
from transforms.embedding import with_text_hash
from transforms.evaluation.floors import by_vectors, by_words
from transforms.evaluation.labelled import LabelledSet, Question
from transforms.evaluation.measures import MOST_SESSIONS
from transforms.floor import REASON as FLOORED
from transforms.schemas import EPISODES

if TYPE_CHECKING:
    from lake.answers import Memory
    from lake.embedders.protocol import Embedder

DEPTH = 100
"""Rows asked for where the first ones are too few to rank sessions by."""
FACTS = ("fact", "preference")
FLOORS = ("bm25 alone", "dense alone")
PACKED = ("context_recall", "tokens", "rows", "below_floor")
"""Of a context: share of the labelled turns that its rows rest on, its tokens, how many of its rows are no
facts (those a context begins with whatever is asked), and how many rows the relevance floor kept out."""
SHAPE: dict[str, Any] = {
    "question": pl.UInt32,
    "rank": pl.UInt32,
    "items": pl.List(pl.String),
    "is_derived": pl.Boolean,
    "is_deep": pl.Boolean,
}


@dataclass
class Answers:
    """What one system answered.

    Attributes:
        name: Of the system.
        rows: ``SHAPE``: a recalled row a row, with the ids in the set of what it rests on; those of
            ``is_deep`` belong to the longer answer that sessions are ranked by; a system without any
            was not asked for sessions.
        best: Relevance of the best row by question; NaN where there is none or none is told.
        seconds: Of each search, as the caller saw it.
        packed: What contexts held, by question, where they were asked for; see ``PACKED``.
    """

    name: str
    rows: pl.DataFrame
    best: np.ndarray
    seconds: np.ndarray = field(default_factory=lambda: np.zeros(0))
    packed: dict[str, np.ndarray] = field(default_factory=dict)

    def shown(self) -> pl.DataFrame:
        """The answers as asked."""
        return self.rows.filter(~pl.col("is_deep"))

    def deep(self) -> pl.DataFrame | None:
        """The longer answers; None where there are none."""
        rows = self.rows.filter(pl.col("is_deep"))
        return rows if rows.height else None


class Collector:
    """Gathers the answers of one system, question by question.

    Args:
        name: Of the system.
        data: The set.
        has_sessions: Whether sessions are to be ranked, for which some questions are asked twice.
    """

    def __init__(self, name: str, data: LabelledSet, *, has_sessions: bool = True) -> None:
        self._name, self._data, self._has_sessions = name, data, has_sessions
        self._sessions = data.sessions()
        self._columns: dict[str, list[Any]] = {column: [] for column in SHAPE}
        self._best = np.full(len(data.questions), np.nan)
        self._seconds: list[float] = []
        self._packed: dict[str, np.ndarray] = {}

    def warm(self, reader: Recall, at: int) -> None:
        """A search that is not counted: the first of a reader opens the index."""
        question = self._data.questions[at]
        scope: dict[str, Any] = question.scope
        reader.search(question.query, as_of=question.as_of, **scope)

    def ask(self, reader: Recall, built: Built, at: int, count: int) -> None:
        """One question, asked as a caller does, and deeper where its rows are of too few sessions."""
        question = self._data.questions[at]
        scope: dict[str, Any] = question.scope
        start = time.perf_counter()
        found = reader.search(question.query, k=count, as_of=question.as_of, **scope)
        self._seconds.append(time.perf_counter() - start)
        if found:
            self._best[at] = max(memory.factors["relevance"] for memory in found)
        self._add(at, built, found, is_deep=False)
        if question.relevant and self._has_sessions:
            if len(found) == count and self._held(built, found) < MOST_SESSIONS:
                found = reader.search(question.query, k=max(DEPTH, count), as_of=question.as_of, **scope)
            self._add(at, built, found, is_deep=True)

    def pack(self, reader: Recall, built: Built, at: int) -> None:
        """The context of a question, in the policy's budget."""
        question = self._data.questions[at]
        scope: dict[str, Any] = question.scope
        found = reader.context(question.query, as_of=question.as_of, **scope)
        cited = {built.names.get(ref) for memory in found.memories for ref in memory.source_refs}
        wanted = question.relevant
        held = len(cited.intersection(wanted)) / len(wanted) if wanted else None
        others = sum(memory.kind not in FACTS for memory in found.memories)
        far = sum(row["reason"] == FLOORED for row in found.dropped_rows)
        for name, value in zip(PACKED, (held, found.tokens_used, others, far), strict=True):
            if name not in self._packed:
                self._packed[name] = np.full(len(self._data.questions), np.nan)
            self._packed[name][at] = np.nan if value is None else value

    def add(self, asked: Sequence[int], names: Sequence[str], found: Sequence[Any], count: int) -> None:
        """Answers that are positions of episodes, by question."""
        for at, positions in zip(asked, found, strict=True):
            for rank, position in enumerate(positions, 1):
                for is_deep in (False, True) if rank <= count else (True,):
                    self._row(at, rank, [names[position]], False, is_deep)

    def answers(self) -> Answers:
        """All of it."""
        rows = pl.DataFrame(self._columns, schema=SHAPE)
        return Answers(self._name, rows, self._best, np.array(self._seconds), self._packed)

    def _held(self, built: Built, found: Sequence[Memory]) -> int:
        """Sessions that the rows are of."""
        names = {built.names.get(ref, "") for memory in found for ref in memory.source_refs}
        return len({self._sessions[name] for name in names if name})

    def _add(self, at: int, built: Built, found: Sequence[Memory], *, is_deep: bool) -> None:
        for rank, memory in enumerate(found, 1):
            sources = list(dict.fromkeys(memory.source_refs or [memory.id]))
            named = [built.names.get(name, name) for name in sources]
            self._row(at, rank, named, sources != [memory.id], is_deep)

    def _row(self, *values: Any) -> None:
        for column, value in zip(self._columns.values(), values, strict=True):
            column.append(value)


def floors(
    built: Built,
    embedder: Embedder,
    data: LabelledSet,
    questions: Sequence[int],
    collectors: Mapping[str, Collector],
    count: int,
) -> None:
    """BM25 alone and the embedder alone, each over the episodes of the question's scope.

    Both read the text that is embedded, with date and speaker.

    Args:
        built: A lake.
        embedder: Its model.
        data: The set.
        questions: Positions of those to ask.
        collectors: Of ``FLOORS``; the answers go there.
        count: Rows asked for.
    """
    job = built.job
    episodes = with_text_hash(
        tables.scan(job.lake, EPISODES).collect().sort("event_at", "episode_id"),
        job.policy.embed.max_text_chars,
    )
    held = vectors_of(job.lake, range(job.lake.buckets), job.space, episodes)
    vectors = dict(zip(held["text_hash"], held["vector"], strict=True))
    queries = embed_queries(embedder, [data.questions[i].query for i in questions]).vectors
    zeros = np.zeros(queries.shape[1], np.float32)
    words, near = (collectors[name] for name in FLOORS)
    for places in _alike([data.questions[i] for i in questions]):
        asked = [questions[place] for place in places]
        rows = _reach(episodes, data.questions[asked[0]])
        if rows.is_empty():
            continue
        names = [built.names[name] for name in rows["episode_id"]]
        texts, wanted = rows["embedding_text"].to_list(), [data.questions[i].query for i in asked]
        words.add(asked, names, by_words(texts, wanted, DEPTH), count)
        matrix = np.array([vectors.get(name, zeros) for name in rows["text_hash"]], np.float32)
        near.add(asked, names, by_vectors(matrix, queries[places], DEPTH), count)


def _alike(questions: Sequence[Question]) -> list[list[int]]:
    """Positions of the questions that the same episodes may answer, together."""
    groups: dict[tuple[Any, ...], list[int]] = {}
    for i, question in enumerate(questions):
        groups.setdefault((*sorted(question.scope.items()), question.as_of), []).append(i)
    return list(groups.values())


def _reach(episodes: pl.DataFrame, question: Question) -> pl.DataFrame:
    """Episodes of the question's scope that had happened when it is asked."""
    equal = [pl.col(f"{name}_id") == value for name, value in question.scope.items()]
    return episodes.filter(pl.col("event_at") <= question.as_of, *equal)
