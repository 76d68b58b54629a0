"""Evaluation on a labelled set: recall beside its floors, with retention off and after a default night."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from flows.evaluate_ask import FLOORS, Answers, Collector, floors
from flows.evaluate_lake import (
    Batch,
    Built,
    batches,
    built_episodes,
    consolidate,
    forget,
    unforgetting,
    unlogged,
)
from flows.job import Progress
from lake.recall import Recall
from transforms.evaluation.labelled import LabelledSet
from transforms.evaluation.measures import Values, by_question, group_codes, paired, summary
from transforms.evaluation.metrics import separation
from transforms.policy import Policy
from transforms.weights import PRESETS, Weights

if TYPE_CHECKING:
    from lake.embedders.protocol import Embedder

WEIGHTS: dict[str, Weights] = {**PRESETS, "relevance": Weights(relevance=1.0)}
"""What ``--preset`` names: presets of the policy, and relevance alone."""
NIGHT, EPISODES = "night", "episodes"
INDEXES = (NIGHT, EPISODES)
"""What is in the index: all that a night publishes, or the episodes alone."""
PRICED = "after a night of default retention"


@dataclass(frozen=True)
class Wishes:
    """How a labelled set is to be run.

    Attributes:
        cuts: The k of recall@k, ascending.
        presets: Names of ``WEIGHTS``; empty: the weights of the policy.
        indexes: Of ``INDEXES``.
        has_price: Whether the default retention is measured too.
        has_context: Whether contexts are packed, too.
        resamples: Of the bootstrap.
        seed: Of the bootstrap.
    """

    cuts: tuple[int, ...] = (5, 10, 20)
    presets: tuple[str, ...] = ()
    indexes: tuple[str, ...] = INDEXES
    has_price: bool = True
    has_context: bool = False
    resamples: int = 2_000
    seed: int = 0

    @property
    def count(self) -> int:
        """Rows asked for."""
        return max(self.cuts)


@dataclass
class Results:
    """What came of a run.

    Attributes:
        answers: By system, in the order run.
        values: Metrics of each question by system.
        refused: Rows that did not land, by reason.
        kept: Episodes left after the nights of default retention, and all that had landed; none where
            not measured.
        main: The system that is compared with others.
    """

    answers: dict[str, Answers] = field(default_factory=dict)
    values: dict[str, Values] = field(default_factory=dict)
    refused: dict[str, int] = field(default_factory=dict)
    kept: tuple[int, int] | None = None
    main: str = ""


def system_name(preset: str, index: str) -> str:
    """How a run of recall is called."""
    return "recall" + (f" ({preset})" if preset else "") + (", episodes only" if index == EPISODES else "")


def weighted(policy: Policy, preset: str) -> Policy:
    """The policy with the weights of a preset; empty: its own."""
    if not preset:
        return policy
    recall = policy.recall.model_copy(update={"weights": WEIGHTS[preset], "agents": {}})
    return policy.model_copy(update={"recall": recall})


def run_labelled(
    folder: Path, data: LabelledSet, policy: Policy, embedder: Embedder, wishes: Wishes, progress: Progress
) -> Results:
    """Build the lakes, ask every question, measure.

    Args:
        folder: For the lakes.
        data: The set.
        policy: Whose weights and retention are measured.
        embedder: The model of rows and questions.
        wishes: What is to be run.
        progress: Where to show how far it is.
    """
    run = _Run(data, policy, embedder, wishes)
    with progress.task("ask questions", len(data.questions), "questions") as advance:
        for number, batch in enumerate(batches(data)):
            run.batch(folder / f"lake-{number}", batch)
            advance(len(batch.questions))
    return run.results()


class _Run:
    """Batch by batch through all systems."""

    def __init__(self, data: LabelledSet, policy: Policy, embedder: Embedder, wishes: Wishes) -> None:
        self._data, self._embedder, self._wishes = data, embedder, wishes
        self._policy, self._endless = unlogged(policy), unforgetting(policy)
        self._collectors = {name: Collector(name, data) for name in FLOORS}
        self._presets = wishes.presets or ("",)
        self._done = Results()
        self._done.main = system_name(self._presets[0], wishes.indexes[0])

    def batch(self, folder: Path, batch: Batch) -> None:
        """Build the lake of a batch, ask its questions of every system, and take it away."""
        data, done, wishes = self._data, self._done, self._wishes
        built = built_episodes(folder, self._endless, self._embedder, batch.rows, batch.as_of)
        for reason, count in built.refused.items():
            done.refused[reason] = done.refused.get(reason, 0) + count
        floors(built, self._embedder, data, batch.questions, self._collectors, wishes.count)
        if EPISODES in wishes.indexes:
            self._ask(built, batch, EPISODES)
        if NIGHT in wishes.indexes:
            consolidate(built)
            self._ask(built, batch, NIGHT)
        if wishes.has_price:
            kept = forget(built, self._policy)
            before = done.kept or (0, 0)
            done.kept = before[0] + kept, before[1] + len(built.names)
            policy = weighted(self._policy, self._presets[0])
            self._put(f"recall, {PRICED}", built, batch, policy, has_sessions=False)
        shutil.rmtree(folder)

    def _ask(self, built: Built, batch: Batch, index: str) -> None:
        for preset in self._presets:
            self._put(system_name(preset, index), built, batch, weighted(self._endless, preset))

    def _put(
        self, name: str, built: Built, batch: Batch, policy: Policy, *, has_sessions: bool = True
    ) -> None:
        """Put the questions of a batch to a reader, one after the other."""
        if name not in self._collectors:
            self._collectors[name] = Collector(name, self._data, has_sessions=has_sessions)
        collector = self._collectors[name]
        reader = Recall(built.job.lake, policy=policy, embedder=self._embedder)
        collector.warm(reader, batch.questions[0])
        for at in batch.questions:
            collector.ask(reader, built, at, self._wishes.count)
            if self._wishes.has_context and name == self._done.main:
                collector.pack(reader, built, at)

    def results(self) -> Results:
        """All answers and the metrics of each question."""
        done = self._done
        for name, collector in self._collectors.items():
            answers = collector.answers()
            done.answers[name] = answers
            done.values[name] = by_question(self._data, answers.shown(), answers.deep(), self._wishes.cuts)
            if answers.packed:
                done.values[name]["context_recall"] = answers.packed["context_recall"]
        return done


def figures(data: LabelledSet, done: Results, wishes: Wishes) -> dict[str, Any]:
    """Everything of a run as plain values, with the value of every question, for a later comparison."""
    means, spans = summary(data, done.values, resamples=wishes.resamples, seed=wishes.seed)
    return {
        "metrics": means,
        "intervals": spans,
        "price": _price(data, done, wishes),
        "derived_ratio": {name: _derived(answers) for name, answers in done.answers.items()},
        "abstention": {name: _abstention(data, a) for name, a in done.answers.items() if len(a.seconds)},
        "context": _contexts(data, done.answers[done.main]),
        "seconds": {name: _times(answers) for name, answers in done.answers.items() if len(answers.seconds)},
        "questions": _questions(data, done),
    }


def _price(data: LabelledSet, done: Results, wishes: Wishes) -> dict[str, Any] | None:
    """What the default retention costs: differences to the same questions with retention off."""
    name = f"recall, {PRICED}"
    if done.kept is None or name not in done.values:
        return None
    at = data.answerable
    new, old = ({m: v[at] for m, v in done.values[n].items()} for n in (name, done.main))
    codes = group_codes(data, at)
    told = paired(new, old, codes, resamples=wishes.resamples, seed=wishes.seed)
    return {"of": done.main, "episodes_kept": done.kept[0], "episodes": done.kept[1], "differences": told}


def _derived(answers: Answers, first: int = 10) -> float:
    """Share of facts, summaries and skills among the first rows of the answers."""
    rows = answers.shown().filter(pl.col("rank") <= first)
    return float(rows["is_derived"].mean() or 0.0) if rows.height else 0.0  # type: ignore[arg-type]


def _abstention(data: LabelledSet, answers: Answers) -> dict[str, Any]:
    """How often a system says that nothing is relevant, where that is right and where it is wrong."""
    held = set(answers.shown()["question"].unique().to_list())
    without = {"unanswerable": data.unanswerable, "answerable": data.answerable}
    counts = {
        name: {"questions": len(at), "abstained": sum(i not in held for i in at)}
        for name, at in without.items()
    }
    best = np.nan_to_num(answers.best, nan=0.0)
    return {**counts, "separation": separation(best[data.answerable], best[data.unanswerable])}


def _contexts(data: LabelledSet, answers: Answers) -> dict[str, Any] | None:
    """What contexts held besides facts, for questions with and without an answer; None where not packed."""
    if not answers.packed:
        return None
    told = {}
    for name, at in (("answerable", data.answerable), ("unanswerable", data.unanswerable)):
        if at:
            means = {
                f"mean_{n}": float(answers.packed[n][at].mean()) for n in ("tokens", "rows", "below_floor")
            }
            told[name] = {
                "questions": len(at),
                "empty": int((answers.packed["rows"][at] == 0).sum()),
                **means,
            }
    return told


def _times(answers: Answers) -> dict[str, float]:
    """Milliseconds of a search as its caller saw them."""
    low, high = np.quantile(answers.seconds, [0.5, 0.99]) * 1_000
    return {"p50_ms": round(float(low), 2), "p99_ms": round(float(high), 2)}


def _questions(data: LabelledSet, done: Results) -> dict[str, Any]:
    asked = [data.questions[i] for i in data.answerable]
    values = {
        name: {metric: np.round(of[data.answerable], 6).tolist() for metric, of in by_metric.items()}
        for name, by_metric in done.values.items()
    }
    names = {"name": [q.name for q in asked], "group": [q.group for q in asked]}
    return {**names, "category": [q.category for q in asked], "values": values}
