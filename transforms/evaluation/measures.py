"""Answers of a system against a labelled set: every metric of every question, and their means in slices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from transforms.evaluation.bootstrap import intervals
from transforms.evaluation.labelled import LabelledSet
from transforms.evaluation.metrics import first_ranks, places, scores

Numbers = npt.NDArray[np.float64]
Values = dict[str, Numbers]
"""A float64 array over all questions of the set by metric; NaN where a question has none."""
ALL = "all"
NDCG_AT = 10
MOST_SESSIONS = 10
"""Sessions are ranked no further: beyond it a conversation of thirty has hardly any left to leave out."""


def by_question(
    data: LabelledSet, shown: pl.DataFrame, deep: pl.DataFrame | None, cuts: Sequence[int]
) -> Values:
    """Metrics of each question.

    ``recall@k``, ``ndcg@10`` and ``hit@1`` are at the level of turns, and ``cited_recall@k`` is the generous
    reading of ``metrics.first_ranks``. ``session_recall@k`` ranks distinct sessions by their best row in the
    longer answer, up to ``MOST_SESSIONS``; ``row_session_recall@k`` counts the sessions of the first k rows.

    Args:
        data: The set.
        shown: Answers as asked: ``metrics.ANSWERS`` with ``is_derived``.
        deep: Longer answers, for the ranking of sessions; None leaves those metrics out.
        cuts: The k of recall.
    """
    count = len(data.questions)
    turns, sessions = data.relevant(), data.relevant(by_session=True)
    values = scores(places(shown, turns), count, cuts, NDCG_AT)
    cited = scores(first_ranks(shown, turns), count, cuts)
    values |= {f"cited_recall@{k}": cited[f"recall@{k}"] for k in cuts}
    held = data.sessions()
    if deep is not None:
        ranked = scores(places(_in_sessions(deep, held), sessions, repeat_places=0), count, cuts)
        values |= {f"session_recall@{k}": ranked[f"recall@{k}"] for k in cuts if k <= MOST_SESSIONS}
    among = scores(places(_in_sessions(shown, held), sessions), count, cuts)
    values |= {f"row_session_recall@{k}": among[f"recall@{k}"] for k in cuts}
    return values


def _in_sessions(answers: pl.DataFrame, sessions: Mapping[str, str]) -> pl.DataFrame:
    """Answers whose items are sessions instead of turns."""
    names = pl.DataFrame({"items": list(sessions), "session": list(sessions.values())})
    named = (
        answers.select("question", "rank", "items")
        .explode("items")
        .join(names, on="items", how="left")
        .group_by("question", "rank")
        .agg(pl.col("session").drop_nulls().unique().sort().alias("items"))
    )
    return named.sort("question", "rank")


def slices(data: LabelledSet) -> dict[str, list[int]]:
    """Positions of the answerable questions: all, by category, by part, and by both."""
    found: dict[str, list[int]] = {ALL: []}
    names = sorted({q.category for q in data.questions}), sorted({q.part for q in data.questions} - {""})
    found |= {name: [] for name in (*names[0], *names[1])}
    found |= {f"{part}, {category}": [] for part in names[1] for category in names[0]}
    for at in data.answerable:
        question = data.questions[at]
        keys = {ALL, question.category}
        keys |= {question.part, f"{question.part}, {question.category}"} if question.part else set()
        for key in keys:
            found[key].append(at)
    return {name: places for name, places in found.items() if places}


def summary(
    data: LabelledSet, systems: Mapping[str, Values], *, resamples: int, seed: int
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Means by system, slice and metric, and their intervals.

    Args:
        data: The set.
        systems: ``by_question`` of each.
        resamples: Of the bootstrap.
        seed: Of the bootstrap.

    Returns:
        ``{system: {slice: {metric: mean, "questions": n}}}`` and ``{system: {slice: {metric: {"by_question":
        [low, high], "by_group": [low, high]}}}}``; an interval of less than two is null.
    """
    means: dict[str, Any] = {name: {} for name in systems}
    spans: dict[str, Any] = {name: {} for name in systems}
    keys = [(system, metric) for system, values in systems.items() for metric in values]
    for name, positions in slices(data).items():
        table = np.column_stack([systems[system][metric][positions] for system, metric in keys])
        codes = group_codes(data, positions)
        drawn = intervals(table, resamples=resamples, seed=seed)
        whole = intervals(table, clusters=codes, resamples=resamples, seed=seed)
        for (system, metric), one, other in zip(keys, drawn, whole, strict=True):
            means[system].setdefault(name, {"questions": len(positions)})[metric] = one.mean
            ends = {"by_question": _ends(one.low, one.high), "by_group": _ends(other.low, other.high)}
            spans[system].setdefault(name, {})[metric] = ends
    return means, spans


def paired(
    new: Values, old: Values, groups: npt.NDArray[np.int64], *, resamples: int, seed: int
) -> dict[str, dict[str, Any]]:
    """Mean differences, new less old, of the metrics that both have, with intervals of the differences.

    Args:
        new: By metric, over the same questions as ``old``; NaN in neither.
        old: Likewise.
        groups: Code of each question's group.
        resamples: Of the bootstrap.
        seed: Of the bootstrap.
    """
    metrics = [metric for metric in new if metric in old]
    if not metrics or not len(groups):
        return {}
    table = np.column_stack([new[metric] - old[metric] for metric in metrics])
    drawn = intervals(table, resamples=resamples, seed=seed)
    whole = intervals(table, clusters=groups, resamples=resamples, seed=seed)
    return {
        metric: {
            "difference": one.mean,
            "by_question": _ends(one.low, one.high),
            "by_group": _ends(other.low, other.high),
        }
        for metric, one, other in zip(metrics, drawn, whole, strict=True)
    }


def group_codes(data: LabelledSet, positions: Sequence[int]) -> npt.NDArray[np.int64]:
    """A code of each question's group."""
    names = [data.questions[i].group for i in positions]
    codes: npt.NDArray[np.int64] = np.unique(np.array(names, np.str_), return_inverse=True)[1].astype(
        np.int64
    )
    return codes


def _ends(low: float | None, high: float | None) -> list[float] | None:
    return None if low is None or high is None else [low, high]
